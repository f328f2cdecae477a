// What ingest needs of reading: the texts of files, and of texts chunks and the attributes that the caller did not give.
// Implemented by adapters/reading, in a child process that a hostile file or text can kill without harm to others.
//
// Owed by an implementation: results in the inputs' order; what cannot be read or prepared yields an error for itself only, after
// a bounded time.

import type { Chunk, DocumentPlace } from "../domain/chunk.ts";
import type { Extracted, FailureCode, PageProgress } from "../domain/memory.ts";

/** A text to prepare and what is known of it; null: to be extracted. */
export interface PrepareInput {
  readonly content: string;
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: readonly string[] | null;
  readonly language: string | null;
  /** When it took place, as its caller says: a text with a day in it, or Unix seconds or milliseconds in digits. */
  readonly date: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number | null;
}

/** What preparation makes of a text. */
export interface Prepared {
  readonly extracted: Extracted;
  readonly chunks: readonly Chunk[];
}

/** Prepares texts. */
export interface Preparer {
  /** One outcome per input, in order. Rejects only when no child can be had (a passing failure). */
  prepare(inputs: readonly PrepareInput[]): Promise<readonly (Prepared | PrepareFailure)[]>;
}

/** Why a single text could not be prepared; its message is shown to the caller. */
export class PrepareFailure extends Error {
  override readonly name = "PrepareFailure";
}

/** A file to read. */
export interface DocumentFile {
  readonly path: string;
  readonly bytes: number;
  /** As its uploader named it. */
  readonly filename: string;
  readonly mediaType: string;
}

/** What a file says beside its text. */
export interface DocumentFacts {
  /** The title that the file has of itself; null: to be found in the text. */
  readonly title: string | null;
  /** Where the pages, slides or sheets begin, ascending; empty where the format has none. */
  readonly marks: readonly TextMark[];
}

/** What a file says. */
export interface DocumentText extends DocumentFacts {
  /** With at least one visible character; no NUL and no lone surrogate. */
  readonly content: string;
}

/** From this place in a text on, in Unicode code points, it stands there in its document. */
export interface TextMark {
  readonly at: number;
  readonly place: DocumentPlace;
}

/** Reads files. */
export interface DocumentReader {
  /**
   * Rejects only for what lies outside the file (a passing failure).
   * @param onPages told now and then how many pages were read, where the format has any that can be counted
   */
  read(file: DocumentFile, onPages?: (pages: PageProgress) => void): Promise<DocumentText | ReadFailure>;
}

/** Why a file could not be read; its message is shown to the caller. */
export class ReadFailure extends Error {
  override readonly name = "ReadFailure";

  constructor(
    readonly code: FailureCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
