// What ingest needs of text preparation: chunks, and the attributes that the caller did not give.
// Implemented by adapters/preparation, in a child process, so that a hostile text cannot harm the server.
//
// An implementation returns results in the order of the inputs. A text that cannot be prepared yields an error for itself only,
// after a bounded time.

import type { Chunk } from "../domain/chunk.ts";
import type { Extracted } from "../domain/memory.ts";

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
