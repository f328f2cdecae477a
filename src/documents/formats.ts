// The formats of files that Mneme takes in: their media types, and the names that files of each usually have. Which one a
// file has is sniff.ts's question, how its text is got read-file.ts's.

import { invariant } from "../domain/fault.ts";

/** A format of uploadMemory. `encrypted`: an Office document behind a password, of which nothing more can be told. */
export type Format = "pdf" | "docx" | "xlsx" | "pptx" | "text" | "csv" | "markdown" | "html" | "json" | "encrypted";

/** Formats that are plain texts. */
export const TEXT_FORMATS = ["text", "csv", "markdown", "html", "json"] as const;
/** A format that is a plain text. */
export type TextFormat = (typeof TEXT_FORMATS)[number];

/** Formats of Office Open XML. */
export const OFFICE_FORMATS = ["docx", "xlsx", "pptx"] as const;
/** A format of Office Open XML. */
export type OfficeFormat = (typeof OFFICE_FORMATS)[number];

/** Media types as IANA registers them; that of `encrypted` is the usual one for OLE containers. */
export const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  pdf: "application/pdf",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  text: "text/plain",
  csv: "text/csv",
  markdown: "text/markdown",
  html: "text/html",
  json: "application/json",
  encrypted: "application/x-ole-storage",
};

/** The formats as callers are told of them. */
export const FORMATS_READ = "PDF, DOCX, XLSX, PPTX, TXT, CSV, Markdown, HTML and JSON";

const EXTENSIONS: Readonly<Record<string, Exclude<Format, "encrypted">>> = {
  pdf: "pdf",
  docx: "docx",
  xlsx: "xlsx",
  pptx: "pptx",
  txt: "text",
  text: "text",
  log: "text",
  csv: "csv",
  tsv: "csv",
  md: "markdown",
  markdown: "markdown",
  mdown: "markdown",
  mkd: "markdown",
  html: "html",
  htm: "html",
  xhtml: "html",
  json: "json",
  jsonl: "json",
  ndjson: "json",
};

/** The format that a file's name speaks of; null for none or another one. */
export function formatOfName(filename: string): Exclude<Format, "encrypted"> | null {
  const extension = /\.([a-z0-9]{1,16})$/i.exec(filename)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(EXTENSIONS, extension) ? (EXTENSIONS[extension] ?? null) : null;
}

/** The format of a media type that `MEDIA_TYPES` has. */
export function formatOfMediaType(mediaType: string): Format {
  const found = (Object.keys(MEDIA_TYPES) as Format[]).find((format) => MEDIA_TYPES[format] === mediaType);
  invariant(found, `a file of the media type ${mediaType} was taken in`);
  return found;
}

/** A file's name without its extension; the whole name where that would leave nothing. */
export function stemOf(filename: string): string {
  return filename.replace(/(?<=.)\.[^.]{1,16}$/u, "").trim() || filename;
}

/** Whether a format is a plain text. */
export function isTextFormat(format: Format): format is TextFormat {
  return TEXT_FORMATS.some((each) => each === format);
}

/** Whether a format is Office Open XML. */
export function isOfficeFormat(format: Format): format is OfficeFormat {
  return OFFICE_FORMATS.some((each) => each === format);
}
