// Waits until a memory is no longer processing. Reads only its row, because the row decides whether it is searchable.

import type { MemoryId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Viewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { MemoryStore } from "../ports/memory-store.ts";

/** First and longest wait between two reads of the row, in milliseconds. The wait doubles each time. */
const POLL_FIRST_MS = 10;
const POLL_LAST_MS = 160;

/** Makes the function that waits for memories, see `Settled` in api/protocol-endpoint.ts. */
export function settling(memories: Pick<MemoryStore, "get">, clock: Clock) {
  return async (viewer: Viewer, id: MemoryId, timeoutMs: number, signal: AbortSignal): Promise<Memory | null> => {
    const startedAt = performance.now();
    for (let waitMs = POLL_FIRST_MS; ; waitMs = Math.min(POLL_LAST_MS, waitMs * 2)) {
      const memory = await memories.get(viewer.projectId, id);
      if (memory === null || (viewer.userId !== null && memory.userId !== viewer.userId)) return null;
      const leftMs = timeoutMs - (performance.now() - startedAt);
      if (memory.state.status !== "processing" || leftMs <= 0 || signal.aborted) return memory;
      await clock.sleep(Math.min(waitMs, leftMs), signal);
    }
  };
}
