// Final removal of memories: a memory is deleted or expires, then leaves the index, and after the retention leaves all
// stores. Its row stays until the last step, so that each step can be repeated after a crash. Implemented by
// adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). `retired` leaves out memories of removed projects: they go with their project (AccountStore).

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Eventually } from "../kit/eventually.ts";

/** A deleted or expired memory that is still in the index. */
export interface RetiredMemory {
  readonly projectId: ProjectId;
  readonly memoryKey: MemoryKey;
}

/** Deleted and expired memories. */
export interface RetirementStore {
  /**
   * Returns up to `limit` memories that are still in the index, until `markRetracted` is called for them. Also records
   * the expiry of memories, with the event `memory.deleted`. Skips the projects in `except`.
   */
  retired(limit: number, except?: readonly ProjectId[]): Eventually<readonly RetiredMemory[]>;
  /** Records that these memories have left the index. Ignores keys of memories that are neither deleted nor expired. */
  markRetracted(keys: readonly MemoryKey[]): Eventually<void>;
  /**
   * Returns up to `limit` memories that have left the index and whose retention has ended: `retention_days` of their
   * project after deletion or expiry, or at once if they were deleted with `purges`.
   */
  purgeable(limit: number): Eventually<readonly MemoryKey[]>;
  /**
   * Erases the rows of memories that have left the index. Also erases their sources in chats and the bodies of
   * remembered answers about them. Returns the uploaded files that no row refers to any more.
   */
  erase(keys: readonly MemoryKey[]): Eventually<readonly string[]>;
}
