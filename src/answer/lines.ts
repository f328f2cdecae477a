// Tells which lines of a passage belong together. Prose that was wrapped to a width is one block, however many lines it
// has; an item of a list, a row of a table and a line of its own are blocks of one line.

import { UNSPACED } from "../words/word-patterns.ts";

/** Lines that belong together, as a range `[start, end)` of the passage with all line breaks. */
export interface Block {
  readonly start: number;
  readonly end: number;
  /** Without the markup at the beginning of the first line, and without the last line break. */
  readonly textStart: number;
  readonly textEnd: number;
  /** A rule, an underline, the separator row of a table, a code fence, or nothing. */
  readonly isDecoration: boolean;
  /** The values of a row with the names of their columns; null if the block is no row of a table with a header. */
  readonly row: string | null;
}

/** Minimum length of a line that may have been wrapped, in UTF-16 code units. A shorter line ends its block. */
const WRAPPED_UNITS_MIN = 40;
/** Minimum width of a paragraph of two lines: narrower pairs are lines of their own far more often. */
const PAIR_WIDTH_MIN = 60;
/** Room that lines of scripts without spaces have at their end: marks may not begin a line. */
const UNSPACED_ROOM = 4;
/** Room beyond a word with which a line still counts as wrapped: editors count tabs and wide letters in other ways. */
const RAGGED_UNITS = 4;
/** Markdown at the beginning of a line: heading, quotation, list item, table row. */
const LINE_MARKUP = /^\s*(?:(?:#{1,6}|>|[-*+•◦‣·–—]|\[[ xX]\]|\d{1,3}[.)])\s+|\|\s*)+/;
/** Lines without text: rules, underlines, separator rows of tables, code fences. */
const DECORATION = /^(?:[\s|:=_*~+-]*|`{3,}[^`]*|~{3,}.*)$/;
const SEPARATOR_ROW = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/;
/** A line as records have it: a name and a value, a number, a date, a time, a bracket. */
const FIELD = /^\s*[^\s:：.!?][^:：.!?]{0,39}[:：](?:\s|$)/;
const NUMBERED = /^\s*[([]?\p{N}/u;
/** What separates the values of a row. */
const VALUE_SEPARATORS = [/\t/g, / \| /g, /;/g, / [–—-] /g, /, /g] as const;
/** Number of separators from which on lines with equally many are rows: commas are frequent in prose. */
const SEPARATORS_MIN = [1, 1, 2, 1, 3] as const;
/** The beginning of a line inside a sentence: a small letter, or a script without spaces and without capitals. */
const CONTINUATION = /^\s*[\p{Ll}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]/u;
const SENTENCE_END = /[.!?…。！？]["'”’»)\]]*$/u;

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
  /** Behind the line break. */
  readonly end: number;
  /** Without the line break and white space at the end. */
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
  // Lines that could be one paragraph; its longest line shows the width to which it was wrapped.
  let end = first + 1;
  while (end < lines.length && couldContinue(lines[end - 1] as Line, lines[end] as Line)) end++;
  const paragraph = lines.slice(first, end);
  const width = Math.max(...paragraph.map(({ text }) => text.length));
  if (paragraph.length === 2 && width < PAIR_WIDTH_MIN && !CONTINUATION.test(paragraph[1]?.text ?? ""))
    return first + 1;
  const wrapped = paragraph.findIndex((line, at) => at > 0 && !wasWrapped(paragraph[at - 1] as Line, line, width));
  return wrapped === -1 ? end : first + wrapped;
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
