// Counts memories, and reads those that match a filter. Both work in parts, so that other requests run in between.

import { type Filter, matchesFilter, refuseFilterThen } from "../domain/filter.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import { type Viewer, withinViewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { HistoryStore } from "../ports/history-store.ts";
import type { MemoryConditions, MemoryStore } from "../ports/memory-store.ts";
import { refuseOutsideHistory } from "./history.ts";

/** Number of memories that one part counts without reading them: about 2 ms. */
const PART_COUNTED = 2_000;
/** Number of memories that one part reads, and compares with a filter: about 5 ms. */
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
    const conditions = withinViewer(viewer, asked);
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
      await letOthersRun(signal);
    } while (before !== null);
    return count;
  }
}

/** Number of memories that meet conditions and match a filter. Reads the rows of all that meet the conditions. */
export async function countMatching(...asked: Parameters<typeof matchingPages>): Promise<number> {
  let count = 0;
  for await (const page of matchingPages(...asked)) count += page.length;
  return count;
}

/**
 * The memories that meet conditions and match a filter, newest first, in pages. Reads the rows of all that meet the
 * conditions, and lets other requests run after each page.
 * @throws the abort reason of `signal`
 */
export async function* matchingPages(
  memories: Pick<MemoryStore, "list">,
  projectId: ProjectId,
  {
    conditions,
    filter,
    signal,
  }: { readonly conditions: MemoryConditions; readonly filter: Filter | null; readonly signal: AbortSignal },
): AsyncGenerator<readonly Memory[]> {
  let cursor: string | null = null;
  do {
    const page: Page<Memory> = await memories.list(projectId, {
      ...conditions,
      limit: PART_READ,
      ...(cursor !== null && { cursor }),
    });
    yield filter === null ? page.items : page.items.filter((memory) => matchesFilter(filter, memory));
    cursor = page.cursor;
    await letOthersRun(signal);
  } while (cursor !== null);
}

/** Lets other requests run. @throws the abort reason of `signal` */
async function letOthersRun(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise(setImmediate);
}
