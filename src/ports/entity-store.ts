// What people said of entities: names and merges. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). Notes of a removed project do not exist. They do not depend on the index: they stay when it is
// rebuilt, and while no memory mentions their entity.

import type { EntityChange, EntityHash, EntityNote } from "../domain/entity.ts";
import type { ProjectId } from "../domain/ids.ts";

/** Names and merges of entities. */
export interface EntityStore {
  /** All notes of a project, at most `LIMITS.entityNotes`. */
  notes(projectId: ProjectId): Promise<readonly EntityNote[]>;
  /**
   * Changes the note of an entity.
   * @throws Fault `invalid_state` if merges would go in a circle; `invalid_request` if the project has too many notes;
   *   `project_not_found`
   */
  change(projectId: ProjectId, entity: EntityHash, change: EntityChange): Promise<void>;
}
