// A table of a page while it is read: where its cells stand, what is merged, and which rows are lines. What holds more than fits a
// line is unfolded into its blocks. How rows are written is office/table.ts's question.

import type { Budget } from "../budget.ts";
import { type Cell, fitsLine, TableRows } from "../office/table.ts";
import { onOneLine } from "../text-writer.ts";
import type { PageBlock, PageSink } from "./flow.ts";

/** Columns that one cell takes at most: a browser takes 1,000, no reader has seen 100. */
const SPAN_MAX = 100;
/** Text that is repeated in the rows that its cell reaches into. */
const REPEATED_UNITS_MAX = 200;

/** A cell as it was read. */
export interface PageCell {
  readonly blocks: readonly PageBlock[];
  readonly columns: number;
  /** 0: to the end of the table. */
  readonly rows: number;
  readonly isHeader: boolean;
  readonly isBold: boolean;
  readonly hasTable: boolean;
}

/** A cell that reaches into rows below its own. */
interface Reaching extends Cell {
  /** Rows that it still reaches into. */
  readonly rowsLeft: number;
}

/** Takes the rows of a table and writes their lines. */
export class PageTable {
  readonly #rows: TableRows;
  #reaching: readonly Reaching[] = [];
  /** Most columns of a row so far. */
  #width = 0;
  #hasWideRow = false;
  /** Whether a row says that it names the columns. */
  #hasNames = false;

  constructor(
    private readonly sink: PageSink,
    private readonly budget: Budget,
    /** Whether lines are drawn between its cells: then it is no layout, and its first row is likely to name columns. */
    isDrawn: boolean,
  ) {
    this.#rows = new TableRows(isDrawn ? "likely" : "none");
  }

  /** @param isHead whether the row stands in `thead` */
  addRow(cells: readonly PageCell[], isHead: boolean): void {
    const { own, all } = this.#place(cells);
    const filled = cells.filter(({ blocks }) => blocks.length > 0);
    this.#width = all.reduce((width, { column, span }) => Math.max(width, column + span), this.#width);
    const [first] = filled;
    if (first === undefined) return;
    if (all.length === 1 && this.#width === 1) this.#writeBlocks(first.blocks);
    else if (filled.some(isTooMuch)) this.#unfold(cells, own);
    else if (filled.length === 1 && this.#hasWideRow && first.columns >= this.#width) {
      // a heading within the table: it stands in no column
      this.#writeLines(this.#rows.end());
      this.#writeLines([textOf(first)]);
    } else if (!this.#hasNames && all.length === 2 && isEntry(cells)) {
      const [name = "", value = ""] = cells.map(textOf);
      this.#writeLines(this.#rows.end());
      this.#writeLines([`${name.replace(/[\s:]+$/, "")}: ${value}`]);
      this.#hasWideRow = true;
    } else {
      const isHeader = isHead || (filled.length > 1 && filled.every((cell) => cell.isHeader));
      this.#hasNames ||= isHeader;
      this.#writeLines(this.#rows.add({ cells: all, isHeader }));
      this.#hasWideRow ||= all.length > 1;
    }
  }

  /** Writes what is left. */
  end(): void {
    this.#writeLines(this.#rows.end());
  }

  /** Where the cells of a row stand (HTML, 4.9.12): in the columns that those above it leave free. */
  #place(cells: readonly PageCell[]): { readonly own: readonly Cell[]; readonly all: readonly Cell[] } {
    const above = this.#reaching;
    const reaching: Reaching[] = [];
    for (const cell of above) if (cell.rowsLeft > 1) reaching.push({ ...cell, rowsLeft: cell.rowsLeft - 1 });
    const own: Cell[] = [];
    const all: Cell[] = [];
    let column = 0;
    let next = 0;
    const passReaching = () => {
      for (let each = above[next]; each !== undefined && each.column <= column; each = above[++next]) {
        column = Math.max(column, each.column + each.span);
        all.push(each);
      }
    };
    for (const cell of cells) {
      passReaching();
      const span = Math.min(cell.columns, SPAN_MAX);
      const placed = { text: textOf(cell), column, span, isBold: cell.isBold };
      own.push(placed);
      all.push(placed);
      if (cell.rows !== 1)
        reaching.push({
          ...placed,
          text: repeated(placed.text),
          rowsLeft: cell.rows === 0 ? Number.POSITIVE_INFINITY : cell.rows - 1,
        });
      column += span;
    }
    for (let each = above[next]; each !== undefined; each = above[++next]) all.push(each);
    this.budget.addCells(all.reduce((sum, { span }) => sum + span, 0));
    this.#reaching = reaching.sort((a, b) => a.column - b.column);
    return { own, all };
  }

  #unfold(cells: readonly PageCell[], places: readonly Cell[]): void {
    this.#writeLines(this.#rows.end());
    for (const [at, { blocks }] of cells.entries()) {
      const place = places[at];
      const name = place?.span === 1 ? this.#rows.nameOf(place.column) : "";
      const [first] = blocks;
      if (name !== "" && first !== undefined) {
        const isAlone = blocks.length === 1 && !first.isCode;
        this.#write(isAlone ? `${name}: ${first.plain}` : `${name}:`, null);
        if (isAlone) continue;
      }
      this.#writeBlocks(blocks);
    }
  }

  #writeBlocks(blocks: readonly PageBlock[]): void {
    for (const block of blocks) this.sink.write(block);
  }

  #writeLines(lines: Iterable<string>): void {
    for (const text of lines) this.#write(text, this.#rows.series);
  }

  #write(text: string, series: object | null): void {
    this.sink.write({ text, series, plain: text, isItem: false, isCode: false });
  }
}

/** A cell's text on one line; items of lists are set apart. */
function textOf({ blocks }: PageCell): string {
  let text = "";
  for (const [at, { plain, isItem }] of blocks.entries()) {
    const isNextItem = isItem && blocks[at - 1]?.isItem === true && !/[.,;:!?…]$/.test(text);
    text += `${at === 0 ? "" : isNextItem ? "; " : " "}${onOneLine(plain)}`;
  }
  return text;
}

/** Whether a row says something of one thing, like `Capital: Oslo`: its name is a header or ends in a colon, its value is neither. */
function isEntry([first, second]: readonly PageCell[]): boolean {
  if (first === undefined || second === undefined) return false;
  if (first.blocks.length === 0 || second.blocks.length === 0 || first.rows !== 1 || second.isHeader) return false;
  return first.isHeader || textOf(first).endsWith(":");
}

function repeated(text: string): string {
  return text.length <= REPEATED_UNITS_MAX ? text : "";
}

function isTooMuch({ blocks, hasTable }: PageCell): boolean {
  const hasCode = blocks.some(({ isCode, plain }) => isCode && plain.includes("\n"));
  return hasTable || hasCode || !fitsLine(blocks.map(({ plain }) => plain));
}
