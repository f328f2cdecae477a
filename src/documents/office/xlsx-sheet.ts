// Reads the cells of a sheet (ECMA-376-1, 18.3.1) as texts, row by row. Empty cells take no memory. xlsx-rows.ts
// interprets the rows.

import { type Budget, refuse } from "../budget.ts";
import { onOneLine } from "../text-writer.ts";
import type { CellStyle } from "./xlsx-styles.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** The filled cells of a row, usually in the order of their columns. */
export interface SheetRow {
  /** Row number, from 1. */
  readonly row: number;
  /** Column number, from 0. */
  readonly columns: number[];
  readonly texts: string[];
  /** Whether all cells are bold. */
  isBold: boolean;
}

/** A rectangle of cells, including its bounds. Rows are counted from 1, columns from 0. */
export interface CellRange {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

/** Contents of other parts of the workbook to which cells refer. */
export interface SheetContext {
  readonly budget: Budget;
  /** The shared strings; null if the part with them is missing. */
  readonly strings: readonly string[] | null;
  look(style: number): CellStyle;
}

/** Parses the reference of a cell (`B7`); null if the text is not a cell reference. */
export function cellAt(name: string): { readonly row: number; readonly column: number } | null {
  const [, letters = "", row] = /^\$?([A-Z]{1,3})\$?(\d{1,7})$/i.exec(name.trim()) ?? [];
  return row === undefined ? null : { row: Number(row), column: columnOf(letters) ?? 0 };
}

/**
 * The column of a cell reference, from 0; null if it has no letters or more than three. Avoids regular expressions,
 * because it runs for every cell.
 */
function columnOf(name: string): number | null {
  let column = 0;
  let at = 0;
  for (; at < name.length; at++) {
    // clears the bit that distinguishes lower case from upper case
    const letter = (name.charCodeAt(at) & ~0x20) - 0x40;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return at === 0 || at > 3 ? null : column - 1;
}

/** Parses the reference of a range (`B7:D9`, `B7`); null if the text is not a range. */
export function rangeAt(name: string): CellRange | null {
  const [from = "", to = from] = name.split(":");
  const [start, end] = [cellAt(from), cellAt(to)];
  if (start === null || end === null) return null;
  return { top: start.row, left: start.column, bottom: end.row, right: end.column };
}

/** Reads the cells of a sheet. */
export class SheetReader implements XmlHandler {
  wasFound = false;
  readonly rows: SheetRow[] = [];
  readonly merged: CellRange[] = [];
  /** Ranges with a filter: their first row is a header. */
  readonly headed: CellRange[] = [];
  #row: SheetRow | null = null;
  #rowNumber = 0;
  #column = -1;
  #type = "n";
  #style = 0;
  #value = "";
  #formula = "";
  #into: "value" | "formula" | null = null;

  constructor(private readonly context: SheetContext) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    switch (name) {
      case "x:sheetData":
        this.wasFound = true;
        break;
      case "x:row":
        this.#rowNumber = Number.parseInt(attributes.r ?? "", 10) || this.#rowNumber + 1;
        this.#column = -1;
        this.#row = { row: this.#rowNumber, columns: [], texts: [], isBold: true };
        break;
      case "x:c":
        this.#column = columnOf(attributes.r ?? "") ?? this.#column + 1;
        this.#type = attributes.t ?? "n";
        this.#style = Number.parseInt(attributes.s ?? "0", 10) || 0;
        this.#value = "";
        this.#formula = "";
        break;
      case "x:v":
      case "x:t":
        this.#into = "value";
        break;
      case "x:f":
        this.#into = "formula";
        break;
      case "x:rPh":
      case "x:extLst":
        return "skip";
      case "x:mergeCell":
      case "x:autoFilter": {
        const range = rangeAt(attributes.ref ?? "");
        if (range !== null) (name === "x:mergeCell" ? this.merged : this.headed).push(range);
        break;
      }
    }
    return undefined;
  }

  text(text: string): void {
    if (this.#into === "value") this.#value += text;
    else if (this.#into === "formula") this.#formula += text;
  }

  close(name: string): void {
    switch (name) {
      case "x:v":
      case "x:t":
      case "x:f":
        this.#into = null;
        break;
      case "x:c":
        this.#addCell();
        break;
      case "x:row":
        if (this.#row !== null && this.#row.columns.length > 0) this.rows.push(this.#row);
        this.#row = null;
        break;
    }
  }

  #addCell(): void {
    const { show, isBold } = this.context.look(this.#style);
    const text = cellText(this.#type, this.#value, this.#formula, this.context.strings, show);
    if (text === "" || this.#row === null) return;
    this.context.budget.addCells(1);
    this.#row.columns.push(this.#column);
    this.#row.texts.push(text);
    if (!isBold) this.#row.isBold = false;
  }
}

function cellText(
  type: string,
  value: string,
  formula: string,
  strings: readonly string[] | null,
  show: CellStyle["show"],
): string {
  // a formula for which the file has no calculated value
  if (value === "") return formula.trim() === "" ? "" : onOneLine(`=${formula}`);
  switch (type) {
    case "s":
      if (strings === null) refuse("The file is damaged: the part that holds the texts of its cells is missing.");
      return strings[Number.parseInt(value, 10)] ?? "";
    case "b":
      return value.trim() === "1" || value.trim() === "true" ? "TRUE" : "FALSE";
    case "n": {
      const number = Number(value);
      return Number.isFinite(number) && value.trim() !== "" ? onOneLine(show(number)) : onOneLine(value);
    }
    default:
      return sheetText(value);
  }
}

/** Writes a text of a workbook on one line. Decodes escaped characters such as `_x000D_` (ECMA-376-1, 22.9.2.19). */
export function sheetText(text: string): string {
  const decoded = text.includes("_x")
    ? text.replace(/_x([0-9a-f]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
  return onOneLine(decoded);
}
