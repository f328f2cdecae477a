// What a memory is: its row, the states it can be in, and what a caller may give when making one.

import type { MemoryId, MemoryKey, UserKey } from "./ids.ts";

/** The three states of the interface; `processing` is the job itself. */
export type MemoryStatus = "processing" | "completed" | "failed";

/** Where a memory in work stands; shown as `progress.stage`. */
export type Stage = "queued" | "reading" | "preparing" | "embedding" | "publishing";

/** How far a memory in work has come. */
export interface Progress {
  readonly stage: Stage;
  /** Why a language model did not extract although it was to; null: nothing to say. */
  readonly note: string | null;
  readonly chunksDone: number;
  /** null until the text was cut into chunks. */
  readonly chunksTotal: number | null;
  /** While a file is read whose pages are counted; null at any other time. */
  readonly pages: PageProgress | null;
}

/** How many pages of a file were read. */
export interface PageProgress {
  readonly done: number;
  readonly total: number;
}

/** Why a memory failed; both stand in its `error.code`, never in a response's status. */
export type FailureCode = "unreadable_document" | "processing_error";

/** Attributes that are extracted when the caller gives none. */
export const EXTRACTED_FIELDS = ["title", "type", "tags", "language"] as const;
/** One of the attributes that are extracted when the caller gives none. */
export type ExtractedField = (typeof EXTRACTED_FIELDS)[number];

/** Where the attributes of a completed memory come from; caller: all of them were given. */
export type Extraction = "caller" | "llm" | "local";

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
/** A JSON object, as `metadata` is one. */
export type JsonObject = { readonly [key: string]: Json };

/** A memory as the stores hold it. `content` is not here: it is large, and asked for on its own. */
export interface Memory {
  readonly key: MemoryKey;
  readonly id: MemoryId;
  /** Counts up with every new content and every new try; a job that finishes under an older one is void. */
  readonly version: number;
  readonly state: MemoryState;
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: readonly string[] | null;
  readonly language: string | null;
  readonly metadata: JsonObject | null;
  readonly userId: string | null;
  readonly userKey: UserKey | null;
  readonly externalId: string | null;
  /** Unix milliseconds, like all times of this type. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** From then on the memory behaves as deleted. */
  readonly expiresAt: number | null;
  /** UTF-8 bytes of the content; of an upload that was not read yet, bytes of the file. */
  readonly contentBytes: number;
  /** The file that an uploaded memory came from. */
  readonly source: MemorySource | null;
  /** Attributes that the caller gave: those are never overwritten by extraction. */
  readonly given: readonly ExtractedField[];
}

/** A file that was uploaded; the names are the interface's. */
export interface MemorySource {
  readonly filename: string;
  readonly media_type: string;
  readonly bytes: number;
}

/** A file that was received, and whose text was not read yet. */
export interface ReceivedFile {
  /** Where it lies until a memory keeps it. */
  readonly path: string;
  readonly sha256: Uint8Array;
  readonly source: MemorySource;
}

/** What changes in a memory: absent stays, null clears, `metadata` replaces whole. */
export interface MemoryChange {
  readonly content?: string;
  readonly title?: string | null;
  readonly type?: string | null;
  readonly tags?: readonly string[] | null;
  readonly metadata?: JsonObject | null;
  readonly userId?: string | null;
  readonly language?: string | null;
  readonly externalId?: string | null;
  /** Unix milliseconds. */
  readonly expiresAt?: number | null;
}

/** The state of a memory; each status carries what only it can have. */
export type MemoryState =
  | { readonly status: "processing"; readonly attempts: number }
  | { readonly status: "completed"; readonly chunkCount: number; readonly extraction: Extraction }
  | { readonly status: "failed"; readonly error: { readonly code: FailureCode; readonly message: string } };

/** What a caller gives to make a memory; all values are checked (domain/limits.ts) before this type exists. */
export interface MemoryDraft {
  /** Empty where a file stands in its place. */
  readonly content: string;
  readonly upload?: ReceivedFile;
  readonly title?: string;
  readonly type?: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
  readonly userId?: string;
  readonly language?: string;
  readonly externalId?: string;
  /** Unix milliseconds. */
  readonly expiresAt?: number;
}

/** What extraction found for the attributes that the caller did not give. */
export interface Extracted {
  readonly title: string;
  readonly type: string;
  readonly tags: readonly string[];
  readonly language: string;
}
