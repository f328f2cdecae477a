// Projects: their settings, their plan, and how one goes with everything in it.

import { Fault } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { FIRST_KEY, type IssuedKey } from "../domain/key.ts";
import type { Page } from "../domain/page.ts";
import { DEFAULT_SETTINGS, type Plan, type Project, type ProjectSettings, type Usage } from "../domain/project.ts";
import { allows, type Principal } from "../domain/scope.ts";
import type { Log } from "../kit/log.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { AddressGuard } from "../ports/outbound.ts";
import type { Listing } from "../ports/user-store.ts";
import { projectFor, unknownProject } from "./keys.ts";

/** Memories that are purged at once when a project goes; bounds one DuckDB statement. */
const PURGE_MEMORIES = 1_000;

/** Settings as a caller sends them: what is left out stays, null goes back to the default. */
export interface SettingsChange {
  readonly llm?: Partial<Omit<ProjectSettings["llm"], "is_address_trusted">> | null;
  readonly smart_ingestion?: { readonly enabled?: boolean; readonly daily_token_limit?: number | null };
  readonly retention_days?: number;
  readonly min_evidence?: number;
}

/** What changes in a project, as a caller sends it. */
export interface ProjectUpdate extends SettingsChange {
  readonly name?: string;
  readonly plan?: Plan;
}

/** What the service stands on. */
export interface ProjectServiceParts {
  readonly accounts: AccountStore;
  readonly index: ChunkIndex;
  readonly guard: AddressGuard;
  readonly log: Log;
}

/** Projects of the deployment. Synchronous where it changes rows: that runs inside the caller's transaction. */
export class ProjectService {
  readonly #parts: ProjectServiceParts;
  #purge: Promise<void> = Promise.resolve();

  constructor(parts: ProjectServiceParts) {
    this.#parts = parts;
  }

  /**
   * @param param where the request names the project.
   * @throws Fault `insufficient_scope`, `project_not_found`
   */
  get(principal: Principal, named: ProjectId | null, param?: string): Project {
    const id = projectFor(this.#parts.accounts, principal, named, param);
    return this.#parts.accounts.project(id) ?? missing(id);
  }

  /** @throws Fault `invalid_cursor` */
  list(listing: Listing): Page<Project> {
    return this.#parts.accounts.listProjects(listing);
  }

  /** What the project has used of its plan. */
  usage(principal: Principal): Usage {
    return this.#parts.accounts.usage(principal.projectId);
  }

  /**
   * To be awaited before a change of the language model's address: an admin may choose any, others a public one only.
   * @throws Fault `unsafe_url`
   */
  async checkAddress(principal: Principal, change: SettingsChange, named: ProjectId | null): Promise<void> {
    const current = named === null ? null : this.#parts.accounts.project(named);
    const address = change.llm?.base_url ?? null;
    if (address === null || address === current?.settings.llm.base_url) return;
    if (!allows(principal, "admin")) return this.#parts.guard.check(address, "llm.base_url");
    const isWeb = URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
    if (!isWeb)
      throw new Fault("unsafe_url", "'llm.base_url' must be an http or https address.", { param: "llm.base_url" });
  }

  /** A new project with its first key. */
  create(update: ProjectUpdate & { readonly name: string }): { readonly project: Project; readonly issued: IssuedKey } {
    const { accounts } = this.#parts;
    const settings = merged(DEFAULT_SETTINGS, update, true);
    const project = accounts.createProject({ name: update.name, plan: update.plan ?? "free", settings });
    return { project, issued: accounts.issueKey(project.id, FIRST_KEY) };
  }

  /** @throws Fault `insufficient_scope` (a plan is an admin's to set), `project_not_found` */
  change(principal: Principal, named: ProjectId | null, update: ProjectUpdate, param?: string): Project {
    const { accounts } = this.#parts;
    const { settings, plan, id } = this.get(principal, named, param);
    if (update.plan !== undefined && update.plan !== plan && !allows(principal, "admin")) {
      throw new Fault("insufficient_scope", "Only a key with the scope 'admin' may change the plan.", {
        param: "plan",
      });
    }
    const changed = accounts.changeProject(id, {
      ...(update.name !== undefined && { name: update.name }),
      ...(update.plan !== undefined && { plan: update.plan }),
      settings: merged(settings, update, allows(principal, "admin")),
    });
    return changed ?? missing(id);
  }

  /**
   * Its keys open nothing from now on; `purgeRemoved` removes what it held.
   * @throws Fault `project_not_found`, `invalid_state` for the default project and the caller's own
   */
  remove(principal: Principal, id: ProjectId): void {
    const project = this.#parts.accounts.project(id) ?? missing(id);
    if (project.isDefault || id === principal.projectId) {
      const which = project.isDefault ? "The default project" : "The project of the key that asks";
      throw new Fault("invalid_state", `${which} cannot be deleted.`, { param: "id" });
    }
    this.#parts.accounts.removeProject(id);
  }

  /** Removes for good what removed projects held; once at a time; asked for at every start and each minute. Never rejects. */
  purgeRemoved(): Promise<void> {
    this.#purge = this.#purge
      .then(() => this.#purgeAll())
      .catch((err: unknown) => this.#parts.log.warn({ err }, "removed projects could not be looked up yet"));
    return this.#purge;
  }

  async #purgeAll(): Promise<void> {
    const { accounts, index, log } = this.#parts;
    for (const id of accounts.removedProjects()) {
      try {
        await index.drop(id);
        for (;;) {
          const keys = accounts.memoriesOfRemoved(id, PURGE_MEMORIES);
          if (keys.length === 0) break;
          await index.purge(keys as readonly MemoryKey[]);
          accounts.eraseMemoriesOfRemoved(id, keys);
        }
        accounts.eraseProject(id);
      } catch (err) {
        log.warn(
          { projectId: id, err },
          "a deleted project's data could not be removed; it is tried again within a minute",
        );
      }
    }
  }
}

function merged(settings: ProjectSettings, change: SettingsChange, isByAdmin: boolean): ProjectSettings {
  const address = change.llm?.base_url;
  // a key goes with the address that it was given for, and never to one that somebody else chose
  const moved = address !== undefined && address !== settings.llm.base_url;
  const moving = moved ? { api_key: null, is_address_trusted: isByAdmin } : {};
  return {
    llm: change.llm === null ? DEFAULT_SETTINGS.llm : { ...settings.llm, ...moving, ...change.llm },
    smart_ingestion: { ...settings.smart_ingestion, ...change.smart_ingestion },
    retention_days: change.retention_days ?? settings.retention_days,
    min_evidence: change.min_evidence ?? settings.min_evidence,
  };
}

function missing(id: string): never {
  throw unknownProject(id);
}
