// The system of record for memories: what was acknowledged, and the jobs that follow from it. Implemented by
// adapters/embedded on SQLite.
//
// Owed by an implementation: each method is one transaction and durable when it returns. A row in status `processing` is
// the job: `claim` hands it out under a lease with a fencing token, and what a later holder or a newer version made void is
// refused by `complete` and `fail`. Lists are keyset-paged, newest first, and stable under inserts and deletes.
// Deleted and expired memories are absent from every read.

import type { Fault } from "../domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";
import type { Extracted, FailureCode, Memory, MemoryChange, MemoryDraft, MemoryStatus } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import type { VisibleMemory } from "./chunk-index.ts";
import type { DocumentFacts, DocumentFile } from "./document-reader.ts";

/** What `accept` did with a draft. */
export interface Accepted {
  readonly memory: Memory;
  /** created: a new row. rewritten: the content of a known `externalId` changed or is tried again. updated: only attributes. */
  readonly outcome: "created" | "rewritten" | "updated";
}

/** Conditions of a list; absent ones do not restrict. */
export interface MemoryListing {
  readonly status?: MemoryStatus;
  readonly type?: string;
  readonly userId?: string;
  /** Exactly this tag. */
  readonly tag?: string;
  /** Part of the title, whatever its case. */
  readonly q?: string;
  readonly limit: number;
  /** A page ends before its memories' contents exceed this in all; it holds one memory at least. */
  readonly contentBytesMax?: number;
  readonly cursor?: string;
}

/** A job: a memory in work, under a lease. */
export interface Job {
  readonly projectId: ProjectId;
  readonly memory: Memory;
  /** The text to work on; null where the index holds it already (published before, to be published again). */
  readonly content: string | null;
  /** The file whose text is to be read first; `content` is empty then. */
  readonly upload: DocumentFile | null;
  /** What the file said beside a text that the index holds already; null: it came from no file. */
  readonly facts: DocumentFacts | null;
  /** Fencing token: only the holder of the newest lease may finish the job. */
  readonly lease: number;
  /** How often this version was claimed, this time included. */
  readonly attempt: number;
}

/** Which jobs are passed over. */
export interface JobFilter {
  /** Jobs of these projects. */
  readonly except?: readonly ProjectId[];
  /** Jobs with a longer text, in UTF-8 bytes; a file that is one counts with its own. Of other files it is not known yet. */
  readonly textBytesMax?: number;
}

/** What is claimed. */
export interface ClaimOptions extends JobFilter {
  readonly jobs: number;
  /** Of their contents in all; one job is claimed whatever its size. */
  readonly contentBytes: number;
  readonly leaseMs: number;
}

/** A job that was published and can become completed. */
export interface Completion {
  readonly job: Job;
  readonly extracted: Extracted;
  /** Whether a language model found any of it. */
  readonly extractedBy: "llm" | "local";
  readonly chunkCount: number;
  /** What was read from the job's file: the UTF-8 bytes of its text, and what it says beside it; absent without one. */
  readonly read?: DocumentFacts & { readonly contentBytes: number };
}

/** Rows and jobs of memories. Synchronous: a call takes microseconds. */
export interface MemoryStore {
  /**
   * Stores drafts as memories in status `processing`. A draft with a known (`externalId`, `userId`) is an update: given fields
   * replace, absent ones stay. All in one transaction; results in the drafts' order. What would exceed a quota of the project's
   * plan is not stored: a Fault `document_quota_exceeded` or `storage_quota_exceeded` stands in its place.
   * @throws Fault `project_not_found` for a project that is gone
   */
  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): readonly (Accepted | Fault)[];
  /**
   * Changes a memory. New content (one that differs, or any for a failed memory) makes it `processing` again and clears what no
   * caller ever gave; the outcome is then `rewritten`. null: it is not there.
   * @throws Fault `external_id_conflict` when the pair of `externalId` and `userId` is another memory's,
   *   `storage_quota_exceeded`
   */
  change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Accepted | null;
  /** A failed memory goes back to `processing`; null: it is not there. @throws Fault `invalid_state` for any other status */
  retry(projectId: ProjectId, id: MemoryId): Memory | null;
  /** null: not there, or not readable any more. */
  get(projectId: ProjectId, id: MemoryId): Memory | null;
  /** By key, for search results; absent keys are left out. */
  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): ReadonlyMap<MemoryKey, Memory>;
  /** Content that waits in the row (not yet published, or failed), by key; empty for a file that was not read yet. */
  waitingContents(keys: readonly MemoryKey[]): ReadonlyMap<MemoryKey, string>;
  /** @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: MemoryListing): Page<Memory>;
  /** Soft delete; null when it is not there (any more). With `purges` its retention has ended at once. */
  remove(projectId: ProjectId, id: MemoryId, options?: { readonly purges: boolean }): Memory | null;
  /** Soft delete of all that a user owns; returns the keys. */
  removeAllOf(projectId: ProjectId, userId: string): readonly MemoryKey[];
  /** The key of a user that was named before; null for an unknown one. */
  userKey(projectId: ProjectId, userId: string): UserKey | null;

  /** Takes up to `jobs` jobs of at most `contentBytes` content in all (at least one), oldest first, fair between projects. */
  claim(options: ClaimOptions): readonly Job[];
  /** Ends all leases: for a start, when whoever held them is gone. */
  voidLeases(): void;
  /** Extends leases; returns those jobs that are still held. */
  renew(jobs: readonly Job[], leaseMs: number): readonly Job[];
  /** Rows become `completed` and hand their content over to the index, and files go; returns those for which that still holds. */
  complete(completions: readonly Completion[]): readonly VisibleMemory[];
  /** A passing failure: the job comes back after `delayMs`. A try that was nobody's fault does not count as an attempt. */
  retryLater(job: Job, delayMs: number, isCounted?: boolean): void;
  /** The job's end as `failed`; false when the lease or version is no longer the newest. */
  fail(job: Job, code: FailureCode, message: string): boolean;
  /** Puts completed memories back to `processing`, for instance because a damaged index lost them. */
  reopen(keys: readonly MemoryKey[]): void;
  /** Milliseconds until the next job can be claimed, those that are passed over aside; 0: now; null: none is waiting. */
  nextJobInMs(filter?: JobFilter): number | null;

  /**
   * Completed, not deleted memories of a project that searches may see, in ascending order of their keys: all, or up to
   * `limit` of those beyond `afterKey`.
   */
  visible(
    projectId: ProjectId,
    page?: { readonly afterKey: MemoryKey | null; readonly limit: number },
  ): readonly VisibleMemory[];
  /** Memories deleted or expired whose index entries still have to go; `markRetracted` ends that. Those of `except` are passed over. */
  retired(
    limit: number,
    except?: readonly ProjectId[],
  ): readonly { readonly projectId: ProjectId; readonly memoryKey: MemoryKey }[];
  /** The index entries of these are gone. */
  markRetracted(keys: readonly MemoryKey[]): void;
  /** Memories retracted whose project's `retention_days` have passed since they were deleted (or expired): their texts and rows may go for good. */
  purgeable(limit: number): readonly MemoryKey[];
  /** Removes the rows (and files) of purged memories for good, what chats show of them and what is remembered of them included. */
  erase(keys: readonly MemoryKey[]): void;
  /** Removes kept files that no row refers to, such as a crash leaves; returns how many. */
  removeLooseFiles(): number;
  /** Reserves `count` chunk keys, never handed out again; returns the first of the run. */
  reserveChunkKeys(count: number): bigint;
  /** Memories by status over all projects, for metrics. */
  counts(): Readonly<Record<MemoryStatus, number>>;
}
