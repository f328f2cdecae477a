// Reads the cells of a sheet (ECMA-376-1, 18.3.1) as texts, row by row. Empty cells take no memory. xlsx-rows.ts
// interprets the rows.

import { type CellRange, columnOfName, rangeOfName } from "../../domain/cell-range.ts";
import { type Budget, refuse } from "../budget.ts";
import { onOneLine } from "../text-writer.ts";
import { struck } from "./scripted-text.ts";
import type { Cell } from "./table.ts";
import type { CellStyle } from "./xlsx-styles.ts";
import { RichText, sheetText } from "./xlsx-text.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** The filled cells of a row, usually in the order of their columns. */
export interface SheetRow {
  /** Row number, from 1. */
  readonly row: number;
  /** Column number, from 0. */
  readonly columns: number[];
  readonly texts: string[];
  /** For each cell, whether it holds a number that is not a time. */
  readonly areNumbers: boolean[];
  readonly areBold: boolean[];
}

/** The cells of a row as cells of a table. Merged cells still span one column. */
export function tableCells({ columns, texts, areNumbers, areBold }: SheetRow): Cell[] {
  return columns.map((column, at) => {
    const [isBold = false, isNumber = false] = [areBold[at], areNumbers[at]];
    return { text: texts[at] ?? "", column, span: 1, isBold, isNumber };
  });
}

/** Codes of headers and footers (ECMA-376-1, 18.3.1.46): page numbers with the words around them, and all others. */
const PAGE_NUMBER =
  /(?:(?:pages?|seite|sid[ae]|p[áa]gina|p[áa]g|p|strana|strona|str|sivu|стр(?:аница)?)\.?\s*)?&P(?:\s*(?:\p{L}{1,3}|\/)\s*&N)?/giu;
const BAND_CODE = /&(?:"[^"]*"|K(?:[0-9A-F]{6}|\d\d[+-]\d{3})|\d{1,3}|[A-Z&])/gi;

/** Contents of other parts of the workbook to which cells refer. */
export interface SheetContext {
  readonly budget: Budget;
  /** The shared strings; null if the part with them is missing. */
  readonly strings: readonly string[] | null;
  look(style: number): CellStyle;
}

/** Reads the cells of a sheet. */
export class SheetReader implements XmlHandler {
  wasFound = false;
  readonly rows: SheetRow[] = [];
  readonly merged: CellRange[] = [];
  /** Ranges with a filter: their first row is a header. */
  readonly headed: CellRange[] = [];
  /** Texts of headers and footers of printed pages. */
  readonly bands: string[] = [];
  #row: SheetRow | null = null;
  #rowNumber = 0;
  #column = -1;
  #type = "n";
  #style = 0;
  #value = "";
  #formula = "";
  #into: "value" | "formula" | "band" | null = null;
  readonly #inline = new RichText();
  #isInline = false;

  constructor(private readonly context: SheetContext) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#isInline) return this.#inline.open(name, attributes);
    switch (name) {
      case "x:sheetData":
        this.wasFound = true;
        break;
      case "x:row":
        this.#rowNumber = Number.parseInt(attributes.r ?? "", 10) || this.#rowNumber + 1;
        this.#column = -1;
        this.#row = { row: this.#rowNumber, columns: [], texts: [], areNumbers: [], areBold: [] };
        break;
      case "x:c":
        this.#column = columnOfName(attributes.r ?? "") ?? this.#column + 1;
        this.#type = attributes.t ?? "n";
        this.#style = Number.parseInt(attributes.s ?? "0", 10) || 0;
        this.#value = "";
        this.#formula = "";
        break;
      case "x:v":
        this.#into = "value";
        break;
      case "x:is":
        this.#isInline = true;
        break;
      case "x:f":
        this.#into = "formula";
        break;
      case "x:extLst":
        return "skip";
      case "x:oddHeader":
      case "x:evenHeader":
      case "x:firstHeader":
      case "x:oddFooter":
      case "x:evenFooter":
      case "x:firstFooter":
        this.#into = "band";
        this.#value = "";
        break;
      case "x:mergeCell":
      case "x:autoFilter": {
        const range = rangeOfName(attributes.ref ?? "");
        if (range !== null) (name === "x:mergeCell" ? this.merged : this.headed).push(range);
        break;
      }
    }
    return undefined;
  }

  text(text: string): void {
    if (this.#isInline) this.#inline.text(text);
    else if (this.#into === "value" || this.#into === "band") this.#value += text;
    else if (this.#into === "formula") this.#formula += text;
  }

  close(name: string): void {
    if (this.#isInline && name !== "x:is") {
      this.#inline.close(name);
      return;
    }
    switch (name) {
      case "x:is":
        this.#isInline = false;
        this.#value = this.#inline.take();
        break;
      case "x:v":
      case "x:f":
        this.#into = null;
        break;
      case "x:oddHeader":
      case "x:evenHeader":
      case "x:firstHeader":
      case "x:oddFooter":
      case "x:evenFooter":
      case "x:firstFooter":
        this.#into = null;
        this.#addBand(this.#value);
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

  #addBand(codes: string): void {
    for (const part of codes.split(/&[LCR]/)) {
      const text = onOneLine(part.replace(PAGE_NUMBER, "").replace(BAND_CODE, (code) => (code === "&&" ? "&" : "")));
      if (/[\p{L}\p{N}]/u.test(text) && !this.bands.includes(text)) this.bands.push(text);
    }
  }

  #addCell(): void {
    const { format, isBold, isStruck } = this.context.look(this.#style);
    const shown = cellText(this.#type, this.#value, this.#formula, this.context.strings, format);
    if (shown === "" || this.#row === null) return;
    const text = isStruck ? struck(shown) : shown;
    this.context.budget.addCells(1);
    this.#row.columns.push(this.#column);
    this.#row.texts.push(text);
    this.#row.areNumbers.push(this.#type === "n" && !format.isTime);
    this.#row.areBold.push(isBold);
  }
}

function cellText(
  type: string,
  value: string,
  formula: string,
  strings: readonly string[] | null,
  format: CellStyle["format"],
): string {
  // a formula for which the file has no calculated value
  if (value === "") return formula.trim() === "" ? "" : onOneLine(`=${formula}`);
  switch (type) {
    case "s":
      if (strings === null) refuse("The file is damaged: the part that holds the texts of its cells is missing.");
      return format.text(strings[Number.parseInt(value, 10)] ?? "");
    case "b":
      return value.trim() === "1" || value.trim() === "true" ? "TRUE" : "FALSE";
    case "n": {
      const number = Number(value);
      return Number.isFinite(number) && value.trim() !== "" ? format.number(number) : onOneLine(value);
    }
    case "e":
      return sheetText(value);
    default:
      return format.text(sheetText(value));
  }
}
