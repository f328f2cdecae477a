// Finds tables whose cells have borders. The borders say which lines of text belong to one cell, so that wrapped cells,
// merged cells and cells close to each other are told apart. tables.ts finds tables without borders by their alignment.

import {
  type Column,
  type Frame,
  framesOf,
  positions,
  type Rule,
  type RuledCell,
  type RuledTable,
  SAME_LINE,
} from "./borders.ts";
import { boxesOf, segmentsOfBoxes } from "./boxes.ts";
import type { Run } from "./runs.ts";
import { median, type Row, rowsOf, type Segment, segmentsOf, withoutSymbols } from "./segments.ts";
import { type Cell, isFigure, isHeader, type TableContent, textsOf } from "./table-header.ts";

/** Minimum number of lines of a page with tables or boxes. */
const RULES_MIN = 6;
/** Minimum number of lines with two texts apart that a table has, and minimum distance of the texts in font sizes. */
const TABLE_LINES_MIN = 2;
const TEXTS_APART = 0.8;
/** Minimum width of a column that has no border at its outer side, in points. */
const OPEN_MIN = 12;
/** Minimum share of the cells of a table that have a text. Grids of drawings have fewer. */
const FILLED_MIN = 0.4;
/** Maximum mean length and maximum length of texts, in characters. Boxes with prose have longer ones. */
const MEAN_CHARACTERS_MAX = 160;
const CHARACTERS_MAX = 1_200;
/** Minimum number of lines with texts apart in a box around a table or columns. */
const BOX_ROWS_MIN = 2;
/** Minimum number of cells, and of lines in each of them, that show that there are several rows without borders. */
const ROWS_MIN = 3;
/** Maximum length of a text that is repeated in each row of its cell, in characters. A longer one is a remark. */
const REPEATED_CHARACTERS_MAX = 80;

/** Whether several lines have texts that stand apart, as the cells of a table do. */
export function mayHoldTable(runs: readonly Run[]): boolean {
  let lines = 0;
  let [last, counted]: [Run | undefined, number] = [undefined, Number.NaN];
  for (const run of runs.toSorted((a, b) => a.baseline - b.baseline || a.left - b.left)) {
    const isBeside = last !== undefined && Math.abs(run.baseline - last.baseline) < 0.1 * run.size;
    if (isBeside && run.left - (last?.right ?? 0) > TEXTS_APART * run.size && run.baseline !== counted) {
      counted = run.baseline;
      if (++lines >= TABLE_LINES_MIN) return true;
    }
    last = run;
  }
  return false;
}

/** The segments of a page; each cell of a table with borders is one segment. */
export function segmentsWithTables(runs: readonly Run[], rules: readonly Rule[]): readonly Segment[] {
  const frames = rules.length < RULES_MIN ? [] : framesOf(rules);
  const [grids, boxes] = [gridsOf(frames), boxesOf(frames)];
  if (grids.length + boxes.length === 0) return segmentsOf(runs);
  let others = runs;
  const cells: Segment[] = [];
  for (const grid of grids) {
    const inside = others.filter((run) => grid.contains(run));
    const found = inside.length === 0 ? null : cellsIn(grid, inside);
    if (found === null) continue;
    const taken = new Set(inside);
    others = others.filter((run) => !taken.has(run));
    cells.push(...found);
  }
  return [...segmentsOfBoxes(others, boxes), ...cells];
}

/** Replaces the cells of each row of a table by one segment, so that a table has one column for the layout. */
export function withWholeRows(segments: readonly Segment[]): {
  readonly segments: readonly Segment[];
  /** The segments, with the cells of rows instead of the rows. */
  expand(segments: readonly Segment[]): readonly Segment[];
} {
  const cells = segments.filter(({ cell }) => cell !== undefined);
  if (cells.length === 0) return { segments, expand: (given) => given };
  const byTable = Map.groupBy(cells, ({ cell }) => cell?.table);
  const byRow = [...byTable.values()].flatMap((table) => [...Map.groupBy(table, ({ cell }) => cell?.row).values()]);
  const whole = new Map(
    byRow.flatMap((row): [Segment, Segment[]][] => {
      const [first] = row;
      const columns = first?.cell?.table.columns;
      if (first === undefined || columns === undefined) return [];
      const { cell: _, ...plain } = first;
      const text = row.map((each) => each.text).join(" ");
      const [left, right] = [columns[0]?.from ?? 0, columns.at(-1)?.to ?? 0];
      return [[{ ...plain, text, left, right, parts: [], isTableRow: true }, row]];
    }),
  );
  return {
    segments: [...segments.filter(({ cell }) => cell === undefined), ...whole.keys()],
    expand: (given) => given.flatMap((each) => whole.get(each) ?? [each]),
  };
}

