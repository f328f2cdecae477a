// Retirement of memories: the steps from deletion or expiry to final removal. First a memory's entries are removed from
// the index; after the retention, its texts and rows are erased. The row stays until the last step, so that each step
// can be repeated after a crash. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). `retired` leaves out memories of removed projects, which are removed through AccountStore.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";

/** A deleted or expired memory that is still in the index. */
export interface RetiredMemory {
  readonly projectId: ProjectId;
  readonly memoryKey: MemoryKey;
}

/** Deleted and expired memories. */
export interface RetirementStore {
  /**
   * Returns up to `limit` deleted or expired memories for which `markRetracted` has not been called. Before that,
   * records the expiry of memories that have expired, with the event `memory.deleted`. Skips the projects in `except`.
   */
  retired(limit: number, except?: readonly ProjectId[]): Promise<readonly RetiredMemory[]>;
  /**
   * Records that the index no longer has entries of these memories. Ignores keys of memories that are neither deleted
   * nor expired.
   */
  markRetracted(keys: readonly MemoryKey[]): Promise<void>;
  /**
   * Returns up to `limit` memories that are marked as retracted and whose retention has ended. It ends `retention_days`
   * (a setting of the project) after deletion or expiry, or at once if the memory was deleted with `purges`.
   */
  purgeable(limit: number): Promise<readonly MemoryKey[]>;
  /**
   * Erases the rows of memories that are marked as retracted. Also erases their sources in chats, the bodies of
   * remembered answers about them, and all but their ids in deliveries. Returns the uploaded files that no row refers
   * to any more.
   */
  erase(keys: readonly MemoryKey[]): Promise<readonly string[]>;
  /**
   * Removes what erased rows left in the files of the store. When it resolves to true, no file has their data; false if
   * that was not possible at this moment.
   */
  eraseTraces(): Promise<boolean>;
}
