// Tells tables without borders that stand beside each other, or beside a text, from one table, so that their rows are
// not joined. Most programs draw one table after the other. Otherwise, names of columns, titles and heights show that
// there are several.

import { isRightToLeft, median, type Row, rowsOf, type Segment } from "./segments.ts";
import { isFigure } from "./table-header.ts";

/** Minimum distance between two tables, and maximum distance between the rows of one, in font sizes. */
const GAP_MIN = 1;
const ROW_PITCH_MAX = 4.5;
/** Minimum distance of tables below each other, as a multiple of the largest distance of rows. */
const APART_MIN = 1.6;
/** Number of rows by which tables are told apart. */
const ROWS_COMPARED = 40;
/** Minimum number of rows with several cells, and their minimum share of the rows of a table. */
const CELL_ROWS_MIN = 2;
const CELL_ROWS_SHARE_MIN = 0.5;
/** Minimum number of lines of a text beside a table, and of their characters. */
const TEXT_ROWS_MIN = 2;
const TEXT_CHARACTERS_MIN = 30;
/** Maximum number of texts of a row of tables; a row of more is a line of dots or a drawing. */
const CELLS_MAX = 24;
/** Maximum number of gaps of a region that are tried, since each takes as long as sorting the rows. */
const GAPS_TRIED_MAX = 200;
/** Minimum share of the rows that were drawn after the row above them. */
const BY_ROW_MIN = 0.8;
/** Minimum distance of two tables that were not drawn one after the other, as a multiple of that of their columns. */
const WIDER_MIN = 1.5;
/** Maximum distance between baselines of the same line, and between edges that are aligned, in font sizes. */
const SAME_LINE = 0.4;
const ALIGNED = 0.5;
/** Maximum share of rows of two tables that are on the same lines by chance, and minimum number of rows. */
const SAME_LINES_MAX = 0.34;
const OTHER_LINES_MIN = 3;

/** The parts of a region in reading order. Each of several tables beside each other is a part. */
export function tablesApart(segments: readonly Segment[]): readonly (readonly Segment[])[] {
  const rows = rowsOf(segments);
  if (rows.filter(hasCells).length < CELL_ROWS_MIN) return [segments];
  const parts: (readonly Segment[])[] = [];
  let plain: Segment[] = [];
  const tries = { left: GAPS_TRIED_MAX };
  for (let at = 0; at < rows.length; ) {
    const found = isFirst(rows, at) ? besideAt(rows, at, tries) : null;
    if (found === null) {
      plain.push(...(rows[at]?.segments ?? []));
      at++;
      continue;
    }
    if (plain.length > 0) parts.push(plain);
    plain = [];
    const fromRight = isRightToLeft(segments.map(({ text }) => text).join(" "));
    const tables = fromRight ? [found.right, found.left] : [found.left, found.right];
    parts.push(...tables.flatMap(tablesApart));
    at += found.rowCount;
  }
  if (parts.length === 0) return [segments];
  return plain.length > 0 ? [...parts, plain] : parts;
}

/** Whether the rows at the left and at the right are tables that were drawn one after the other, each row by row. */
export function areDrawnApart(left: readonly Row[], right: readonly Row[]): boolean {
  return isOneAfterOther(left, right) && [left, right].every((rows) => isTable(rows) && isDrawnByRow(rows));
}

/** Whether one side is a table, and the other lines of a text that were drawn before or after it. */
function isTableBesideText(left: readonly Row[], right: readonly Row[]): boolean {
  const [table, text] = isTable(left) ? [left, right] : [right, left];
  const isText = text.length >= TEXT_ROWS_MIN && median(text.map((row) => row.text.length)) >= TEXT_CHARACTERS_MIN;
  return isText && !text.some(hasCells) && isDrawnByRow(table) && isOneAfterOther(table, text);
}

function isOneAfterOther(left: readonly Row[], right: readonly Row[]): boolean {
  const [one, other] = [drawnRange(left), drawnRange(right)];
  return one.last < other.first || other.last < one.first;
}

function hasCells({ segments }: Row): boolean {
  return segments.length > 1;
}

function isTable(rows: readonly Row[]): boolean {
  const count = rows.filter(hasCells).length;
  return count >= CELL_ROWS_MIN && count >= CELL_ROWS_SHARE_MIN * rows.length;
}

/** Whether tables may begin at a row: it has several texts, and other ones than the row above it. */
function isFirst(rows: readonly Row[], at: number): boolean {
  const [row, above, before] = [rows[at], rows[at - 1], rows[at - 2]];
  if (row === undefined || !hasCells(row) || row.segments.length > CELLS_MAX) return false;
  if (above === undefined || before === undefined || above.segments.length !== row.segments.length) return true;
  const pitches = [row.baseline - above.baseline, above.baseline - before.baseline];
  return Math.abs((pitches[0] ?? 0) - (pitches[1] ?? 0)) > SAME_LINE * row.size;
}

