// Collects the cells of a sheet of an OpenDocument spreadsheet, in the form of Excel's cells. office/xlsx-rows.ts
// writes them.

import type { CellRange } from "../../domain/cell-range.ts";
import type { Budget } from "../budget.ts";
import { linesOfSheet, type SheetLine } from "../office/xlsx-rows.ts";
import type { SheetRow } from "../office/xlsx-sheet.ts";
import { commentText } from "../text-writer.ts";
import type { CellValue } from "./cell-values.ts";

/** A sheet that is being read. */
export class OpenSheet {
  readonly #rows: SheetRow[] = [];
  readonly #merged: CellRange[] = [];
  readonly #notes = new Map<string, string[]>();
  #row = emptyRow(1);
  #number = 1;

  constructor(private readonly budget: Budget) {}

  /** Adds a cell to the open row. @param span number of rows and columns that it covers */
  addCell(value: CellValue & { readonly isBold: boolean }, column: number, span: readonly [number, number]): void {
    this.budget.addCells(1);
    this.#row.columns.push(column);
    this.#row.texts.push(value.text);
    this.#row.areNumbers.push(value.isNumber);
    this.#row.areBold.push(value.isBold);
    const [rows, columns] = span;
    if (rows === 1 && columns === 1) return;
    const [top, left] = [this.#number, column];
    this.#merged.push({ top, left, bottom: top + rows - 1, right: left + columns - 1 });
  }

  /** Adds a comment on a cell of the open row. */
  addComment(author: string, text: string, column: number): void {
    const key = `${this.#number} ${column}`;
    this.#notes.set(key, [...(this.#notes.get(key) ?? []), commentText(author, text)]);
  }

  /** Ends the open row. @param repeats number of rows with the same cells */
  endRow(repeats: number): void {
    const row = this.#row;
    if (row.columns.length > 0) this.#rows.push(row);
    for (let more = 1; more < repeats && row.columns.length > 0; more++) {
      this.budget.addCells(row.columns.length);
      this.#rows.push({ ...row, row: this.#number + more });
    }
    this.#number += repeats;
    this.#row = emptyRow(this.#number);
  }

  lines(): Generator<SheetLine> {
    return linesOfSheet({ rows: this.#rows, merged: this.#merged, headed: [], notes: this.#notes }, this.budget);
  }
}

function emptyRow(row: number): SheetRow {
  return { row, columns: [], texts: [], areNumbers: [], areBold: [] };
}
