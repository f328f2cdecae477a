// Leaves passages of another time out of an extractive answer if they resemble a passage of the named time. For "lunch
// with Ben last month", it leaves out the other lunches with Ben.

import type { NamedTime, RankedPassage } from "../domain/ranking.ts";
import type { AskedQuestion } from "../retrieval/current-first.ts";
import { isStatement } from "../retrieval/mark-replaced.ts";
import { asksNow, changesIn } from "../retrieval/time/change-words.ts";
import { happenedAt } from "../retrieval/time/time-preference.ts";
import { wordsIn } from "../retrieval/time/words.ts";

/** Minimum share of the shorter passage's words that two passages must have in common to resemble each other. */
const ALIKE_MIN = 0.4;

/**
 * Leaves out passages of another time that resemble a passage of the named time. Keeps all passages if the question
 * also asks for the present or for what has changed.
 * @param time of the question; its end is exclusive
 */
export function withoutOtherTimes(
  question: AskedQuestion,
  time: Pick<NamedTime, "from" | "to">,
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  if (asksNow(question) || changesIn(question) > 0) return passages;
  const isWithin = ({ memory }: RankedPassage) => {
    const at = happenedAt(memory);
    return at >= (time.from ?? -Infinity) && at < (time.to ?? Infinity);
  };
  const wordsOf = ({ text, memory }: RankedPassage) => wordsIn(text, memory.language ?? "und");
  const within = passages.filter((passage) => isStatement(passage) && isWithin(passage)).map(wordsOf);
  if (within.length === 0) return passages;
  return passages.filter((passage) => {
    if (!isStatement(passage) || isWithin(passage)) return true;
    const words = wordsOf(passage);
    return !within.some((other) => {
      const shared = [...words].filter((word) => other.has(word)).length;
      return shared >= ALIKE_MIN * Math.max(1, Math.min(words.size, other.size));
    });
  });
}