/** The rows of a region. Text beside the cells of a table is a row of its own. */
export function rowsWithCells(segments: readonly Segment[]): readonly Row[] {
  if (!segments.some(({ cell }) => cell !== undefined)) return rowsOf(segments);
  const rows = rowsOf(segments).flatMap((row) => {
    const groups = Map.groupBy(row.segments, ({ cell }) => cell?.table ?? null);
    return groups.size === 1 ? [row] : [...groups.values()].flatMap((group) => rowsOf(group));
  });
  // tables may stand beside each other
  const byTable = Map.groupBy(rows, tableOf);
  return rows.flatMap((row, at) => {
    const table = tableOf(row);
    if (table === undefined) return [row];
    return rows.findIndex((each) => tableOf(each) === table) === at ? (byTable.get(table) ?? []) : [];
  });
}

function tableOf(row: Row): RuledTable | undefined {
  return row.segments[0]?.cell?.table;
}

/** The table with borders that begins at a row, and the number of its rows of text; null if there is none. */
export function ruledTableAt(
  rows: readonly Row[],
  at: number,
): { readonly rowCount: number; readonly captions: readonly string[]; readonly content: TableContent } | null {
  const first = rows[at];
  const table = first === undefined ? undefined : tableOf(first);
  if (table === undefined) return null;
  let end = at;
  for (let row = rows[end]; row !== undefined && tableOf(row) === table; row = rows[end]) end++;
  const segments = rows.slice(at, end).flatMap((row) => row.segments);
  return { rowCount: end - at, ...contentOf(segments, table) };
}

const EMPTY: Cell = { text: "", isBold: false, right: 0 };

function contentOf(segments: readonly Segment[], table: RuledTable) {
  const width = table.columns.length;
  const rows = Array.from({ length: table.rowCount }, () => Array.from({ length: width }, () => EMPTY));
  const spans = new Map<number, RuledCell[]>();
  const captions: string[] = [];
  for (const { text, isBold, right, cell } of segments.toSorted((a, b) => (a.cell?.row ?? 0) - (b.cell?.row ?? 0))) {
    if (cell === undefined) continue;
    const isFirst = rows.slice(0, cell.row).every((row) => row.every((each) => each.text === ""));
    if (isFirst && cell.first === 0 && cell.last === width - 1) {
      captions.push(text);
      continue;
    }
    spans.set(cell.row, [...(spans.get(cell.row) ?? []), cell]);
    const lastRow = text.length > REPEATED_CHARACTERS_MAX ? cell.row : cell.lastRow;
    for (let row = cell.row; row <= lastRow; row++) {
      const target = rows[row];
      if (target !== undefined) target[cell.first] = { text, isBold, right };
    }
  }
  const filled = rows.flatMap((cells, row) => (cells.some(({ text }) => text !== "") ? [{ cells, row }] : []));
  const [top, second, ...rest] = filled;
  const groups = (spans.get(top?.row ?? -1) ?? []).filter(({ first, last }) => last > first);
  const isOneHead = top !== undefined && second !== undefined && groups.length > 0 && groups.length < width;
  const columns = table.columns;
  if (isOneHead) {
    // names of groups of columns above the names of the columns
    const above = columns.map((_, column) => {
      const group = groups.find(({ first, last }) => first <= column && column <= last);
      return (top.cells[group?.first ?? column] ?? EMPTY).text;
    });
    const below = second.cells.map(({ text }) => text);
    const names = columns.map((_, column) => joinedNames(above[column] ?? "", below[column] ?? ""));
    const head = names.map((text) => ({ ...EMPTY, text }));
    const records = rest.map(({ cells }) => cells);
    if (isHeader(head, records)) return { captions, content: { names, records: textsOf(records), columns } };
  }
  const [first, ...records] = filled.map(({ cells }) => cells);
  const isNamed = first !== undefined && groups.length === 0 && (isHeader(first, records) || isCrossed(first, records));
  const content: TableContent = isNamed
    ? { names: first.map(({ text }) => text), records: textsOf(records), columns }
    : { names: null, records: textsOf(filled.map(({ cells }) => cells)), columns };
  return { captions, content };
}

