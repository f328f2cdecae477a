// Divides a passage into blocks of lines that belong together. A paragraph of prose that was wrapped to a width is one
// block, however many lines it has. A list item, a row of a table, and any other line that stands alone are blocks of
// one line.

import { stopWordsOf } from "../words/stop-words.ts";
import { UNSPACED } from "../words/word-patterns.ts";

/** Lines that belong together, as a range `[start, end)` of the passage in UTF-16 code units, line breaks included. */
export interface Block {
  readonly start: number;
  readonly end: number;
  /** Start of the text after the markup at the beginning of the first line. */
  readonly textStart: number;
  readonly textEnd: number;
  /**
   * Whether the block has no text to quote: a rule, an underline, the separator row of a table, a code fence, or blank
   * lines.
   */
  readonly isDecoration: boolean;
  /** The values of a row with the names of their columns; null if the block is no row of a table with a header. */
  readonly row: string | null;
}

/** Minimum length of a line that may have been wrapped, in UTF-16 code units. A shorter line ends its block. */
const WRAPPED_UNITS_MIN = 40;
/**
 * Minimum width of a paragraph of two lines, in UTF-16 code units. Narrower pairs are far more often two separate
 * lines.
 */
const PAIR_WIDTH_MIN = 60;
/**
 * Number of characters by which lines of scripts without spaces may be shorter than the width, because some punctuation
 * marks may not begin a line.
 */
