// Memories: their attributes, their states, and the input for creating and changing them.

import type { MemoryId, MemoryKey, UserKey } from "./ids.ts";
import type { ChangedAttributes, ExtractedField, GivenAttributes, MemoryAttributes } from "./memory-attributes.ts";

/**
 * Status in the API. There is no separate object for ingestion: a memory in status `processing` is the ingestion job.
 */
export type MemoryStatus = "processing" | "completed" | "failed";

/** Stage of a memory that is being processed; `progress.stage` in the API. */
export type Stage = "queued" | "reading" | "preparing" | "embedding" | "publishing";

/** Progress of a memory that is being processed. */
export interface Progress {
  readonly stage: Stage;
  /** Why the LLM extraction was skipped although it is enabled; null if it was not skipped. */
  readonly note: string | null;
  readonly chunksDone: number;
  /** Number of chunks; null until the text has been split into chunks. */
  readonly chunksTotal: number | null;
  /** Number of pages read and in total; null unless a file with countable pages is being read. */
  readonly pages: PageProgress | null;
}

/** Whether text in pictures and scanned pages is read. */
export const OCR_MODES = ["auto", "off"] as const;
/** One of `OCR_MODES`. */
export type OcrMode = (typeof OCR_MODES)[number];

/** Number of pages of a file that have been read, and of all its pages. */
export interface PageProgress {
  readonly done: number;
  readonly total: number;
}

/** Why a memory failed: the memory's `error.code`. Never used as the code of a response. */
export type FailureCode = "unreadable_document" | "processing_error";

/** Source of a completed memory's attributes. `caller`: the caller provided all of them, so nothing was extracted. */
export type Extraction = "caller" | "llm" | "local";

/** A stored memory without its `content`, which is large and loaded separately. */
export interface Memory extends MemoryAttributes {
  readonly key: MemoryKey;
  readonly id: MemoryId;
  /**
   * Incremented whenever the memory is to be processed again: with new content, a retry, or a new indexing. The result
   * of a job that worked on an older version is discarded.
   */
  readonly version: number;
  readonly state: MemoryState;
  readonly userKey: UserKey | null;
  /** Size of the content in UTF-8 bytes; for an upload that has not been read yet, the size of the file. */
  readonly contentBytes: number;
  /** The uploaded file that the memory was made from; null if it was not an upload. */
  readonly source: MemorySource | null;
  /** Name of the original in `UploadFiles`; null if the uploaded file is not kept. */
  readonly originalFile: string | null;
  /** Attributes that the caller provided; extraction never overwrites them. */
  readonly given: readonly ExtractedField[];
  /** The passages that another memory supersedes, if the memory has several passages. */
  readonly supersededPassages: SupersededPassages;
}

/**
 * Ids of the memories that supersede passages, by the ordinals of these passages. `all` stands for every passage. null:
 * none is superseded.
 */
export type SupersededPassages = Readonly<Record<string, MemoryId>> | null;

/** The memory that supersedes this passage of a memory; null if it is current. */
export function supersederOf(
  { supersededBy, supersededPassages }: Pick<Memory, "supersededBy" | "supersededPassages">,
  ordinal: number,
): MemoryId | null {
  return (supersededBy as MemoryId | null) ?? supersededPassages?.[ordinal] ?? supersededPassages?.all ?? null;
}

/** An uploaded file. The field names are those of the API. */
export interface MemorySource {
  readonly filename: string;
  readonly media_type: string;
  readonly bytes: number;
  /** Where the server fetched it; absent if a caller sent it. */
  readonly url?: string;
  /** Id of the memory of the file that it was in, and its path there; absent if it was in none. */
  readonly container?: string;
  readonly path?: string;
  /** What was not read, and why: sentences. Absent: nothing, or not read yet. */
  readonly warnings?: readonly string[];
}

/**
 * A file that is kept at least until its text is published: an uploaded file, or the long text of a JSON body as UTF-8.
 */
export interface ReceivedFile {
  /** Name of the file in `UploadFiles`. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: Uint8Array;
  /** null for the long text of a JSON body. */
  readonly source: MemorySource | null;
  /** What the uploader says of pictures; absent: the project's setting holds. */
  readonly ocr?: OcrMode | undefined;
  /** Whether it was fetched again for the same memory: then the first file's `ocr` still holds. Default: no. */
  readonly isFetchedAgain?: boolean;
  /** Whether the file stays after its text was read, as an original. Default: no. */
  readonly isOriginal?: boolean;
}

/** Changes to a memory. `metadata` is replaced as a whole. */
export interface MemoryChange extends ChangedAttributes {
  /** If it is absent, the content stays. Empty if `upload` is given. */
  readonly content?: string;
  readonly upload?: ReceivedFile;
  /** Id of the key that sent it; absent: no key did. */
  readonly by?: string;
}

/** State of a memory: its status, with the fields that exist only in this status. */
export type MemoryState =
  | { readonly status: "processing"; readonly attempts: number }
  | { readonly status: "completed"; readonly chunkCount: number; readonly extraction: Extraction }
  | { readonly status: "failed"; readonly error: { readonly code: FailureCode; readonly message: string } };

/** Input for a new memory. All values have been validated against domain/limits.ts. */
export interface MemoryDraft extends GivenAttributes {
  /** Empty if `upload` is given. */
  readonly content: string;
  readonly upload?: ReceivedFile;
  /** Id of the key that sent it; absent: no key did. */
  readonly by?: string;
}

/**
 * Result of the extraction for attributes that the caller did not provide. Title and type are null, and there are no
 * tags, if the project's smart ingestion is off.
 */
export interface Extracted {
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly language: string;
}
