// Jupyter notebooks (IPYNB). read-notebook.ts extracts the text.

import type { FileFormat } from "../format.ts";
import { readTextDocument } from "../text/text-file.ts";

/** Jupyter notebooks. */
export const IPYNB: FileFormat = {
  name: "IPYNB",
  mediaType: "application/x-ipynb+json",
  extensions: ["ipynb"],
  recognise: ({ text, extension }) => (text?.startsWith("{") === true && extension === "ipynb" ? "content" : null),
  async read({ bytes, filename }) {
    const { notebookText } = await import("./read-notebook.ts");
    return readTextDocument(bytes, (text) => notebookText(text, filename));
  },
};
