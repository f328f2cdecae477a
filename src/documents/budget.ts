// Limits what one document may cost. When a limit is exceeded, it stops the reader with a message for the uploader.
// zip/archive.ts, office/xml.ts and the readers call it.

import { ReadFailure } from "../ports/document-reader.ts";
import { processorMs } from "./processor-time.ts";

/** Limits for one document. */
export interface ReadingLimits {
  /** Number of parts of the archive. */
  readonly entries: number;
  /** Number of decompressed bytes of all parts that are read. */
  readonly inflatedBytes: number;
  /**
   * Number of decompressed bytes per compressed byte of one part. It is checked once the part has `ratioFromBytes`
   * decompressed bytes.
   */
  readonly ratio: number;
  readonly ratioFromBytes: number;
  /** Length of the text in UTF-16 code units. */
  readonly textUnits: number;
  /** Number of filled cells of all sheets, including the cells that repeat the text of merged cells. */
  readonly cells: number;
  readonly slides: number;
  /** Depth of nested elements. */
  readonly depth: number;
  /** Processor time in milliseconds. */
  readonly ms: number;
}

/**
 * The limits in production: far beyond real documents, and low enough for the child process (measured on 20 Nov 2026
 * with hostile files: 200 MB of XML take 2.7 s and 320 MB of memory). The maximum ratio of DEFLATE is 1,032.
 */
export const READING_LIMITS: ReadingLimits = {
  entries: 5_000,
  inflatedBytes: 200 * 1024 * 1024,
  ratio: 200,
  ratioFromBytes: 1024 * 1024,
  textUnits: 50_000_000,
  cells: 2_000_000,
  slides: 5_000,
  depth: 512,
  ms: 30_000,
};

/** Counts what one document costs. Every method throws a ReadFailure if the document exceeds a limit. */
export class Budget {
  readonly #deadlineMs: number;
  #inflatedBytes = 0;
  #textUnits = 0;
  #cells = 0;

  constructor(readonly limits: ReadingLimits) {
    this.#deadlineMs = processorMs() + limits.ms;
  }

  /** Checks the time limit. Readers call it at least once every few megabytes. */
  checkTime(): void {
    if (processorMs() < this.#deadlineMs) return;
    refuse(`Reading the file takes longer than ${this.limits.ms / 1000} seconds, the limit for a file.`);
  }

  /**
   * @param partBytes for the current part: number of bytes decompressed so far, and number of all its compressed bytes
   */
  addInflated(bytes: number, partBytes: { readonly inflated: number; readonly compressed: number }): void {
    const { inflatedBytes, ratio, ratioFromBytes } = this.limits;
    this.#inflatedBytes += bytes;
    if (this.#inflatedBytes > inflatedBytes) {
      refuse(`The file is decompressed to more than ${inMegabytes(inflatedBytes)} MB, the limit for a file.`);
    }
    if (partBytes.inflated > ratioFromBytes && partBytes.inflated > partBytes.compressed * ratio) {
      refuse(`The file is compressed to less than 1/${ratio} of its size, the limit for a file.`);
    }
  }

  addText(units: number): void {
    this.#textUnits += units;
    if (this.#textUnits <= this.limits.textUnits) return;
    refuse(`The file holds more than ${formatted(this.limits.textUnits)} characters of text, the limit for a file.`);
  }

  addCells(cells: number): void {
    this.#cells += cells;
    if (this.#cells <= this.limits.cells) return;
    refuse(`The file holds more than ${formatted(this.limits.cells)} cells, the limit for a file.`);
  }

  checkSlides(slides: number): void {
    if (slides <= this.limits.slides) return;
    refuse(`The file holds ${formatted(slides)} slides; at most ${formatted(this.limits.slides)} are read.`);
  }

  checkDepth(depth: number, part: string): void {
    if (depth <= this.limits.depth) return;
    refuse(`The part ${part} of the file is nested deeper than ${this.limits.depth} levels, the limit for a file.`);
  }
}

/** Stops reading: throws a ReadFailure, which `outcomeOf` catches. */
export function refuse(message: string, cause?: unknown): never {
  throw new ReadFailure("unreadable_document", message, { cause });
}

/** The result of `read`, or the ReadFailure that it threw. */
export function outcomeOf<Outcome>(read: () => Outcome): Outcome | ReadFailure {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReadFailure) return error;
    throw error;
  }
}

function inMegabytes(bytes: number): string {
  return formatted(Math.round(bytes / (1024 * 1024)));
}

function formatted(count: number): string {
  return count.toLocaleString("en-US");
}
