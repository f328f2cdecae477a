// Puts the text of a document together, block by block, with the marks of where it stands. What the blocks say is the business of
// the readers.

import { ReadFailure } from "../ports/document-reader.ts";
import type { Budget } from "./budget.ts";
import type { PlaceMark, ReadDocument } from "./document.ts";

/** A paragraph, heading, item or row. */
export interface Block {
  /** Trimmed, with a visible character. */
  readonly text: string;
  /** Blocks of the same series follow each other line by line, others after an empty line. */
  readonly series: object | null;
}

/** Takes blocks. */
export interface BlockSink {
  write(block: Block): void;
}

/** The series of list items: two lists in a row read as one. */
export const LIST = {};

/** Length of a piece from which on the next one begins. */
const PIECE_UNITS = 64 * 1024;

/** Collects a document's text. */
export class TextWriter implements BlockSink {
  readonly #pieces: string[] = [];
  readonly #marks: PlaceMark[] = [];
  #piece: string[] = [];
  #pieceUnits = 0;
  #units = 0;
  #series: object | null = null;
  #place: Omit<PlaceMark, "at"> | null = null;

  constructor(private readonly budget: Budget) {}

  /** What is written from now on stands at `place`. */
  mark(place: Omit<PlaceMark, "at">): void {
    this.#place = place;
    this.#series = null;
  }

  /** @throws ReadFailure when the text goes beyond the budget */
  write({ text, series }: Block): void {
    // before the text is made out of its parts
    this.budget.addText(text.length);
    const isFirst = this.#units === 0;
    this.#append(isFirst ? "" : series !== null && series === this.#series ? "\n" : "\n\n");
    if (this.#place !== null) this.#marks.push({ at: this.#units, ...this.#place });
    this.#place = null;
    this.#append(text);
    this.#series = series;
  }

  /** The document; a failure when nothing was written. */
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

/** Keeps blocks until it is known where they go. */
export class BlockList implements BlockSink {
  readonly blocks: Block[] = [];

  write(block: Block): void {
    this.blocks.push(block);
  }
}

/**
 * A text as people read it: lines ended by \n and at most one empty line between them, no blanks at ends, nothing that is
 * invisible but for blanks (control characters, soft hyphens, byte order marks, lone surrogates). Empty when nothing can be seen.
 */
export function readable(text: string): string {
  const lines = text
    .toWellFormed()
    .replace(/\r\n?|[\v\f\u0085\u2028\u2029]/g, "\n")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
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
  // numbers and single words, which sheets are full of
  if (/^[!-~]+$/.test(text)) return text;
  return readable(text).replace(/\s+/g, " ");
}
