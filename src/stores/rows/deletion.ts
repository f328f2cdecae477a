// Statements on the table `deletions`, which are the same in every dialect, and the conversion of its rows.

import type { Deletion, DeletionConditions } from "../../domain/deletion.ts";
import type { DeletionId, ProjectId } from "../../domain/ids.ts";
import type { DeletionWork } from "../../ports/deletion-store.ts";
import { OPEN_PROJECT } from "./sql.ts";

const COLUMNS = "id, user_id, status, matched, deleted, error, created_at, updated_at";
const OF_PROJECT = `id = $id AND project_key = ${OPEN_PROJECT}`;
const IN_PROGRESS = "status = 'processing'";
/** What is left of the conditions of a deletion that has ended. */
const NO_CONDITIONS = "{}";

/** Statements on deletions. */
export const DELETION_SQL = {
  insert: `INSERT INTO deletions (id, project_key, user_id, status, conditions, matched, created_at, updated_at)
    VALUES ($id, $projectKey, $userId, 'processing', $conditions, $matched, $now, $now) RETURNING ${COLUMNS}`,
  get: `SELECT ${COLUMNS} FROM deletions WHERE ${OF_PROJECT}`,
  work: `SELECT conditions, cursor FROM deletions WHERE ${OF_PROJECT} AND ${IN_PROGRESS}`,
  goOn: `UPDATE deletions SET deleted = deleted + $deleted, cursor = $cursor, updated_at = $now
    WHERE ${OF_PROJECT} AND ${IN_PROGRESS} RETURNING ${COLUMNS}`,
  complete: `UPDATE deletions SET deleted = deleted + $deleted, cursor = NULL, status = 'completed', updated_at = $now,
      conditions = '${NO_CONDITIONS}'
    WHERE ${OF_PROJECT} AND ${IN_PROGRESS} RETURNING ${COLUMNS}`,
  fail: `UPDATE deletions SET status = 'failed', error = $message, cursor = NULL, updated_at = $now,
      conditions = '${NO_CONDITIONS}'
    WHERE ${OF_PROJECT} AND ${IN_PROGRESS}`,
  forgetUser: `DELETE FROM deletions WHERE project_key = ${OPEN_PROJECT} AND user_id = $userId`,
  open: `SELECT deletions.id, projects.id AS project_id FROM deletions JOIN projects USING (project_key)
    WHERE ${IN_PROGRESS} AND projects.deleted_at IS NULL ORDER BY deletion_key LIMIT $limit`,
  openOf: `SELECT count(*) AS n FROM deletions WHERE project_key = ${OPEN_PROJECT} AND ${IN_PROGRESS}`,
  prune: "DELETE FROM deletions WHERE status <> 'processing' AND updated_at < $before",
} as const;

/** A row of `deletions`. */
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

/** The columns of a row that say what is left to do. */
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

/** Converts a row to what is left to do. */
export function toDeletionWork({ conditions, cursor }: DeletionWorkRow): DeletionWork {
  return { conditions: JSON.parse(conditions) as DeletionConditions, cursor };
}

/** Converts a row to the ids of a deletion in progress. */
export function toOpenDeletion({ id, project_id }: OpenDeletionRow): { projectId: ProjectId; id: DeletionId } {
  return { projectId: project_id as ProjectId, id: id as DeletionId };
}
