// What the server and the child that reads one file say to each other: the file goes in as one line of JSON, its text comes back behind
// another, as UTF-8 to the end of the stream. No frames: there is one question and one answer, and a text has any size. Beside it, on
// standard error, lines tell how many pages were read.

import { invariant } from "../domain/fault.ts";
import type { FailureCode, PageProgress } from "../domain/memory.ts";
import { type DocumentFile, type DocumentText, ReadFailure, type TextMark } from "../ports/document-reader.ts";
import type { PlaceMark } from "./document.ts";

/** What a child throws when a file cannot be read at the moment, for no reason that lies in it. */
export class FileUnavailable extends Error {
  override readonly name = "FileUnavailable";
}

/** The first line of an answer: one of these. */
interface AnswerHead {
  /** Bytes of the text that follows. */
  readonly bytes?: number;
  readonly title?: string | null;
  readonly marks?: readonly TextMark[];
  /** The file is at fault; `code` and `message` are for its owner. */
  readonly failure?: { readonly code: FailureCode; readonly message: string };
  /** What a reader threw: a fault of the file as well, that no reader has words for. */
  readonly broken?: string;
  /** The machine is at fault. */
  readonly unavailable?: string;
}

/** What came of a file, before it is told in words. */
export type DocumentOutcome =
  | { readonly kind: "text"; readonly text: DocumentText }
  | { readonly kind: "failure"; readonly failure: ReadFailure }
  | { readonly kind: "broken"; readonly message: string }
  | { readonly kind: "unavailable"; readonly message: string };

/** UTF-8 bytes that a byte of a text becomes at most: those of windows-1252 and UTF-16 three and one and a half. */
const TEXT_BYTES_PER_BYTE = 3;
/** What readers of packed formats make of a file at most, their titles and marks included. */
const PACKED_TEXT_BYTES_MAX = 256 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** The most that a child may answer about a file of this size, in bytes. */
export function answerBytesMax(fileBytes: number): number {
  return PACKED_TEXT_BYTES_MAX + fileBytes * TEXT_BYTES_PER_BYTE;
}

/** The question about a file. */
export function encodeQuestion(file: DocumentFile): string {
  return `${JSON.stringify(file)}\n`;
}

/** The file that a question is about. */
export function decodeQuestion(line: string): DocumentFile {
  const { path, bytes, filename, mediaType } = JSON.parse(line) as DocumentFile;
  return { path, bytes, filename, mediaType };
}

/** The parts of the answer that gives a text. @param pieces of the text; pairs of surrogates are not split between two. */
export function* encodeAnswer(
  pieces: readonly string[],
  title: string | null,
  marks: readonly PlaceMark[],
): Generator<Uint8Array | string> {
  const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece, "utf8"), 0);
  yield headLine({ bytes, title, marks: inCodePoints(pieces, marks) });
  yield* pieces;
}

/** The answer that gives no text. */
export function encodeRefusal(error: unknown): string {
  if (error instanceof ReadFailure) return headLine({ failure: { code: error.code, message: error.message } });
  const message = error instanceof Error ? error.message : String(error);
  return headLine(error instanceof FileUnavailable ? { unavailable: message } : { broken: message });
}

/** A line that tells how many pages were read. */
export function encodePages({ done, total }: PageProgress): string {
  return `pages ${done} ${total}\n`;
}

/** What a line of a child's standard error tells of pages; null for any other: libraries write there as well. */
export function decodePages(line: string): PageProgress | null {
  const [, done, total] = /^pages (\d{1,9}) (\d{1,9})$/.exec(line) ?? [];
  return done === undefined || total === undefined ? null : { done: Number(done), total: Number(total) };
}

/** Reads a whole answer; null when it broke off. */
export function decodeAnswer(answer: Uint8Array): DocumentOutcome | null {
  const end = answer.indexOf(LINE_FEED);
  if (end === -1) return null;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const head = JSON.parse(decoder.decode(answer.subarray(0, end))) as AnswerHead;
  if (head.failure !== undefined) {
    return { kind: "failure", failure: new ReadFailure(head.failure.code, head.failure.message) };
  }
  if (head.broken !== undefined) return { kind: "broken", message: head.broken };
  if (head.unavailable !== undefined) return { kind: "unavailable", message: head.unavailable };
  const text = answer.subarray(end + 1);
  if (text.byteLength !== head.bytes) return null;
  const content = decoder.decode(text);
  return { kind: "text", text: { content, title: head.title ?? null, marks: head.marks ?? [] } };
}

function headLine(head: AnswerHead): string {
  return `${JSON.stringify(head)}\n`;
}

// Marks ascend, so one walk over the text places them all.
function inCodePoints(pieces: readonly string[], marks: readonly PlaceMark[]): TextMark[] {
  const placed: TextMark[] = [];
  let pieceStart = 0;
  let points = 0;
  let next = 0;
  for (const piece of pieces) {
    let at = 0;
    for (; next < marks.length; next++) {
      const mark = marks[next];
      invariant(mark !== undefined, "a mark is there");
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
