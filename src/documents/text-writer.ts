// Assembles the text of a document from blocks, with marks of pages, slides and sheets, and cleans texts. The readers
// decide what the blocks hold.

import { ReadFailure } from "../ports/document-reader.ts";
import type { Budget } from "./budget.ts";
import type { PlaceMark, ReadDocument } from "./document.ts";

/** A paragraph, heading, list item or table row. */
export interface Block {
  /** Trimmed, with at least one visible character. */
  readonly text: string;
  /** Between blocks of the same series is a line feed, between others an empty line. */
  readonly series: object | null;
}

/** Receives blocks. */
export interface BlockSink {
  write(block: Block): void;
}

/** The series of list items. Consecutive lists are one list. */
export const LIST = {};

/** Length of a piece in UTF-16 code units after which the next one begins. */
const PIECE_UNITS = 64 * 1024;

/** Collects the text of a document. */
export class TextWriter implements BlockSink {
  readonly #pieces: string[] = [];
  readonly #marks: PlaceMark[] = [];
  #piece: string[] = [];
  #pieceUnits = 0;
  #units = 0;
  #series: object | null = null;
  #place: Omit<PlaceMark, "at"> | null = null;

  constructor(private readonly budget: Budget) {}

  /** Sets the place of the following blocks. */
  mark(place: Omit<PlaceMark, "at">): void {
    this.#place = place;
    this.#series = null;
  }

  /** @throws ReadFailure if the text exceeds the budget */
  write({ text, series }: Block): void {
    // before the parts are joined
    this.budget.addText(text.length);
    const isFirst = this.#units === 0;
    this.#append(isFirst ? "" : series !== null && series === this.#series ? "\n" : "\n\n");
    if (this.#place !== null) this.#marks.push({ at: this.#units, ...this.#place });
    this.#place = null;
    this.#append(text);
    this.#series = series;
  }

  /** The document; a failure if nothing was written. */
  document(title: string | null): ReadDocument | ReadFailure {
    if (this.#units === 0) return new ReadFailure("unreadable_document", "The file holds no text.");
    this.#endPiece();
    return { pieces: this.#pieces, title, marks: this.#marks };
  }

  #append(text: string): void {
    this.#piece.push(text);
    this.#pieceUnits += text.length;
    this.#units += text.length;
    if (this.#pieceUnits >= PIECE_UNITS) this.#endPiece();
  }

  #endPiece(): void {
    if (this.#pieceUnits > 0) this.#pieces.push(this.#piece.join(""));
    this.#piece = [];
    this.#pieceUnits = 0;
  }
}

/** Keeps blocks in a list. */
export class BlockList implements BlockSink {
  readonly blocks: Block[] = [];

  write(block: Block): void {
    this.blocks.push(block);
  }
}

/**
 * Cleans a text: lines ended by \n, at most one empty line between them, no white space at the ends of lines, no
 * invisible characters (control characters, soft hyphens, byte order marks, lone surrogates). Empty if nothing is
 * visible.
 */
export function readable(text: string): string {
  const lines = text
    .toWellFormed()
    .replace(/\r\n?|[\v\f\u0085\u2028\u2029]/g, "\n")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes them
    .replace(/[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\ufeff\ufffe\uffff]/g, "");
  if (!VISIBLE.test(lines)) return "";
  return lines
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

const VISIBLE = /[^\s\p{Cc}\p{Cf}]/u;

/** A text on one line. */
export function onOneLine(text: string): string {
  // fast path for numbers and single words, most cells of sheets
  if (/^[!-~]+$/.test(text)) return text;
  return readable(text).replace(/\s+/g, " ");
}
