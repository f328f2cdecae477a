// The arithmetic of ranking: combining signals, squashing logits, calibrating scores. Pure; plan.ts decides the order.

import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Signal, Signals } from "../domain/ranking.ts";
import type { Contest } from "../ports/models.ts";
import { type Curve, MIDDLING_COSINE, type Mode, RERANKED_TOKENS_MAX } from "./modes.ts";

/** One candidate passage with what was measured for it so far. */
export interface Candidate {
  readonly chunkKey: ChunkKey;
  readonly memoryKey: MemoryKey;
  readonly signals: Signals;
  /** First stage score. */
  readonly firstStage: number;
  /** Score that decides the order. */
  readonly final: number;
}

/** The passages that a search chooses from; the arrays run in parallel. */
export interface Pool {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  /** NaN where it is not known. */
  readonly cosines: Float32Array;
}

/** What the graph says of passages. */
export interface GraphScores {
  readonly signals: ReadonlyMap<bigint, Signal>;
  /** How sure it is of the question's names, 0..1. */
  readonly certainty: number;
}

/** The graph where it takes no part, or where nothing is linked. */
export const NO_GRAPH: GraphScores = { signals: new Map(), certainty: 0 };

/** A passage's score and the memory that it belongs to. */
type Scored = Pick<Candidate, "memoryKey">;

/**
 * Scores in which each passage gains `share` of the distance to the best one of its memory: what answers often stands beside what
 * sounds like the question. Never above the best, so that a memory's first place stays, and nothing where a memory has one
 * passage.
 * @param scores one per passage
 */
export function lentBySiblings(passages: readonly Scored[], scores: readonly number[], share: number): number[] {
  const best = new Map<MemoryKey, number>();
  for (const [position, { memoryKey }] of passages.entries()) {
    const score = scores[position] ?? Number.NaN;
    if (score > (best.get(memoryKey) ?? Number.NEGATIVE_INFINITY)) best.set(memoryKey, score);
  }
  return passages.map(({ memoryKey }, position) => {
    const score = scores[position] ?? Number.NaN;
    return score + share * ((best.get(memoryKey) ?? score) - score);
  });
}

/**
 * Characters of one of the reranker's tokens, for an estimate: 3.4 to 5.5 in nine of ten passages of SciFact and HotpotQA. Of the latter
 * it reads .3 to .5 fewer than fit; by `estimatedTokens`, which are language models', twice as many fewer.
 */
const TOKEN_CHARACTERS = 4;

/**
 * How many of the first `texts` the reranker reads in the tokens that it has: all, or as many as fit, one at least.
 * @param tokensMax of all pairs of the query with a text, of which each counts `RERANKED_TOKENS_MAX` at most.
 */
export function rerankedCount(query: string, texts: readonly string[], tokensMax: number): number {
  let left = tokensMax;
  const firstBeyond = texts.findIndex((text, position) => {
    left -= Math.min(RERANKED_TOKENS_MAX, Math.ceil((query.length + text.length) / TOKEN_CHARACTERS));
    return left < 0 && position > 0;
  });
  return firstBeyond === -1 ? texts.length : firstBeyond;
}

/** Logits beyond this say no more than this; the reranker is well calibrated only within. */
const LOGIT_BOUND = 8;

/** A reranker's logit as -1..1. A logit that is no number counts as the worst. */
export function squashLogit(logit: number): number {
  if (Number.isNaN(logit)) return -1;
  return Math.max(-LOGIT_BOUND, Math.min(LOGIT_BOUND, logit)) / LOGIT_BOUND;
}

/** Ranks from 1 of `scores`, best first; equal scores keep their order, and what is no number comes last. */
export function ranksOf(scores: ArrayLike<number>): number[] {
  const worth = Array.from(scores, (score) => (Number.isNaN(score) ? Number.NEGATIVE_INFINITY : score));
  const order = [...worth.keys()].sort((left, right) => byFalling(worth[left] ?? 0, worth[right] ?? 0) || left - right);
  const ranks = new Array<number>(scores.length).fill(0);
  order.forEach((position, place) => {
    ranks[position] = place + 1;
  });
  return ranks;
}

/** What of `hits` is not in the pool, in its order: chunk and memory keys in parallel. */
export function beyondPool(
  pool: Pool,
  hits: Pick<Pool, "chunkKeys" | "memoryKeys">,
): Pick<Pool, "chunkKeys" | "memoryKeys"> {
  const known = new Set(pool.chunkKeys);
  const isNew = (_: bigint, position: number) => !known.has(hits.chunkKeys[position] ?? 0n);
  return { chunkKeys: hits.chunkKeys.filter(isNew), memoryKeys: hits.memoryKeys.filter(isNew) };
}

/** Two pools that share no passage as one, in this order. */
export function joinPools(first: Pool, second: Pool): Pool {
  return {
    chunkKeys: new BigUint64Array([...first.chunkKeys, ...second.chunkKeys]),
    memoryKeys: new BigUint64Array([...first.memoryKeys, ...second.memoryKeys]),
    cosines: new Float32Array([...first.cosines, ...second.cosines]),
  };
}

