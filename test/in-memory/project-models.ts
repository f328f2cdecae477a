// ProjectModelStore in memory.

import type { ProjectId } from "../../src/domain/ids.ts";
import type { ModelChange, ProjectModel, ProjectModelStore } from "../../src/ports/project-model-store.ts";
import { existingProject, openProject } from "./projects.ts";
import type { Session, Synchronous } from "./session.ts";

/** ProjectModelStore in memory. */
export class InMemoryProjectModels implements Synchronous<ProjectModelStore> {
  constructor(private readonly session: Session) {}

  get(projectId: ProjectId): ProjectModel | null {
    const row = this.session.tables.models.get(projectId);
    return row === undefined || openProject(this.session, projectId) === null ? null : row;
  }

  list(): readonly ProjectModel[] {
    const rows = this.session.tables.models.rows(({ projectId }) => this.get(projectId) !== null);
    const startOf = ({ change }: ProjectModel) => change?.startedAt ?? -1;
    const keyOf = ({ projectId }: ProjectModel) => Number(this.session.tables.projects.get(projectId)?.key);
    return rows.sort((one, other) => startOf(one) - startOf(other) || keyOf(one) - keyOf(other));
  }

  observe(projectId: ProjectId, live: string, previous: string | null): void {
    if (openProject(this.session, projectId) === null) return;
    const row = this.get(projectId) ?? { projectId, previous, isChosen: false, change: null };
    this.session.tables.models.set(projectId, { ...row, live });
  }

  ask(projectId: ProjectId, model: string, isChosen: boolean): ModelChange {
    existingProject(this.session, projectId);
    const row = this.get(projectId) ?? { projectId, live: null, previous: null, isChosen: false, change: null };
    const building = row.change?.state === "building" && row.change.model === model ? row.change : null;
    const change: ModelChange = building ?? {
      number: (row.change?.number ?? 0) + 1,
      ...{ model, state: "building", error: null, chunksDone: 0, chunksTotal: null },
      ...{ startedAt: this.session.now, endedAt: null },
    };
    this.session.tables.models.set(projectId, { ...row, isChosen: row.isChosen || isChosen, change });
    return change;
  }

  progress(projectId: ProjectId, number: number, chunksDone: number, chunksTotal: number): boolean {
    return this.#change(projectId, { chunksDone, chunksTotal }, number);
  }

  finish(projectId: ProjectId, number: number, previous: string | null): void {
    const change = this.get(projectId)?.change;
    const chunksDone = change?.chunksTotal ?? change?.chunksDone ?? 0;
    const ended = { state: "done", endedAt: this.session.now, chunksDone } as const;
    const isEnded = this.#change(projectId, ended, number);
    const row = this.get(projectId);
    if (!isEnded || row === null || row.change === null) return;
    this.session.tables.models.set(projectId, { ...row, live: row.change.model, previous });
  }

  fail(projectId: ProjectId, number: number, error: string): void {
    this.#change(projectId, { state: "failed", endedAt: this.session.now, error }, number);
  }

  cancel(projectId: ProjectId): boolean {
    return this.#change(projectId, { state: "cancelled", endedAt: this.session.now });
  }

  forget(projectId: ProjectId): boolean {
    const row = this.get(projectId);
    if (row === null || row.previous === null) return false;
    this.session.tables.models.set(projectId, { ...row, previous: null });
    return true;
  }

  /** Changes the change that is building, if it has this number. Returns whether it did. */
  #change(projectId: ProjectId, fields: Partial<ModelChange>, number?: number): boolean {
    const row = this.get(projectId);
    const change = row?.change ?? null;
    if (row === null || change?.state !== "building" || (number ?? change.number) !== change.number) return false;
    this.session.tables.models.set(projectId, { ...row, change: { ...change, ...fields } });
    return true;
  }
}
