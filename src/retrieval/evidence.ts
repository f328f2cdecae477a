// Computes the evidence: the probability that one of the best passages answers the question. It depends on their
// scores, on the specifics of the question that they lack, and on the logits of a reader. verdict.ts calls the reader.

import { indexedText } from "../domain/chunk.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { EvidenceCurve, ReadEvidenceCurve } from "../domain/retrieval-tuning.ts";
import { logitOf, probabilityOf } from "../kit/logistic.ts";
import { lackingSpecifics, type Specifics, specificsOf } from "./specifics.ts";

/** Number of best passages that may answer. */
export const EVIDENCE_PASSAGES = 5;
/** Logits of a reader are clipped to this absolute value. */
const ANSWER_BOUND = 12;
/** Scores are kept this far from 0 and 1, so that their logits are finite. */
const SCORE_MARGIN = 1e-4;

/** Signs of whether a passage answers the question. */
export interface EvidenceSigns {
  /** Score of the passage, 0..1. */
  readonly score: number;
  /** Shares of the question's codes and names that the passage lacks, 0..1. */
  readonly lackingCodes: number;
  readonly lackingNames: number;
  /** The reader's logit for "the passage answers"; null if no reader was used. */
  readonly answer: number | null;
}

/**
 * The probability, 0..1, that one of the first passages answers the question; null if there are none.
 * @param results best first
 * @param language of the question, BCP 47; `und` if unsure
 * @param answers if a reader has read: its logit for each of the first passages, null for one that it has not read,
 *   which is left out
 */
export function evidenceIn(
  question: string,
  language: string,
  results: readonly RankedPassage[],
  curve: EvidenceCurve | ReadEvidenceCurve,
  answers: readonly (number | null)[] | null = null,
): number | null {
  const signs = evidenceSigns(specificsOf(question, language), results, answers);
  if (signs.length === 0) return null;
  return probabilityOf(Math.max(...signs.map((each) => evidenceLogit(each, curve))));
}

/** The signs of the first passages. If a reader was used, only those of the passages that it has read. */
export function evidenceSigns(
  specifics: Specifics,
  results: readonly RankedPassage[],
  answers: readonly (number | null)[] | null = null,
): readonly EvidenceSigns[] {
  return results.slice(0, EVIDENCE_PASSAGES).flatMap(({ score, text, memory, place }, position) => {
    const answer = answers?.[position] ?? null;
    if (answers !== null && answer === null) return [];
    const lacking = lackingSpecifics(specifics, wholeText({ text, memory, place }));
    return [{ score, lackingCodes: lacking.codes, lackingNames: lacking.names, answer }];
  });
}

/** A passage with its title and headings, which may hold the specifics of a question, too. */
function wholeText({ text, memory, place }: Pick<RankedPassage, "text" | "memory" | "place">): string {
  return indexedText(memory.title, place.headings, text);
}

/** The logit of the probability that a passage with these signs answers the question. */
export function evidenceLogit(
  { score, lackingCodes, lackingNames, answer }: EvidenceSigns,
  curve: EvidenceCurve | ReadEvidenceCurve,
): number {
  const { scoreSlope, codesSlope, namesSlope, offset } = curve;
  const read = answer !== null && "answerSlope" in curve ? curve.answerSlope * answerLogit(answer) : 0;
  return scoreSlope * scoreLogit(score) - codesSlope * lackingCodes - namesSlope * lackingNames + read + offset;
}

/** A reader's logit, clipped to -`ANSWER_BOUND`..`ANSWER_BOUND`. */
export function answerLogit(answer: number): number {
  return Math.max(-ANSWER_BOUND, Math.min(ANSWER_BOUND, answer));
}

/** The logit of a score, 0..1; finite also for 0 and 1. */
export function scoreLogit(score: number): number {
  return logitOf(score, SCORE_MARGIN);
}
