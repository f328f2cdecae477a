// Reads the settings of a Word document that its text depends on: how notes are numbered (ECMA-376-1, 17.11).

import { type NumeralKind, numeralKindOf } from "./lists.ts";
import type { OfficePackage } from "./package.ts";
import type { Attributes, XmlHandler } from "./xml.ts";

/** The numerals of the marks of footnotes and endnotes. @throws ReadFailure if the part is damaged */
export function readNoteFormats(
  document: OfficePackage,
  part: string | null,
): Readonly<Record<"footnote" | "endnote", NumeralKind>> {
  const reader = new SettingsReader();
  if (part !== null) document.read(part, "w", reader);
  return reader.formats;
}

class SettingsReader implements XmlHandler {
  /** As Word numbers notes if the settings do not say how. */
  readonly formats: Record<"footnote" | "endnote", NumeralKind> = { footnote: "decimal", endnote: "lowerRoman" };
  #kind: "footnote" | "endnote" | null = null;

  open(name: string, { val = "" }: Attributes): undefined {
    if (name === "w:footnotePr") this.#kind = "footnote";
    if (name === "w:endnotePr") this.#kind = "endnote";
    if (name === "w:numFmt" && this.#kind !== null) this.formats[this.#kind] = numeralKindOf(val);
  }

  close(name: string): void {
    if (name === "w:footnotePr" || name === "w:endnotePr") this.#kind = null;
  }

  text(): void {}
}
