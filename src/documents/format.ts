// Defines what a file format provides. formats.ts lists the formats: a new one is a file that exports a `FileFormat`,
// and a line in that list.

import type { ReadFailure } from "../ports/document-reader.ts";
import type { ReadDocument } from "./document.ts";
import type { FileSample } from "./file-sample.ts";

/**
 * How certain it is that a file has a format, in ascending order.
 * - `fallback`: the content may have this format, as may any content of its kind.
 * - `guess`: the content looks like this format, and the file name has no known extension.
 * - `name`: the content may have this format, and the file name has its extension.
 * - `content`: the content has this format.
 */
export const CERTAINTIES = ["fallback", "guess", "name", "content"] as const;
/** One of `CERTAINTIES`. */
export type Certainty = (typeof CERTAINTIES)[number];

/** A file in memory. */
export interface FileContent {
  readonly bytes: Uint8Array;
  /** As the uploader named the file. */
  readonly filename: string;
}

/** A format of uploaded files. The server process loads this record, so `read` imports the heavy code dynamically. */
export interface FileFormat {
  /** Name in messages; empty for files that are recognised only to explain why they cannot be read. */
  readonly name: string;
  /** Media type as registered with IANA. It is stored with the upload, and the file is read by it. */
  readonly mediaType: string;
  /** Usual extensions of file names, in lower case and without the dot. */
  readonly extensions: readonly string[];
  /** How certain it is that a file has this format; null if it does not have it. */
  recognise(sample: FileSample): Certainty | null;
  /**
   * Extracts the text. Resolves to a `ReadFailure` if the file is at fault.
   * @param onPages called after each page, if the format has pages
   */
  read(file: FileContent, onPages: (done: number, total: number) => void): Promise<ReadDocument | ReadFailure>;
}
