// How much of an Office document is read at most, and how a reader gives up: with a message for whoever uploaded the file.
// Where the counted things come from is the business of archive.ts, xml.ts and the readers.

import { ReadFailure } from "../ports/document-reader.ts";
import { processorMs } from "./processor-time.ts";

/** Most that is read of one document. */
export interface ReadingLimits {
  /** Parts of its archive. */
  readonly entries: number;
  /** Bytes of the parts that are read, decompressed. */
  readonly inflatedBytes: number;
  /** Of one part: bytes decompressed per byte compressed, once it is beyond `ratioFromBytes`. */
  readonly ratio: number;
  readonly ratioFromBytes: number;
  /** UTF-16 units of text. */
  readonly textUnits: number;
  /** Filled cells of all sheets together, cells that share a merged value included. */
  readonly cells: number;
  readonly slides: number;
  /** Elements inside one another. */
  readonly depth: number;
  /** Of the processor's time. */
  readonly ms: number;
}

/**
 * Far beyond what people write, and near enough that a child of the server survives it (measured with files made to break
 * readers, 20 Nov 2026: 200 MB of XML take 2.7 s and 320 MB of memory). DEFLATE itself ends at a ratio of 1,032.
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

/** Counts what one document costs. Every method throws ReadFailure when the document goes beyond its limit. */
export class Budget {
  readonly #deadlineMs: number;
  #inflatedBytes = 0;
  #textUnits = 0;
  #cells = 0;

  constructor(readonly limits: ReadingLimits) {
    this.#deadlineMs = processorMs() + limits.ms;
  }

  /** Called at least once for every few megabytes that are looked at. */
  checkTime(): void {
    if (processorMs() < this.#deadlineMs) return;
    refuse(`Reading the file takes longer than ${this.limits.ms / 1000} seconds, the most that is spent on one.`);
  }

  /** @param partBytes of the part that `bytes` are added to: so far decompressed, and compressed in all */
  addInflated(bytes: number, partBytes: { readonly inflated: number; readonly compressed: number }): void {
    const { inflatedBytes, ratio, ratioFromBytes } = this.limits;
    this.#inflatedBytes += bytes;
    if (this.#inflatedBytes > inflatedBytes) {
      refuse(`The file is decompressed to more than ${inMegabytes(inflatedBytes)} MB, the most that is read.`);
    }
    if (partBytes.inflated > ratioFromBytes && partBytes.inflated > partBytes.compressed * ratio) {
      refuse(`The file is compressed to less than 1/${ratio} of its size, the least that is read.`);
    }
  }

  addText(units: number): void {
    this.#textUnits += units;
    if (this.#textUnits <= this.limits.textUnits) return;
    refuse(`The file holds more than ${inWords(this.limits.textUnits)} characters of text, the most that is read.`);
  }

  addCells(cells: number): void {
    this.#cells += cells;
    if (this.#cells <= this.limits.cells) return;
    refuse(`The file holds more than ${inWords(this.limits.cells)} cells, the most that is read.`);
  }

  checkSlides(slides: number): void {
    if (slides <= this.limits.slides) return;
    refuse(`The file holds ${inWords(slides)} slides; at most ${inWords(this.limits.slides)} are read.`);
  }

  checkDepth(depth: number, part: string): void {
    if (depth <= this.limits.depth) return;
    refuse(`The part ${part} of the file is nested deeper than ${this.limits.depth} levels, the most that is read.`);
  }
}

/** Gives a document up: throws ReadFailure, which `outcomeOf` catches. */
export function refuse(message: string, cause?: unknown): never {
  throw new ReadFailure("unreadable_document", message, { cause });
}

/** What `read` gives, or why it gave the document up. */
export function outcomeOf<Outcome>(read: () => Outcome): Outcome | ReadFailure {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReadFailure) return error;
    throw error;
  }
}

function inMegabytes(bytes: number): string {
  return inWords(Math.round(bytes / (1024 * 1024)));
}

function inWords(count: number): string {
  return count.toLocaleString("en-US");
}
