// Projects: their settings and plan, and the removal of a project with everything in it.

import type { CaseSetup } from "../domain/case.ts";
import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { FIRST_KEY, type IssuedKey } from "../domain/key.ts";
import type { OcrMode } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import {
  DEFAULT_SETTINGS,
  type Plan,
  type Project,
  type ProjectInForce,
  type ProjectSettings,
  type ProjectUse,
  type Superseding,
  type Usage,
  type VectorIndexName,
} from "../domain/project.ts";
import type { ModeName } from "../domain/ranking.ts";
import { allows, type Principal } from "../domain/scope.ts";
import { eraseProject } from "../erasure/erasure.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type {
  IndexMaintenance,
  IndexOf,
  PublishedMemories,
  SearchIndex,
  VectorIndexState,
} from "../ports/chunk-index.ts";
import type { Embedder, Reranker } from "../ports/models.ts";
import type { AddressGuard } from "../ports/outbound.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import type { Listing } from "../ports/user-store.ts";
import { tuningOf } from "../retrieval/modes.ts";
import { projectFor, unknownProject } from "./keys.ts";
import { changedLlm, checkNewAddresses, type LlmChange } from "./llm-settings.ts";

/** Settings as a caller sends them. A setting that is left out stays unchanged; null restores the default. */
export interface SettingsChange {
  readonly llm?: LlmChange | null;
  readonly smart_ingestion?: { readonly enabled?: boolean; readonly daily_token_limit?: number | null };
  readonly retention_days?: number;
  readonly min_evidence?: number | null;
  readonly default_mode?: ModeName | null;
  readonly superseding?: Superseding | null;
  readonly ocr?: OcrMode | null;
  readonly time_zone?: string | null;
  readonly keep_files?: boolean | null;
  readonly vector_index?: VectorIndexName | null;
}

/** A change to a project, as a caller sends it. */
export interface ProjectUpdate extends SettingsChange {
  readonly name?: string;
  readonly plan?: Plan;
}

/** A project to create. */
export type NewProject = ProjectUpdate & { readonly name: string };

/** What the service needs. */
export interface ProjectServiceDependencies {
  readonly accounts: AccountStore;
  readonly index: IndexOf<SearchIndex> & PublishedMemories & Pick<IndexMaintenance, "compact" | "drop">;
  readonly files: Pick<UploadFiles, "remove" | "removeAgain">;
  readonly guard: AddressGuard;
  /** Plan of new projects for which no plan is given. */
  readonly defaultPlan: Plan;
  /** The models of the project, and the reranker that was chosen for it. */
  readonly modelsOf: (id: ProjectId) => Eventually<
    {
      readonly embedder: Pick<Embedder, "id" | "tuning" | "reader">;
      readonly usedReranker: Pick<Reranker, "tuning"> | null;
    } & Pick<ProjectInForce, "reranker">
  >;
  readonly log: Log;
}

/** Projects of the deployment. */
export class ProjectService {
  readonly #uses: ProjectServiceDependencies;
  #purge: Promise<void> = Promise.resolve();

  constructor(uses: ProjectServiceDependencies) {
    this.#uses = uses;
  }

  /**
   * @param param where the request names the project.
   * @throws Fault `insufficient_scope` if a key without `admin` names another project; `project_not_found`
   */
  async get(principal: Principal, named: ProjectId | null, param?: string): Promise<ProjectInForce> {
    return this.#inForce(await readProject(this.#uses.accounts, principal, named, param));
  }

