// Reads a workbook of Excel 5 to 2003 (XLS; [MS-XLS]): its sheets in order, each row as a line with column names.
// office/xlsx-rows.ts writes the lines, as those of XLSX.

import { type CellRange, nameOfRange } from "../../domain/cell-range.ts";
import type { ReadFailure } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, refuse } from "../budget.ts";
import { ENCRYPTED, type ReadDocument } from "../document.ts";
import { ScriptedText } from "../office/scripted-text.ts";
import { builtInFormat, GENERAL, type NumberFormat, numberFormat } from "../office/xlsx-numbers.ts";
import { linesOfSheet } from "../office/xlsx-rows.ts";
import type { SheetRow } from "../office/xlsx-sheet.ts";
import { commentText, onOneLine, TextWriter } from "../text-writer.ts";
import { CompoundFile } from "./compound-file.ts";
import { recordsOf, XlsReader, type XlsRecord, type XlsText } from "./xls-records.ts";

const RECORD = {
  formula: 0x06,
  end: 0x0a,
  note: 0x1c,
  date1904: 0x22,
  password: 0x2f,
  font: 0x31,
  codePage: 0x42,
  object: 0x5d,
  sheet: 0x85,
  numbers: 0xbd,
  richLabel: 0xd6,
  cellFormat: 0xe0,
  merged: 0xe5,
  strings: 0xfc,
  sharedLabel: 0xfd,
  drawnText: 0x1b6,
  number: 0x203,
  label: 0x204,
  truth: 0x205,
  result: 0x207,
  compactNumber: 0x27e,
  format: 0x41e,
  begin: 0x809,
} as const;
/** Version of Excel 97 to 2003 in the first record; older ones write texts as bytes. */
const VERSION_97 = 0x0600;
const WORKSHEET = 0;
/** Minimum weight of a bold font. Regular fonts have 400, bold ones 700. */
const BOLD_FROM = 600;
const ERRORS: Readonly<Record<number, string>> = {
  0: "#NULL!",
  7: "#DIV/0!",
  15: "#VALUE!",
  23: "#REF!",
  29: "#NAME?",
  36: "#NUM!",
  42: "#N/A",
};

/** Reads an XLS file. Never throws because of the content. */
export function readXls(bytes: Uint8Array, limits = READING_LIMITS): ReadDocument | ReadFailure {
  return outcomeOf(() => {
    const file = new CompoundFile(bytes);
    const stream = file.stream("Workbook") ?? file.stream("Book");
    if (stream === null) refuse("The file is damaged: its workbook is missing.");
    return new Workbook(stream, new Budget(limits)).read();
  });
}

interface Font {
  readonly isBold: boolean;
  readonly position: "line" | "raised" | "lowered";
}

class Workbook {
  readonly #fonts: Font[] = [];
  readonly #formats = new Map<number, string>();
  readonly #cellFormats: { readonly font: number; readonly format: number }[] = [];
  readonly #looks = new Map<number, { readonly format: NumberFormat; readonly isBold: boolean }>();
  readonly #sheets: { readonly name: string; readonly at: number; readonly isHidden: boolean }[] = [];
  #strings: readonly string[] = [];
  #is1904 = false;
  #is97 = true;
  #codePage = 1252;

  constructor(
    private readonly stream: Buffer,
    private readonly budget: Budget,
  ) {}

  read(): ReadDocument | ReadFailure {
    for (const record of recordsOf(this.stream)) {
      if (record.type === RECORD.end) break;
      this.#readGlobal(record);
    }
    const writer = new TextWriter(this.budget);
    for (const { name, at, isHidden } of this.#sheets) {
      const sheet = new Sheet(this, this.budget);
      for (const record of recordsOf(this.stream.subarray(at))) {
        this.budget.checkTime();
        if (record.type === RECORD.end && sheet.end()) break;
        sheet.read(record);
      }
      sheet.write(`${name}${isHidden ? " (hidden)" : ""}`, name, writer);
    }
    return writer.document(null);
  }

