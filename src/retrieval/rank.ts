// The arithmetic of ranking, as pure functions: combines signals, squashes logits, calibrates scores. search.ts calls
// the functions in their order.

import { invariant } from "../domain/fault.ts";
import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Signal, Signals } from "../domain/ranking.ts";
import type { Curve } from "../domain/retrieval-tuning.ts";
import type { EarlyExit } from "../ports/models.ts";
import { type Mode, NEIGHBOUR_CANDIDATES, NEIGHBOURS, RERANKED_TOKENS_MAX } from "./modes.ts";

/** A candidate passage with the signals that were computed for it so far. */
export interface Candidate {
  readonly chunkKey: ChunkKey;
  readonly memoryKey: MemoryKey;
  readonly signals: Signals;
  /** Weighted sum of vector, full-text and graph score, after the sibling boost. */
  readonly hybridScore: number;
  /**
   * Score that decides the order: the hybrid score before reranking; afterwards the hybrid score plus the reranker's
   * part; in both cases with the neighbour boost.
   */
  readonly finalScore: number;
  /** The most similar passages of other memories, if vectors were compared; see `withNeighbours`. */
  readonly neighbours?: readonly ChunkKey[];
  /** The passage of a newer memory that contradicts this one, if the candidates contain one. */
  readonly supersededBy?: ChunkKey;
}

/** All candidate passages of a search, as parallel arrays. */
export interface Pool {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  /** Cosine similarity to the query; NaN if unknown. */
  readonly cosines: Float32Array;
  /** BM25 score, 0..1; null if full text is not used. */
  readonly textScores: Float32Array | null;
}

/** Result of graph search. */
export interface GraphScores {
  /** The graph signals, by chunk key. */
  readonly signals: ReadonlyMap<bigint, Signal>;
  /** How sure the graph is of the question's entities, 0..1. */
  readonly certainty: number;
}

