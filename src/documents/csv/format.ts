// The CSV format. csv.ts extracts the text.

import type { FileFormat } from "../format.ts";
import { isOtherMarkup, RECOGNITION_UNITS, readTextFile, titleOfName } from "../text/text-file.ts";

/** Tables with a separator: comma, semicolon or tab. */
export const CSV: FileFormat = {
  name: "CSV",
  mediaType: "text/csv",
  extensions: ["csv", "tsv"],
  recognise({ text, extension, hasKnownExtension }) {
    if (text === null || isOtherMarkup(text)) return null;
    if (this.extensions.includes(extension)) return "name";
    return !hasKnownExtension && isTable(text.slice(0, RECOGNITION_UNITS)) ? "guess" : null;
  },
  async read({ bytes, filename }) {
    const { csvText } = await import("./csv.ts");
    return readTextFile(bytes, { toPieces: (pieces) => [...csvText(pieces)], title: titleOfName(filename) });
  },
};

/**
 * Whether all lines have the same number of separators. Two lines are not enough: two sentences may have a comma each.
 */
function isTable(text: string): boolean {
  const lines = text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(0, 20);
  if (lines.length < 3) return false;
  return [/\t/g, /;/g, /,/g].some((separator) => {
    // the last line is left out, because it may be cut off
    const counts = lines.slice(0, -1).map((line) => line.replace(/"[^"]*"/g, "").match(separator)?.length ?? 0);
    return (counts[0] ?? 0) > 0 && counts.every((count) => count === counts[0]);
  });
}
