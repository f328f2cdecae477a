// Which memories may a search see? Turns scope and filter into the one admissible set that every leg works inside, and
// says of a row whether it still lies within both. What a filter means is domain/filter.ts.

import { type Filter, matchesFilter } from "../domain/filter.ts";
import type { Memory } from "../domain/memory.ts";
import type { SearchScope } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { AdmissibleSet, ProjectIndex } from "../ports/chunk-index.ts";

/** What a search is confined to. */
export interface Confinement {
  readonly scope: SearchScope;
  readonly filter: Filter | null;
}

/** The admissible set of a confinement; null where nobody can have any memory in it. */
export async function admissibleSet(
  { index, clock }: { readonly index: ProjectIndex; readonly clock: Clock },
  { scope, filter }: Confinement,
): Promise<AdmissibleSet | null> {
  // A user that nobody has named yet owns nothing: the scope is empty, never the whole project.
  if (scope.user !== null && scope.user.key === null) return null;
  const userKey = scope.user?.key ?? null;
  return filter === null ? index.admit(userKey, clock.now()) : index.admitWithin(userKey, clock.now(), filter);
}

/** Whether a row is one that a search of this confinement may show. */
export function isWithin({ scope, filter }: Confinement, memory: Memory): boolean {
  return (
    memory.state.status === "completed" &&
    (scope.user === null || memory.userKey === scope.user.key) &&
    (filter === null || matchesFilter(filter, memory))
  );
}
