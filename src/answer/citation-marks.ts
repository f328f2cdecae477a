// Recognises citation marks such as `[1]`, in a model's output and in stored texts. citation-renumbering.ts rewrites
// the marks in a model's output. Marks in stored texts get round brackets, so that they cite nothing.
//
// The patterns only use character classes whose repetitions do not overlap, so that matching never backtracks. Code
// interprets the characters after that.

/** Blanks that may precede a mark or occur within it, written as the content of a character class. */
export const BLANKS = " \\t\\u00a0\\u202f\\u3000";
const BLANK = `[${BLANKS}]`;
/**
 * Possible first characters of a mark: bracket, backslash of an escaped bracket, or `<` if the model repeats an element
 * of the prompt.
 */
export const OPENINGS = "\\\\\\[［【<";
/** An opening bracket, possibly escaped. */
export const BRACKET = "\\\\?[\\[［【]";
const CLOSING = "\\\\?[\\]］】]";
const DASH = /^[-‐-―−~〜～]$/u;
const SEPARATOR = /^[,;，；、&+/|]$/u;
/** Characters that may precede a number. */
const BEFORE_NUMBER = /^[#^]$/;
/** Characters that may follow a label. */
const BEHIND_LABEL = /^[:=_.]$/;
/** Characters that may follow the last number. */
const BEHIND_LAST = /^[.,;]$/;
const QUOTATION_MARKS = /["'“”„‘’]/g;
/** All characters that may occur in a list of numbers, letters included, as a character class. */
export const LIST_CHARACTERS = "[ \\t\\u00a0\\u202f\\u3000\\p{L}\\p{Nd},;，；、&+/#^:=_|\"'“”„‘’.−~〜～‐-―-]";
/** Suffix that some models add: `【1†source】`. */
const TAIL = "(?:†[^[\\]［】【\\n]{0,64})?";
/** Maximum length of a mark, in UTF-16 code units; enough for fifty numbers. */
export const MARK_UNITS_MAX = 256;
/** Maximum length of a number, in UTF-16 code units: nine digits, which take two units each in some scripts. */
const NUMBER_UNITS_MAX = 18;

/** Words that models put before a number. */
const LABELS: ReadonlySet<string> = new Set(
  (
    "source sources src s ref refs reference references citation citations doc docs document documents id " +
    "no nr number quelle quellen fuente fuentes fonte fonti fontes bron bronnen źródło kaynak источник источники " +
    "来源 來源 出典 资料 資料 출처"
  ).split(" "),
);
/** Words between the last two numbers of a list, such as `1, 2 and 3`. */
const LIST_WORDS: ReadonlySet<string> = new Set("and und y et e en и i 和 と 및".split(" "));
/** Words between two numbers that mean a range, like a dash. */
const RANGE_WORDS: ReadonlySet<string> = new Set("to through bis à al tot до 至 到".split(" "));
/** Words for places within a source. The numbers behind them are not source numbers. */
const PLACES: ReadonlySet<string> = new Set("p pp page pages seite line lines section chapter slide sheet".split(" "));
const WORDS: readonly string[] = [...LABELS, ...LIST_WORDS, ...RANGE_WORDS, ...PLACES];

const LIST = `(?<list>${LIST_CHARACTERS}{1,${MARK_UNITS_MAX}})`;
const MARK = new RegExp(`${BRACKET}${LIST}${TAIL}${CLOSING}`, "uy");
const MARKS_WITH_BLANKS = new RegExp(`${BLANK}{0,8}${BRACKET}${LIST}${TAIL}${CLOSING}`, "gu");
/** A mark in a stored text, which may contain line breaks. */
const STORED_MARKS = new RegExp(`${BRACKET}(?<inner>[\\s${LIST_CHARACTERS.slice(1)}+${TAIL})${CLOSING}`, "gu");
const NUMBERS_ONLY = /^[\s,;‐-―-]*\p{Nd}[\s\p{Nd},;‐-―-]*$/u;
const TOKENS = /\p{Nd}+|\p{L}+|[^\s]/gu;
/**
 * A letter directly behind a digit, as in a unit, an exponent or a name, in scripts that put spaces between words. A
 * text with one is not a list of numbers.
 */
const LETTER_BEHIND_DIGIT = /\p{Nd}[\p{Script=Latin}\p{Script=Cyrillic}]/u;

/** A text that may become a mark when more text follows. */
const BRACKET_BEGINS = new RegExp(`^(?:\\\\|${BRACKET}(?<list>${LIST_CHARACTERS}*)${TAIL}\\\\?)$`, "u");
/** `<source id="3">`, with any other attributes. */
const ELEMENT = /<source\s(?<attributes>[^<>\n]{1,256})>/iy;
const ELEMENT_BEGINS = /^<(?:s(?:o(?:u(?:r(?:c(?:e(?:\s[^<>\n]*)?)?)?)?)?)?)?$/i;
const ELEMENT_ID = /(?<![\w-])id\s*=\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>[^\s"'/]+))/i;

/** First and last number, both included; equal for a single number. */
export type NumberRange = readonly [from: number, to: number];

/** A citation mark. */
export interface CitationMark {
  /** Length in UTF-16 code units. */
  readonly length: number;
  /** Text inside the brackets, without a `†` suffix. */
  readonly list: string;
  readonly numbers: readonly NumberRange[];
}

/**
 * The mark at the beginning of a text; null if there is none. Recognises the forms that models are known to write:
 * `[1]`, `[1, 2]`, `[1 2]`, `[1-3]`, `[1 to 3]`, `[Source 1]`, `[id="1"]`, `[S1]`, `[1: p. 4]`, `[^1]`, `\[1\]`,
 * `【1†source】`, `［１］`, `<source id="1">`, with digits of any script. Round brackets, as in `(1)` and `(source 1)`, are
 * never a mark, because stored texts have them instead.
 */
export function markAt(text: string): CitationMark | null {
  if (text.startsWith("<")) return elementAt(text);
  MARK.lastIndex = 0;
  const found = MARK.exec(text);
  const list = found?.groups?.list ?? "";
  const numbers = found === null ? null : numbersOf(list);
  return found === null || numbers === null ? null : { length: found[0].length, list, numbers };
}

/** Whether a text that is no mark may become one when more text follows. */
export function mayBecomeMark(text: string): boolean {
  if (text.startsWith("<")) return ELEMENT_BEGINS.test(text);
  const begun = BRACKET_BEGINS.exec(text);
  return begun !== null && areMarkWords(begun.groups?.list ?? "");
}

/**
 * Whether the numbers are probably a vector, an interval or an index instead of sources: if there are several and one
 * of them is 0.
 */
export function areCoordinates(numbers: readonly NumberRange[]): boolean {
  const isOne = numbers.length === 1 && numbers[0]?.[0] === numbers[0]?.[1];
  return !isOne && numbers.some(([from]) => from === 0);
}

/** Removes the citations, and the blanks before them, from the text of an answer. Linear in the text. */
export function withoutCitationMarks(text: string): string {
  return text.replace(MARKS_WITH_BLANKS, (found: string, list: string) => {
    const numbers = numbersOf(list);
    return numbers === null || areCoordinates(numbers) ? found : "";
  });
}

/**
 * Puts round brackets around everything in a stored text that could be read as a citation: `(3)` is readable and cites
 * nothing. Linear in the text.
 */
export function withoutCitations(text: string): string {
  const replaced = text.replace(STORED_MARKS, (found: string, inner: string) => {
    const list = inner.split("†", 1)[0] ?? "";
    return NUMBERS_ONLY.test(list) || numbersOf(list.replace(/\s/g, " ")) !== null ? `(${inner})` : found;
  });
  // A mark that had another one in its suffix, as in `[1†[2]]`, is recognised only now. The suffix is short, so marks
  // are nested a few times at most.
  return replaced === text ? text : withoutCitations(replaced);
}

function elementAt(text: string): CitationMark | null {
  ELEMENT.lastIndex = 0;
  const found = ELEMENT.exec(text);
  const { double, single, bare } = ELEMENT_ID.exec(found?.groups?.attributes ?? "")?.groups ?? {};
  const list = double ?? single ?? bare ?? "";
  const numbers = numbersOf(list);
  return found === null || numbers === null ? null : { length: found[0].length, list, numbers };
}

// Whether each word of a text is a prefix of a word that may occur in a mark.
function areMarkWords(text: string): boolean {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  return words.every((word) => WORDS.some((known) => known.startsWith(word)));
}

// Returns null if the text is not a list of numbers.
function numbersOf(list: string): readonly NumberRange[] | null {
  if (LETTER_BEHIND_DIGIT.test(list)) return null;
  return new NumberList(list.toLowerCase().replace(QUOTATION_MARKS, " ").match(TOKENS) ?? []).read();
}

/** Parser for a list of numbers. An item is a number with optional labels before it; a range is two items. */
class NumberList {
  #at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  /** Returns the ranges; null if the tokens are not a list of numbers. */
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
      // The separator is optional: a blank between two numbers is enough.
      this.#skip((token) => SEPARATOR.test(token));
      this.#skip((token) => LIST_WORDS.has(token));
    }
  }

  // Reads a number with its optional labels; null if there is none.
  #item(): number | null {
    while (this.#skip((token) => LABELS.has(token))) while (this.#skip((token) => BEHIND_LABEL.test(token)));
    this.#skip((token) => BEFORE_NUMBER.test(token));
    return this.#number();
  }

  #number(): number | null {
    const digits = this.tokens[this.#at] ?? "";
    if (!/^\p{Nd}/u.test(digits) || digits.length > NUMBER_UNITS_MAX) return null;
    this.#at++;
    return valueOfDigits(digits);
  }

  // Skips a place such as `: p. 4` or `, pages 4-5`. Returns false if a place has no number.
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

  // One punctuation character may follow the last number.
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

/** Code points of the digit zero in the supported scripts. */
const ZEROS: readonly number[] = [0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10];

/** The value of a number. For digits of unsupported scripts it is 0, which is never the number of a source. */
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
