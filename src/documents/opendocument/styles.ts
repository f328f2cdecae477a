// Collects what styles of an OpenDocument say about the meaning of text: raised and lowered characters, list labels,
// headers and footers of pages.

import type { NumeralKind } from "../office/lists.ts";
import type { Attributes } from "../office/xml.ts";

/** How the labels of a list level are written; null for bullets. */
export interface LevelLabel {
  readonly kind: NumeralKind;
  readonly prefix: string;
  readonly suffix: string;
  readonly start: number;
  /** Number of levels whose numbers the label has. */
  readonly levels: number;
}

const KINDS: Readonly<Record<string, NumeralKind>> = {
  "1": "decimal",
  a: "lowerLetter",
  A: "upperLetter",
  i: "lowerRoman",
  I: "upperRoman",
};

/** The styles of a document. `open` and `close` receive the elements of `styles.xml` and `content.xml`. */
export class Styles {
  /** By style name. Absent: on the line. */
  readonly #positions = new Map<string, "raised" | "lowered">();
  readonly #bold = new Set<string>();
  readonly #struck = new Set<string>();
  readonly #hidden = new Set<string>();
  /** Labels of list levels, from 1, by style name. */
  readonly #levels = new Map<string, Map<number, LevelLabel | null>>();
  #style = "";
  #list = "";

  open(name: string, attributes: Attributes): void {
    switch (name) {
      case "style:style":
        this.#style = attributes.name ?? "";
        break;
      case "style:text-properties":
        this.#readText(attributes);
        break;
      case "text:list-style":
        this.#list = attributes["style:name"] ?? "";
        break;
      case "text:list-level-style-number":
      case "text:list-level-style-bullet":
      case "text:list-level-style-image":
        this.#readLevel(name.endsWith("number"), attributes);
    }
  }

  /** null if the style leaves the text where it is. */
  position(style: string | undefined): "raised" | "lowered" | null {
    return this.#positions.get(style ?? "") ?? null;
  }

  isBold(style: string | undefined): boolean {
    return this.#bold.has(style ?? "");
  }

  isStruck(style: string | undefined): boolean {
    return this.#struck.has(style ?? "");
  }

  isHidden(style: string | undefined): boolean {
    return this.#hidden.has(style ?? "");
  }

  /** The label of a level, from 1; null for a bullet. */
  label(list: string, level: number): LevelLabel | null {
    return this.#levels.get(list)?.get(level) ?? null;
  }

  #readText(attributes: Attributes): void {
    const position = attributes["text-position"] ?? "";
    if (position.startsWith("super")) this.#positions.set(this.#style, "raised");
    else if (position.startsWith("sub") || position.startsWith("-")) this.#positions.set(this.#style, "lowered");
    else if (/^[1-9]\d*%/.test(position)) this.#positions.set(this.#style, "raised");
    const bold = Object.entries(attributes).find(([name]) => name.endsWith("font-weight"))?.[1];
    if (bold === "bold") this.#bold.add(this.#style);
    const line = attributes["text-line-through-style"] ?? attributes["text-line-through-type"] ?? "none";
    if (line !== "none") this.#struck.add(this.#style);
    if (attributes["text:display"] === "none") this.#hidden.add(this.#style);
  }

  #readLevel(isNumber: boolean, attributes: Attributes): void {
    const levels = this.#levels.get(this.#list) ?? new Map<number, LevelLabel | null>();
    this.#levels.set(this.#list, levels);
    const kind = KINDS[attributes["style:num-format"] ?? ""];
    levels.set(
      Number(attributes.level ?? 1),
      !isNumber || kind === undefined
        ? null
        : {
            kind,
            prefix: attributes["style:num-prefix"] ?? "",
            suffix: attributes["style:num-suffix"] ?? "",
            start: Number(attributes["start-value"] ?? 1) || 1,
            levels: Number(attributes["display-levels"] ?? 1) || 1,
          },
    );
  }
}
