// Projects: the key's own, and for keys with the scope `admin` all others.

import {
  type Activity,
  cancelProjectEmbedder,
  changeProjectEmbedder,
  createProject,
  deleteProject,
  forgetPreviousEmbedder,
  getActivity,
  getOwnProject,
  getProject,
  getProjectEmbedder,
  getVectorIndex,
  type ListedProject,
  type LlmTest,
  listProjects,
  type Project,
  type ProjectEmbedder,
  type ProjectWithKey,
  testLanguageModel,
  updateOwnProject,
  updateProject,
  type VectorIndex,
} from "../core/index.ts";
import { List } from "../list.ts";
import type { CallOptions, Transport, WriteOptions } from "../transport.ts";
import type { ActivityParams, NewProject, ProjectChange } from "../types.ts";

/** The project of the key. */
export class OwnProject {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads the project. */
  get(options?: CallOptions): Promise<Project> {
    return this.#transport.call((core) => getOwnProject(core), "always", options);
  }

  /** Changes the settings of the project; null resets a field. */
  update(change: ProjectChange, options?: CallOptions): Promise<Project> {
    return this.#transport.call((core) => updateOwnProject({ ...core, body: change }), "always", options);
  }

  /** What happened in the project, by hour or day; by default the last 24 hours. */
  activity(params: ActivityParams = {}, options?: CallOptions): Promise<Activity> {
    return this.#transport.call((core) => getActivity({ ...core, query: params }), "always", options);
  }

  /**
   * Calls the language model of the project, and each of its fallbacks, with a short question.
   * @param change settings that are tested but not stored; default: the stored ones
   */
  testLlm(change: Pick<ProjectChange, "llm"> = {}, options?: CallOptions): Promise<LlmTest> {
    const body = change.llm == null ? {} : { llm: change.llm };
    return this.#transport.call((core) => testLanguageModel({ ...core, body }), "refused", options);
  }

  /** The embedding model of the project, and the state of its last change. */
  embedder(options?: CallOptions): Promise<ProjectEmbedder> {
    return this.#transport.call((core) => getProjectEmbedder(core), "always", options);
  }

  /** How the vectors of the project are searched, and the progress of the graph that is being built. */
  vectorIndex(options?: CallOptions): Promise<VectorIndex> {
    return this.#transport.call((core) => getVectorIndex(core), "always", options);
  }
}

/** The operations on all projects; they need the scope `admin`. */
export class Projects {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a project with its first key. Only this answer contains the key's secret. */
  create(project: NewProject, options?: WriteOptions): Promise<ProjectWithKey> {
    return this.#transport.call((core) => createProject({ ...core, body: project }), "keyed", options);
  }

  /** Lists projects, newest first. */
  list(params: { readonly limit?: number } = {}, options?: CallOptions): List<ListedProject> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listProjects({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads a project. */
  get(id: string, options?: CallOptions): Promise<Project> {
    return this.#transport.call((core) => getProject({ ...core, path: { id } }), "always", options);
  }

  /** Changes the settings of a project; null resets a field. */
  update(id: string, change: ProjectChange, options?: CallOptions): Promise<Project> {
    return this.#transport.call((core) => updateProject({ ...core, path: { id }, body: change }), "always", options);
  }

  /** Deletes a project with its keys and data. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => deleteProject({ ...core, path: { id } }), options);
  }

  /** The embedding model of a project, and the state of its last change. */
  embedder(id: string, options?: CallOptions): Promise<ProjectEmbedder> {
    const query = { projectId: id };
    return this.#transport.call((core) => getProjectEmbedder({ ...core, query }), "always", options);
  }

  /** How the vectors of a project are searched, and the progress of the graph that is being built. */
  vectorIndex(id: string, options?: CallOptions): Promise<VectorIndex> {
    const query = { projectId: id };
    return this.#transport.call((core) => getVectorIndex({ ...core, query }), "always", options);
  }

  /** Begins to change the embedding model of a project. Searches use the old one until the new vectors are complete. */
  changeEmbedder(id: string, model: string, options?: CallOptions): Promise<ProjectEmbedder> {
    const body = { model };
    return this.#transport.call((core) => changeProjectEmbedder({ ...core, path: { id }, body }), "refused", options);
  }

  /** Cancels the change of the embedding model. */
  cancelEmbedder(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => cancelProjectEmbedder({ ...core, path: { id } }), options);
  }

  /** Removes the vectors of the previous embedding model, which are kept for a rollback. */
  forgetPreviousEmbedder(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => forgetPreviousEmbedder({ ...core, path: { id } }), options);
  }
}
