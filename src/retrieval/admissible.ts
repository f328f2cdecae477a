// Turns scope and filter of a request into the admissible set, which limits every leg of a search. Also checks whether
// a memory still belongs to the scope and matches the filter. domain/filter.ts defines the meaning of filters.

import { type Filter, matchesFilter } from "../domain/filter.ts";
import type { Memory } from "../domain/memory.ts";
import type { SearchScope } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { AdmissibleSet, SearchIndex } from "../ports/chunk-index.ts";

/** Scope and filter of a search. */
export interface FilteredScope {
  readonly scope: SearchScope;
  readonly filter: Filter | null;
}

/** Computes the admissible set of a search; null if no memory can be in it. */
export async function admissibleSet(
  { index, clock }: { readonly index: SearchIndex; readonly clock: Clock },
  { scope, filter }: FilteredScope,
): Promise<AdmissibleSet | null> {
  // A user id that was never used owns no memories. The result must be empty, and never the whole project.
  if (scope.user !== null && scope.user.key === null) return null;
  const userKey = scope.user?.key ?? null;
  return filter === null ? index.admit(userKey, clock.now()) : index.admitWithin(userKey, clock.now(), filter);
}

/** Whether a search with this scope and this filter may show the memory. */
export function isWithin({ scope, filter }: FilteredScope, memory: Memory): boolean {
  return (
    memory.state.status === "completed" &&
    (scope.user === null || memory.userKey === scope.user.key) &&
    (filter === null || matchesFilter(filter, memory))
  );
}
