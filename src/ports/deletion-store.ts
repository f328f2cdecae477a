// Deletions by conditions: what is asked for, and how far each is. The memories themselves are deleted by
// memory-store.ts, in the same transactions. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). Deletions of a removed project do not exist. The conditions of a deletion are erased when it
// ends, because they may name what was deleted.

import type { Deletion, DeletionConditions } from "../domain/deletion.ts";
import type { DeletionId, ProjectId } from "../domain/ids.ts";

/** What a deletion still has to do. */
export interface DeletionWork {
  readonly conditions: DeletionConditions;
  /** Cursor of the next page of the list of memories; null at the beginning. */
  readonly cursor: string | null;
}

/** Deletions of all projects. */
export interface DeletionStore {
  /**
   * Adds a deletion in status `processing`.
   * @throws Fault `project_not_found` if the project does not exist
   */
  create(
    projectId: ProjectId,
    draft: { readonly conditions: DeletionConditions; readonly matched: number },
  ): Promise<Deletion>;
  /** Returns null if the project has no such deletion. */
  get(projectId: ProjectId, id: DeletionId): Promise<Deletion | null>;
  /** The work of a deletion in status `processing`; null if it has ended or does not exist. */
  work(projectId: ProjectId, id: DeletionId): Promise<DeletionWork | null>;
  /**
   * Notes that the deletion deleted `deleted` more memories. It continues at `cursor` (null: at the beginning of the
   * list), or is completed by the last step. Returns null if it has ended or does not exist.
   */
  advance(
    projectId: ProjectId,
    id: DeletionId,
    step: { readonly deleted: number; readonly cursor: string | null; readonly isLast: boolean },
  ): Promise<Deletion | null>;
  /** Ends the deletion as failed. `message` is public. Does nothing if it has ended. */
  fail(projectId: ProjectId, id: DeletionId, message: string): Promise<void>;
  /** Removes the deletions that are limited to a user, also those in progress. */
  forgetUser(projectId: ProjectId, userId: string): Promise<void>;
  /** Deletions in status `processing` of all existing projects, oldest first. */
  open(limit: number): Promise<readonly { readonly projectId: ProjectId; readonly id: DeletionId }[]>;
  /** Number of deletions of a project in status `processing`. */
  openOf(projectId: ProjectId): Promise<number>;
  /** Removes deletions that ended before this time, in Unix milliseconds. */
  prune(before: number): Promise<void>;
}
