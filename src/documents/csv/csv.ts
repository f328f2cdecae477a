// Converts a table in a text file (CSV, TSV: RFC 4180 and its variants) to text: one line per row, in which each value
// has its column name before it, as in workbooks (office/table.ts). Finds the separator and the header row.
// csv-records.ts splits rows into cells.

import { type Cell, type ColumnNames, columnNames, isQuantity, rowLine } from "../office/table.ts";
import { onOneLine } from "../text-writer.ts";
import { type CsvRecord, recordsOf, type Separator } from "./csv-records.ts";

/** Number of UTF-16 code units at the beginning of a table that determine the separator. */
const HEAD_UNITS = 64 * 1024;
/** Number of rows at the beginning of a table that determine the separator, the preamble and the header. */
const HEAD_RECORDS = 100;
/**
 * Minimum share of rows that have the same number of cells. If the share is smaller, the text is not a table but prose
 * with commas.
 */
const REGULAR_MIN = 0.4;
/** Maximum number of rows above the table (the preamble): titles, remarks. */
const PREAMBLE_RECORDS_MAX = 20;
/**
 * Maximum length of a column name in characters. If a cell of the first row is longer, the row contains data, not
 * names.
 */
const NAME_CHARACTERS_MAX = 80;
/**
 * If at least this share of a column's values are numbers, dates or similar, the text above them is the name of the
 * column.
 */
const QUANTITIES_MIN = 0.6;
/**
 * Maximum number of UTF-16 code units that column names may add to a text, because they make a row of short cells
 * several times as long. After this limit, which is reached after about 20 MB of a file, rows are written without
 * column names.
 */
const NAMES_UNITS_MAX = 64 * 1024 * 1024;
/** Minimum length of a piece of text in UTF-16 code units. When a piece has reached it, the next one begins. */
const PIECE_UNITS = 64 * 1024;

const SEPARATORS: readonly Separator[] = [",", ";", "\t", "|"];
/**
 * Matches the line with which Excel declares the separator at the beginning of a file. It is not a row of the table.
 */
const DECLARED_SEPARATOR = /^[ \t]*"?sep=([,;|\t])"?[ \t]*(?:\n|$)/i;
const YEAR = /^(?:19|20)\d\d$/;
const TRUTH = /^(?:true|false|yes|no)$/i;
const ADDRESS = /^(?:[^\s@]{1,64}@[^\s@]{1,190}\.[^\s@]{2,}|https?:\/\/\S+)$/;

/**
 * Returns the lines of a table, in pieces. Returns none if the table has no visible character. Only the white space of
 * values is changed. Empty cells are left out. Takes linear time and keeps one row in memory at a time.
 * @param pieces the text, with lines ended by \n
 */
export function* csvText(pieces: Iterable<string>): Generator<string> {
  const source = pieces[Symbol.iterator]();
  const first = source.next();
  const beginning = first.done === true ? "" : first.value;
  const declared = DECLARED_SEPARATOR.exec(beginning.slice(0, 32));
  const start = declared?.[0] === undefined ? beginning : beginning.slice(declared[0].length);
  const separator = (declared?.[1] as Separator | undefined) ?? separatorOf(start.slice(0, HEAD_UNITS));
  yield* joined(linesOfRecords(recordsOf(chained(start, source), separator), separator));
}

/** The separator of a table, determined by its beginning; null for a single column. */
function separatorOf(head: string): Separator | null {
  let best: { readonly separator: Separator | null; readonly score: number } = { separator: null, score: REGULAR_MIN };
  for (const separator of SEPARATORS) {
    const records = firstOf(recordsOf([head], separator), HEAD_RECORDS);
    // the last record is left out, because it may be cut off
    const whole = records.length > 2 ? records.slice(0, -1) : records;
    const score = regularity(whole);
    if (score > best.score) best = { separator, score };
  }
  return best.separator;
}

/** Score of a separator: the share of rows that have the most frequent number of cells; 0 if that number is one. */
function regularity(records: readonly CsvRecord[]): number {
  const rows = records.filter(({ cells }) => cells.some((cell) => cell !== ""));
  const columns = usualColumns(rows);
  if (columns < 2) return 0;
  const share = rows.filter(({ cells }) => cells.length === columns).length / rows.length;
  // of two separators with the same share, the one with more columns is better
  return share + Math.min(columns, 20) / 1000;
}

/**
 * The most frequent number of cells among rows with several cells; 1 if fewer than a third of the rows have several.
 */
function usualColumns(rows: readonly CsvRecord[]): number {
  const counts = new Map<number, number>();
  for (const { cells } of rows) if (cells.length > 1) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  let usual = 1;
  for (const [columns, count] of counts) if (count > (counts.get(usual) ?? 0)) usual = columns;
  const several = rows.filter(({ cells }) => cells.length > 1).length;
  return several * 3 < rows.length ? 1 : usual;
}

function* linesOfRecords(records: Generator<CsvRecord>, separator: Separator | null): Generator<string> {
  const head = firstOf(records, HEAD_RECORDS);
  const { preamble, header, rows } = splitHead(head);
  for (const { cells } of preamble) yield onOneLine(cells.filter((cell) => cell !== "").join(`${separator ?? ""} `));
  if (preamble.length > 0) yield "";
  const names = header === null ? NO_NAMES : columnNames([headerCells(header)]);
  if (header !== null) yield rowLine(headerCells(header), NO_NAMES);
  let namesUnits = 0;
  const line = (record: CsvRecord) => {
    const cells = cellsOf(record);
    if (namesUnits > NAMES_UNITS_MAX) return rowLine(cells, NO_NAMES);
    const named = rowLine(cells, names);
    namesUnits += named.length - cells.reduce((sum, { text }) => sum + text.length, 0);
    return named;
  };
  for (const record of rows) yield line(record);
  for (const record of records) if (!isEmpty(record)) yield line(record);
}