/**
 * First stage: S = cosine + wordsWeight * b + graphWeight * G, the words' weight less the surer the graph is, of which siblings lend each
 * other. The parts mean the same in every query, which beats fusing ranks (SciFact nDCG@10: RRF .715, cosine and b .740;
 * ARCHITECTURE.md, "Measured").
 * A passage whose cosine is not known gets nothing for it, and shows no vector signal.
 * @param words b per passage of the pool, or null where words take no part.
 */
export function firstStage(
  pool: Pool,
  words: Float32Array | null,
  mode: Mode,
  graph: GraphScores = NO_GRAPH,
): Candidate[] {
  const vectorRanks = ranksOf(pool.cosines);
  const wordsWeight = mode.wordsWeight * trustBeside(graph, mode);
  const wordRanks = words === null ? null : ranksOf(words);
  const own: Omit<Candidate, "final">[] = [];
  for (let position = 0; position < pool.chunkKeys.length; position++) {
    const cosine = pool.cosines[position] ?? Number.NaN;
    const hasCosine = !Number.isNaN(cosine);
    const word = words?.[position] ?? 0;
    const linked = graph.signals.get(pool.chunkKeys[position] ?? 0n);
    const nearness = hasCosine ? mode.cosineWeight * cosine + (1 - mode.cosineWeight) * MIDDLING_COSINE : 0;
    const score = nearness + wordsWeight * word + mode.graphWeight * (linked?.score ?? 0);
    own.push({
      chunkKey: (pool.chunkKeys[position] ?? 0n) as ChunkKey,
      memoryKey: (pool.memoryKeys[position] ?? 0n) as MemoryKey,
      signals: {
        ...(hasCosine && { vector: { rank: vectorRanks[position] ?? 0, score: cosine } }),
        ...(wordRanks !== null && { text: { rank: wordRanks[position] ?? 0, score: word } }),
        ...(linked !== undefined && { graph: linked }),
      },
      firstStage: score,
    });
  }
  const scores = lentBySiblings(
    own,
    own.map((candidate) => candidate.firstStage),
    mode.siblingShare,
  );
  const candidates = own.map((candidate, position) => {
    const score = scores[position] ?? candidate.firstStage;
    return { ...candidate, firstStage: score, final: score };
  });
  return sortByFinal(candidates);
}

/**
 * Blends the reranker's logits into the head of the list: final = first stage + rerankWeight * squashed logit, the less the surer the
 * graph is, and siblings lend again. The reranker never ranks alone (SciFact .627 against .726 blended). What lies below the head keeps its order
 * behind it.
 * @param logits one per candidate of the head, in its order.
 */
export function blendRerank(
  candidates: readonly Candidate[],
  logits: Float32Array,
  mode: Mode,
  graph: GraphScores = NO_GRAPH,
): Candidate[] {
  const ranks = ranksOf(logits);
  const weight = mode.rerankWeight * trustBeside(graph, mode);
  const read = candidates.slice(0, logits.length);
  const squashed = read.map((_, position) => squashLogit(logits[position] ?? Number.NaN));
  const blended = read.map(({ firstStage }, position) => firstStage + weight * (squashed[position] ?? 0));
  const finals = lentBySiblings(read, blended, mode.siblingShare);
  const head = read.map((candidate, position) => ({
    ...candidate,
    signals: { ...candidate.signals, rerank: { rank: ranks[position] ?? 0, score: squashed[position] ?? 0 } },
    final: finals[position] ?? candidate.firstStage,
  }));
  return [...sortByFinal(head), ...candidates.slice(logits.length)];
}

/** The contest of candidates that are to be reranked: what their first stage is worth in the reranker's logits, if these count. */
export function contestOf(
  candidates: readonly Candidate[],
  mode: Mode,
  graph: GraphScores = NO_GRAPH,
): Contest | undefined {
  const logit = (mode.rerankWeight * trustBeside(graph, mode)) / LOGIT_BOUND;
  if (logit === 0) return undefined;
  return {
    headStarts: candidates.map(({ firstStage }) => firstStage / logit),
    tokensMax: mode.rerankFinishedTokensMax,
  };
}

/** What words and reranker still count, 0..1, beside a graph that is so sure. */
function trustBeside({ certainty }: GraphScores, { certaintyLoss }: Mode): number {
  return 1 - certaintyLoss * certainty;
}

/**
 * Final scores as probabilities in 0..1 that never rise down the list.
 * @returns one per candidate, in their order.
 */
export function calibrate(candidates: readonly Candidate[], { slope, offset }: Curve): number[] {
  let ceiling = 1;
  return candidates.map((candidate) => {
    ceiling = Math.min(ceiling, 1 / (1 + Math.exp(-(slope * candidate.final + offset))));
    return ceiling;
  });
}

// Of equals the nearer goes first, and what has no cosine last.
function sortByFinal(candidates: Candidate[]): Candidate[] {
  const place = ({ signals }: Candidate) => signals.vector?.rank ?? candidates.length + 1;
  return candidates.sort((left, right) => byFalling(left.final, right.final) || place(left) - place(right));
}

// A difference would not do: two infinities have none.
function byFalling(left: number, right: number): number {
  return left < right ? 1 : left > right ? -1 : 0;
}
