// Finds the columns of a page and the reading order of its parts. Columns differ from tables by their content: lines of
// prose that fill the column, not cells that belong to the cells next to them.

import { isRightToLeft, median, quantile, type Row, rowsOf, type Segment } from "./segments.ts";
import { areDrawnApart } from "./tables-beside.ts";

/** Segments of one column, which are read together. */
export type Region = readonly Segment[];

/** Minimum width of a gap between columns, in font sizes. */
const GUTTER_SIZES_MIN = 0.7;
/** Minimum number of rows of a column. */
const COLUMN_ROWS_MIN = 3;
/** Minimum number of rows of a column in a part of a page. Fewer rows side by side may be a table. */
const PART_ROWS_MIN = 8;
/** Minimum distance between two rows that belong to different parts of a page, in font sizes. */
const PART_GAP = 1.8;
/**
 * Minimum values for a column of prose: width in font sizes, characters per line, share of the width that its lines
 * fill.
 */
const PROSE_SIZES_MIN = 8;
const PROSE_CHARACTERS_MIN = 18;
const PROSE_FILL_MIN = 0.55;
/** Number of segments per row from which on rows fill a width as the cells of a table do, not as prose. */
const CELLS_MIN = 3;
/** Minimum share of the rows of a column of prose that are lines of text, and not rows of tables. */
const LINES_SHARE_MIN = 0.5;
/** If two columns have at least this share of their baselines in common, they may be a table. */
const ALIGNED_SHARE = 0.6;
/**
 * Minimum values for rows of a table of figures that spans columns of text: rows, cells per row, share of cells that
 * are figures; and the maximum width of a cell, as a share of the width of all rows.
 */
const TABULAR_ROWS_MIN = 3;
const TABULAR_CELLS_MIN = 4;
const TABULAR_FIGURES_MIN = 0.6;
const TABULAR_WIDTH_MAX = 0.28;
const FIGURE = /^(?=[^\p{L}]*\p{N}|[-–—−·•]$)[^\p{L}]*\p{L}{0,2}[^\p{L}]*$/u;
/** Maximum depth of columns within columns. */
const DEPTH_MAX = 8;
/**
 * Maximum number of gaps that are tried for each of `CROSSING_SHARES`, the widest first. The limit is needed because
 * dotted lines have a gap between every two dots.
 */
const GAPS_MAX = 12;
/**
 * Maximum shares of rows that cross a gap between columns, in the order in which they are tried. Such rows are
 * headings, wide figures, and title and abstract on a first page.
 */
const CROSSING_SHARES = [0, 0.05, 0.15, 0.35, 0.6];

/** The regions of a page in reading order. */
export function regionsOf(segments: readonly Segment[]): readonly Region[] {
  const fromRight = isRightToLeft(segments.map(({ text }) => text).join(" "));
  return split(segments, fromRight, 0);
}

function split(segments: readonly Segment[], fromRight: boolean, depth: number): Region[] {
  const gutter = depth < DEPTH_MAX ? gutterOf(segments, COLUMN_ROWS_MIN) : null;
  if (gutter === null) {
    const parts = depth === 0 ? verticalParts(segments) : [segments];
    const hasColumns = parts.length > 1 && parts.some((part) => gutterOf(part, PART_ROWS_MIN) !== null);
    if (hasColumns) return parts.flatMap((part) => split(part, fromRight, depth + 1));
    return segments.length === 0 ? [] : [segments];
  }
  return bandsOf(segments, gutter).flatMap(({ segments: band, isAcross }) => {
    const left = band.filter((segment) => middleOf(segment) < gutter);
    const right = band.filter((segment) => middleOf(segment) >= gutter);
    if (isAcross) {
      return band.length < segments.length ? split(band, fromRight, depth + 1) : [band];
    }
    const columns = fromRight ? [right, left] : [left, right];
    return columns.flatMap((column) => split(column, fromRight, depth + 1));
  });
}

/**
 * Splits a page at wide vertical gaps. This is necessary because two columns below a listing of the full page width are
 * found only without the listing.
 */
function verticalParts(segments: readonly Segment[]): Segment[][] {
  const parts: Segment[][] = [];
  let above: { readonly baseline: number; readonly size: number } | null = null;
  for (const row of rowsOf(segments)) {
    const part = parts.at(-1);
    const isApart = above === null || row.baseline - above.baseline > PART_GAP * Math.max(row.size, above.size);
    if (part === undefined || isApart) parts.push([...row.segments]);
    else part.push(...row.segments);
    above = row;
  }
  return parts;
}

