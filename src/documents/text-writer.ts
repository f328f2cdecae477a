// Assembles the text of a document from blocks, with place marks for pages, slides and sheets. Also cleans texts. The
// readers decide what the blocks contain.

import { ReadFailure } from "../ports/document-reader.ts";
import type { Budget } from "./budget.ts";
import { NO_TEXT, type PlaceMark, type ReadDocument } from "./document.ts";

/** A paragraph, heading, list item or table row. */
export interface Block {
  /** Text of the block: trimmed, with at least one visible character. */
  readonly text: string;
  /** Blocks of the same series are separated by a line feed, other blocks by an empty line. */
  readonly series: object | null;
  /** How sure the text is, 0..1, if it was recognised in a picture. */
  readonly ocrConfidence?: number | undefined;
}

/** Receives blocks. */
export interface BlockSink {
  write(block: Block): void;
}

/** The series of all list items. So consecutive lists are written as one list. */
export const LIST = {};

/** Minimum length of a piece of text in UTF-16 code units. When a piece has reached it, the next one begins. */
const PIECE_UNITS = 64 * 1024;

/** Collects the text of a document. */
export class TextWriter implements BlockSink {
  readonly #pieces: string[] = [];
  readonly #marks: PlaceMark[] = [];
  #piece: string[] = [];
  #pieceUnits = 0;
  #units = 0;
  #series: object | null = null;
  /** The place that the next block begins, null if none; and the current place. */
  #place: Omit<PlaceMark, "at"> | null = null;
  #current: Omit<PlaceMark, "at"> = {};
  #isBehindPicture = false;

  constructor(private readonly budget: Budget) {}

  /** Sets the page, slide or sheet of the following blocks. */
  mark(place: Omit<PlaceMark, "at">): void {
    this.#place = place;
    this.#current = place;
    this.#series = null;
  }

  /**
   * @param cells range of the cells of the sheet that the block consists of, such as `B2:D2`
   * @throws ReadFailure if the text exceeds the budget
   */
  write({ text, series, ocrConfidence }: Block, cells?: string): void {
    // checked before the parts are joined
    this.budget.addText(text.length);
    const isFirst = this.#units === 0;
    this.#append(isFirst ? "" : series !== null && series === this.#series ? "\n" : "\n\n");
    const isPicture = ocrConfidence !== undefined;
    const place = this.#place ?? (isPicture || this.#isBehindPicture ? this.#current : null);
    if (place !== null || cells !== undefined) {
      const more = { ...(cells !== undefined && { cells }), ...(isPicture && { ocrConfidence }) };
      this.#marks.push({ at: this.#units, ...place, ...more });
    }
    this.#isBehindPicture = isPicture;
    this.#place = null;
    this.#append(text);
    this.#series = series;
  }

  /** Returns the document, or a failure if nothing was written. */
  document(title: string | null): ReadDocument | ReadFailure {
    if (this.#units === 0) return new ReadFailure("unreadable_document", NO_TEXT);
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

/** Writes a comment that a person added to a document. @param author empty if unknown */
export function commentText(author: string, text: string): string {
  return `[comment${author === "" ? "" : ` by ${author}`}: ${text}]`;
}

/**
 * Cleans a text. Its lines end with \n, with at most one empty line between two lines and no white space at their ends.
 * Invisible characters are removed: control characters, soft hyphens, byte order marks, lone surrogates. The result is
 * empty if nothing is visible.
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

/** Puts a text on one line. */
export function onOneLine(text: string): string {
  // fast path for numbers and single words, which most cells of sheets contain
  if (/^[!-~]+$/.test(text)) return text;
  return readable(text).replace(/\s+/g, " ");
}
