// Draws questions so that each category has about the same number of them. Pure.

import { seeded } from "../lib/seeded.ts";
import type { ConversationQuestion } from "./conversations.ts";

/**
 * Returns at most `countMax` questions in their original order. Each category gives the same number, or all it has.
 * @param seed decides which questions of a category are drawn
 */
export function sampleEvenly(
  questions: readonly ConversationQuestion[],
  countMax: number,
  seed: number,
): readonly ConversationQuestion[] {
  if (questions.length <= countMax) return questions;
  const chance = seeded(seed);
  const shuffled = questions
    .map((question) => ({ question, rank: chance() }))
    .sort((left, right) => left.rank - right.rank)
    .map(({ question }) => question);
  const groups = [...Map.groupBy(shuffled, ({ category }) => category).values()];
  const drawn = new Set<ConversationQuestion>();
  for (let turn = 0; drawn.size < countMax; turn++) {
    for (const group of groups) {
      const next = group[turn];
      if (next !== undefined && drawn.size < countMax) drawn.add(next);
    }
  }
  return questions.filter((question) => drawn.has(question));
}
