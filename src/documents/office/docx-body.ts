// Reads the content of a Word document (ECMA-376-1, 17): paragraphs and tables of the body, of notes and comments, of
// cells and text boxes, in a single pass. docx.ts decides which parts are read.

import type { Budget } from "../budget.ts";
import { type Block, BlockList, type BlockSink, commentText, onOneLine } from "../text-writer.ts";
import { FORM_PROPERTIES, FormReader } from "./docx-forms.ts";
import type { Numbering } from "./docx-numbering.ts";
import { Paragraph } from "./docx-paragraph.ts";
import { positionWith, type StyleOf } from "./docx-styles.ts";
import { type CellContent, WordTable } from "./docx-table.ts";
import { EquationReader } from "./equation.ts";
import { type NumeralKind, numeral, withoutMarker } from "./lists.ts";
import type { RelatedBlocks } from "./related-blocks.ts";
import type { RunPosition } from "./scripted-text.ts";
import { symbolOf } from "./symbols.ts";
import { type Attributes, isOn, isSet, type XmlHandler } from "./xml.ts";

/** Contents of other parts of the document to which paragraphs and tables refer. */
export interface WordContext {
  readonly budget: Budget;
  readonly styleOf: StyleOf;
  readonly numbering: Numbering;
  /** Footnotes, endnotes and comments, by keys such as `footnote 1`. */
  readonly notes: ReadonlyMap<string, WordNote>;
  /** The marks of footnotes and endnotes, which it counts. */
  readonly marks: NoteMarks;
  /** Returns the blocks of a diagram, chart or picture. */
  readonly related: RelatedBlocks;
  /** Called for each header and footer of a section, with the id of its relationship. */
  section(kind: "header" | "footer", id: string): void;
}

/** A footnote, endnote or comment. */
export interface WordNote {
  /** Its text on one line. */
  readonly text: string;
  /** Author of a comment; empty if unknown. */
  readonly author: string;
}

/** Counts the references to footnotes and endnotes, which Word numbers in the order of the text. */
export class NoteMarks {
  readonly #counts = { footnote: 0, endnote: 0 };

  constructor(private readonly formats: Readonly<Record<"footnote" | "endnote", NumeralKind>>) {}

  /** The mark of the next reference. */
  next(kind: "footnote" | "endnote"): string {
    this.#counts[kind]++;
    return numeral(this.#counts[kind], this.formats[kind]);
  }
}

/** Elements that are skipped: deleted or moved text, former formatting, field codes, phonetic guides. */
const SKIPPED = new Set(
  "w:del w:moveFrom w:delText w:instrText w:delInstrText w:pPrChange w:rPrChange w:tblPrChange w:tcPrChange w:trPrChange w:tblPrExChange w:tblGridChange w:sectPrChange w:numberingChange w:sdtEndPr w:tabs w:rt".split(
    " ",
  ),
);

/**
 * Tracks nested open fields. The text of a field consists of a code, which is hidden, and its result, which is shown.
 */
class FieldStack {
  readonly #open: ("code" | "result")[] = [];
  #codes = 0;

  get isCode(): boolean {
    return this.#codes > 0;
  }

