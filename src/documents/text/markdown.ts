// The Markdown format. Its text is stored as it is, but for tables: their rows get the names of their columns, so that
// each can be understood alone.

import type { FileFormat } from "../format.ts";
import { NamedRows } from "./markdown-tables.ts";
import { isOtherMarkup, RECOGNITION_UNITS, readTextFile } from "./text-file.ts";

/** Markdown. */
export const MARKDOWN: FileFormat = {
  name: "Markdown",
  mediaType: "text/markdown",
  extensions: ["md", "markdown", "mdown", "mkd"],
  recognise({ text, extension, hasKnownExtension }) {
    if (text === null || isOtherMarkup(text)) return null;
    if (this.extensions.includes(extension)) return "name";
    return !hasKnownExtension && hasMarkdown(text.slice(0, RECOGNITION_UNITS)) ? "guess" : null;
  },
  async read({ bytes }) {
    const rows = new NamedRows();
    return readTextFile(bytes, { toPieces: (pieces) => [...rows.of(pieces)], marks: () => rows.marks });
  },
};

/** Whether a text has a heading, a fenced code block or the second line of a table. */
function hasMarkdown(text: string): boolean {
  return /^#{1,6} \S/m.test(text) || /^(?:```|~~~)/m.test(text) || /^\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+/m.test(text);
}
