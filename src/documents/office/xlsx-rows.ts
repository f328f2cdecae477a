// Writes the rows of a sheet as lines: finds header rows, and repeats the text of merged cells. xlsx-sheet.ts reads the
// cells.

import { type CellRange, nameOfRange } from "../../domain/cell-range.ts";
import type { Budget } from "../budget.ts";
import {
  type Cell,
  type ColumnNames,
  columnNames,
  HEADER_ROWS_MAX,
  headerRows,
  holdsQuantity,
  isListOfValues,
  isName,
  namesColumns,
  rowLine,
  type TableRow,
} from "./table.ts";
import { blocksOfSheet, type SheetBlock } from "./xlsx-blocks.ts";
import { type SheetRow, tableCells } from "./xlsx-sheet.ts";

/** The content of a sheet. */
export interface SheetContent {
  readonly rows: readonly SheetRow[];
  readonly merged: readonly CellRange[];
  /** Ranges whose first row is a header. */
  readonly headed: readonly CellRange[];
  /** Text of comments on cells, by row and column (`7 1`). */
  readonly notes: ReadonlyMap<string, readonly string[]>;
}

/**
 * Number of rows at the beginning of a group of rows that are needed to find its structure: captions, headers, and one
 * row below them.
 */
const HEAD_ROWS = 2 * HEADER_ROWS_MAX + 1;
/**
 * Maximum length, in UTF-16 code units, of the text of a merged range that is repeated in each row of the range. A
 * longer text is a remark, which is written once.
 */
const LABEL_UNITS_MAX = 80;
/** Maximum column span of a merged range. */
const SPAN_MAX = 100;
const NO_NAMES: ColumnNames = new Map();

/** A row with the texts of merged ranges and with comments. */
interface Line extends TableRow {
  readonly row: number;
  readonly notes: readonly string[];
}

/**
 * The lines of a sheet. Each empty row begins a new group, and so does each table that stands beside another one.
 * @throws ReadFailure if merged cells exceed the budget
 */
export function* linesOfSheet(sheet: SheetContent, budget: Budget): Generator<SheetLine> {
  const writer = new GroupWriter();
  for (const block of blocksOfSheet(sheet.rows, sheet.merged)) {
    if (!block.isBesideOthers) {
      for (const row of rowsWithShared({ ...sheet, rows: block.rows }, budget)) yield* writer.add(row);
      continue;
    }
    yield* writer.end();
    writer.forget();
    const merged = sheet.merged.filter((range) => isWithin(range, block));
    const headed = block.headed === null ? sheet.headed : [...sheet.headed, block.headed];
    for (const row of rowsWithShared({ ...sheet, rows: block.rows, merged, headed }, budget)) yield* writer.add(row);
    yield* writer.end();
    writer.forget();
  }
  yield* writer.end();
}

function isWithin({ left, right, top, bottom }: CellRange, { columns, rows }: SheetBlock): boolean {
  const [first, last] = [rows[0]?.row ?? 0, rows.at(-1)?.row ?? 0];
  return left <= columns.last && right >= columns.first && top <= last && bottom >= first;
}

/** A line of a sheet. */
export interface SheetLine {
  readonly text: string;
  /** The range of its cells, such as `B2:D2`. */
  readonly cells: string;
  /** The same object for all rows of a group: rows without an empty row between them. */
  readonly group: object;
}

/** Writes groups of rows. Keeps the first rows of a group until the headers of the group are known. */
class GroupWriter {
  #names = NO_NAMES;
  #group = {};
  #head: Line[] | null = [];
  /** The rows of the previous group if they can be the header of this group. */
  #above: readonly Line[] = [];
  /** Whether the kept rows follow others of the same group. */
  #isInside = false;
  /** Whether a table so far has bold column names. */
  #hasBoldHeaders = false;
  /** Last row of the previous group, and last row of this group. */
  #lastAbove: Line | undefined;
  #last: Line | undefined;

  *add(line: Line): Generator<SheetLine> {
    if (this.#last !== undefined && line.row > this.#last.row + 1) {
      yield* this.end();
      this.#group = {};
      this.#head = [];
      this.#isInside = false;
      this.#lastAbove = this.#last;
    }
    yield* this.#continue(line);
  }