/** A range without text between two tables. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

interface Sides {
  readonly rowCount: number;
  readonly left: readonly Segment[];
  readonly right: readonly Segment[];
}

/**
 * The tables beside each other whose first row is at `at`; null if there are none.
 * @param tries how many gaps may still be tried
 */
function besideAt(rows: readonly Row[], at: number, tries: { left: number }): Sides | null {
  const texts = rows[at]?.segments ?? [];
  const gaps = texts.map((text, index): Gap => ({ from: text.right, to: texts[index + 1]?.left ?? Infinity }));
  for (const gap of [...gaps, { from: -Infinity, to: texts[0]?.left ?? 0 }]) {
    // below the tables, others may stand beside each other
    let rowsTried = 0;
    for (const apartMin of [Infinity, APART_MIN]) {
      const compared = tries.left > 0 ? sidesOf(rows, at, gap, apartMin, ROWS_COMPARED) : null;
      if (compared === null || compared.rowCount === rowsTried) continue;
      rowsTried = compared.rowCount;
      tries.left -= 1;
      if (!areTables(compared)) continue;
      const { rowCount, left, right } = sidesOf(rows, at, gap, apartMin, rows.length) ?? compared;
      return { rowCount, left, right };
    }
  }
  return null;
}

/**
 * The texts on both sides of a gap, from a row to the last one of several cells before a text reaches over the gap.
 * Null if a side has none.
 * @param apartMin minimum distance between two rows that ends both tables, as a multiple of the largest one before
 */
function sidesOf(
  rows: readonly Row[],
  at: number,
  widest: Gap,
  apartMin: number,
  rowsMax: number,
): (Sides & { readonly gap: Gap }) | null {
  const found: { left: readonly Segment[]; right: readonly Segment[] }[] = [];
  let gap = widest;
  let kept = { rowCount: 0, gap };
  const pitches = [new Pitch(), new Pitch()];
  for (let next = at; next < Math.min(rows.length, at + rowsMax); next++) {
    const [row, above] = [rows[next], rows[next - 1]];
    if (row === undefined || row.segments.length > CELLS_MAX) break;
    if (next > at && above !== undefined && row.baseline - above.baseline > ROW_PITCH_MAX * row.size) break;
    const middle = middleOf(gap, GAP_MIN * row.size);
    const isLeft = (text: Segment) => (text.left + text.right) / 2 < middle;
    const left = row.segments.filter(isLeft);
    const right = row.segments.filter((text) => !isLeft(text));
    gap = {
      from: Math.max(gap.from, ...left.map((text) => text.right)),
      to: Math.min(gap.to, ...right.map((text) => text.left)),
    };
    if (gap.to - gap.from < GAP_MIN * row.size) break;
    const areApart = [left, right].map((side, index) => side.length === 0 || pitches[index]?.add(row, apartMin));
    if (areApart.every((isApart) => isApart)) break;
    found.push({ left, right });
    if (left.length > 1 || right.length > 1) kept = { rowCount: found.length, gap };
  }
  const sides = found.slice(0, kept.rowCount);
  const [left, right] = [sides.flatMap((row) => row.left), sides.flatMap((row) => row.right)];
  return left.length === 0 || right.length === 0 ? null : { ...kept, left, right };
}

/** Distances of the rows of a side. */
class Pitch {
  #last: number | null = null;
  #widest = 0;

  /** Adds a row. Returns whether it is further from the row above it than `apartMin` times the others. */
  add({ baseline }: Row, apartMin: number): boolean {
    const pitch = this.#last === null ? 0 : baseline - this.#last;
    const isApart = this.#widest > 0 && pitch > apartMin * this.#widest;
    this.#last = baseline;
    this.#widest = Math.max(this.#widest, pitch);
    return isApart;
  }
}

/** Where the texts of the right side begin; where one side has no text, near the other. */
function middleOf({ from, to }: Gap, widthMin: number): number {
  if (to === Infinity) return from + widthMin;
  return from === -Infinity ? to - widthMin : (from + to) / 2;
}

function areTables(sides: Sides & { readonly gap: Gap }): boolean {
  const [left, right] = [rowsOf(sides.left), rowsOf(sides.right)];
  if (isTable(left) !== isTable(right)) return isTableBesideText(left, right);
  if (!isTable(left)) return false;
  if (areDrawnApart(left, right) || haveSameNames(left, right)) return true;
  const width = sides.gap.to - sides.gap.from;
  const between = Math.max(columnGapOf(left), columnGapOf(right));
  if (width < between || !beginsWithLabels(left) || !beginsWithLabels(right)) return false;
  if (haveTitles(left, right)) return true;
  return width >= WIDER_MIN * between && (standApart(left, right) || (arePairs(left) && arePairs(right)));
}

