// The system of record for memories: their rows and attributes. Jobs are in job-store.ts, removal after deletion and
// expiry in retirement-store.ts. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). Lists are keyset-paged, newest or oldest first, and stable under inserts and deletes. No method
// returns deleted or expired memories, unless its description says so.

import type { PartCounts } from "../domain/containers.ts";
import type { Fault } from "../domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";
import type { Memory, MemoryChange, MemoryDraft, MemoryStatus, ReceivedFile } from "../domain/memory.ts";
import type { MemoryScope } from "../domain/memory-attributes.ts";
import type { Page } from "../domain/page.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { VisibleMemory } from "./chunk-index.ts";
import type { TextFile } from "./upload-files.ts";

/** The result of a draft or a change. */
export interface Accepted {
  readonly memory: Memory;
  /**
   * created: a new memory. rewritten: the content is new, or the same content is processed again. updated: only
   * attributes changed. unchanged: the memory had all of the values before, so no event is sent and nothing was
   * written, except that an original that was not kept before is kept now.
   */
  readonly outcome: "created" | "rewritten" | "updated" | "unchanged";
  /** The uploaded file of the replaced content, which no row refers to any more; null if there is none. */
  readonly releasedFile: string | null;
}

/** Selects memories. A memory is selected if it meets all conditions that are given. */
export interface MemoryConditions extends MemoryScope {
  readonly status?: MemoryStatus;
  readonly type?: string;
  /** The memory has this tag. */
  readonly tag?: string;
  /** The title contains this text, regardless of upper and lower case. */
  readonly q?: string;
  /** Id of a memory: only the memories of the files in its file, but not of those deeper in it. */
  readonly container?: string;
  /** Whether another memory supersedes the memory as a whole. */
  readonly superseded?: boolean;
  /**
   * Unix milliseconds: only memories that were accepted by this time and whose text of this time is kept. `superseded`
   * refers to this time, too.
   */
  readonly knownAt?: number;
}

/** The memory of a file in a file. */
export interface ContainerPart {
  readonly key: MemoryKey;
  readonly path: string;
  /** Version of the container when the part was stored; null if that is not known. */
  readonly containerVersion: number | null;
}

/** Orders in which memories can be listed: by the time at which they were accepted. */
export const MEMORY_ORDERS = ["newest", "oldest"] as const;
/** One of `MEMORY_ORDERS`. */
export type MemoryOrder = (typeof MEMORY_ORDERS)[number];

/** Selects memories for a list. */
export interface MemoryListing extends MemoryConditions {
  /** Default: `newest`. */
  readonly order?: MemoryOrder;
  readonly limit: number;
  /**
   * Maximum size of all contents of a page together, in UTF-8 bytes. A page has at least one memory, even if that one
   * is larger.
   */
  readonly contentBytesMax?: number;
  readonly cursor?: string;
}

/** A part of the memories that are counted. */
export interface CountedPart {
  readonly memories: number;
  /** Key of the oldest memory of the part, where the next one begins; null if no memory follows. */
  readonly last: MemoryKey | null;
}

/** A memory that was deleted. */
export interface RemovedMemory {
  /** As it was before. */
  readonly memory: Memory;
  /** Its key, and those of the memories of files in its file. */
  readonly keys: readonly MemoryKey[];
}

