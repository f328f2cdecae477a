// Reads the text of SmartArt (ECMA-376-1, 21.4) as a nested list.

import { type Block, LIST } from "../text-writer.ts";
import { type DrawingParagraph, DrawingText, lineOf } from "./drawing-text.ts";
import { listItem } from "./lists.ts";
import type { OfficePackage } from "./package.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** The points of the diagram in a part as list items, in the order of the diagram; none if the part does not exist. */
export function diagramBlocks(document: OfficePackage, part: string): Block[] {
  const reader = new DiagramReader();
  document.read(part, "dgm", reader);
  return reader.blocks();
}

interface Point {
  readonly type: string;
  paragraphs: readonly DrawingParagraph[];
}

class DiagramReader implements XmlHandler {
  readonly #points = new Map<string, Point>();
  /** The children of each point, by the id of the point. */
  readonly #children = new Map<string, { readonly id: string; readonly order: number }[]>();
  #point: Point | null = null;
  #text: DrawingText | null = null;

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#text !== null) return this.#text.open(name, attributes);
    if (name === "dgm:pt") {
      this.#point = { type: attributes.type ?? "node", paragraphs: [] };
      this.#points.set(attributes.modelId ?? "", this.#point);
    } else if (name === "dgm:t") {
      this.#text = new DrawingText();
    } else if (name === "dgm:cxn" && (attributes.type ?? "parOf") === "parOf") {
      const { srcId = "", destId = "", srcOrd = "0" } = attributes;
      const siblings = this.#children.get(srcId) ?? [];
      siblings.push({ id: destId, order: Number.parseInt(srcOrd, 10) || 0 });
      this.#children.set(srcId, siblings);
    }
    return undefined;
  }

  close(name: string): void {
    if (name === "dgm:t") {
      if (this.#point !== null && this.#text !== null) this.#point.paragraphs = this.#text.paragraphs;
      this.#text = null;
    } else this.#text?.close(name);
  }

  text(text: string): void {
    this.#text?.text(text);
  }

  blocks(): Block[] {
    const blocks: Block[] = [];
    const seen = new Set<string>();
    const write = (rootId: string) => {
      const waiting = [{ id: rootId, level: this.#isItem(rootId) ? 0 : -1 }];
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const { id, level } = next;
        if (seen.has(id)) continue;
        seen.add(id);
        const text = this.#isItem(id) ? lineOf(this.#points.get(id)?.paragraphs ?? []) : "";
        if (text !== "") blocks.push({ text: listItem(level, null, text), series: LIST });
        const children = (this.#children.get(id) ?? []).toSorted((one, other) => other.order - one.order);
        for (const child of children) waiting.push({ id: child.id, level: level + 1 });
      }
    };
    for (const [id, { type }] of this.#points) if (type === "doc") write(id);
    // writes points that have no parent
    for (const id of this.#points.keys()) if (this.#isItem(id)) write(id);
    return blocks;
  }

  #isItem(id: string): boolean {
    const type = this.#points.get(id)?.type;
    return type === "node" || type === "asst";
  }
}
