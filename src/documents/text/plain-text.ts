// Plain text: the format of text files that have no other format, and of source code.

import { CODE_EXTENSIONS, codeLanguageOf } from "../../domain/source-code.ts";
import { shortTitle } from "../../domain/title.ts";
import type { FileFormat } from "../format.ts";
import { ALL_LINES, isOtherMarkup, readTextDocument, readTextFile } from "./text-file.ts";

/** Plain text, and source code. */
export const PLAIN_TEXT: FileFormat = {
  name: "TXT",
  mediaType: "text/plain",
  extensions: ["txt", "text", "log", ...CODE_EXTENSIONS],
  recognise({ text, extension }) {
    if (text === null || isOtherMarkup(text)) return null;
    return this.extensions.includes(extension) ? "name" : "fallback";
  },
  async read({ bytes, filename }) {
    const language = codeLanguageOf(filename);
    if (language === null) return readTextFile(bytes, { marks: () => [ALL_LINES] });
    const { codeText } = await import("../code/read-code.ts");
    return readTextDocument(bytes, (text) => {
      const { pieces, marks } = codeText(text, language);
      return { pieces, marks: [ALL_LINES, ...marks], title: shortTitle(filename) };
    });
  },
};
