// Ingestion work: which memory is processed next, by whom, and how that ends. A memory in status `processing` is the
// job. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). `claim` gives out a job under a lease with a fencing token. The newest lease wins: what an older
// holder reports, or what was done for an older version or a deleted memory, is refused by `renew`, `complete`,
// `retryLater` and `fail`. Of two concurrent claims at most one gets a job.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Extracted, FailureCode, Memory } from "../domain/memory.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { VisibleMemory } from "./chunk-index.ts";
import type { DocumentFacts } from "./document-reader.ts";

/** An uploaded file whose text was not read yet. */
export interface UploadedFile {
  /** Its name in UploadFiles. */
  readonly name: string;
  readonly bytes: number;
  /** As the uploader named it. */
  readonly filename: string;
  readonly mediaType: string;
}

/** A memory to process, under a lease. */
export interface Job {
  readonly projectId: ProjectId;
  readonly memory: Memory;
  /** The text to process; null if the index holds it already (published before, to be published again). */
  readonly content: string | null;
  /** The file whose text has to be read first; `content` is empty then. */
  readonly upload: UploadedFile | null;
  /** What the file said beside a text that the index holds already; null if it came from no file. */
  readonly facts: DocumentFacts | null;
  /** Fencing token: only the holder of the newest lease can finish the job. */
  readonly lease: number;
  /** How often this version was claimed, this time included. */
  readonly attempt: number;
}

/** Which jobs are passed over. */
export interface JobFilter {
  /** Jobs of these projects. */
  readonly except?: readonly ProjectId[];
  /**
   * Jobs with a longer text, in UTF-8 bytes. A plain-text file counts with its own size; of other files the text is not
   * known yet.
   */
  readonly textBytesMax?: number;
}

/** What to claim. */
export interface ClaimOptions extends JobFilter {
  /** Number of jobs, at most. */
  readonly jobs: number;
  /** UTF-8 bytes of their contents together, at most; one job is claimed whatever its size. */
  readonly contentBytes: number;
  readonly leaseMs: number;
}

/** A job that was published and can become completed. */
export interface Completion {
  readonly job: Job;
  readonly extracted: Extracted;
  /** Whether a language model extracted any of it. */
  readonly extractedBy: "llm" | "local";
  readonly chunkCount: number;
  /**
   * What was read from the job's file: the UTF-8 bytes of its text, and what the file says beside it; absent without a
   * file.
   */
  readonly read?: DocumentFacts & { readonly contentBytes: number };
}

/** Jobs of all projects. */
export interface JobStore {
  /** Takes up to `jobs` jobs, oldest first, fair between projects. */
  claim(options: ClaimOptions): Eventually<readonly Job[]>;
  /** Ends all leases. To be called at a start, when whoever held them is gone. */
  voidLeases(): Eventually<void>;
  /** Extends leases. Returns the jobs that are still held. */
  renew(jobs: readonly Job[], leaseMs: number): Eventually<readonly Job[]>;
  /**
   * Makes memories `completed` and drops their content and file from the row: the index has the text now. Returns those
   * that were still held; the others stay as they are.
   */
  complete(completions: readonly Completion[]): Eventually<readonly VisibleMemory[]>;
  /**
   * After a passing failure: the job can be claimed again after `delayMs`. With `isCounted` false the attempt does not
   * count; by default it does.
   */
  retryLater(job: Job, delayMs: number, isCounted?: boolean): Eventually<void>;
  /** Ends the job as `failed`. Returns false if the lease or version is no longer the newest. */
  fail(job: Job, code: FailureCode, message: string): Eventually<boolean>;
  /** Puts completed memories back to `processing`, for instance because a damaged index lost them. */
  reopen(keys: readonly MemoryKey[]): Eventually<void>;
  /** Milliseconds until the next job can be claimed, apart from those passed over; 0: now; null: none is waiting. */
  nextJobInMs(filter?: JobFilter): Eventually<number | null>;
  /** Reserves `count` chunk keys that are never given out again. Returns the first of the run. */
  reserveChunkKeys(count: number): Eventually<bigint>;
}
