// Reads the part of a chart (ECMA-376-1, 21.2; newer kinds: [MS-ODRAWXML] 2.24.3), with the values that the file keeps
// of the data. chart-reader.ts and chartex-reader.ts read the two formats.

import type { Block } from "../text-writer.ts";
import { linesOfChart, type RangeValues } from "./chart.ts";
import { ChartReader } from "./chart-reader.ts";
import { ChartexReader } from "./chartex-reader.ts";
import { blocksOfParagraphs, DrawingText } from "./drawing-text.ts";
import type { OfficePackage } from "./package.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/**
 * The chart in a part as blocks: a line with the title, a line per category. None if the part does not exist.
 * @throws ReadFailure if the part is damaged or exceeds the budget
 */
export function chartBlocks(
  document: OfficePackage,
  part: string,
  valuesOf: RangeValues = () => new Map(),
): readonly Block[] {
  let reader: ChartReader | ChartexReader | null = null;
  document.read(part, "c", {
    open: (name, attributes) => {
      reader ??= name.startsWith("cx:") ? new ChartexReader(valuesOf) : new ChartReader(valuesOf);
      return reader.open(name, attributes);
    },
    close: (name) => reader?.close(name),
    text: (text) => reader?.text(text),
  });
  const chart = (reader as ChartReader | ChartexReader | null)?.chart();
  const blocks = chart === undefined ? [] : [...linesOfChart(chart, document.budget)];
  for (const { type, target } of document.relationships(part)) {
    if (type === "chartusershapes") blocks.push(...shapeBlocks(document, target));
  }
  return blocks;
}

/** Text boxes that are drawn on a chart. */
function shapeBlocks(document: OfficePackage, part: string): Block[] {
  const reader = new ShapeReader();
  document.read(part, "cdr", reader);
  return reader.blocks;
}

class ShapeReader implements XmlHandler {
  readonly blocks: Block[] = [];
  #text: DrawingText | null = null;

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#text !== null) return this.#text.open(name, attributes);
    if (name === "cdr:txBody") this.#text = new DrawingText();
    return undefined;
  }

  close(name: string): void {
    if (name === "cdr:txBody" && this.#text !== null) {
      this.blocks.push(...blocksOfParagraphs(this.#text.paragraphs, false));
      this.#text = null;
    } else this.#text?.close(name);
  }

  text(text: string): void {
    this.#text?.text(text);
  }
}
