// The binary formats of older Office programs: DOC, XLS and PPT.

import type { FileFormat } from "../format.ts";
import type { OleKind } from "../ole.ts";

/** Word documents of Word 97 to 2003. */
export const DOC: FileFormat = legacy("doc", {
  ...{ name: "DOC", mediaType: "application/msword", extensions: ["doc", "dot"] },
  read: async ({ bytes }) => (await import("./read-doc.ts")).readDoc(bytes),
});
/** Workbooks of Excel 5 to 2003. */
export const XLS: FileFormat = legacy("xls", {
  ...{ name: "XLS", mediaType: "application/vnd.ms-excel", extensions: ["xls", "xlt"] },
  read: async ({ bytes }) => (await import("./read-xls.ts")).readXls(bytes),
});
/** Presentations of PowerPoint 97 to 2003. */
export const PPT: FileFormat = legacy("ppt", {
  ...{ name: "PPT", mediaType: "application/vnd.ms-powerpoint", extensions: ["ppt", "pps", "pot"] },
  read: async ({ bytes }) => (await import("./read-ppt.ts")).readPpt(bytes),
});

function legacy(kind: OleKind, format: Pick<FileFormat, "name" | "mediaType" | "extensions" | "read">): FileFormat {
  return {
    ...format,
    isOle: true,
    recognise: ({ container, extension, isUnknownBinary }) => {
      if (container?.kind === "ole" && container.holds === kind) return "content";
      // the part of a damaged file that names its kind may be lost
      const mayBe = container?.kind === "ole" ? container.holds === null : isUnknownBinary;
      return mayBe && format.extensions.includes(extension) ? "name" : null;
    },
  };
}
