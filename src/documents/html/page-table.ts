// Lays out a table of a page: cell positions, spans, and rows as lines. If the content of a row is too long for one
// line, the blocks of its cells are written one by one. office/table.ts writes the lines.

import type { Budget } from "../budget.ts";
import { type Cell, fitsLine, TableRows } from "../office/table.ts";
import { onOneLine } from "../text-writer.ts";
import type { PageBlock, PageSink } from "./page-block.ts";

/** Maximum column span of a cell. Browsers allow 1,000, but real pages stay below 100. */
const SPAN_MAX = 100;
/** Maximum length of a cell's text, in UTF-16 code units, that is repeated in all rows of its row span. */
const REPEATED_UNITS_MAX = 200;

/** A cell with its content. */
export interface PageCell {
  readonly blocks: readonly PageBlock[];
  readonly columns: number;
  /** Row span; 0 if the cell spans all rows to the end of the table. */
  readonly rows: number;
  readonly isHeader: boolean;
  readonly isBold: boolean;
  readonly hasTable: boolean;
}

/** A cell whose row span includes rows below the current one. */
interface SpanningCell extends Cell {
  /** Number of rows of its span that are still to come. */
  readonly rowsLeft: number;
}

/** Receives the rows of a table and writes their lines. */
export class PageTable {
  readonly #rows: TableRows;
  #spanning: readonly SpanningCell[] = [];
  /** Maximum number of columns of the rows so far. */
  #width = 0;
  #hasWideRow = false;
  /** Whether a header row has been found. */
  #hasNames = false;

  constructor(
    private readonly sink: PageSink,
    private readonly budget: Budget,
    /**
     * Whether the table has borders. If it has, it contains data and does not serve layout, and its first row is
     * probably a header.
     */
    hasBorder: boolean,
  ) {
    this.#rows = new TableRows(hasBorder ? "likely" : "none");
  }

  /** @param isHead whether the row is in `thead` */
  addRow(cells: readonly PageCell[], isHead: boolean): void {
    const { own, all } = this.#place(cells);
    const filled = cells.filter(({ blocks }) => blocks.length > 0);
    this.#width = all.reduce((width, { column, span }) => Math.max(width, column + span), this.#width);
    const [first] = filled;
    if (first === undefined) return;
    if (all.length === 1 && this.#width === 1) this.#writeBlocks(first.blocks);
    else if (filled.some(exceedsLine)) this.#unfold(cells, own);
    else if (filled.length === 1 && this.#hasWideRow && first.columns >= this.#width) {
      // a single cell that spans all columns is a heading within the table
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

  /** Writes the remaining lines. */
  end(): void {
    this.#writeLines(this.#rows.end());
  }

  /**
   * Computes the columns of the cells in a row (HTML, 4.9.12). The cells fill the columns that are not occupied by row
   * spans from above.
   */
  #place(cells: readonly PageCell[]): { readonly own: readonly Cell[]; readonly all: readonly Cell[] } {
    const above = this.#spanning;
    const spanning: SpanningCell[] = [];
    for (const cell of above) if (cell.rowsLeft > 1) spanning.push({ ...cell, rowsLeft: cell.rowsLeft - 1 });
    const own: Cell[] = [];
    const all: Cell[] = [];
    let column = 0;
    let next = 0;
    const skipSpanning = () => {
      for (let each = above[next]; each !== undefined && each.column <= column; each = above[++next]) {
        column = Math.max(column, each.column + each.span);
        all.push(each);
      }
    };
    for (const cell of cells) {
      skipSpanning();
      const span = Math.min(cell.columns, SPAN_MAX);
      const placed = { text: textOf(cell), column, span, isBold: cell.isBold };
      own.push(placed);
      all.push(placed);
      if (cell.rows !== 1)
        spanning.push({
          ...placed,
          text: repeated(placed.text),
          rowsLeft: cell.rows === 0 ? Number.POSITIVE_INFINITY : cell.rows - 1,
        });
      column += span;
    }
    for (let each = above[next]; each !== undefined; each = above[++next]) all.push(each);
    this.budget.addCells(all.reduce((sum, { span }) => sum + span, 0));
    this.#spanning = spanning.sort((a, b) => a.column - b.column);
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

/** The text of a cell on one line. List items are separated by semicolons. */
function textOf({ blocks }: PageCell): string {
  let text = "";
  for (const [at, { plain, isItem }] of blocks.entries()) {
    const isNextItem = isItem && blocks[at - 1]?.isItem === true && !/[.,;:!?…]$/.test(text);
    text += `${at === 0 ? "" : isNextItem ? "; " : " "}${onOneLine(plain)}`;
  }
  return text;
}

/**
 * Whether a row is an entry such as `Capital: Oslo`: the name is a header cell or ends in a colon, and the value is not
 * a header cell.
 */
function isEntry([first, second]: readonly PageCell[]): boolean {
  if (first === undefined || second === undefined) return false;
  if (first.blocks.length === 0 || second.blocks.length === 0 || first.rows !== 1 || second.isHeader) return false;
  return first.isHeader || textOf(first).endsWith(":");
}

function repeated(text: string): string {
  return text.length <= REPEATED_UNITS_MAX ? text : "";
}

function exceedsLine({ blocks, hasTable }: PageCell): boolean {
  const hasCode = blocks.some(({ isCode, plain }) => isCode && plain.includes("\n"));
  return hasTable || hasCode || !fitsLine(blocks.map(({ plain }) => plain));
}
