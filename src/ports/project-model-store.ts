// Which embedding model each project uses, and the change to another model that was asked for. The index builds and
// swaps the vectors (chunk-index.ts); this store says what is wanted and how far it is. Implemented by stores/, on
// SQLite and on PostgreSQL.
//
// Obligations of an implementation:
// - Each method is one transaction, or part of the transaction that its store belongs to (transactions.ts).
// - A project has at most one change. `ask` gives it a new number, which grows. `progress`, `finish` and `fail` name
//   the number, and do nothing for a change that has ended or was replaced.
// - A removed project has no entry. `eraseProject` erases what is left of it.

import type { ProjectId } from "../domain/ids.ts";

/** Every state of a change. */
export const MODEL_CHANGE_STATES = ["building", "done", "failed", "cancelled"] as const;

/** `building`: asked for, and not ended. `done`: the model is live. */
export type ModelChangeState = (typeof MODEL_CHANGE_STATES)[number];

/** A change of a project's embedding model. */
export interface ModelChange {
  readonly number: number;
  /** Id of the new model. */
  readonly model: string;
  readonly state: ModelChangeState;
  /** Why it failed, as one sentence for a person; null unless it failed. */
  readonly error: string | null;
  readonly chunksDone: number;
  /** Number of chunks that need a vector; null until they were counted. */
  readonly chunksTotal: number | null;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Unix milliseconds; null while it is building. */
  readonly endedAt: number | null;
}

/** The embedding models of a project, by their ids. */
export interface ProjectModel {
  readonly projectId: ProjectId;
  /** Model that searches use; null until a server has opened the project's index. */
  readonly live: string | null;
  /** Model whose vectors are kept for a rollback. */
  readonly previous: string | null;
  /** Whether a person asked for a model, so that an upgrade does not change it. */
  readonly isChosen: boolean;
  /** Id of the reranker that was chosen for the project; null: the one that its embedder names. */
  readonly reranker: string | null;
  /** The last change; null if there was none. */
  readonly change: ModelChange | null;
}

/** Embedding models of all projects. */
export interface ProjectModelStore {
  /** Returns null if the project does not exist, or if nothing is known about its model. */
  get(projectId: ProjectId): Promise<ProjectModel | null>;
  /** All entries, in the order in which their changes began. */
  list(): Promise<readonly ProjectModel[]>;
  /**
   * Stores which model a project's index uses. `previous` counts only if the project had no entry. Does nothing for a
   * project that does not exist.
   */
  observe(projectId: ProjectId, live: string, previous: string | null): Promise<void>;
  /**
   * Asks for a change to this model, in place of an earlier one. If this change is building already, it goes on.
   * @param isChosen whether a person asks, and not an upgrade
   * @throws Fault `project_not_found` if the project does not exist
   */
  ask(projectId: ProjectId, model: string, isChosen: boolean): Promise<ModelChange>;
  /** Stores how far a change is. Returns whether it is still the change that is wanted. */
  progress(projectId: ProjectId, number: number, chunksDone: number, chunksTotal: number): Promise<boolean>;
  /** Ends a change: its model is live, and the vectors of `previous` are kept. */
  finish(projectId: ProjectId, number: number, previous: string | null): Promise<void>;
  /** Ends a change with the reason why it failed. */
  fail(projectId: ProjectId, number: number, error: string): Promise<void>;
  /** Cancels the change that is building. Returns false if there is none. */
  cancel(projectId: ProjectId): Promise<boolean>;
  /**
   * Chooses the reranker of a project; null: the one that its embedder names.
   * @throws Fault `project_not_found` if the project does not exist
   */
  setReranker(projectId: ProjectId, reranker: string | null): Promise<void>;
  /** Gives up the vectors that are kept for a rollback. Returns false if there are none. */
  forget(projectId: ProjectId): Promise<boolean>;
}
