// Reads text of DrawingML (ECMA-376-1, 21.1.2): paragraphs of shapes, cells, diagrams and comments, with their list
// levels. pptx-slide.ts and diagram.ts use it.

import { type Block, LIST, onOneLine, readable } from "../text-writer.ts";
import { EquationReader } from "./equation.ts";
import { listItem, type NumeralKind, numeral } from "./lists.ts";
import { type RunPosition, ScriptedText } from "./scripted-text.ts";
import { type Attributes, isSet } from "./xml.ts";

/** A paragraph of a text body. */
export interface DrawingParagraph {
  /** The text; it has at least one visible character. */
  readonly text: string;
  /** List level; 0 is the outermost. */
  readonly level: number;
  /** Kind of list. `inherited` means that the paragraph itself does not set it: the kind of shape decides. */
  readonly list: "bullet" | "none" | "inherited" | AutoNumber;
  /** Whether the whole paragraph is bold. */
  readonly isBold: boolean;
}

interface AutoNumber {
  /** Numbering scheme of DrawingML, such as `arabicPeriod`. */
  readonly scheme: string;
  readonly start: number;
}

/** Collects the paragraphs of one text body. */
export class DrawingText {
  readonly paragraphs: DrawingParagraph[] = [];
  readonly #text = new ScriptedText();
  #level = 0;
  #list: DrawingParagraph["list"] = "inherited";
  #isText = false;
  #isBold = true;
  #isRunBold = false;
  #isStruck = false;
  #position: RunPosition = "line";
  #equation: EquationReader | null = null;

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (this.#equation !== null) return this.#equation.open(name, attributes);
    switch (name) {
      case "a:p":
        this.#text.take();
        this.#level = 0;
        this.#list = "inherited";
        this.#isBold = true;
        break;
      case "a:pPr":
        this.#level = Math.min(Math.max(Number.parseInt(attributes.lvl ?? "0", 10) || 0, 0), 8);
        break;
      case "a:buNone":
        this.#list = "none";
        break;
      case "a:buChar":
      case "a:buBlip":
        this.#list = "bullet";
        break;
      case "a:buAutoNum":
        this.#list = { scheme: attributes.type ?? "", start: Number.parseInt(attributes.startAt ?? "1", 10) || 1 };
        break;
      case "a:r":
      case "a:fld":
        this.#isRunBold = false;
        this.#isStruck = false;
        this.#position = "line";
        break;
      case "a:rPr":
        this.#isRunBold = isSet(attributes.b);
        this.#isStruck = /^(?:sng|dbl)Strike$/.test(attributes.strike ?? "");
        this.#position = positionOf(attributes.baseline);
        break;
      case "a:br":
        this.#text.add("\n", "line");
        break;
      case "a:t":
        this.#isText = true;
        this.#isBold &&= this.#isRunBold;
        break;
      case "m:oMath":
        this.#equation = new EquationReader();
        break;
      case "a:lstStyle":
      case "a:bodyPr":
      case "a:endParaRPr":
        return "skip";
    }
    return undefined;
  }

  close(name: string): void {
    if (this.#equation !== null) {
      if (!this.#equation.close()) return;
      this.#text.addEquation(this.#equation.result());
      this.#equation = null;
    }
    if (name === "a:t") this.#isText = false;
    if (name !== "a:p") return;
    const text = readable(this.#text.take());
    if (text !== "") {
      this.paragraphs.push({ text, level: this.#level, list: this.#list, isBold: this.#isBold });
    }
  }

  text(text: string): void {
    if (this.#equation !== null) this.#equation.text(text);
    else if (this.#isText) this.#text.add(text, this.#position, this.#isStruck);
  }
}

/** @param baseline distance from the line as a share of the font size: `30000` (thousandths of a percent) or `30%` */
function positionOf(baseline = "0"): RunPosition {
  const shift = Number.parseFloat(baseline) || 0;
  return shift === 0 ? "line" : shift > 0 ? "raised" : "lowered";
}

/** Joins paragraphs into one line. */
export function lineOf(paragraphs: readonly DrawingParagraph[]): string {
  return paragraphs.map(({ text }) => onOneLine(text)).join(" ");
}

/** Writes paragraphs as blocks. @param hasBullets whether paragraphs without a list property are list items */
export function blocksOfParagraphs(paragraphs: readonly DrawingParagraph[], hasBullets: boolean): Block[] {
  const counts: number[] = [];
  return paragraphs.map(({ text, level, list }) => {
    const isItem = list === "inherited" ? hasBullets || level > 0 : list !== "none";
    if (typeof list !== "object") {
      counts.length = Math.min(counts.length, isItem ? level : 0);
      return isItem ? { text: listItem(level, null, text), series: LIST } : { text, series: null };
    }
    counts.length = Math.min(counts.length, level + 1);
    const count = (counts[level] ?? list.start - 1) + 1;
    while (counts.length < level) counts.push(0);
    counts[level] = count;
    return { text: listItem(level, autoLabel(list.scheme, count), text), series: LIST };
  });
}

const KINDS: readonly (readonly [begins: string, kind: NumeralKind])[] = [
  ["alphaLc", "lowerLetter"],
  ["alphaUc", "upperLetter"],
  ["romanLc", "lowerRoman"],
  ["romanUc", "upperRoman"],
];

function autoLabel(scheme: string, count: number): string {
  const kind = KINDS.find(([begins]) => scheme.startsWith(begins))?.[1] ?? "decimal";
  const written = numeral(count, kind);
  if (scheme.endsWith("ParenBoth")) return `(${written})`;
  if (scheme.endsWith("ParenR")) return `${written})`;
  return scheme.endsWith("Plain") ? written : `${written}.`;
}
