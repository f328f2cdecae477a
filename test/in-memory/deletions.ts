// DeletionStore in memory.

import type { Deletion, DeletionConditions } from "../../src/domain/deletion.ts";
import type { DeletionId, ProjectId } from "../../src/domain/ids.ts";
import type { DeletionStore, DeletionWork } from "../../src/ports/deletion-store.ts";
import { existingProject, openProject } from "./projects.ts";
import { type DeletionRow, jsonCopy, type Session, type Synchronous } from "./session.ts";

/** DeletionStore in memory. */
export class InMemoryDeletions implements Synchronous<DeletionStore> {
  constructor(private readonly session: Session) {}

  create(
    projectId: ProjectId,
    { conditions, matched }: { readonly conditions: DeletionConditions; readonly matched: number },
  ): Deletion {
    existingProject(this.session, projectId);
    const { now } = this.session;
    const id = this.session.newId("job") as DeletionId;
    const row: DeletionRow = {
      ...{ projectId, id, userId: conditions.userId ?? null, status: "processing", matched, deleted: 0, error: null },
      ...{ createdAt: now, updatedAt: now, conditions: jsonCopy(conditions), cursor: null },
    };
    return toDeletion(this.session.tables.deletions.set(id, row));
  }

  get(projectId: ProjectId, id: DeletionId): Deletion | null {
    const row = this.#find(projectId, id);
    return row === null ? null : toDeletion(row);
  }

  work(projectId: ProjectId, id: DeletionId): DeletionWork | null {
    const row = this.#open(projectId, id);
    return row === null ? null : { conditions: row.conditions, cursor: row.cursor };
  }

  advance(
    projectId: ProjectId,
    id: DeletionId,
    { deleted, cursor }: { readonly deleted: number; readonly cursor: string | null },
  ): Deletion | null {
    const row = this.#open(projectId, id);
    if (row === null) return null;
    const sum = { ...row, deleted: row.deleted + deleted, updatedAt: this.session.now };
    const next: DeletionRow =
      cursor === null ? { ...sum, status: "completed", cursor: null, conditions: {} } : { ...sum, cursor };
    return toDeletion(this.session.tables.deletions.set(id, next));
  }

  fail(projectId: ProjectId, id: DeletionId, message: string): void {
    const row = this.#open(projectId, id);
    if (row === null) return;
    const ended = { status: "failed", error: message, cursor: null, conditions: {} } as const;
    this.session.tables.deletions.set(id, { ...row, ...ended, updatedAt: this.session.now });
  }

  forgetUser(projectId: ProjectId, userId: string): void {
    for (const row of this.session.tables.deletions.rows()) {
      if (row.projectId === projectId && row.userId === userId) this.session.tables.deletions.delete(row.id);
    }
  }

  open(limit: number): readonly { readonly projectId: ProjectId; readonly id: DeletionId }[] {
    return this.session.tables.deletions
      .rows(({ projectId, id }) => this.#open(projectId, id) !== null)
      .slice(0, limit)
      .map(({ projectId, id }) => ({ projectId, id }));
  }

  openOf(projectId: ProjectId): number {
    return this.open(Number.POSITIVE_INFINITY).filter((one) => one.projectId === projectId).length;
  }

  prune(before: number): void {
    for (const { id, status, updatedAt } of this.session.tables.deletions.rows()) {
      if (status !== "processing" && updatedAt < before) this.session.tables.deletions.delete(id);
    }
  }

  #find(projectId: ProjectId, id: DeletionId): DeletionRow | null {
    const row = this.session.tables.deletions.get(id);
    return row?.projectId === projectId && openProject(this.session, projectId) !== null ? row : null;
  }

  #open(projectId: ProjectId, id: DeletionId): DeletionRow | null {
    const row = this.#find(projectId, id);
    return row?.status === "processing" ? row : null;
  }
}

function toDeletion({ id, userId, status, matched, deleted, error, createdAt, updatedAt }: DeletionRow): Deletion {
  return { id, userId, status, matched, deleted, error, createdAt, updatedAt };
}
