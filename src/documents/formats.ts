// Lists the file formats that Mneme reads. detect.ts decides which of them a file has.

import { invariant } from "../domain/fault.ts";
import { CSV } from "./csv/format.ts";
import type { FileFormat } from "./format.ts";
import { HTML } from "./html/format.ts";
import { JSON_DATA } from "./json/format.ts";
import { DOCX, ENCRYPTED_OFFICE, PPTX, XLSX } from "./office/formats.ts";
import { PDF } from "./pdf/format.ts";
import { MARKDOWN } from "./text/markdown.ts";
import { PLAIN_TEXT } from "./text/plain-text.ts";

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
  JSON_DATA,
  ENCRYPTED_OFFICE,
];

/** Names of the formats in a sentence: "A, B and C". */
export const FORMAT_NAMES = new Intl.ListFormat("en-GB").format(
  FORMATS.flatMap(({ name }) => (name === "" ? [] : [name])),
);

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
