// Counts memories. A count works in parts, so that other requests run in between.

import { type Filter, matchesFilter, refuseFilterThen } from "../domain/filter.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { HistoryStore } from "../ports/history-store.ts";
import type { MemoryConditions, MemoryStore } from "../ports/memory-store.ts";
import { refuseOutsideHistory } from "./history.ts";

/** Memories that one part counts without reading them: about 2 ms. */
const PART_COUNTED = 2_000;
/** Memories that one part reads to compare them with a filter: about 5 ms. */
const PART_READ = 200;

/** What the service needs. */
export interface MemoryCountDependencies {
  readonly memories: Pick<MemoryStore, "countFrom" | "list">;
  readonly history: Pick<HistoryStore, "horizon">;
  readonly clock: Clock;
}

/** Numbers of memories that a viewer may see. */
export class MemoryCounts {
  constructor(private readonly uses: MemoryCountDependencies) {}

  /**
   * Number of memories that meet the conditions and the filter, in any status.
   * @throws Fault `insufficient_scope` if a confined viewer names another user; `invalid_request` as
   *   `refuseOutsideHistory`; `invalid_filter` as `refuseFilterThen`
   */
  async count(
    viewer: Viewer,
    { filter, ...asked }: MemoryConditions & { readonly filter: Filter | null },
    signal: AbortSignal,
  ): Promise<number> {
    const { memories } = this.uses;
    const { projectId } = viewer;
    const userId = userOf(viewer, asked.userId);
    const conditions = userId === undefined ? asked : { ...asked, userId };
    if (conditions.knownAt !== undefined) {
      refuseFilterThen(filter);
      await refuseOutsideHistory(this.uses, projectId, conditions.knownAt);
    }
    if (filter !== null) return countMatching(memories, projectId, { conditions, filter, signal });
    let [count, before]: [number, MemoryKey | null] = [0, null];
    do {
      const part = await memories.countFrom(projectId, conditions, { before, limit: PART_COUNTED });
      count += part.memories;
      before = part.last;
      await others(signal);
    } while (before !== null);
    return count;
  }
}

/** Number of memories that meet conditions and match a filter. Reads the rows of all that meet the conditions. */
export async function countMatching(
  memories: Pick<MemoryStore, "list">,
  projectId: ProjectId,
  {
    conditions,
    filter,
    signal,
  }: { readonly conditions: MemoryConditions; readonly filter: Filter | null; readonly signal: AbortSignal },
): Promise<number> {
  let [count, cursor]: [number, string | null] = [0, null];
  do {
    const listing = { ...conditions, limit: PART_READ, ...(cursor !== null && { cursor }) };
    const page = await memories.list(projectId, listing);
    count += filter === null ? page.items.length : page.items.filter((memory) => matchesFilter(filter, memory)).length;
    cursor = page.cursor;
    await others(signal);
  } while (cursor !== null);
  return count;
}

/** Lets other requests run. @throws if the caller has hung up */
async function others(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise(setImmediate);
}
