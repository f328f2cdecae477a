// Which memories may a search see? Turns scope and filter into the one admissible set that every leg works inside, and
// says of a row whether it still lies within both. What a filter means is domain/filter.ts.

import { setImmediate as nextTurn } from "node:timers/promises";
import { type Filter, matchesFilter } from "../domain/filter.ts";
import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { SearchScope } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { AdmissibleSet, ProjectIndex } from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";

/** Rows of one read: .3 ms where metadata is small, 7 ms where all of it is as large as it may be (2 cores, 21 Nov 2026). */
const PAGE_ROWS = 50;
/** How long filtering keeps other requests waiting at a stretch, the read of one page aside: together some 10 ms. */
const SLICE_MS = 4;

/** What a search is confined to. */
export interface Confinement {
  readonly scope: SearchScope;
  readonly filter: Filter | null;
}

/**
 * The admissible set of a confinement; null where nobody can have any memory in it. A filter reads every completed row of
 * the scope, and lets other requests go on meanwhile.
 * @throws what `signal` was aborted with.
 */
export async function admissibleSet(
  parts: {
    readonly index: ProjectIndex;
    readonly memories: Pick<MemoryStore, "filterablePage">;
    readonly clock: Clock;
  },
  { scope, filter }: Confinement,
  signal?: AbortSignal,
): Promise<AdmissibleSet | null> {
  // A user that nobody has named yet owns nothing: the scope is empty, never the whole project.
  if (scope.user !== null && scope.user.key === null) return null;
  const only = filter === null ? null : await keysWithin(parts.memories, scope, filter, signal);
  return parts.index.admit(scope.user?.key ?? null, parts.clock.now(), only);
}

/** Whether a row is one that a search of this confinement may show. */
export function isWithin({ scope, filter }: Confinement, memory: Memory): boolean {
  return (
    memory.state.status === "completed" &&
    (scope.user === null || memory.userKey === scope.user.key) &&
    (filter === null || matchesFilter(filter, memory))
  );
}

async function keysWithin(
  memories: Pick<MemoryStore, "filterablePage">,
  scope: SearchScope,
  filter: Filter,
  signal: AbortSignal | undefined,
): Promise<readonly MemoryKey[]> {
  const keys: MemoryKey[] = [];
  let after: MemoryKey | null = null;
  let sliceStart = performance.now();
  for (;;) {
    const page: readonly Memory[] = memories.filterablePage(scope.projectId, scope.user?.key ?? null, after, PAGE_ROWS);
    for (const memory of page) {
      if (matchesFilter(filter, memory)) keys.push(memory.key);
      if (performance.now() - sliceStart < SLICE_MS) continue;
      await nextTurn();
      signal?.throwIfAborted();
      sliceStart = performance.now();
    }
    after = page.at(-1)?.key ?? null;
    if (page.length < PAGE_ROWS) return keys;
  }
}
