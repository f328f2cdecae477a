// Reads an OpenDocument: texts, spreadsheets and presentations (ISO/IEC 26300). styles.ts knows what styles mean;
// office/table.ts writes tables.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { refuse } from "../budget.ts";
import { countWere, ENCRYPTED, type ReadDocument } from "../document.ts";
import { isFormulaNote, MathReader } from "../html/math.ts";
import { listItem, numeral, withoutMarker } from "../office/lists.ts";
import { decodedPath, type OfficePackage, officeReader, TitleReader } from "../office/package.ts";
import { type RunPosition, ScriptedText } from "../office/scripted-text.ts";
import { type Cell, TableRows } from "../office/table.ts";
import type { Attributes, XmlHandler } from "../office/xml.ts";
import { type Block, LIST, onOneLine, readable, TextWriter } from "../text-writer.ts";
import { cellValue } from "./cell-values.ts";
import { OpenSheet } from "./open-sheet.ts";
import { Styles } from "./styles.ts";

/** Reads an ODT, ODS or ODP file, see `officeReader`. */
export const readOpenDocument = officeReader(documentText);

const CONTENT = "content.xml";

function documentText(document: OfficePackage): ReadDocument | ReadFailure {
  if (!document.has(CONTENT)) refuse(`The file is damaged: its part ${CONTENT} is missing.`);
  if (isEncrypted(document)) return new ReadFailure("unreadable_document", ENCRYPTED);
  const styles = new Styles();
  const running = new BodyReader(document, styles, "running");
  document.read("styles.xml", "office", running);
  const body = new BodyReader(document, styles, "body");
  document.read(CONTENT, "office", body);
  if (!body.wasFound) refuse(`The file is damaged: its part ${CONTENT} is no OpenDocument.`);
  const meta = new TitleReader();
  document.read("meta.xml", "office", meta);
  body.finish();
  for (const text of running.blocks) body.writer.write({ text, series: running });
  const title = onOneLine(meta.title);
  const read = body.writer.document(title === "" ? null : shortTitle(title));
  return read instanceof ReadFailure ? read : { ...read, warnings: body.warnings() };
}

function isEncrypted(document: OfficePackage): boolean {
  let found = false;
  document.read("META-INF/manifest.xml", "manifest", {
    open: (name) => {
      found ||= name === "manifest:encryption-data";
      return undefined;
    },
    close: () => undefined,
    text: () => undefined,
  });
  return found;
}

/** A table that is being read. Cells of nested tables become text of the cell around them. */
interface OpenTable {
  readonly rows: TableRows;
  cells: Cell[];
  column: number;
  rowRepeats: number;
  isHeader: boolean;
  /** The sheet that the table is; null in texts and slides. */
  readonly sheet: OpenSheet | null;
  /** Attributes of the open cell. */
  cell: { readonly repeats: number; readonly span: number; readonly rows: number; readonly value: Attributes } | null;
  cellBlocks: string[];
  isBold: boolean;
}

/** Maximum number of columns that a cell spans or repeats. LibreOffice has 16,384. */
const COLUMNS_MAX = 16_384;
/** Maximum number of rows that a cell spans. LibreOffice has as many. */
const ROWS_MAX = 1_048_576;
/** Elements whose content is no text of the document. */
const SKIPPED = new Set([
  "text:tracked-changes",
  "office:forms",
  "table:tracked-changes",
  "table:label-ranges",
  "table:content-validations",
  "presentation:settings",
  "text:bibliography-source",
  "text:table-of-content-source",
  "text:user-index-source",
  "text:index-title-template",
  "table:calculation-settings",
  "office:scripts",
  "office:font-face-decls",
  "table:shapes-placeholder",
]);

type SlideBlock = Pick<Block, "text" | "ocrConfidence">;

/** Pictures of embedded documents, such as charts, which are read themselves. */
const REPLACEMENT = /^ObjectReplacements\//;

