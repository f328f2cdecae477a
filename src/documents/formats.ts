// Lists the file formats that Mneme reads. detect.ts decides which of them a file has.

import { invariant } from "../domain/fault.ts";
import { mediaTypeIn } from "../kit/media-type.ts";
import { EML, MBOX, MSG, ZIP } from "./containers/formats.ts";
import { ICS, VCF } from "./content-lines/formats.ts";
import { CSV } from "./csv/format.ts";
import { EPUB } from "./epub/format.ts";
import type { FileFormat } from "./format.ts";
import { HTML } from "./html/format.ts";
import { JSON_DATA } from "./json/format.ts";
import { DOC, PPT, XLS } from "./legacy-office/formats.ts";
import { IPYNB } from "./notebook/format.ts";
import { DOCX, ENCRYPTED_OFFICE, PPTX, XLSX } from "./office/formats.ts";
import { ODP, ODS, ODT } from "./opendocument/formats.ts";
import { PDF } from "./pdf/format.ts";
import { PICTURES } from "./pictures/formats.ts";
import { RTF } from "./rtf/format.ts";
import { SRT, VTT } from "./subtitles/formats.ts";
import { MARKDOWN } from "./text/markdown.ts";
import { PLAIN_TEXT } from "./text/plain-text.ts";
import { XML } from "./xml/format.ts";
import { YAML } from "./yaml/format.ts";

/** All formats. If several are equally certain for a file, the first of them wins. */
export const FORMATS: readonly FileFormat[] = [
  PDF,
  DOCX,
  XLSX,
  PPTX,
  PLAIN_TEXT,
  MARKDOWN,
  CSV,
  HTML,
  IPYNB,
  JSON_DATA,
  ODT,
  ODS,
  ODP,
  EPUB,
  RTF,
  XML,
  YAML,
  SRT,
  VTT,
  ICS,
  VCF,
  MBOX,
  EML,
  MSG,
  ZIP,
  DOC,
  XLS,
  PPT,
  ...PICTURES,
  ENCRYPTED_OFFICE,
];

/** Names of the formats in a sentence: "A, B and C". */
export const FORMAT_NAMES = new Intl.ListFormat("en-GB").format(
  FORMATS.flatMap(({ name }) => (name === "" ? [] : [name])),
);

/**
 * The usual extension of files with this media type; null if no format has it, or none was given. Also null for
 * `text/plain`, which programs send for text files of any format.
 */
export function extensionOfMediaType(mediaType: string | null): string | null {
  const type = mediaTypeIn(mediaType ?? "");
  if (type === "text/plain") return null;
  const format = FORMATS.find((each) => each.mediaType === type || each.otherMediaTypes?.includes(type) === true);
  return format?.extensions[0] ?? null;
}

/** Whether any format has this extension (lower case, without the dot). */
export function isKnownExtension(extension: string): boolean {
  return FORMATS.some(({ extensions }) => extensions.includes(extension));
}

/** The format with this media type, which `mediaTypeOf` returned when the file was uploaded. */
export function formatOfMediaType(mediaType: string): FileFormat {
  const format = FORMATS.find((each) => each.mediaType === mediaType);
  invariant(format, `a file of the media type ${mediaType} was accepted`);
  return format;
}
