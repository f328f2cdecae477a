// The Rich Text Format (RTF). read-rtf.ts extracts the text.

import type { FileFormat } from "../format.ts";

/** Rich Text Format. */
export const RTF: FileFormat = {
  name: "RTF",
  mediaType: "application/rtf",
  otherMediaTypes: ["text/rtf", "text/richtext"],
  extensions: ["rtf"],
  recognise: ({ text, head, extension }) => {
    if (text?.startsWith("{\\rtf") || head.toString("latin1", 0, 6).trimStart().startsWith("{\\rtf")) return "content";
    return extension === "rtf" && text?.startsWith("{") === true ? "name" : null;
  },
  async read({ bytes }) {
    return (await import("./read-rtf.ts")).readRtf(bytes);
  },
};
