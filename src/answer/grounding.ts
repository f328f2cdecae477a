// Checks whether an answer without citations repeats anything of its sources. A refusal does not.

import type { RankedPassage } from "../domain/ranking.ts";
import { topiclessWordsOf } from "../words/stop-words.ts";
import { foldedWords, questionFeatures, termMatches } from "./question-features.ts";

/** Maximum length of an answer that is compared, in UTF-16 code units. Refusals are shorter. */
const ANSWER_UNITS_MAX = 2_000;

/** Whether an answer has a word or number of its sources that the question lacks. */
export function repeatsSources(answer: string, question: string, sources: readonly RankedPassage[]): boolean {
  const asked = questionFeatures(question);
  const common = topiclessWordsOf("und");
  const own = new Set(foldedWords(answer.slice(0, ANSWER_UNITS_MAX)).filter((word) => !common.has(word)));
  const added = [...own].filter((word) => termMatches(new Set([word]), asked).size === 0);
  if (added.length === 0) return false;
  return sources.some(({ text }) => !new Set(foldedWords(text)).isDisjointFrom(new Set(added)));
}
