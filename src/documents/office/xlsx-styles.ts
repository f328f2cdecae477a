// Reads the cell styles of a workbook: number formats, bold and struck fonts (ECMA-376-1, 18.8).

import type { OfficePackage } from "./package.ts";
import { builtInFormat, GENERAL, type NumberFormat, numberFormat } from "./xlsx-numbers.ts";
import { type Attributes, isOn, type XmlHandler } from "./xml.ts";

/** Style of cells. */
export interface CellStyle {
  readonly format: NumberFormat;
  readonly isBold: boolean;
  readonly isStruck: boolean;
}

const PLAIN: CellStyle = { format: GENERAL, isBold: false, isStruck: false };

/** Returns the function that finds a style by its number. @throws ReadFailure if the part is damaged */
export function readCellStyles(
  document: OfficePackage,
  part: string | null,
  is1904: boolean,
): (style: number) => CellStyle {
  const reader = new StyleReader();
  if (part !== null) document.read(part, "x", reader);
  const looks = new Map<number, CellStyle>();
  return (style) => {
    const known = looks.get(style);
    if (known !== undefined) return known;
    const written = reader.cells[style];
    if (written === undefined) return PLAIN;
    const code = reader.formats.get(written.format) ?? builtInFormat(written.format);
    const { isBold, isStruck } = reader.fonts[written.font] ?? PLAIN;
    const look = { format: numberFormat(code, is1904), isBold, isStruck };
    looks.set(style, look);
    return look;
  };
}

class StyleReader implements XmlHandler {
  readonly formats = new Map<number, string>();
  readonly fonts: { isBold: boolean; isStruck: boolean }[] = [];
  readonly cells: { readonly format: number; readonly font: number }[] = [];
  #list: "fonts" | "cells" | null = null;

  open(name: string, attributes: Attributes): "skip" | undefined {
    switch (name) {
      case "x:numFmt":
        if (attributes.formatCode !== undefined) this.formats.set(Number(attributes.numFmtId), attributes.formatCode);
        break;
      case "x:fonts":
        this.#list = "fonts";
        break;
      case "x:cellXfs":
        this.#list = "cells";
        break;
      case "x:dxfs":
      case "x:cellStyleXfs":
        return "skip";
      case "x:font":
        if (this.#list === "fonts") this.fonts.push({ isBold: false, isStruck: false });
        break;
      case "x:b":
      case "x:strike": {
        const font = this.#list === "fonts" ? this.fonts.at(-1) : undefined;
        if (font !== undefined) font[name === "x:b" ? "isBold" : "isStruck"] = isOn(attributes);
        break;
      }
      case "x:xf":
        if (this.#list === "cells") {
          this.cells.push({ format: Number(attributes.numFmtId ?? 0), font: Number(attributes.fontId ?? 0) });
        }
        break;
    }
    return undefined;
  }

  close(name: string): void {
    if (name === "x:fonts" || name === "x:cellXfs") this.#list = null;
  }

  text(): void {}
}
