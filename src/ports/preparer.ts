// What ingest needs of text preparation: chunks, and the attributes that the caller did not give. Implemented by
// adapters/preparation, in a child process, so that a hostile text cannot harm the server.
//
// An implementation returns results in the order of the inputs. A text that cannot be prepared yields an error for
// itself only, after a bounded time.

import type { Chunk, ChunkTexts } from "../domain/chunk.ts";
import type { Extracted } from "../domain/memory.ts";

/** A text to prepare and its known attributes; a null attribute is extracted. */
export interface PrepareInput {
  readonly content: string;
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: readonly string[] | null;
  readonly language: string | null;
  /**
   * Date of the content as the caller gave it: a text with a day in it, or Unix seconds or milliseconds in digits; null
   * if not given.
   */
  readonly date: string | null;
  /** Unix milliseconds; null if unknown. */
  readonly createdAt: number | null;
}

/** A prepared text. */
export interface Prepared {
  /** The given attributes, and the extracted ones in place of null. */
  readonly extracted: Extracted;
  readonly chunks: readonly Chunk[];
  readonly texts: ChunkTexts;
}

/** Prepares texts. */
export interface Preparer {
  /** Returns one outcome per input, in order. Rejects only if no child process is available (a transient failure). */
  prepare(inputs: readonly PrepareInput[]): Promise<readonly (Prepared | PrepareFailure)[]>;
}

/** The reason why a text could not be prepared. Its message is shown to the caller. */
export class PrepareFailure extends Error {
  override readonly name = "PrepareFailure";
}