function drawnRange(rows: readonly Row[]): { readonly first: number; readonly last: number } {
  const places = rows.flatMap(({ segments }) => segments.map(({ drawnAt }) => drawnAt));
  return { first: Math.min(...places), last: Math.max(...places) };
}

/** Whether a table was drawn row by row: the second cell of a row before the first one of the next row. */
function isDrawnByRow(rows: readonly Row[]): boolean {
  const pairs = rows.slice(1).map((row, at) => [rows[at]?.segments.slice(0, 2) ?? [], row.segments] as const);
  const inOrder = pairs.filter(([above, [first]]) => above.every(({ drawnAt }) => drawnAt < (first?.drawnAt ?? 0)));
  return inOrder.length >= BY_ROW_MIN * pairs.length;
}

/** Whether the names of the columns at the left are repeated at the right, once or several times. */
function haveSameNames(left: readonly Row[], right: readonly Row[]): boolean {
  const [first, second] = [left.find(hasCells), right.find(hasCells)];
  if (first === undefined || second === undefined || !isSameLine(first, second)) return false;
  const names = first.segments.map(({ text }) => text);
  const others = second.segments.map(({ text }) => text);
  const isRepeated = others.every((name, at) => name === names[at % names.length]);
  const isWhole = others.length % names.length === 0 && new Set(names).size === names.length;
  // the column of labels may have no name
  const isFromEdge = isAligned(first.left, Math.min(...left.map((row) => row.left)), first.size);
  return isRepeated && isWhole && isFromEdge && !names.some(isFigure) && left.length > 2 && right.length > 2;
}

/** Whether each side begins with a title on the same line, at its left edge. */
function haveTitles(left: readonly Row[], right: readonly Row[]): boolean {
  const [first, second] = [left[0], right[0]];
  if (first === undefined || second === undefined || !isSameLine(first, second)) return false;
  return [left, right].every(([title, ...below]) => {
    if (title === undefined || hasCells(title) || isFigure(title.text)) return false;
    return isAligned(title.left, Math.min(...below.map((row) => row.left)), title.size);
  });
}

/** Whether the rows of two tables are on other lines, begin at other heights, or only one has further rows. */
function standApart(left: readonly Row[], right: readonly Row[]): boolean {
  const [one, other] = [left.filter(hasCells), right.filter(hasCells)];
  const [first, second] = [one[0], other[0]];
  if (first !== undefined && second !== undefined && !isSameLine(first, second)) return true;
  const onLines = (rows: readonly Row[], lines: readonly Row[]) =>
    rows.filter((row) => lines.some((line) => isSameLine(row, line))).length;
  const few = Math.min(one.length, other.length);
  if (few >= OTHER_LINES_MIN && onLines(one, right) <= SAME_LINES_MAX * few) return true;
  const [end, otherEnd] = [left.at(-1)?.baseline ?? 0, right.at(-1)?.baseline ?? 0];
  // the last row of one table may be a sum without a text at the right
  const [below, otherBelow] = [one, other].map((rows, side) =>
    rows.filter(({ baseline, size }) => baseline > (side === 0 ? otherEnd : end) + SAME_LINE * size),
  );
  return (below?.length ?? 0) > 1 || (otherBelow?.length ?? 0) > 0;
}

/** Whether all rows are a label and a figure. */
function arePairs(rows: readonly Row[]): boolean {
  return rows.every(({ segments: [label, value, ...more] }) => {
    return (
      label !== undefined && value !== undefined && more.length === 0 && !isFigure(label.text) && isFigure(value.text)
    );
  });
}

/** Whether the first column has a text of its own in each row below the first one, and none is a figure. */
function beginsWithLabels(rows: readonly Row[]): boolean {
  const edge = Math.min(...rows.map(({ left }) => left));
  const labels = rows.slice(1).flatMap(({ segments: [label], size }) => {
    return label !== undefined && isAligned(label.left, edge, size) ? [label.text] : [];
  });
  return labels.length >= rows.length - 1 && new Set(labels).size === labels.length && !labels.some(isFigure);
}

/** The widest distance between two columns of a table. */
function columnGapOf(rows: readonly Row[]): number {
  const texts = rows.filter(hasCells).flatMap(({ segments }) => segments);
  let [right, widest] = [Infinity, 0];
  for (const text of texts.toSorted((a, b) => a.left - b.left)) {
    widest = Math.max(widest, text.left - right);
    right = right === Infinity ? text.right : Math.max(right, text.right);
  }
  return Math.max(widest, GAP_MIN * median(texts.map(({ size }) => size)));
}

function isSameLine(one: Row, other: Row): boolean {
  return Math.abs(one.baseline - other.baseline) <= SAME_LINE * Math.min(one.size, other.size);
}

function isAligned(one: number, other: number, size: number): boolean {
  return Math.abs(one - other) < ALIGNED * size;
}
