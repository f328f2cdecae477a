// Which passages say nothing that a better one does not say: a prompt has no room for things said twice.

import type { RankedPassage } from "../domain/ranking.ts";
import { comparedText } from "./words.ts";

/** A passage of fewer words says little without its title and its day: it is a duplicate only where these are the same. */
const TELLING_WORDS_MIN = 12;
/** Share of a longer passage from which the better one that it holds says it all. */
const HELD_SHARE_MIN = 0.8;
/** Words in a row that are compared. */
const SHINGLE_WORDS = 3;
/** Share of the shingles that two passages of the same words have in common, from which they say the same. */
const COMMON_SHARE_MIN = 0.9;

interface Compared {
  readonly passage: RankedPassage;
  /** All words, each with a space on both sides. */
  readonly text: string;
  readonly isTelling: boolean;
}

/**
 * The passages without those that a better one stands for, in their order, one by one: who has enough does not pay for the rest. Such
 * are: the same words, words that stand in a better one in a row, and the same words but for their order here and there. One other word,
 * or one more, and both stay: a number, a name or a "not" may be all that is new.
 * @param passages best first
 */
export function* withoutDuplicates(passages: readonly RankedPassage[]): Generator<RankedPassage, void, undefined> {
  const kept: Compared[] = [];
  for (const passage of passages) {
    const text = comparedText(passage.text);
    const compared: Compared = { passage, text, isTelling: hasWords(text, TELLING_WORDS_MIN) };
    if (kept.some((better) => standsFor(better, compared))) continue;
    kept.push(compared);
    yield passage;
  }
}

function standsFor(better: Compared, worse: Compared): boolean {
  if (better.text === worse.text) return worse.isTelling || areOfOneKind(better.passage, worse.passage);
  if (!better.isTelling || !worse.isTelling) return false;
  if (better.text.length === worse.text.length) return areNearlyTheSame(better.text, worse.text);
  if (better.text.length > worse.text.length) return better.text.includes(worse.text);
  return better.text.length >= HELD_SHARE_MIN * worse.text.length && worse.text.includes(better.text);
}

function areOfOneKind(left: RankedPassage, right: RankedPassage): boolean {
  return left.memory.title === right.memory.title && left.place.turn?.date === right.place.turn?.date;
}

// Of texts of the same length.
function areNearlyTheSame(left: string, right: string): boolean {
  const [mine, others] = [left.trim().split(" "), right.trim().split(" ")];
  if (mine.toSorted().join(" ") !== others.toSorted().join(" ")) return false;
  const shingles = shinglesOf(others);
  const own = shinglesOf(mine);
  return own.intersection(shingles).size >= COMMON_SHARE_MIN * Math.max(own.size, shingles.size);
}

function shinglesOf(words: readonly string[]): ReadonlySet<string> {
  return new Set(words.slice(SHINGLE_WORDS - 1).map((_, at) => words.slice(at, at + SHINGLE_WORDS).join(" ")));
}

function hasWords(text: string, count: number): boolean {
  let at = 0;
  for (let spaces = 0; spaces <= count; spaces++) {
    at = text.indexOf(" ", at) + 1;
    if (at === 0) return false;
  }
  return true;
}
