// What ingest needs of document reading: the text of a file, and where its pages, slides or sheets begin.
// Implemented by adapters/documents, in a child process per file, so that a hostile file cannot harm the server.
//
// A file that cannot be read yields a `ReadFailure` for itself only, after a bounded time.

import type { DocumentPlace } from "../domain/chunk.ts";
import type { FailureCode, PageProgress } from "../domain/memory.ts";

/** The formats of uploaded files. */
export interface FileFormats {
  /** Names of the formats in a sentence: "A, B and C". */
  readonly names: string;
  /** The media type of a file by its content and name; null if it has none of these formats. */
  mediaTypeOf(path: string, filename: string): Promise<string | null>;
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
