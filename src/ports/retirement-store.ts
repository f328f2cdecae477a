// How memories go for good: deleted or expired, then out of the index, then (after the retention) out of all stores.
// The row stays until the last step, so that each step can be repeated after a crash. Implemented by adapters/embedded
// on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). `retired` leaves out memories of removed projects: they go with their project (AccountStore).

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Eventually } from "../kit/eventually.ts";

/** A deleted or expired memory whose index entries still have to go. */
export interface RetiredMemory {
  readonly projectId: ProjectId;
  readonly memoryKey: MemoryKey;
}

/** Deleted and expired memories. */
export interface RetirementStore {
  /**
   * Memories whose index entries still have to go; `markRetracted` ends that. Expiry is recorded here too. Projects in
   * `except` are passed over.
   */
  retired(limit: number, except?: readonly ProjectId[]): Eventually<readonly RetiredMemory[]>;
  /** The index entries of these memories are gone. Keys of memories that are not deleted are ignored. */
  markRetracted(keys: readonly MemoryKey[]): Eventually<void>;
  /** Retracted memories whose retention (the project's `retention_days` after deletion or expiry) has ended. */
  purgeable(limit: number): Eventually<readonly MemoryKey[]>;
  /**
   * Erases the rows of retracted memories, with what chats show of them and what idempotency remembers of them. Returns
   * the uploaded files that no row refers to any more.
   */
  erase(keys: readonly MemoryKey[]): Eventually<readonly string[]>;
}
