// Lays out a table of a Word document: rows as lines, in which merged cells repeat the text that they share. If the
// content of a row is too long for one line, the blocks of its cells are written one by one. table.ts writes the lines.

import { type Block, type BlockSink, onOneLine } from "../text-writer.ts";
import { withoutMarker } from "./lists.ts";
import { type Cell, fitsLine, type HeaderHint, TableRows } from "./table.ts";

/** Maximum column span of a cell. Word allows 63 columns. */
const COLUMNS_MAX = 100;

/** A cell with its content. */
export interface CellContent {
  readonly blocks: readonly Block[];
  readonly span: number;
  /** Whether the cell is merged with the cell above. */
  readonly isMerged: boolean;
  readonly isBold: boolean;
  readonly hasTable: boolean;
}

/** Receives the rows of a table and writes their lines. */
export class WordTable {
  /** Whether the first row is formatted as a header. */
  hint: HeaderHint = "none";
  /** Number of columns that the table declares. */
  declaredColumns = 0;
  readonly #sink: BlockSink;
  #rows: TableRows | null = null;
  /** Texts of the previous row by column. Merged cells repeat them. */
  #above = new Map<number, string>();

  constructor(sink: BlockSink) {
    this.#sink = sink;
  }

  addRow(contents: readonly CellContent[], isHeader: boolean): void {
    if (contents.length === 1 && this.declaredColumns <= 1) {
      // a table of one cell is only a frame around its content
      for (const block of contents[0]?.blocks ?? []) this.#sink.write(block);
      return;
    }
    const rows = this.#rows ?? new TableRows(this.hint);
    this.#rows = rows;
    if (contents.some(exceedsLine)) {
      this.#writeAll(rows.end());
      let column = 0;
      for (const { blocks, span } of contents) {
        this.#unfold(blocks, rows.nameOf(column));
        column += columnsIn(span);
      }
    } else this.#writeAll(rows.add({ cells: this.#cellsOf(contents), isHeader }));
  }

  /** Writes the remaining lines. */
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
      const own = blocks.map(({ text }) => onOneLine(withoutMarker(text))).join(" ");
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

function exceedsLine({ blocks, hasTable }: CellContent): boolean {
  return hasTable || !fitsLine(blocks.map(({ text }) => text));
}
