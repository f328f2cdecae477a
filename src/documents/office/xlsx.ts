// Reads a workbook (XLSX; ECMA-376-1, 18, transitional or strict): its sheets in order, each row as a line with column
// names. xlsx-sheet.ts reads cells; xlsx-rows.ts writes the lines.

import { type CellRange, rangeOfName } from "../../domain/cell-range.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { refuse } from "../budget.ts";
import type { ReadDocument } from "../document.ts";
import { onOneLine, TextWriter } from "../text-writer.ts";
import { type OfficePackage, officeReader, targetsOf } from "./package.ts";
import { readCellNotes } from "./xlsx-notes.ts";
import { linesOfSheet } from "./xlsx-rows.ts";
import { type SheetContext, SheetReader } from "./xlsx-sheet.ts";
import { readCellStyles } from "./xlsx-styles.ts";
import { RichText } from "./xlsx-text.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

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
  const people = partOf("person");
  const writer = new TextWriter(document.budget);
  const targets = targetsOf(related.filter(({ type }) => type === "worksheet"));
  const others = targetsOf(related.filter(({ type }) => type !== "worksheet"));
  const context = { budget: document.budget, strings: document.has(stringsPart) ? strings.strings : null, look };
  for (const { name, isHidden, id } of workbook.sheets) {
    // charts and dialogs are skipped: they have no cells
    if (others.has(id)) continue;
    const target = targets.get(id);
    if (target === undefined || !document.has(target)) refuse(`The file is damaged: its sheet "${name}" is missing.`);
    writeSheet(document, { name, isHidden, part: target, people }, context, writer);
  }
  return writer.document(document.title());
}

interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  readonly part: string;
  /** The part with the names of comment authors; null if there is none. */
  readonly people: string | null;
}

function writeSheet(document: OfficePackage, sheet: Sheet, context: SheetContext, writer: TextWriter): void {
  const reader = new SheetReader(context);
  document.read(sheet.part, "x", reader);
  if (!reader.wasFound) refuse(`The file is damaged: its part ${sheet.part} is no sheet.`);
  const related = document.relationships(sheet.part);
  const notes = readCellNotes(document, related, sheet.people);
  const tables = related.filter(({ type }) => type === "table").flatMap(({ target }) => headedRange(document, target));
  const { rows, merged, headed } = reader;
  if (rows.length === 0 && notes.size === 0) return;
  writer.mark({ sheet: sheet.name });
  writer.write({ text: `## ${sheet.name}${sheet.isHidden ? " (hidden)" : ""}`, series: null });
  const content = { rows, merged, headed: [...headed, ...tables], notes };
  for (const { text, cells, group } of linesOfSheet(content, context.budget)) {
    writer.write({ text, series: group }, cells);
  }
  // comments on cells that are empty
  const noted = new Set([...notes.keys()].map((place) => Number.parseInt(place, 10)));
  const filled = new Set(
    rows.filter(({ row }) => noted.has(row)).flatMap(({ row, columns }) => columns.map((column) => `${row} ${column}`)),
  );
  for (const [place, texts] of notes) {
    if (!filled.has(place)) for (const text of texts) writer.write({ text, series: null });
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
    if (name === "x:workbookPr") this.is1904 = /^(?:1|true|on)$/.test(attributes.date1904 ?? "");
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
