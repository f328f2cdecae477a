// Reads text files: finds the encoding, decodes, and refuses what is no text or blank. Used by all formats that are
// plain texts.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import type { ReadDocument } from "../document.ts";
import { decoded, encodingOf } from "../encoding/encoding.ts";

/** UTF-16 code units at the beginning of a text that the formats check to recognise it. */
export const RECOGNITION_UNITS = 8 * 1024;

/** Text formats that Mneme does not read: RTF, PostScript, XML (with SVG). HTML has to be recognised before. */
const OTHER_MARKUP = /^(?:\{\\rtf|%!PS|<\?xml|<svg[\s>])/i;

/** Whether a text begins as a format that Mneme does not read. True for XHTML as well. */
export function isOtherMarkup(text: string): boolean {
  return OTHER_MARKUP.test(text);
}

/** How a text file becomes a document. */
export interface TextConversion {
  /** Converts the decoded text, piece by piece; by default the text stays as it is. */
  readonly toPieces?: (pieces: Iterable<string>) => readonly string[];
  /** null: taken from the text later. */
  readonly title?: string | null;
}

/** Reads a text file; a failure if the bytes are no text or nothing is visible in them. */
export function readTextFile(
  bytes: Uint8Array,
  { toPieces = (pieces) => [...pieces], title = null }: TextConversion = {},
): ReadDocument | ReadFailure {
  const encoding = encodingOf(bytes, true);
  if (encoding === null) return notText();
  const pieces = toPieces(decoded(bytes, encoding));
  const isBlank = pieces.every((piece) => piece.trim() === "");
  return isBlank ? new ReadFailure("unreadable_document", "The file holds no text.") : { pieces, title, marks: [] };
}

/** The failure for bytes that are no text in any encoding. */
export function notText(): ReadFailure {
  return new ReadFailure("unreadable_document", "The file is damaged: it holds bytes that are no text.");
}

/** A title from the file name without its extension, for data: it has no line that could be a title. */
export function titleOfName(filename: string): string {
  return shortTitle(filename.replace(/(?<=.)\.[^.]{1,16}$/u, "").trim() || filename);
}
