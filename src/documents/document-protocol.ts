// The protocol between the server and the child process that reads one file. The request is one line of JSON on
// standard input. The response on standard output is one line of JSON and then the text in UTF-8 to the end of the
// stream; it needs no frames, since there is one request and one response. Lines on standard error report page
// progress.

import { invariant } from "../domain/fault.ts";
import type { FailureCode, PageProgress } from "../domain/memory.ts";
import { type DocumentFile, type DocumentText, ReadFailure, type TextMark } from "../ports/document-reader.ts";
import type { PlaceMark } from "./document.ts";

/** Thrown if a file cannot be read at the moment, for reasons that have nothing to do with the file. */
export class FileUnavailable extends Error {
  override readonly name = "FileUnavailable";
}

/** The first line of a response, with one of these outcomes. */
interface ResponseHead {
  /** Number of bytes of the text that follows. */
  readonly bytes?: number;
  readonly title?: string | null;
  readonly marks?: readonly TextMark[];
  /** The file is the reason for the failure; the uploader sees `code` and `message`. */
  readonly failure?: { readonly code: FailureCode; readonly message: string };
  /** Message of an unexpected error in a reader. The file counts as damaged. */
  readonly broken?: string;
  /** Message of an error that has nothing to do with the file. */
  readonly unavailable?: string;
}

/** The outcome of reading a file. */
export type DocumentOutcome =
  | { readonly kind: "text"; readonly text: DocumentText }
  | { readonly kind: "failure"; readonly failure: ReadFailure }
  | { readonly kind: "broken"; readonly message: string }
  | { readonly kind: "unavailable"; readonly message: string };

/** Maximum number of UTF-8 bytes of text per byte of a text file: three for windows-1252, one and a half for UTF-16. */
const TEXT_BYTES_PER_BYTE = 3;
/** Maximum size in bytes of the text of a file in a compressed format, including titles and marks. */
const COMPRESSED_TEXT_BYTES_MAX = 256 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** Maximum length of the response for a file of this size, in bytes. */
export function responseBytesMax(fileBytes: number): number {
  return COMPRESSED_TEXT_BYTES_MAX + fileBytes * TEXT_BYTES_PER_BYTE;
}

/** The request to read a file. */
export function encodeRequest(file: DocumentFile): string {
  return `${JSON.stringify(file)}\n`;
}

/** The file of a request. */
export function decodeRequest(line: string): DocumentFile {
  const { path, bytes, filename, mediaType, contentSha256 } = JSON.parse(line) as DocumentFile;
  return { path, bytes, filename, mediaType, ...(contentSha256 !== undefined && { contentSha256 }) };
}

/** The parts of a response with a text. @param pieces pieces of the text; no surrogate pair is split between two */
export function* encodeResponse(
  pieces: readonly string[],
  title: string | null,
  marks: readonly PlaceMark[],
): Generator<Uint8Array | string> {
  const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece, "utf8"), 0);
  yield headLine({ bytes, title, marks: inCodePoints(pieces, marks) });
  yield* pieces;
}

/** The response without a text. */
export function encodeFailure(error: unknown): string {
  if (error instanceof ReadFailure) return headLine({ failure: { code: error.code, message: error.message } });
  const message = error instanceof Error ? error.message : String(error);
  return headLine(error instanceof FileUnavailable ? { unavailable: message } : { broken: message });
}

/** Writes a line that reports page progress. */
export function encodePages({ done, total }: PageProgress): string {
  return `pages ${done} ${total}\n`;
}

/**
 * Parses a line of standard error; null if the line does not report page progress. Other lines come from libraries.
 */
export function decodePages(line: string): PageProgress | null {
  const [, done, total] = /^pages (\d{1,9}) (\d{1,9})$/.exec(line) ?? [];
  return done === undefined || total === undefined ? null : { done: Number(done), total: Number(total) };
}

/** Parses a complete response; null if the response is cut off. */
export function decodeResponse(response: Uint8Array): DocumentOutcome | null {
  const end = response.indexOf(LINE_FEED);
  if (end === -1) return null;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const head = JSON.parse(decoder.decode(response.subarray(0, end))) as ResponseHead;
  if (head.failure !== undefined) {
    return { kind: "failure", failure: new ReadFailure(head.failure.code, head.failure.message) };
  }
  if (head.broken !== undefined) return { kind: "broken", message: head.broken };
  if (head.unavailable !== undefined) return { kind: "unavailable", message: head.unavailable };
  const text = response.subarray(end + 1);
  if (text.byteLength !== head.bytes) return null;
  const content = decoder.decode(text);
  return { kind: "text", text: { content, title: head.title ?? null, marks: head.marks ?? [] } };
}

function headLine(head: ResponseHead): string {
  return `${JSON.stringify(head)}\n`;
}

/**
 * Converts the positions of marks to code points. One pass over the text is enough, because the marks are in ascending
 * order.
 */
function inCodePoints(pieces: readonly string[], marks: readonly PlaceMark[]): TextMark[] {
  const placed: TextMark[] = [];
  let pieceStart = 0;
  let points = 0;
  let next = 0;
  for (const piece of pieces) {
    let at = 0;
    for (; next < marks.length; next++) {
      const mark = marks[next];
      invariant(mark !== undefined, "the index of a mark is within the list");
      const target = mark.at - pieceStart;
      if (target > piece.length) break;
      points += codePoints(piece, at, target);
      at = target;
      const { at: _, ...place } = mark;
      placed.push({ at: points, place });
    }
    points += codePoints(piece, at, piece.length);
    pieceStart += piece.length;
  }
  return placed;
}

function codePoints(text: string, start: number, end: number): number {
  let pairs = 0;
  for (let at = start; at < end - 1; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) pairs++;
  }
  return end - start - pairs;
}
