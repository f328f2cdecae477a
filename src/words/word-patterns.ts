// Compiles words and phrases of data/words into regular expressions, and folds texts so that they match. Lists with
// wildcards or prefixed forms need this; stop-words.ts only looks up whole words.

import { fold } from "../kit/fold.ts";

/** Letters that Unicode does not decompose, with the plain form that people type instead. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = { ß: "ss", ł: "l", ø: "o", đ: "d", ı: "i", æ: "ae", œ: "oe" };
/** Variants of Arabic letters that are often confused in writing, and marks that are often left out. */
const ARABIC_VARIANTS: readonly (readonly [plain: string, variants: RegExp])[] = [
  ["ا", /[أإآ]/g],
  ["ه", /ة/g],
  ["ي", /ى/g],
  ["", /[\u064b-\u0652\u0640]/g],
];
/** Scripts that write words without spaces, or join particles to them. A word matches inside longer ones. */
export const JOINED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
/** A letter of a script that is written without spaces between words. */
export const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]/u;
const ARABIC = /\p{Script=Arabic}/u;
/** Prefixes of Arabic words: and, so, in, like, for, the. */
const ARABIC_PREFIX = "(?:[وفبكل]?ال|لل|[وفبكل])?";
/** Maximum number of words that `_*_` stands for. */
const GAP_WORDS_MAX = 6;
/** Maximum number of letters that `*` stands for; without it, long texts in scripts without spaces take seconds. */
const ANY_LETTERS_MAX = 30;
const ANY_LETTERS = `[\\p{L}\\p{M}]{0,${ANY_LETTERS_MAX}}`;

/**
 * Folds a text: NFKC, lower case, without accents on Latin and Cyrillic letters and without Arabic vowel marks.
 * Punctuation stays.
 */
export function foldLetters(text: string): string {
  const marked = fold(text).normalize("NFD");
  let folded = marked.replace(/[\u0300-\u036f]/g, "").normalize("NFC");
  folded = folded.replace(/[ßłøđıæœ]/g, (letter) => PLAIN_LETTERS[letter] ?? letter);
  for (const [plain, variants] of ARABIC_VARIANTS) folded = folded.replace(variants, plain);
  return folded;
}

/** The folded words of a text with one space before, between and after them, without punctuation. */
export function spacedWords(text: string): string {
  return ` ${foldLetters(text)
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim()} `;
}

/**
 * Source of a regular expression that finds any of these words in the result of `spacedWords`. Within a word, `_`
 * stands for a space, `*` for up to 30 letters, and `_*_` for up to six words. A match starts and ends at spaces that
 * it does not contain, except in scripts without spaces.
 */
export function anyOf(words: readonly string[]): string {
  const folded = [...new Set(words.map(foldLetters))];
  const joined = folded.filter((word) => JOINED.test(word)).map(sourceOf);
  const spaced = folded.filter((word) => !JOINED.test(word)).map((word) => prefixOf(word) + sourceOf(word));
  const sources = [
    ...(joined.length > 0 ? [joined.join("|").replaceAll(" ", " ?")] : []),
    ...(spaced.length > 0 ? [`(?<= )(?:${spaced.join("|")})(?= )`] : []),
  ];
  return sources.length === 0 ? "(?!)" : `(?:${sources.join("|")})`;
}

function prefixOf(word: string): string {
  return ARABIC.test(word) ? ARABIC_PREFIX : "";
}

function sourceOf(word: string): string {
  return word
    .split("_*_")
    .map((part) => part.replaceAll("_", " ").replaceAll("*", ANY_LETTERS))
    .join(`(?: [^ ]+){0,${GAP_WORDS_MAX}} `);
}
