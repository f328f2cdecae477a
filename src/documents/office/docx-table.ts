// A table of a Word document while it is read: its rows as lines, merged cells with what they share. Cells that hold more than fits
// a line are unfolded into their blocks. How rows are written is table.ts's question.

import { type Block, type BlockSink, onOneLine } from "../text-writer.ts";
import { withoutMark } from "./lists.ts";
import { type Cell, fitsLine, type HeaderHint, TableRows } from "./table.ts";

/** Word itself has at most 63 columns. */
const COLUMNS_MAX = 100;

/** A cell as it was read. */
export interface CellContent {
  readonly blocks: readonly Block[];
  readonly span: number;
  /** Whether it goes on with the cell above it. */
  readonly isMerged: boolean;
  readonly isBold: boolean;
  readonly hasTable: boolean;
}

/** Takes the rows of a table and writes their lines. */
export class WordTable {
  /** Whether the first row is shown as a header. */
  hint: HeaderHint = "none";
  /** Columns as the table declares them. */
  declaredColumns = 0;
  readonly #sink: BlockSink;
  #rows: TableRows | null = null;
  /** The cells that those of the next row may go on with, by column. */
  #above = new Map<number, string>();

  constructor(sink: BlockSink) {
    this.#sink = sink;
  }

  addRow(contents: readonly CellContent[], isHeader: boolean): void {
    if (contents.length === 1 && this.declaredColumns <= 1) {
      // a frame around what it holds
      for (const block of contents[0]?.blocks ?? []) this.#sink.write(block);
      return;
    }
    const rows = this.#rows ?? new TableRows(this.hint);
    this.#rows = rows;
    if (contents.some(isTooMuch)) {
      this.#writeAll(rows.end());
      let column = 0;
      for (const { blocks, span } of contents) {
        this.#unfold(blocks, rows.nameOf(column));
        column += columnsIn(span);
      }
    } else this.#writeAll(rows.add({ cells: this.#cellsOf(contents), isHeader }));
  }

  /** Writes what is left. */
  end(): void {
    if (this.#rows !== null) this.#writeAll(this.#rows.end());
  }

  #unfold(blocks: readonly Block[], name: string): void {
    const [first] = blocks;
    if (name !== "" && blocks.length === 1 && first !== undefined) {
      this.#sink.write({ text: `${name}: ${first.text}`, series: null });
      return;
    }
    if (name !== "" && first !== undefined) this.#sink.write({ text: `${name}:`, series: null });
    for (const block of blocks) this.#sink.write(block);
  }

  #cellsOf(contents: readonly CellContent[]): Cell[] {
    const above = this.#above;
    this.#above = new Map();
    let column = 0;
    return contents.map(({ blocks, span: declared, isMerged, isBold }) => {
      const own = blocks.map(({ text }) => onOneLine(withoutMark(text))).join(" ");
      const text = isMerged && own === "" ? (above.get(column) ?? "") : own;
      const span = columnsIn(declared);
      const cell = { text, column, span, isBold };
      this.#above.set(column, text);
      column += span;
      return cell;
    });
  }

  #writeAll(lines: Iterable<string>): void {
    const series = this.#rows?.series ?? null;
    for (const text of lines) this.#sink.write({ text, series });
  }
}

function columnsIn(span: number): number {
  return Math.min(Math.max(span, 1), COLUMNS_MAX);
}

function isTooMuch({ blocks, hasTable }: CellContent): boolean {
  return hasTable || !fitsLine(blocks.map(({ text }) => text));
}
