// The models of a deployment: which there are, adding and deleting them, testing them, and the reranker of a project.

import type { Calibration } from "../domain/calibration.ts";
import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import {
  type AddedModel,
  type InstalledModel,
  isModelId,
  type ModelRequest,
  type ModelTask,
  type RemoteModel,
  type RemoteRequest,
} from "../domain/installed-model.ts";
import { decodeCursor, encodeCursor, type Page } from "../domain/page.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import { type CheckedModel, checkModel } from "../models/checks.ts";
import type { InstalledModelStore, NewModel } from "../ports/installed-model-store.ts";
import type { ModelFiles } from "../ports/model-files.ts";
import type { BuiltInModel, FoundModel, RemoteModels } from "../ports/models.ts";
import type { ProjectModelStore } from "../ports/project-model-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";

/** A request for a page of the list. */
export interface ModelListing extends Listing {
  /** Default: all tasks. */
  readonly task?: ModelTask | undefined;
}

/** What the service needs. */
export interface InstalledModelServiceDependencies {
  readonly store: InstalledModelStore;
  readonly projectModels: Pick<ProjectModelStore, "list">;
  readonly builtIn: readonly BuiltInModel[];
  /** Id of the embedder of new projects. */
  readonly defaultId: string;
  readonly files: ModelFiles;
  readonly remote: Pick<RemoteModels, "examine" | "refusal">;
  /** A model that can be used; null if there is none. */
  readonly find: (id: string) => FoundModel | null;
  /** Why a model that was added cannot be used on this node; null if it can. */
  readonly problemOf: (model: AddedModel) => string | null;
  /** Reads the list of models again; called after each change. */
  readonly refresh: () => Eventually<unknown>;
  /** Begins to install what was added. */
  readonly wakeInstaller: () => void;
  /** Begins to calibrate what was asked for. */
  readonly wakeCalibrator: () => void;
  readonly clock: Clock;
}

/** Properties of a new model of files until its files are read. */
const UNKNOWN = {
  ...{ dimensions: null, tokensMax: null, languages: [], licence: null, fingerprint: null, manifestSha256: null },
  isCalibrated: false,
  ...{ remote: null, progress: null, error: null },
} as const;

/** Languages of a remote model for which none are given: those of large multilingual models. */
const REMOTE_LANGUAGES = (
  "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it " +
  "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl no om or pa pl ps pt ro ru sa sd si sk sl so " +
  "sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
).split(" ");

/** Models of a deployment. */
export class InstalledModelService {
  readonly #uses: InstalledModelServiceDependencies;

  constructor(uses: InstalledModelServiceDependencies) {
    this.#uses = uses;
  }