/** Rows of memories. */
export interface MemoryStore {
  /**
   * Stores drafts as memories in status `processing`. If a memory with the pair (`externalId`, `userId`) exists, the
   * draft updates it: given fields replace the stored ones, and absent fields stay unchanged. Results are in the order
   * of the drafts. A draft that would exceed a quota of the project's plan is not stored; its result is a Fault
   * `document_quota_exceeded` or `storage_quota_exceeded`.
   * @throws Fault `project_not_found` if the project no longer exists
   */
  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): Promise<readonly (Accepted | Fault)[]>;
  /**
   * Changes a memory. New content (different content, or any content for a failed memory) puts it back to `processing`
   * and clears extracted attributes (those that no caller ever gave); the outcome is then `rewritten`. Returns null if
   * the memory does not exist.
   * @throws Fault `external_id_conflict` if another memory has this pair of `externalId` and `userId`;
   *   `storage_quota_exceeded` if the content would exceed the quota of the project's plan
   */
  change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Promise<Accepted | null>;
  /**
   * Puts a failed memory back to `processing`. Returns null if the memory does not exist.
   * @throws Fault `invalid_state` for any other status
   */
  retry(projectId: ProjectId, id: MemoryId): Promise<Memory | null>;
  /** Puts up to `limit` failed memories back to `processing`, the oldest first. Returns their number. */
  retryFailed(projectId: ProjectId, failed: { readonly userId?: string; readonly limit: number }): Promise<number>;
  /** Returns null if the memory does not exist, is deleted or has expired. */
  get(projectId: ProjectId, id: MemoryId): Eventually<Memory | null>;
  /** Reads memories by key, for search results. Keys without a readable memory are left out. */
  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Memory>>;
  /**
   * Contents of memories that are not published yet or have failed. The store keeps a content only until it is
   * published. Empty for an uploaded file that has not been read yet, and for a long text that is kept in a file.
   */
  waitingContents(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, string>>;
  /** The live memories of the files in the file of a memory, but not of those deeper in it. */
  partsOf(projectId: ProjectId, container: MemoryId): Promise<readonly ContainerPart[]>;
  /** Numbers of these memories' live parts. Memories without any are left out. */
  partCounts(projectId: ProjectId, containers: readonly MemoryId[]): Promise<ReadonlyMap<string, PartCounts>>;
  /** Names of the kept files with long texts that are not published yet or have failed. */
  waitingTextFiles(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, TextFile>>;
  /** Whether a live memory was made from this file: its content is the same. */
  isMadeFrom(projectId: ProjectId, id: MemoryId, upload: ReceivedFile): Promise<boolean>;
  /** @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged */
  list(projectId: ProjectId, listing: MemoryListing): Promise<Page<Memory>>;
  /** Counts up to `limit` memories that meet the conditions, from the newest one with a key below `before`. */
  countFrom(
    projectId: ProjectId,
    conditions: MemoryConditions,
    part: { readonly before: MemoryKey | null; readonly limit: number },
  ): Promise<CountedPart>;
  /**
   * Deletes a memory softly, and the memories of files in its file: no method returns them any more, but their data
   * stays until the retention ends. With `purges` the retention ends at once. Returns null if the memory does not
   * exist.
   */
  remove(projectId: ProjectId, id: MemoryId, options?: { readonly purges: boolean }): Promise<RemovedMemory | null>;
  /**
   * Deletes those memories of a project softly that are live, and the memories of files in their files. Returns the
   * keys of all that it deleted.
   */
  removeMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<readonly MemoryKey[]>;
  /** Deletes all memories of a user softly, as `removeMany` does. Returns their keys. */
  removeAllOf(projectId: ProjectId, userId: string): Promise<readonly MemoryKey[]>;
  /** The key of a user; null if no memory, chat or event ever referred to the user. */
  userKey(projectId: ProjectId, userId: string): Promise<UserKey | null>;

  /**
   * Completed memories, which searches may see, in ascending order of their keys: up to `limit` of them with keys above
   * `afterKey`.
   */
  visible(
    projectId: ProjectId,
    page: { readonly afterKey: MemoryKey | null; readonly limit: number },
  ): Promise<readonly VisibleMemory[]>;
  /** Returns the files of this list that no row refers to. */
  unreferencedFiles(files: readonly string[]): Promise<readonly string[]>;
  /** Number of memories by status over all projects, for metrics. */
  counts(): Promise<Readonly<Record<MemoryStatus, number>>>;
}
