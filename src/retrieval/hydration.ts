// Fetches rows and passages of candidates, and checks that a row may still be shown and still has the same version.

import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import { isWithin } from "./admissible.ts";
import type { Candidate, Hydrated } from "./candidate.ts";
import { comparedNotes } from "./mark-replaced.ts";
import { comparedTurns } from "./prefer-turns.ts";
import type { RetrievalDependencies, Search, SearchRequest } from "./request.ts";
import { STANDING_CANDIDATES } from "./standing.ts";
import { TIMED_CANDIDATES } from "./time/prefer-time.ts";

/**
 * Reads the rows of memories, by key. Leaves out memories that the search may not show; with `knownAt`, also those that
 * had another text at that time.
 */
export async function readRows(
  { parts, request }: Search,
  memoryKeys: readonly MemoryKey[],
): Promise<ReadonlyMap<MemoryKey, Memory>> {
  const shown = [...(await readRowsOf(parts, request, memoryKeys))];
  const { knownAt } = request;
  if (knownAt === undefined) return new Map(request.asOf === undefined ? shown : await asOfThen(parts, request, shown));
  const keys = shown.map(([key]) => key);
  const others = await parts.history.textsAt(request.scope.projectId, keys, knownAt);
  return new Map(shown.filter(([key]) => !others.has(key)));
}

/**
 * Reads the rows of memories that the search may show, by key. With `knownAt`, also those that had another text at that
 * time, and `supersededBy` is the value of that time.
 */
export async function readRowsOf(
  parts: Pick<RetrievalDependencies, "memories" | "relations">,
  request: SearchRequest,
  memoryKeys: readonly MemoryKey[],
): Promise<ReadonlyMap<MemoryKey, Memory>> {
  const rows = await parts.memories.getMany(request.scope.projectId, [...new Set(memoryKeys)]);
  const shown = [...rows].filter(([, memory]) => isWithin(request, memory));
  const { asOf, knownAt } = request;
  if (knownAt === undefined) return new Map(shown);
  const at = { knownAt, ...(asOf !== undefined && { asOf }) };
  const keys = shown.map(([key]) => key);
  const then = await parts.relations.supersededAt(request.scope.projectId, keys, at);
  return new Map(shown.map(([key, memory]) => [key, { ...memory, ...then.get(key) }]));
}

/** The rows with the `supersededBy` of the time `asOf`. */
async function asOfThen(
  { relations }: Pick<RetrievalDependencies, "relations">,
  { scope, asOf = 0 }: SearchRequest,
  rows: readonly (readonly [MemoryKey, Memory])[],
): Promise<readonly (readonly [MemoryKey, Memory])[]> {
  const marked = rows.flatMap(([key, { supersededBy, supersededPassages }]) =>
    supersededBy === null && supersededPassages === null ? [] : [key],
  );
  if (marked.length === 0) return rows;
  const then = await relations.supersededAt(scope.projectId, marked, { asOf });
  return rows.map(([key, memory]) => [key, { ...memory, ...then.get(key) }]);
}

/**
 * Fetches rows and passages of candidates, by chunk key; candidates that may not be shown are left out. The row is read
 * before the passage. So if the row still has the same version at the end of the search, the passage belongs to that
 * version.
 */
export async function hydrate(running: Search, candidates: readonly Candidate[]): Promise<Map<bigint, Hydrated>> {
  const rows = await readRows(
    running,
    candidates.map(({ memoryKey }) => memoryKey),
  );
  const passages = await running.index.passages(BigUint64Array.from(candidates, ({ chunkKey }) => chunkKey));
  const found = new Map<bigint, Hydrated>();
  for (const [position, { chunkKey, memoryKey }] of candidates.entries()) {
    const passage = passages[position];
    const memory = rows.get(memoryKey);
    if (passage && memory) found.set(chunkKey, { memory, passage });
  }
  return found;
}

/**
 * Fetches rows and passages of the best candidates: as many as are shown, reranked, preferred for a time, or searched
 * for standing passages. If some of them are turns of conversations, also those that `preferTurns` compares. If some
 * are notes, also those that `markReplaced` compares, so that even a search for one result finds the newer note.
 */
export async function hydrateBest(
  running: Search,
  candidates: readonly Candidate[],
): Promise<{ readonly hydrated: ReadonlyMap<bigint, Hydrated>; readonly taken: number }> {
  const { request, mode, watch, time } = running;
  let taken = Math.max(
    ...[
      mode.rerankDepth,
      request.limit,
      time === null ? 0 : TIMED_CANDIDATES,
      running.offersStanding ? STANDING_CANDIDATES : 0,
    ],
  );
  const hydrated = await hydrate(running, candidates.slice(0, taken));
  const compared = Math.max(comparedTurns(hydrated), comparedNotes(hydrated));
  if (taken < compared) {
    const more = await hydrate(running, candidates.slice(taken, compared));
    for (const [key, found] of more) hydrated.set(key, found);
    taken = compared;
  }
  watch.lap("hydrate", hydrated.size);
  return { hydrated, taken };
}

/**
 * The candidates whose rows may still be shown and have the hydrated version, by chunk key, with their current
 * attributes.
 */
export function stillValid(
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
  rows: ReadonlyMap<MemoryKey, Memory>,
): ReadonlyMap<bigint, Hydrated> {
  const valid = new Map<bigint, Hydrated>();
  for (const { chunkKey, memoryKey } of candidates) {
    const before = hydrated.get(chunkKey);
    const memory = rows.get(memoryKey);
    if (before === undefined || memory === undefined || memory.version !== before.memory.version) continue;
    valid.set(chunkKey, { memory, passage: before.passage });
  }
  return valid;
}
