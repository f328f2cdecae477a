// Writes tables as lines that can be understood alone: each value has its column name before it. Decides which rows are
// headers. The readers pass the rows.

/** A table cell. */
export interface Cell {
  /** Text of the cell on one line; empty for an empty cell. */
  readonly text: string;
  /** The first column of the cell, counted from 0. */
  readonly column: number;
  /** Number of columns that the cell spans. */
  readonly span: number;
  readonly isBold: boolean;
  /** Whether the file stores the value as a number that is not a time. Absent if the format does not tell. */
  readonly isNumber?: boolean;
}

/** Whether the format of a table shows that its first row is a header: certainly, probably, or not at all. */
export type HeaderHint = "certain" | "likely" | "none";

/** Limits for a cell that is written on one line with its row: number of blocks, and length in UTF-16 code units. */
const CELL_BLOCKS_MAX = 8;
const CELL_UNITS_MAX = 2_000;

/**
 * Whether a cell with these blocks is short enough for the line of its row. If not, its blocks are written one by one.
 */
export function fitsLine(blocks: readonly string[]): boolean {
  return blocks.length <= CELL_BLOCKS_MAX && blocks.reduce((units, text) => units + text.length, 0) <= CELL_UNITS_MAX;
}

/** Column names by column number. */
export type ColumnNames = ReadonlyMap<number, string>;

/** Maximum number of header rows. */
export const HEADER_ROWS_MAX = 3;
/** Maximum length of a column name in characters, because the name is repeated in every row. */
const NAME_CHARACTERS_MAX = 80;
/** Maximum number of column names that are written for a cell that spans several columns. */
const NAMES_PER_CELL_MAX = 3;
/** Matches a number with its power of ten, its unit and the mark of a note, as scripts.ts writes them. */
const NUMBER =
  /^[+\-−–(]?\s?\p{Sc}?\s?\d[\d.,'’\s]*(?:e[+-]?\d+|\s?[×·x*]\s?10\^[−-]?\d+)?\s?(?:%|\p{Sc}|[\p{L}²³°]{1,3}(?:\^[−-]?\d)?)?\)?(?:\[[^\]]{1,9}\])?$/iu;
const DATE = /^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ T]\d{1,2}:\d{2}.*)?$/;
/** Matches an address of a person or page, which is no column name. */
const ADDRESS = /\S@\S|:\/\//;
/** Matches a year: a number that can be a column name. */
const YEAR = /^(?:19|20)\d\d$/;
/** What stands in a cell whose value is unknown. */
const NO_VALUE = /^(?:[-–—?.…x*]{1,3}|n\/?a|n\.a\.|k\.\s?a\.|tbd|tba|null|none|unknown)$/i;

/** A row that may be a header. */
export interface TableRow {
  readonly cells: readonly Cell[];
  /** Whether the file format marks the row as a header. */
  readonly isHeader: boolean;
}

/** Receives the rows of one table and returns their lines. */
export class TableRows {
  /** Series of the blocks of this table, so that its rows are written without empty lines between them. */
  readonly series = {};
  /** The first rows, which are kept until the headers are known; then null. */
  #first: TableRow[] | null = [];
  #names: ColumnNames = new Map();

  constructor(private readonly hint: HeaderHint) {}

