// Converts rows of the table `deletions` to deletions.

import type { Deletion, DeletionConditions } from "../../domain/deletion.ts";
import type { DeletionId, ProjectId } from "../../domain/ids.ts";
import type { DeletionWork } from "../../ports/deletion-store.ts";

/** The columns that `toDeletion` needs. */
export const DELETION_COLUMNS = "id, user_id, status, matched, deleted, error, created_at, updated_at";

/** A row with these columns. */
export interface DeletionRow {
  readonly id: string;
  readonly user_id: string | null;
  readonly status: string;
  readonly matched: bigint;
  readonly deleted: bigint;
  readonly error: string | null;
  readonly created_at: bigint;
  readonly updated_at: bigint;
}

/** The columns that a deletion in progress needs to go on. */
export interface DeletionWorkRow {
  readonly conditions: string;
  readonly cursor: string | null;
}

/** A row of the list of deletions in progress. */
export interface OpenDeletionRow {
  readonly id: string;
  readonly project_id: string;
}

/** Converts a row to a Deletion. */
export function toDeletion(row: DeletionRow): Deletion {
  return {
    id: row.id as DeletionId,
    userId: row.user_id,
    status: row.status as Deletion["status"],
    matched: Number(row.matched),
    deleted: Number(row.deleted),
    error: row.error,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}

/** Converts a row to the remaining work of a deletion. */
export function toDeletionWork({ conditions, cursor }: DeletionWorkRow): DeletionWork {
  return { conditions: JSON.parse(conditions) as DeletionConditions, cursor };
}

/** Converts a row to the ids of a deletion in progress. */
export function toOpenDeletion({ id, project_id }: OpenDeletionRow): { projectId: ProjectId; id: DeletionId } {
  return { projectId: project_id as ProjectId, id: id as DeletionId };
}
