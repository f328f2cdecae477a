// Leaves passages out of an extractive answer that are like one of the time that the question names, but of another
// time: the other lunches with Ben, for "last month".

import type { NamedTime, RankedPassage } from "../domain/ranking.ts";
import type { AskedQuestion } from "../retrieval/current-first.ts";
import { isStatement } from "../retrieval/mark-replaced.ts";
import { asksNow, changesIn } from "../retrieval/time/change-words.ts";
import { happenedAt } from "../retrieval/time/time-preference.ts";
import { wordsIn } from "../retrieval/time/words.ts";

/** Minimum share of the words of the shorter passage that passages alike but for their time have in common. */
const ALIKE_MIN = 0.4;

/**
 * The passages without those that are like one of the named time, but of another time: the other lunches with Ben, for
 * "last month". A question that also asks for the present, or what has changed, gets all of them.
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
