// Writes the content of a page, or of a table cell, as Markdown blocks: headings, paragraphs, list items, code.
// page-reader.ts decides which element makes which block.

import { listItem, type NumeralKind, numeral } from "../office/lists.ts";
import { type Block, LIST, onOneLine, readable } from "../text-writer.ts";
import { fenced, Line, preformatted } from "./line.ts";
import type { PageBlock, PageSink } from "./page-block.ts";
import type { PageCell, PageTable } from "./page-table.ts";

/** An open list. */
export type List =
  | { readonly kind: "bullets" }
  | { readonly kind: "numbers"; next: number; readonly step: number; readonly numerals: NumeralKind }
  /** A definition list, with the terms that the next definition belongs to. */
  | { readonly kind: "definitions"; terms: string[]; areDefined: boolean };

/** An open list item or definition. */
interface Item {
  readonly level: number;
  /**
   * Label and term that are written before the first paragraph of the item; null if it is written as an ordinary
   * paragraph.
   */
  readonly prefix: { readonly label: string | null; readonly term: string } | null;
  /**
   * `first`: nothing of the item is written yet. `continued`: further lines of the item can follow. `broken`: another
   * block was written after the last line, so no line can continue it.
   */
  state: "first" | "continued" | "broken";
}

/** An open table. */
export interface OpenTable {
  readonly table: PageTable;
  /** Cells of the open row; null if no row is open. */
  cells: PageCell[] | null;
  isHead: boolean;
}

/** An open link. Its text is written; without text, the alternative texts of its pictures are. */
interface Link {
  /** Position in the line where the link begins. */
  readonly mark: number;
  hasText: boolean;
  readonly alternatives: string[];
}

/** Collects text and writes blocks. */
export class Flow {
  readonly line = new Line();
  readonly lists: List[] = [];
  readonly tables: OpenTable[] = [];
  /** Level of the open heading, 1 to 6; 0 if none is open. */
  heading = 0;
  isTerm = false;
  quotes = 0;
  bold = 0;
  link: Link | null = null;
  /** Whether the text so far ends with the end of a link. */
  isAfterLink = false;
  /** Number of open buttons that are not tabs. Their labels are read only as part of a text. */
  buttons = 0;
  /** Whether the line has text besides labels of buttons. */
  #hasOwnText = false;
  /** Whether the text so far ends with a label of a field, a tab or a button. */
  #isAfterLabel = false;
  /** OCR confidence of the text that is being added; undefined if the text does not come from a picture. */
  #confidence: number | undefined;
  hasTable = false;
  /** Whether all text so far is bold. */
  isAllBold = true;
  readonly #items: Item[] = [];
  /** Pieces of the open preformatted text; null if none is open. */
  #code: string[] | null = null;
  #codeDepth = 0;
  #language = "";

  constructor(readonly sink: PageSink) {}

