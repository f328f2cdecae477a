// DeletionStore on SQLite.

import type { Deletion, DeletionConditions } from "../../domain/deletion.ts";
import { invariant } from "../../domain/fault.ts";
import type { DeletionId, ProjectId } from "../../domain/ids.ts";
import type { Clock } from "../../kit/clock.ts";
import type { DeletionStore, DeletionWork } from "../../ports/deletion-store.ts";
import {
  DELETION_SQL,
  type DeletionRow,
  type DeletionWorkRow,
  type OpenDeletionRow,
  toDeletion,
  toDeletionWork,
  toOpenDeletion,
} from "../rows/deletion.ts";
import { newId, type RandomBytes, systemRandom } from "../rows/random.ts";
import type { SqliteDatabase } from "./database.ts";
import type { NamedValues } from "./statement.ts";
import { projectKeyOf } from "./user-rows.ts";

/** DeletionStore on SQLite. */
export class SqliteDeletionStore implements DeletionStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #random: RandomBytes;

  constructor(options: { readonly database: SqliteDatabase; readonly clock: Clock; readonly random?: RandomBytes }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#random = options.random ?? systemRandom;
  }

  create(
    projectId: ProjectId,
    { conditions, matched }: { readonly conditions: DeletionConditions; readonly matched: number },
  ): Deletion {
    return this.#database.transaction(() => {
      const now = this.#clock.now();
      const row = this.#get<DeletionRow>(DELETION_SQL.insert, {
        id: newId("job", now, this.#random),
        projectKey: projectKeyOf(this.#database, projectId),
        userId: conditions.userId ?? null,
        conditions: JSON.stringify(conditions),
        matched,
        now,
      });
      invariant(row !== null, "an inserted deletion returned no row");
      return toDeletion(row);
    });
  }

  get(projectId: ProjectId, id: DeletionId): Deletion | null {
    const row = this.#get<DeletionRow>(DELETION_SQL.get, { project: projectId, id });
    return row === null ? null : toDeletion(row);
  }

  work(projectId: ProjectId, id: DeletionId): DeletionWork | null {
    const row = this.#get<DeletionWorkRow>(DELETION_SQL.work, { project: projectId, id });
    return row === null ? null : toDeletionWork(row);
  }

  advance(
    projectId: ProjectId,
    id: DeletionId,
    { deleted, cursor }: { readonly deleted: number; readonly cursor: string | null },
  ): Deletion | null {
    const step = { project: projectId, id, deleted, now: this.#clock.now() };
    const row =
      cursor === null
        ? this.#get<DeletionRow>(DELETION_SQL.complete, step)
        : this.#get<DeletionRow>(DELETION_SQL.goOn, { ...step, cursor });
    return row === null ? null : toDeletion(row);
  }

  fail(projectId: ProjectId, id: DeletionId, message: string): void {
    this.#run(DELETION_SQL.fail, { project: projectId, id, message, now: this.#clock.now() });
  }

  forgetUser(projectId: ProjectId, userId: string): void {
    this.#run(DELETION_SQL.forgetUser, { project: projectId, userId });
  }

  open(limit: number): readonly { readonly projectId: ProjectId; readonly id: DeletionId }[] {
    return this.#database.prepare<OpenDeletionRow, NamedValues>(DELETION_SQL.open).all({ limit }).map(toOpenDeletion);
  }

  openOf(projectId: ProjectId): number {
    return Number(this.#get<{ n: bigint }>(DELETION_SQL.openOf, { project: projectId })?.n ?? 0n);
  }

  prune(before: number): void {
    this.#run(DELETION_SQL.prune, { before });
  }

  #get<Row>(sql: string, values: NamedValues): Row | null {
    return this.#database.prepare<Row, NamedValues>(sql).get(values);
  }

  #run(sql: string, values: NamedValues): void {
    this.#database.prepare<never, NamedValues>(sql).run(values);
  }
}