  /** A reader of a record in the code page of the file. */
  reader({ parts }: XlsRecord): XlsReader {
    return new XlsReader(parts, this.#codePage);
  }

  get is97(): boolean {
    return this.#is97;
  }

  /** The shared text with this number. */
  string(number: number): string {
    return this.#strings[number] ?? "";
  }

  /** How cells with this format are shown. */
  look(cellFormat: number): { readonly format: NumberFormat; readonly isBold: boolean } {
    const known = this.#looks.get(cellFormat);
    if (known !== undefined) return known;
    const written = this.#cellFormats[cellFormat];
    const code = written === undefined ? "" : (this.#formats.get(written.format) ?? builtInFormat(written.format));
    const look = {
      format: written === undefined ? GENERAL : numberFormat(code, this.#is1904),
      isBold: this.#fontAt(written?.font ?? 0)?.isBold === true,
    };
    this.#looks.set(cellFormat, look);
    return look;
  }

  /** The text with its superscripts and subscripts. */
  scripted({ text, runs }: XlsText): string {
    if (!runs.some(({ font }) => (this.#fontAt(font)?.position ?? "line") !== "line")) return text;
    const written = new ScriptedText();
    let from = 0;
    let position: Font["position"] = "line";
    for (const run of runs) {
      written.add(text.slice(from, run.at), position);
      [from, position] = [run.at, this.#fontAt(run.font)?.position ?? "line"];
    }
    written.add(text.slice(from), position);
    return written.take();
  }

  /** The numbering of fonts skips 4, so a greater number is one more than the index in the list. */
  #fontAt(number: number): Font | undefined {
    return this.#fonts[number > 4 ? number - 1 : number];
  }

  #readGlobal(record: XlsRecord): void {
    const reader = this.reader(record);
    switch (record.type) {
      case RECORD.begin:
        this.#is97 = reader.short() >= VERSION_97;
        break;
      case RECORD.password:
        refuse(ENCRYPTED);
        break;
      case RECORD.codePage:
        this.#codePage = reader.short();
        break;
      case RECORD.date1904:
        this.#is1904 = reader.short() === 1;
        break;
      case RECORD.font: {
        reader.skip(6);
        const isBold = reader.short() >= BOLD_FROM;
        const script = reader.short();
        this.#fonts.push({ isBold, position: script === 1 ? "raised" : script === 2 ? "lowered" : "line" });
        break;
      }
      case RECORD.format: {
        const id = reader.short();
        const code = this.#is97 ? reader.text(reader.short()).text : reader.bytes(reader.byte());
        this.#formats.set(id, code);
        break;
      }
      case RECORD.cellFormat:
        this.#cellFormats.push({ font: reader.short(), format: reader.short() });
        break;
      case RECORD.sheet: {
        const at = reader.long();
        const isHidden = (reader.byte() & 3) !== 0;
        const kind = reader.byte();
        const length = reader.byte();
        const name = onOneLine(this.#is97 ? reader.text(length).text : reader.bytes(length)) || "Sheet";
        if (kind === WORKSHEET) this.#sheets.push({ name, at, isHidden });
        break;
      }
      case RECORD.strings:
        this.#strings = this.#readStrings(reader);
        break;
    }
  }

  #readStrings(reader: XlsReader): readonly string[] {
    reader.skip(8);
    const strings: string[] = [];
    while (!reader.isAtEnd) {
      const text = reader.text(reader.short());
      this.budget.addText(text.text.length);
      if (strings.length % 1_000 === 0) this.budget.checkTime();
      strings.push(onOneLine(this.scripted(text)));
    }
    return strings;
  }
}

/** Where a cell is, and its format. */
interface CellPlace {
  /** From 0. */
  readonly row: number;
  readonly column: number;
  /** Index in the list of cell formats. */
  readonly cellFormat: number;
}

class Sheet {
  readonly #rows = new Map<number, SheetRow>();
  readonly #merged: CellRange[] = [];
  /** Texts of objects by their number; those that no comment names are text boxes. */
  readonly #drawn = new Map<number, string>();
  readonly #comments: {
    readonly row: number;
    readonly column: number;
    readonly author: string;
    readonly object: number;
  }[] = [];
  #object = 0;
  /** Number of open sheets: charts are sheets within the sheet. */
  #depth = 0;
  /** The formula whose text is in the next record. */
  #formula: CellPlace | null = null;

  constructor(
    private readonly workbook: Workbook,
    private readonly budget: Budget,
  ) {}

  /** Takes the end record of a sheet. @returns whether the outermost sheet has ended */
  end(): boolean {
    return --this.#depth <= 0;
  }

  read(record: XlsRecord): void {
    const reader = this.workbook.reader(record);
    if (record.type === RECORD.begin) this.#depth++;
    if (this.#depth > 1) return;
    switch (record.type) {
      case RECORD.number:
        this.#number(this.#cell(reader), doubleOf(reader));
        break;
      case RECORD.compactNumber:
        this.#number(this.#cell(reader), compactNumber(reader.long()));
        break;
      case RECORD.numbers: {
        const [row, first] = [reader.short(), reader.short()];
        const length = record.parts.reduce((sum, part) => sum + part.length, 0);
        for (let at = 0; at < Math.floor((length - 6) / 6); at++) {
          const cellFormat = reader.short();
          this.#number({ row, column: first + at, cellFormat }, compactNumber(reader.long()));
        }
        break;
      }
      case RECORD.sharedLabel: {
        const cell = this.#cell(reader);
        this.#text(cell, this.workbook.string(reader.long()));
        break;
      }
      case RECORD.label:
      case RECORD.richLabel: {
        const cell = this.#cell(reader);
        const length = reader.short();
        const text = this.workbook.is97 ? this.workbook.scripted(reader.text(length)) : reader.bytes(length);
        this.#text(cell, onOneLine(text));
        break;
      }
      case RECORD.truth: {
        const cell = this.#cell(reader);
        const value = reader.byte();
        this.#add(cell, reader.byte() === 1 ? (ERRORS[value] ?? "#ERROR") : value === 1 ? "TRUE" : "FALSE", false);
        break;
      }
      case RECORD.formula:
        this.#formulaResult(this.#cell(reader), reader);
        break;
      case RECORD.result: {
        const length = reader.short();
        const text = this.workbook.is97 ? reader.text(length).text : reader.bytes(length);
        if (this.#formula !== null) this.#text(this.#formula, onOneLine(text));
        this.#formula = null;
        break;
      }
      case RECORD.merged:
        for (let left = reader.short(); left > 0 && !reader.isAtEnd; left--) {
          const [top, bottom, first, last] = [reader.short(), reader.short(), reader.short(), reader.short()];
          this.#merged.push({ top: top + 1, bottom: bottom + 1, left: first, right: last });
        }
        break;
      case RECORD.object:
        reader.skip(6);
        this.#object = reader.short();
        break;
      case RECORD.drawnText: {
        const [head, ...texts] = record.parts;
        const length = head === undefined || head.length < 12 ? 0 : head.readUInt16LE(10);
        const text = length === 0 ? "" : new XlsReader(texts).text(length).text;
        this.budget.addText(text.length);
        if (text.trim() !== "") this.#drawn.set(this.#object, text.trim());
        break;
      }
      case RECORD.note: {
        if (!this.workbook.is97) break;
        const [row, column] = [reader.short() + 1, reader.short()];
        reader.skip(2);
        const object = reader.short();
        this.#comments.push({ row, column, object, author: onOneLine(reader.text(reader.short()).text) });
        break;
      }
    }
  }

  write(heading: string, name: string, writer: TextWriter): void {
    const rows = [...this.#rows.values()];
    for (const row of rows) sortCells(row);
    const notes = new Map<string, string[]>();
    const apart: { readonly text: string; readonly cells: string }[] = [];
    for (const { row, column, author, object } of this.#comments) {
      const written = this.#drawn.get(object) ?? "";
      this.#drawn.delete(object);
      if (written === "") continue;
      // Excel begins a comment with the name of its author
      const text = commentText(
        author,
        onOneLine(written.startsWith(`${author}:`) ? written.slice(author.length + 1) : written),
      );
      const isFilled = this.#rows.get(row)?.columns.includes(column) === true;
      if (isFilled) notes.set(`${row} ${column}`, [...(notes.get(`${row} ${column}`) ?? []), text]);
      else apart.push({ text, cells: nameOfRange({ top: row, bottom: row, left: column, right: column }) });
    }
    if (rows.length === 0 && apart.length === 0 && this.#drawn.size === 0) return;
    writer.mark({ sheet: name });
    writer.write({ text: `## ${heading}`, series: null });
    for (const { text, cells, group } of linesOfSheet({ rows, merged: this.#merged, headed: [], notes }, this.budget)) {
      writer.write({ text, series: group }, cells);
    }
    for (const { text, cells } of apart) writer.write({ text, series: null }, cells);
    for (const text of this.#drawn.values()) writer.write({ text: text.replace(/\r\n?/g, "\n"), series: null });
  }

  #cell(reader: XlsReader): CellPlace {
    return { row: reader.short(), column: reader.short(), cellFormat: reader.short() };
  }

  #formulaResult(cell: CellPlace, reader: XlsReader): void {
    const bytes = Array.from({ length: 8 }, () => reader.byte());
    this.#formula = null;
    if (bytes[6] !== 0xff || bytes[7] !== 0xff) {
      this.#number(cell, Buffer.from(bytes).readDoubleLE(0));
      return;
    }
    const [kind, , value = 0] = bytes;
    if (kind === 0) this.#formula = cell;
    else if (kind === 1) this.#add(cell, value === 1 ? "TRUE" : "FALSE", false);
    else if (kind === 2) this.#add(cell, ERRORS[value] ?? "#ERROR", false);
  }

  #number(cell: CellPlace, value: number): void {
    const { format } = this.workbook.look(cell.cellFormat);
    this.#add(cell, Number.isFinite(value) ? format.number(value) : "", !format.isTime);
  }

  #text(cell: CellPlace, text: string): void {
    this.#add(cell, this.workbook.look(cell.cellFormat).format.text(text), false);
  }

  #add(cell: CellPlace, text: string, isNumber: boolean): void {
    if (text === "") return;
    this.budget.addCells(1);
    const number = cell.row + 1;
    let row = this.#rows.get(number);
    if (row === undefined) {
      row = { row: number, columns: [], texts: [], areNumbers: [], areBold: [] };
      this.#rows.set(number, row);
    }
    row.columns.push(cell.column);
    row.texts.push(text);
    row.areNumbers.push(isNumber);
    row.areBold.push(this.workbook.look(cell.cellFormat).isBold);
  }
}

/** Puts the cells of a row into the order of their columns, which files usually have. */
function sortCells({ columns, texts, areNumbers, areBold }: SheetRow): void {
  if (columns.every((column, at) => at === 0 || column > (columns[at - 1] ?? 0))) return;
  const cells = columns
    .map((column, at) => ({
      column,
      text: texts[at] ?? "",
      isNumber: areNumbers[at] ?? false,
      isBold: areBold[at] ?? false,
    }))
    .sort((one, other) => one.column - other.column);
  for (const [at, { column, text, isNumber, isBold }] of cells.entries()) {
    columns[at] = column;
    texts[at] = text;
    areNumbers[at] = isNumber;
    areBold[at] = isBold;
  }
}

function doubleOf(reader: XlsReader): number {
  return Buffer.from(Array.from({ length: 8 }, () => reader.byte())).readDoubleLE(0);
}

/** A number in 30 bits: a whole one, or the first bits of a double; possibly in hundredths. */
function compactNumber(bits: number): number {
  let value: number;
  if ((bits & 2) !== 0) value = (bits | 0) >> 2;
  else {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32LE((bits & 0xfffffffc) >>> 0, 4);
    value = bytes.readDoubleLE(0);
  }
  return (bits & 1) !== 0 ? value / 100 : value;
}
