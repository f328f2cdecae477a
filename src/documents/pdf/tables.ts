// Finds tables: rows whose segments are aligned in columns. It uses positions, since most PDFs do not mark tables.
// Writes rows as lines that can be understood alone.

import type { Column } from "./borders.ts";
import { ruledTableAt } from "./ruled-tables.ts";
import { quantile, type Row, type Segment, type SegmentPart, withoutSymbols } from "./segments.ts";
import { textsSideBySide } from "./side-by-side.ts";
import { type Cell, isAllBold, isFigure, isHeader, namesAbove, type TableContent, textsOf } from "./table-header.ts";

/** A table within the rows of a region. */
export interface Table {
  /** Number of rows of the region that belong to the table. */
  readonly rowCount: number;
  /** `Column: value | Column: value`, or only values if there is no header. */
  readonly lines: readonly string[];
  /** Absent for texts that stand side by side. */
  readonly content?: TableContent;
}

/** Maximum distance between rows in font sizes. */
const ROW_PITCH_MAX = 4.5;
/**
 * Minimum gap between columns in font sizes. A table of two rows needs a larger gap, because two wide spaces can be
 * aligned by chance.
 */
const COLUMN_GAP_MIN = 0.4;
const PAIR_GAP_MIN = 1.5;
/** Minimum gap between two names of columns that are one segment, in font sizes: more than between words. */
const CELL_GAP_MIN = 0.4;
/** Maximum share of rows that cross a gap between columns. */
const SPANNING_SHARE = 0.12;
/** Minimum distance of two tables below each other, as a multiple of the largest distance of rows. */
const APART_MIN = 1.6;
/** Minimum number of columns whose names may be one segment. */
const CLOSE_NAMES_MIN = 3;
/** Minimum share of the rows of a table that have two cells or more. */
const FILLED_SHARE_MIN = 0.6;
/** Maximum number of consecutive rows with one cell only. Such rows are further lines of a long cell. */
const SINGLE_ROWS_MAX = 3;
/** Maximum number of rows of a table; a longer one is split. */
const TABLE_ROWS_MAX = 500;
/** Maximum distance between lines of a cell, in font sizes. */
const CELL_LEADING_MAX = 1.7;
/** Maximum distance of two lines that cannot stand below each other in one cell, in font sizes. */
const OVERLAPPING_MAX = 0.9;
/** Maximum distance of a further line of the last row, as a multiple of the largest distance of rows. */
const FURTHER_LINE_MAX = 0.85;
/** Minimum distance of a line from the row above, as a multiple of that from the row below to which it belongs. */
const CLOSER_MIN = 1.2;
/** Approximate width of a character in font sizes. */
const CHARACTER_WIDTH = 0.5;
/** Number of rows below that are checked for the beginning of a table with more columns. */
const LATER_ROWS = 3;
/** Minimum ratio of the number of segments in a header row to the number of columns. */
const NAMING_SHARE_MIN = 0.6;
/** Maximum length of a cell in a table of two rows, in characters. Longer texts are columns of prose. */
const CELL_CHARACTERS_MAX = 120;
const LIST_MARKER = /^(?:[^\p{L}\p{N}]|\(?(?:\d{1,3}|\p{L}|[ivx]{1,5})[.)])$/u;
const LINE_NUMBER = /^\d{1,4}$/;
/** Matches a check box: the text with it is a label with its value. */
const CHECK_BOX = /[☐☑☒]/;

/** The table that begins at a row of a region; null if there is none. */
export function tableAt(rows: readonly Row[], at: number): Table | null {
  const ruled = ruledTableAt(rows, at);
  if (ruled !== null) {
    const { rowCount, captions, content } = ruled;
    return { rowCount, lines: [...captions, ...linesOf(content)], content };
  }
  const grid = gridAt(rows, at);
  const below = gridAt(rows, at + 1);
  const named = below === null ? null : underTwoRowsOfNames(rows, at, below);
  if (named !== null && below !== null) return tableOf(below.rows.length + 1, named);
  if (below !== null && below.columns.length > (grid?.columns.length ?? 0)) {
    const names = namesOf(rows[at], below.columns);
    const content = { names, records: textsOf(recordsOf(below)), columns: below.columns };
    if (names !== null) return tableOf(below.rows.length + 1, content);
    if (grid === null || !endsAtGap(grid.rows, rows[at + grid.rows.length])) return null;
  }
  if (grid === null || beginsLater(rows, at, grid)) return null;
  const texts = textsSideBySide(grid.rows, grid.cells);
  if (texts !== null) return { rowCount: grid.rows.length, lines: texts };
  return tableOf(grid.rows.length, contentOf(recordsOf(grid), grid.columns));
}

