// Fusion: combines the scores of the search legs to one hybrid score, and orders the candidates by it.

import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Signals } from "../domain/signals.ts";
import type { Pool } from "../ports/chunk-index.ts";
import { type Candidate, negatedScores, ranksOf, sortByFinalScore } from "./candidate.ts";
import { type GraphScores, graphDamping, NO_GRAPH } from "./graph-walk.ts";
import type { Mode } from "./modes.ts";

/**
 * Orders the candidates of a pool by hybrid score: vectorWeight * cosine + (1 - vectorWeight) * typicalCosine +
 * textWeight * BM25 score + graphWeight * graph score, then the sibling boost. The text weight shrinks as graph
 * certainty grows (`graphCertaintyDamping`).
 *
 * Each part has the same scale in every query. This works better than combining ranks (SciFact nDCG@10: reciprocal rank
 * fusion 0.715, weighted sum 0.740; docs/measurements.md).
 *
 * A passage with an unknown cosine gets 0 for it and has no vector signal.
 * @param count number of passages to return at most; the others only count in the ranks of the signals
 */
export function fuse(
  pool: Omit<Pool, "graph">,
  mode: Mode,
  graph: GraphScores = NO_GRAPH,
  count = Number.POSITIVE_INFINITY,
): Candidate[] {
  const { textScores } = pool;
  const boosted = boostSiblings(numbersOf(pool.memoryKeys), hybridScores(pool, mode, graph), mode.siblingBoost);
  const vectorRanks = ranksOf(pool.cosines);
  const textRanks = textScores === null ? null : ranksOf(textScores);
  const candidates = bestPositions(boosted, count).map((position): Candidate => {
    const chunkKey = pool.chunkKeys[position] as ChunkKey;
    const memoryKey = pool.memoryKeys[position] as MemoryKey;
    const signals: { -readonly [Name in keyof Signals]: Signals[Name] } = {};
    const cosine = pool.cosines[position] ?? Number.NaN;
    if (!Number.isNaN(cosine)) signals.vector = { rank: vectorRanks[position] ?? 0, score: cosine };
    if (textRanks !== null) signals.text = { rank: textRanks[position] ?? 0, score: textScores?.[position] ?? 0 };
    const graphSignal = graph.signals.get(chunkKey);
    if (graphSignal !== undefined) signals.graph = graphSignal;
    const hybridScore = boosted[position] ?? 0;
    return { chunkKey, memoryKey, signals, hybridScore, finalScore: hybridScore };
  });
  return sortByFinalScore(candidates).slice(0, count);
}

/** The hybrid scores of the pool, without the sibling boost. */
function hybridScores(
  { chunkKeys, cosines, textScores }: Omit<Pool, "graph">,
  mode: Mode,
  graph: GraphScores,
): Float64Array {
  const { vectorWeight, typicalCosine, graphWeight } = mode;
  const textWeight = mode.textWeight * graphDamping(graph, mode);
  const scores = new Float64Array(cosines.length);
  for (let at = 0; at < scores.length; at++) {
    const cosine = cosines[at] ?? Number.NaN;
    const vectorPart = Number.isNaN(cosine) ? 0 : vectorWeight * cosine + (1 - vectorWeight) * typicalCosine;
    const graphScore = graph.signals.size === 0 ? 0 : (graph.signals.get(chunkKeys[at] ?? 0n)?.score ?? 0);
    scores[at] = vectorPart + textWeight * (textScores?.[at] ?? 0) + graphWeight * graphScore;
  }
  return scores;
}

/**
 * Sibling boost: each passage gains `share` of the distance to the best passage of its memory. It never exceeds that
 * best passage, so the best score of each memory stays the same. A memory with one passage gains nothing.
 * @param memories identifies the memory of each passage
 * @param scores one per passage
 * @returns the new scores, in the same order
 */
export function boostSiblings(
  memories: ArrayLike<number | bigint>,
  scores: ArrayLike<number>,
  share: number,
): Float64Array {
  const best = new Map<number | bigint | undefined, number>();
  for (let at = 0; at < memories.length; at++) {
    const memoryKey = memories[at];
    const score = scores[at] ?? Number.NaN;
    if (score > (best.get(memoryKey) ?? Number.NEGATIVE_INFINITY)) best.set(memoryKey, score);
  }
  const boosted = new Float64Array(scores.length);
  for (let at = 0; at < boosted.length; at++) {
    const score = scores[at] ?? Number.NaN;
    boosted[at] = score + share * ((best.get(memories[at]) ?? score) - score);
  }
  return boosted;
}

/** The positions of the `count` highest scores, and of those that equal the lowest of them, in ascending order. */
function bestPositions(scores: Float64Array, count: number): number[] {
  const negated = negatedScores(scores);
  const worst = negated.toSorted()[Math.min(count, negated.length) - 1] ?? Number.NEGATIVE_INFINITY;
  const positions: number[] = [];
  for (let at = 0; at < negated.length; at++) if ((negated[at] ?? 0) <= worst) positions.push(at);
  return positions;
}

/** Keys of memories as numbers, which a map finds faster than bigints. Keys below 2^53 stay different. */
function numbersOf(keys: BigUint64Array): Float64Array {
  // Reading a bigint allocates it. All processors that the native core is built for have the lower half first.
  const halves = new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length);
  const numbers = new Float64Array(keys.length);
  for (let at = 0; at < keys.length; at++) numbers[at] = (halves[2 * at] ?? 0) + (halves[2 * at + 1] ?? 0) * 2 ** 32;
  return numbers;
}