  /** Adds a row. Returns all lines that can be written now. */
  *add(row: TableRow): Generator<string> {
    if (row.cells.every(({ text }) => text === "")) return;
    if (this.#first === null) {
      yield rowLine(row.cells, this.#names);
      return;
    }
    this.#first.push(row);
    if (this.#first.length > HEADER_ROWS_MAX) yield* this.end();
  }

  /** The name of a column, once `end` has decided about the headers; empty if there is none. */
  nameOf(column: number): string {
    return this.#names.get(column) ?? "";
  }

  /**
   * Returns the remaining lines. Called at the end of the table, or before a row whose blocks are written one by one.
   */
  *end(): Generator<string> {
    const first = this.#first;
    if (first === null) return;
    this.#first = null;
    const headers = isPlainList(first) ? 0 : headerRows(first, this.hint);
    this.#names = columnNames(first.slice(0, headers).map(({ cells }) => cells));
    for (const [at, { cells }] of first.entries()) yield rowLine(cells, at < headers ? new Map() : this.#names);
  }
}

/**
 * The number of header rows at the beginning. Of several header rows, all but the last must have cells that span
 * columns.
 */
export function headerRows(rows: readonly TableRow[], hint: HeaderHint): number {
  for (let count = Math.min(HEADER_ROWS_MAX, rows.length - 1); count > 0; count--) {
    const [last, below] = [rows[count - 1], rows[count]];
    if (last === undefined || below === undefined) return 0;
    const outer = rows.slice(0, count - 1);
    if (last.isHeader ? below.isHeader : !outer.every(hasSpans)) continue;
    const above = columnNames(outer.map(({ cells }) => cells));
    if (namesColumns(last.cells, below.cells, last.isHeader ? "certain" : hint, above)) return count;
  }
  return 0;
}

/**
 * Whether rows of two cells are a list of names with their values, such as `Owner | Ada`, `Budget | 5000`: the values
 * are of different kinds. In a table, the column below a name has one kind.
 */
export function isListOfValues(rows: readonly Pick<TableRow, "cells">[]): boolean {
  if (!rows.every(({ cells }) => cells.length === 2)) return false;
  const [first, ...others] = rows.map(({ cells }) => cells[0]);
  // numbers below a word are no names
  if (first !== undefined && !holdsQuantity(first) && others.every((cell) => cell !== undefined && holdsQuantity(cell)))
    return false;
  const below = rows.slice(1).map(({ cells }) => cells[1]);
  if (below.some((cell) => cell !== undefined && !holdsQuantity(cell) && !NO_VALUE.test(cell.text))) return true;
  // both numbers and times make a list
  const quantities = below.filter((cell) => cell !== undefined && holdsQuantity(cell));
  return new Set(quantities.map((cell) => cell?.isNumber === true)).size > 1;
}

function hasSpans({ cells }: TableRow): boolean {
  return cells.some(({ text, span }) => text !== "" && span > 1);
}

/** Whether rows are a list of names with their values, and nothing marks the first one as a header. */
function isPlainList(rows: readonly TableRow[]): boolean {
  const [first, ...others] = rows;
  if (first === undefined || first.isHeader || others.length === 0) return false;
  if (first.cells.every(({ isBold }) => isBold) && !others.every(({ cells }) => cells.every(({ isBold }) => isBold)))
    return false;
  return isListOfValues(rows);
}

/** Whether a row is a header of the row below it. @param above column names from the rows above */
export function namesColumns(
  row: readonly Cell[],
  below: readonly Cell[],
  hint: HeaderHint,
  above: ColumnNames = new Map(),
): boolean {
  const filled = row.filter(({ text }) => text !== "");
  const filledBelow = below.filter(({ text }) => text !== "");
  if (filled.length === 0 || filledBelow.length === 0) return false;
  // the top left cell, above the names of rows, is often empty
  const corner = below.reduce((least, { column }) => Math.min(least, column), Number.POSITIVE_INFINITY);
  const isBesideCorner = hint === "certain" && filled.every(({ column }) => column > corner);
  if (filled.length < 2 && !isBesideCorner) return false;
  if (filled.some(({ text }) => text.length > NAME_CHARACTERS_MAX)) return false;
  if (hint === "certain") return true;
  // a year can be a column name, but not above other years
  const hasYears = filledBelow.some(({ text }) => YEAR.test(text));
  if (filled.some((cell) => !isName(cell) || (hasYears && YEAR.test(cell.text)))) return false;
  if (filled.some(({ text }) => text.endsWith(":"))) return false;
  const names = new Set(filled.map(({ text, column }) => `${above.get(column) ?? ""} ${text}`));
  if (names.size < filled.length) return false;
  const named = new Set(filled.flatMap(({ column, span }) => columnsOf(column, span)));
  const isFull = filledBelow.every(({ column }) => column === corner || named.has(column));
  const isBold = filled.every((cell) => cell.isBold) && !filledBelow.every((cell) => cell.isBold);
  const isAboveQuantities = filledBelow.some((cell) => holdsQuantity(cell) && named.has(cell.column));
  return isBold || (isFull && (isAboveQuantities || (hint === "likely" && filled.length >= 3)));
}

/** Matches a cell of check boxes only. */
const CHECK_BOXES = /^[☐☑☒](?:\s?[☐☑☒])*$/;

/** Whether the text of a cell can be a column name. */
export function isName(cell: Cell): boolean {
  return (!holdsQuantity(cell) || YEAR.test(cell.text)) && !ADDRESS.test(cell.text);
}

/** Whether a cell holds a number, an amount, a date or check boxes. */
export function holdsQuantity({ text, isNumber = false }: Cell): boolean {
  // the readers of spreadsheets add in parentheses how a date is shown
  return (
    isNumber || isQuantity(text) || CHECK_BOXES.test(text) || DATE.test(text.slice(0, 80).replace(/ \([^()]*\)$/, ""))
  );
}

/** Whether a text is a number, an amount or a date. */
export function isQuantity(text: string): boolean {
  return text.length <= 40 && (NUMBER.test(text) || DATE.test(text));
}

/**
 * The column names that header rows give, from the top row down: `Q1` below a `2023` that spans several columns gives
 * `2023 Q1`.
 */
export function columnNames(rows: readonly (readonly Cell[])[]): ColumnNames {
  const names = new Map<number, string>();
  for (const { text, column, span } of rows.flat()) {
    if (text.length > NAME_CHARACTERS_MAX) continue;
    const name = text.replace(/[\s:]+$/, "");
    if (name === "") continue;
    for (const each of columnsOf(column, span)) {
      const above = names.get(each);
      // the text of a cell that is merged across both rows is used once
      names.set(each, above === undefined || above === name ? name : `${above} ${name}`);
    }
  }
  return names;
}

/**
 * A row as a line: `Column: value | Column: value`. A value whose column has no name is written without one. Omits
 * empty cells.
 */
export function rowLine(cells: readonly Cell[], names: ColumnNames): string {
  let line = "";
  for (const { text, column, span } of cells) {
    if (text === "") continue;
    const name = span === 1 ? (names.get(column) ?? "") : nameOfAll(columnsOf(column, span), names);
    line += `${line === "" ? "" : " | "}${name === "" ? "" : `${name}: `}${text}`;
  }
  return line;
}

function nameOfAll(columns: readonly number[], names: ColumnNames): string {
  const named = new Set(columns.slice(0, NAMES_PER_CELL_MAX).flatMap((each) => names.get(each) ?? []));
  return [...named].join(", ");
}

function columnsOf(column: number, span: number): number[] {
  return Array.from({ length: span }, (_, at) => column + at);
}
