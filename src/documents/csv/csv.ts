// What a table in a text file (CSV, TSV, RFC 4180 and what programs really write) says: a line for each row that names its columns,
// as workbooks are read (office/table.ts). Which separator it has and which row names the columns is decided here, how a row is cut
// into cells in csv-records.ts.

import { type Cell, type ColumnNames, columnNames, isQuantity, rowLine } from "../office/table.ts";
import { onOneLine } from "../text-writer.ts";
import { type CsvRecord, recordsOf, type Separator } from "./csv-records.ts";

/** Units at the beginning that tell the separator. */
const HEAD_UNITS = 64 * 1024;
/** Rows at the beginning that tell separator, preamble and names of columns. */
const HEAD_RECORDS = 100;
/** Share of rows with the same number of cells from which lines are a table: below it they are prose with commas. */
const REGULAR_MIN = 0.4;
/** Rows before the table at most: titles, remarks. */
const PREAMBLE_RECORDS_MAX = 20;
/** Characters of a column's name at most; with longer ones the first row is data. */
const NAME_CHARACTERS_MAX = 80;
/** Share of a column's cells that must be numbers, dates or the like to tell them from its name. */
const QUANTITIES_MIN = 0.6;
/**
 * Units that names may add to a text: a row of short cells becomes several times as long by them. Rows beyond that, some 20 MB into
 * a file, go without.
 */
const NAMES_UNITS_MAX = 64 * 1024 * 1024;
/** Length of a piece from which on the next one begins. */
const PIECE_UNITS = 64 * 1024;

const SEPARATORS: readonly Separator[] = [",", ";", "\t", "|"];
/** What Excel reads at a file's beginning, and no row. */
const DECLARED_SEPARATOR = /^[ \t]*"?sep=([,;|\t])"?[ \t]*(?:\n|$)/i;
const YEAR = /^(?:19|20)\d\d$/;
const TRUTH = /^(?:true|false|yes|no)$/i;
const ADDRESS = /^(?:[^\s@]{1,64}@[^\s@]{1,190}\.[^\s@]{2,}|https?:\/\/\S+)$/;

/**
 * The lines of a table, in pieces; none where it has no visible character. Values stand as they are but for white space; empty
 * cells are left out. Linear in the text's length, and holds one row at a time.
 * @param pieces of the text, lines ended by \n
 */
export function* csvText(pieces: Iterable<string>): Generator<string> {
  const source = pieces[Symbol.iterator]();
  const first = source.next();
  const beginning = first.done === true ? "" : first.value;
  const declared = DECLARED_SEPARATOR.exec(beginning.slice(0, 32));
  const start = declared?.[0] === undefined ? beginning : beginning.slice(declared[0].length);
  const separator = (declared?.[1] as Separator | undefined) ?? separatorOf(start.slice(0, HEAD_UNITS));
  yield* joined(rowLines(recordsOf(chained(start, source), separator), separator));
}

/** The separator of a table, by its beginning; null: it has one column. */
function separatorOf(head: string): Separator | null {
  let best: { readonly separator: Separator | null; readonly score: number } = { separator: null, score: REGULAR_MIN };
  for (const separator of SEPARATORS) {
    const records = firstOf(recordsOf([head], separator), HEAD_RECORDS);
    // the last one may be cut
    const whole = records.length > 2 ? records.slice(0, -1) : records;
    const score = regularity(whole);
    if (score > best.score) best = { separator, score };
  }
  return best.separator;
}

/** How much rows look cut at the right places: the share with as many cells as most have, where that is more than one. */
function regularity(records: readonly CsvRecord[]): number {
  const rows = records.filter(({ cells }) => cells.some((cell) => cell !== ""));
  const columns = usualColumns(rows);
  if (columns < 2) return 0;
  const share = rows.filter(({ cells }) => cells.length === columns).length / rows.length;
  // among equals, the one that cuts more
  return share + Math.min(columns, 20) / 1000;
}

/** The number of cells that most rows have, of those with more than one; 1 where fewer than a third of all have more. */
function usualColumns(rows: readonly CsvRecord[]): number {
  const counts = new Map<number, number>();
  for (const { cells } of rows) if (cells.length > 1) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  let usual = 1;
  for (const [columns, count] of counts) if (count > (counts.get(usual) ?? 0)) usual = columns;
  const several = rows.filter(({ cells }) => cells.length > 1).length;
  return several * 3 < rows.length ? 1 : usual;
}