function tableOf(rowCount: number, content: TableContent): Table {
  return { rowCount, lines: linesOf(content), content };
}

/** The content of a table whose names stand in the row at `at` and in its first row; null if they do not. */
function underTwoRowsOfNames(rows: readonly Row[], at: number, below: Grid): TableContent | null {
  const [above, header] = [rows[at], rows[at + 1]];
  if (above === undefined || header === undefined) return null;
  const added = namesAbove(above, header, below.columns);
  if (added === null) return null;
  const content = contentOf(recordsOf(below), below.columns);
  if (content.names === null) return null;
  return { ...content, names: content.names.map((name, column) => `${added[column] ?? ""} ${name}`.trim()) };
}

/** Rows and columns of a table. */
interface Grid {
  readonly rows: readonly Row[];
  readonly columns: readonly Column[];
  /** Cells by row and column. */
  readonly cells: readonly (readonly Cell[])[];
}

/** Whether a row has several cells. List items do not count, although their markers are separate segments. */
function hasCells({ segments }: Row): boolean {
  const [first, second] = segments;
  if (first === undefined || second === undefined) return false;
  if (segments.length > 2) return true;
  return !LIST_MARKER.test(first.text) && !(LINE_NUMBER.test(first.text) && !isFigure(second.text));
}

/** Whether a gap separates the rows of a table from the row below them. */
function endsAtGap(rows: readonly Row[], below: Row | undefined): boolean {
  const pitches = rows.slice(1).map(({ baseline }, at) => baseline - (rows[at]?.baseline ?? 0));
  const last = rows.at(-1);
  return below !== undefined && last !== undefined && below.baseline - last.baseline > APART_MIN * Math.max(...pitches);
}

/** Whether a table with more columns begins a few rows below. Then this row is the title or caption of that table. */
function beginsLater(rows: readonly Row[], at: number, grid: Grid): boolean {
  const columnCount = grid.columns.length;
  const end = endsAtGap(grid.rows, rows[at + grid.rows.length]) ? at + grid.rows.length : rows.length;
  for (let later = at + 2; later <= at + LATER_ROWS && later < end; later++) {
    const other = (rows[later]?.segments.length ?? 0) > columnCount ? gridAt(rows, later) : null;
    if (other !== null && other.rows.length > 2 && other.columns.length > columnCount) return true;
  }
  return false;
}

function gridAt(rows: readonly Row[], at: number): Grid | null {
  const found = rowsOfTable(rows, at);
  const rowsWithCells = found.filter(hasCells);
  if (rowsWithCells.length < 2) return null;
  const columns = columnsOf(found, rowsWithCells);
  if (columns.length < 2) return null;
  const cells = found.map((row) => cellsOf(row, columns));
  const filled = cells.filter((row) => row.filter((cell) => cell.text !== "").length > 1).length;
  const continued = columns.length > 2 ? furtherLines(found) : 0;
  if (filled < 2 || filled < FILLED_SHARE_MIN * (found.length - continued)) return null;
  const longest = cells.flat().reduce((most, { text }) => Math.max(most, text.length), 0);
  return rowsWithCells.length < 3 && longest > CELL_CHARACTERS_MAX ? null : { rows: found, columns, cells };
}

/** The number of rows that are further lines of a cell above them. */
function furtherLines(rows: readonly Row[]): number {
  let cells: Row | undefined;
  let count = 0;
  for (const [at, row] of rows.entries()) {
    const above = rows[at - 1];
    const isClose = above !== undefined && row.baseline - above.baseline < CELL_LEADING_MAX * row.size;
    const below = rows[at + 1];
    const isOverlapping =
      (above !== undefined && row.baseline - above.baseline < OVERLAPPING_MAX * row.size) ||
      (below !== undefined && below.baseline - row.baseline < OVERLAPPING_MAX * row.size);
    if (row.segments.length > 1) cells = row;
    else if (isOverlapping) count++;
    else if (isClose && cells?.segments.some(({ left }) => isAlignedLeft(left, row)) === true) count++;
  }
  return count;
}

