// Reads a workbook (XLSX; ECMA-376-1, 18, transitional or strict): its sheets in order, each row as a line with column
// names. xlsx-sheet.ts reads cells; xlsx-rows.ts writes the lines.

import { type CellRange, nameOfRange, rangeOfName } from "../../domain/cell-range.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { refuse } from "../budget.ts";
import type { ReadDocument } from "../document.ts";
import { onOneLine, TextWriter } from "../text-writer.ts";
import { type OfficePackage, officeReader, type Relationship } from "./package.ts";
import { readDrawings } from "./xlsx-drawing.ts";
import { readCellNotes } from "./xlsx-notes.ts";
import { RangeReader, type Sheet } from "./xlsx-ranges.ts";
import { linesOfSheet, type SheetContent } from "./xlsx-rows.ts";
import { type SheetContext, SheetReader, type SheetRow } from "./xlsx-sheet.ts";
import { readCellStyles } from "./xlsx-styles.ts";
import { RichText } from "./xlsx-text.ts";
import { type Attributes, isSet, type XmlHandler } from "./xml.ts";

/** Reads an XLSX file, see `officeReader`. */
export const readXlsx = officeReader(workbookText);

function workbookText(document: OfficePackage): ReadDocument | ReadFailure {
  const part = document.documentPart("xl/workbook.xml");
  const workbook = new WorkbookReader();
  document.read(part, "x", workbook);
  if (!workbook.wasFound) {
    return new ReadFailure("unreadable_document", `The file is damaged: its part ${part} is no workbook.`);
  }
  const related = document.relationships(part);
  const partOf = (type: string) => related.find((each) => each.type === type)?.target ?? null;
  const strings = new StringReader();
  const stringsPart = partOf("sharedstrings") ?? "xl/sharedStrings.xml";
  document.read(stringsPart, "x", strings);
  const look = readCellStyles(document, partOf("styles"), workbook.is1904);
  const context = { budget: document.budget, strings: document.has(stringsPart) ? strings.strings : null, look };
  const targets = new Map(related.map((each) => [each.id, each]));
  const sheets = workbook.sheets.map(({ name, isHidden, id }) => {
    const target = targets.get(id);
    const isWorksheet = target === undefined || target.type === "worksheet";
    if (isWorksheet && (target === undefined || !document.has(target.target))) {
      refuse(`The file is damaged: its sheet "${name}" is missing.`);
    }
    return { name, isHidden, part: target.target, isWorksheet };
  });
  const ranges = new RangeReader(document, context, sheets);
  const writer = new TextWriter(document.budget);
  for (const sheet of sheets) writeSheet(document, sheet, { context, people: partOf("person"), ranges }, writer);
  return writer.document(document.title());
}

interface Shared {
  readonly context: SheetContext;
  /** The part with the names of comment authors; null if there is none. */
  readonly people: string | null;
  readonly ranges: RangeReader;
}

/** Writes a sheet: its rows, comments on empty cells, and what is drawn on it. */
function writeSheet(document: OfficePackage, sheet: Sheet, shared: Shared, writer: TextWriter): void {
  const { name, isHidden, part, isWorksheet } = sheet;
  const related = document.relationships(part);
  const content = isWorksheet ? sheetContent(document, sheet, shared, related) : EMPTY_SHEET;
  const { rows, notes, bands } = content;
  if (isWorksheet) shared.ranges.keep(name, rows);
  const drawn = related
    .filter(({ type }) => type === "drawing")
    .flatMap(({ target }) => readDrawings(document, target, (range) => shared.ranges.valuesOf(range)));
  if (rows.length === 0 && notes.size === 0 && bands.length === 0 && drawn.length === 0) return;
  writer.mark({ sheet: name });
  writer.write({ text: `## ${name}${isHidden ? " (hidden)" : ""}`, series: null });
  for (const { text, cells, group } of linesOfSheet(content, document.budget)) {
    writer.write({ text, series: group }, cells);
  }
  writeNotes(rows, notes, writer);
  for (const text of bands) writer.write({ text, series: null });
  for (const { cells, blocks } of drawn) for (const block of blocks) writer.write(block, cells ?? undefined);
}

/** A sheet with the texts of headers and footers of its printed pages. */
interface PrintedSheet extends SheetContent {
  readonly bands: readonly string[];
}

const EMPTY_SHEET: PrintedSheet = { rows: [], merged: [], headed: [], bands: [], notes: new Map() };

function sheetContent(
  document: OfficePackage,
  { part }: Sheet,
  { context, people }: Shared,
  related: readonly Relationship[],
): PrintedSheet {
  const reader = new SheetReader(context);
  document.read(part, "x", reader);
  if (!reader.wasFound) refuse(`The file is damaged: its part ${part} is no sheet.`);
  const tables = related.filter(({ type }) => type === "table").flatMap(({ target }) => headedRange(document, target));
  const { rows, merged, headed, bands } = reader;
  return { rows, merged, headed: [...headed, ...tables], bands, notes: readCellNotes(document, related, people) };
}

/** Writes comments on cells that are empty. */
function writeNotes(rows: readonly SheetRow[], notes: SheetContent["notes"], writer: TextWriter): void {
  const noted = new Set([...notes.keys()].map((place) => Number.parseInt(place, 10)));
  const filled = new Set(
    rows.filter(({ row }) => noted.has(row)).flatMap(({ row, columns }) => columns.map((column) => `${row} ${column}`)),
  );
  for (const [place, texts] of notes) {
    if (filled.has(place)) continue;
    const [row = 1, column = 0] = place.split(" ").map(Number);
    const cells = nameOfRange({ top: row, left: column, bottom: row, right: column });
    for (const text of texts) writer.write({ text, series: null }, cells);
  }
}

/** The range of a table, as an array of one range; an empty array if the first row of the table is not a header. */
function headedRange(document: OfficePackage, part: string): CellRange[] {
  const ranges: CellRange[] = [];
  document.read(part, "x", {
    open: (name, { ref = "", headerRowCount = "1" }) => {
      const range = rangeOfName(ref);
      if (name === "x:table" && headerRowCount !== "0" && range !== null) ranges.push(range);
      return undefined;
    },
    close: () => undefined,
    text: () => undefined,
  });
  return ranges;
}

class WorkbookReader implements XmlHandler {
  wasFound = false;
  is1904 = false;
  readonly sheets: { readonly name: string; readonly isHidden: boolean; readonly id: string }[] = [];

  open(name: string, attributes: Attributes): undefined {
    if (name === "x:workbook") this.wasFound = true;
    if (name === "x:workbookPr") this.is1904 = isSet(attributes.date1904);
    if (name !== "x:sheet") return;
    const { name: sheetName = "", state = "visible", "r:id": id = "" } = attributes;
    this.sheets.push({ name: onOneLine(sheetName) || "Sheet", isHidden: state !== "visible", id });
  }

  close(): void {}

  text(): void {}
}

class StringReader implements XmlHandler {
  readonly strings: string[] = [];
  readonly #string = new RichText();

  open(name: string, attributes: Attributes): "skip" | undefined {
    return this.#string.open(name, attributes);
  }

  close(name: string): void {
    if (name === "x:si") this.strings.push(this.#string.take());
    else this.#string.close(name);
  }

  text(text: string): void {
    this.#string.text(text);
  }
}
