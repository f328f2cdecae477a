// Plain text: the format of text files that have no other format, and of source code.

import { CODE_EXTENSIONS, codeLanguageOf } from "../../domain/source-code.ts";
import { shortTitle } from "../../domain/title.ts";
import type { FileFormat } from "../format.ts";
import { isOtherMarkup, readTextDocument, readTextFile } from "./text-file.ts";

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
    if (language === null) return readTextFile(bytes);
    const { codeText } = await import("../code/read-code.ts");
    return readTextDocument(bytes, (text) => ({ ...codeText(text, language), title: shortTitle(filename) }));
  },
};
