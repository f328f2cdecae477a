// The protocol between the server and the child process that reads one file. The request is one line of JSON on
// standard input. The response on standard output is one line of JSON and then the text in UTF-8 to the end of the
// stream; it needs no frames, since there is one request and one response. Lines on standard error report page
// progress.

import { invariant } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { FailureCode, PageProgress } from "../domain/memory.ts";
import { errorMessage } from "../kit/error-message.ts";
import { textOf } from "../kit/pieced-text.ts";
import { splitsPair } from "../kit/surrogates.ts";
import {
  type DocumentFile,
  type DocumentPart,
  type DocumentText,
  ReadFailure,
  type TextMark,
  UnreadPictures,
} from "../ports/document-reader.ts";
import type { PlaceMark, ReadDocument } from "./document.ts";

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
  readonly warnings?: readonly string[];
  /** Ids of pictures whose text has to be recognised. */
  readonly pictures?: readonly string[];
  readonly parts?: readonly DocumentPart[];
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
/** Maximum length of a warning in characters. */
const WARNING_CHARACTERS_MAX = 300;
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
  return JSON.parse(line) as DocumentFile;
}

/** The parts of a response with a text. In its pieces, no surrogate pair is split between two. */
export function* encodeResponse({
  pieces,
  title,
  marks,
  warnings = [],
  parts,
}: ReadDocument): Generator<Uint8Array | string> {
  const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece, "utf8"), 0);
  yield headLine({
    bytes,
    title,
    marks: inCodePoints(pieces, marks),
    ...shownWarnings(warnings),
    ...(parts !== undefined && { parts }),
  });
  yield* pieces;
}

/** At most 20 warnings, each at most 300 characters long; absent if there are none. */
function shownWarnings(warnings: readonly string[]): Pick<ResponseHead, "warnings"> {
  if (warnings.length === 0) return {};
  const shown = warnings.slice(0, LIMITS.warningsPerMemory).map((text) => cutText(text));
  return { warnings: shown };
}

function cutText(text: string): string {
  const characters = [...text.slice(0, 2 * WARNING_CHARACTERS_MAX)];
  if (characters.length <= WARNING_CHARACTERS_MAX) return text;
  return `${characters.slice(0, WARNING_CHARACTERS_MAX - 1).join("")}…`;
}

/** The response without a text. */
export function encodeFailure(error: unknown): string {
  if (error instanceof UnreadPictures) return headLine({ pictures: error.ids });
  if (error instanceof ReadFailure) return headLine({ failure: { code: error.code, message: error.message } });
  const message = errorMessage(error);
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

/** Parses a response while it arrives, so that a text of 100 MB is never decoded at once. */
export class ResponseDecoder {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Beginning of the first line, until its end has arrived. */
  #line = "";
  #head: ResponseHead | null = null;
  readonly #pieces: string[] = [];
  #textBytes = 0;

  /** Takes the next bytes; they may be overwritten after the call. */
  push(bytes: Uint8Array): void {
    if (this.#head !== null) {
      this.#pushText(bytes);
      return;
    }
    const end = bytes.indexOf(LINE_FEED);
    this.#line += this.#decoder.decode(end === -1 ? bytes : bytes.subarray(0, end), { stream: end === -1 });
    if (end === -1) return;
    this.#head = JSON.parse(this.#line) as ResponseHead;
    this.#pushText(bytes.subarray(end + 1));
  }

  /** The outcome of the complete response; null if the response is cut off. */
  end(): DocumentOutcome | null {
    const head = this.#head;
    if (head === null) return null;
    if (head.failure !== undefined) {
      return { kind: "failure", failure: new ReadFailure(head.failure.code, head.failure.message) };
    }
    if (head.broken !== undefined) return { kind: "broken", message: head.broken };
    if (head.unavailable !== undefined) return { kind: "unavailable", message: head.unavailable };
    if (head.pictures !== undefined) return { kind: "failure", failure: new UnreadPictures(head.pictures) };
    if (this.#textBytes !== head.bytes) return null;
    const content = textOf([...this.#pieces, this.#decoder.decode()], this.#textBytes);
    const { title = null, marks = [], warnings, parts } = head;
    const more = { ...(warnings !== undefined && { warnings }), ...(parts !== undefined && { parts }) };
    return { kind: "text", text: { content, title, marks, ...more } };
  }

  #pushText(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#textBytes += bytes.byteLength;
    this.#pieces.push(this.#decoder.decode(bytes, { stream: true }));
  }
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
  for (let at = start + 1; at < end; at++) if (splitsPair(text, at)) pairs++;
  return end - start - pairs;
}
