// The Office Open XML formats DOCX, XLSX and PPTX, and Office documents that are protected by a password. docx.ts,
// xlsx.ts and pptx.ts extract the text.

import { ReadFailure } from "../../ports/document-reader.ts";
import { ENCRYPTED } from "../document.ts";
import type { FileSample } from "../file-sample.ts";
import type { Certainty, FileFormat } from "../format.ts";

/** Word documents. */
export const DOCX: FileFormat = {
  name: "DOCX",
  mediaType: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  extensions: ["docx"],
  recognise: (sample) => recogniseOpenXml(sample, "word/", "docx"),
  async read({ bytes, pictures }) {
    return (await import("./docx.ts")).readDocx(bytes, undefined, pictures);
  },
  openPictures: async (bytes) => (await import("./package.ts")).openOfficePictures(bytes),
};

/** Excel workbooks. */
export const XLSX: FileFormat = {
  name: "XLSX",
  mediaType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  extensions: ["xlsx"],
  recognise(sample) {
    // the binary format XLSB is recognised, but not read
    if (sample.container?.kind === "zip" && sample.container.entryNames.includes("xl/workbook.bin")) return null;
    return recogniseOpenXml(sample, "xl/", "xlsx");
  },
  async read({ bytes, pictures }) {
    return (await import("./xlsx.ts")).readXlsx(bytes, undefined, pictures);
  },
  openPictures: async (bytes) => (await import("./package.ts")).openOfficePictures(bytes),
};

/** PowerPoint presentations. */
export const PPTX: FileFormat = {
  name: "PPTX",
  mediaType: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  extensions: ["pptx"],
  recognise: (sample) => recogniseOpenXml(sample, "ppt/", "pptx"),
  async read({ bytes, pictures }) {
    return (await import("./pptx.ts")).readPptx(bytes, undefined, pictures);
  },
  openPictures: async (bytes) => (await import("./package.ts")).openOfficePictures(bytes),
};

/**
 * An Office document that is protected by a password and whose name does not show its format. Its media type is the
 * usual one of OLE containers.
 */
export const ENCRYPTED_OFFICE: FileFormat = {
  name: "",
  mediaType: "application/x-ole-storage",
  extensions: [],
  recognise: ({ container }) => (container?.kind === "ole" && container.holds === "encrypted" ? "fallback" : null),
  read: async () => new ReadFailure("unreadable_document", ENCRYPTED),
};

type PartsFolder = "word/" | "xl/" | "ppt/";

function recogniseOpenXml(sample: FileSample, folder: PartsFolder, extension: string): Certainty | null {
  const isNamed = sample.extension === extension;
  const { container } = sample;
  if (container === null) return isNamed && sample.isUnknownBinary ? "name" : null;
  if (container.kind === "ole") return isNamed && container.holds === "encrypted" ? "name" : null;
  const { entryNames, isDamaged } = container;
  const isOpenXml = entryNames.includes("[Content_Types].xml");
  const found = isOpenXml ? partsFolder(entryNames) : null;
  if (found !== null) return found === folder ? "content" : null;
  // a damaged archive may have lost the entries by which its format is recognised
  const mayBeOpenXml = isDamaged && (isOpenXml || entryNames.length === 0);
  return mayBeOpenXml && isNamed ? "name" : null;
}

function partsFolder(entryNames: readonly string[]): PartsFolder | null {
  const folders: readonly PartsFolder[] = ["word/", "xl/", "ppt/"];
  return folders.find((folder) => entryNames.some((name) => name.startsWith(folder))) ?? null;
}
