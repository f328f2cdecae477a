// Implements DeletionStore: one row per deletion by conditions. It has the conditions until the deletion has ended.

import type { Deletion, DeletionConditions } from "../domain/deletion.ts";
import { invariant } from "../domain/fault.ts";
import type { DeletionId, ProjectId } from "../domain/ids.ts";
import type { DeletionStore, DeletionWork } from "../ports/deletion-store.ts";
import type { StoreContext } from "./context.ts";
import {
  DELETION_COLUMNS,
  type DeletionRow,
  type DeletionWorkRow,
  type OpenDeletionRow,
  toDeletion,
  toDeletionWork,
  toOpenDeletion,
} from "./rows/deletion.ts";
import { newId } from "./rows/random.ts";
import { OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";
import { projectKeyOf } from "./user-rows.ts";

const OF_PROJECT = `id = $id AND project_key = ${OPEN_PROJECT}`;
const IN_PROGRESS = "status = 'processing'";
/** The conditions of a deletion that has ended. They may contain personal data, so they are not kept. */
const NO_CONDITIONS = "'{}'";

const INSERT = `INSERT INTO deletions (id, project_key, user_id, status, conditions, matched, created_at, updated_at)
  VALUES ($id, $projectKey, $userId, 'processing', $conditions, $matched, $now, $now) RETURNING ${DELETION_COLUMNS}`;
const GET = `SELECT ${DELETION_COLUMNS} FROM deletions WHERE ${OF_PROJECT}`;
const WORK = `SELECT conditions, cursor FROM deletions WHERE ${OF_PROJECT} AND ${IN_PROGRESS}`;
const GO_ON = `UPDATE deletions SET deleted = deleted + $deleted, cursor = $cursor, updated_at = $now
  WHERE ${OF_PROJECT} AND ${IN_PROGRESS} RETURNING ${DELETION_COLUMNS}`;
const COMPLETE = `UPDATE deletions SET deleted = deleted + $deleted, cursor = NULL, status = 'completed',
    updated_at = $now, conditions = ${NO_CONDITIONS}
  WHERE ${OF_PROJECT} AND ${IN_PROGRESS} RETURNING ${DELETION_COLUMNS}`;
const FAIL = `UPDATE deletions SET status = 'failed', error = $message, cursor = NULL, updated_at = $now,
    conditions = ${NO_CONDITIONS}
  WHERE ${OF_PROJECT} AND ${IN_PROGRESS}`;
const FORGET_USER = `DELETE FROM deletions WHERE project_key = ${OPEN_PROJECT} AND user_id = $userId`;
const OPEN = `SELECT deletions.id, projects.id AS project_id FROM deletions JOIN projects USING (project_key)
  WHERE ${IN_PROGRESS} AND projects.deleted_at IS NULL ORDER BY deletion_key LIMIT $limit`;
const OPEN_OF = `SELECT count(*) AS n FROM deletions WHERE project_key = ${OPEN_PROJECT} AND ${IN_PROGRESS}`;
const PRUNE = `DELETE FROM deletions WHERE NOT ${IN_PROGRESS} AND updated_at < $before`;

/** Deletions by conditions. */
export class StoredDeletions implements DeletionStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async create(
    projectId: ProjectId,
    { conditions, matched }: { readonly conditions: DeletionConditions; readonly matched: number },
  ): Promise<Deletion> {
    const now = this.context.clock.now();
    const row = await this.session.get<DeletionRow>(INSERT, {
      id: newId("job", now, this.context.random),
      projectKey: await projectKeyOf(this.session, projectId),
      userId: conditions.userId ?? null,
      conditions: JSON.stringify(conditions),
      matched,
      now,
    });
    invariant(row !== null, "an inserted deletion returned no row");
    return toDeletion(row);
  }

  async get(projectId: ProjectId, id: DeletionId): Promise<Deletion | null> {
    const row = await this.session.get<DeletionRow>(GET, { project: projectId, id });
    return row === null ? null : toDeletion(row);
  }

  async work(projectId: ProjectId, id: DeletionId): Promise<DeletionWork | null> {
    const row = await this.session.get<DeletionWorkRow>(WORK, { project: projectId, id });
    return row === null ? null : toDeletionWork(row);
  }

  async advance(
    projectId: ProjectId,
    id: DeletionId,
    { deleted, cursor, isLast }: Parameters<DeletionStore["advance"]>[2],
  ): Promise<Deletion | null> {
    const step = { project: projectId, id, deleted, now: this.context.clock.now() };
    const row = isLast
      ? await this.session.get<DeletionRow>(COMPLETE, step)
      : await this.session.get<DeletionRow>(GO_ON, { ...step, cursor });
    return row === null ? null : toDeletion(row);
  }

  async fail(projectId: ProjectId, id: DeletionId, message: string): Promise<void> {
    await this.session.run(FAIL, { project: projectId, id, message, now: this.context.clock.now() });
  }

  async forgetUser(projectId: ProjectId, userId: string): Promise<void> {
    await this.session.run(FORGET_USER, { project: projectId, userId });
  }

  async open(limit: number): Promise<readonly { readonly projectId: ProjectId; readonly id: DeletionId }[]> {
    return (await this.session.all<OpenDeletionRow>(OPEN, { limit })).map(toOpenDeletion);
  }

  async openOf(projectId: ProjectId): Promise<number> {
    return Number((await this.session.get<{ n: bigint }>(OPEN_OF, { project: projectId }))?.n ?? 0n);
  }

  async prune(before: number): Promise<void> {
    await this.session.run(PRUNE, { before });
  }
}
