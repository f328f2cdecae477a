// ProjectModelStore on SQLite: one row per project.

import { invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { Clock } from "../../kit/clock.ts";
import type { ModelChange, ProjectModel, ProjectModelStore } from "../../ports/project-model-store.ts";
import { PROJECT_MODEL_COLUMNS, type ProjectModelRow, toProjectModel } from "../rows/project-model.ts";
import { OPEN_PROJECT } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import { projectKeyOf } from "./user-rows.ts";

const OF_OPEN = "FROM project_models JOIN projects USING (project_key) WHERE projects.deleted_at IS NULL";
const GET = `SELECT ${PROJECT_MODEL_COLUMNS} ${OF_OPEN} AND projects.id = $project`;
const LIST = `SELECT ${PROJECT_MODEL_COLUMNS} ${OF_OPEN} ORDER BY started_at, project_key`;
const OBSERVE = `INSERT INTO project_models (project_key, live, previous)
  SELECT project_key, $live, $previous FROM projects WHERE id = $project AND deleted_at IS NULL
  ON CONFLICT (project_key) DO UPDATE SET live = excluded.live`;
const ASK = `INSERT INTO project_models (project_key, is_chosen, change_number, model, state, started_at)
  VALUES ($projectKey, $isChosen, 1, $model, 'building', $now)
  ON CONFLICT (project_key) DO UPDATE SET is_chosen = max(is_chosen, excluded.is_chosen),
    change_number = change_number + 1, model = excluded.model, state = 'building', error = NULL, chunks_done = 0,
    chunks_total = NULL, started_at = excluded.started_at, ended_at = NULL
    WHERE state IS NOT 'building' OR model <> excluded.model`;
const CHOOSE = "UPDATE project_models SET is_chosen = 1 WHERE project_key = $projectKey";
const BUILDING = `project_key = ${OPEN_PROJECT} AND state = 'building'`;
const PROGRESS = `UPDATE project_models SET chunks_done = $done, chunks_total = $total
  WHERE ${BUILDING} AND change_number = $number`;
const FINISH = `UPDATE project_models SET state = 'done', ended_at = $now, live = model, previous = $previous,
  chunks_done = ifnull(chunks_total, chunks_done) WHERE ${BUILDING} AND change_number = $number`;
const FAIL = `UPDATE project_models SET state = 'failed', ended_at = $now, error = $error
  WHERE ${BUILDING} AND change_number = $number`;
const CANCEL = `UPDATE project_models SET state = 'cancelled', ended_at = $now WHERE ${BUILDING}`;
const FORGET = `UPDATE project_models SET previous = NULL WHERE project_key = ${OPEN_PROJECT} AND previous IS NOT NULL`;

/** ProjectModelStore on SQLite. */
export class SqliteProjectModelStore implements ProjectModelStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;

  constructor({ database, clock }: { readonly database: SqliteDatabase; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  get(projectId: ProjectId): ProjectModel | null {
    const row = this.#database.prepare<ProjectModelRow, { project: string }>(GET).get({ project: projectId });
    return row === null ? null : toProjectModel(row);
  }

  list(): readonly ProjectModel[] {
    return this.#database.prepare<ProjectModelRow>(LIST).all({}).map(toProjectModel);
  }

  observe(project: ProjectId, live: string, previous: string | null): void {
    const values = { project, live, previous };
    this.#database.prepare<never, typeof values>(OBSERVE).run(values);
  }

  ask(projectId: ProjectId, model: string, isChosen: boolean): ModelChange {
    return this.#database.transaction(() => {
      const projectKey = projectKeyOf(this.#database, projectId);
      const values = { projectKey, model, isChosen: isChosen ? 1 : 0, now: this.#clock.now() };
      this.#database.prepare<never, typeof values>(ASK).run(values);
      if (isChosen) this.#database.prepare<never, { projectKey: bigint }>(CHOOSE).run({ projectKey });
      const change = this.get(projectId)?.change;
      invariant(change, "a change that was asked for has a row");
      return change;
    });
  }

  progress(project: ProjectId, number: number, done: number, total: number): boolean {
    const values = { project, number, done, total };
    return this.#database.prepare<never, typeof values>(PROGRESS).run(values) > 0;
  }

  finish(project: ProjectId, number: number, previous: string | null): void {
    const values = { project, number, previous, now: this.#clock.now() };
    this.#database.prepare<never, typeof values>(FINISH).run(values);
  }

  fail(project: ProjectId, number: number, error: string): void {
    const values = { project, number, error, now: this.#clock.now() };
    this.#database.prepare<never, typeof values>(FAIL).run(values);
  }

  cancel(project: ProjectId): boolean {
    const values = { project, now: this.#clock.now() };
    return this.#database.prepare<never, typeof values>(CANCEL).run(values) > 0;
  }

  forget(project: ProjectId): boolean {
    return this.#database.prepare<never, { project: string }>(FORGET).run({ project }) > 0;
  }
}
