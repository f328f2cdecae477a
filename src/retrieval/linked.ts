// Places passages that only the graph contributes: they share a rare entity with a passage about a rare entity of the
// query. Other passages match the query's ordinary words better, so the scores alone would place the linked passages
// last.

import type { Candidate } from "./candidate.ts";
import type { CertainLinks } from "./graph-walk.ts";

/** Maximum number of passages that are placed by their links. */
const LINKED_MAX = 3;

/**
 * Moves each linked passage up to a place after the passage that leads to it, and after those before it that name an
 * entity of the query. They get the score of the passage whose place they take.
 * @param candidates in their final order
 */
export function placeLinked(candidates: readonly Candidate[], { named, links }: CertainLinks): readonly Candidate[] {
  const placed = [...candidates];
  const kept = new Set(named);
  for (const { chunkKey, via } of links.slice(0, LINKED_MAX)) {
    const at = placed.findIndex((candidate) => candidate.chunkKey === chunkKey);
    const isThere = placed.some((candidate) => candidate.chunkKey === via);
    if (at === -1 || !isThere) continue;
    const target = placed.slice(0, at).findLastIndex((candidate) => kept.has(candidate.chunkKey)) + 1;
    kept.add(chunkKey);
    if (target === 0) continue; // it stands before the passage that leads to it
    const { finalScore = 0 } = placed[target] ?? {};
    const [linked] = placed.splice(at, 1);
    if (linked !== undefined) placed.splice(target, 0, { ...linked, finalScore });
  }
  return placed;
}
