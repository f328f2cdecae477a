// Which passages say nothing that a better one does not say: a prompt has no room for things said twice.

import type { RankedPassage } from "../domain/ranking.ts";
import { comparedWords } from "./words.ts";

/** A passage of fewer words says little without its title and its day: it is a duplicate only where these are the same. */
const TELLING_WORDS_MIN = 12;
/** Share of a longer passage from which the better one that it holds says it all. */
const HELD_SHARE_MIN = 0.8;
/** Words in a row that are compared. */
const SHINGLE_WORDS = 3;
/** Share of the shingles of both that two passages of the same words have in common, from which they say the same. */
const COMMON_SHARE_MIN = 0.9;

interface Compared {
  readonly passage: RankedPassage;
  readonly words: ReadonlySet<string>;
  /** All words, each with a space on both sides. */
  readonly text: string;
  readonly isTelling: boolean;
  /** Made when it is first needed. */
  shingles?: ReadonlySet<string>;
}

/**
 * The passages without those that a better one stands for, in their order. Such are: the same words, words that stand in a better one
 * in a row, and the same words but for their order here and there. One other word, or one more, and both stay: a number, a name or a
 * "not" may be all that is new.
 * @param passages best first
 */
export function withoutDuplicates(passages: readonly RankedPassage[]): readonly RankedPassage[] {
  const kept: Compared[] = [];
  for (const passage of passages) {
    const words = comparedWords(passage.text);
    const compared: Compared = {
      passage,
      words: new Set(words),
      text: ` ${words.join(" ")} `,
      isTelling: words.length >= TELLING_WORDS_MIN,
    };
    if (!kept.some((better) => standsFor(better, compared))) kept.push(compared);
  }
  return kept.map(({ passage }) => passage);
}

function standsFor(better: Compared, worse: Compared): boolean {
  if (better.text === worse.text) return worse.isTelling || areOfOneKind(better.passage, worse.passage);
  if (!better.isTelling || !worse.isTelling) return false;
  if (better.text.length >= worse.text.length)
    return better.text.includes(worse.text) || areNearlyTheSame(better, worse);
  const holds = better.text.length >= HELD_SHARE_MIN * worse.text.length && worse.text.includes(better.text);
  return holds || areNearlyTheSame(better, worse);
}

function areOfOneKind(left: RankedPassage, right: RankedPassage): boolean {
  return left.memory.title === right.memory.title && left.place.turn?.date === right.place.turn?.date;
}

function areNearlyTheSame(left: Compared, right: Compared): boolean {
  if (left.words.size !== right.words.size || !left.words.isSubsetOf(right.words)) return false;
  const [mine, others] = [shinglesOf(left), shinglesOf(right)];
  let common = 0;
  for (const shingle of mine) if (others.has(shingle)) common++;
  return common >= COMMON_SHARE_MIN * Math.max(mine.size, others.size);
}

function shinglesOf(compared: Compared): ReadonlySet<string> {
  if (compared.shingles !== undefined) return compared.shingles;
  const words = compared.text.trim().split(" ");
  const shingles = new Set<string>();
  for (let at = 0; at + SHINGLE_WORDS <= words.length; at++) {
    shingles.add(words.slice(at, at + SHINGLE_WORDS).join(" "));
  }
  compared.shingles = shingles;
  return shingles;
}
