// Implements AccountStore: projects, API keys and usage. Each part is in a file of its own: project-rows.ts,
// key-rows.ts, usage-rows.ts.

import type { ChunkIds } from "../domain/chunk-ids.ts";
import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../domain/key.ts";
import type { Page } from "../domain/page.ts";
import type { Plan, Project, ProjectChange, ProjectSettings, ProjectUse, Usage } from "../domain/project.ts";
import type { Principal } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { Listing } from "../ports/user-store.ts";
import type { StoreContext } from "./context.ts";
import type { KeyAccess } from "./key-access.ts";
import { KeyRows } from "./key-rows.ts";
import { MemoryExpiry } from "./memories/memory-expiry.ts";
import { FIND_DEFAULT, ProjectRows } from "./project-rows.ts";
import { lockProjects, type Session } from "./session.ts";
import { StoreError } from "./store-error.ts";
import { countUsage, readUsage } from "./usage-rows.ts";
import { projectKeyOf } from "./user-rows.ts";

const END_RESERVATION = "DELETE FROM query_reservations WHERE id = $reservation";

/** Projects, API keys and usage. */
export class StoredAccounts implements AccountStore {
  readonly #projects: ProjectRows;
  readonly #keys: KeyRows;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    private readonly access: KeyAccess,
  ) {
    this.#projects = new ProjectRows(session, context);
    this.#keys = new KeyRows(session, context);
  }

  defaultProject(): Promise<ProjectId> {
    return this.#projects.defaultProject();
  }

  projects(): Promise<readonly ProjectId[]> {
    return this.#projects.all();
  }

  createProject(draft: {
    readonly name: string;
    readonly plan: Plan;
    readonly settings: ProjectSettings;
  }): Promise<Project> {
    return this.#projects.create(draft);
  }

  project(id: ProjectId): Promise<Project | null> {
    return this.#projects.get(id);
  }

  chunkIds(id: ProjectId): Promise<ChunkIds | null> {
    return this.#projects.chunkIds(id);
  }

  listProjects(listing: Listing): Promise<Page<Project & ProjectUse>> {
    return this.#projects.list(listing);
  }

  changeProject(id: ProjectId, change: ProjectChange): Promise<Project | null> {
    return this.#projects.change(id, change);
  }

  removeProject(id: ProjectId): Promise<boolean> {
    return this.#projects.remove(id);
  }

  removedProjects(): Promise<readonly ProjectId[]> {
    return this.#projects.removed();
  }

  memoriesOfRemoved(id: ProjectId, limit: number): Promise<readonly bigint[]> {
    return this.#projects.memoriesOfRemoved(id, limit);
  }

  eraseMemoriesOfRemoved(id: ProjectId, keys: readonly bigint[]): Promise<readonly string[]> {
    return this.#projects.eraseMemoriesOfRemoved(id, keys);
  }

  eraseProject(id: ProjectId): Promise<void> {
    return this.#projects.erase(id);
  }

  hasAdminKey(projectId: ProjectId): Promise<boolean> {
    return this.#keys.hasAdmin(projectId);
  }

  issueKey(projectId: ProjectId, draft: KeyDraft): Promise<IssuedKey> {
    return this.#keys.issue(projectId, draft);
  }

  async setOperatorKey(secret: string): Promise<void> {
    await lockProjects(this.session, FIND_DEFAULT);
    const project = await this.#projects.defaultProject();
    await this.#keys.setOperator(project, secret);
  }

  key(projectId: ProjectId, id: KeyId): Promise<ApiKey | null> {
    return this.#keys.get(projectId, id);
  }

  listKeys(projectId: ProjectId, listing: Listing): Promise<Page<ApiKey>> {
    return this.#keys.list(projectId, listing);
  }

  changeKey(projectId: ProjectId, id: KeyId, change: KeyChange): Promise<ApiKey | null> {
    return this.#keys.change(projectId, id, change);
  }

  rotateKey(projectId: ProjectId, id: KeyId, graceMs: number): Promise<IssuedKey | null> {
    return this.#keys.rotate(projectId, id, graceMs);
  }

  removeKey(projectId: ProjectId, id: KeyId): Promise<boolean> {
    return this.#keys.remove(projectId, id);
  }

  authenticate(secret: string, userAgent: string | null = null): Eventually<Principal | null> {
    return this.access.authenticate(secret, userAgent);
  }

  async flush(): Promise<void> {
    const { lastUses } = this.context;
    const uses = new Map(lastUses);
    if (uses.size === 0) return;
    await this.access.storeUses(uses);
    this.session.afterCommit(() => {
      for (const [key, use] of uses) if (lastUses.get(key) === use) lastUses.delete(key);
    });
  }

  async usage(projectId: ProjectId): Promise<Usage> {
    const projectKey = await projectKeyOf(this.session, projectId);
    try {
      await new MemoryExpiry(this.session, this.context).recordDueOf(projectKey);
    } catch (error) {
      // usage can be read while changes are refused
      if (!(error instanceof StoreError) || error.code !== "closed") throw error;
    }
    return readUsage(this.session, projectId, this.context.clock.now());
  }

  async countQuery(
    projectId: ProjectId,
    tokens: { readonly prompt: number; readonly completion: number },
    reservation?: string,
  ): Promise<void> {
    if (reservation !== undefined) await this.session.run(END_RESERVATION, { reservation });
    await countUsage(this.session, projectId, this.context.clock.now(), { queries: 1, ...tokens });
  }

  async countTokens(
    projectId: ProjectId,
    tokens: { readonly prompt: number; readonly completion: number },
  ): Promise<void> {
    await countUsage(this.session, projectId, this.context.clock.now(), { queries: 0, ...tokens });
  }
}