  /**
   * One page: the built-in models, then the others in the order in which they were added.
   * @throws Fault `invalid_cursor`
   */
  async list({ limit, cursor, task }: ModelListing): Promise<Page<InstalledModel>> {
    const all = (await this.#all()).filter((model) => task === undefined || model.task === task);
    const binding = await this.#uses.store.cursorBinding(task ?? null);
    const after = cursor === undefined ? null : decodeCursor(cursor, binding);
    const rest = after === null ? all : all.filter(({ place }) => place > after);
    const shown = rest.slice(0, limit);
    const last = shown.at(-1);
    const isLast = rest.length === shown.length || last === undefined;
    return { items: shown, cursor: isLast ? null : encodeCursor(last.place, binding) };
  }

  /** @throws Fault `model_not_found` */
  async get(id: string): Promise<InstalledModel> {
    const found = (await this.#all()).find((model) => model.id === id);
    if (found === undefined) throw unknownModel(id);
    return found;
  }

  /** Refuses what cannot be added, before anything is stored. @throws Fault `invalid_request`, `invalid_state` */
  async check({ source, sha256, id }: ModelRequest): Promise<string> {
    if (sha256 != null && !/^[0-9a-f]{64}$/i.test(sha256)) {
      throw new Fault("invalid_request", "'sha256' must have 64 hexadecimal digits.", { param: "sha256" });
    }
    await this.#uses.files.check(source);
    return this.idOf(id ?? this.#uses.files.idFor(source));
  }

  /** Checks the id of a model to add. @throws Fault `invalid_request`, `invalid_state` if a built-in model has it */
  idOf(id: string): string {
    if (!isModelId(id)) {
      const message =
        "'id' must begin with a lower-case letter or digit and have only those, '-' and '.'; at most 100.";
      throw new Fault("invalid_request", message, { param: "id" });
    }
    if (!this.#uses.builtIn.some((model) => model.id === id)) return id;
    throw new Fault("invalid_state", `The id ${id} is that of a built-in model. Choose another id.`, { param: "id" });
  }

  /** Adds a model of files, which are fetched in the background. @throws Fault `invalid_state` if the id is in use */
  async add(tx: Transaction, { source, sha256 }: ModelRequest, id: string): Promise<void> {
    const model: NewModel = {
      ...UNKNOWN,
      ...{ id, task: "embed", kind: "installed", source, sha256: sha256?.toLowerCase() ?? null, status: "downloading" },
    };
    await tx.installedModels.add(model);
    tx.afterCommit(this.#uses.wakeInstaller);
  }

  /**
   * Installs a model again after a failure: its files are fetched and checked in the background.
   * @throws Fault `model_not_found`; `invalid_state` if the model has no installation that failed
   */
  async retry(tx: Transaction, id: string): Promise<void> {
    const model = await tx.installedModels.get(id);
    if (model === null && !this.#uses.builtIn.some((one) => one.id === id)) throw unknownModel(id);
    if (model?.kind !== "installed" || model.status !== "failed") {
      const isTried = model?.kind === "remote" && model.status === "failed";
      const why = isTried ? "its server is tried again by itself." : "its installation has not failed.";
      throw new Fault("invalid_state", `The model ${id} cannot be installed again: ${why}`);
    }
    await tx.installedModels.change(id, { status: "downloading", progress: null, error: null });
    tx.afterCommit(this.#uses.wakeInstaller);
  }

  /**
   * Calls a remote model to find out its properties, and returns it with these. If it cannot be reached, its status is
   * `failed`; it is tried again in the background.
   * @throws Fault `invalid_request`, `invalid_state` if its id is in use
   */
  async examine({ remote: asked, id: chosen }: RemoteRequest): Promise<NewModel> {
    const { task, api_key = null, languages, prefixes, tokens_max, says_purpose, ...address } = asked;
    const uses = this.#uses.remote;
    const refusal = uses.refusal(asked, task);
    if (refusal !== null) throw new Fault("invalid_request", refusal, { param: "remote.api" });
    if (!URL.canParse(address.base_url) || !/^https?:$/.test(new URL(address.base_url).protocol)) {
      const message = "'remote.base_url' must be an http or https address.";
      throw new Fault("invalid_request", message, { param: "remote.base_url" });
    }
    const id = this.idOf(chosen ?? idOfName(address.model));
    if ((await this.#uses.store.get(id)) !== null) {
      throw new Fault("invalid_state", `There is a model ${id} already. Delete it, or choose another id.`, {
        param: "id",
      });
    }
    const remote: RemoteModel = {
      ...{ ...address, api_key },
      ...(prefixes != null && { prefixes: { query: prefixes.query ?? "", passage: prefixes.passage ?? "" } }),
      ...(tokens_max != null && { tokens_max }),
      ...(says_purpose === true && { says_purpose }),
    };
    const model: NewModel = {
      ...UNKNOWN,
      ...{ id, task, kind: "remote", source: null, sha256: null, remote, status: "ready" },
      languages: languages ?? REMOTE_LANGUAGES,
    };
    try {
      const { probes, ...found } = await uses.examine(id, remote, task);
      return { ...model, ...found, remote: { ...remote, ...(probes !== null && { probes }) } };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { ...model, status: "failed", error: error.message };
    }
  }

  /** Adds a remote model. @throws Fault `invalid_state` if the id is in use */
  async addRemote(tx: Transaction, model: NewModel): Promise<void> {
    await tx.installedModels.add(model);
    tx.afterCommit(async () => void (await this.#uses.refresh()));
  }

  /**
   * Deletes a model that was added, with its files.
   * @throws Fault `model_not_found`; `invalid_state` if it is built in, is that of new projects, or a project uses it
   */
  async remove(tx: Transaction, id: string): Promise<void> {
    const { builtIn, defaultId, files, refresh } = this.#uses;
    if (builtIn.some((model) => model.id === id)) {
      throw new Fault("invalid_state", `The model ${id} ships with the program and cannot be deleted.`);
    }
    if (id === defaultId) {
      throw new Fault("invalid_state", `The model ${id} is that of new projects (setting embedder), so it is needed.`);
    }
    const model = await tx.installedModels.get(id);
    if (model === null) throw unknownModel(id);
    const users = usersOf(await tx.projectModels.list()).get(id) ?? [];
    if (users.length > 0) {
      const which = users.slice(0, 3).join(", ") + (users.length > 3 ? ` and ${users.length - 3} others` : "");
      const hint = "Change their model, and give up vectors that are kept for a rollback (mneme models forget).";
      throw new Fault("invalid_state", `The model ${id} is used by ${which}. ${hint}`);
    }
    await tx.installedModels.remove(id);
    tx.afterCommit(async () => {
      await refresh();
      if (model.source !== null) await files.remove({ id, source: model.source });
    });
  }

  /** Runs a model, and checks whether its results are right. @throws Fault `model_not_found`, `invalid_state` */
  async test(id: string): Promise<CheckedModel> {
    const { find, clock } = this.#uses;
    const { status, error } = await this.get(id);
    const found = find(id);
    if (found !== null && status === "ready") return checkModel(found, clock);
    throw new Fault("invalid_state", `The model ${id} cannot be tested: ${error ?? `its status is ${status}.`}`);
  }

  /**
   * Asks for a calibration of a model that was added, which runs in the background.
   * @param projectId project whose texts are stored beside the judged samples; null: none
   * @throws Fault `model_not_found`, `project_not_found`; `invalid_state` if the model is built in or not ready
   */
  async calibrate(tx: Transaction, id: string, projectId: ProjectId | null): Promise<void> {
    const shipped = this.#uses.builtIn.find((model) => model.id === id);
    if (shipped !== undefined) {
      const what = `The model ${id} ships with the program`;
      const instead = "Calibrate the embedding model that you added, after its projects have chosen the reranker.";
      const sentence = shipped.task === "rerank" ? `${what}. ${instead}` : `${what}, and so do its curves.`;
      throw new Fault("invalid_state", sentence);
    }
    const model = await tx.installedModels.get(id);
    if (model === null) throw unknownModel(id);
    if (model.status !== "ready") {
      throw new Fault("invalid_state", `The model ${id} cannot be calibrated: its status is ${model.status}.`);
    }
    if (projectId !== null && (await tx.accounts.project(projectId)) === null) {
      throw new Fault("project_not_found", `There is no project '${projectId}'.`, { param: "projectId" });
    }
    await tx.installedModels.askCalibration(id, projectId);
    tx.afterCommit(this.#uses.wakeCalibrator);
  }

  /**
   * Cancels the calibration of a model, or forgets why it failed. Curves that were fitted before stay.
   * @throws Fault `model_not_found`; `invalid_state` if there is none
   */
  async cancelCalibration(tx: Transaction, id: string): Promise<void> {
    if ((await tx.installedModels.get(id)) === null) {
      if (!this.#uses.builtIn.some((model) => model.id === id)) throw unknownModel(id);
    } else if (await tx.installedModels.cancelCalibration(id)) return;
    throw new Fault("invalid_state", `No calibration of the model ${id} is running, and none has failed.`);
  }

  /**
   * Chooses the reranker of a project; null: the one that belongs to its embedder.
   * @throws Fault `project_not_found`; `model_not_found` if there is no such reranker
   */
  async setReranker(tx: Transaction, projectId: ProjectId, id: string | null): Promise<void> {
    if (id !== null) {
      const rerankers = (await this.#all()).filter(({ task, status }) => task === "rerank" && status === "ready");
      if (!rerankers.some((model) => model.id === id)) {
        const known = rerankers.map((model) => model.id).join(", ");
        throw new Fault("model_not_found", `There is no reranker '${id.slice(0, 100)}'; there are: ${known}.`, {
          param: "model",
        });
      }
    }
    await tx.projectModels.setReranker(projectId, id);
    tx.afterCommit(async () => void (await this.#uses.refresh()));
  }

  async #all(): Promise<readonly (InstalledModel & { readonly place: bigint })[]> {
    const { store, projectModels, builtIn, problemOf } = this.#uses;
    const users = usersOf(await projectModels.list());
    const usedBy = (id: string) => users.get(id) ?? [];
    const own = builtIn.map((model, at) => {
      return { ...builtInModel(model, usedBy(model.id)), place: BigInt(at) };
    });
    const added = (await store.list()).map((model) => {
      const shown = addedModel(model, usedBy(model.id), problemOf(model));
      return { ...shown, place: BigInt(builtIn.length) + model.key };
    });
    return [...own, ...added];
  }
}

/** A built-in model as the API shows it. */
export function builtInModel(model: BuiltInModel, usedBy: readonly string[]): InstalledModel {
  return {
    ...model,
    ...{ kind: "built_in", source: null, remote: null, status: "ready", progress: null, error: null },
    ...{ calibration: "shipped", calibrationJob: null, usedBy, createdAt: null },
  };
}

/** A model that was added, as the API shows it. @param problem why it cannot be used on this node; null: it can */
export function addedModel(model: AddedModel, usedBy: readonly string[], problem: string | null): InstalledModel {
  const { tunings, isCalibrated, key: _, fingerprint: __, manifestSha256: ___, sha256: ____, ...shown } = model;
  const calibration: Calibration = Object.keys(tunings).length > 0 ? "fitted" : isCalibrated ? "shipped" : "none";
  const state = problem === null ? {} : ({ status: "failed", error: problem } as const);
  return { ...shown, ...state, calibration, usedBy };
}

/** Ids of the projects that use each model, or keep vectors of it. */
export function usersOf(
  projects: Awaited<ReturnType<ProjectModelStore["list"]>>,
): ReadonlyMap<string, readonly ProjectId[]> {
  const users = new Map<string, ProjectId[]>();
  for (const { projectId, live, previous, reranker, change } of projects) {
    const building = change?.state === "building" ? change.model : null;
    for (const id of new Set([live, previous, reranker, building])) {
      if (id === null) continue;
      const known = users.get(id);
      if (known === undefined) users.set(id, [projectId]);
      else known.push(projectId);
    }
  }
  return users;
}

function unknownModel(id: string): Fault {
  return new Fault("model_not_found", `There is no model '${id.slice(0, 100)}'.`, { param: "id" });
}

/** An id for a model with this name, such as `baai-bge-m3` for `BAAI/bge-m3`. */
function idOfName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "")
    .slice(0, 100);
}