/** Whether a row has names for all columns but the first, in which each row below has a text. */
function isCrossed([corner, ...names]: readonly Cell[], rows: readonly (readonly Cell[])[]): boolean {
  const isName = ({ text }: Cell) => text !== "" && !isFigure(text);
  return (
    corner?.text === "" && names.length > 1 && names.every(isName) && rows.every(([name]) => (name?.text ?? "") !== "")
  );
}

/** A name that stands in both rows, because its cell spans them, is one name. */
function joinedNames(above: string, below: string): string {
  return above === below ? above : `${above} ${below}`.trim();
}

/** Positions of the borders of a table, and which parts of them are drawn. */
class Grid {
  constructor(
    readonly across: readonly number[],
    readonly down: readonly number[],
    private readonly rules: readonly Rule[],
  ) {}

  contains({ left, right, baseline, size }: Run): boolean {
    const [middle, height] = [(left + right) / 2, baseline - size / 3];
    const isAcross = middle > (this.across[0] ?? 0) && middle < (this.across.at(-1) ?? 0);
    return isAcross && height > (this.down[0] ?? 0) && height < (this.down.at(-1) ?? 0);
  }

  /** Whether a border is drawn between two positions. */
  hasBorder(isHorizontal: boolean, at: number, from: number, to: number): boolean {
    const middle = (from + to) / 2;
    return this.rules.some(
      (rule) =>
        rule.isHorizontal === isHorizontal &&
        Math.abs(rule.at - at) <= SAME_LINE &&
        rule.from <= middle &&
        rule.to >= middle,
    );
  }
}

/** The grids that are formed by lines that meet. */
function gridsOf(frames: readonly Frame[]): Grid[] {
  return frames.flatMap(({ horizontal, vertical }) => {
    const down = withEnds(positions(horizontal), vertical);
    const across = withEnds(positions(vertical), horizontal);
    return down.length > 2 && across.length > 2 ? [new Grid(across, down, [...horizontal, ...vertical])] : [];
  });
}

/** Positions of borders, and the ends of the lines that cross them: tables often have no border at their sides. */
function withEnds(borders: readonly number[], crossing: readonly Rule[]): number[] {
  const [first, last] = [borders[0] ?? 0, borders.at(-1) ?? 0];
  const from = median(crossing.map((line) => line.from));
  const to = median(crossing.map((line) => line.to));
  return [...(from < first - OPEN_MIN ? [from] : []), ...borders, ...(to > last + OPEN_MIN ? [to] : [])];
}

/** The cells of a grid with their texts; null if it is no table. */
function cellsIn(grid: Grid, runs: readonly Run[]): Segment[] | null {
  const { across, down } = grid;
  const [width, height] = [across.length - 1, down.length - 1];
  const areas = areasOf(grid, width, height);
  const byArea = Map.groupBy(runs, (run) => {
    const column = intervalOf(across, (run.left + run.right) / 2);
    const row = intervalOf(down, run.baseline - run.size / 3);
    return areas[row * width + column] ?? 0;
  });
  const columns = across.slice(1).map((to, at): Column => ({ from: across[at] ?? to, to }));
  const table: RuledTable = { columns, rowCount: height };
  const texts = [...byArea].flatMap(([area, inside]) => {
    const text = textIn(inside);
    if (text === null) return [];
    const own = areas.flatMap((each, at) => (each === area ? [at] : []));
    const [inColumns, inRows] = [own.map((at) => at % width), own.map((at) => Math.floor(at / width))];
    const row = Math.min(...inRows);
    const cell = {
      table,
      row,
      first: Math.min(...inColumns),
      last: Math.max(...inColumns),
      lastRow: Math.max(...inRows),
    };
    return [{ segment: { ...text.segment, cell }, cell, lines: text.lines, right: columns[cell.last]?.to ?? 0 }];
  });
  const rowsWithTexts = new Set(texts.map(({ cell }) => cell.row)).size;
  const columnsWithTexts = new Set(texts.map(({ cell }) => cell.first)).size;
  const lengths = texts.map(({ segment }) => segment.text.length);
  const characters = lengths.reduce((sum, length) => sum + length, 0);
  const isTable =
    rowsWithTexts > 1 &&
    columnsWithTexts > 1 &&
    texts.length >= FILLED_MIN * new Set(areas).size &&
    !texts.some(({ lines }) => lines.filter(({ segments }) => segments.length > 1).length >= BOX_ROWS_MIN) &&
    characters <= MEAN_CHARACTERS_MAX * texts.length &&
    Math.max(...lengths) <= CHARACTERS_MAX;
  if (!isTable) return null;
  if (
    Map.groupBy(texts, ({ cell }) => cell.row)
      .values()
      .some((row) => holdsSeveralRows(row))
  )
    return null;
  // gives the cells of a row the same baseline
  const lines = new Map<number, number>();
  for (const { cell, segment } of texts) {
    lines.set(cell.row, Math.min(lines.get(cell.row) ?? segment.baseline, segment.baseline));
  }
  return texts.map(({ segment, cell }) => ({ ...segment, baseline: lines.get(cell.row) ?? segment.baseline }));
}

