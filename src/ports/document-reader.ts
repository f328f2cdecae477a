// Interface of document reading, for ingestion: the text of a file, and where its pages, slides or sheets begin.
// Implemented by adapters/documents, in a child process per file, so that a hostile file cannot harm the server.
//
// A file that cannot be read yields a `ReadFailure` for itself only, after a bounded time.

import type { DocumentPlace } from "../domain/chunk.ts";
import type { FailureCode, PageProgress } from "../domain/memory.ts";
import type { AnyText } from "../kit/pieced-text.ts";

/** The formats of uploaded files. */
export interface FileFormats {
  /** Names of the formats in a sentence: "A, B and C". */
  readonly names: string;
  /**
   * The media type of a file, recognised by its content and name; null if the file has none of these formats.
   * @param declared the media type that the sender named; it counts if the name has no known extension
   */
  mediaTypeOf(path: string, filename: string, declared?: string | null): Promise<string | null>;
}

/** A file to read. */
export interface DocumentFile {
  readonly path: string;
  readonly bytes: number;
  /** The name that the uploader gave. */
  readonly filename: string;
  readonly mediaType: string;
  /** Whether the file is in another one, so that files in it that contain files are not read. Absent: no. */
  readonly isPart?: boolean;
  /** Path of an empty file, into which the files in this one are written. Absent: they are not read. */
  readonly partsPath?: string;
  /** The hash that the file had when it was received (domain/file-hash.ts), in hexadecimal. Absent: not checked. */
  readonly contentSha256?: string;
  /** Absent: `off`. */
  readonly recognition?: Recognition;
}

/** What is done about the text in pictures of a file: scanned pages, photos, pictures in documents. */
export type Recognition =
  /** It is left out, because the caller wants that. */
  | { readonly kind: "off" }
  /** It is left out, because the models are not installed. */
  | { readonly kind: "missing" }
  /** It is needed: if there are pictures, reading ends with `UnreadPictures`. */
  | { readonly kind: "wanted" }
  /** It is in the file at this path, which a PictureRecogniser wrote. */
  | {
      readonly kind: "done";
      readonly path: string;
      /** Why it has only descriptions, but no texts of pictures. Absent: it has texts. */
      readonly withoutTexts?: "off" | "missing";
    };

/** What document reading finds in a file besides its text. */
export interface DocumentFacts {
  /** The title in the file's properties. null if they have none; the title is then extracted from the text. */
  readonly title: string | null;
  /** Where places (pages, sheets, lines, subtitles) begin, in ascending order; empty if the format has none. */
  readonly marks: readonly TextMark[];
}

/** The text of a file. */
export interface DocumentText extends DocumentFacts {
  /** Contains at least one visible character, no NUL and no lone surrogate. */
  readonly content: AnyText;
  /** What was not read, and why: sentences for the uploader. Absent: nothing. */
  readonly warnings?: readonly string[];
  /** The files in the file, whose bytes are in the file `partsPath`. Absent: none. */
  readonly parts?: readonly DocumentPart[];
}

/** A file in a file. */
export interface DocumentPart {
  /** Path in the container, with slashes. */
  readonly path: string;
  readonly filename: string;
  readonly mediaType: string;
  /** Where its bytes begin in the file `partsPath`. */
  readonly at: number;
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** A place mark: the text from position `at` (in Unicode code points) comes from this place in the document. */
export interface TextMark {
  readonly at: number;
  readonly place: DocumentPlace;
}

/** Reads files. */
export interface DocumentReader {
  /**
   * Reads a file. A file that cannot be read, or has another hash than given, gives a ReadFailure. Rejects only for
   * temporary reasons outside of the file. UnreadPictures is returned only if recognition is `wanted`.
   * @param onPages called from time to time with the number of pages read, if the format has pages
   * @param signal if it aborts, reading stops and the call rejects with `signal.reason`
   */
  read(
    file: DocumentFile,
    onPages?: (pages: PageProgress) => void,
    signal?: AbortSignal,
  ): Promise<DocumentText | ReadFailure>;
}

/** Why a file could not be read. The uploader sees the message. */
export class ReadFailure extends Error {
  override readonly name: string = "ReadFailure";

  constructor(
    readonly code: FailureCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The pictures of a file have to be recognised before it can be read (ports/picture-recogniser.ts). */
export class UnreadPictures extends ReadFailure {
  override readonly name = "UnreadPictures";

  /** @param ids pages from 1, or names of parts of the file; at least one */
  constructor(readonly ids: readonly string[]) {
    super("unreadable_document", "The pictures in the file have not been read yet.");
  }
}
