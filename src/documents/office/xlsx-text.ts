// Reads texts of a workbook (ECMA-376-1, 18.4): shared strings, texts in cells and comments, of which parts may be
// formatted differently.

import { onOneLine } from "../text-writer.ts";
import { type RunPosition, ScriptedText } from "./scripted-text.ts";
import { type Attributes, isOn } from "./xml.ts";

/** Collects one text. */
export class RichText {
  readonly #text = new ScriptedText();
  #position: RunPosition = "line";
  #isStruck = false;
  #isText = false;

  /** Receives an element inside the text. */
  open(name: string, attributes: Attributes): "skip" | undefined {
    switch (name) {
      case "x:r":
        this.#position = "line";
        this.#isStruck = false;
        break;
      case "x:strike":
        this.#isStruck = isOn(attributes);
        break;
      case "x:vertAlign": {
        const { val } = attributes;
        this.#position = val === "superscript" ? "raised" : val === "subscript" ? "lowered" : "line";
        break;
      }
      case "x:t":
        this.#isText = true;
        break;
      case "x:rPh":
        // the pronunciation of Japanese words
        return "skip";
    }
    return undefined;
  }

  close(name: string): void {
    if (name === "x:t") this.#isText = false;
    if (name !== "x:r") return;
    this.#position = "line";
    this.#isStruck = false;
  }

  text(text: string): void {
    if (this.#isText) this.#text.add(text, this.#position, this.#isStruck);
  }

  /** Returns the text on one line and begins a new one. */
  take(): string {
    this.#isText = false;
    this.#position = "line";
    this.#isStruck = false;
    return sheetText(this.#text.take());
  }
}

/** Writes a text of a workbook on one line. Decodes escaped characters such as `_x000D_` (ECMA-376-1, 22.9.2.19). */
export function sheetText(text: string): string {
  const decoded = text.includes("_x")
    ? text.replace(/_x([0-9a-f]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
  return onOneLine(decoded);
}
