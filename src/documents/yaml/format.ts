// The YAML format. yaml-text.ts extracts the text.

import type { FileFormat } from "../format.ts";
import { isOtherMarkup, readTextDocument, titleOfName } from "../text/text-file.ts";

/** YAML, with several documents in a file. */
export const YAML: FileFormat = {
  name: "YAML",
  mediaType: "application/yaml",
  otherMediaTypes: ["text/yaml", "application/x-yaml", "text/x-yaml"],
  extensions: ["yaml", "yml"],
  recognise({ text, extension }) {
    if (text === null || isOtherMarkup(text)) return null;
    if (this.extensions.includes(extension)) return "name";
    return /^%YAML 1\.\d\s/.test(text) ? "content" : null;
  },
  async read({ bytes, filename }) {
    const { yamlText } = await import("./yaml-text.ts");
    return readTextDocument(bytes, (text) => ({ ...yamlText(text), title: titleOfName(filename) }));
  },
};