  /** @throws Fault `invalid_cursor` */
  async list(listing: Listing): Promise<Page<ProjectInForce & ProjectUse>> {
    const { items, cursor } = await this.#uses.accounts.listProjects(listing);
    const inForce = async (project: Project & ProjectUse) => ({ ...project, ...(await this.#inForce(project)) });
    return { items: await Promise.all(items.map(inForce)), cursor };
  }

  /** The models and settings with which the project's searches work now. @throws Fault `project_not_found` */
  async setupOf(id: ProjectId): Promise<CaseSetup> {
    const project = await this.#uses.accounts.project(id);
    if (project === null) throw unknownProject(id);
    const { settings, reranker } = await this.#inForce(project);
    const { embedder } = await this.#uses.modelsOf(id);
    const { default_mode, min_evidence, superseding } = settings;
    return { embedder: embedder.id, reranker, default_mode, min_evidence: min_evidence ?? 0, superseding };
  }

  /** How much of its plan's quotas the project has used. */
  usage(principal: Principal): Eventually<Usage> {
    return this.#uses.accounts.usage(principal.projectId);
  }

  /** See `checkNewAddresses`. @throws Fault `unsafe_url` */
  async checkAddress(principal: Principal, change: SettingsChange, named: ProjectId | null): Promise<void> {
    const current = named === null ? null : await this.#uses.accounts.project(named);
    const llm = current?.settings.llm ?? DEFAULT_SETTINGS.llm;
    await checkNewAddresses(this.#uses.guard, principal, llm, change.llm ?? {});
  }

  /** See `createProject`. */
  async create(
    tx: Transaction,
    update: NewProject,
  ): Promise<{ readonly project: ProjectInForce; readonly issued: IssuedKey }> {
    const { project, issued } = await createProject(tx, this.#uses.defaultPlan, update);
    return { project: await this.#inForce(project), issued };
  }

  /** See `changeProject`. The index of the project follows the setting of its vector index soon. */
  async change(...change: Parameters<typeof changeProject>): Promise<ProjectInForce> {
    const project = await changeProject(...change);
    const [tx, , , { vector_index: changed }] = change;
    if (changed !== undefined) {
      // The setting is stored. If it cannot be applied now, the next sweep does it. Nothing waits for it here: an index
      // that is opened for the first time may store its model, which has to wait for the effects of this transaction.
      tx.afterCommit(() => {
        this.#followVectorIndex(project).catch((err: unknown) =>
          this.#uses.log.warn({ projectId: project.id, err }, "the vector index could not be changed yet"),
        );
      });
    }
    return this.#inForce(project);
  }

  /**
   * How the vectors of a project are searched, on this node.
   * @throws Fault `insufficient_scope` if a key without `admin` names another project; `project_not_found`
   */
  async vectorIndex(
    principal: Principal,
    named: ProjectId | null,
  ): Promise<VectorIndexState & { readonly setting: VectorIndexName }> {
    const project = await readProject(this.#uses.accounts, principal, named);
    return { ...(await this.#followVectorIndex(project)), setting: project.settings.vector_index };
  }

  async #followVectorIndex({ id, settings }: Project): Promise<VectorIndexState> {
    using index = await this.#uses.index.project(id);
    await index.chooseVectorIndex(settings.vector_index);
    return await index.vectorIndex();
  }

  async #inForce(project: Project): Promise<ProjectInForce> {
    const { settings } = project;
    const { embedder, usedReranker, reranker } = await this.#uses.modelsOf(project.id);
    const mode = settings.default_mode;
    const inForce =
      settings.min_evidence ?? (embedder.reader?.tuning ?? tuningOf(mode, embedder, usedReranker)).evidenceMin[mode];
    return { ...project, settings: { ...settings, min_evidence: inForce }, reranker };
  }

  /**
   * Erases the data of removed projects, one run at a time. Called at every start, each minute, and when a project is
   * removed. Never rejects.
   */
  purgeRemoved(): Promise<void> {
    this.#purge = this.#purge
      .then(() => this.#purgeAll())
      .catch((err: unknown) => this.#uses.log.warn({ err }, "removed projects could not be listed yet"));
    return this.#purge;
  }

  async #purgeAll(): Promise<void> {
    const { accounts, log } = this.#uses;
    for (const id of await accounts.removedProjects()) {
      try {
        await eraseProject(this.#uses, id);
      } catch (err) {
        log.warn(
          { projectId: id, err },
          "the data of a removed project could not be erased; trying again within a minute",
        );
      }
    }
  }
}

/** Creates a project and its first key. */
export async function createProject(
  { accounts }: Transaction,
  defaultPlan: Plan,
  update: NewProject,
): Promise<{ readonly project: Project; readonly issued: IssuedKey }> {
  const settings = merged(DEFAULT_SETTINGS, update, true);
  const project = await accounts.createProject({ name: update.name, plan: update.plan ?? defaultPlan, settings });
  return { project, issued: await accounts.issueKey(project.id, FIRST_KEY) };
}

/**
 * Changes a project.
 * @param param where the request names the project.
 * @throws Fault `insufficient_scope` (only an admin sets plans), `project_not_found`
 */
export async function changeProject(
  { accounts }: Transaction,
  principal: Principal,
  named: ProjectId | null,
  update: ProjectUpdate,
  param?: string,
): Promise<Project> {
  const { settings, plan, id } = await readProject(accounts, principal, named, param);
  if (update.plan !== undefined && update.plan !== plan && !allows(principal, "admin")) {
    throw new Fault("insufficient_scope", "Only a key with the scope 'admin' may change the plan.", {
      param: "plan",
    });
  }
  const changed = await accounts.changeProject(id, {
    ...(update.name !== undefined && { name: update.name }),
    ...(update.plan !== undefined && { plan: update.plan }),
    settings: merged(settings, update, allows(principal, "admin")),
  });
  return changed ?? missing(id);
}

/**
 * Removes a project. Its keys stop working at once; `ProjectService.purgeRemoved` erases its data.
 * @throws Fault `project_not_found`, `invalid_state` for the default project and for the caller's own project
 */
export async function removeProject({ accounts }: Transaction, principal: Principal, id: ProjectId): Promise<void> {
  const project = (await accounts.project(id)) ?? missing(id);
  if (project.isDefault || id === principal.projectId) {
    const which = project.isDefault ? "The default project" : "The project of the key that asks";
    throw new Fault("invalid_state", `${which} cannot be deleted.`, { param: "id" });
  }
  await accounts.removeProject(id);
}

async function readProject(
  accounts: AccountStore,
  principal: Principal,
  named: ProjectId | null,
  param?: string,
): Promise<Project> {
  const id = await projectFor(accounts, principal, named, param);
  return (await accounts.project(id)) ?? missing(id);
}

function merged(settings: ProjectSettings, change: SettingsChange, isByAdmin: boolean): ProjectSettings {
  return {
    llm: change.llm === null ? DEFAULT_SETTINGS.llm : changedLlm(settings.llm, change.llm ?? {}, isByAdmin),
    smart_ingestion: { ...settings.smart_ingestion, ...change.smart_ingestion },
    retention_days: change.retention_days ?? settings.retention_days,
    min_evidence: change.min_evidence === undefined ? settings.min_evidence : change.min_evidence,
    default_mode:
      change.default_mode === undefined
        ? settings.default_mode
        : (change.default_mode ?? DEFAULT_SETTINGS.default_mode),
    superseding:
      change.superseding === undefined ? settings.superseding : (change.superseding ?? DEFAULT_SETTINGS.superseding),
    ocr: change.ocr === undefined ? settings.ocr : (change.ocr ?? DEFAULT_SETTINGS.ocr),
    time_zone: change.time_zone === undefined ? settings.time_zone : change.time_zone,
    keep_files:
      change.keep_files === undefined ? settings.keep_files : (change.keep_files ?? DEFAULT_SETTINGS.keep_files),
    vector_index:
      change.vector_index === undefined
        ? settings.vector_index
        : (change.vector_index ?? DEFAULT_SETTINGS.vector_index),
  };
}

function missing(id: string): never {
  throw unknownProject(id);
}
