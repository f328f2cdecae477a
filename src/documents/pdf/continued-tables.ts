// Names the columns of tables that continue on the next page, where their names are not repeated, or were left out as a
// running header.

import type { Block, TableBlock } from "./blocks.ts";
import { isFigure, type TableContent } from "./table-header.ts";
import { linesOf } from "./tables.ts";

/** Maximum number of blocks between two parts of a table, such as footnotes, and of their lines. */
const BETWEEN_MAX = 2;
/** Maximum distance between the edges of the same column on two pages, in points. */
const EDGE_POINTS = 6;

/** Gives the column names of a table to its continuation on the next page. Returns all blocks. */
export function withContinuedTables(blocks: readonly Block[]): Block[] {
  const result: Block[] = [];
  let open: { readonly table: TableBlock; readonly content: TableContent; readonly at: number } | null = null;
  for (const block of blocks) {
    const content = block.kind === "table" ? block.content : undefined;
    if (block.kind !== "table" || content === undefined) {
      result.push(block);
      continue;
    }
    let [table, whole]: [TableBlock, TableContent] = [block, content];
    if (
      open !== null &&
      isNextTo(open.table, block, result.slice(open.at + 1)) &&
      continuesTable(open.content, content)
    ) {
      whole = { ...content, names: open.content.names };
      table = { ...block, lines: linesOf(whole), content: whole };
    }
    result.push(table);
    open = whole.names === null ? null : { table, content: whole, at: result.length - 1 };
  }
  return result;
}

function isNextTo(table: TableBlock, next: TableBlock, between: readonly Block[]): boolean {
  return (
    next.page === table.page + 1 && between.length <= BETWEEN_MAX && between.every(({ lines }) => lines.length <= 2)
  );
}

/** Whether a table without names has the same columns, with values of the same kinds. */
function continuesTable(above: TableContent, below: TableContent): boolean {
  if (below.names !== null || above.names === null || below.columns.length !== above.columns.length) return false;
  return above.columns.every((column, at) => {
    const other = below.columns[at];
    if (other === undefined) return false;
    const isSame = Math.abs(column.from - other.from) < EDGE_POINTS || Math.abs(column.to - other.to) < EDGE_POINTS;
    const overlaps = column.from < other.to && column.to > other.from;
    const [kind, otherKind] = [kindOf(above, at), kindOf(below, at)];
    return (isSame || overlaps) && (kind === null || otherKind === null || kind === otherKind);
  });
}

/** Whether most values of a column are figures; null if it has none. */
function kindOf({ records }: TableContent, column: number): boolean | null {
  const values = records.map((record) => record[column] ?? "").filter((text) => text !== "");
  return values.length === 0 ? null : values.filter(isFigure).length * 2 > values.length;
}