/** Position of the best gap between two columns; null for text in one column and for tables. */
function gutterOf(segments: readonly Segment[], rowsMin: number): number | null {
  if (segments.length < 2 * rowsMin) return null;
  const rowCount = rowsOf(segments).length;
  const widthMin = GUTTER_SIZES_MIN * median(segments.map(({ size }) => size));
  let best: { at: number; score: number } | null = null;
  const seen = new Set<number>();
  for (const share of CROSSING_SHARES) {
    for (const { from, to } of gapsOf(segments, Math.floor(share * rowCount))) {
      const at = (from + to) / 2;
      if (to - from < widthMin || seen.has(Math.round(at))) continue;
      seen.add(Math.round(at));
      const score = scoreOf(segments, at, rowsMin);
      if (score > (best?.score ?? 0)) best = { at, score };
    }
  }
  return best?.at ?? null;
}

/** The widest horizontal ranges that at most `crossingMax` segments cross. The margins of the page are excluded. */
function gapsOf(segments: readonly Segment[], crossingMax: number): { from: number; to: number }[] {
  const edges = segments
    .flatMap(({ left, right }) => [
      { at: left, change: 1 },
      { at: right, change: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.change - b.change);
  const gaps: { from: number; to: number }[] = [];
  let covering = 0;
  let from: number | null = null;
  for (const { at, change } of edges) {
    covering += change;
    if (covering > crossingMax) {
      if (from !== null && at > from) gaps.push({ from, to: at });
      from = null;
    } else {
      from ??= at;
    }
  }
  return gaps.sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, GAPS_MAX);
}

/**
 * Score of a gap: number of rows on the side with fewer rows, minus a penalty for rows that cross the gap. It is 0 or
 * less if the sides are not columns.
 */
function scoreOf(segments: readonly Segment[], gutter: number, rowsMin: number): number {
  const crossing = segments.filter((segment) => crosses(segment, gutter)).length;
  const beside = bandsOf(segments, gutter).flatMap((band) => (band.isAcross ? [] : band.segments));
  const left = beside.filter((segment) => middleOf(segment) < gutter);
  const right = beside.filter((segment) => middleOf(segment) >= gutter);
  const [leftSide, rightSide] = [sideOf(left), sideOf(right)];
  const rows = Math.min(leftSide.baselines.length, rightSide.baselines.length);
  if (rows < rowsMin) return 0;
  // below text of the full width, a few rows of several cells each are a part of a table, not a column of prose
  const isInText = crossing >= rows && rows < PART_ROWS_MIN;
  const isProse = ({ isProse, cells }: Side) => isProse && !(isInText && cells >= CELLS_MIN);
  if (alignedShare(leftSide, rightSide) >= ALIGNED_SHARE && !(isProse(leftSide) && isProse(rightSide))) return 0;
  if (!leftSide.isProse && !rightSide.isProse) return 0;
  return rows - 0.5 * crossing;
}

interface Side {
  readonly baselines: readonly number[];
  readonly size: number;
  /** Whether the lines fill the side like prose. */
  readonly isProse: boolean;
  /** Usual number of segments of a row. */
  readonly cells: number;
}

function sideOf(segments: readonly Segment[]): Side {
  const rows = rowsOf(segments);
  const size = median(rows.map((row) => row.size));
  const width =
    quantile(
      rows.map(({ right }) => right),
      0.9,
    ) -
    quantile(
      rows.map(({ left }) => left),
      0.1,
    );
  const fill = median(rows.map(({ segments: parts }) => parts.reduce((sum, part) => sum + part.right - part.left, 0)));
  const isLine = ({ segments: parts }: Row) => parts.length < CELLS_MIN && parts[0]?.isTableRow !== true;
  const isProse =
    rows.filter(isLine).length >= LINES_SHARE_MIN * rows.length &&
    width >= PROSE_SIZES_MIN * size &&
    fill >= PROSE_FILL_MIN * width &&
    median(rows.map(({ text }) => weightOf(text))) >= PROSE_CHARACTERS_MIN;
  const cells = median(rows.map(({ segments: parts }) => parts.length));
  return { baselines: rows.map(({ baseline }) => baseline), size, isProse, cells };
}

/** Length of a text in characters, where Chinese, Japanese and Korean characters count twice. */
function weightOf(text: string): number {
  return text.length + (text.match(/[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g)?.length ?? 0);
}

/** Of the rows on the side with fewer rows, the share that has the same baseline as a row on the other side. */
function alignedShare(left: Side, right: Side): number {
  const [few, many] = left.baselines.length < right.baselines.length ? [left, right] : [right, left];
  const tolerance = 0.15 * few.size;
  let aligned = 0;
  let next = 0;
  for (const baseline of few.baselines) {
    while ((many.baselines[next] ?? Number.POSITIVE_INFINITY) < baseline - tolerance) next++;
    if (Math.abs((many.baselines[next] ?? Number.POSITIVE_INFINITY) - baseline) <= tolerance) aligned++;
  }
  return aligned / few.baselines.length;
}

interface Band {
  readonly segments: Segment[];
  /** Whether the rows cross the gutter, or are rows of a table that spans the columns. */
  readonly isAcross: boolean;
}

/** Splits segments from top to bottom into bands of rows that cross the gutter and bands of rows that do not. */
function bandsOf(segments: readonly Segment[], gutter: number): Band[] {
  const rows = rowsOf(segments);
  const tabular = tabularRows(rows, gutter);
  const bands: Band[] = [];
  let last: { baseline: number; left: number; size: number } | null = null;
  for (const row of rows) {
    const isCrossing = row.segments.some((segment) => crosses(segment, gutter));
    // the last line of a paragraph that spans the columns may be so short that it lies in the first column
    const isLastLine: boolean =
      !isCrossing &&
      last !== null &&
      row.right < gutter &&
      row.baseline - last.baseline < 1.4 * last.size &&
      Math.abs(row.left - last.left) < last.size &&
      Math.abs(row.size - last.size) < 0.05 * last.size;
    const isAcross = isCrossing || isLastLine || tabular.has(row);
    const band = bands.at(-1);
    if (band !== undefined && band.isAcross === isAcross) band.segments.push(...row.segments);
    else bands.push({ isAcross, segments: [...row.segments] });
    last = isCrossing ? row : null;
  }
  return bands;
}

/**
 * The rows of tables of figures on both sides of a gutter, such as a wide table above two columns of text. Two tables
 * that stand beside each other are parts of the columns.
 */
function tabularRows(rows: readonly Row[], gutter: number): ReadonlySet<Row> {
  const left = Math.min(...rows.map((row) => row.left));
  const width = Math.max(...rows.map((row) => row.right)) - left;
  const hasCells = ({ segments }: Row) =>
    segments.length >= TABULAR_CELLS_MIN &&
    segments.every((cell) => cell.right - cell.left < TABULAR_WIDTH_MAX * width) &&
    segments.some((cell) => cell.right < gutter) &&
    segments.some((cell) => cell.left > gutter);
  const hasFigures = ({ segments }: Row) =>
    segments.filter(({ text }) => FIGURE.test(text)).length >= TABULAR_FIGURES_MIN * segments.length;
  const areTwo = (table: readonly Row[]) => {
    const cells = table.flatMap(({ segments }) => segments);
    const isLeft = (cell: Segment) => middleOf(cell) < gutter;
    return areDrawnApart(rowsOf(cells.filter(isLeft)), rowsOf(cells.filter((cell) => !isLeft(cell))));
  };
  const tabular = new Set<Row>();
  let run: Row[] = [];
  for (const [at, row] of rows.entries()) {
    run = hasCells(row) && hasFigures(row) ? [...run.slice(-TABULAR_ROWS_MIN), row] : [];
    if (run.length < TABULAR_ROWS_MIN || areTwo(run)) continue;
    for (const each of run) tabular.add(each);
    // names of columns above the figures
    const header = run.length === TABULAR_ROWS_MIN ? rows[at - TABULAR_ROWS_MIN] : undefined;
    if (header !== undefined && hasCells(header)) tabular.add(header);
  }
  return tabular;
}

function crosses(segment: Segment, gutter: number): boolean {
  return segment.left < gutter && segment.right > gutter;
}

function middleOf(segment: Segment): number {
  return (segment.left + segment.right) / 2;
}