/** Graph scores for a search in which graph search did not run or found nothing. */
export const NO_GRAPH: GraphScores = { signals: new Map(), certainty: 0 };

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
function boostNeighbours(
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

/**
 * Estimated characters per reranker token: 3.4 to 5.5 in nine of ten passages of SciFact and HotpotQA. On HotpotQA, the
 * estimate admits .3 to .5 passages less than would fit, on average. With `estimatedTokens`, which is for language
 * models, the difference would be twice as large.
 */
const CHARACTERS_PER_TOKEN = 4;

/**
 * Number of leading `texts` that fit into the reranker's token budget; at least one if there is any.
 * @param tokensMax budget for all (query, text) pairs; a pair counts as `RERANKED_TOKENS_MAX` at most.
 */
export function rerankedCount(query: string, texts: readonly string[], tokensMax: number): number {
  let left = tokensMax;
  const firstBeyond = texts.findIndex((text, position) => {
    left -= Math.min(RERANKED_TOKENS_MAX, Math.ceil((query.length + text.length) / CHARACTERS_PER_TOKEN));
    return left < 0 && position > 0;
  });
  return firstBeyond === -1 ? texts.length : firstBeyond;
}

/** Logits are clipped to this absolute value, because the reranker is well calibrated only within it. */
const LOGIT_BOUND = 8;

/** Number of logits whose median a passage without a logit gets. */
const NEUTRAL_LOGITS = 10;

/** Maps a reranker logit to -1..1. NaN counts as the worst logit. */
export function squashLogit(logit: number): number {
  if (Number.isNaN(logit)) return -1;
  return Math.max(-LOGIT_BOUND, Math.min(LOGIT_BOUND, logit)) / LOGIT_BOUND;
}

/**
 * The squashed logit of a candidate that the reranker did not read: the median of the `NEUTRAL_LOGITS` nearest ones in
 * the head. Not of all of them: logits fall down the head, so that the median of a longer head would be lower.
 */
function neutralLogit(given: readonly (number | null)[], position: number): number {
  const read = given.flatMap((score, at) => (score === null ? [] : [{ score, distance: Math.abs(at - position) }]));
  read.sort((left, right) => left.distance - right.distance);
  return medianOf(read.slice(0, NEUTRAL_LOGITS).map(({ score }) => score));
}

/** The median; 0 if there are no values. */
function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
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
function negatedScores(scores: ArrayLike<number>): Float64Array {
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

/** The hits that are not in the pool, in the order of the hits. */
export function hitsOutsidePool(
  pool: Pool,
  hits: Pick<Pool, "chunkKeys" | "memoryKeys">,
): Pick<Pool, "chunkKeys" | "memoryKeys"> {
  const known = new Set(pool.chunkKeys);
  const isNew = (_: bigint, position: number) => !known.has(hits.chunkKeys[position] ?? 0n);
  return { chunkKeys: hits.chunkKeys.filter(isNew), memoryKeys: hits.memoryKeys.filter(isNew) };
}

/** Concatenates two pools that have no passage in common. Either both have text scores or none. */
export function mergePools(first: Pool, second: Pool): Pool {
  invariant((first.textScores === null) === (second.textScores === null), "both pools have text scores, or none");
  const chunkKeys = new BigUint64Array(first.chunkKeys.length + second.chunkKeys.length);
  const memoryKeys = new BigUint64Array(chunkKeys.length);
  const cosines = new Float32Array(chunkKeys.length);
  const textScores = first.textScores === null ? null : new Float32Array(chunkKeys.length);
  for (const [offset, pool] of [[0, first] as const, [first.chunkKeys.length, second] as const]) {
    chunkKeys.set(pool.chunkKeys, offset);
    memoryKeys.set(pool.memoryKeys, offset);
    cosines.set(pool.cosines, offset);
    if (pool.textScores !== null) textScores?.set(pool.textScores, offset);
  }
  return { chunkKeys, memoryKeys, cosines, textScores };
}

/**
 * Ranks the pool by hybrid score: vectorWeight * cosine + textWeight * BM25 score + graphWeight * graph score, then the
 * sibling boost. The text weight shrinks as graph certainty grows (`graphCertaintyDamping`).
 *
 * Each part has the same scale in every query. This works better than combining ranks (SciFact nDCG@10: reciprocal rank
 * fusion .715, weighted sum .740; docs/measurements.md).
 *
 * A passage with an unknown cosine gets 0 for it and has no vector signal.
 * @param count number of passages to return at most; the others only count in the ranks of the signals
 */
export function rankByHybridScore(
  pool: Pool,
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
function hybridScores({ chunkKeys, cosines, textScores }: Pool, mode: Mode, graph: GraphScores): Float64Array {
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
 * Adds the reranker to the head of the list: final score = hybrid score + rerankWeight * squashed logit, then the
 * sibling boost again, then the neighbour boost within the head. The rerank weight shrinks as graph certainty grows.
 * The reranker never decides the order alone (SciFact nDCG@10: reranker alone .627, blended .726). Candidates behind
 * the head keep their order and stay behind the head.
 * @param logits one per candidate of the head, in its order; null for a candidate that the reranker did not read
 *   because of its language. It gets the median of those that are nearest to it in the head, so that the reranker moves
 *   it neither up nor down.
 */
export function blendRerank(
  candidates: readonly Candidate[],
  logits: ArrayLike<number | null>,
  mode: Mode,
  graph: GraphScores = NO_GRAPH,
): Candidate[] {
  const given = Array.from(logits, (logit) => (logit === null ? null : squashLogit(logit)));
  const ranks = ranksOf(given.map((score) => score ?? Number.NaN));
  const weight = mode.rerankWeight * graphDamping(graph, mode);
  const read = candidates.slice(0, given.length);
  const blended = read.map(
    ({ hybridScore }, position) => hybridScore + weight * (given[position] ?? neutralLogit(given, position)),
  );
  const memoryKeys = read.map(({ memoryKey }) => memoryKey);
  const finals = boostSiblings(memoryKeys, blended, mode.siblingBoost);
  const scored = read.map((candidate, position) => {
    const score = given[position] ?? null;
    const signals =
      score === null ? candidate.signals : { ...candidate.signals, rerank: { rank: ranks[position] ?? 0, score } };
    return { ...candidate, signals, finalScore: finals[position] ?? candidate.hybridScore };
  });
  const head = mode.neighbourBoost === 0 ? scored : boostNeighbours(scored, finals, mode, graph);
  return [...sortByFinalScore(head), ...candidates.slice(given.length)];
}

/**
 * Early-exit settings for reranking these candidates. A candidate's prior score is its hybrid score divided by the
 * weight of one logit. Returns undefined if logits have no weight in this mode, so that hybrid scores cannot be scaled
 * to logits.
 */
export function earlyExitFor(
  candidates: readonly Candidate[],
  mode: Mode,
  graph: GraphScores = NO_GRAPH,
): EarlyExit | undefined {
  const logitWeight = (mode.rerankWeight * graphDamping(graph, mode)) / LOGIT_BOUND;
  if (logitWeight === 0) return undefined;
  return {
    priorScores: candidates.map(({ hybridScore }) => hybridScore / logitWeight),
    fullTokensMax: mode.rerankFullTokensMax,
  };
}

/** Factor, 0..1, for the text weight and the rerank weight at this graph certainty. */
function graphDamping({ certainty }: GraphScores, { graphCertaintyDamping }: Mode): number {
  return 1 - graphCertaintyDamping * certainty;
}

/**
 * Turns final scores into probabilities of relevance, 0..1. Down the list, they stay equal or fall, even if a candidate
 * behind the reranked head has a higher final score than the head.
 * @param memories number of memories that the search could find, at least 1
 * @returns one per candidate, in their order
 */
export function calibrate(
  candidates: readonly Candidate[],
  { slope, gapSlope, sizeSlope, offset }: Curve,
  memories: number,
): number[] {
  const best = candidates[0]?.finalScore ?? 0;
  const base = offset - sizeSlope * Math.log(memories);
  let ceiling = 1;
  return candidates.map(({ finalScore }) => {
    const gap = Math.min(0, finalScore - best);
    ceiling = Math.min(ceiling, 1 / (1 + Math.exp(-(slope * finalScore + gapSlope * gap + base))));
    return ceiling;
  });
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
