// Implements ProjectModelStore: the embedding models of projects, in one row per project.

import { invariant } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { ModelChange, ProjectModel, ProjectModelStore } from "../ports/project-model-store.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { PROJECT_MODEL_COLUMNS, type ProjectModelRow, toProjectModel } from "./rows/project-model.ts";
import { OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";
import { projectKeyOf } from "./user-rows.ts";

const OF_OPEN = "FROM project_models JOIN projects USING (project_key) WHERE projects.deleted_at IS NULL";
const GET = `SELECT ${PROJECT_MODEL_COLUMNS} ${OF_OPEN} AND projects.id = $project`;
const LIST = `SELECT ${PROJECT_MODEL_COLUMNS} ${OF_OPEN} ORDER BY started_at NULLS FIRST, project_key`;
const OBSERVE = `INSERT INTO project_models (project_key, live, previous)
  SELECT project_key, $live, $previous FROM projects WHERE id = $project AND deleted_at IS NULL
  ON CONFLICT (project_key) DO UPDATE SET live = excluded.live`;
const ASK = ({
  greatest,
}: Dialect) => `INSERT INTO project_models AS known (project_key, is_chosen, change_number, model, state, started_at)
  VALUES ($projectKey, $isChosen, 1, $model, 'building', $now)
  ON CONFLICT (project_key) DO UPDATE SET is_chosen = ${greatest("known.is_chosen", "excluded.is_chosen")},
    change_number = known.change_number + 1, model = excluded.model, state = 'building', error = NULL, chunks_done = 0,
    chunks_total = NULL, started_at = excluded.started_at, ended_at = NULL
    WHERE known.state IS DISTINCT FROM 'building' OR known.model <> excluded.model`;
const CHOOSE = "UPDATE project_models SET is_chosen = 1 WHERE project_key = $projectKey";
const BUILDING = `project_key = ${OPEN_PROJECT} AND state = 'building'`;
const PROGRESS = `UPDATE project_models SET chunks_done = $done, chunks_total = $total
  WHERE ${BUILDING} AND change_number = $number`;
const FINISH = `UPDATE project_models SET state = 'done', ended_at = $now, live = model, previous = $previous,
  chunks_done = coalesce(chunks_total, chunks_done) WHERE ${BUILDING} AND change_number = $number`;
const FAIL = `UPDATE project_models SET state = 'failed', ended_at = $now, error = $error
  WHERE ${BUILDING} AND change_number = $number`;
const CANCEL = `UPDATE project_models SET state = 'cancelled', ended_at = $now WHERE ${BUILDING}`;
const SET_RERANKER = `INSERT INTO project_models (project_key, reranker) VALUES ($projectKey, $reranker)
  ON CONFLICT (project_key) DO UPDATE SET reranker = excluded.reranker`;
const FORGET = `UPDATE project_models SET previous = NULL WHERE project_key = ${OPEN_PROJECT} AND previous IS NOT NULL`;

/** Embedding models of projects. */
export class StoredProjectModels implements ProjectModelStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async get(projectId: ProjectId): Promise<ProjectModel | null> {
    const row = await this.session.get<ProjectModelRow>(GET, { project: projectId });
    return row === null ? null : toProjectModel(row);
  }

  async list(): Promise<readonly ProjectModel[]> {
    return (await this.session.all<ProjectModelRow>(LIST)).map(toProjectModel);
  }

  async observe(project: ProjectId, live: string, previous: string | null): Promise<void> {
    await this.session.run(OBSERVE, { project, live, previous });
  }

  async ask(projectId: ProjectId, model: string, isChosen: boolean): Promise<ModelChange> {
    const projectKey = await projectKeyOf(this.session, projectId);
    await this.session.run(ASK, { projectKey, model, isChosen: isChosen ? 1 : 0, now: this.context.clock.now() });
    if (isChosen) await this.session.run(CHOOSE, { projectKey });
    const change = (await this.get(projectId))?.change;
    invariant(change, "a change that was asked for has a row");
    return change;
  }

  async progress(project: ProjectId, number: number, done: number, total: number): Promise<boolean> {
    return (await this.session.run(PROGRESS, { project, number, done, total })) > 0;
  }

  async finish(project: ProjectId, number: number, previous: string | null): Promise<void> {
    await this.session.run(FINISH, { project, number, previous, now: this.context.clock.now() });
  }

  async fail(project: ProjectId, number: number, error: string): Promise<void> {
    await this.session.run(FAIL, { project, number, error, now: this.context.clock.now() });
  }

  async cancel(project: ProjectId): Promise<boolean> {
    return (await this.session.run(CANCEL, { project, now: this.context.clock.now() })) > 0;
  }

  async setReranker(projectId: ProjectId, reranker: string | null): Promise<void> {
    const projectKey = await projectKeyOf(this.session, projectId);
    await this.session.run(SET_RERANKER, { projectKey, reranker });
  }

  async forget(project: ProjectId): Promise<boolean> {
    return (await this.session.run(FORGET, { project })) > 0;
  }
}
