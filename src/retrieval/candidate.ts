// A candidate passage, and how candidates are ordered.

import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Signals } from "../domain/signals.ts";
import type { Passage } from "../ports/chunk-index.ts";

/** A candidate passage with the signals that were computed for it so far. */
export interface Candidate {
  readonly chunkKey: ChunkKey;
  readonly memoryKey: MemoryKey;
  readonly signals: Signals;
  /**
   * Weighted sum of vector, full-text and graph score, after the sibling boost. After hydration also with the gains and
   * losses of turns (`preferTurns`) and of passages of a named time (`preferTime`).
   */
  readonly hybridScore: number;
  /**
   * Score that decides the order. Before reranking: the hybrid score with the neighbour boost. Afterwards: hybrid score
   * plus the reranker's part, with sibling boost and neighbour boost. A passage that a later step moves up takes the
   * score of the place.
   */
  readonly finalScore: number;
  /** The most similar passages of other memories, if vectors were compared; see `withNeighbours`. */
  readonly neighbours?: readonly ChunkKey[];
  /** The passage of a newer memory that contradicts this one, if the candidates contain one. */
  readonly supersededBy?: ChunkKey;
}

/** A candidate's row and passage. */
export interface Hydrated {
  readonly memory: Memory;
  readonly passage: Passage;
}

/** Sorts candidates, best first. Equal scores are ordered by vector rank; candidates without a cosine come last. */
export function sortByFinalScore(candidates: Candidate[]): Candidate[] {
  const place = ({ signals }: Candidate) => signals.vector?.rank ?? Number.MAX_SAFE_INTEGER;
  return candidates.sort((left, right) => descending(left.finalScore, right.finalScore) || place(left) - place(right));
}

/** Makes the hybrid scores the final scores, as they are until the reranker runs, and sorts the candidates by them. */
export function sortByHybridScore(candidates: readonly Omit<Candidate, "finalScore">[]): Candidate[] {
  return sortByFinalScore(candidates.map((candidate) => ({ ...candidate, finalScore: candidate.hybridScore })));
}

/**
 * Distance between the best hybrid score and that of the given rank, or of the last candidate if there are fewer.
 * Shares of it fit the scores of every mode and embedding model.
 * @param candidates best first
 */
export function distanceToRank(rank: number, candidates: readonly Candidate[]): number {
  const last = candidates[Math.min(rank, candidates.length) - 1];
  return (candidates[0]?.hybridScore ?? 0) - (last?.hybridScore ?? 0);
}

// Not `right - left`: the difference of two infinities is NaN.
function descending(left: number, right: number): number {
  return left < right ? 1 : left > right ? -1 : 0;
}

/** Ranks of `scores`, 1 for the highest. Equal scores keep their order; NaN ranks last. */
export function ranksOf(scores: ArrayLike<number>): Uint32Array {
  const negated = negatedScores(scores);
  const sorted = negated.toSorted();
  const ranks = new Uint32Array(sorted.length);
  const equalBefore = new Uint32Array(sorted.length);
  for (let at = 0; at < ranks.length; at++) {
    const first = firstAtLeast(sorted, negated[at] ?? 0);
    const before = equalBefore[first] ?? 0;
    equalBefore[first] = before + 1;
    ranks[at] = first + before + 1;
  }
  return ranks;
}

/**
 * The scores with the opposite sign, NaN as infinity, so that the best come first when they are sorted as numbers. That
 * is faster than to sort with a comparator.
 */
export function negatedScores(scores: ArrayLike<number>): Float64Array {
  // A loop, because `Float64Array.from` with a function is several times slower.
  const negated = new Float64Array(scores.length);
  for (let at = 0; at < negated.length; at++) {
    const score = scores[at] ?? Number.NaN;
    negated[at] = Number.isNaN(score) ? Number.POSITIVE_INFINITY : -score;
  }
  return negated;
}

/** Index of the first element of an ascending array that is not below `value`; the length if there is none. */
function firstAtLeast(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