/**
 * Column names from a row above a table; null if the row is not a header. A segment of the row may span several
 * columns.
 */
function namesOf(row: Row | undefined, columns: readonly Column[]): readonly string[] | null {
  if (row === undefined) return null;
  const segments = row.segments.flatMap((segment) => splitAtColumns(segment, columns));
  const isRowOfCells = hasCells(row) || (columns.length >= CLOSE_NAMES_MIN && segments.length === columns.length);
  if (!isRowOfCells || segments.some(({ text }) => isFigure(text))) return null;
  if (segments.length < NAMING_SHARE_MIN * columns.length) return null;
  return columns.map(({ from, to }) =>
    segments
      .filter(({ left, right }) => left < to && right > from)
      .map(({ text }) => withoutSymbols(text))
      .join(" "),
  );
}

function rowsOfTable(rows: readonly Row[], at: number): readonly Row[] {
  let end = at;
  let [widest, pitchMax] = [rows[at]?.segments.length ?? 0, 0];
  for (let next = at; next < Math.min(rows.length, at + TABLE_ROWS_MAX); next++) {
    const [row, above] = [rows[next], rows[next - 1]];
    if (row === undefined || row.segments[0]?.cell !== undefined) break;
    if (next > at && above !== undefined) {
      const pitch = row.baseline - above.baseline;
      // a row below a gap with more cells than before begins another table
      const isOther = next > at + 1 && row.segments.length > widest && pitch > APART_MIN * pitchMax;
      if (pitch > ROW_PITCH_MAX * row.size || isOther) break;
      pitchMax = Math.max(pitchMax, pitch);
      widest = Math.max(widest, row.segments.length);
    }
    if (hasCells(row)) end = next + 1;
    else if (next === at || next - end >= SINGLE_ROWS_MAX || !isAlignedWithCell(row, rows[end - 1])) break;
  }
  if (end === at) return [];
  // adds further lines of the last cells
  const [first, last] = [rows[at], rows[end - 1]];
  const table = rows.slice(at, end);
  for (let below = rows[end]; below !== undefined && first !== undefined && last !== undefined; below = rows[end]) {
    const above = rows[end - 1] ?? last;
    const distance = below.baseline - above.baseline;
    const isIndented = below.left > first.left + 2 * below.size;
    const isBelowCell = isIndented && last.segments.some(({ left }) => isAlignedLeft(left, below));
    const isOverlapping = isIndented && distance < OVERLAPPING_MAX * below.size;
    const isInCell =
      isBelowCell ||
      (isOverlapping && isBesideLabel(below, table)) ||
      (distance < FURTHER_LINE_MAX * pitchMax && continuesFirstCell(below, above, table));
    if (below.segments.length > 1 || !isInCell || distance > CELL_LEADING_MAX * below.size) break;
    end++;
  }
  return rows.slice(at, end);
}

/**
 * Whether a line is aligned with a cell of the table, but with none of the last row. Then it is a line of a long cell
 * of that row, beside which the short cells are centred.
 */
function isBesideLabel(line: Row, table: readonly Row[]): boolean {
  const isAligned = ({ segments }: Row) => segments.some(({ left }) => isAlignedLeft(left, line));
  return table.some(isAligned) && !isAligned(table.at(-1) ?? line);
}

/** Whether a line continues the first cell of the last row: its first word did not fit on the line above. */
function continuesFirstCell(line: Row, above: Row, table: readonly Row[]): boolean {
  const firsts = table.flatMap(({ segments: [cell] }) =>
    cell !== undefined && isAlignedLeft(cell.left, line) ? [cell] : [],
  );
  const edge = Math.max(...firsts.map(({ right }) => right));
  const next = Math.min(
    ...table.flatMap(({ segments }) => segments.filter(({ left }) => left > edge).map(({ left }) => left)),
  );
  const [cell] = above.segments;
  const word = /^\S+/.exec(line.text)?.[0].length ?? 0;
  const isFull = cell !== undefined && cell.right + word * CHARACTER_WIDTH * line.size > edge;
  return isFull && isAlignedLeft(cell.left, line) && line.right < next;
}

