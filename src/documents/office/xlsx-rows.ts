// The rows of a sheet as lines of text: which of them name the columns of others, and what merged cells share. How cells become
// texts is the business of xlsx-sheet.ts.

import type { Budget } from "../budget.ts";
import {
  type Cell,
  type ColumnNames,
  columnNames,
  HEADER_ROWS_MAX,
  headerRows,
  isName,
  isQuantity,
  namesColumns,
  rowLine,
  type TableRow,
} from "./table.ts";
import type { CellRange, SheetRow } from "./xlsx-sheet.ts";

/** A sheet as it was read. */
export interface SheetContent {
  readonly rows: readonly SheetRow[];
  readonly merged: readonly CellRange[];
  /** Ranges whose first row names their columns. */
  readonly headed: readonly CellRange[];
  /** What was noted on cells, as it is put into the text, by row and column (`7 1`). */
  readonly notes: ReadonlyMap<string, readonly string[]>;
}

/** Rows at the beginning of a group that tell what it is: captions, names of columns, and one below these. */
const HEAD_ROWS = 2 * HEADER_ROWS_MAX + 1;
/** Merged texts beyond this are notes, not labels that each of their rows needs. */
const LABEL_UNITS_MAX = 80;
/** Cells that a merged range may give its name to. */
const SPAN_MAX = 100;
const NO_NAMES: ColumnNames = new Map();

/** A row with what it shares with others. */
interface Line extends TableRow {
  readonly row: number;
  readonly notes: readonly string[];
}

/** Lines of a sheet; a new group begins after each empty row. @throws ReadFailure when shared cells go beyond the budget */
export function* linesOfSheet(sheet: SheetContent, budget: Budget): Generator<SheetLine> {
  const writer = new GroupWriter();
  for (const row of rowsWithShared(sheet, budget)) yield* writer.add(row);
  yield* writer.end();
}

/** A line of a sheet. */
export interface SheetLine {
  readonly text: string;
  /** The same for rows that follow each other. */
  readonly group: object;
}

/** Writes groups of rows; holds the first rows of one until it is known what they are. */
class GroupWriter {
  #names = NO_NAMES;
  #group = {};
  #head: Line[] | null = [];
  /** The group before this one, where it is short enough to be a header. */
  #above: readonly Line[] = [];
  /** The last row of the group before this one, and of this one. */
  #lastAbove: Line | undefined;
  #last: Line | undefined;

  *add(line: Line): Generator<SheetLine> {
    if (this.#last !== undefined && line.row > this.#last.row + 1) {
      yield* this.end();
      this.#group = {};
      this.#head = [];
      this.#lastAbove = this.#last;
    }
    if (this.#head === null) {
      this.#above = [];
      yield this.#dataLine(line);
    } else {
      this.#head.push(line);
      if (this.#head.length === HEAD_ROWS) yield* this.#settle();
    }
    this.#last = line;
  }

  *end(): Generator<SheetLine> {
    yield* this.#settle();
  }

  *#settle(): Generator<SheetLine> {
    const head = this.#head ?? [];
    this.#head = null;
    if (head.length === 0) return;
    const captions = captionsOf(head);
    const rows = head.slice(captions);
    const headers = headerRows(rows, "likely");
    if (headers > 0) this.#names = columnNames(rows.slice(0, headers).map(({ cells }) => cells));
    else if (standAbove(this.#above, rows)) this.#names = columnNames(this.#above.map(({ cells }) => cells));
    else if (!goesOn(this.#lastAbove, rows, this.#names)) this.#names = NO_NAMES;
    this.#above = rows;
    for (const [at, line] of head.entries()) {
      yield at < captions + headers ? this.#line(line, NO_NAMES) : this.#dataLine(line);
    }
  }

  #dataLine(line: Line): SheetLine {
    // a table may begin right below another one
    const isNewHeader = line.isHeader && line.cells.length > 1;
    if (isNewHeader) this.#names = columnNames([line.cells]);
    return this.#line(line, isNewHeader ? NO_NAMES : this.#names);
  }

  #line({ cells, notes }: Line, names: ColumnNames): SheetLine {
    return { text: [rowLine(cells, names), ...notes].join(" "), group: this.#group };
  }
}

function* rowsWithShared({ rows, merged, headed, notes }: SheetContent, budget: Budget): Generator<Line> {
  const headers = new Set(headed.map(({ top }) => top));
  const waiting = merged.toSorted((one, other) => other.top - one.top);
  // by their first columns: ranges do not overlap in a sheet that a program wrote
  const active = new Map<number, Merged>();
  for (const { row, columns, texts, isBold } of [...rows].sort((one, other) => one.row - other.row)) {
    budget.checkTime();
    for (const [left, { range, text }] of active) {
      if (range.bottom < row || text === "" || text.length > LABEL_UNITS_MAX) active.delete(left);
    }
    for (let next = waiting.at(-1); next !== undefined && next.top <= row; next = waiting.at(-1)) {
      waiting.pop();
      if (next.bottom >= row) active.set(next.left, { range: next, text: "" });
    }
    const cells = columns.map((column, at) => ({ text: texts[at] ?? "", column, span: 1, isBold }));
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
  /** Of its first cell; empty until that was seen. */
  text: string;
}

/** Gives merged cells of a row their widths, and those below the first row of their range its text. */
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

/** How many rows at the beginning are a caption of what follows: one cell each, above several. */
function captionsOf(group: readonly Line[]): number {
  const first = group.findIndex(({ cells }) => cells.length > 1);
  return Math.max(0, Math.min(first, HEADER_ROWS_MAX));
}

/** Whether rows name the columns of those that follow after an empty one. */
function standAbove(above: readonly Line[], rows: readonly Line[]): boolean {
  const [last, first] = [above.at(-1), rows[0]];
  if (last === undefined || first === undefined || above.length > HEADER_ROWS_MAX) return false;
  return above.every(({ cells }) => cells.every(isName)) && namesColumns(last.cells, first.cells, "likely");
}

/** Whether rows after an empty one belong to the table that ends with `last`: a wrong name is worse than none. */
function goesOn(last: Line | undefined, rows: readonly Line[], names: ColumnNames): boolean {
  const kinds = new Map(last?.cells.map(({ column, text }) => [column, isQuantity(text)]));
  const fits = ({ column, text }: Cell) =>
    names.has(column) && (kinds.get(column) ?? isQuantity(text)) === isQuantity(text);
  return rows.length > 0 && rows.every(({ cells }) => cells.length > 1 && cells.every(fits));
}
