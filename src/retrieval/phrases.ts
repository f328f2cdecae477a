// Looks for words and pairs of words of a word list in a text, whatever its language: texts without spaces are searched
// for them anywhere.

import { fold } from "../kit/fold.ts";
import { JOINED } from "../words/word-patterns.ts";
import { withoutDiacritics } from "./time/lexicon.ts";

/** Longer texts are read up to here, in UTF-16 code units. */
const TEXT_UNITS_MAX = 1_000;
const WORD = /[\p{L}\p{M}]+/gu;

/** Single words, pairs, and those that are looked for anywhere. */
export interface Phrases {
  readonly single: ReadonlySet<string>;
  readonly pairs: ReadonlySet<string>;
  readonly anywhere: readonly string[];
}

/** The phrases of a section of a word list, in which `_` stands for a space. */
export function phrasesOf(words: readonly string[] = []): Phrases {
  const spaced = words.filter((word) => !JOINED.test(word));
  return {
    single: new Set(spaced.filter((word) => !word.includes("_"))),
    pairs: new Set(spaced.filter((word) => word.includes("_")).map((word) => word.replace("_", " "))),
    anywhere: words.filter((word) => JOINED.test(word)).map((word) => word.replaceAll("_", " ")),
  };
}

/** Whether a text has one of these phrases. */
export function hasPhrase(phrases: Phrases, text: string): boolean {
  return textBefore(phrases, text) !== null;
}

/** The folded text before the first of these phrases that it has; null if it has none. */
export function textBefore({ single, pairs, anywhere }: Phrases, text: string): string | null {
  const plain = fold(text.slice(0, TEXT_UNITS_MAX));
  const at = anywhere.map((word) => plain.indexOf(word)).filter((place) => place !== -1);
  if (at.length > 0) return plain.slice(0, Math.min(...at));
  // Vietnamese words differ by diacritics only, and other languages leave them out
  for (const form of [plain, withoutDiacritics(plain)]) {
    let last: RegExpExecArray | null = null;
    for (const word of form.matchAll(WORD)) {
      if (single.has(word[0])) return form.slice(0, word.index);
      if (last !== null && pairs.has(`${last[0]} ${word[0]}`)) return form.slice(0, last.index);
      last = word;
    }
  }
  return null;
}