const UNSPACED_ROOM = 4;
/** Tolerance of the width, in UTF-16 code units, because editors count tabs and wide letters differently. */
const RAGGED_UNITS = 4;
/** Markdown at the beginning of a line: heading, quotation, list item, table row. */
const LINE_MARKUP = /^\s*(?:(?:#{1,6}|>|[-*+•◦‣·–—]|\[[ xX]\]|\d{1,3}[.)])\s+|\|\s*)+/;
/** Lines without text: rules, underlines, separator rows of tables, code fences. */
const DECORATION = /^(?:[\s|:=_*~+-]*|`{3,}[^`]*|~{3,}.*)$/;
const SEPARATOR_ROW = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/;
/** A line of a record: a name, a colon and a value. */
const FIELD = /^\s*[^\s:：.!?][^:：.!?]{0,39}[:：](?:\s|$)/;
const NUMBERED = /^\s*[([]?\p{N}/u;
/** Possible separators between the values of a row. */
const VALUE_SEPARATORS = [/\t/g, / \| /g, /;/g, / [–—-] /g, /, /g] as const;
/**
 * For each separator, the minimum number at which lines with equally many are rows. It is higher for commas, which are
 * frequent in prose.
 */
const SEPARATORS_MIN = [1, 1, 2, 1, 3] as const;
/** The beginning of a line that may continue a sentence: a small letter, or a character of a script without spaces. */
const CONTINUATION = /^\s*[\p{Ll}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]/u;
const SENTENCE_END = /[.!?…。！？।؟]["'”’»)\]]*$/u;
/** The end of a sentence within a line, before another one. */
const SENTENCE_WITHIN = /\p{L}{2}[.!?…؟।]["'”’»)\]]*\s+["'“‘«(]*[\p{Lu}\p{Lo}]/u;
const SMALL_START = /^\s*["'“‘„«([]*\p{Ll}/u;
const CAPITAL_START = /^\s*["'“‘„«([]*\p{Lu}/u;
/** The end of a line inside a phrase: a comma, a hyphen, an opening bracket. */
const OPEN_END = /[,،、;([«“„-]$/u;
const LAST_WORD = /(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}]+$/u;
/** Function words with which a phrase may also end: particles, pronouns, numbers. */
const PHRASE_ENDS = new Set(
  "on off up down in out over by it him her them me you us this that all not now again too so no yes ago then there here an auf aus ab zu ein mit vor nach los weg sich mich dich uns euch ihn ihm ja nein non oui si sí não là ci".split(
    " ",
  ),
);
/**
 * Minimum share of line breaks inside phrases in wrapped prose, among the line breaks that do not follow a sentence.
 * English prose has 85 %, German prose, whose nouns have capitals, 70 %; separate lines have almost none. The second
 * value is for texts without capitals, in which only commas and function words show that a phrase goes on.
 */
const OPEN_BREAKS_MIN = 0.34;
const OPEN_BREAKS_UNCASED_MIN = 0.2;

/** The blocks of a passage, in order, which cover all of it. Takes linear time. */
export function* blocksOf(passage: string): Generator<Block, void, undefined> {
  const lines = linesOf(passage);
  let columns: readonly string[] | null = null;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as Line;
    const isTableHead = line.text.includes("|") && SEPARATOR_ROW.test(lines[at + 1]?.text ?? "") && !line.isDecoration;
    const row = columns !== null && line.text.includes("|") && !line.isDecoration ? rowOf(line.text, columns) : null;
    if (isTableHead) columns = cellsOf(line.text);
    else if (row === null && !line.isDecoration) columns = null;
    const end = row !== null || isTableHead || line.isDecoration ? at + 1 : endOfBlock(lines, at);
    yield blockOf(lines.slice(at, end), row);
    at = end;
  }
}

interface Line {
  readonly start: number;
  /** End of the line, after its line break. */
  readonly end: number;
  /** The line without its line break and white space at its end. */
  readonly text: string;
  readonly isDecoration: boolean;
}

function linesOf(passage: string): readonly Line[] {
  const lines: Line[] = [];
  for (const { 0: found, index } of passage.matchAll(/.*(?:\r\n|[\n\r\u0085\u2028\u2029]|$)/g)) {
    if (found === "") continue;
    const text = found.trimEnd();
    lines.push({ start: index, end: index + found.length, text, isDecoration: DECORATION.test(text) });
  }
  return lines;
}

function blockOf(lines: readonly Line[], row: string | null): Block {
  const first = lines[0] as Line;
  const last = lines.at(-1) as Line;
  const markup = LINE_MARKUP.exec(first.text)?.[0] ?? "";
  const closing = markup.includes("|") && last.text.endsWith("|") ? 1 : 0;
  const textStart = first.start + markup.length;
  return {
    start: first.start,
    end: last.end,
    textStart,
    textEnd: Math.max(textStart, last.start + last.text.length - closing),
    isDecoration: first.isDecoration,
    row,
  };
}

/** Index behind the last line that belongs to the block that begins with line `first`. */
function endOfBlock(lines: readonly Line[], first: number): number {
  // Finds the lines that could be one paragraph. The longest of them shows the width to which it was wrapped.
  let end = first + 1;
  while (end < lines.length && couldContinue(lines[end - 1] as Line, lines[end] as Line)) end++;
  const paragraph = lines.slice(first, end);
  const width = Math.max(...paragraph.map(({ text }) => text.length));
  if (paragraph.length === 2 && width < PAIR_WIDTH_MIN && !CONTINUATION.test(paragraph[1]?.text ?? ""))
    return first + 1;
  const isProse = looksWrapped(paragraph);
  const wrapped = paragraph.findIndex((line, at) => {
    const previous = paragraph[at - 1];
    if (previous === undefined) return false;
    return !wasWrapped(previous, line, width) || !(isProse || continuesPhrase(previous, line));
  });
  return wrapped === -1 ? end : first + wrapped;
}

/**
 * Whether lines of about the same length look like wrapped prose, and not like rows, log entries, addresses or notes,
 * which often have no full stop.
 */
function looksWrapped(lines: readonly Line[]): boolean {
  if (lines.length < 2) return true;
  const texts = lines.map(({ text }) => text);
  // scripts without spaces are wrapped at the same number of characters, and separate lines rarely have equal lengths
  if (texts.some((text) => UNSPACED.test(text.slice(-1)))) return true;
  const [first = "", last = ""] = [texts[0], texts.at(-1)];
  const isUncased = !CAPITAL_START.test(first);
  const before = texts.slice(0, -1);
  const unended = isUncased ? before.slice(-1) : before;
  if (SENTENCE_END.test(last) && !unended.some((text) => SENTENCE_END.test(text))) return true;
  const isStartingPhrases = texts.every((text) => CAPITAL_START.test(text));
  if (texts.some((text) => SENTENCE_WITHIN.test(text)) && (texts.length < 4 || !isStartingPhrases)) return true;
  let [open, all] = [0, 0];
  for (const [at, text] of before.entries()) {
    const next = texts[at + 1] ?? "";
    const isOpen = endsInPhrase(text, next) || (!isUncased && SMALL_START.test(next));
    if (isOpen) open++;
    if (isOpen || !SENTENCE_END.test(text)) all++;
  }
  return all === 0 || open / all >= (isUncased ? OPEN_BREAKS_UNCASED_MIN : OPEN_BREAKS_MIN);
}

/** Whether a line ends inside a phrase: with a comma or a function word. */
function endsInPhrase(text: string, next: string): boolean {
  if (OPEN_END.test(text)) return !CAPITAL_START.test(next);
  const word = LAST_WORD.exec(text)?.[0] ?? "";
  return word !== "" && !PHRASE_ENDS.has(word) && stopWordsOf("und").has(word);
}

/** Whether a line that looks separate goes on in the next line. */
function continuesPhrase(previous: Line, line: Line): boolean {
  return CAPITAL_START.test(previous.text) && SMALL_START.test(line.text) && !SENTENCE_END.test(previous.text);
}

function couldContinue(previous: Line, line: Line): boolean {
  if (line.isDecoration || previous.text.length < WRAPPED_UNITS_MIN || LINE_MARKUP.test(line.text)) return false;
  return !areRecords(previous.text, line.text);
}

/** Whether two lines are rows or fields of the same kind. */
function areRecords(left: string, right: string): boolean {
  if (FIELD.test(left) && FIELD.test(right)) return true;
  if (NUMBERED.test(left) && NUMBERED.test(right)) return true;
  if (SENTENCE_END.test(left) || SENTENCE_END.test(right)) return false;
  return VALUE_SEPARATORS.some((separator, at) => {
    const count = left.match(separator)?.length ?? 0;
    return count >= (SEPARATORS_MIN[at] ?? 1) && count === right.match(separator)?.length;
  });
}

/** Whether the first word of a line had no room at the end of the line before it. */
function wasWrapped(previous: Line, line: Line, width: number): boolean {
  const word = /^\s*(\S*)/.exec(line.text)?.[1] ?? "";
  const room = width - previous.text.length;
  return room < (UNSPACED.test(word) ? UNSPACED_ROOM : word.length + 1 + RAGGED_UNITS);
}

function cellsOf(line: string): readonly string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

/** The cells of a row with the names of their columns: "Name: Ida; Room: 114". */
function rowOf(line: string, columns: readonly string[]): string {
  return cellsOf(line)
    .map((cell, at) => (cell === "" || (columns[at] ?? "") === "" ? cell : `${columns[at]}: ${cell}`))
    .filter((cell) => cell !== "")
    .join("; ");
}
