// What reads as a citation, in what a model writes and in what was stored. Whoever writes it anew is citations.ts, for
// a model; in stored texts it gets round brackets, which never cite.
//
// The patterns here know signs only, each of one kind in a row, so that no text makes them try twice; what the signs
// mean is read after.

/** Blanks that stand between a word and the mark behind it, or within one. */
export const BLANKS = " \\t\\u00a0\\u202f\\u3000";
const BLANK = `[${BLANKS}]`;
/** What opens a mark: a bracket, also an escaped one, or an element of the prompt that is said again. */
export const OPENINGS = "\\\\\\[［【<";
/** A bracket that opens a mark, also an escaped one. */
export const BRACKET = "\\\\?[\\[［【]";
const CLOSING = "\\\\?[\\]］】]";
const DASH = /^[-‐-―−~〜～]$/u;
const SEPARATOR = /^[,;，；、&+/|]$/u;
/** What may stand before a number, behind a label, and behind the last number. */
const BEFORE_NUMBER = /^[#^]$/;
const BEHIND_LABEL = /^[:=_.]$/;
const BEHIND_LAST = /^[.,;]$/;
const QUOTATION_MARKS = /["'“”„‘’]/g;
/** All that a list of numbers is made of, words included. */
export const SIGNS = "[ \\t\\u00a0\\u202f\\u3000\\p{L}\\p{Nd},;，；、&+/#^:=_|\"'“”„‘’.−~〜～‐-―-]";
/** What some models put behind a number: `【1†source】`. */
const TAIL = "(?:†[^[\\]［】【\\n]{0,64})?";
/** A longer mark is none: fifty numbers are shorter. */
export const MARK_UNITS_MAX = 256;
/** Digits of a number at most: more are no number of anything. */
const DIGITS_MAX = 9;

/** What a model may put before a number although it was asked for the number alone. */
const LABELS: ReadonlySet<string> = new Set(
  (
    "source sources src s ref refs reference references citation citations doc docs document documents id " +
    "no nr number quelle quellen fuente fuentes fonte fonti fontes bron bronnen źródło kaynak источник источники " +
    "来源 來源 出典 资料 資料 출처"
  ).split(" "),
);
/** What may stand between two numbers. */
const CONJUNCTIONS: ReadonlySet<string> = new Set("and und y et e en и i 和 と 및".split(" "));
/** What makes a range of two numbers, as a dash does. */
const RANGE_WORDS: ReadonlySet<string> = new Set("to through bis à al tot до 至 到".split(" "));
/** Where in a source: the numbers behind these are no sources. */
const PLACES: ReadonlySet<string> = new Set("p pp page pages seite line lines section chapter slide sheet".split(" "));
const WORDS: readonly string[] = [...LABELS, ...CONJUNCTIONS, ...RANGE_WORDS, ...PLACES];

const LIST = `(?<list>${SIGNS}{1,${MARK_UNITS_MAX}})`;
const MARK = new RegExp(`${BRACKET}${LIST}${TAIL}${CLOSING}`, "uy");
const LED_MARKS = new RegExp(`${BLANK}{0,8}${BRACKET}${LIST}${TAIL}${CLOSING}`, "gu");
/** As in a stored text, over line breaks too. */
const STORED_MARKS = new RegExp(`${BRACKET}(?<inner>[\\s${SIGNS.slice(1)}+${TAIL})${CLOSING}`, "gu");
const NUMBERS_ONLY = /^[\s,;‐-―-]*\p{Nd}[\s\p{Nd},;‐-―-]*$/u;
const TOKENS = /\p{Nd}+|\p{L}+|[^\s]/gu;
/** A letter behind a digit belongs to a unit, an exponent or a name; scripts without spaces are others. */
const LETTER_BEHIND_DIGIT = /\p{Nd}[\p{Script=Latin}\p{Script=Cyrillic}]/u;

/** What may still become a mark, as far as its signs go. */
const BRACKET_BEGINS = new RegExp(`^(?:\\\\|${BRACKET}(?<list>${SIGNS}*)${TAIL}\\\\?)$`, "u");
/** `<source id="3">`, with whatever else it has. */
const ELEMENT = /<source\s(?<attributes>[^<>\n]{1,256})>/iy;
const ELEMENT_BEGINS = /^<(?:s(?:o(?:u(?:r(?:c(?:e(?:\s[^<>\n]*)?)?)?)?)?)?)?$/i;
const ELEMENT_ID = /(?<![\w-])id\s*=\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>[^\s"'/]+))/i;

/** From and to, both included; the same for a number alone. */
export type NumberRange = readonly [from: number, to: number];

/** What stands at the beginning of a text. */
export interface CitationMark {
  /** UTF-16 units of it. */
  readonly length: number;
  /** What stands in it, without brackets and without what some models put behind the number. */
  readonly list: string;
  readonly numbers: readonly NumberRange[];
}

/**
 * The mark at the beginning of a text, as models are known to write it: `[1]`, `[1, 2]`, `[1 2]`, `[1-3]`, `[1 to 3]`,
 * `[Source 1]`, `[id="1"]`, `[S1]`, `[1: p. 4]`, `[^1]`, `\[1\]`, `【1†source】`, `［１］`, `<source id="1">`, with digits
 * of any script. `(1)` is none, nor is `(source 1)`: round brackets are what stored texts have in their place. null:
 * there is none.
 */
export function markAt(text: string): CitationMark | null {
  if (text.startsWith("<")) return elementAt(text);
  MARK.lastIndex = 0;
  const found = MARK.exec(text);
  const list = found?.groups?.list ?? "";
  const numbers = found === null ? null : numbersOf(list);
  return found === null || numbers === null ? null : { length: found[0].length, list, numbers };
}

/** Whether a text, which is no mark, may become one with what comes behind it. */
export function mayBecomeMark(text: string): boolean {
  if (text.startsWith("<")) return ELEMENT_BEGINS.test(text);
  const begun = BRACKET_BEGINS.exec(text);
  return begun !== null && areWordsOfMarks(begun.groups?.list ?? "");
}

/** Whether numbers are more likely a vector, an interval or an index than sources: several, and 0 is one of them. */
export function areCoordinates(numbers: readonly NumberRange[]): boolean {
  const isOne = numbers.length === 1 && numbers[0]?.[0] === numbers[0]?.[1];
  return !isOne && numbers.some(([from]) => from === 0);
}

/** The text of an answer without its citations and the blanks before them. Linear. */
export function withoutCitationMarks(text: string): string {
  return text.replace(LED_MARKS, (found: string, list: string) => {
    const numbers = numbersOf(list);
    return numbers === null || areCoordinates(numbers) ? found : "";
  });
}

/**
 * The text with round brackets around what could be read as a citation: `(3)` stays readable, and refers to nothing.
 * Linear.
 */
export function withoutCitations(text: string): string {
  return text.replace(STORED_MARKS, (found: string, inner: string) => {
    const list = inner.split("†", 1)[0] ?? "";
    return NUMBERS_ONLY.test(list) || numbersOf(list.replace(/\s/g, " ")) !== null ? `(${inner})` : found;
  });
}

function elementAt(text: string): CitationMark | null {
  ELEMENT.lastIndex = 0;
  const found = ELEMENT.exec(text);
  const { double, single, bare } = ELEMENT_ID.exec(found?.groups?.attributes ?? "")?.groups ?? {};
  const list = double ?? single ?? bare ?? "";
  const numbers = numbersOf(list);
  return found === null || numbers === null ? null : { length: found[0].length, list, numbers };
}

// Whether each word of a text begins one that a mark may have.
function areWordsOfMarks(text: string): boolean {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  return words.every((word) => WORDS.some((known) => known.startsWith(word)));
}

// null: this is no list of numbers.
function numbersOf(list: string): readonly NumberRange[] | null {
  if (LETTER_BEHIND_DIGIT.test(list)) return null;
  return new NumberList(list.toLowerCase().replace(QUOTATION_MARKS, " ").match(TOKENS) ?? []).read();
}

/** Reads a list of numbers. An item is a number, with labels before it or none; a range is two of them. */
class NumberList {
  #at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  /** null: this is none. */
  read(): readonly NumberRange[] | null {
    const ranges: NumberRange[] = [];
    for (;;) {
      const first = this.#item();
      if (first === null) return null;
      const isRange = this.#skip((token) => DASH.test(token) || RANGE_WORDS.has(token));
      const last = isRange ? this.#item() : first;
      if (last === null) return null;
      ranges.push(first <= last ? [first, last] : [last, first]);
      if (!this.#skipPlace()) return null;
      if (this.#isAtEnd()) return ranges;
      // a blank is enough between two numbers
      this.#skip((token) => SEPARATOR.test(token));
      this.#skip((token) => CONJUNCTIONS.has(token));
    }
  }

  // A number, with what stands before it; null: there is none.
  #item(): number | null {
    while (this.#skip((token) => LABELS.has(token))) while (this.#skip((token) => BEHIND_LABEL.test(token)));
    this.#skip((token) => BEFORE_NUMBER.test(token));
    return this.#number();
  }

  #number(): number | null {
    const digits = this.tokens[this.#at] ?? "";
    if (!/^\p{Nd}/u.test(digits) || digits.length > DIGITS_MAX * 2) return null;
    this.#at++;
    return valueOfDigits(digits);
  }

  // `: p. 4` and `, pages 4-5`. false: there is a place, and no number of it.
  #skipPlace(): boolean {
    const from = this.#at;
    this.#skip((token) => token === ":" || SEPARATOR.test(token));
    if (!this.#skip((token) => PLACES.has(token))) {
      this.#at = from;
      return true;
    }
    this.#skip((token) => BEHIND_LABEL.test(token));
    if (this.#number() === null) return false;
    return !this.#skip((token) => DASH.test(token)) || this.#number() !== null;
  }

  // Behind the last number there may be a sign.
  #isAtEnd(): boolean {
    const rest = this.tokens.length - this.#at;
    return rest === 0 || (rest === 1 && BEHIND_LAST.test(this.tokens[this.#at] ?? ""));
  }

  #skip(isSkipped: (token: string) => boolean): boolean {
    const token = this.tokens[this.#at];
    const isFound = token !== undefined && isSkipped(token);
    if (isFound) this.#at++;
    return isFound;
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
