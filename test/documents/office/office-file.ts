// Builds Office documents from their parts, so that tests need no fixture files.

import { strToU8, zipSync } from "fflate";
import type { ReadDocument } from "../../../src/documents/document.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";

/** Contents of parts, by the names of the parts. */
export type Parts = Readonly<Record<string, string | Uint8Array>>;

const RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const NAMESPACES = [
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"',
  'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"',
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"',
  'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"',
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"',
  'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"',
  'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"',
  'xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"',
  'xmlns:cdr="http://schemas.openxmlformats.org/drawingml/2006/chartDrawing"',
  'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"',
  'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"',
  'xmlns:tc="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"',
  'xmlns:p188="http://schemas.microsoft.com/office/powerpoint/2018/8/main"',
  `xmlns:r="${RELATIONSHIPS}"`,
  'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"',
].join(" ");

/** Builds a ZIP archive of parts. */
export function archiveOf(parts: Parts): Uint8Array {
  const bytes = Object.entries(parts).map(([name, part]) => [name, typeof part === "string" ? strToU8(part) : part]);
  return zipSync(Object.fromEntries(bytes));
}

/** Builds an XML part that declares all namespaces on its root element. */
export function xml(root: string, content: string): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<${root} ${NAMESPACES}>${content}</${root}>`;
}

/** Builds a part with relationships. Each is given as id, last segment of its type, and target. */
export function references(...list: readonly (readonly [id: string, type: string, target: string])[]): string {
  const elements = list.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${elements.join("")}</Relationships>`;
}

/**
 * Builds a Word document. @param more further parts under word/, with relationships whose types are derived from their
 * names @param root further parts at the root
 */
export function docx(body: string, more: Parts = {}, root: Parts = {}): Uint8Array {
  const related = Object.keys(more).map((name, at) => [`rel${at}`, name.replace(/\.xml$/, ""), `${name}`] as const);
  return archiveOf({
    "_rels/.rels": references(["r1", "officeDocument", "word/document.xml"]),
    "word/document.xml": xml("w:document", `<w:body>${body}</w:body>`),
    "word/_rels/document.xml.rels": references(...related),
    ...Object.fromEntries(Object.entries(more).map(([name, part]) => [`word/${name}`, part])),
    ...root,
  });
}

/** A sheet of `xlsx`. */
export interface SheetParts {
  readonly name: string;
  readonly state?: string;
  /** The content of the sheet's part, from `sheetData` on. */
  readonly content: string;
  readonly related?: readonly (readonly [id: string, type: string, target: string])[];
}

/**
 * Builds a workbook. @param more further parts under xl/; parts that are in no subfolder get relationships whose types
 * are derived from their names @param properties elements before the list of sheets
 * @param root further parts at the root
 */
export function xlsx(sheets: readonly SheetParts[], more: Parts = {}, properties = "", root: Parts = {}): Uint8Array {
  const names = Object.keys(more).filter((name) => !name.includes("/"));
  const own = sheets.map((_, at) => [`s${at}`, "worksheet", `/xl/worksheets/sheet${at}.xml`] as const);
  const others = names.map((name, at) => [`o${at}`, name.replace(/\.xml$/, ""), name] as const);
  const list = sheets.map(
    ({ name, state = "visible" }, at) => `<sheet name="${name}" state="${state}" r:id="s${at}"/>`,
  );
  return archiveOf({
    "_rels/.rels": references(["r1", "officeDocument", "xl/workbook.xml"]),
    "xl/workbook.xml": xml("workbook", `${properties}<sheets>${list.join("")}</sheets>`),
    "xl/_rels/workbook.xml.rels": references(...own, ...others),
    ...Object.fromEntries(
      sheets.flatMap(({ content, related = [] }, at) => [
        [`xl/worksheets/sheet${at}.xml`, xml("worksheet", content)],
        [`xl/worksheets/_rels/sheet${at}.xml.rels`, references(...related)],
      ]),
    ),
    ...Object.fromEntries(Object.entries(more).map(([name, part]) => [`xl/${name}`, part])),
    ...root,
  });
}

/** Builds the cells of a sheet from rows of values: numbers, texts, and null for an empty cell. */
export function rowsOf(...rows: readonly (readonly (string | number | null)[])[]): string {
  const lines = rows.map((cells, row) => {
    const elements = cells.map((value, column) => {
      const name = `${String.fromCharCode(65 + column)}${row + 1}`;
      if (value === null) return "";
      if (typeof value === "number") return `<c r="${name}"><v>${value}</v></c>`;
      return `<c r="${name}" t="inlineStr"><is><t>${value}</t></is></c>`;
    });
    return elements.join("") === "" ? "" : `<row r="${row + 1}">${elements.join("")}</row>`;
  });
  return `<sheetData>${lines.join("")}</sheetData>`;
}

/** A slide of `pptx`. */
export interface SlideParts {
  /** XML of the shapes. */
  readonly content: string;
  readonly related?: readonly (readonly [id: string, type: string, target: string])[];
}

/**
 * Builds a presentation. @param more further parts under ppt/
 * @param root further parts at the root
 */
export function pptx(slides: readonly SlideParts[], more: Parts = {}, root: Parts = {}): Uint8Array {
  const names = Object.keys(more).filter((name) => !name.includes("/"));
  // the relationships are in another order than the slides
  const own = slides.map((_, at) => [`s${at}`, "slide", `slides/slide${at}.xml`] as const).reverse();
  const others = names.map((name, at) => [`o${at}`, name.replace(/\.xml$/, ""), name] as const);
  const list = slides.map((_, at) => `<p:sldId id="${256 + at}" r:id="s${at}"/>`);
  return archiveOf({
    "_rels/.rels": references(["r1", "officeDocument", "/ppt/presentation.xml"]),
    "ppt/presentation.xml": xml("p:presentation", `<p:sldIdLst>${list.join("")}</p:sldIdLst>`),
    "ppt/_rels/presentation.xml.rels": references(...own, ...others),
    ...Object.fromEntries(
      slides.flatMap(({ content, related = [] }, at) => [
        [`ppt/slides/slide${at}.xml`, xml("p:sld", `<p:cSld><p:spTree>${content}</p:spTree></p:cSld>`)],
        [`ppt/slides/_rels/slide${at}.xml.rels`, references(...related)],
      ]),
    ),
    ...Object.fromEntries(Object.entries(more).map(([name, part]) => [`ppt/${name}`, part])),
    ...root,
  });
}

/** The text of a document. @throws Error with the message of a failure */
export function textOf(outcome: ReadDocument | ReadFailure): string {
  if (outcome instanceof ReadFailure) throw new Error(outcome.message);
  return outcome.pieces.join("");
}

/** The message of a failure. @throws Error if the document was read */
export function failureOf(outcome: ReadDocument | ReadFailure): string {
  if (outcome instanceof ReadFailure) return outcome.message;
  throw new Error(`it was read: ${outcome.pieces.join("").slice(0, 200)}`);
}
