// The system of record for memories: their rows and attributes. Jobs are in job-store.ts, removal after deletion and
// expiry in retirement-store.ts. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). Lists are paged by key, newest first, and stay stable while memories are inserted and deleted.
// Deleted and expired memories are absent from every read.

import type { Fault } from "../domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";
import type { Memory, MemoryChange, MemoryDraft, MemoryStatus } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { VisibleMemory } from "./chunk-index.ts";

/** The result of a draft or a change. */
export interface Accepted {
  readonly memory: Memory;
  /** created: a new row. rewritten: the content is new, or is processed again. updated: only attributes changed. */
  readonly outcome: "created" | "rewritten" | "updated";
  /** The uploaded file of the replaced content, which no row refers to any more; null: there was none. */
  readonly releasedFile: string | null;
}

/** Conditions of a list, which must all hold. A condition that is absent does not restrict the list. */
export interface MemoryListing {
  readonly status?: MemoryStatus;
  readonly type?: string;
  readonly userId?: string;
  /** One of the tags equals this one. */
  readonly tag?: string;
  /** The title contains this text, regardless of upper and lower case. */
  readonly q?: string;
  readonly limit: number;
  /** Maximum of the contents of a page together, in UTF-8 bytes. A page holds at least one memory anyway. */
  readonly contentBytesMax?: number;
  readonly cursor?: string;
}

/** Rows of memories. */
export interface MemoryStore {
  /**
   * Stores drafts as memories in status `processing`. If a memory with the pair (`externalId`, `userId`) exists, the
   * draft updates it: given fields replace, absent ones stay. Results are in the order of the drafts. A draft that
   * would exceed a quota of the project's plan is not stored; its result is a Fault `document_quota_exceeded` or
   * `storage_quota_exceeded`.
   * @throws Fault `project_not_found` if the project no longer exists
   */
  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): Eventually<readonly (Accepted | Fault)[]>;
  /**
   * Changes a memory. New content (different content, or any content for a failed memory) puts it back to `processing`
   * and clears attributes that no caller ever gave; the outcome is then `rewritten`. Returns null if the memory does
   * not exist.
   * @throws Fault `external_id_conflict` if another memory has this pair of `externalId` and `userId`;
   *   `storage_quota_exceeded`
   */
  change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Eventually<Accepted | null>;
  /**
   * Puts a failed memory back to `processing`. Returns null if the memory does not exist.
   * @throws Fault `invalid_state` for any other status
   */
  retry(projectId: ProjectId, id: MemoryId): Eventually<Memory | null>;
  /** Returns null if the memory does not exist, is deleted or has expired. */
  get(projectId: ProjectId, id: MemoryId): Eventually<Memory | null>;
  /** Reads memories by key, for search results. Keys without a readable memory are left out. */
  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Eventually<ReadonlyMap<MemoryKey, Memory>>;
  /**
   * Contents that the store still holds, because their memories are not published yet or have failed. Empty for an
   * uploaded file that has not been read yet.
   */
  waitingContents(keys: readonly MemoryKey[]): Eventually<ReadonlyMap<MemoryKey, string>>;
  /** @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: MemoryListing): Eventually<Page<Memory>>;
  /**
   * Soft delete: the memory is absent from every read. With `purges` its retention ends at once. Returns the memory as
   * it was, or null if it does not exist.
   */
  remove(projectId: ProjectId, id: MemoryId, options?: { readonly purges: boolean }): Eventually<Memory | null>;
  /** Soft delete of all memories of a user. Returns their keys. */
  removeAllOf(projectId: ProjectId, userId: string): Eventually<readonly MemoryKey[]>;
  /** The key of a user; null if no memory, chat or event ever named the user. */
  userKey(projectId: ProjectId, userId: string): Eventually<UserKey | null>;

  /**
   * Completed memories, which searches may see, in ascending order of their keys: all of the project, or up to `limit`
   * with keys above `afterKey`.
   */
  visible(
    projectId: ProjectId,
    page?: { readonly afterKey: MemoryKey | null; readonly limit: number },
  ): Eventually<readonly VisibleMemory[]>;
  /** Returns those of these uploaded files that no row refers to. */
  unreferencedFiles(files: readonly string[]): Eventually<readonly string[]>;
  /** Number of memories by status over all projects, for metrics. */
  counts(): Eventually<Readonly<Record<MemoryStatus, number>>>;
}
