// Which passages say nothing that a better one does not say: a prompt has no room for things said twice.

import type { RankedPassage } from "../domain/ranking.ts";
import { comparedText } from "./words.ts";

/** A passage of fewer words says little without its title and day: it is a duplicate only where these are the same. */
const TELLING_WORDS_MIN = 12;
/** Share of a longer passage from which the better one that it holds says it all. */
const HELD_SHARE_MIN = 0.8;
/** Words in a row that are compared. */
const SHINGLE_WORDS = 3;
/** Share of the shingles that two passages of the same words have in common, from which they say the same. */
const COMMON_SHARE_MIN = 0.9;
/** Better passages of the same words, each in another order, that one is compared with: more are nobody's writing. */
const REORDERED_MAX = 8;

/** A passage as others are compared with it; what few comparisons need is made when the first one does. */
class Compared {
  /** All words, each with a space on both sides. */
  readonly text: string;
  readonly isTelling: boolean;
  #words: readonly string[] | null = null;
  #sortedWords: string | null = null;
  #shingles: ReadonlySet<string> | null = null;

  constructor(readonly passage: RankedPassage) {
    this.text = comparedText(passage.text);
    this.isTelling = hasWords(this.text, TELLING_WORDS_MIN);
  }

  /** The same for two passages of the same words, and for hardly any others. */
  get characters(): string {
    let sum = 0;
    for (let at = 0; at < this.text.length; at++) sum += this.text.charCodeAt(at) ** 2;
    return `${this.text.length} ${sum}`;
  }

  get words(): readonly string[] {
    this.#words ??= this.text.trim().split(" ");
    return this.#words;
  }

  /** The same for two passages of the same words alone. */
  get sortedWords(): string {
    this.#sortedWords ??= this.words.toSorted().join(" ");
    return this.#sortedWords;
  }

  /** Its words, so many in a row. */
  get shingles(): ReadonlySet<string> {
    this.#shingles ??= new Set(this.words.map((_, at) => shingleAt(this.words, at)));
    return this.#shingles;
  }
}

/**
 * The passages without those that a better one stands for, in their order, one by one: who has enough does not pay for
 * the rest. Such are: the same words, words that stand in a better one in a row, and the same words but for their order
 * here and there. One other word, or one more, and both stay: a number, a name or a "not" may be all that is new.
 * @param passages best first
 */
export function* withoutDuplicates(passages: readonly RankedPassage[]): Generator<RankedPassage, void, undefined> {
  const kept: Compared[] = [];
  const keptByCharacters = new Map<string, Compared[]>();
  for (const passage of passages) {
    const compared = new Compared(passage);
    if (kept.some((better) => holds(better, compared))) continue;
    if (compared.isTelling) {
      const { characters } = compared;
      const alike = keptByCharacters.get(characters) ?? [];
      if (alike.some((better) => areReordered(better, compared))) continue;
      if (alike.length < REORDERED_MAX) keptByCharacters.set(characters, [...alike, compared]);
    }
    kept.push(compared);
    yield passage;
  }
}

// Whether a passage's words stand in a better one as they are, or nearly all of that one's in it.
function holds(better: Compared, worse: Compared): boolean {
  if (better.text.length === worse.text.length) {
    return better.text === worse.text && (worse.isTelling || areOfOneKind(better.passage, worse.passage));
  }
  if (!better.isTelling || !worse.isTelling) return false;
  if (better.text.length > worse.text.length) return better.text.includes(worse.text);
  return better.text.length >= HELD_SHARE_MIN * worse.text.length && worse.text.includes(better.text);
}

function areOfOneKind(left: RankedPassage, right: RankedPassage): boolean {
  return left.memory.title === right.memory.title && left.place.turn?.date === right.place.turn?.date;
}

// Whether two have the same words, in nearly the same order. Ends with the first shingle that is one too many.
function areReordered(better: Compared, worse: Compared): boolean {
  const { words } = worse;
  const shingles = words.length - SHINGLE_WORDS + 1;
  let left = Math.floor((1 - COMMON_SHARE_MIN) * shingles);
  for (let at = 0; at < shingles; at++) {
    if (!better.shingles.has(shingleAt(words, at)) && --left < 0) return false;
  }
  return better.sortedWords === worse.sortedWords;
}

function shingleAt(words: readonly string[], at: number): string {
  return words.slice(at, at + SHINGLE_WORDS).join(" ");
}

// Whether there are at least so many words: one space stands before the first, and one behind each.
function hasWords(text: string, count: number): boolean {
  let at = -1;
  for (let spaces = 0; spaces < count + 1; spaces++) {
    at = text.indexOf(" ", at + 1);
    if (at === -1) return false;
  }
  return true;
}
