// What reads as a citation, in what a model writes and in what was stored. Whoever writes it anew is citations.ts, for a model;
// in stored texts it gets round brackets, which never cite.
//
// The patterns here know signs only, each of one kind in a row, so that no text makes them try twice; what the signs mean is read after.

/** Blanks that stand between a word and the mark behind it, or within one. */
export const BLANK = "[ \\t\\u00a0\\u202f\\u3000]";
/** What opens a mark. */
export const OPENING = "[\\[［【]";
const CLOSING = "[\\]］】]";
const DASH = /^[-‐-―−~〜～]$/u;
const COMMA = /^[,;，；、&+/]$/u;
/** All that a list of numbers is made of, words included. */
export const SIGNS = "[ \\t\\u00a0\\u202f\\u3000\\p{L}\\p{Nd},;，；、&+/#^:.−~〜～‐-―-]";
/** What some models put behind a number: `【1†source】`. */
export const TAIL = "(?:†[^\\]】\\n]{0,64})?";
/** A longer mark is none: fifty numbers are shorter. */
export const MARK_UNITS_MAX = 256;
/** Digits of a number at most: more are no number of anything. */
const DIGITS_MAX = 9;

/** What a model may put before a number although it was asked for the number alone. */
const LABELS: ReadonlySet<string> = new Set(
  (
    "source sources src ref refs reference references citation citations doc docs document documents id quelle quellen fuente fuentes " +
    "fonte fonti fontes bron bronnen źródło kaynak источник источники 来源 來源 出典 资料 資料 출처"
  ).split(" "),
);
/** What may stand between two numbers. */
const CONJUNCTIONS: ReadonlySet<string> = new Set("and und y et e en и i 和 と 및".split(" "));
const WORDS: readonly string[] = [...LABELS, ...CONJUNCTIONS];

const MARK = new RegExp(`${OPENING}(?<list>${SIGNS}{1,${MARK_UNITS_MAX}})${TAIL}${CLOSING}`, "uy");
const MARKS = new RegExp(`${BLANK}{0,8}${OPENING}(?<list>${SIGNS}{1,${MARK_UNITS_MAX}})${TAIL}${CLOSING}`, "gu");
/** As in a stored text, over line breaks too. */
const STORED_MARKS = new RegExp(`${OPENING}([\\s${SIGNS.slice(1)}+${TAIL})${CLOSING}`, "gu");
const NUMBERS_ONLY = /^[\s,;‐-―-]*\p{Nd}[\s\p{Nd},;‐-―-]*$/u;
const TOKENS = /\p{Nd}+|\p{L}+|[^\s]/gu;

/** From and to, both included; the same for a number alone. */
export type NumberRange = readonly [from: number, to: number];

/**
 * The mark at the beginning of a text, as models are known to write it: `[1]`, `[1, 2]`, `[1-3]`, `[Source 1]`, `[^1]`, `【1†source】`,
 * `［１］`, with digits of any script. `(1)` is none, nor is `(source 1)`: round brackets are what stored texts have in their place.
 * null: there is none.
 */
export function markAt(text: string): { readonly length: number; readonly numbers: readonly NumberRange[] } | null {
  MARK.lastIndex = 0;
  const found = MARK.exec(text);
  const numbers = found === null ? null : numbersOf(found.groups?.list ?? "");
  return found === null || numbers === null ? null : { length: found[0].length, numbers };
}

/** The text of an answer without its citations and the blanks before them. Linear. */
export function withoutCitationMarks(text: string): string {
  return text.replace(MARKS, (found: string, list: string) => (numbersOf(list) === null ? found : ""));
}

/** The text with round brackets around what could be read as a citation: `(3)` stays readable, and refers to nothing. Linear. */
export function withoutCitations(text: string): string {
  return text.replace(STORED_MARKS, (found: string, inner: string) => {
    const list = inner.split("†", 1)[0] ?? "";
    return NUMBERS_ONLY.test(list) || numbersOf(list.replace(/\s/g, " ")) !== null ? `(${inner})` : found;
  });
}

/** Whether each word of a text begins one that a mark may have. */
export function areWordsOfMarks(text: string): boolean {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  return words.every((word) => WORDS.some((known) => known.startsWith(word)));
}

// An item is a number, with a label before it or not; a range is two of them. null: this is no such list.
function numbersOf(list: string): readonly NumberRange[] | null {
  const tokens = list.toLowerCase().match(TOKENS) ?? [];
  const ranges: NumberRange[] = [];
  let at = 0;
  const item = (): number | null => {
    if (LABELS.has(tokens[at] ?? "")) {
      at++;
      if (tokens[at] === ".") at++;
    }
    if (/^[#^:]$/.test(tokens[at] ?? "")) at++;
    const digits = tokens[at] ?? "";
    if (!/^\p{Nd}/u.test(digits) || digits.length > DIGITS_MAX * 2) return null;
    at++;
    return valueOfDigits(digits);
  };
  for (;;) {
    const first = item();
    if (first === null) return null;
    let last: number | null = first;
    if (DASH.test(tokens[at] ?? "")) {
      at++;
      last = item();
      if (last === null) return null;
    }
    ranges.push(first <= last ? [first, last] : [last, first]);
    if (at === tokens.length) return ranges;
    const hasComma = COMMA.test(tokens[at] ?? "");
    if (hasComma) at++;
    if (CONJUNCTIONS.has(tokens[at] ?? "")) at++;
    else if (!hasComma) return null;
  }
}

/** First digits of the scripts whose digits are known. */
const ZEROS: readonly number[] = [0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10];

/** The value of a number in digits of one of those scripts; 0, which no source has, for any other. */
function valueOfDigits(digits: string): number {
  let value = 0;
  for (const digit of digits) {
    const code = digit.codePointAt(0) ?? 0;
    const zero = ZEROS.find((first) => code >= first && code < first + 10);
    if (zero === undefined) return 0;
    value = value * 10 + (code - zero);
  }
  return value;
}