/** Whether a row is aligned with a cell above: at the left, at the right or centred. */
function isAlignedWithCell(row: Row, above: Row | undefined): boolean {
  const within = 0.5 * row.size;
  return (
    above?.segments.some(
      ({ left, right }) =>
        Math.abs(left - row.left) < within ||
        Math.abs(right - row.right) < within ||
        Math.abs(left + right - row.left - row.right) < within,
    ) === true
  );
}

function isAlignedLeft(left: number, row: Row): boolean {
  return Math.abs(left - row.left) < 0.5 * row.size;
}

function columnsOf(rows: readonly Row[], wide: readonly Row[]): readonly Column[] {
  const segments = wide.flatMap((row) => row.segments);
  const size = quantile(
    segments.map((segment) => segment.size),
    0.5,
  );
  const gapMin = (wide.length === 2 ? PAIR_GAP_MIN : COLUMN_GAP_MIN) * size;
  const edges = segments
    .flatMap(({ left, right }) => [
      { at: left, change: 1 },
      { at: right, change: -1 },
    ])
    .sort((a, b) => a.at - b.at || b.change - a.change);
  const spanningMax = Math.floor(SPANNING_SHARE * wide.length);
  const columns: { from: number; to: number }[] = [];
  let covering = 0;
  let isInside = false;
  for (const { at, change } of edges) {
    covering += change;
    const last = columns.at(-1);
    if (covering > spanningMax && !isInside) {
      isInside = true;
      if (last === undefined || at - last.to >= gapMin) columns.push({ from: at, to: at });
    } else if (covering <= spanningMax && isInside) {
      isInside = false;
      if (last !== undefined) last.to = at;
    }
  }
  // extends the last column to segments that only few rows have
  const widest = rows.reduce((most, { right }) => Math.max(most, right), 0);
  return columns.map((column, index) => (index === columns.length - 1 ? { ...column, to: widest } : column));
}

function cellsOf(row: Row, columns: readonly Column[]): readonly Cell[] {
  const parts = columns.map((): Segment[] => []);
  for (const segment of row.segments.flatMap((each) => splitAtColumns(each, columns)))
    parts[columnOf(segment, columns)]?.push(segment);
  return parts.map((segments) => ({
    text: withoutSymbols(segments.map(({ text }) => text).join(" ")),
    isBold: segments.length > 0 && segments.every(({ isBold }) => isBold),
    right: Math.max(0, ...segments.map(({ right }) => right)),
  }));
}

/**
 * Splits a segment that reaches into several columns where its runs do: two names of columns may be so close together
 * that they are one segment.
 */
function splitAtColumns(segment: Segment, columns: readonly Column[]): readonly Segment[] {
  const reached = columns.filter(({ from, to }) => segment.left < to && segment.right > from);
  if (reached.length < 2 || segment.parts.length < 2) return [segment];
  const groups: SegmentPart[][] = [];
  for (const part of segment.parts) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const isApart =
      last !== undefined &&
      part.left - last.right > CELL_GAP_MIN * segment.size &&
      columnOf(part, columns) !== columnOf(last, columns);
    if (group === undefined || isApart) groups.push([part]);
    else group.push(part);
  }
  if (groups.length < 2) return [segment];
  return groups.map((parts) => ({
    ...segment,
    text: parts.map(({ text }) => text.trim()).join(""),
    left: parts[0]?.left ?? segment.left,
    right: parts.at(-1)?.right ?? segment.right,
    parts,
  }));
}

/** The column that overlaps most with a segment, else the nearest column. */
function columnOf({ left, right }: SegmentPart, columns: readonly Column[]): number {
  let best = { column: 0, overlap: Number.NEGATIVE_INFINITY };
  for (const [column, { from, to }] of columns.entries()) {
    const overlap = Math.min(right, to) - Math.max(left, from);
    if (overlap > best.overlap) best = { column, overlap };
  }
  return best.column;
}

