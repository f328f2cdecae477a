// What follows when an operator accepts that stores of record have lost something: memories whose text is lost become
// `failed`, and texts of which the memory or a newer version is lost go to the quarantine.

import type { MemoryKey } from "../../domain/ids.ts";
import type { Log } from "../../kit/log.ts";
import type { Archive } from "./duckdb/archive.ts";
import { LOST_TEXTS_FILE } from "./keeping/mending.ts";
import { KEYS, keyList } from "./sqlite/memory-row.ts";
import type { SqliteStores } from "./sqlite/stores.ts";
import type { StoreQuarantine } from "./store-quarantine.ts";

/** Memories per step. */
const STEP_MEMORIES = 500;
const MESSAGE = "The text of this memory was lost with a damaged file. Send it again.";

const FAIL = `UPDATE memories SET status = 'failed', chunk_count = 0,
    error_code = 'processing_error', error_message = $message, lease = NULL, updated_at = $now
  WHERE memory_key IN ${KEYS}`;

/** Compares rows and texts, and makes them fit together. */
export async function acceptLoss(
  stores: Pick<SqliteStores, "write">,
  archive: Archive,
  quarantine: StoreQuarantine,
  { log, now }: { readonly log: Log; readonly now: number },
): Promise<void> {
  const versions = await archive.versions();
  const { lost, known } = await stores.write((database) => {
    const rows = database
      .prepare<{ memory_key: bigint; version: bigint; status: string; deleted_at: bigint | null }>(
        "SELECT memory_key, version, status, deleted_at FROM memories",
      )
      .all({});
    const keys = rows.flatMap(({ memory_key, version, status, deleted_at }) =>
      status === "completed" && deleted_at === null && versions.get(memory_key) !== Number(version) ? [memory_key] : [],
    );
    for (let first = 0; first < keys.length; first += STEP_MEMORIES) {
      database
        .prepare<never, { keys: string; message: string; now: number }>(FAIL)
        .run({ keys: keyList(keys.slice(first, first + STEP_MEMORIES)), message: MESSAGE, now });
    }
    return { lost: new Set(keys), known: new Set(rows.map(({ memory_key }) => memory_key)) };
  });
  // an older text must not be indexed again as the text of the failed memory
  const surplus = [...versions.keys()].filter((key) => lost.has(key) || !known.has(key)) as MemoryKey[];
  for (let first = 0; first < surplus.length; first += STEP_MEMORIES) {
    const keys = surplus.slice(first, first + STEP_MEMORIES);
    for (const [key, { version, content }] of await archive.contents(keys)) {
      const line = { memory_key: String(key), version, content };
      quarantine.append(LOST_TEXTS_FILE, JSON.stringify(line));
    }
    await archive.remove(keys);
  }
  if (lost.size + surplus.length > 0) {
    log.error(
      { memories: lost.size, texts: surplus.length, quarantine: quarantine.directory },
      "accepted loss: memories without their text have failed, and texts without their memory are in the quarantine, " +
        "which the next purge empties",
    );
  }
}
