// The words of a text as texts are compared by them: fast enough for everything that a search found, in any script.

/** Characters of scripts that are written without spaces are words of their own; of the others, letters and digits in a row. */
const WORD =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]|[\p{L}\p{M}\p{N}]+/gu;
const ASCII_WORD = /[a-z0-9]+/g;

/** The words in order; width, case and punctuation make no difference. Linear. */
export function comparedWords(text: string): readonly string[] {
  const lower = text.normalize("NFKC").toLowerCase();
  return lower.match(isAscii(lower) ? ASCII_WORD : WORD) ?? [];
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text, "utf8") === text.length;
}
