// Neighbour boost: passages that resemble higher-scoring passages of other memories gain score.

import type { ChunkKey } from "../domain/ids.ts";
import { type Candidate, ranksOf, sortByFinalScore } from "./candidate.ts";
import { type GraphScores, graphDamping, NO_GRAPH } from "./graph-walk.ts";
import { type Mode, NEIGHBOUR_CANDIDATES, NEIGHBOURS } from "./modes.ts";
import type { Search } from "./request.ts";

/** Finds the neighbours of the best candidates and applies the neighbour boost, if the mode uses it. */
export async function compareCandidates(
  { index, mode }: Search,
  candidates: readonly Candidate[],
  graph: GraphScores,
): Promise<readonly Candidate[]> {
  const compared = comparedCandidates(candidates, mode);
  if (compared.length === 0) return candidates;
  const similarities = await index.compareVectors({
    chunkKeys: BigUint64Array.from(compared, ({ chunkKey }) => chunkKey),
    memoryKeys: BigUint64Array.from(compared, ({ memoryKey }) => memoryKey),
  });
  return preferNeighbours(withNeighbours(candidates, similarities, mode), mode, graph);
}

/** The candidates whose vectors are compared to find neighbours; none if the mode does not use them. */
export function comparedCandidates(candidates: readonly Candidate[], { neighbourBoost }: Mode): readonly Candidate[] {
  return neighbourBoost > 0 && candidates.length > 1 ? candidates.slice(0, NEIGHBOUR_CANDIDATES) : [];
}

/**
 * The candidates, the compared ones with their neighbours: the passages of other memories with the most similar
 * vectors.
 * @param candidates best hybrid score first
 * @param similarities cosines between the `comparedCandidates`, row-major; NaN where a vector is missing
 */
export function withNeighbours(
  candidates: readonly Candidate[],
  similarities: Float32Array,
  mode: Mode,
): readonly Candidate[] {
  const compared = comparedCandidates(candidates, mode);
  const count = compared.length;
  return candidates.map((candidate, at) => {
    if (at >= count) return candidate;
    return { ...candidate, neighbours: nearest(compared, at, similarities.subarray(at * count, (at + 1) * count)) };
  });
}

function nearest(compared: readonly Candidate[], position: number, row: Float32Array): readonly ChunkKey[] {
  const own = compared[position]?.memoryKey;
  const found: { readonly chunkKey: ChunkKey; readonly similarity: number }[] = [];
  for (const [at, { chunkKey, memoryKey }] of compared.entries()) {
    const similarity = row[at] ?? Number.NaN;
    if (memoryKey === own || Number.isNaN(similarity)) continue;
    if (found.length === NEIGHBOURS && similarity <= (found.at(-1)?.similarity ?? 0)) continue;
    const place = found.findIndex((nearer) => nearer.similarity < similarity);
    found.splice(place === -1 ? found.length : place, 0, { chunkKey, similarity });
    if (found.length > NEIGHBOURS) found.pop();
  }
  return found.map(({ chunkKey }) => chunkKey);
}

/**
 * Neighbour boost of hybrid scores: makes hybrid score plus boost the final score, and sorts the candidates by it. Can
 * be repeated, because it starts from the hybrid scores, which stay the same.
 */
export function preferNeighbours(
  candidates: readonly Candidate[],
  mode: Mode,
  graph: GraphScores = NO_GRAPH,
): readonly Candidate[] {
  if (mode.neighbourBoost === 0) return candidates;
  const scores = candidates.map(({ hybridScore }) => hybridScore);
  return sortByFinalScore(boostNeighbours(candidates, scores, mode, graph));
}

/**
 * Neighbour boost: each passage gains a share of the mean distance to its neighbours that score higher. A neighbour
 * that does not score higher, or is not in the list, counts as distance 0. The boost lowers no score, and the best one
 * stays the best.
 * @param scores one per candidate
 * @returns the candidates in the same order, with their new final scores
 */
export function boostNeighbours(
  candidates: readonly Candidate[],
  scores: ArrayLike<number>,
  mode: Mode,
  graph: GraphScores,
): Candidate[] {
  const share = (mode.neighbourBoost * graphDamping(graph, mode)) / NEIGHBOURS;
  const scoreOf = new Map(candidates.map(({ chunkKey }, at) => [chunkKey, scores[at] ?? Number.NEGATIVE_INFINITY]));
  const gains = candidates.map(({ neighbours }, at) => {
    const own = scores[at] ?? 0;
    return share * (neighbours ?? []).reduce((sum, key) => sum + Math.max(0, (scoreOf.get(key) ?? own) - own), 0);
  });
  const ranks = ranksOf(gains);
  return candidates.map((candidate, at) => {
    const gain = gains[at] ?? 0;
    const { neighbours: _before, ...signals } = candidate.signals;
    return {
      ...candidate,
      signals: gain === 0 ? signals : { ...signals, neighbours: { rank: ranks[at] ?? 0, score: gain } },
      finalScore: (scores[at] ?? 0) + gain,
    };
  });
}
