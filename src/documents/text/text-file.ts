// Reads text files: finds the encoding, decodes the bytes, and refuses files that are blank or not a text. Used by all
// formats whose files are texts.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { NO_TEXT, type PlaceMark, type ReadDocument } from "../document.ts";
import { decoded, encodingOf } from "../encoding/encoding.ts";

/** Number of UTF-16 code units at the beginning of a text that the formats check to recognise it. */
export const RECOGNITION_UNITS = 8 * 1024;

/**
 * Matches text formats that plain text and its relatives leave to others: RTF, PostScript, XML (including SVG and
 * XHTML).
 */
const OTHER_MARKUP = /^(?:\{\\rtf|%!PS|<\?xml|<svg[\s>])/i;

/** Whether a text begins like RTF, PostScript or XML, and so is no plain text, whatever its name is. */
export function isOtherMarkup(text: string): boolean {
  return OTHER_MARKUP.test(text);
}

/** How a text file becomes a document. */
export interface TextConversion {
  /** Converts the decoded text, piece by piece; by default the text stays as it is. */
  readonly toPieces?: (pieces: Iterable<string>) => readonly string[];
  /** The title; null if preparation should extract one from the text. */
  readonly title?: string | null;
  /** The marks, asked for after the conversion. Default: none. */
  readonly marks?: () => readonly PlaceMark[];
}

/** The mark of a file whose text has all of its lines. */
export const ALL_LINES: PlaceMark = { at: 0, line: 1 };

/** Reads a text file. Returns a failure if the bytes are not a text or the text has no visible character. */
export function readTextFile(
  bytes: Uint8Array,
  { toPieces = (pieces) => [...pieces], title = null, marks = () => [] }: TextConversion = {},
): ReadDocument | ReadFailure {
  const encoding = encodingOf(bytes, true);
  if (encoding === null) return notText();
  const pieces = toPieces(decoded(bytes, encoding));
  const isBlank = pieces.every((piece) => piece.trim() === "");
  return isBlank ? new ReadFailure("unreadable_document", NO_TEXT) : { pieces, title, marks: marks() };
}

/**
 * Reads a text file whose text is converted as a whole. Returns a failure if the bytes are not a text, or the result
 * has no visible character.
 */
export function readTextDocument(
  bytes: Uint8Array,
  convert: (text: string) => Omit<ReadDocument, "marks"> & Partial<Pick<ReadDocument, "marks">>,
): ReadDocument | ReadFailure {
  const encoding = encodingOf(bytes, true);
  if (encoding === null) return notText();
  const read = convert([...decoded(bytes, encoding)].join(""));
  const isBlank = read.pieces.every((piece) => piece.trim() === "");
  return isBlank ? new ReadFailure("unreadable_document", NO_TEXT) : { marks: [], ...read };
}

/** The failure for bytes that are not a text in any encoding. */
export function notText(): ReadFailure {
  return new ReadFailure("unreadable_document", "The file is damaged: it holds bytes that are no text.");
}

/** Makes a title from the file name without its extension. Used for data, which has no line that could be a title. */
export function titleOfName(filename: string): string {
  return shortTitle(filename.replace(/(?<=.)\.[^.]{1,16}$/u, "").trim() || filename);
}
