// Reads what is drawn on a sheet (ECMA-376-1, 20.5): text boxes, shapes, diagrams, charts and pictures, each with
// the cells that it covers.

import { nameOfRange } from "../../domain/cell-range.ts";
import type { Block } from "../text-writer.ts";
import type { RangeValues } from "./chart.ts";
import { blocksOfParagraphs, DrawingText } from "./drawing-text.ts";
import { type OfficePackage, targetsOf } from "./package.ts";
import { type RelatedBlocks, relatedBlocks } from "./related-blocks.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** Something drawn on a sheet. */
export interface Drawn {
  /** The range of the cells that it covers, such as `B2:D14`; null if it does not move with cells. */
  readonly cells: string | null;
  readonly blocks: readonly Block[];
}

/** Maximum row and column of an anchor, as in Excel. */
const ROW_MAX = 1_048_576;
const COLUMN_MAX = 16_384;

/** What a part draws, in its order; none if the part does not exist. @throws ReadFailure if a part is damaged */
export function readDrawings(document: OfficePackage, part: string, valuesOf: RangeValues): readonly Drawn[] {
  const reader = new DrawingReader(relatedBlocks(document, targetsOf(document.relationships(part)), valuesOf));
  document.read(part, "xdr", reader);
  return reader.drawn;
}

interface Corner {
  row: number;
  column: number;
}

class DrawingReader implements XmlHandler {
  readonly drawn: Drawn[] = [];
  #from: Corner | null = null;
  #to: Corner | null = null;
  #corner: Corner | null = null;
  #number = "";
  #blocks: Block[] = [];
  #text: DrawingText | null = null;

  /** @param related returns the blocks of a diagram, chart or picture */
  constructor(private readonly related: RelatedBlocks) {}

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#text !== null) return this.#text.open(name, attributes);
    switch (name) {
      case "xdr:twoCellAnchor":
      case "xdr:oneCellAnchor":
      case "xdr:absoluteAnchor":
        this.#from = null;
        this.#to = null;
        this.#blocks = [];
        break;
      case "xdr:from":
        this.#from = { row: 0, column: 0 };
        this.#corner = this.#from;
        break;
      case "xdr:to":
        this.#to = { row: 0, column: 0 };
        this.#corner = this.#to;
        break;
      case "xdr:row":
      case "xdr:col":
        this.#number = "";
        break;
      case "xdr:txBody":
        this.#text = new DrawingText();
        break;
      case "c:chart":
      case "cx:chart":
      case "dgm:relIds":
      case "a:blip":
        this.#add(this.related(name, attributes));
        break;
    }
    return undefined;
  }

  close(name: string): void {
    if (this.#text !== null && name !== "xdr:txBody") {
      this.#text.close(name);
      return;
    }
    const number = Number.parseInt(this.#number, 10) || 0;
    switch (name) {
      case "xdr:row":
        if (this.#corner !== null) this.#corner.row = Math.min(Math.max(number + 1, 1), ROW_MAX);
        break;
      case "xdr:col":
        if (this.#corner !== null) this.#corner.column = Math.min(Math.max(number, 0), COLUMN_MAX - 1);
        break;
      case "xdr:from":
      case "xdr:to":
        this.#corner = null;
        break;
      case "xdr:txBody":
        this.#add(blocksOfParagraphs(this.#text?.paragraphs ?? [], false));
        this.#text = null;
        break;
      case "xdr:twoCellAnchor":
      case "xdr:oneCellAnchor":
      case "xdr:absoluteAnchor":
        if (this.#blocks.length > 0) this.drawn.push({ cells: this.#cells(), blocks: this.#blocks });
        this.#blocks = [];
        break;
    }
  }

  text(text: string): void {
    if (this.#text !== null) this.#text.text(text);
    else if (this.#corner !== null) this.#number += text;
  }

  #add(blocks: readonly Block[]): void {
    for (const block of blocks) this.#blocks.push(block);
  }

  #cells(): string | null {
    const [from, to] = [this.#from, this.#to ?? this.#from];
    if (from === null || to === null || from.row === 0 || to.row === 0) return null;
    return nameOfRange({
      top: Math.min(from.row, to.row),
      left: Math.min(from.column, to.column),
      bottom: Math.max(from.row, to.row),
      right: Math.max(from.column, to.column),
    });
  }
}
