// The JSON format, with JSON Lines. json-text.ts extracts the text.

import type { FileFormat } from "../format.ts";
import { isOtherMarkup, readTextFile, titleOfName } from "../text/text-file.ts";

/** JSON, JSON Lines, and concatenated JSON values. */
export const JSON_DATA: FileFormat = {
  name: "JSON",
  mediaType: "application/json",
  extensions: ["json", "jsonl", "ndjson"],
  recognise({ text, isWhole, extension }) {
    if (text === null) return null;
    if (isJson(text, isWhole)) return "content";
    return this.extensions.includes(extension) && !isOtherMarkup(text) ? "name" : null;
  },
  async read({ bytes, filename }) {
    const { jsonText } = await import("./json-text.ts");
    return readTextFile(bytes, { toPieces: jsonText, title: titleOfName(filename) });
  },
};

function isJson(text: string, isWhole: boolean): boolean {
  if (!/^[[{]/.test(text)) return false;
  // Only the first characters are checked, because the beginning of a long file is not valid JSON by itself. The second
  // pattern excludes Markdown pages, which may begin with a link.
  if (!isWhole) return /^(?:\{\s*"|\[\s*[[{"\d-])/.test(text) && !/^\[[^\]\n]*\][(:[]/.test(text);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // another kind of text
  }
}