/** The lines of a cell. */
interface CellLines {
  readonly cell: RuledCell;
  readonly lines: readonly Row[];
  /** Right edge of the cell. */
  readonly right: number;
}

/**
 * Whether the cells between two borders are several rows: three cells have lines at the same heights, or broken lines
 * (`isBroken`), or two have broken lines, one of them figures.
 */
function holdsSeveralRows(cells: readonly CellLines[]): boolean {
  const several = cells.filter(({ cell, lines }) => lines.length > 1 && cell.lastRow === cell.row);
  const aligned = Map.groupBy(several, ({ lines }) =>
    lines.length < ROWS_MIN ? "" : lines.map(({ baseline }) => Math.round(baseline / 2)).join(" "),
  );
  if (aligned.entries().some(([key, group]) => key !== "" && group.length >= ROWS_MIN)) return true;
  const broken = several.filter(isBroken);
  const hasFigures = broken.some(({ lines }) => lines.filter(({ text }) => isFigure(text)).length * 2 > lines.length);
  return broken.length >= ROWS_MIN || (broken.length === 2 && hasFigures);
}

/** Whether all lines of a cell but the last end although the next word fits on them, as those of an address. */
function isBroken({ lines, right }: CellLines): boolean {
  return lines.slice(1).every((below, at) => {
    const above = lines[at];
    const word = (/^\S+/.exec(below.text)?.[0].length ?? 0) / Math.max(1, below.text.length);
    return above !== undefined && above.right + word * (below.right - below.left) + 0.5 * below.size < right;
  });
}

/** For each cell of a grid, row by row, the number of the first cell that it is merged with. */
function areasOf(grid: Grid, width: number, height: number): number[] {
  const { across, down } = grid;
  const areas = Array.from({ length: width * height }, (_, at) => at);
  const merge = (one: number, other: number) => {
    const [from, to] = [areas[other], areas[one]];
    if (from === to || from === undefined || to === undefined) return;
    for (let at = 0; at < areas.length; at++) if (areas[at] === from) areas[at] = to;
  };
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const [left, right] = [across[column] ?? 0, across[column + 1] ?? 0];
      const [top, bottom] = [down[row] ?? 0, down[row + 1] ?? 0];
      const here = row * width + column;
      if (column + 1 < width && !grid.hasBorder(false, right, top, bottom)) merge(here, here + 1);
      if (row + 1 < height && !grid.hasBorder(true, bottom, left, right)) merge(here, here + width);
    }
  }
  return areas;
}

function intervalOf(positions: readonly number[], at: number): number {
  const next = positions.findIndex((position) => position > at);
  return Math.max(0, (next === -1 ? positions.length : next) - 1);
}

/** The text of a cell as one segment, and its lines; null if it has no text. */
function textIn(runs: readonly Run[]): { readonly segment: Segment; readonly lines: readonly Row[] } | null {
  const rows = rowsOf(segmentsOf(runs));
  const [first] = rows;
  if (first === undefined) return null;
  const text = rows
    .map((row) => withoutSymbols(row.text))
    .reduce((above, line) =>
      /\p{Ll}[-\u00ad]$/u.test(above) && /^\p{Ll}/u.test(line) ? above.slice(0, -1) + line : `${above} ${line}`,
    )
    .trim();
  if (text === "") return null;
  const [left, right] = [Math.min(...rows.map((row) => row.left)), Math.max(...rows.map((row) => row.right))];
  const isBold = rows.every((row) => row.isBold);
  const parts = rows.length === 1 ? first.segments.flatMap((segment) => segment.parts) : [{ text, left, right }];
  const { baseline, size, isMonospaced, drawnAt } = first;
  return { segment: { text, left, right, baseline, size, isBold, isMonospaced, parts, drawnAt }, lines: rows };
}
