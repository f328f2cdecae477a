// Reads a slide or its speaker notes (ECMA-376-1, 19.3): title, and text of shapes, tables and diagrams as blocks.
// pptx.ts decides which slides are read.

import { type Block, onOneLine } from "../text-writer.ts";
import { blocksOfParagraphs, type DrawingParagraph, DrawingText, lineOf } from "./drawing-text.ts";
import type { RelatedBlocks } from "./related-blocks.ts";
import { type Cell, TableRows } from "./table.ts";
import { type Attributes, isSet, type XmlHandler } from "./xml.ts";

/** Placeholders that are skipped: slide numbers, dates, footers, and the picture of the slide above its notes. */
const SKIPPED_PLACEHOLDERS = new Set(["sldNum", "dt", "ftr", "hdr", "sldImg"]);
const TITLES = new Set(["title", "ctrTitle"]);
/** Types of placeholders whose paragraphs are list items. The empty type is a placeholder for any content. */
const ITEMS = new Set(["body", "obj", ""]);
/** Maximum column span of a cell. PowerPoint allows 75 columns. */
const COLUMNS_MAX = 100;

/** Reads a slide. */
export class SlideReader implements XmlHandler {
  wasFound = false;
  /** Title of the slide on one line; empty if the slide has none. */
  title = "";
  readonly blocks: Block[] = [];
  /** Type of the placeholder; null if the current shape is not a placeholder. */
  #placeholder: string | null = null;
  #text: DrawingText | null = null;
  #table: SlideTable | null = null;

  /**
   * @param related returns the blocks of a diagram, chart or picture
   * @param kind for `notes`, only the notes placeholder is read
   */
  constructor(
    private readonly related: RelatedBlocks,
    private readonly kind: "slide" | "notes",
  ) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#text !== null) return this.#text.open(name, attributes);
    switch (name) {
      case "p:cSld":
        this.wasFound = true;
        break;
      case "p:sp":
        this.#placeholder = null;
        break;
      case "p:ph":
        this.#placeholder = attributes.type ?? "";
        break;
      case "p:txBody":
      case "a:txBody":
        this.#text = new DrawingText();
        break;
      case "a:tbl":
        this.#table = new SlideTable();
        break;
      case "a:tblPr":
      case "a:tr":
      case "a:tc":
        this.#table?.open(name, attributes);
        break;
      case "dgm:relIds":
      case "c:chart":
      case "cx:chart":
      case "a:blip":
        this.#add(this.related(name, attributes));
        break;
      case "p:extLst":
        return "skip";
    }
    return undefined;
  }

  close(name: string): void {
    if (this.#text !== null) {
      if (name === "p:txBody" || name === "a:txBody") {
        this.#endText(this.#text.paragraphs);
        this.#text = null;
      } else this.#text.close(name);
      return;
    }
    if (name === "a:tc" || name === "a:tr") this.#table?.close(name);
    if (name !== "a:tbl" || this.#table === null) return;
    this.#add(this.#table.end());
    this.#table = null;
  }

  text(text: string): void {
    this.#text?.text(text);
  }

  #endText(paragraphs: readonly DrawingParagraph[]): void {
    if (this.#table !== null) {
      this.#table.fill(paragraphs);
      return;
    }
    const type = this.#placeholder;
    if (type !== null && SKIPPED_PLACEHOLDERS.has(type)) return;
    if (this.kind === "notes" && type !== "body") return;
    if (type !== null && TITLES.has(type) && this.title === "") this.title = lineOf(paragraphs);
    else {
      const hasBullets = this.kind === "slide" && type !== null && ITEMS.has(type) && paragraphs.length > 1;
      this.#add(blocksOfParagraphs(paragraphs, hasBullets));
    }
  }

  #add(blocks: readonly Block[]): void {
    for (const block of blocks) this.blocks.push(block);
  }
}

/** Lays out a table. Merged cells repeat the text that they share. */
class SlideTable {
  readonly #blocks: Block[] = [];
  #rows = new TableRows("none");
  #row: Cell[] = [];
  #column = 0;
  #cell: { text: string; isBold: boolean; readonly span: number; readonly isMerged: "across" | "down" | null } | null =
    null;
  #above = new Map<number, string>();

  open(name: string, attributes: Attributes): void {
    if (name === "a:tblPr" && isSet(attributes.firstRow)) this.#rows = new TableRows("likely");
    if (name === "a:tr") {
      this.#row = [];
      this.#column = 0;
    }
    if (name !== "a:tc") return;
    const isMerged = isSet(attributes.hMerge) ? "across" : isSet(attributes.vMerge) ? "down" : null;
    const span = Math.min(Math.max(Number.parseInt(attributes.gridSpan ?? "1", 10) || 1, 1), COLUMNS_MAX);
    this.#cell = { text: "", isBold: false, span, isMerged };
  }

  fill(paragraphs: readonly DrawingParagraph[]): void {
    if (this.#cell === null) return;
    this.#cell.text = onOneLine(lineOf(paragraphs));
    this.#cell.isBold = paragraphs.every(({ isBold }) => isBold);
  }

  close(name: string): void {
    if (name === "a:tr") this.#write(this.#rows.add({ cells: this.#row, isHeader: false }));
    if (name !== "a:tc" || this.#cell === null) return;
    const { text: own, isBold, span, isMerged } = this.#cell;
    const column = this.#column++;
    this.#cell = null;
    // the file also contains the cells that are covered by a column span; they are empty
    if (isMerged === "across") return;
    const text = isMerged === "down" && own === "" ? (this.#above.get(column) ?? "") : own;
    this.#above.set(column, text);
    this.#row.push({ text, column, span, isBold });
  }

  end(): Block[] {
    this.#write(this.#rows.end());
    return this.#blocks;
  }

  #write(lines: Iterable<string>): void {
    for (const text of lines) this.#blocks.push({ text, series: this.#rows.series });
  }
}