  *end(): Generator<SheetLine> {
    // the rows of a group that ends may begin several tables
    while (this.#head !== null && this.#head.length > 0) yield* this.#settle();
  }

  /** Forgets the groups so far: what follows has nothing to do with them. */
  forget(): void {
    this.#names = NO_NAMES;
    this.#group = {};
    this.#head = [];
    this.#isInside = false;
    this.#above = [];
    this.#lastAbove = undefined;
    this.#last = undefined;
  }

  *#settle(): Generator<SheetLine> {
    const head = this.#head ?? [];
    this.#head = null;
    if (head.length === 0) return;
    const captions = captionsOf(head);
    const rows = head.slice(captions);
    const headers = this.#headersOf(rows);
    // a table inside a group needs a caption or bold names, or else its rows belong to the table above
    const isOfTableAbove = this.#isInside && headers === 0;
    this.#isInside = false;
    if (isOfTableAbove) {
      const [first, ...others] = head;
      if (first !== undefined) yield this.#dataLine(first);
      yield* this.#continueWith(first, others);
      return;
    }
    if (headers > 0) this.#names = columnNames(rows.slice(0, headers).map(({ cells }) => cells));
    else if (isHeaderGroup(this.#above, rows)) this.#names = columnNames(this.#above.map(({ cells }) => cells));
    else if (!continuesTable(this.#lastAbove, rows, this.#names)) this.#names = NO_NAMES;
    this.#above = rows;
    const begin = captions + headers;
    for (const line of head.slice(0, begin)) yield this.#line(line, NO_NAMES);
    // below a table without names, no row begins another table
    if (headers > 0) yield* this.#continueWith(head[begin - 1], head.slice(begin));
    else for (const line of head.slice(begin)) yield this.#dataLine(line);
  }

  *#continueWith(last: Line | undefined, lines: readonly Line[]): Generator<SheetLine> {
    const above = this.#above;
    this.#last = last;
    for (const line of lines) yield* this.#continue(line);
    if (this.#head === null) this.#above = above;
  }

  /** Adds a line to the open group. */
  *#continue(line: Line): Generator<SheetLine> {
    if (this.#head === null && this.#mayBegin(line)) {
      this.#head = [line];
      this.#isInside = true;
    } else if (this.#head === null) {
      this.#above = [];
      yield this.#dataLine(line);
    } else {
      this.#head.push(line);
      if (this.#head.length === HEAD_ROWS) yield* this.#settle();
    }
    this.#last = line;
  }

  /**
   * The number of header rows. Once a table of the sheet has bold column names, later tables must have bold ones too,
   * unless they are years.
   */
  #headersOf(rows: readonly Line[]): number {
    const count = headerRows(rows, "likely");
    const [last, below] = [rows[count - 1], rows[count]];
    if (last === undefined || below === undefined) return 0;
    const isBold = last.cells.every((cell) => cell.isBold) && !below.cells.every((cell) => cell.isBold);
    const isMarked = isBold || last.isHeader;
    // two rows of two cells below another table may be anything
    const isTooShort =
      rows.length === 2 && rows.every(({ cells }) => cells.length === 2) && this.#lastAbove !== undefined;
    const isPlain = this.#hasBoldHeaders && !last.cells.some((cell) => holdsQuantity(cell));
    if (!isMarked && (isPlain || isTooShort || isListOfValues(rows))) return 0;
    this.#hasBoldHeaders ||= isBold;
    return count;
  }

  /** Whether another table may begin with a line inside a group: with a caption, or with bold names. */
  #mayBegin({ cells, isHeader }: Line): boolean {
    const last = this.#last;
    if (isHeader || last === undefined || last.cells.length < 2) return false;
    const [only] = cells;
    if (cells.length === 1) return only !== undefined && isName(only) && only.column === last.cells[0]?.column;
    return cells.every((cell) => cell.isBold && isName(cell)) && !last.cells.every((cell) => cell.isBold);
  }

  #dataLine(line: Line): SheetLine {
    // another table may begin here without an empty row before it
    const isNewHeader = line.isHeader && line.cells.length > 1;
    if (isNewHeader) this.#names = columnNames([line.cells]);
    return this.#line(line, isNewHeader ? NO_NAMES : this.#names);
  }

  #line({ row, cells, notes }: Line, names: ColumnNames): SheetLine {
    const left = cells[0]?.column ?? 0;
    const right = cells.reduce((most, { column, span }) => Math.max(most, column + span - 1), left);
    const range = nameOfRange({ top: row, left, bottom: row, right });
    return { text: [rowLine(cells, names), ...notes].join(" "), cells: range, group: this.#group };
  }
}

function* rowsWithShared({ rows, merged, headed, notes }: SheetContent, budget: Budget): Generator<Line> {
  const headers = new Set(headed.map(({ top }) => top));
  const waiting = merged.toSorted((one, other) => other.top - one.top);
  // the key is the first column of a range; in valid sheets merged ranges do not overlap
  const active = new Map<number, Merged>();
  for (const sheetRow of [...rows].sort((one, other) => one.row - other.row)) {
    const { row } = sheetRow;
    budget.checkTime();
    for (const [left, { range, text }] of active) {
      if (range.bottom < row || text === "" || text.length > LABEL_UNITS_MAX) active.delete(left);
    }
    for (let next = waiting.at(-1); next !== undefined && next.top <= row; next = waiting.at(-1)) {
      waiting.pop();
      if (next.bottom >= row) active.set(next.left, { range: next, text: "" });
    }
    const cells: WideCell[] = tableCells(sheetRow);
    if (active.size > 0) share(row, cells, active.values(), budget);
    cells.sort((one, other) => one.column - other.column);
    yield {
      row,
      cells,
      isHeader: headers.has(row),
      notes: cells.flatMap(({ column }) => notes.get(`${row} ${column}`) ?? []),
    };
  }
}

interface Merged {
  readonly range: CellRange;
  /** Text of the first cell of the range; empty until this cell has been read. */
  text: string;
}

/** Sets the column span of merged cells in a row, and repeats the text of merged ranges from rows above. */
function share(row: number, cells: WideCell[], merged: Iterable<Merged>, budget: Budget): void {
  const own = new Map(cells.map((cell) => [cell.column, cell]));
  for (const each of merged) {
    const { top, left, right } = each.range;
    const cell = own.get(left);
    if (top === row && cell !== undefined) {
      each.text = cell.text;
      cell.span = Math.min(right - left + 1, SPAN_MAX);
    } else if (top < row && cell === undefined) {
      budget.addCells(1);
      const shared = { text: each.text, column: left, span: 1, isBold: true };
      own.set(left, shared);
      cells.push(shared);
    }
  }
}

interface WideCell extends Cell {
  span: number;
}

/** The number of caption rows at the beginning: rows of one cell above rows of several cells. */
function captionsOf(group: readonly Line[]): number {
  const first = group.findIndex(({ cells }) => cells.length > 1);
  return Math.max(0, Math.min(first, HEADER_ROWS_MAX));
}

/** Whether a group of rows is the header of the group after it. */
function isHeaderGroup(above: readonly Line[], rows: readonly Line[]): boolean {
  const [last, first] = [above.at(-1), rows[0]];
  if (last === undefined || first === undefined || above.length > HEADER_ROWS_MAX) return false;
  return above.every(({ cells }) => cells.every(isName)) && namesColumns(last.cells, first.cells, "likely");
}

/**
 * Whether a group continues the table that ends with `last`. The conditions are strict, because a wrong column name is
 * worse than none.
 */
function continuesTable(last: Line | undefined, rows: readonly Line[], names: ColumnNames): boolean {
  const kinds = new Map(last?.cells.map((cell) => [cell.column, holdsQuantity(cell)]));
  const fits = (cell: Cell) =>
    names.has(cell.column) && (kinds.get(cell.column) ?? holdsQuantity(cell)) === holdsQuantity(cell);
  // rows that leave columns empty everywhere, or have no number below numbers, are a list of names with their values
  const isAsWide = rows.some(({ cells }) => cells.length >= (last?.cells.length ?? 0));
  const holdsNumbers = (line: Line | undefined) => line?.cells.some(holdsQuantity) === true;
  if (!isAsWide || (holdsNumbers(last) && !rows.some(holdsNumbers))) return false;
  return rows.every(({ cells }) => cells.length > 1 && cells.every(fits));
}
