// How does a command reach the accounts of a data directory without a server? The operations on keys and projects as the
// interface has them, on the file itself. It holds no lock on the directory: a server may be running, and sees every change.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { SqliteAccountStore } from "./adapters/embedded/sqlite/account-store.ts";
import { openDatabase, type SqliteDatabase } from "./adapters/embedded/sqlite/database.ts";
import { checkFuture } from "./api/drafts.ts";
import { keyView, listView, projectView } from "./api/views.ts";
import { Fault } from "./domain/fault.ts";
import type { KeyId, ProjectId } from "./domain/ids.ts";
import { FIRST_KEY } from "./domain/key.ts";
import { LIMITS } from "./domain/limits.ts";
import type { Page } from "./domain/page.ts";
import { DEFAULT_SETTINGS, type Plan } from "./domain/project.ts";
import type { KeyScope } from "./domain/scope.ts";
import type { Clock } from "./kit/clock.ts";
import { UsageError } from "./kit/flags.ts";
import type { AccountStore } from "./ports/account-store.ts";
import type { Listing } from "./ports/user-store.ts";

/** Body of createKey, without what may be left out. */
export interface KeyBody {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly userId: string | null;
  /** ISO 8601, not looked into yet. */
  readonly expires_at: string | null;
}

/**
 * What commands do with accounts, on a data directory (here) or through a server. What is returned are the interface's JSON
 * objects. A `projectId` of null is the caller's own project: the default one here. All reject with an Error whose message is
 * one sentence for the person at the terminal.
 */
export interface Accounts {
  /** All keys, as one list of the interface. */
  listKeys(projectId: string | null): Promise<object>;
  createKey(projectId: string | null, body: KeyBody): Promise<object>;
  rotateKey(projectId: string | null, id: string, graceSeconds: number): Promise<object>;
  removeKey(projectId: string | null, id: string): Promise<void>;
  /** All projects, as one list of the interface. */
  listProjects(): Promise<object>;
  /** The project, with its first key. */
  createProject(body: { readonly name: string; readonly plan: Plan }): Promise<object>;
  changePlan(projectId: string, plan: Plan): Promise<object>;
  removeProject(projectId: string): Promise<void>;
  close(): void;
}

/**
 * Opens the accounts of a data directory.
 * @throws UsageError when nothing was ever stored there; StoreError when its file cannot be used.
 */
export function openLocalAccounts(dataDir: string, clock: Clock): Accounts {
  const path = join(dataDir, "mneme.sqlite");
  if (!existsSync(path)) {
    throw new UsageError(
      `${dataDir} holds no data of Mneme: name the server's with --data-dir, or a server with --url, or start one first.`,
    );
  }
  return new LocalAccounts(openDatabase(path), clock);
}

class LocalAccounts implements Accounts {
  readonly #store: AccountStore;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
  ) {
    this.#store = new SqliteAccountStore({ database, clock });
  }

  async listKeys(projectId: string | null): Promise<object> {
    const project = this.#projectOf(projectId);
    return listView(
      everything((listing) => this.#store.listKeys(project, listing)),
      keyView,
    );
  }

  async createKey(projectId: string | null, { name, scopes, userId, expires_at }: KeyBody): Promise<object> {
    const expiresAt = expires_at === null ? null : checkFuture(expires_at, this.clock.now(), "expires_at");
    const draft = { name, scopes, userId, expiresAt };
    const { key, secret } = this.#store.issueKey(this.#projectOf(projectId), draft);
    return { ...keyView(key), key: secret };
  }

  async rotateKey(projectId: string | null, id: string, graceSeconds: number): Promise<object> {
    const rotated = this.#store.rotateKey(this.#holderOf(projectId, id), id as KeyId, graceSeconds * 1000);
    if (rotated === null) throw keyNotFound(id);
    return { ...keyView(rotated.key), key: rotated.secret };
  }

  async removeKey(projectId: string | null, id: string): Promise<void> {
    if (!this.#store.removeKey(this.#holderOf(projectId, id), id as KeyId)) throw keyNotFound(id);
  }

  async listProjects(): Promise<object> {
    return listView(
      everything((listing) => this.#store.listProjects(listing)),
      projectView,
    );
  }

  async createProject(body: { readonly name: string; readonly plan: Plan }): Promise<object> {
    return this.database.atomically(() => {
      const project = this.#store.createProject({ ...body, settings: DEFAULT_SETTINGS });
      return { ...projectView(project), key: this.#store.issueKey(project.id, FIRST_KEY).secret };
    });
  }

  async changePlan(projectId: string, plan: Plan): Promise<object> {
    const changed = this.#store.changeProject(projectId as ProjectId, { plan });
    if (changed === null) throw projectNotFound(projectId);
    return projectView(changed);
  }

  async removeProject(projectId: string): Promise<void> {
    if (!this.#store.removeProject(projectId as ProjectId)) throw projectNotFound(projectId);
  }

  close(): void {
    this.database.close();
  }

  #projectOf(projectId: string | null): ProjectId {
    if (projectId === null) return this.#store.defaultProject();
    const project = this.#store.project(projectId as ProjectId);
    if (project === null) throw projectNotFound(projectId);
    return project.id;
  }

  // Who works on the file may work on every project, and a key's id says which it is.
  #holderOf(projectId: string | null, id: string): ProjectId {
    const projects = projectId === null ? this.#store.projects() : [this.#projectOf(projectId)];
    const holder = projects.find((project) => this.#store.key(project, id as KeyId) !== null);
    if (holder === undefined) throw keyNotFound(id);
    return holder;
  }
}

function everything<Item>(list: (listing: Listing) => Page<Item>): Page<Item> {
  const items: Item[] = [];
  let page: Page<Item> | null = null;
  do {
    const cursor: string | null = page?.cursor ?? null;
    page = list({ limit: LIMITS.pageItems, ...(cursor === null ? {} : { cursor }) });
    items.push(...page.items);
  } while (page.cursor !== null);
  return { items, cursor: null };
}

function keyNotFound(id: string): Fault {
  return new Fault("key_not_found", `There is no key ${id}.`);
}

function projectNotFound(id: string): Fault {
  return new Fault("project_not_found", `There is no project ${id}.`);
}