  /** @param step `begin`, `separate` or `end` */
  move(step: string): void {
    if (step === "begin") this.#open.push("code");
    if (step === "begin") this.#codes++;
    if (step !== "separate" && step !== "end") return;
    if (this.#open.pop() === "code") this.#codes--;
    if (step === "separate") this.#open.push("result");
  }

  /**
   * Ends all open field codes at the end of a paragraph. Otherwise a code without an end would hide the rest of the
   * document.
   */
  endCode(): void {
    while (this.#codes > 0) this.move("end");
  }
}

/** A sequence of paragraphs and tables: the body, a cell, a text box. */
class Flow {
  paragraph: Paragraph | null = null;
  table: WordTable | null = null;
  /** Cells of the open row. */
  cells: CellContent[] = [];
  isHeaderRow = false;
  isDeletedRow = false;
  /** Formatting of the open run of text. */
  isHidden = false;
  isBold = false;
  isStruck = false;
  /** Position that the run sets itself; null if its styles decide. */
  position: RunPosition | null = null;
  runStyle: string | null = null;
  /** Properties of the cell that contains this flow. */
  span = 1;
  isMerged = false;
  hasTable = false;
  isAllBold = true;
  readonly fields = new FieldStack();

  constructor(readonly sink: BlockSink) {}
}

/** Reads the elements of a flow and of nested flows into blocks. */
export class FlowReader implements XmlHandler {
  readonly #flows: Flow[] = [];
  #isText = false;
  #equation: EquationReader | null = null;
  readonly #form = new FormReader();
  /** The check box whose sign is being replaced; null if there is none. */
  #box: { readonly sign: string; isWritten: boolean } | null = null;
  /** Whether instructions are left out, because nothing was entered in the open control. */
  #isEmptyControl = false;
  /** The open properties element, `w:pPr` or `w:trPr`. */
  #properties: "paragraph" | "row" | null = null;

  constructor(
    private readonly context: WordContext,
    sink: BlockSink,
  ) {
    this.#flows.push(new Flow(sink));
  }

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#equation !== null) return this.#equation.open(name, attributes);
    const flow = this.#flow;
    if (this.#properties !== null && (name === "w:del" || name === "w:moveFrom")) {
      if (this.#properties === "row") flow.isDeletedRow = true;
      else if (flow.paragraph !== null) flow.paragraph.isOpenEnded = true;
      return "skip";
    }
    if (SKIPPED.has(name)) return "skip";
    if (this.#form.isOpen || FORM_PROPERTIES.has(name)) return this.#form.open(name, attributes);
    if (!this.#openProperty(flow, name, attributes)) this.#openContent(flow, name, attributes);
    return undefined;
  }

  text(text: string): void {
    if (this.#equation !== null) this.#equation.text(text);
    else if (this.#isText) this.#add(text);
  }

  close(name: string): void {
    const flow = this.#flow;
    if (this.#equation !== null) {
      if (!this.#equation.close()) return;
      const equation = this.#equation.result();
      this.#equation = null;
      if (!flow.isHidden && !flow.fields.isCode) flow.paragraph?.addEquation(equation);
      return;
    }
    if (this.#form.isOpen) {
      this.#endForm(name);
      return;
    }
    switch (name) {
      case "w:sdtContent":
        this.#box = null;
        this.#isEmptyControl = false;
        break;
      case "w:t":
        this.#isText = false;
        break;
      case "w:pPr":
      case "w:trPr":
        this.#properties = null;
        break;
      case "w:p":
        this.#endParagraph(flow);
        break;
      case "w:tc":
        this.#endCell(flow);
        break;
      case "w:tr":
        if (!flow.isDeletedRow) flow.table?.addRow(flow.cells, flow.isHeaderRow);
        flow.cells = [];
        break;
      case "w:tbl":
        flow.table?.end();
        flow.table = null;
        break;
      case "w:txbxContent":
        this.#endTextBox(flow);
        break;
    }
  }

  /** Ends the part: writes the open paragraph if the document is cut off. */
  end(): void {
    if (this.#flow.paragraph !== null) this.#finish(this.#flow, this.#flow.paragraph);
  }

  get #flow(): Flow {
    return this.#flows.at(-1) ?? new Flow(new BlockList());
  }

  /** @returns whether the element is a property of a paragraph, run or table */
  #openProperty(flow: Flow, name: string, attributes: Attributes): boolean {
    const { paragraph, table } = flow;
    const value = attributes.val ?? "";
    switch (name) {
      case "w:pPr":
        this.#properties = "paragraph";
        return true;
      case "w:trPr":
        this.#properties = "row";
        return true;
      case "w:pStyle":
        if (paragraph !== null) paragraph.style = value;
        return true;
      case "w:outlineLvl":
        if (paragraph !== null) paragraph.outline = Number.parseInt(value, 10);
        return true;
      case "w:numId":
        if (paragraph !== null) paragraph.listId = value;
        return true;
      case "w:ilvl":
        if (paragraph !== null) paragraph.listLevel = Number.parseInt(value, 10) || 0;
        return true;
      case "w:vanish":
        if (this.#properties === null) flow.isHidden = isOn(attributes);
        return true;
      case "w:b":
        if (this.#properties === null) flow.isBold = isOn(attributes);
        return true;
      case "w:strike":
      case "w:dstrike":
        if (this.#properties === null) flow.isStruck = isOn(attributes);
        return true;
      case "w:rStyle":
        if (this.#properties === null) flow.runStyle = value;
        return true;
      case "w:vertAlign":
      case "w:position":
        if (this.#properties === null) flow.position = positionWith(flow.position, name, value);
        return true;
      case "w:tblLook":
        if (table !== null && isFirstRowMarked(attributes)) table.hint = "likely";
        return true;
      case "w:gridCol":
        if (table !== null) table.declaredColumns++;
        return true;
      case "w:tblHeader":
        flow.isHeaderRow = isOn(attributes);
        return true;
      case "w:gridSpan":
        flow.span = Number.parseInt(value, 10) || 1;
        return true;
      case "w:vMerge":
        flow.isMerged = value !== "restart";
        return true;
      default:
        return false;
    }
  }

  #openContent(flow: Flow, name: string, attributes: Attributes): void {
    switch (name) {
      case "w:p":
        flow.paragraph ??= new Paragraph();
        flow.paragraph.isOpenEnded = false;
        break;
      case "w:r":
        flow.isHidden = false;
        flow.isBold = false;
        flow.isStruck = false;
        flow.position = null;
        flow.runStyle = null;
        break;
      case "w:t":
        this.#isText = true;
        break;
      case "w:tab":
      case "w:ptab":
        this.#add("\t");
        break;
      case "w:br":
      case "w:cr":
        this.#add("\n");
        break;
      case "w:noBreakHyphen":
        this.#add("-");
        break;
      case "w:sym":
        this.#add(symbolOf(attributes.char ?? "", attributes.font ?? ""));
        break;
      case "w:fldChar":
        flow.fields.move(attributes.fldCharType ?? "");
        break;
      case "w:footnoteReference":
      case "w:endnoteReference":
        this.#referToNote(flow, name === "w:footnoteReference" ? "footnote" : "endnote", attributes);
        break;
      case "w:commentReference":
        this.#refer(flow, `comment ${attributes.id ?? ""}`, ({ text, author }) => commentText(author, text));
        break;
      case "w:headerReference":
      case "w:footerReference":
        this.context.section(name === "w:headerReference" ? "header" : "footer", attributes["r:id"] ?? "");
        break;
      case "m:oMath":
        this.#equation = new EquationReader();
        break;
      case "dgm:relIds":
      case "c:chart":
      case "cx:chart":
      case "a:blip":
        flow.paragraph?.anchor(this.context.related(name, attributes));
        break;
      case "w:tbl":
        if (flow.paragraph !== null) this.#finish(flow, flow.paragraph);
        flow.table = new WordTable(flow.sink);
        flow.hasTable = true;
        break;
      case "w:tr":
        flow.cells = [];
        flow.isHeaderRow = false;
        flow.isDeletedRow = false;
        break;
      case "w:tc":
      case "w:txbxContent":
        this.#flows.push(new Flow(new BlockList()));
        break;
    }
  }

  #add(text: string): void {
    const flow = this.#flow;
    if (flow.isHidden || flow.fields.isCode) return;
    if (this.#box?.isWritten === true) return;
    if (this.#isEmptyControl && this.context.styleOf(flow.runStyle).isInstruction) return;
    const written = this.#box === null ? text : this.#box.sign;
    if (this.#box !== null) this.#box.isWritten = true;
    flow.paragraph?.add(written, {
      isBold: flow.isBold,
      position: this.#positionOf(flow),
      isStruck: flow.isStruck,
    });
  }

  /** Ends an element of a form field or content control, whose value the text may lack. */
  #endForm(name: string): void {
    const shown = this.#form.close(name);
    if (name === "w:sdtPr") this.#isEmptyControl = this.#form.isEmpty;
    if (shown === null) return;
    // a control has content, in which the sign is replaced; a field has none
    if (shown.isControl) this.#box = { sign: shown.text, isWritten: false };
    else this.#flow.paragraph?.add(shown.text, { isBold: true, position: "line" });
  }

  #positionOf({ position, runStyle, paragraph }: Flow): RunPosition {
    const { styleOf } = this.context;
    const styled = runStyle === null ? null : styleOf(runStyle).position;
    if (styled === "note" && position === "raised") return "note";
    return position ?? styled ?? styleOf(paragraph?.style ?? null).position ?? "line";
  }

  #referToNote(flow: Flow, kind: "footnote" | "endnote", { id = "", customMarkFollows }: Attributes): void {
    if (flow.paragraph === null || flow.isHidden || flow.fields.isCode) return;
    const isCustom = customMarkFollows !== undefined && isOn({ val: customMarkFollows });
    const mark = isCustom ? "" : this.context.marks.next(kind);
    flow.paragraph.addMark(mark);
    this.#refer(flow, `${kind} ${id}`, ({ text }) => (mark === "" ? `[note: ${text}]` : `[note ${mark}: ${text}]`));
  }

  #refer(flow: Flow, key: string, written: (note: WordNote) => string): void {
    const note = this.context.notes.get(key);
    if (note === undefined || flow.paragraph === null || flow.isHidden) return;
    // counts the text at each reference, because a document can refer to the same note any number of times
    this.context.budget.addText(note.text.length);
    flow.paragraph.notes.push(written(note));
  }

  #endParagraph(flow: Flow): void {
    const { paragraph } = flow;
    if (paragraph === null || paragraph.isOpenEnded) return;
    this.#finish(flow, paragraph);
  }

  #finish(flow: Flow, paragraph: Paragraph): void {
    const blocks = paragraph.blocks(this.context.styleOf, this.context.numbering);
    if (blocks.length > 0 && !paragraph.isBold) flow.isAllBold = false;
    for (const block of blocks) flow.sink.write(block);
    flow.paragraph = null;
    flow.fields.endCode();
  }

  #endCell(flow: Flow): void {
    if (this.#flows.length < 2) return;
    this.#flows.pop();
    if (flow.paragraph !== null) this.#finish(flow, flow.paragraph);
    const { span, isMerged, hasTable, isAllBold: isBold } = flow;
    this.#flow.cells.push({ blocks: blocksOf(flow), span, isMerged, isBold, hasTable });
  }

  #endTextBox(flow: Flow): void {
    if (this.#flows.length < 2) return;
    this.#flows.pop();
    if (flow.paragraph !== null) this.#finish(flow, flow.paragraph);
    const outer = this.#flow;
    for (const block of blocksOf(flow)) {
      if (outer.paragraph === null) outer.sink.write(block);
      else outer.paragraph.anchor([block]);
    }
  }
}

/** Reads the footnotes, endnotes or comments of a part, each as one line. */
export class NoteReader implements XmlHandler {
  /** Notes by keys such as `footnote 1`. */
  readonly notes = new Map<string, WordNote>();
  #note: { readonly key: string; readonly author: string; list: BlockList; reader: FlowReader } | null = null;

  constructor(
    private readonly kind: "footnote" | "endnote" | "comment",
    private readonly context: WordContext,
  ) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#note !== null) return this.#note.reader.open(name, attributes);
    if (name !== `w:${this.kind}`) return undefined;
    // other types are the separator lines between notes and text
    if (attributes.type !== undefined && attributes.type !== "normal") return "skip";
    const list = new BlockList();
    const reader = new FlowReader(this.context, list);
    this.#note = { key: `${this.kind} ${attributes.id ?? ""}`, author: attributes.author ?? "", list, reader };
    return undefined;
  }

  close(name: string): void {
    if (this.#note === null) return;
    const { key, author, list, reader } = this.#note;
    if (name !== `w:${this.kind}`) {
      reader.close(name);
      return;
    }
    reader.end();
    const text = list.blocks.map((block) => onOneLine(withoutMarker(block.text))).join(" ");
    if (text !== "") this.notes.set(key, { text, author: onOneLine(author) });
    this.#note = null;
  }

  text(text: string): void {
    this.#note?.reader.text(text);
  }
}

function blocksOf({ sink }: Flow): readonly Block[] {
  return sink instanceof BlockList ? sink.blocks : [];
}

function isFirstRowMarked({ firstRow, val = "0" }: Attributes): boolean {
  if (firstRow !== undefined) return isSet(firstRow);
  return (Number.parseInt(val, 16) & 0x20) !== 0;
}
