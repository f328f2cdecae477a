// Reranking: chooses the texts that the reranker reads, calls it with a deadline, and blends its logits into the order.

import { indexedText, turnText } from "../domain/chunk.ts";
import { invariant, isOutage } from "../domain/fault.ts";
import type { EarlyExit, Reranker } from "../ports/models.ts";
import { type Candidate, type Hydrated, ranksOf, sortByFinalScore } from "./candidate.ts";
import { isLanguageSupported } from "./coverage.ts";
import { boostSiblings } from "./fuse.ts";
import { type GraphScores, graphDamping, NO_GRAPH } from "./graph-walk.ts";
import { type Mode, RERANKED_TOKENS_MAX } from "./modes.ts";
import { boostNeighbours } from "./neighbours.ts";
import type { Search } from "./request.ts";

/**
 * Reranks the candidates, if the mode does, and returns them in their new order. Passages that the reranker has not
 * read by the deadline are ranked as if it had no opinion on them, and get no rerank signal, because a late answer is
 * worth less than one with less reranking. `explain` shows how many were read and how many skipped.
 */
export async function rerank(
  { parts, request, mode, reranker, watch }: Search,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
  graph: GraphScores,
): Promise<readonly Candidate[]> {
  if (mode.rerankDepth === 0 || reranker === null) return candidates;
  const deepest = candidates.slice(0, mode.rerankDepth);
  const readable = deepest.filter(({ chunkKey }) => isReadable(hydrated.get(chunkKey), reranker));
  const texts = readable.map(({ chunkKey }) => textToRerank(hydrated.get(chunkKey)));
  const readCount = rerankedCount(request.query, texts, mode.rerankTokensMax);
  const read = readable.slice(0, readCount);
  if (readCount === 0) {
    watch.lap("rerank", 0);
    return candidates;
  }
  const options = {
    signal: request.signal,
    onBegin: () => watch.lap("queue", 1),
    earlyExit: earlyExitFor(read, mode, graph),
    deadlineMs: parts.rerankDeadlineMs,
  };
  const logits = await reranker.score(request.query, texts.slice(0, readCount), options).catch((error: unknown) => {
    if (reranker.isRemote === true && isOutage(error)) return new Float32Array(readCount).fill(Number.NaN);
    throw error;
  });
  const scored = [...logits.entries()].filter(([, logit]) => !Number.isNaN(logit));
  watch.lap("rerank", scored.length, readCount - scored.length);
  if (scored.length === 0) return candidates;
  const logitOf = new Map(scored.map(([position, logit]) => [read[position]?.chunkKey, logit]));
  const firstBeyondBudget = readable[readCount];
  const head = firstBeyondBudget === undefined ? deepest : deepest.slice(0, deepest.indexOf(firstBeyondBudget));
  const headLogits = head.map(({ chunkKey }) => logitOf.get(chunkKey) ?? null);
  return blendRerank(candidates, headLogits, mode, graph);
}

// A passage in a language that the reranker was not made for gets no logit: it would be too low.
function isReadable(found: Hydrated | undefined, { languages }: Reranker): boolean {
  invariant(found, "a candidate for reranking has its text");
  return isLanguageSupported(found.passage.text, found.memory.language ?? "und", languages);
}

// The reranker reads 128 tokens, including the query: at most half of a full chunk. So if a memory has several chunks,
// the reranker reads them without title and headings, whose words already count in the hybrid score. Measured in
// docs/measurements.md.
function textToRerank(found: Hydrated | undefined): string {
  invariant(found, "a candidate for reranking has its text");
  const { memory, passage } = found;
  const { place, text } = passage;
  if (place.turn !== undefined) return turnText(place.turn, text);
  const isWholeMemory = memory.state.status === "completed" && memory.state.chunkCount === 1;
  return isWholeMemory ? indexedText(memory.title, place.headings, text) : text;
}

/**
 * Estimated characters per reranker token: 3.4 to 5.5 in nine of ten passages of SciFact and HotpotQA. On HotpotQA, the
 * estimate admits 0.3 to 0.5 passages less than would fit, on average. With `estimatedTokens`, which is for language
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

/**
 * Adds the reranker to the head of the list: final score = hybrid score + rerankWeight * squashed logit, then the
 * sibling boost again, then the neighbour boost within the head. The rerank weight shrinks as graph certainty grows.
 * The reranker never decides the order alone (SciFact nDCG@10: reranker alone 0.627, blended 0.726). Candidates behind
 * the head keep their order and stay behind the head.
 * @param logits one per candidate of the head, in its order; null for a candidate that the reranker did not read
 *   because of its language or the deadline. It gets the median of those that are nearest to it in the head, so that
 *   the reranker moves it neither up nor down.
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
