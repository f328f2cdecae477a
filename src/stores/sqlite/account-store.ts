// AccountStore on SQLite: projects, API keys and usage. Each part is in a file of its own: project-rows.ts,
// key-rows.ts, usage-rows.ts.

import type { ChunkIds } from "../../domain/chunk-ids.ts";
import type { KeyId, ProjectId } from "../../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../../domain/key.ts";
import type { Page } from "../../domain/page.ts";
import type { Plan, Project, ProjectChange, ProjectSettings, Usage } from "../../domain/project.ts";
import type { Principal } from "../../domain/scope.ts";
import type { Clock } from "../../kit/clock.ts";
import type { AccountStore } from "../../ports/account-store.ts";
import type { Listing } from "../../ports/user-store.ts";
import type { KeyLastUses } from "../rows/key.ts";
import { type RandomBytes, systemRandom } from "../rows/random.ts";
import type { SqliteDatabase } from "./database.ts";
import { KeyRows } from "./key-rows.ts";
import { ProjectRows } from "./project-rows.ts";
import { UsageRows } from "./usage-rows.ts";

/** AccountStore on SQLite. */
export class SqliteAccountStore implements AccountStore {
  readonly #database: SqliteDatabase;
  readonly #projects: ProjectRows;
  readonly #keys: KeyRows;
  readonly #usage: UsageRows;

  constructor(options: {
    readonly database: SqliteDatabase;
    readonly clock: Clock;
    readonly random?: RandomBytes;
    /** Records which memories of a project have expired, before usage is read. Default: does nothing. */
    readonly expire?: (projectId: ProjectId) => void;
    /** Shared by both connections: the reading one authenticates, the writing one stores the times of last use. */
    readonly lastUses?: KeyLastUses;
  }) {
    const { database, clock, random = systemRandom, expire = () => {}, lastUses = new Map() } = options;
    this.#database = database;
    this.#projects = new ProjectRows(database, clock, random);
    this.#keys = new KeyRows(database, clock, random, lastUses);
    this.#usage = new UsageRows(database, clock, expire);
  }

  defaultProject(): ProjectId {
    return this.#projects.defaultProject();
  }

  projects(): readonly ProjectId[] {
    return this.#projects.all();
  }

  createProject(draft: { readonly name: string; readonly plan: Plan; readonly settings: ProjectSettings }): Project {
    return this.#projects.create(draft);
  }

  project(id: ProjectId): Project | null {
    return this.#projects.get(id);
  }

  chunkIds(id: ProjectId): ChunkIds | null {
    return this.#projects.chunkIds(id);
  }

  listProjects(listing: Listing): Page<Project> {
    return this.#projects.list(listing);
  }

  changeProject(id: ProjectId, change: ProjectChange): Project | null {
    return this.#projects.change(id, change);
  }

  removeProject(id: ProjectId): boolean {
    return this.#projects.remove(id);
  }

  removedProjects(): readonly ProjectId[] {
    return this.#projects.removed();
  }

  memoriesOfRemoved(id: ProjectId, limit: number): readonly bigint[] {
    return this.#projects.memoriesOfRemoved(id, limit);
  }

  eraseMemoriesOfRemoved(id: ProjectId, keys: readonly bigint[]): readonly string[] {
    return this.#projects.eraseMemoriesOfRemoved(id, keys);
  }

  eraseProject(id: ProjectId): void {
    this.#projects.erase(id);
  }

  hasAdminKey(projectId: ProjectId): boolean {
    return this.#keys.hasAdmin(projectId);
  }

  issueKey(projectId: ProjectId, draft: KeyDraft): IssuedKey {
    return this.#keys.issue(projectId, draft);
  }

  setOperatorKey(secret: string): void {
    this.#database.transaction(() => this.#keys.setOperator(this.#projects.defaultProject(), secret));
  }

  key(projectId: ProjectId, id: KeyId): ApiKey | null {
    return this.#keys.get(projectId, id);
  }

  listKeys(projectId: ProjectId, listing: Listing): Page<ApiKey> {
    return this.#keys.list(projectId, listing);
  }

  changeKey(projectId: ProjectId, id: KeyId, change: KeyChange): ApiKey | null {
    return this.#keys.change(projectId, id, change);
  }

  rotateKey(projectId: ProjectId, id: KeyId, graceMs: number): IssuedKey | null {
    return this.#keys.rotate(projectId, id, graceMs);
  }

  removeKey(projectId: ProjectId, id: KeyId): boolean {
    return this.#keys.remove(projectId, id);
  }

  authenticate(secret: string): Principal | null {
    return this.#keys.authenticate(secret);
  }

  flush(): void {
    this.#keys.flush();
  }

  usage(projectId: ProjectId): Usage {
    return this.#usage.read(projectId);
  }

  countQuery(projectId: ProjectId, tokens: { readonly prompt: number; readonly completion: number }): void {
    this.#usage.countQuery(projectId, tokens);
  }
}
