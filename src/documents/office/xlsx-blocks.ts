// Finds tables that stand beside each other on a sheet, separated by empty columns, so that each is read with its own
// column names.

import type { CellRange } from "../../domain/cell-range.ts";
import { headerRows, isQuantity } from "./table.ts";
import { type SheetRow, tableCells } from "./xlsx-sheet.ts";

/** Rows of a sheet that are read together. */
export interface SheetBlock {
  readonly rows: readonly SheetRow[];
  /** Whether it is one of several tables that stand beside each other. */
  readonly isBesideOthers: boolean;
  /** Its columns. */
  readonly columns: Span;
  /** Its cells, if the tables beside each other have their column names in the same row; else null. */
  readonly headed: CellRange | null;
}

/** Columns from the first to the last. */
interface Span {
  readonly first: number;
  readonly last: number;
}

/** Maximum number of groups of rows of a sheet that are searched for tables beside each other. */
const GROUPS_MAX = 500;
/** Maximum number of rows of a remark beside a table, and minimum number of rows of the table. */
const REMARK_ROWS_MAX = 2;
const TABLE_ROWS_MIN = 3;
/** Minimum number of rows below the title of a list. */
const TITLED_ROWS_MIN = 2;
const ALL: Span = { first: 0, last: Number.MAX_SAFE_INTEGER };

/** The blocks of a sheet in reading order: from top to bottom, and beside each other from left to right. */
export function* blocksOfSheet(rows: readonly SheetRow[], merged: readonly CellRange[]): Generator<SheetBlock> {
  const sorted = rows.toSorted((one, other) => one.row - other.row);
  let searched = 0;
  let start = 0;
  for (const [from, to] of groupsOf(sorted)) {
    const group = sorted.slice(from, to);
    const spans = searched < GROUPS_MAX ? spansOf(group) : [];
    if (spans.length < 2) continue;
    searched++;
    const tables = tablesIn(group, spans, merged);
    if (tables.length < 2) continue;
    if (start < from) yield { rows: sorted.slice(start, from), isBesideOthers: false, columns: ALL, headed: null };
    const head = group.slice(0, 2).map((row) => ({ cells: tableCells(row), isHeader: false }));
    const isNamed = headerRows(head, "likely") === 1;
    for (const columns of tables) {
      const own = rowsWithin(group, columns);
      const [top, bottom] = [own[0]?.row ?? 0, own.at(-1)?.row ?? 0];
      const range = { top, bottom, left: columns.first, right: columns.last };
      yield { rows: own, isBesideOthers: true, columns, headed: isNamed && top === group[0]?.row ? range : null };
    }
    start = to;
  }
  if (start < sorted.length) yield { rows: sorted.slice(start), isBesideOthers: false, columns: ALL, headed: null };
}

/** Beginning and end of each group of rows without an empty row between them. */
function* groupsOf(rows: readonly SheetRow[]): Generator<readonly [from: number, to: number]> {
  let from = 0;
  for (let at = 1; at <= rows.length; at++) {
    if (at < rows.length && (rows[at]?.row ?? 0) <= (rows[at - 1]?.row ?? 0) + 1) continue;
    if (at > from) yield [from, at];
    from = at;
  }
}

/** The spans of columns that have cells, separated by columns without any. */
function spansOf(group: readonly SheetRow[]): Span[] {
  const used = new Set<number>();
  for (const { columns } of group) for (const column of columns) used.add(column);
  const spans: { first: number; last: number }[] = [];
  for (const column of [...used].sort((one, other) => one - other)) {
    const open = spans.at(-1);
    if (open !== undefined && column === open.last + 1) open.last = column;
    else spans.push({ first: column, last: column });
  }
  return spans;
}

