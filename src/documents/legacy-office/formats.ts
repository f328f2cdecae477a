// The binary formats of older Office programs: DOC, XLS and PPT. They are recognised, so that the reason why they
// cannot be read says what to do.

import { ReadFailure } from "../../ports/document-reader.ts";
import type { FileFormat } from "../format.ts";
import type { OleKind } from "../ole.ts";

/** Word documents of Word 97 to 2003. */
export const DOC = legacy("doc", "application/msword", ["doc", "dot"], "Word documents of before 2007 (DOC)", "DOCX");
/** Workbooks of Excel 5 to 2003. */
export const XLS = legacy("xls", "application/vnd.ms-excel", ["xls", "xlt"], "workbooks of before 2007 (XLS)", "XLSX");
/** Presentations of PowerPoint 97 to 2003. */
export const PPT = legacy(
  "ppt",
  "application/vnd.ms-powerpoint",
  ["ppt", "pps", "pot"],
  "presentations of before 2007 (PPT)",
  "PPTX",
);

function legacy(
  kind: OleKind,
  mediaType: string,
  extensions: readonly string[],
  what: string,
  newer: string,
): FileFormat {
  const message = `The text of ${what} is not read. Save the file as ${newer} and upload that.`;
  return {
    ...{ name: "", mediaType, extensions, isOle: true },
    recognise: ({ container, extension, isUnknownBinary }) => {
      if (container?.kind === "ole" && container.holds === kind) return "content";
      // the part of a damaged file that names its kind may be lost
      const mayBe = container?.kind === "ole" ? container.holds === null : isUnknownBinary;
      return mayBe && extensions.includes(extension) ? "name" : null;
    },
    read: async () => new ReadFailure("unreadable_document", message),
  };
}
