// Converts a table in a text file (CSV, TSV: RFC 4180 and its variants) to text: one line per row, in which each value
// has its column name before it, as in workbooks (office/table.ts). separator.ts finds the separator, header.ts the
// header row, and csv-records.ts splits rows into cells.

import { type Cell, type ColumnNames, columnNames, rowLine } from "../office/table.ts";
import { onOneLine } from "../text-writer.ts";
import { type CsvRecord, recordsOf, type Separator } from "./csv-records.ts";
import { namesColumns, withDistinctNames } from "./header.ts";
import { firstOf, separatorOf, usualColumns } from "./separator.ts";

/** Number of UTF-16 code units at the beginning of a table that determine the separator. */
const HEAD_UNITS = 64 * 1024;
/** Number of rows at the beginning of a table that determine the separator, the preamble and the header. */
const HEAD_RECORDS = 100;
/** Maximum number of rows above the table (the preamble): titles, remarks. */
const PREAMBLE_RECORDS_MAX = 20;
/**
 * Maximum number of UTF-16 code units that column names may add to a text, because they make a row of short cells
 * several times as long. After this limit, which is reached after about 20 MB of a file, rows are written without
 * column names.
 */
const NAMES_UNITS_MAX = 64 * 1024 * 1024;
/** Minimum length of a piece of text in UTF-16 code units. When a piece has reached it, the next one begins. */
const PIECE_UNITS = 64 * 1024;

/**
 * Matches the line with which Excel declares the separator at the beginning of a file. It is not a row of the table.
 */
const DECLARED_SEPARATOR = /^[ \t]*"?sep=([,;|\t])"?[ \t]*(?:\n|$)/i;
/**
 * Returns the lines of a table, in pieces. Returns none if the table has no visible character. Only the white space of
 * values is changed. Empty cells are left out. Takes linear time and keeps one row in memory at a time.
 * @param pieces the text, with lines ended by \n
 */
export function* csvText(pieces: Iterable<string>): Generator<string> {
  const source = pieces[Symbol.iterator]();
  let beginning = "";
  let isWhole = false;
  while (beginning.length < HEAD_UNITS && !isWhole) {
    const next = source.next();
    isWhole = next.done === true;
    if (next.done !== true) beginning += next.value;
  }
  const declared = DECLARED_SEPARATOR.exec(beginning.slice(0, 32));
  const start = declared?.[0] === undefined ? beginning : beginning.slice(declared[0].length);
  const separator =
    (declared?.[1] as Separator | undefined) ??
    separatorOf(start.slice(0, HEAD_UNITS), isWhole && start.length <= HEAD_UNITS, HEAD_RECORDS);
  yield* joined(linesOfRecords(recordsOf(chained(start, source), separator), separator));
}

function* linesOfRecords(records: Generator<CsvRecord>, separator: Separator | null): Generator<string> {
  const head = firstOf(records, HEAD_RECORDS);
  const { preamble, header, rows } = splitHead(head);
  for (const { cells } of preamble) yield onOneLine(cells.filter((cell) => cell !== "").join(`${separator ?? ""} `));
  if (preamble.length > 0) yield "";
  const headers = header === null ? null : withDistinctNames(headerCells(header));
  const names = headers === null ? NO_NAMES : columnNames([headers]);
  if (headers !== null) yield rowLine(headers, NO_NAMES);
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
  const preambleRows = namesBelowPairs(filled, columns) ?? (start > 0 && start <= PREAMBLE_RECORDS_MAX ? start : 0);
  const [first, ...rest] = filled.slice(preambleRows);
  const hasHeader = first !== undefined && namesColumns(first, rest);
  return {
    preamble: filled.slice(0, preambleRows),
    header: hasHeader ? first : null,
    rows: hasHeader ? rest : filled.slice(preambleRows),
  };
}

/**
 * Index of the names of columns below rows of few cells, such as the account and period of a bank statement; null if
 * there are none. A single shorter row above may hold the names itself, of which one is missing.
 */
function namesBelowPairs(filled: readonly CsvRecord[], columns: number): number | null {
  const at = filled.findIndex(({ cells }) => countFilled(cells) === columns);
  const record = filled[at];
  if (record === undefined || columns < 3 || at < 1 || at > PREAMBLE_RECORDS_MAX) return null;
  const above = filled.slice(0, at);
  const areFew = above.every(({ cells }) => countFilled(cells) * 2 <= columns);
  const areShort = at > 1 && above.every(({ cells }) => cells.length < columns);
  return (areFew || areShort) && namesColumns(record, filled.slice(at + 1)) ? at : null;
}

function countFilled(cells: readonly string[]): number {
  return cells.filter((cell) => cell !== "").length;
}

/** Whether a record is a row of the table, and not a title or remark above it. */
function isRowOf({ cells }: CsvRecord, columns: number): boolean {
  const filled = countFilled(cells);
  return filled >= 2 && filled * 2 >= columns && (cells.length === columns || !/^\s*(?:#|\/\/)/.test(cells[0] ?? ""));
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