function* rowLines(records: Generator<CsvRecord>, separator: Separator | null): Generator<string> {
  const head = firstOf(records, HEAD_RECORDS);
  const { preamble, header, rows } = partsOf(head);
  for (const { cells } of preamble) yield onOneLine(cells.filter((cell) => cell !== "").join(`${separator ?? ""} `));
  if (preamble.length > 0) yield "";
  const names = header === null ? NO_NAMES : columnNames([named(header)]);
  if (header !== null) yield rowLine(named(header), NO_NAMES);
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

/** A table's beginning: what stands above it, the row that names its columns, and the rows below. */
function partsOf(head: readonly CsvRecord[]): {
  readonly preamble: readonly CsvRecord[];
  readonly header: CsvRecord | null;
  readonly rows: readonly CsvRecord[];
} {
  const filled = head.filter((record) => !isEmpty(record));
  const columns = usualColumns(filled);
  const start = columns === 1 ? 0 : filled.findIndex((record) => isRowOf(record, columns));
  // rows that are all shorter, or a table that begins too far down: no preamble
  const preambleRows = start > 0 && start <= PREAMBLE_RECORDS_MAX ? start : 0;
  const [first, ...rest] = filled.slice(preambleRows);
  const hasHeader = first !== undefined && namesColumns(first, rest);
  return {
    preamble: filled.slice(0, preambleRows),
    header: hasHeader ? first : null,
    rows: hasHeader ? rest : filled.slice(preambleRows),
  };
}

/** Whether a record is a row of the table, rather than a remark above it. */
function isRowOf({ cells }: CsvRecord, columns: number): boolean {
  const filled = cells.filter((cell) => cell !== "").length;
  return filled >= 2 && filled * 2 >= columns && (cells.length === columns || !/^\s*(?:#|\/\/)/.test(cells[0] ?? ""));
}

/** Whether the first row names the columns of the others. */
function namesColumns(first: CsvRecord, rest: readonly CsvRecord[]): boolean {
  const names = first.cells.map((cell) => cell.trim());
  const filled = names.filter((name) => name !== "");
  if (filled.length < 2 || rest.length === 0) return false;
  if (new Set(filled).size < filled.length) return false;
  if (filled.some((name) => name.length > NAME_CHARACTERS_MAX || (isValue(name) && !YEAR.test(name)))) return false;
  // a year is a name, but not above other years
  const hasYears = filled.some((name) => YEAR.test(name));
  if (hasYears && rest.some(({ cells }) => cells.some((cell) => YEAR.test(cell.trim())))) return false;
  if (filled.every((name) => YEAR.test(name))) return false;
  // a value that comes back is none of the names
  if (names.some((name, column) => name !== "" && rest.some(({ cells }) => cells[column]?.trim() === name)))
    return false;
  const columns = names.map((_, column) =>
    rest.map(({ cells }) => cells[column]?.trim() ?? "").filter((cell) => cell !== ""),
  );
  const isOfValues = columns.some(
    (cells) => cells.length > 0 && cells.filter(isValue).length >= cells.length * QUANTITIES_MIN,
  );
  if (isOfValues) return true;
  const isComplete = rest.every(
    ({ cells }) => cells.length <= names.length || cells.slice(names.length).every((cell) => cell === ""),
  );
  return isComplete && (filled.length >= 3 || looksLikeNames(filled, columns));
}

/** Between two columns of texts: whether one line is written as names are, and the others are not. */
function looksLikeNames(names: readonly string[], columns: readonly (readonly string[])[]): boolean {
  const isPlain = (text: string) => /^[\p{Ll}\p{N}_]+$/u.test(text);
  const cells = columns.flat();
  if (names.every(isPlain) && cells.filter(isPlain).length * 2 < cells.length) return true;
  const meanLength = (texts: readonly string[]) => texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
  return columns.some(
    (column, at) => column.length > 0 && meanLength(column) > 3 * Math.max(4, names[at]?.length ?? 0),
  );
}

/** Whether a text is a number, a date, an address or the like, which name no column. */
function isValue(text: string): boolean {
  return isQuantity(text) || TRUTH.test(text) || (text.length <= 300 && ADDRESS.test(text));
}

function isEmpty({ cells }: CsvRecord): boolean {
  return cells.every((cell) => cell.trim() === "");
}

function cellsOf({ cells, firstColumn }: CsvRecord): Cell[] {
  return cells.map((cell, at) => ({ text: onOneLine(cell), column: firstColumn + at, span: 1, isBold: false }));
}

/** The cells of a row that names columns; programs for science put a `#` before the first of them. */
function named(header: CsvRecord): Cell[] {
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

/** Lines in pieces of text, without an end of line behind the last one. */
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
