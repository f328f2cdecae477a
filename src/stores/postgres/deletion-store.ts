// DeletionStore on PostgreSQL.

import type { Deletion, DeletionConditions } from "../../domain/deletion.ts";
import { invariant } from "../../domain/fault.ts";
import type { DeletionId, ProjectId } from "../../domain/ids.ts";
import type { DeletionStore, DeletionWork } from "../../ports/deletion-store.ts";
import type { StoreContext } from "../context.ts";
import {
  DELETION_SQL,
  type DeletionRow,
  type DeletionWorkRow,
  type OpenDeletionRow,
  toDeletion,
  toDeletionWork,
  toOpenDeletion,
} from "../rows/deletion.ts";
import { newId } from "../rows/random.ts";
import type { Session } from "../session.ts";
import { projectKeyOf } from "../user-rows.ts";

/** DeletionStore on PostgreSQL. */
export class PostgresDeletionStore implements DeletionStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async create(
    projectId: ProjectId,
    { conditions, matched }: { readonly conditions: DeletionConditions; readonly matched: number },
  ): Promise<Deletion> {
    const now = this.context.clock.now();
    const row = await this.session.get<DeletionRow>(DELETION_SQL.insert, {
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
    const row = await this.session.get<DeletionRow>(DELETION_SQL.get, { project: projectId, id });
    return row === null ? null : toDeletion(row);
  }

  async work(projectId: ProjectId, id: DeletionId): Promise<DeletionWork | null> {
    const row = await this.session.get<DeletionWorkRow>(DELETION_SQL.work, { project: projectId, id });
    return row === null ? null : toDeletionWork(row);
  }

  async advance(
    projectId: ProjectId,
    id: DeletionId,
    { deleted, cursor }: { readonly deleted: number; readonly cursor: string | null },
  ): Promise<Deletion | null> {
    const step = { project: projectId, id, deleted, now: this.context.clock.now() };
    const row =
      cursor === null
        ? await this.session.get<DeletionRow>(DELETION_SQL.complete, step)
        : await this.session.get<DeletionRow>(DELETION_SQL.goOn, { ...step, cursor });
    return row === null ? null : toDeletion(row);
  }

  async fail(projectId: ProjectId, id: DeletionId, message: string): Promise<void> {
    await this.session.run(DELETION_SQL.fail, { project: projectId, id, message, now: this.context.clock.now() });
  }

  async forgetUser(projectId: ProjectId, userId: string): Promise<void> {
    await this.session.run(DELETION_SQL.forgetUser, { project: projectId, userId });
  }

  async open(limit: number): Promise<readonly { readonly projectId: ProjectId; readonly id: DeletionId }[]> {
    return (await this.session.all<OpenDeletionRow>(DELETION_SQL.open, { limit })).map(toOpenDeletion);
  }

  async openOf(projectId: ProjectId): Promise<number> {
    return Number((await this.session.get<{ n: bigint }>(DELETION_SQL.openOf, { project: projectId }))?.n ?? 0n);
  }

  async prune(before: number): Promise<void> {
    await this.session.run(DELETION_SQL.prune, { before });
  }
}
