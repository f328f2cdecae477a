// Stores memories on a server, and waits until they are searchable.

import { Client } from "../../src/cli/client.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { isRecord, type JsonRecord, recordsIn } from "../../src/kit/record.ts";

/** Interval between two looks whether all memories are completed. */
const POLL_MS = 50;

/** The address of a server, and the key of the project whose memories are stored. */
type Server = Pick<Client, "url" | "key">;

/**
 * Stores memories in batches, and waits until they are searchable. Returns them as the server accepted them.
 * @param onProgress called with the number of memories that were sent
 * @throws Error if one is refused
 */
export async function storeAll(
  { url, key }: Server,
  memories: readonly object[],
  onProgress: (sent: number) => void = () => undefined,
): Promise<readonly JsonRecord[]> {
  const client = new Client(url, key);
  const stored: JsonRecord[] = [];
  for (let first = 0; first < memories.length; first += LIMITS.memoriesPerBatch) {
    const batch = memories.slice(first, first + LIMITS.memoriesPerBatch);
    const { data } = await client.send("POST", "/v1/memories/batch", { memories: batch });
    for (const { memory, error } of recordsIn(data)) {
      if (!isRecord(memory)) throw new Error(`a memory was refused: ${JSON.stringify(error)}`);
      stored.push(memory);
    }
    onProgress(stored.length);
  }
  await untilSettled(client);
  return stored;
}

/** Waits until no memory is in status `processing`. @param onWait called before each wait */
export async function untilSettled({ url, key }: Server, onWait: () => void = () => undefined): Promise<void> {
  const client = new Client(url, key);
  for (;;) {
    const { data } = await client.send("GET", "/v1/memories?status=processing&limit=1");
    if (recordsIn(data).length === 0) return;
    onWait();
    await client.clock.sleep(POLL_MS);
  }
}

/** Seconds from the first request until all memories are searchable. */
export async function ingestSeconds(server: Server, memories: readonly object[]): Promise<number> {
  const startedAt = performance.now();
  await storeAll(server, memories);
  return (performance.now() - startedAt) / 1000;
}
