// Finds the values of ranges of cells to which charts refer without a copy of the values.

import { rangeOfName } from "../../domain/cell-range.ts";
import type { ChartValues } from "./chart.ts";
import type { OfficePackage } from "./package.ts";
import { type SheetContext, SheetReader, type SheetRow } from "./xlsx-sheet.ts";

/** A sheet of a workbook. */
export interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  readonly part: string;
  /** Whether it has cells; others are sheets of charts or dialogs. */
  readonly isWorksheet: boolean;
}

/** Maximum number of cells of a range, and of sheets that are read again for charts. */
const CELLS_MAX = 20_000;
const SHEETS_MAX = 20;

/** Reads ranges. Keeps the rows of one sheet. */
export class RangeReader {
  #name = "";
  #rows: readonly SheetRow[] = [];
  #readAgain = 0;

  constructor(
    private readonly document: OfficePackage,
    private readonly context: SheetContext,
    private readonly sheets: readonly Sheet[],
  ) {}

  /** Keeps the rows of the sheet that is being read. */
  keep(name: string, rows: readonly SheetRow[]): void {
    this.#name = name;
    this.#rows = rows;
  }

  /**
   * The texts of a range such as `Sheet1!$B$2:$B$9` by their index; none if it is not understood or too large.
   * @throws ReadFailure if a sheet is damaged or exceeds the budget
   */
  valuesOf(range: string): ChartValues {
    const values = new Map<number, string>();
    const [, quoted, plain, cells = ""] = /^(?:'((?:[^']|'')+)'|([^'!]+))!([$A-Z0-9:]+)$/i.exec(range) ?? [];
    const found = rangeOfName(cells);
    if (found === null) return values;
    const { top, left, bottom, right } = found;
    const columns = right - left + 1;
    if ((bottom - top + 1) * columns > CELLS_MAX) return values;
    for (const row of this.#rowsOf(quoted?.replaceAll("''", "'") ?? plain ?? "")) {
      if (row.row < top || row.row > bottom) continue;
      for (const [at, column] of row.columns.entries()) {
        if (column < left || column > right) continue;
        values.set((row.row - top) * columns + column - left, row.texts[at] ?? "");
      }
    }
    return values;
  }

  #rowsOf(name: string): readonly SheetRow[] {
    if (name === this.#name) return this.#rows;
    const sheet = this.sheets.find((each) => each.name === name && each.isWorksheet);
    if (sheet === undefined || this.#readAgain >= SHEETS_MAX) return [];
    this.#readAgain++;
    const reader = new SheetReader(this.context);
    this.document.read(sheet.part, "x", reader);
    this.keep(name, reader.rows);
    return reader.rows;
  }
}
