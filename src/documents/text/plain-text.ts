// Plain text: the format of text files that have no other format.

import type { FileFormat } from "../format.ts";
import { isOtherMarkup, readTextFile } from "./text-file.ts";

/** Plain text. */
export const PLAIN_TEXT: FileFormat = {
  name: "TXT",
  mediaType: "text/plain",
  extensions: ["txt", "text", "log"],
  recognise({ text, extension }) {
    if (text === null || isOtherMarkup(text)) return null;
    return this.extensions.includes(extension) ? "name" : "fallback";
  },
  read: async ({ bytes }) => readTextFile(bytes),
};
