// Whether anything that was found answers the question: a probability from the scores of the best passages, and from
// the specifics of the question that they lack.

import { indexedText } from "../domain/chunk.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { EvidenceCurve } from "../domain/retrieval-tuning.ts";
import { lackingSpecifics, type Specifics, specificsOf } from "./specifics.ts";

/** Number of best passages that may answer. */
const PASSAGES = 5;
/** Scores are kept this far from 0 and 1, so that their logits are finite. */
const SCORE_MARGIN = 1e-4;

/** What tells whether a passage answers. */
export interface EvidenceSigns {
  /** Score of the passage, 0..1. */
  readonly score: number;
  /** Shares of the question's codes and names that the passage lacks, 0..1. */
  readonly lackingCodes: number;
  readonly lackingNames: number;
}

/**
 * The probability, 0..1, that one of the first passages answers the question; null if there are none.
 * @param results best first
 * @param language of the question, BCP 47; `und` if unsure
 */
export function evidenceIn(
  question: string,
  language: string,
  results: readonly RankedPassage[],
  curve: EvidenceCurve,
): number | null {
  const signs = evidenceSigns(specificsOf(question, language), results);
  if (signs.length === 0) return null;
  return 1 / (1 + Math.exp(-Math.max(...signs.map((each) => evidenceLogit(each, curve)))));
}

/** The signs of the first passages. */
export function evidenceSigns(specifics: Specifics, results: readonly RankedPassage[]): readonly EvidenceSigns[] {
  return results.slice(0, PASSAGES).map(({ score, text, memory, place }) => {
    const lacking = lackingSpecifics(specifics, wholeText({ text, memory, place }));
    return { score, lackingCodes: lacking.codes, lackingNames: lacking.names };
  });
}

/** A passage with its title and headings, which may hold the specifics of a question, too. */
function wholeText({ text, memory, place }: Pick<RankedPassage, "text" | "memory" | "place">): string {
  return indexedText(memory.title, place.headings, text);
}

/** The logit of the probability that a passage with these signs answers. */
export function evidenceLogit(
  { score, lackingCodes, lackingNames }: EvidenceSigns,
  { scoreSlope, codesSlope, namesSlope, offset }: EvidenceCurve,
): number {
  return scoreSlope * logitOf(score) - codesSlope * lackingCodes - namesSlope * lackingNames + offset;
}

/** The logit of a score, 0..1; finite also for 0 and 1. */
export function logitOf(score: number): number {
  const inside = Math.min(1 - SCORE_MARGIN, Math.max(SCORE_MARGIN, score));
  return Math.log(inside / (1 - inside));
}
