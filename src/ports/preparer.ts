// Interface of preparation, for ingestion: finds the chunks of a text, and the attributes that the caller did not give.
// Implemented by adapters/preparation, in a child process, so that a hostile text cannot harm the server.
//
// Obligations of an implementation:
// - Results are in the order of the inputs. A text that cannot be prepared gives a PrepareFailure for this text only,
//   after a bounded time.
// - While a call prepares large texts, other calls with smaller ones are answered as fast as without it.
// - If `signal` aborts, no more work is done for the call, and it rejects with `signal.reason`.

import type { Chunk, ChunkTexts } from "../domain/chunk.ts";
import type { Extracted } from "../domain/memory.ts";
import type { AnyText } from "../kit/pieced-text.ts";

/**
 * Texts with more UTF-8 bytes than this are large: preparing one takes 0.2 s or more, and embedding it minutes. A
 * project has at most four texts of exactly this size (8 MiB) in progress.
 */
export const LARGE_TEXT_BYTES = 2 * 1024 * 1024;

/** A text to prepare, with the attributes that the caller gave. Attributes that are null are extracted. */
export interface PrepareInput {
  readonly content: AnyText;
  /**
   * Path of a file with the content as UTF-8. If it is given, `content` need not be copied, and the file must exist
   * until the call ends.
   */
  readonly file?: string | undefined;
  /**
   * Whether title, type and tags that are null are extracted. Otherwise they stay null, and there are no tags; the
   * language is always detected. Default: true.
   */
  readonly isSmart?: boolean | undefined;
  readonly title: string | null;
  /**
   * Whether `title` was extracted from this content before, so that it is treated as if it were extracted now. Default:
   * false.
   */
  readonly isTitleExtracted?: boolean | undefined;
  readonly type: string | null;
  readonly tags: readonly string[] | null;
  readonly language: string | null;
  /**
   * Date of the content as the caller gave it: a text that contains a day, or a number of Unix seconds or milliseconds
   * in digits; null if not given.
   */
  readonly date: string | null;
  /** Unix milliseconds; null if unknown. */
  readonly createdAt: number | null;
  /** Whether the text is source code, as the name of its file says. Otherwise the text itself shows it. */
  readonly isCode?: boolean | undefined;
}

/** A prepared text. */
export interface Prepared {
  /** The given attributes, and extracted ones for those that were null. */
  readonly extracted: Extracted;
  readonly chunks: readonly Chunk[];
  /** Chunk i begins in line `lines[2i]` of the content and ends in line `lines[2i + 1]`, from 1. */
  readonly lines: ArrayLike<number>;
  readonly texts: ChunkTexts;
}

/** Prepares texts. */
export interface Preparer {
  /** How many calls with texts that are not large are worked on at the same time. */
  readonly parallelMax: number;
  /**
   * Returns one outcome per input, in order. Rejects only if no child process is available or one got too little
   * processor time (transient failures), or if `signal` aborts.
   */
  prepare(inputs: readonly PrepareInput[], signal?: AbortSignal): Promise<readonly (Prepared | PrepareFailure)[]>;
}

/** The reason why a text could not be prepared. Its message is shown to the caller. */
export class PrepareFailure extends Error {
  override readonly name = "PrepareFailure";
}