  /** @returns whether the text has visible characters */
  add(text: string): boolean {
    if (this.#code !== null) {
      this.#code.push(text);
      return text.trim() !== "";
    }
    if (this.#isAfterLabel && /^[\p{L}\p{N}]/u.test(text)) this.line.blank();
    if (!this.line.add(text)) return false;
    this.#isAfterLabel = false;
    if (this.buttons === 0) this.#hasOwnText = true;
    this.isAfterLink = false;
    if (this.bold === 0) this.isAllBold = false;
    if (this.link !== null) this.link.hasText = true;
    return true;
  }

  /** Adds the alternative text of a picture; within a link, it is used only if the link has no text. */
  addAlternative(text: string): void {
    if (this.link !== null) this.link.alternatives.push(text);
    else {
      this.line.blank();
      this.add(text);
      this.line.blank();
    }
  }

  /** Whether a list item or definition is open. */
  get isItem(): boolean {
    return this.#items.length > 0;
  }

  /** Adds what was read in a picture, as a block of its own. */
  addPictureText(lines: readonly string[], confidence: number | undefined): void {
    this.separate();
    this.#confidence = confidence;
    this.add("[picture: ");
    for (const [at, line] of lines.entries()) {
      if (at > 0) this.break();
      this.add(line);
    }
    this.add("]");
    this.separate();
    this.#confidence = undefined;
  }

  /** Adds the value of a field, between the texts beside it. */
  addField(value: string): void {
    this.beginLabel();
    this.add(value);
    this.endLabel();
  }

  /**
   * Separates a label of a field, tab or button from the text before it; `endLabel` separates it from the text after
   * it.
   */
  beginLabel(): void {
    if (this.#code === null) this.line.blank();
  }

  endLabel(): void {
    this.#isAfterLabel = true;
  }

  beginLink(): void {
    if (this.isAfterLink) this.line.blank();
    this.link = { mark: this.line.mark, hasText: false, alternatives: [] };
  }

  /** @param isPermalink decides by the text of a link in a heading whether the link is removed */
  endLink(isPermalink: (text: string) => boolean): void {
    const { link } = this;
    if (link === null) return;
    this.link = null;
    if (!link.hasText) this.add(link.alternatives.join(" "));
    else if (this.heading > 0 && isPermalink(this.line.since(link.mark)?.trim() ?? "")) this.line.cutFrom(link.mark);
    this.isAfterLink = true;
  }

  break(): void {
    if (this.#code !== null) this.#code.push("\n");
    else if (this.heading > 0 || this.isTerm) this.line.blank();
    else this.line.break();
  }

  /** Ends the current block. A heading or term continues on the same line, code on the next line. */
  separate(): void {
    this.isAfterLink = false;
    if (this.#code !== null) {
      const last = this.#code.at(-1);
      if (last !== undefined && !last.endsWith("\n")) this.#code.push("\n");
    } else if (this.heading > 0 || this.isTerm) this.line.blank();
    else this.#writeParagraph();
  }

  beginHeading(level: number): void {
    this.separate();
    if (this.#code === null && !this.isTerm) this.heading = level;
  }

  /** @returns the text of the heading; null if it is empty */
  endHeading(): string | null {
    if (this.heading === 0) return null;
    const level = this.heading;
    this.heading = 0;
    const text = onOneLine(this.line.take());
    if (text === "") return null;
    this.#breakItem();
    this.#write({ text: `${"#".repeat(level)} ${text}`, series: null, plain: text });
    return text;
  }

  beginCode(language: string): void {
    if (this.#codeDepth++ > 0) return;
    this.heading = 0;
    this.isTerm = false;
    this.#writeParagraph();
    this.#code = [];
    this.#language = language;
  }

  /** Sets the language of the open code block if the language is not known yet. */
  nameLanguage(language: string): void {
    if (this.#language === "") this.#language = language;
  }

  endCode(): void {
    if (--this.#codeDepth > 0) return;
    const code = preformatted(this.#code?.join("") ?? "");
    this.#code = null;
    if (code === "") return;
    this.isAllBold = false;
    this.#breakItem();
    this.#write({ text: fenced(code, this.#language), series: null, plain: code, isCode: true });
  }

  beginList(list: List): void {
    this.separate();
    this.lists.push(list);
  }

  endList(): void {
    this.separate();
    const list = this.lists.pop();
    if (list?.kind !== "definitions" || list.areDefined) return;
    // terms without definitions are written as paragraphs
    for (const text of list.terms) this.#write({ text, series: null, plain: text });
  }

  /** @param value the number in the `value` attribute of the item; null if there is none */
  beginItem(value: number | null): void {
    this.separate();
    const list = this.lists.at(-1);
    let label: string | null = null;
    if (list?.kind === "numbers") {
      if (value !== null) list.next = value;
      label = `${numeral(list.next, list.numerals)}.`;
      list.next += list.step;
    }
    this.#items.push({ level: this.lists.length - 1, prefix: { label, term: "" }, state: "first" });
  }

  beginTerm(): void {
    this.separate();
    const list = this.lists.at(-1);
    if (list?.kind === "definitions" && list.areDefined) {
      list.terms = [];
      list.areDefined = false;
    }
    this.isTerm = true;
  }

  endTerm(): void {
    if (!this.isTerm) return;
    this.isTerm = false;
    const term = onOneLine(this.line.take());
    if (term === "") return;
    const list = this.lists.at(-1);
    if (list?.kind === "definitions") list.terms.push(term.replace(/[\s:]+$/, ""));
    else this.#write({ text: term, series: null, plain: term });
  }

  beginDefinition(): void {
    this.separate();
    const list = this.lists.at(-1);
    const terms = list?.kind === "definitions" ? list.terms : [];
    if (list?.kind === "definitions") list.areDefined = true;
    const prefix = terms.length === 0 ? null : { label: null, term: `${terms.join(", ")}: ` };
    this.#items.push({ level: this.lists.length - 1, prefix, state: "first" });
  }

  /** Ends a list item or definition. */
  endItem(): void {
    this.separate();
    const item = this.#items.pop();
    // a term with an empty definition is written, too
    const term = item?.state === "first" ? (item.prefix?.term ?? "") : "";
    if (term !== "") this.#write({ text: term.slice(0, -2), series: null, plain: term.slice(0, -2) });
  }

  #writeParagraph(): void {
    this.#isAfterLabel = false;
    if (this.line.isEmpty) return;
    const isLabels = !this.#hasOwnText;
    this.#hasOwnText = false;
    const text = readable(this.line.take());
    // buttons alone are no text: they share, print or close
    if (text === "" || isLabels) return;
    const item = this.#items.at(-1);
    if (item === undefined || item.prefix === null || item.state === "broken") {
      const quoted = this.quotes > 0 && item === undefined ? text.replace(/^/gm, "> ") : text;
      this.#write({ text: quoted, series: null, plain: text });
      return;
    }
    const { level, prefix, state } = item;
    item.state = "continued";
    if (state === "first") {
      const plain = `${prefix.term}${text}`;
      this.#write({ text: listItem(level, prefix.label, plain), series: LIST, plain, isItem: true });
      return;
    }
    const indent = "  ".repeat(Math.min(level, 8) + 1);
    const lines = text.replace(/\n+/g, "\n").replace(/^/gm, indent);
    this.#write({ text: lines, series: LIST, plain: text });
  }

  #breakItem(): void {
    const item = this.#items.at(-1);
    if (item === undefined) return;
    if (item.state === "first" && item.prefix !== null && item.prefix.term !== "") {
      const term = item.prefix.term.slice(0, -2);
      this.#write({ text: term, series: null, plain: term });
    }
    item.state = "broken";
  }

  /** Ends the text of the open list item before a table, so that text after the table does not continue the item. */
  breakItem(): void {
    this.separate();
    this.#breakItem();
  }

  #write(block: Block & Partial<PageBlock> & { readonly plain: string }): void {
    this.sink.write({ isItem: false, isCode: false, ...block, ocrConfidence: this.#confidence });
  }
}
