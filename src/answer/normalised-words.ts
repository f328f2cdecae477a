// Normalised words for comparing texts, in any script. Fast enough for all passages that a search returns.

import { isAscii } from "../kit/ascii.ts";
import { fold } from "../kit/fold.ts";

/**
 * Characters of scripts without spaces. Each of these characters counts as a word; in other scripts, a run of letters
 * and digits is a word.
 */
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/gu;
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}]+/gu;
const BETWEEN_ASCII_WORDS = /[^a-z0-9]+/g;

/**
 * The words in order, with one space before, between and behind them. Differences in width, case and punctuation are
 * removed. Linear in the text.
 */
export function normalisedText(text: string): string {
  const lower = fold(text);
  const words = isAscii(lower)
    ? lower.replace(BETWEEN_ASCII_WORDS, " ")
    : lower.replace(UNSPACED, " $& ").replace(BETWEEN_WORDS, " ");
  return ` ${words.trim()} `;
}

/** The normalised words as a list. */
export function normalisedWords(text: string): readonly string[] {
  const words = normalisedText(text).trim();
  return words === "" ? [] : words.split(" ");
}
