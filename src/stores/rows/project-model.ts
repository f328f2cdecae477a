// Converts rows of the table `project_models`.

import type { ProjectId } from "../../domain/ids.ts";
import type { ModelChangeState, ProjectModel } from "../../ports/project-model-store.ts";

/** The columns of a ProjectModelRow, for SELECT. */
export const PROJECT_MODEL_COLUMNS = `projects.id AS project_id, live, previous, is_chosen, reranker, change_number, model, state, error, chunks_done,
  chunks_total, started_at, ended_at`;

/** A row of `project_models`, with the id of its project. */
export interface ProjectModelRow {
  readonly project_id: string;
  readonly live: string | null;
  readonly previous: string | null;
  readonly is_chosen: bigint;
  readonly reranker: string | null;
  readonly change_number: bigint;
  readonly model: string | null;
  readonly state: string | null;
  readonly error: string | null;
  readonly chunks_done: bigint;
  readonly chunks_total: bigint | null;
  readonly started_at: bigint | null;
  readonly ended_at: bigint | null;
}

/** Converts a row to a ProjectModel. */
export function toProjectModel(row: ProjectModelRow): ProjectModel {
  const { live, previous, model, state } = row;
  return {
    projectId: row.project_id as ProjectId,
    live,
    previous,
    isChosen: row.is_chosen === 1n,
    reranker: row.reranker,
    change:
      model === null || state === null
        ? null
        : {
            number: Number(row.change_number),
            model,
            state: state as ModelChangeState,
            error: row.error,
            chunksDone: Number(row.chunks_done),
            chunksTotal: row.chunks_total === null ? null : Number(row.chunks_total),
            startedAt: Number(row.started_at),
            endedAt: row.ended_at === null ? null : Number(row.ended_at),
          },
  };
}
