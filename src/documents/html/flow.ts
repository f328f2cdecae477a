// What follows each other in a page, or in a cell of it, as blocks of Markdown: headings, paragraphs, items, code. Which element
// makes which is page-reader.ts's question.

import { listItem, type NumeralKind, numeral } from "../office/lists.ts";
import { type Block, type BlockSink, LIST, onOneLine, readable } from "../text-writer.ts";
import { fenced, Line, preformatted } from "./line.ts";
import type { PageCell, PageTable } from "./page-table.ts";

/** A block, and what a cell makes of it. */
export interface PageBlock extends Block {
  /** The text without marks. */
  readonly plain: string;
  readonly isItem: boolean;
  readonly isCode: boolean;
}

/** Takes the blocks of a page. */
export interface PageSink extends BlockSink {
  write(block: PageBlock): void;
}

/** A list that is open. */
export type List =
  | { readonly kind: "bullets" }
  | { readonly kind: "numbers"; next: number; readonly step: number; readonly numerals: NumeralKind }
  /** Of definitions: the terms that the next one explains. */
  | { readonly kind: "definitions"; terms: string[]; areExplained: boolean };

/** An item or definition that is open. */
interface Item {
  readonly level: number;
  /** What stands before the text of its first paragraph; null: it is a paragraph like others. */
  readonly lead: { readonly label: string | null; readonly term: string } | null;
  /** `first`: nothing was written of it; `going on`: lines may follow its text; `broken`: something else came between. */
  state: "first" | "going on" | "broken";
}

/** A table that is open, with its rows so far. */
export interface OpenTable {
  readonly table: PageTable;
  /** Cells of the row that is open; null: none is. */
  cells: PageCell[] | null;
  isHead: boolean;
}

/** A link that is open: it reads as its text, else as its pictures. */
interface Link {
  /** Where it begins in the line. */
  readonly mark: number;
  hasText: boolean;
  readonly alternatives: string[];
}

/** Collects text and writes it as blocks. */
export class Flow {
  readonly line = new Line();
  readonly lists: List[] = [];
  readonly tables: OpenTable[] = [];
  /** Level of the heading that is open, 1 to 6; 0: none is. */
  heading = 0;
  isTerm = false;
  quotes = 0;
  bold = 0;
  link: Link | null = null;
  /** Whether a link ended right before. */
  isAfterLink = false;
  hasTable = false;
  /** Whether all text so far is bold. */
  isAllBold = true;
  readonly #items: Item[] = [];
  /** The text that is laid out already, in pieces; null outside of such. */
  #code: string[] | null = null;
  #codeDepth = 0;
  #language = "";

  constructor(readonly sink: PageSink) {}

  /** @returns whether there was anything to see */
  add(text: string): boolean {
    if (this.#code !== null) {
      this.#code.push(text);
      return text.trim() !== "";
    }
    if (!this.line.add(text)) return false;
    this.isAfterLink = false;
    if (this.bold === 0) this.isAllBold = false;
    if (this.link !== null) this.link.hasText = true;
    return true;
  }

  /** A picture is what is said of it; within a link, if that has no text. */
  addAlternative(text: string): void {
    if (this.link !== null) this.link.alternatives.push(text);
    else {
      this.line.blank();
      this.add(text);
      this.line.blank();
    }
  }

  beginLink(): void {
    if (this.isAfterLink) this.line.blank();
    this.link = { mark: this.line.mark, hasText: false, alternatives: [] };
  }

  /** @param isPassedOver whether a link in a heading that says this says nothing */
  endLink(isPassedOver: (text: string) => boolean): void {
    const { link } = this;
    if (link === null) return;
    this.link = null;
    if (!link.hasText) this.add(link.alternatives.join(" "));
    else if (this.heading > 0 && isPassedOver(this.line.since(link.mark)?.trim() ?? "")) this.line.cutFrom(link.mark);
    this.isAfterLink = true;
  }

  break(): void {
    if (this.#code !== null) this.#code.push("\n");
    else if (this.heading > 0 || this.isTerm) this.line.blank();
    else this.line.break();
  }

  /** Text that comes is another block; within a heading or term it is the same one, within code another line. */
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

  /** @returns what it says; null for an empty one */
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

  /** The language of the code that is open, where it was not said before. */
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
    if (list?.kind !== "definitions" || list.areExplained) return;
    // explained by nothing: they are headings to what follows
    for (const text of list.terms) this.#write({ text, series: null, plain: text });
  }

  /** @param value the number that the item says it has */
  beginItem(value: number | null): void {
    this.separate();
    const list = this.lists.at(-1);
    let label: string | null = null;
    if (list?.kind === "numbers") {
      if (value !== null) list.next = value;
      label = `${numeral(list.next, list.numerals)}.`;
      list.next += list.step;
    }
    this.#items.push({ level: this.lists.length - 1, lead: { label, term: "" }, state: "first" });
  }

  beginTerm(): void {
    this.separate();
    const list = this.lists.at(-1);
    if (list?.kind === "definitions" && list.areExplained) {
      list.terms = [];
      list.areExplained = false;
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
    if (list?.kind === "definitions") list.areExplained = true;
    const lead = terms.length === 0 ? null : { label: null, term: `${terms.join(", ")}: ` };
    this.#items.push({ level: this.lists.length - 1, lead, state: "first" });
  }

  /** The end of an item or definition. */
  endItem(): void {
    this.separate();
    const item = this.#items.pop();
    // a term without words explains nothing, and is a word of the text all the same
    const term = item?.state === "first" ? (item.lead?.term ?? "") : "";
    if (term !== "") this.#write({ text: term.slice(0, -2), series: null, plain: term.slice(0, -2) });
  }

  #writeParagraph(): void {
    if (this.line.isEmpty) return;
    const text = readable(this.line.take());
    if (text === "") return;
    const item = this.#items.at(-1);
    if (item === undefined || item.lead === null || item.state === "broken") {
      const quoted = this.quotes > 0 && item === undefined ? text.replace(/^/gm, "> ") : text;
      this.#write({ text: quoted, series: null, plain: text });
      return;
    }
    const { level, lead, state } = item;
    item.state = "going on";
    if (state === "first") {
      const plain = `${lead.term}${text}`;
      this.#write({ text: listItem(level, lead.label, plain), series: LIST, plain, isItem: true });
      return;
    }
    const indent = "  ".repeat(Math.min(level, 8) + 1);
    const lines = text.replace(/\n+/g, "\n").replace(/^/gm, indent);
    this.#write({ text: lines, series: LIST, plain: text });
  }

  #breakItem(): void {
    const item = this.#items.at(-1);
    if (item === undefined) return;
    if (item.state === "first" && item.lead !== null && item.lead.term !== "") {
      const term = item.lead.term.slice(0, -2);
      this.#write({ text: term, series: null, plain: term });
    }
    item.state = "broken";
  }

  /** Tables are written by themselves: what follows in an item is no part of its text any more. */
  breakItem(): void {
    this.separate();
    this.#breakItem();
  }

  #write(block: Block & Partial<PageBlock> & { readonly plain: string }): void {
    this.sink.write({ isItem: false, isCode: false, ...block });
  }
}
