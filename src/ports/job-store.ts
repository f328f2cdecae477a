// The queue of ingestion jobs. A memory in status `processing` is a job. Implemented by stores/, on SQLite and on
// PostgreSQL.
//
// Obligations of an implementation:
// - Each method is one transaction, or part of the transaction that its store belongs to (transactions.ts).
// - A job can be claimed if its memory is in status `processing`, is neither deleted nor expired, belongs to a project
//   that was not removed, and has no lease or delay that is still running.
// - `claim` gives each job a lease that runs for `leaseMs`, with a fencing token. Tokens grow with each claim. If two
//   claims run at the same time, a job goes to at most one of them.
// - A claimed job is "held" by its worker. It stops being held when its token or its version is no longer the newest,
//   its memory is deleted or expires, its project is removed, or the job is completed, retried later or failed. A job
//   whose lease has run out is still held until another claim gets it.
// - `renew`, `complete`, `retryLater` and `fail` change nothing for a job that is not held. So a slow worker can
//   neither overwrite what a later worker did nor complete a memory with outdated content.
// - `complete` and `fail` write the deliveries of the events `memory.completed` and `memory.failed` in the same
//   transaction.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Extracted, FailureCode, Memory, OcrMode } from "../domain/memory.ts";
import type { VisibleMemory } from "./chunk-index.ts";
import type { DocumentFacts } from "./document-reader.ts";
import type { TextFile } from "./upload-files.ts";

/** An uploaded file whose text has not been read yet. */
export interface UploadedFile {
  /** The name of the kept file in UploadFiles. */
  readonly name: string;
  readonly bytes: number;
  /** The name that the uploader gave. */
  readonly filename: string;
  readonly mediaType: string;
  /** Hash of the bytes and the media type (domain/file-hash.ts) when the file was received, in hexadecimal. */
  readonly contentSha256: string;
  /** What the uploader says of pictures; absent: the project's setting holds. */
  readonly ocr?: OcrMode;
}

/** A memory to process, under a lease. */
export interface Job {
  readonly projectId: ProjectId;
  readonly memory: Memory;
  /** The text to process; null if the memory was published before and its text is read from the index. */
  readonly content: string | null;
  /** The file whose text has to be read first; null if there is none. With a file, `content` is empty. */
  readonly upload: UploadedFile | null;
  /** The kept file with the text; null if there is none. With a file, `content` is empty. */
  readonly textFile: TextFile | null;
  /**
   * Title and place marks of the uploaded file. Given only if the text is not new (`content` is null, or the memory is
   * indexed again); null for a memory that came from no file.
   */
  readonly facts: DocumentFacts | null;
  /** Fencing token of the lease. */
  readonly lease: number;
  /** Number of counted claims of this version, including this one. */
  readonly attempt: number;
  /**
   * Whether the memory was completed before and is only indexed again. It keeps its attributes and times, and no event
   * tells of its completion.
   */
  readonly isReindexed: boolean;
}

/** Fields of a job without work, as `JobStore.published` returns it. */
export const NO_WORK = {
  content: null,
  upload: null,
  textFile: null,
  lease: 0,
  attempt: 0,
  isReindexed: false,
} as const satisfies Partial<Job>;

/** Jobs to skip. */
export interface JobFilter {
  /** Skips jobs of these projects. */
  readonly except?: readonly ProjectId[];
  /**
   * Skips jobs whose text is longer, in UTF-8 bytes. For a plain-text file the file size counts. Files of other formats
   * are never skipped, because the size of their text is not known yet.
   */
  readonly textBytesMax?: number;
  /** Skips files that were found in containers. */
  readonly withoutParts?: boolean;
}

/** Which jobs to claim, how many, and for how long. */
export interface ClaimOptions extends JobFilter {
  /** Maximum number of jobs. */
  readonly jobs: number;
  /** Maximum size of all claimed contents together, in UTF-8 bytes. The first job is claimed even if it is larger. */
  readonly contentBytes: number;
  readonly leaseMs: number;
}

/** A job whose chunks are published, so that its memory can become `completed`. */
export interface Completion {
  readonly job: Job;
  readonly extracted: Extracted;
  /** `llm` if a language model extracted at least one of the attributes. */
  readonly extractedBy: "llm" | "local";
  readonly chunkCount: number;
  /**
   * Result of reading the job's file: the size of its text in UTF-8 bytes, its title and its place marks. Absent if the
   * job has no file.
   */
  readonly read?: DocumentFacts & {
    readonly contentBytes: number;
    /** What was not read of the file; absent: nothing. */
    readonly warnings?: readonly string[];
  };
}

/** Vectors that an import stored with a memory, so that they need not be computed again. */
export interface ImportedVectors {
  /** Fingerprint of the model. */
  readonly fingerprint: string;
  /** SHA-256 of the texts that the model read of all chunks, in hexadecimal digits. */
  readonly inputsSha256: string;
  /** The components of the vectors of all chunks: 32-bit floats, little-endian. */
  readonly bytes: Uint8Array;
}

/** Ingestion jobs of all projects. */
export interface JobStore {
  /**
   * Claims up to `jobs` jobs. The project whose last claim was longest ago comes first. Within a project, the job comes
   * first that became claimable earliest.
   */
  claim(options: ClaimOptions): Promise<readonly Job[]>;
  /**
   * Ends all leases of this node. Called at its start, when no earlier worker of the node exists any more. Without
   * several nodes, these are all leases.
   */
  voidLeases(): Promise<void>;
  /** Extends leases to `leaseMs` from now. Returns the jobs that are still held. */
  renew(jobs: readonly Job[], leaseMs: number): Promise<readonly Job[]>;
  /** The vectors that were imported with a memory; null if there are none. */
  importedVectors(key: MemoryKey): Promise<ImportedVectors | null>;
  /**
   * Makes memories `completed` and removes content and file name from their rows, because the index has the text now.
   * Removes imported vectors, too. Returns the memories whose jobs were still held.
   */
  complete(completions: readonly Completion[]): Promise<readonly VisibleMemory[]>;
  /**
   * Ends the lease after a temporary failure: the job can be claimed again after `delayMs`. If `isCounted` is false
   * (default: true), this attempt is not counted in `attempt`.
   */
  retryLater(job: Job, delayMs: number, isCounted?: boolean): Promise<void>;
  /** Makes the memory `failed` and keeps its content. Returns false if the job was not held. */
  fail(job: Job, code: FailureCode, message: string): Promise<boolean>;
  /**
   * Puts completed memories back to `processing` as a new version, for example because a damaged index lost them. Their
   * jobs are marked with `isReindexed`, until the memory gets another content or fails.
   */
  reopen(keys: readonly MemoryKey[]): Promise<void>;
  /**
   * Lets memories that are `processing` be claimed again as a new version, because something that their jobs have read
   * has changed. Jobs that hold them do not complete.
   */
  restart(keys: readonly MemoryKey[]): Promise<void>;
  /**
   * These memories of a project as jobs without a lease, to prepare their published texts again. Keys without a row are
   * left out; deleted and expired memories are not.
   */
  published(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<readonly Job[]>;
  /**
   * Milliseconds until the next job can be claimed, apart from those that `filter` skips. 0 if a job can be claimed
   * now; null if there is no job.
   */
  nextJobInMs(filter?: JobFilter): Promise<number | null>;
  /**
   * Reserves `count` consecutive chunk keys, which are never reserved again, not even after a crash. Returns the first,
   * which is above 0.
   */
  reserveChunkKeys(count: number): Promise<bigint>;
}
