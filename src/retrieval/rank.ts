// The arithmetic of ranking: combining signals, squashing logits, calibrating scores. Pure; plan.ts decides the order.

import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Signals } from "../domain/ranking.ts";
import type { Mode } from "./modes.ts";

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

/** Logits beyond this say no more than this; the reranker is well calibrated only within. */
const LOGIT_BOUND = 8;

/** A reranker's logit as -1..1. A logit that is no number counts as the worst. */
export function squashLogit(logit: number): number {
  if (Number.isNaN(logit)) return -1;
  return Math.max(-LOGIT_BOUND, Math.min(LOGIT_BOUND, logit)) / LOGIT_BOUND;
}

/** Ranks from 1 of `scores`, best first; equal scores keep their order. */
export function ranksOf(scores: ArrayLike<number>): number[] {
  const order = Array.from(scores, (_, position) => position).sort(
    (left, right) => (scores[right] ?? 0) - (scores[left] ?? 0) || left - right,
  );
  const ranks = new Array<number>(scores.length).fill(0);
  order.forEach((position, place) => {
    ranks[position] = place + 1;
  });
  return ranks;
}

/**
 * First stage: H = cosine + wordsWeight * b. Both parts mean the same in every query, which beats fusing ranks
 * (SciFact nDCG@10: RRF .715, H .740; ARCHITECTURE.md, "Measured").
 * @param words b per candidate, or null where words take no part.
 */
export function firstStage(
  hits: { readonly chunkKeys: BigUint64Array; readonly memoryKeys: BigUint64Array; readonly scores: Float32Array },
  words: Float32Array | null,
  mode: Mode,
): Candidate[] {
  const wordRanks = words === null ? null : ranksOf(words);
  const candidates: Candidate[] = [];
  for (let position = 0; position < hits.chunkKeys.length; position++) {
    const cosine = hits.scores[position] ?? 0;
    const word = words?.[position] ?? 0;
    const score = cosine + mode.wordsWeight * word;
    candidates.push({
      chunkKey: (hits.chunkKeys[position] ?? 0n) as ChunkKey,
      memoryKey: (hits.memoryKeys[position] ?? 0n) as MemoryKey,
      signals: {
        vector: { rank: position + 1, score: cosine },
        ...(wordRanks !== null && { text: { rank: wordRanks[position] ?? 0, score: word } }),
      },
      firstStage: score,
      final: score,
    });
  }
  return sortByFinal(candidates);
}

/**
 * Blends the reranker's logits into the head of the list: final = first stage + rerankWeight * squashed logit. The
 * reranker never ranks alone (SciFact .627 against .726 blended). What lies below the head keeps its order behind it.
 * @param logits one per candidate of the head, in its order.
 */
export function blendRerank(candidates: readonly Candidate[], logits: Float32Array, mode: Mode): Candidate[] {
  const ranks = ranksOf(logits);
  const head = candidates.slice(0, logits.length).map((candidate, position) => {
    const score = squashLogit(logits[position] ?? Number.NaN);
    return {
      ...candidate,
      signals: { ...candidate.signals, rerank: { rank: ranks[position] ?? 0, score } },
      final: candidate.firstStage + mode.rerankWeight * score,
    };
  });
  return [...sortByFinal(head), ...candidates.slice(logits.length)];
}

/**
 * Final scores as probabilities in 0..1 that never rise down the list.
 * @returns one per candidate, in their order.
 */
export function calibrate(candidates: readonly Candidate[], mode: Mode): number[] {
  let ceiling = 1;
  return candidates.map((candidate) => {
    ceiling = Math.min(
      ceiling,
      1 / (1 + Math.exp(-(mode.calibration.slope * candidate.final + mode.calibration.offset))),
    );
    return ceiling;
  });
}

function sortByFinal(candidates: Candidate[]): Candidate[] {
  return candidates.sort(
    (left, right) => right.final - left.final || left.signals.vector.rank - right.signals.vector.rank,
  );
}