class BodyReader implements XmlHandler {
  wasFound = false;
  readonly writer: TextWriter;
  /** The texts that the scope `running` collects, each once. */
  readonly blocks = new Set<string>();
  readonly #notes: string[] = [];
  /** Texts of open paragraphs: notes and text boxes have paragraphs within paragraphs. */
  readonly #paragraphs: { readonly text: ScriptedText; readonly level: number | null; isAllBold: boolean }[] = [];
  /** Open lists, outermost first. `isItemStart`: the next paragraph begins an item. */
  readonly #lists: { readonly style: string; readonly level: number; isItemStart: boolean }[] = [];
  /** Number of the last item of each list level, from 1. */
  readonly #numbers: number[] = [];
  readonly #tables: OpenTable[] = [];
  readonly #spans: {
    readonly position: RunPosition;
    readonly isBold: boolean;
    readonly isHidden: boolean;
    readonly isStruck: boolean;
  }[] = [];
  /** Collects paragraphs of a note or comment; the innermost last. */
  readonly #apart: { readonly kind: "note" | "comment"; readonly blocks: string[]; author: string }[] = [];
  #hasSheets = false;
  #inMaster = false;
  #inBody = false;
  #field: "author" | "citation" | "skipped" | null = null;
  #slides = 0;
  #isTitle = false;
  #slideTitle: string | null = null;
  readonly #slideBlocks: SlideBlock[] = [];
  /** Texts of pictures that follow the paragraph or table that is open. */
  #pictureBlocks: Block[] = [];
  #inNotes = false;
  #inSlide = false;
  #unreadPictures = 0;
  #unreadObjects = 0;

  /** @param scope `running` reads headers and footers, or a whole embedded document, into `blocks` */
  constructor(
    private readonly document: OfficePackage,
    private readonly styles: Styles,
    private readonly scope: "body" | "running",
  ) {
    this.writer = new TextWriter(document.budget);
  }

  /** Sentences about what was not read. */
  warnings(): readonly string[] {
    const found: string[] = [];
    if (this.#unreadPictures > 0) found.push(`${countWere(this.#unreadPictures, "picture")} not read.`);
    if (this.#unreadObjects > 0) found.push(`${countWere(this.#unreadObjects, "embedded object")} not read.`);
    return found;
  }

  open(name: string, attributes: Attributes): "skip" | undefined {
    this.styles.open(name, attributes);
    if (name === "office:body") {
      this.wasFound = true;
      this.#inBody = true;
      return undefined;
    }
    if (name === "style:header" || name === "style:footer" || name === "style:header-first") this.#inMaster = true;
    if (!(this.scope === "body" ? this.#inBody : this.#inMaster)) return undefined;
    if (SKIPPED.has(name)) return "skip";
    return this.#enter(name, attributes);
  }

  #enter(name: string, attributes: Attributes): "skip" | undefined {
    switch (name) {
      case "text:h":
      case "text:p":
        this.#paragraphs.push({
          text: new ScriptedText(),
          level: name === "text:h" ? Number(attributes["outline-level"] ?? 1) || 1 : null,
          isAllBold: true,
        });
        this.#spans.push({
          position: this.styles.position(attributes["style-name"]) ?? "line",
          isBold: this.styles.isBold(attributes["style-name"]),
          isHidden: this.styles.isHidden(attributes["style-name"]),
          isStruck: this.styles.isStruck(attributes["style-name"]),
        });
        break;
      case "text:span":
        this.#openSpan(attributes["style-name"]);
        break;
      case "text:tab":
      case "text:s":
        this.#add(" ");
        break;
      case "text:line-break":
        this.#add("\n");
        break;
      case "text:list":
        this.#openList(attributes);
        break;
      case "text:list-item":
      case "text:list-header":
        this.#openItem(name === "text:list-item", attributes);
        break;
      case "text:note":
        this.#apart.push({ kind: "note", blocks: [], author: "" });
        break;
      case "text:note-citation":
        return "skip";
      case "office:annotation":
        this.#apart.push({ kind: "comment", blocks: [], author: "" });
        break;
      case "dc:creator":
        this.#field = "author";
        break;
      case "dc:date":
      case "text:sender-initials":
        if (this.#apart.length > 0) return "skip";
        break;
      case "table:table":
        this.#openTable(attributes.name ?? "");
        break;
      case "table:table-header-rows":
        this.#withTable((table) => {
          table.isHeader = true;
        });
        break;
      case "table:table-row":
        this.#withTable((table) => {
          table.cells = [];
          table.column = 0;
          table.rowRepeats = Number(attributes["number-rows-repeated"] ?? 1) || 1;
        });
        break;
      case "table:table-cell":
      case "table:covered-table-cell":
        this.#openCell(attributes);
        break;
      case "office:spreadsheet":
        this.#hasSheets = true;
        break;
      case "draw:page":
        this.#openSlide(attributes.name ?? "");
        break;
      case "draw:frame":
        this.#isTitle = attributes["presentation:class"] === "title";
        break;
      case "presentation:notes":
        this.#inNotes = true;
        break;
      case "draw:image":
        this.#addPicture(attributes);
        return "skip";
      case "draw:object":
        this.#openObject(attributes);
        return "skip";
      case "draw:object-ole":
      case "draw:plugin":
        this.#unreadObjects += 1;
        return "skip";
      case "svg:title":
      case "svg:desc":
        this.#paragraphs.push({ text: new ScriptedText(), level: null, isAllBold: false });
        break;
    }
    return undefined;
  }

  close(name: string): void {
    switch (name) {
      case "office:body":
        this.#inBody = false;
        break;
      case "style:header":
      case "style:footer":
      case "style:header-first":
        this.#inMaster = false;
        break;
    }
    if (!(this.scope === "body" ? this.#inBody : this.#inMaster)) return;
    switch (name) {
      case "text:h":
      case "text:p":
        this.#spans.pop();
        this.#endParagraph();
        this.#endPictures();
        break;
      case "svg:title":
      case "svg:desc":
        this.#endParagraph();
        break;
      case "text:span":
        this.#spans.pop();
        break;
      case "text:list":
        this.#closeList();
        break;
      case "text:note":
      case "office:annotation":
        this.#endApart();
        break;
      case "dc:creator":
        this.#field = null;
        break;
      case "table:table":
        this.#endTable();
        this.#endPictures();
        break;
      case "table:table-header-rows":
        this.#withTable((table) => {
          table.isHeader = false;
        });
        break;
      case "table:table-row":
        this.#endRow();
        break;
      case "table:table-cell":
      case "table:covered-table-cell":
        this.#endCell();
        break;
      case "draw:page":
        this.#endSlide();
        break;
      case "draw:frame":
        this.#isTitle = false;
        break;
      case "presentation:notes":
        this.#inNotes = false;
        break;
    }
  }

  text(text: string): void {
    if (this.#field === "author") {
      const apart = this.#apart.at(-1);
      if (apart !== undefined) apart.author += text;
      return;
    }
    this.#add(text.replace(/\s+/g, " "));
  }

  #add(text: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph === undefined) return;
    const span = this.#spans.at(-1);
    if (span?.isHidden === true) return;
    if (text.trim() !== "" && span?.isBold !== true) paragraph.isAllBold = false;
    paragraph.text.add(text, span?.position ?? "line", span?.isStruck);
  }

  #openSpan(style: string | undefined): void {
    const outer = this.#spans.at(-1);
    this.#spans.push({
      position: this.styles.position(style) ?? outer?.position ?? "line",
      isBold: this.styles.isBold(style) || outer?.isBold === true,
      isHidden: this.styles.isHidden(style) || outer?.isHidden === true,
      isStruck: this.styles.isStruck(style) || outer?.isStruck === true,
    });
  }

  #openList(attributes: Attributes): void {
    const style = attributes["style-name"] ?? this.#lists.at(-1)?.style ?? "";
    const level = this.#lists.length + 1;
    if (attributes["continue-numbering"] !== "true" || this.#numbers[level] === undefined) {
      this.#numbers[level] = (this.styles.label(style, level)?.start ?? 1) - 1;
    }
    this.#lists.push({ style, level, isItemStart: false });
  }

  #closeList(): void {
    this.#lists.pop();
  }

  #openItem(isNumbered: boolean, attributes: Attributes): void {
    const list = this.#lists.at(-1);
    if (list === undefined) return;
    const start = Number(attributes["start-value"]);
    if (isNumbered) {
      this.#numbers[list.level] = Number.isInteger(start) ? start : (this.#numbers[list.level] ?? 0) + 1;
    }
    list.isItemStart = isNumbered;
  }

  /** The text of a paragraph as a list item; unchanged if no item begins with it. */
  #asItem(text: string): string {
    const list = this.#lists.at(-1);
    if (list?.isItemStart !== true) return text;
    list.isItemStart = false;
    const level = this.#lists.length;
    const label = this.styles.label(list.style, level);
    if (label === null) return listItem(level - 1, null, text);
    const shown = Array.from({ length: Math.min(label.levels, level) }, (_, at) => {
      const shownLevel = level - Math.min(label.levels, level) + 1 + at;
      const kind = shownLevel === level ? label.kind : (this.styles.label(list.style, shownLevel)?.kind ?? "decimal");
      return numeral(this.#numbers[shownLevel] ?? 1, kind);
    });
    return listItem(level - 1, `${label.prefix}${shown.join(".")}${label.suffix}`, text);
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    if (paragraph === undefined) return;
    const text = readable(paragraph.text.take().replace(/[ \t]+/g, " "));
    if (text === "") return;
    const apart = this.#apart.at(-1);
    if (apart !== undefined) {
      apart.blocks.push(text);
      return;
    }
    const table = this.#tables.at(-1);
    if (table !== undefined) {
      if (table.cell !== null) {
        table.cellBlocks.push(withoutMarker(this.#asItem(text)));
        table.isBold &&= paragraph.isAllBold;
      }
      return;
    }
    if (this.scope === "running") {
      this.document.budget.addText(text.length);
      this.blocks.add(text);
      return;
    }
    if (this.#inSlide) {
      this.#addToSlide(text);
      return;
    }
    if (paragraph.level !== null) {
      const level = Math.min(paragraph.level, 6);
      this.writer.write({ text: `${"#".repeat(level)} ${onOneLine(text)}`, series: null });
    } else {
      const item = this.#asItem(text);
      this.writer.write({ text: item, series: item === text ? null : LIST });
    }
  }

  #endApart(): void {
    const apart = this.#apart.pop();
    if (apart === undefined) return;
    const text = apart.blocks.map(onOneLine).join(" ");
    if (apart.kind === "note") {
      this.#notes.push(text);
      this.#add(`[${this.#notes.length}]`);
      return;
    }
    if (text === "") return;
    const author = onOneLine(apart.author);
    const comment = `Comment${author === "" ? "" : ` (${author})`}: ${text}`;
    const table = this.#tables.at(-1);
    if (table?.sheet != null) table.sheet.addComment(author, text, table.column);
    else if (table?.cell != null) table.cellBlocks.push(`[${comment}]`);
    else if (this.#inSlide) this.#slideBlocks.push({ text: comment });
    else this.#add(` [${comment}] `);
  }

  #withTable(change: (table: OpenTable) => void): void {
    const table = this.#tables.at(-1);
    if (table !== undefined) change(table);
  }

  #openTable(name: string): void {
    if (this.#tables.length === 0 && this.#hasSheets && name !== "") {
      this.writer.mark({ sheet: name });
      this.writer.write({ text: `## ${onOneLine(name) || "Sheet"}`, series: null });
    }
    this.#tables.push({
      rows: new TableRows("likely"),
      sheet: this.#tables.length === 0 && this.#hasSheets ? new OpenSheet(this.document.budget) : null,
      cells: [],
      column: 0,
      rowRepeats: 1,
      isHeader: false,
      cell: null,
      cellBlocks: [],
      isBold: true,
    });
  }

  #openCell(attributes: Attributes): void {
    this.#withTable((table) => {
      const repeats = Math.min(Math.max(1, Number(attributes["number-columns-repeated"] ?? 1) || 1), COLUMNS_MAX);
      const span = Math.min(Math.max(1, Number(attributes["number-columns-spanned"] ?? 1) || 1), COLUMNS_MAX);
      const rows = Math.min(Math.max(1, Number(attributes["number-rows-spanned"] ?? 1) || 1), ROWS_MAX);
      table.cell = { repeats, span, rows, value: attributes };
      table.cellBlocks = [];
      table.isBold = true;
    });
  }

  #endCell(): void {
    this.#withTable((table) => {
      if (table.cell === null) return;
      const { repeats, span, rows, value } = table.cell;
      const shown = onOneLine(table.cellBlocks.join(" "));
      const { text, isNumber } = cellValue(shown, value);
      if (text !== "" && table.sheet !== null) {
        this.document.budget.addText(text.length * repeats);
        const isBold = table.isBold && shown !== "";
        for (let at = 0; at < repeats; at++) {
          table.sheet.addCell({ text, isNumber, isBold }, table.column + at, [rows, span]);
        }
      } else if (text !== "") {
        this.document.budget.addCells(repeats);
        this.document.budget.addText(text.length * repeats);
        for (let at = 0; at < repeats; at++) {
          table.cells.push({ text, column: table.column + at, span: Math.min(span, 100), isBold: table.isBold });
        }
      }
      table.column += repeats;
      table.cell = null;
    });
  }

  #endRow(): void {
    const table = this.#tables.at(-1);
    table?.sheet?.endRow(table.rowRepeats);
    if (table === undefined || table.cells.length === 0) return;
    const outer = this.#tables.at(-2);
    if (outer !== undefined) {
      if (outer.cell !== null) outer.cellBlocks.push(table.cells.map(({ text }) => text).join(", "));
      return;
    }
    for (let at = 0; at < table.rowRepeats; at++) {
      if (at > 0) this.document.budget.addCells(table.cells.length);
      for (const text of table.rows.add({ cells: table.cells, isHeader: table.isHeader })) {
        this.#writeRow(text, table);
      }
    }
  }

  #endTable(): void {
    const table = this.#tables.pop();
    if (table === undefined || this.#tables.length > 0) return;
    for (const { text, cells, group } of table.sheet?.lines() ?? []) this.writer.write({ text, series: group }, cells);
    for (const text of table.rows.end()) this.#writeRow(text, table);
  }

  #writeRow(text: string, table: OpenTable): void {
    if (this.scope === "running") this.blocks.add(text);
    else if (this.#inSlide) this.#slideBlocks.push({ text });
    else this.writer.write({ text, series: table.rows.series });
  }

  #openSlide(name: string): void {
    this.#slides += 1;
    this.document.budget.checkSlides(this.#slides);
    this.#inSlide = true;
    this.#slideTitle = null;
    this.#slideBlocks.length = 0;
    if (name !== "" && !/^(?:page|slide|Folie|Seite|Diapositive?)\s?\d+$/i.test(name))
      this.#slideTitle = onOneLine(name);
  }

  #addToSlide(text: string): void {
    if (this.#isTitle && !this.#inNotes) this.#slideTitle = onOneLine(text);
    else {
      const item = this.#asItem(text);
      this.#slideBlocks.push({ text: this.#inNotes ? `Notes: ${item}` : item });
    }
  }

  #endSlide(): void {
    this.#inSlide = false;
    if (this.#slideTitle === null && this.#slideBlocks.length === 0) return;
    this.writer.mark({ slide: this.#slides });
    this.writer.write({ text: `## ${this.#slideTitle ?? `Slide ${this.#slides}`}`, series: null });
    for (const block of this.#slideBlocks) {
      this.writer.write({ ...block, series: /^ *(?:-|\d+[.)]) /.test(block.text) ? LIST : null });
    }
  }

  /** Adds the text of a picture: in a cell or slide where it stands, else after its paragraph or table. */
  #addPicture(attributes: Attributes): void {
    const part = decodedPath(targetOf(attributes));
    if (REPLACEMENT.test(part)) return;
    if (!this.document.isPicture(part)) {
      this.#unreadPictures += 1;
      return;
    }
    const blocks = this.document.pictureBlocks(part);
    const table = this.#tables.at(-1);
    if (this.scope === "running") for (const { text } of blocks) this.blocks.add(text);
    else if (table?.cell != null && table.sheet === null) table.cellBlocks.push(...blocks.map(({ text }) => text));
    else if (this.#inSlide) this.#slideBlocks.push(...blocks);
    else this.#pictureBlocks.push(...blocks);
    this.#endPictures();
  }

  /** Writes the texts of pictures unless a paragraph or table is open. */
  #endPictures(): void {
    if (this.#paragraphs.length + this.#tables.length + this.#apart.length > 0) return;
    for (const block of this.#pictureBlocks) this.writer.write(block);
    this.#pictureBlocks = [];
  }

  /** Reads an embedded document: a formula, or a chart, whose title, labels and values are a table. */
  #openObject(attributes: Attributes): void {
    const part = `${targetOf(attributes)}/content.xml`;
    if (!this.document.has(part)) {
      this.#unreadObjects += 1;
      return;
    }
    const inner = new BodyReader(this.document, this.styles, "running");
    inner.#inMaster = true;
    const object = new ObjectReader(inner);
    this.document.read(part, "office", object);
    const formula = object.formula?.result() ?? "";
    const paragraph = this.#paragraphs.at(-1);
    if (formula !== "" && paragraph !== undefined) {
      paragraph.text.addEquation(formula);
      return;
    }
    const lines = formula === "" ? [...inner.blocks] : [formula];
    if (lines.length === 0) this.#unreadObjects += 1;
    const table = this.#tables.at(-1);
    if (table?.cell != null) table.cellBlocks.push(...lines);
    else if (this.#inSlide) this.#slideBlocks.push(...lines.map((text) => ({ text })));
    else for (const text of lines) this.#objectLines.push(text);
  }

  /** Lines of embedded documents in a text. They are written after the body. */
  readonly #objectLines: string[] = [];

  /** Writes what follows the body: lines of embedded documents, and notes. */
  finish(): void {
    for (const text of this.#objectLines) this.writer.write({ text, series: this.#objectLines });
    for (const [at, note] of this.#notes.entries()) {
      if (note !== "") this.writer.write({ text: `[${at + 1}] ${note}`, series: this.#notes });
    }
  }
}

/** Reads an embedded document. */
class ObjectReader implements XmlHandler {
  /** The formula that it is; null if it is none. */
  formula: MathReader | null = null;

  constructor(private readonly other: XmlHandler) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.formula === null && name !== "math:math") return this.other.open(name, attributes);
    const local = name.replace(/^.*:/, "");
    if (isFormulaNote(local)) return "skip";
    if (this.formula === null) this.formula = new MathReader();
    else this.formula.open(local);
    return undefined;
  }

  close(name: string): void {
    (this.formula ?? this.other).close(name);
  }

  text(text: string): void {
    (this.formula ?? this.other).text(text);
  }
}

/** The part to which an element refers. */
function targetOf(attributes: Attributes): string {
  const href = Object.entries(attributes).find(([name]) => name.endsWith("href"))?.[1] ?? "";
  return href.replace(/^\.\//, "");
}