const NO_NAMES: ColumnNames = new Map();

/** Splits the beginning of a table into the rows above it, the header row and the rows below. */
function splitHead(head: readonly CsvRecord[]): {
  readonly preamble: readonly CsvRecord[];
  readonly header: CsvRecord | null;
  readonly rows: readonly CsvRecord[];
} {
  const filled = head.filter((record) => !isEmpty(record));
  const columns = usualColumns(filled);
  const start = columns === 1 ? 0 : filled.findIndex((record) => isRowOf(record, columns));
  // there is no preamble if no row looks like a row of the table, or if the first such row is too far down
  const preambleRows = start > 0 && start <= PREAMBLE_RECORDS_MAX ? start : 0;
  const [first, ...rest] = filled.slice(preambleRows);
  const hasHeader = first !== undefined && namesColumns(first, rest);
  return {
    preamble: filled.slice(0, preambleRows),
    header: hasHeader ? first : null,
    rows: hasHeader ? rest : filled.slice(preambleRows),
  };
}

/** Whether a record is a row of the table, and not a title or remark above it. */
function isRowOf({ cells }: CsvRecord, columns: number): boolean {
  const filled = cells.filter((cell) => cell !== "").length;
  return filled >= 2 && filled * 2 >= columns && (cells.length === columns || !/^\s*(?:#|\/\/)/.test(cells[0] ?? ""));
}

/** Whether the first row is a header. */
function namesColumns(first: CsvRecord, rest: readonly CsvRecord[]): boolean {
  const names = first.cells.map((cell) => cell.trim());
  const filled = names.filter((name) => name !== "");
  if (filled.length < 2 || rest.length === 0) return false;
  if (new Set(filled).size < filled.length) return false;
  if (filled.some((name) => name.length > NAME_CHARACTERS_MAX || (isValue(name) && !YEAR.test(name)))) return false;
  // a year can be a column name, but not above other years
  const hasYears = filled.some((name) => YEAR.test(name));
  if (hasYears && rest.some(({ cells }) => cells.some((cell) => YEAR.test(cell.trim())))) return false;
  if (filled.every((name) => YEAR.test(name))) return false;
  // if a text occurs again below in the same column, it is a value, not a name
  if (names.some((name, column) => name !== "" && rest.some(({ cells }) => cells[column]?.trim() === name)))
    return false;
  const columns = names.map((_, column) =>
    rest.map(({ cells }) => cells[column]?.trim() ?? "").filter((cell) => cell !== ""),
  );
  const hasValueColumn = columns.some(
    (cells) => cells.length > 0 && cells.filter(isValue).length >= cells.length * QUANTITIES_MIN,
  );
  if (hasValueColumn) return true;
  const isComplete = rest.every(
    ({ cells }) => cells.length <= names.length || cells.slice(names.length).every((cell) => cell === ""),
  );
  return isComplete && (filled.length >= 3 || looksLikeNames(filled, columns));
}

/**
 * Whether the texts of the first row look like column names: unlike the other rows, they are written like identifiers
 * or are much shorter.
 */
function looksLikeNames(names: readonly string[], columns: readonly (readonly string[])[]): boolean {
  const isPlain = (text: string) => /^[\p{Ll}\p{N}_]+$/u.test(text);
  const cells = columns.flat();
  if (names.every(isPlain) && cells.filter(isPlain).length * 2 < cells.length) return true;
  const meanLength = (texts: readonly string[]) => texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
  return columns.some(
    (column, at) => column.length > 0 && meanLength(column) > 3 * Math.max(4, names[at]?.length ?? 0),
  );
}

/** Whether a text is a number, a date, an address or similar, and therefore not a column name. */
function isValue(text: string): boolean {
  return isQuantity(text) || TRUTH.test(text) || (text.length <= 300 && ADDRESS.test(text));
}

function isEmpty({ cells }: CsvRecord): boolean {
  return cells.every((cell) => cell.trim() === "");
}

function cellsOf({ cells, firstColumn }: CsvRecord): Cell[] {
  return cells.map((cell, at) => ({ text: onOneLine(cell), column: firstColumn + at, span: 1, isBold: false }));
}

/** The cells of a header row, without the `#` that scientific programs write before the first one. */
function headerCells(header: CsvRecord): Cell[] {
  return cellsOf(header).map((cell, at) => (at === 0 ? { ...cell, text: cell.text.replace(/^#\s*(?=\S)/, "") } : cell));
}

function firstOf(records: Iterator<CsvRecord>, count: number): CsvRecord[] {
  const first: CsvRecord[] = [];
  while (first.length < count) {
    const next = records.next();
    if (next.done === true) break;
    first.push(next.value);
  }
  return first;
}

function* chained(first: string, rest: Iterator<string>): Generator<string> {
  yield first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}

/** Joins lines into pieces of text, without a line feed at the end. */
function* joined(lines: Iterable<string>): Generator<string> {
  let piece: string[] = [];
  let units = 0;
  let isFirst = true;
  for (const line of lines) {
    piece.push(isFirst ? line : `\n${line}`);
    isFirst = false;
    units += line.length + 1;
    if (units < PIECE_UNITS) continue;
    yield piece.join("");
    piece = [];
    units = 0;
  }
  if (units > 0) yield piece.join("");
}