/** Joins the rows that are further lines of the same cells. */
function recordsOf({ rows, cells, columns }: Grid): Cell[][] {
  const pitches = rows.slice(1).map(({ baseline }, index) => baseline - (rows[index]?.baseline ?? baseline));
  const pitch = quantile(pitches, 0.75);
  const records: Cell[][] = [];
  let begun: Cell[] = [];
  for (const [index, row] of cells.entries()) {
    const isBeginning = beginsCellsBelow(cells, pitches, index, rows[index]?.size ?? 0);
    if (begun.length > 0 || isBeginning) {
      const joined = row.map((cell, column) => joinedCell(begun[column], cell));
      begun = isBeginning ? joined : [];
      if (begun.length === 0) records.push(joined);
      continue;
    }
    const last = records.at(-1);
    const distance = pitches[index - 1] ?? Number.POSITIVE_INFINITY;
    const size = rows[index]?.size ?? 0;
    const isClose = distance < CELL_LEADING_MAX * size;
    const isFull = (above: Cell, below: Cell, column: number) => {
      const word = /^\S+/.exec(below.text)?.[0].length ?? 0;
      return above.right + word * CHARACTER_WIDTH * size > (columns[column]?.to ?? 0);
    };
    // lines that are so close stand in different cells of the same row
    const isBeside = cells[index - 1]?.every(({ text }, column) => text === "" || row[column]?.text === "") === true;
    const isOverlapping = isBeside && distance < OVERLAPPING_MAX * size;
    const isHeaderLine = records.length === 1 && index === 1 && isAllBold(row) && last !== undefined && isAllBold(last);
    const isInCell = isOverlapping || isHeaderLine;
    if (last !== undefined && isClose && (isInCell || continuesCells(last, row, distance < 0.85 * pitch, isFull))) {
      for (const [column, cell] of row.entries()) last[column] = joinedCell(last[column], cell);
    } else {
      records.push([...row]);
    }
  }
  return records;
}

function joinedCell(above: Cell | undefined, below: Cell): Cell {
  if (above === undefined || below.text === "") return above ?? below;
  return { ...below, text: `${above.text} ${below.text}`.trim() };
}

/**
 * Whether a row is the first line of long cells whose short neighbours stand at the bottom: it has no text in the first
 * column, and is closer to the row below, which has one, than to the row above.
 */
function beginsCellsBelow(
  cells: readonly (readonly Cell[])[],
  pitches: readonly number[],
  index: number,
  size: number,
): boolean {
  const [row, below] = [cells[index], cells[index + 1]];
  const [above, distance] = [pitches[index - 1] ?? 0, pitches[index] ?? Number.POSITIVE_INFINITY];
  if (row === undefined || below === undefined || index === 0 || row[0]?.text !== "") return false;
  const isClose = distance < CELL_LEADING_MAX * size && above > CLOSER_MIN * distance;
  const isOverlapping = distance < OVERLAPPING_MAX * size;
  const isContinued = isOverlapping || row.every(({ text }, column) => text === "" || below[column]?.text !== "");
  return isClose && isContinued && below[0]?.text !== "" && row.some(({ text }) => text !== "" && !isFigure(text));
}

function continuesCells(
  above: readonly Cell[],
  row: readonly Cell[],
  isCloserThanRows: boolean,
  isFull: (above: Cell, below: Cell, column: number) => boolean,
): boolean {
  const filled = row.filter((cell) => cell.text !== "");
  if (filled.length === row.length) return false;
  if (!isCloserThanRows && (row[0]?.text !== "" || filled.length * 2 > row.length)) return false;
  return row.every((cell, column) => {
    const before = above[column];
    if (cell.text === "") return true;
    return before !== undefined && before.text !== "" && isFull(before, cell, column) && !isFigure(cell.text);
  });
}

function contentOf(records: readonly (readonly Cell[])[], columns: readonly Column[]): TableContent {
  const [first, ...rest] = records;
  const isNamed = first !== undefined && isHeader(first, rest);
  return isNamed
    ? { names: first.map(({ text }) => text), records: textsOf(rest), columns }
    : { names: null, records: textsOf(records), columns };
}

/** The rows of a table as lines. */
export function linesOf({ names, records }: TableContent): readonly string[] {
  return records.map((record) => {
    if (names !== null) {
      return record
        .map((text, column) => labelled(names[column] ?? "", text))
        .filter((cell) => cell !== "")
        .join(" | ");
    }
    const cells = record.filter((text) => text !== "");
    const [label = "", value = ""] = cells;
    const isLabel = /\p{L}/u.test(label) && !isFigure(label) && !CHECK_BOX.test(label);
    return cells.length === 2 && isLabel ? labelled(label, value) : cells.join(" | ");
  });
}

function labelled(name: string, value: string): string {
  if (value === "" || name === "") return value;
  return `${name.replace(/\s*:$/, "")}: ${value}`;
}