/** Joins spans that belong to one table. */
function tablesIn(group: readonly SheetRow[], spans: readonly Span[], merged: readonly CellRange[]): Span[] {
  const [top, bottom] = [group[0]?.row ?? 0, group.at(-1)?.row ?? 0];
  const wide = merged.filter((range) => range.top <= bottom && range.bottom >= top && range.right > range.left);
  const tables: Span[] = [];
  for (const span of spans) {
    const left = tables.at(-1);
    if (left === undefined) {
      tables.push(span);
      continue;
    }
    const isBridged = wide.some((range) => range.left <= left.last && range.right >= span.first);
    if (!isBridged && areApart(group, left, span)) tables.push(span);
    else tables[tables.length - 1] = { first: left.first, last: span.last };
  }
  return tables;
}

/**
 * Whether two parts of a group are tables of their own. Many tables have an empty column between their labels and
 * their values; the part on the right then begins with values, or has the same rows.
 */
function areApart(group: readonly SheetRow[], one: Span, other: Span): boolean {
  const [left, right] = [rowsWithin(group, one), rowsWithin(group, other)];
  const [leftFirst, rightFirst] = [left[0], right[0]];
  if (leftFirst === undefined || rightFirst === undefined) return false;
  const isSameHead = leftFirst.row === rightFirst.row && leftFirst.texts.join("\n") === rightFirst.texts.join("\n");
  if (isSameHead && leftFirst.texts.length > 1) return true;
  if (one.first < one.last && isTitledList(right, other)) return true;
  const hasSameRows = left.length === right.length && left.every(({ row }, at) => row === right[at]?.row);
  if (hasSameRows) return false;
  const isNarrow = other.first === other.last;
  // only column names, of a table that follows below an empty row
  const isHeadOnly = group.every(({ texts, areNumbers }) =>
    texts.every((text, at) => areNumbers[at] !== true && !isQuantity(text)),
  );
  if (isHeadOnly && group.length < TABLE_ROWS_MIN) return false;
  const labels = right.flatMap(({ columns, texts, areNumbers }) => {
    const at = columns.indexOf(other.first);
    return at === -1 ? [] : [{ text: texts[at] ?? "", isNumber: areNumbers[at] ?? false }];
  });
  const areTexts = labels.length > 0 && labels.every(({ text, isNumber }) => !isNumber && !isQuantity(text));
  if (isNarrow) {
    // true for a remark beside a table, below its header
    const isBelowHead = rightFirst.row > leftFirst.row;
    const isTable = one.first < one.last && left.length >= TABLE_ROWS_MIN;
    return isTable && isBelowHead && areTexts && right.length <= REMARK_ROWS_MAX;
  }
  // whether the first column has a name above values: `Year` above 2023
  const [head, ...below] = labels;
  const isNamed = head !== undefined && below.length > 0 && !head.isNumber && !isQuantity(head.text);
  const isHeadFull = rightFirst.texts.length === other.last - other.first + 1;
  return areTexts || (isNamed && isHeadFull && rightFirst.row !== leftFirst.row);
}

/** Whether rows are a title above names with their values. */
function isTitledList([title, ...below]: readonly SheetRow[], { first, last }: Span): boolean {
  if (title === undefined || first === last || below.length < TITLED_ROWS_MIN) return false;
  const isText = ({ columns, texts, areNumbers }: SheetRow) =>
    columns[0] === first && areNumbers[0] !== true && !isQuantity(texts[0] ?? "");
  return title.texts.length === 1 && isText(title) && below.every((row) => row.texts.length > 1 && isText(row));
}

function rowsWithin(rows: readonly SheetRow[], { first, last }: Span): SheetRow[] {
  return rows.flatMap((each) => {
    const { row, columns, texts, areNumbers, areBold } = each;
    const kept = columns.flatMap((column, at) => (column >= first && column <= last ? [at] : []));
    if (kept.length === columns.length) return [each];
    if (kept.length === 0) return [];
    return [
      {
        row,
        columns: kept.map((at) => columns[at] ?? 0),
        texts: kept.map((at) => texts[at] ?? ""),
        areNumbers: kept.map((at) => areNumbers[at] ?? false),
        areBold: kept.map((at) => areBold[at] ?? false),
      },
    ];
  });
}
