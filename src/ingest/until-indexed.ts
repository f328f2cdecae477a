// Waits until ingestion has indexed memories that were put back to `processing`.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";
import type { JobStore } from "../ports/job-store.ts";

/** Maximum number of memories whose rows are read at once. */
const PAGE_MEMORIES = 500;

/** What waiting needs. */
export interface WaitDependencies {
  readonly jobs: Pick<JobStore, "published">;
  readonly clock: Pick<Clock, "sleep">;
  /** Interval in milliseconds between two checks. */
  readonly pollMs: number;
}

/** Yields the number of memories that are still `processing` after each check; ends after yielding 0. */
export async function* untilIndexed(
  { jobs, clock, pollMs }: WaitDependencies,
  projectId: ProjectId,
  keys: readonly MemoryKey[],
  signal?: AbortSignal,
): AsyncGenerator<number> {
  for (let waiting = keys; ; await clock.sleep(pollMs, signal)) {
    const processing: MemoryKey[] = [];
    for (let first = 0; first < waiting.length; first += PAGE_MEMORIES) {
      const found = await jobs.published(projectId, waiting.slice(first, first + PAGE_MEMORIES));
      processing.push(...found.flatMap(({ memory }) => (memory.state.status === "processing" ? [memory.key] : [])));
    }
    waiting = processing;
    yield waiting.length;
    if (waiting.length === 0) return;
  }
}
