// Implements the accounts of `mneme keys`, `mneme projects` and `mneme models` on a data directory. It changes the
// SQLite file without locking the directory: a server may be running at the same time, and sees every change.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { localMonthlyTokens, MonthlyTokens } from "../account/monthly-tokens.ts";
import { downloadedModels } from "../adapters/downloads/optional-models.ts";
import { readAddedModel, toBuiltIn } from "../adapters/inference/local-models.ts";
import { readModels } from "../adapters/inference/model-files.ts";
import { createModelFiles } from "../adapters/installation/model-folder.ts";
import { isFetched } from "../adapters/installation/sources.ts";
import { createAddressGuard } from "../adapters/outbound/guard.ts";
import { createRemoteModels } from "../adapters/remote-models/remote-models.ts";
import { checkFuture } from "../api/drafts.ts";
import { projectEmbedderView } from "../api/embedders.ts";
import { installedModelView } from "../api/installed-models.ts";
import { keyView } from "../api/keys.ts";
import { llmTestView } from "../api/language-models.ts";
import { projectUseView, projectView } from "../api/projects.ts";
import { listView } from "../api/views.ts";
import type { Config } from "../config.ts";
import { Fault } from "../domain/fault.ts";
import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { DownloadProgress, ModelRequest, RemoteRequest } from "../domain/installed-model.ts";
import type { IssuedKey } from "../domain/key.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Page } from "../domain/page.ts";
import type { Plan, Project, ProjectUse } from "../domain/project.ts";
import type { KeyScope, Principal } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { errorMessage } from "../kit/error-message.ts";
import type { Eventually } from "../kit/eventually.ts";
import { UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import { randomFraction } from "../kit/random-fraction.ts";
import { isRecord } from "../kit/record.ts";
import { Metrics } from "../metrics.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { ModelFiles } from "../ports/model-files.ts";
import type { RemoteModels } from "../ports/models.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";
import { InstalledModelService } from "../services/installed-models.ts";
import { KeyService, projectFor, unknownProject } from "../services/keys.ts";
import { LanguageModelService } from "../services/language-models.ts";
import { changeProject, createProject, removeProject } from "../services/projects.ts";
import { openStores, type SqliteStores } from "../stores/sqlite/stores.ts";
import { newWebhookSecret } from "../webhooks/signature.ts";
import { askServer } from "./control-socket.ts";
import { connectLanguageModel, operatorLlm } from "./language-model.ts";
import type { LocalModelWork } from "./local-model-work.ts";

/** Body of createKey with all optional fields. */
export interface KeyBody {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly userId: string | null;
  /** ISO 8601 time, not validated yet; null if the key does not expire. */
  readonly expires_at: string | null;
}

/**
 * Operations on keys, projects and models, either on a data directory (this file) or through a server
 * (cli/remote-accounts.ts). Results are JSON objects of the API. If `projectId` is null, the caller's own project is
 * meant; in this file, that is the default project. Methods reject with an Error whose message is one sentence for the
 * person at the terminal.
 */
export interface Accounts {
  /** All keys, as one list of the API. */
  listKeys(projectId: string | null): Promise<object>;
  createKey(projectId: string | null, body: KeyBody): Promise<object>;
  rotateKey(projectId: string | null, id: string, graceSeconds: number): Promise<object>;
  removeKey(projectId: string | null, id: string): Promise<void>;
  /** All projects, as one list of the API. */
  listProjects(): Promise<object>;
  /** Creates a project; returns it with its first key. */
  createProject(body: { readonly name: string; readonly plan?: Plan }): Promise<object>;
  changePlan(projectId: string, plan: Plan): Promise<object>;
  removeProject(projectId: string): Promise<void>;
  /** All models, as one list of the API. */
  listModels(): Promise<object>;
  /** Adds a model of files, and waits until it can be used. */
  addModel(request: ModelRequest, onProgress: (progress: DownloadProgress) => void): Promise<object>;
  /** Adds a model that another server computes. Its status is `failed` if that server does not answer. */
  connectModel(request: RemoteRequest): Promise<object>;
  removeModel(id: string): Promise<void>;
  /** Runs a model, and returns the checks of its results. */
  testModel(id: string): Promise<object>;
  /** Asks for a calibration of a model. @param projectId project whose texts are stored with the samples; null: none */
  calibrateModel(id: string, projectId: string | null): Promise<object>;
  cancelCalibration(id: string): Promise<void>;
  /** One model. */
  getModel(id: string): Promise<object>;
  /** Chooses the reranker of a project; null: the one that belongs to its embedding model. */
  setReranker(projectId: string, model: string | null): Promise<object>;
  /** Which embedding model a project uses, and its last change. */
  projectEmbedder(projectId: string): Promise<object>;
  /** Asks for a change of a project's embedding model. */
  changeEmbedder(projectId: string, model: string): Promise<object>;
  cancelEmbedder(projectId: string): Promise<void>;
  /** Gives up the vectors that are kept for a rollback. */
  forgetPreviousEmbedder(projectId: string): Promise<void>;
  /** Calls the language model of a project, and its fallbacks. The project `null` is the caller's own. */
  testLanguageModel(projectId: string | null): Promise<object>;
  close(): void;
}

/**
 * Opens the accounts of a data directory.
 * @throws UsageError if the directory contains no data of Mneme; StoreError if its file cannot be used
 */
export function openLocalAccounts(config: Config, clock: Clock): Accounts {
  const { dataDir } = config;
  const path = join(dataDir, "mneme.sqlite");
  if (!existsSync(path)) {
    throw new UsageError(
      `${dataDir} holds no data of Mneme: give the server's data folder with --data-dir or its address with --url, ` +
        "or start a server first.",
    );
  }
  return new LocalAccounts(openStores({ path, clock, newWebhookSecret }), config, clock);
}

class LocalAccounts implements Accounts {
  readonly #accounts: AccountStore;
  readonly #keys: KeyService;
  readonly #files: ModelFiles;
  readonly #models: InstalledModelService;

  constructor(
    private readonly stores: SqliteStores,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {
    this.#accounts = stores.accounts;
    this.#keys = new KeyService(stores.accounts);
    this.#files = createModelFiles({
      installedDir: downloadedModels(config.dataDir),
      sourceDirs: null,
      hub: config.modelHub,
    });
    this.#models = this.#modelService();
  }

  async listKeys(projectId: string | null): Promise<object> {
    const admin = await this.#admin();
    const keys = await everyPage((listing) => this.#keys.list(admin, projectId as ProjectId | null, listing));
    return listView(keys, keyView);
  }

  async createKey(projectId: string | null, { name, scopes, userId, expires_at }: KeyBody): Promise<object> {
    const expiresAt = expires_at === null ? null : checkFuture(expires_at, this.clock.now(), "expires_at");
    const draft = { name, scopes, userId, expiresAt };
    return issuedView(await this.#change((tx, admin) => this.#keys.create(tx, admin, projectId as ProjectId, draft)));
  }

  async rotateKey(projectId: string | null, id: string, graceSeconds: number): Promise<object> {
    const project = await this.#projectOfKey(projectId, id);
    const graceMs = graceSeconds * 1000;
    return issuedView(await this.#change((tx, admin) => this.#keys.rotate(tx, admin, project, id as KeyId, graceMs)));
  }

  async removeKey(projectId: string | null, id: string): Promise<void> {
    const project = await this.#projectOfKey(projectId, id);
    await this.#change((tx, admin) => this.#keys.remove(tx, admin, project, id as KeyId));
  }

  async listProjects(): Promise<object> {
    const { items } = await everyPage((listing) => this.#accounts.listProjects(listing));
    const view = async (project: Project & ProjectUse) => {
      return { ...(await this.#projectView(project)), ...projectUseView(project) };
    };
    const views = await Promise.all(items.map(view));
    return listView({ items: views, cursor: null }, (view) => view);
  }

  async createProject(body: { readonly name: string; readonly plan?: Plan }): Promise<object> {
    const { project, issued } = await this.#change((tx) => createProject(tx, this.config.defaultPlan, body));
    return { ...(await this.#projectView(project)), key: issued.secret };
  }

  async changePlan(projectId: string, plan: Plan): Promise<object> {
    const change = (tx: Transaction, admin: Principal) => changeProject(tx, admin, projectId as ProjectId, { plan });
    return this.#projectView(await this.#change(change));
  }

  async removeProject(projectId: string): Promise<void> {
    await this.#change((tx, admin) => removeProject(tx, admin, projectId as ProjectId));
  }

  async listModels(): Promise<object> {
    return listView(await everyPage((listing) => this.#models.list(listing)), installedModelView);
  }

  async addModel(request: ModelRequest, onProgress: (progress: DownloadProgress) => void): Promise<object> {
    const id = this.#models.idOf(request.id ?? this.#files.idFor(request.source));
    const source = isFetched(request.source) ? request.source : resolve(request.source);
    const origin = { id, source, sha256: request.sha256 ?? null, manifest: request.manifest ?? {} };
    await (await import("./local-model-work.ts")).addLocalModel(this.#modelWork(), origin, onProgress);
    return installedModelView(await this.#models.get(id));
  }

  async connectModel(request: RemoteRequest): Promise<object> {
    const model = await this.#models.examine(request);
    await this.#change((tx) => this.#models.addRemote(tx, model));
    return this.getModel(model.id);
  }

  async removeModel(id: string): Promise<void> {
    if (id === (await defaultOfServer(this.config.dataDir))) {
      const cure = "Restart it with another one (MNEME_EMBEDDER), and delete the model then.";
      throw new Fault("invalid_state", `The running server gives the model ${id} to new projects. ${cure}`);
    }
    await this.#change((tx) => this.#models.remove(tx, id));
  }

  async testModel(id: string): Promise<object> {
    return (await import("./local-model-work.ts")).testLocalModel(this.#modelWork(), await this.#models.get(id));
  }

  async calibrateModel(id: string, projectId: string | null): Promise<object> {
    const project = projectId === null ? null : await this.#projectOf(projectId);
    await this.#change((tx) => this.#models.calibrate(tx, id, project));
    return this.getModel(id);
  }

  async cancelCalibration(id: string): Promise<void> {
    await this.#change((tx) => this.#models.cancelCalibration(tx, id));
  }

  async getModel(id: string): Promise<object> {
    return installedModelView(await this.#models.get(id));
  }

  async setReranker(projectId: string, model: string | null): Promise<object> {
    const id = await this.#projectOf(projectId);
    await this.#change((tx) => this.#models.setReranker(tx, id, model));
    const project = await this.#accounts.project(id);
    if (project === null) throw unknownProject(id);
    return this.#projectView(project);
  }

  async projectEmbedder(projectId: string): Promise<object> {
    const id = await this.#projectOf(projectId);
    const unknown = { projectId: id, live: null, previous: null, isChosen: false, reranker: null, change: null };
    return projectEmbedderView((await this.stores.projectModels.get(id)) ?? unknown);
  }

  async changeEmbedder(projectId: string, model: string): Promise<object> {
    const { items } = await everyPage((listing) => this.#models.list({ ...listing, task: "embed" }));
    const ids = items.filter(({ status }) => status === "ready").map(({ id }) => id);
    if (!ids.includes(model)) {
      throw new UsageError(
        `There is no embedding model ${JSON.stringify(model)}; installed: ${ids.join(", ")}.${didYouMean(model, ids)}`,
      );
    }
    await this.stores.projectModels.ask(await this.#projectOf(projectId), model, true);
    return this.projectEmbedder(projectId);
  }

  async cancelEmbedder(projectId: string): Promise<void> {
    await this.stores.projectModels.cancel(await this.#projectOf(projectId));
  }

  async forgetPreviousEmbedder(projectId: string): Promise<void> {
    await this.stores.projectModels.forget(await this.#projectOf(projectId));
  }

  async testLanguageModel(projectId: string | null): Promise<object> {
    const { config, clock } = this;
    const models = new LanguageModelService({
      accounts: this.#accounts,
      model: connectLanguageModel(config, new Metrics(), clock),
      operator: operatorLlm(config),
      monthlyTokens: new MonthlyTokens(localMonthlyTokens(this.#accounts), clock),
      guard: createAddressGuard({ allow: config.webhookAllow }),
    });
    const { signal } = new AbortController();
    return llmTestView(await models.test(await this.#admin(), projectId as ProjectId | null, null, signal));
  }

  close(): void {
    this.stores.close();
  }

  #modelService(): InstalledModelService {
    const { installedModels: store, projectModels } = this.stores;
    const { embedders, rerankers, readers } = readModels(this.config.modelsDir);
    const nothing = () => undefined;
    return new InstalledModelService({
      ...{ store, projectModels, files: this.#files, clock: this.clock },
      remote: this.#remoteModels(),
      builtIn: [...embedders.values(), ...rerankers.values(), ...readers.values()].map(toBuiltIn),
      defaultId: this.config.embedder,
      find: () => null,
      problemOf: (model) => {
        try {
          if (model.kind === "installed" && model.status === "ready")
            readAddedModel(downloadedModels(this.config.dataDir), model);
          return null;
        } catch (error) {
          return errorMessage(error);
        }
      },
      ...{ refresh: nothing, wakeInstaller: nothing, wakeCalibrator: nothing },
    });
  }

  #modelWork(): LocalModelWork {
    const remote = this.#remoteModels();
    return { config: this.config, store: this.stores.installedModels, files: this.#files, remote, clock: this.clock };
  }

  #remoteModels(): RemoteModels {
    return createRemoteModels({ clock: this.clock, metrics: new Metrics(), random: randomFraction });
  }

  // Without a server, the model of a project's index is unknown. So `min_evidence` is shown as it is stored: null
  // stands for the default of the model.
  async #projectView(project: Project): Promise<object> {
    const { min_evidence } = project.settings;
    const reranker = (await this.stores.projectModels.get(project.id))?.reranker ?? null;
    const settings = { ...project.settings, min_evidence: 0 };
    return { ...projectView({ ...project, settings, reranker }), min_evidence };
  }

  /**
   * The person at the terminal. Whoever can change the file may do everything; the default project counts as theirs.
   */
  async #admin(): Promise<Principal> {
    const projectId = await this.#accounts.defaultProject();
    return { projectId, userId: null, keyId: "key_local" as KeyId, scopes: ["admin"] };
  }

  async #change<Result>(change: (tx: Transaction, admin: Principal) => Promise<Result>): Promise<Result> {
    const admin = await this.#admin();
    return this.stores.transactions.run((tx) => change(tx, admin));
  }

  async #projectOf(projectId: string | null): Promise<ProjectId> {
    return projectFor(this.#accounts, await this.#admin(), projectId as ProjectId | null);
  }

  // Without a project id, all projects are searched for the key.
  async #projectOfKey(projectId: string | null, id: string): Promise<ProjectId> {
    const projects = projectId === null ? await this.#accounts.projects() : [await this.#projectOf(projectId)];
    for (const project of projects) {
      if ((await this.#accounts.key(project, id as KeyId)) !== null) return project;
    }
    throw new Fault("key_not_found", `There is no key '${id}'.`);
  }
}

/** Embedder of new projects of the server that runs on a data directory; null if none runs, or it is an older one. */
async function defaultOfServer(dataDir: string): Promise<unknown> {
  const response = await askServer(dataDir, "/default-embedder");
  if (response?.ok !== true) return null;
  try {
    const answer: unknown = await response.json();
    return isRecord(answer) ? answer.id : null;
  } catch {
    return null; // the server stopped while it answered
  }
}

async function everyPage<Item>(list: (listing: Listing) => Eventually<Page<Item>>): Promise<Page<Item>> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<Item> = await list({ limit: LIMITS.pageItems, ...(cursor === null ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== null);
  return { items, cursor: null };
}

function issuedView({ key, secret }: IssuedKey): object {
  return { ...keyView(key), key: secret };
}
