// The words of a text as texts are compared by them: fast enough for everything that a search found, in any script.

/**
 * Characters of scripts that are written without spaces are words of their own; of the others, letters and digits in a
 * row.
 */
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/gu;
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}]+/gu;
const BETWEEN_ASCII_WORDS = /[^a-z0-9]+/g;

/**
 * The words in order, with one space before, between and behind them; width, case and punctuation make no difference.
 * Linear.
 */
export function comparedText(text: string): string {
  const lower = text.normalize("NFKC").toLowerCase();
  const words = isAscii(lower)
    ? lower.replace(BETWEEN_ASCII_WORDS, " ")
    : lower.replace(UNSPACED, " $& ").replace(BETWEEN_WORDS, " ");
  return ` ${words.trim()} `;
}

/** The same words one by one. */
export function comparedWords(text: string): readonly string[] {
  const words = comparedText(text).trim();
  return words === "" ? [] : words.split(" ");
}

/**
 * Whether a text has characters of ASCII only: most texts do, and what is looked for in the others costs many times as
 * much.
 */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text, "utf8") === text.length;
}
