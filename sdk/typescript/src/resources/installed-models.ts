// Models of a deployment: built-in ones, and those that an operator adds. All operations need the scope `admin`.

import {
  addInstalledModel,
  calibrateInstalledModel,
  cancelModelCalibration,
  deleteInstalledModel,
  getInstalledModel,
  type InstalledModel,
  listInstalledModels,
  type ModelTest,
  type Project,
  retryInstalledModel,
  setProjectReranker,
  testInstalledModel,
} from "../core/index.ts";
import { List } from "../list.ts";
import type { CallOptions, Transport } from "../transport.ts";
import type { NewInstalledModel } from "../types.ts";

/** The operations on the models of a deployment. */
export class InstalledModels {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Adds a model: from files, which are fetched and checked in the background, or on another server (`remote`). */
  add(model: NewInstalledModel, options?: CallOptions): Promise<InstalledModel> {
    return this.#transport.call((core) => addInstalledModel({ ...core, body: model }), "refused", options);
  }

  /** Lists models: built-in ones, then the others in the order in which they were added. */
  list(
    params: { readonly task?: InstalledModel["task"]; readonly limit?: number } = {},
    options?: CallOptions,
  ): List<InstalledModel> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listInstalledModels({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads a model: whether it can be used, and the progress of its download. */
  get(id: string, options?: CallOptions): Promise<InstalledModel> {
    return this.#transport.call((core) => getInstalledModel({ ...core, path: { id } }), "always", options);
  }

  /** Deletes a model that was added, with its files. No project may use it. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => deleteInstalledModel({ ...core, path: { id } }), options);
  }

  /** Installs a model again after a failure. Its files are fetched and checked in the background. */
  retry(id: string, options?: CallOptions): Promise<InstalledModel> {
    return this.#transport.call((core) => retryInstalledModel({ ...core, path: { id } }), "always", options);
  }

  /** Runs a model, and checks whether its results are right. */
  test(id: string, options?: CallOptions): Promise<ModelTest> {
    return this.#transport.call((core) => testInstalledModel({ ...core, path: { id } }), "always", options);
  }

  /**
   * Fits weights and curves of a model that was added, in the background, so that its scores are probabilities.
   * @param projectId project whose texts are used beside the judged samples
   */
  calibrate(id: string, projectId: string | null = null, options?: CallOptions): Promise<InstalledModel> {
    const body = projectId === null ? {} : { projectId };
    return this.#transport.call((core) => calibrateInstalledModel({ ...core, path: { id }, body }), "always", options);
  }

  /** Cancels a calibration, or forgets why it failed. Curves that were fitted before stay. */
  cancelCalibration(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => cancelModelCalibration({ ...core, path: { id } }), options);
  }

  /** Chooses the reranker of a project; null: the one that belongs to its embedding model. */
  setReranker(projectId: string, model: string | null, options?: CallOptions): Promise<Project> {
    const [path, body] = [{ id: projectId }, { model }];
    return this.#transport.call((core) => setProjectReranker({ ...core, path, body }), "always", options);
  }
}
