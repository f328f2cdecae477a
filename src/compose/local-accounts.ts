// Keys, projects and embedding models of a data directory for the command line, without a server. Works on the SQLite
// file and does not lock the directory: a server may be running at the same time, and sees every change.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ModelCatalogue, readModels } from "../adapters/inference/model-files.ts";
import { checkFuture } from "../api/drafts.ts";
import { embedderView, projectEmbedderView } from "../api/embedders.ts";
import { keyView } from "../api/keys.ts";
import { projectView } from "../api/projects.ts";
import { listView } from "../api/views.ts";
import { Fault } from "../domain/fault.ts";
import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { IssuedKey } from "../domain/key.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Page } from "../domain/page.ts";
import type { Plan, Project } from "../domain/project.ts";
import type { KeyScope, Principal } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import { UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";
import { KeyService, projectFor } from "../services/keys.ts";
import { changeProject, createProject, removeProject } from "../services/projects.ts";
import { openStores, type SqliteStores } from "../stores/sqlite/stores.ts";
import { newWebhookSecret } from "../webhooks/signature.ts";

/** Body of createKey with all optional fields. */
export interface KeyBody {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly userId: string | null;
  /** ISO 8601 time, not validated yet; null if the key does not expire. */
  readonly expires_at: string | null;
}

/**
 * Operations on keys, projects and embedding models, either on a data directory (this file) or through a server
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
  /** The installed embedding models, as a list of the API. */
  listEmbedders(): Promise<object>;
  /** Which embedding model a project uses, and its last change. */
  projectEmbedder(projectId: string): Promise<object>;
  /** Asks for a change of a project's embedding model. */
  changeEmbedder(projectId: string, model: string): Promise<object>;
  cancelEmbedder(projectId: string): Promise<void>;
  /** Gives up the vectors that are kept for a rollback. */
  forgetPreviousEmbedder(projectId: string): Promise<void>;
  close(): void;
}

/** Where the models are, and which one new projects get. */
export interface ModelsPlace {
  readonly directory: string;
  readonly defaultId: string;
}

/**
 * Opens the accounts of a data directory.
 * @throws UsageError if the directory contains no data of Mneme; StoreError if its file cannot be used
 */
export function openLocalAccounts(dataDir: string, clock: Clock, models: ModelsPlace, defaultPlan: Plan): Accounts {
  const path = join(dataDir, "mneme.sqlite");
  if (!existsSync(path)) {
    throw new UsageError(
      `${dataDir} holds no data of Mneme: give the server's data folder with --data-dir or its address with --url, ` +
        "or start a server first.",
    );
  }
  return new LocalAccounts(openStores({ path, clock, newWebhookSecret }), clock, models, defaultPlan);
}

class LocalAccounts implements Accounts {
  readonly #accounts: AccountStore;
  readonly #keys: KeyService;

  constructor(
    private readonly stores: SqliteStores,
    private readonly clock: Clock,
    private readonly models: ModelsPlace,
    private readonly defaultPlan: Plan,
  ) {
    this.#accounts = stores.accounts;
    this.#keys = new KeyService(stores.accounts);
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
    return listView(await everyPage((listing) => this.#accounts.listProjects(listing)), storedProjectView);
  }

  async createProject(body: { readonly name: string; readonly plan?: Plan }): Promise<object> {
    const { project, issued } = await this.#change((tx) => createProject(tx, this.defaultPlan, body));
    return { ...storedProjectView(project), key: issued.secret };
  }

  async changePlan(projectId: string, plan: Plan): Promise<object> {
    const change = (tx: Transaction, admin: Principal) => changeProject(tx, admin, projectId as ProjectId, { plan });
    return storedProjectView(await this.#change(change));
  }

  async removeProject(projectId: string): Promise<void> {
    await this.#change((tx, admin) => removeProject(tx, admin, projectId as ProjectId));
  }

  async listEmbedders(): Promise<object> {
    const items = [...this.#installed()].map(([id, { dimensions, languages }]) => {
      return { id, dimensions, languages, isDefault: id === this.models.defaultId };
    });
    return listView({ items, cursor: null }, embedderView);
  }

  async projectEmbedder(projectId: string): Promise<object> {
    const id = await this.#projectOf(projectId);
    const unknown = { projectId: id, live: null, previous: null, isChosen: false, change: null };
    return projectEmbedderView((await this.stores.projectModels.get(id)) ?? unknown);
  }

  async changeEmbedder(projectId: string, model: string): Promise<object> {
    const ids = [...this.#installed().keys()];
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

  close(): void {
    this.stores.close();
  }

  #installed(): ModelCatalogue["embedders"] {
    return readModels(this.models.directory).embedders;
  }

  /** A person with access to the file may do everything, and acts in the default project unless another is named. */
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

  // Without a project id, the key is searched in all projects.
  async #projectOfKey(projectId: string | null, id: string): Promise<ProjectId> {
    const projects = projectId === null ? await this.#accounts.projects() : [await this.#projectOf(projectId)];
    for (const project of projects) {
      if ((await this.#accounts.key(project, id as KeyId)) !== null) return project;
    }
    throw new Fault("key_not_found", `There is no key '${id}'.`);
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

// Without a server, the model of a project's index is unknown. `min_evidence` is then as stored: null for its default.
function storedProjectView(project: Project): object {
  const { min_evidence } = project.settings;
  return { ...projectView({ ...project, settings: { ...project.settings, min_evidence: 0 } }), min_evidence };
}
