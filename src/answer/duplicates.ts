// Deduplication of passages for a prompt: drops passages whose text a better one already contains.

import type { RankedPassage } from "../domain/ranking.ts";
import { normalisedText } from "./normalised-words.ts";

/**
 * Minimum number of words of a passage that is compared by its text alone. Shorter passages depend on their context:
 * they are duplicates only if title and day are equal too.
 */
const STANDALONE_WORDS_MIN = 12;
/**
 * A passage that contains a better, shorter one is a duplicate if the better one has at least this share of its length.
 */
const CONTAINED_SHARE_MIN = 0.8;
/** Number of words per shingle (consecutive words that are compared as one unit). */
const SHINGLE_WORDS = 3;
/** Two passages with the same words are duplicates if at least this share of their shingles is common to both. */
const COMMON_SHINGLES_MIN = 0.9;
/**
 * A passage is compared with at most this many better passages that have the same words in another order. Real texts
 * have fewer.
 */
const REORDERED_MAX = 8;

/** A passage prepared for comparison. Rarely needed properties are computed on first use. */
class Compared {
  /** Normalised words, each with a space on both sides. */
  readonly text: string;
  /** Whether the passage is long enough to be compared without title and day. */
  readonly isStandalone: boolean;
  #words: readonly string[] | null = null;
  #sortedWords: string | null = null;
  #shingles: ReadonlySet<string> | null = null;

  constructor(readonly passage: RankedPassage) {
    this.text = normalisedText(passage.text);
    this.isStandalone = hasWords(this.text, STANDALONE_WORDS_MIN);
  }

  /**
   * Hash that does not depend on word order. It is equal for passages with the same words, and rarely for other
   * passages.
   */
  get characterHash(): string {
    let sum = 0;
    for (let at = 0; at < this.text.length; at++) sum += this.text.charCodeAt(at) ** 2;
    return `${this.text.length} ${sum}`;
  }

  get words(): readonly string[] {
    this.#words ??= this.text.trim().split(" ");
    return this.#words;
  }

  /** Equal for exactly those passages that have the same words. */
  get sortedWords(): string {
    this.#sortedWords ??= this.words.toSorted().join(" ");
    return this.#sortedWords;
  }

  /** All runs of `SHINGLE_WORDS` words. */
  get shingles(): ReadonlySet<string> {
    this.#shingles ??= new Set(this.words.map((_, at) => shingleAt(this.words, at)));
    return this.#shingles;
  }
}

/**
 * Yields the passages without duplicates of better ones, in their order. Comparisons are only made for passages that
 * the caller takes. A passage is a duplicate if it has the same words as a better one in the same or nearly the same
 * order, if its words are a contiguous part of a better one, or if it only adds a few words before or behind the words
 * of a better one. A word that is inserted or different keeps both passages, because it may be a number, a name or a
 * "not".
 * @param passages best first
 */
export function* withoutDuplicates(passages: readonly RankedPassage[]): Generator<RankedPassage, void, undefined> {
  const kept: Compared[] = [];
  const keptByHash = new Map<string, Compared[]>();
  for (const passage of passages) {
    const compared = new Compared(passage);
    if (kept.some((better) => contains(better, compared))) continue;
    if (compared.isStandalone) {
      const { characterHash } = compared;
      const alike = keptByHash.get(characterHash) ?? [];
      if (alike.some((better) => areReordered(better, compared))) continue;
      if (alike.length < REORDERED_MAX) keptByHash.set(characterHash, [...alike, compared]);
    }
    kept.push(compared);
    yield passage;
  }
}

// Whether the better passage contains the worse one, or the worse one contains the better one and few other words.
function contains(better: Compared, worse: Compared): boolean {
  if (better.text.length === worse.text.length) {
    return better.text === worse.text && (worse.isStandalone || haveSameContext(better.passage, worse.passage));
  }
  if (!better.isStandalone || !worse.isStandalone) return false;
  if (better.text.length > worse.text.length) return better.text.includes(worse.text);
  return better.text.length >= CONTAINED_SHARE_MIN * worse.text.length && worse.text.includes(better.text);
}

function haveSameContext(left: RankedPassage, right: RankedPassage): boolean {
  return left.memory.title === right.memory.title && left.place.turn?.date === right.place.turn?.date;
}

// Whether two passages have the same words in nearly the same order. Stops when the number of different shingles
// exceeds the limit.
function areReordered(better: Compared, worse: Compared): boolean {
  const { words } = worse;
  const shingles = words.length - SHINGLE_WORDS + 1;
  let differencesLeft = Math.floor((1 - COMMON_SHINGLES_MIN) * shingles);
  for (let at = 0; at < shingles; at++) {
    if (!better.shingles.has(shingleAt(words, at)) && --differencesLeft < 0) return false;
  }
  return better.sortedWords === worse.sortedWords;
}

function shingleAt(words: readonly string[], at: number): string {
  return words.slice(at, at + SHINGLE_WORDS).join(" ");
}

// Whether there are at least `count` words. There is one space before the first word and one behind each word.
function hasWords(text: string, count: number): boolean {
  let at = -1;
  for (let spaces = 0; spaces < count + 1; spaces++) {
    at = text.indexOf(" ", at + 1);
    if (at === -1) return false;
  }
  return true;
}
