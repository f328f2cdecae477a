// Defines what a file format provides. formats.ts lists the formats. To add one, write a file that exports a
// `FileFormat`, and add it to that list.

import type { ReadFailure } from "../ports/document-reader.ts";
import type { Parts } from "./containers/parts.ts";
import type { ReadDocument } from "./document.ts";
import type { FileSample } from "./file-sample.ts";
import type { FilePictures, PictureTexts } from "./recognition.ts";

/**
 * How certain it is that a file has a format, in ascending order.
 * - `fallback`: nothing contradicts this format, but any content of this kind could have it (for example plain text).
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
  /** File name that the uploader gave. */
  readonly filename: string;
  /** Texts of the pictures in the file. Absent: they are left out. */
  readonly pictures?: PictureTexts;
}

/**
 * A format of uploaded files. Because the server process loads this record as well, `read` imports the large modules of
 * its reader dynamically.
 */
export interface FileFormat {
  /**
   * Name of the format in messages. It is empty for files that are recognised only to explain why they cannot be read.
   */
  readonly name: string;
  /** Media type as registered with IANA. It is stored with the upload and later selects the reader of the file. */
  readonly mediaType: string;
  /** Further media types under which such files are sent. */
  readonly otherMediaTypes?: readonly string[];
  /** Usual extensions of file names, in lower case and without the dot. */
  readonly extensions: readonly string[];
  /** Whether its files are OLE containers. An OLE container of any other format is an encrypted document. */
  readonly isOle?: boolean;
  /** How certain it is that a file has this format; null if it does not have it. */
  recognise(sample: FileSample): Certainty | null;
  /**
   * Extracts the text. Resolves to a `ReadFailure` if the file is the reason that this is impossible.
   * @param onPages called after each page, if the format has pages
   * @param parts receives the files in it, if the format contains files. Absent: they are not read
   */
  read(
    file: FileContent,
    onPages: (done: number, total: number) => void,
    parts?: Parts,
  ): Promise<ReadDocument | ReadFailure>;
  /** Opens the pictures in a file, if the format can have any. @throws ReadFailure if the file is damaged */
  openPictures?(bytes: Uint8Array): Promise<FilePictures>;
}
