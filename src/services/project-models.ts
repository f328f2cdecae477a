// The embedding models of projects: which are installed, which one a project uses, and changes to another one.
// ingest/model-change.ts carries the changes out.

import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { Principal } from "../domain/scope.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { IndexModel, IndexOf, ModelIndex } from "../ports/chunk-index.ts";
import { type Embedders, modelIdOf } from "../ports/models.ts";
import type { ProjectModel, ProjectModelStore } from "../ports/project-model-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import { projectFor, unknownProject } from "./keys.ts";

/** An installed embedding model. */
export interface InstalledEmbedder {
  readonly id: string;
  readonly dimensions: number;
  /** Maximum number of tokens that the model reads of a text. */
  readonly tokensMax: number;
  readonly languages: readonly string[];
  readonly isDefault: boolean;
}

/** What the service needs. */
export interface ProjectModelServiceDependencies {
  readonly accounts: AccountStore;
  readonly projectModels: ProjectModelStore;
  readonly index: IndexOf<ModelIndex>;
  readonly embedders: Embedders;
  /** Makes the changes look for work now. */
  readonly wakeChanges: () => void;
}

/** Embedding models of the deployment's projects. */
export class ProjectModelService {
  readonly #uses: ProjectModelServiceDependencies;

  constructor(uses: ProjectModelServiceDependencies) {
    this.#uses = uses;
  }

  /** The installed models, the default first. */
  installed(): readonly InstalledEmbedder[] {
    const { embedders } = this.#uses;
    const others = embedders.ids.filter((id) => id !== embedders.default.id).map((id) => embedders.get(id));
    return [embedders.default, ...others].map(({ id, dimensions, tokensMax, languages }) => {
      return { id, dimensions, tokensMax, languages, isDefault: id === embedders.default.id };
    });
  }

  /**
   * The models of a project; those of the caller's project if `named` is null.
   * @throws Fault `insufficient_scope` if a key without `admin` names another project; `project_not_found`
   */
  async get(principal: Principal, named: ProjectId | null): Promise<ProjectModel> {
    const { accounts, projectModels, index, embedders } = this.#uses;
    const projectId = await projectFor(accounts, principal, named);
    using project = await index.current(projectId);
    const { live, previous } = await project.models();
    const { isChosen = false, reranker = null, change = null } = (await projectModels.get(projectId)) ?? {};
    const idOf = ({ fingerprint }: IndexModel) => modelIdOf(embedders, fingerprint);
    const kept = previous === null ? null : idOf(previous);
    return { projectId, live: idOf(live), previous: kept, isChosen, reranker, change };
  }

  /**
   * Asks for a change of a project's model.
   * @throws Fault `project_not_found`; `invalid_request` if the model is not installed
   */
  async change(tx: Transaction, projectId: ProjectId, model: string): Promise<void> {
    const { ids } = this.#uses.embedders;
    if (!ids.includes(model)) {
      const installed = ids.join(", ");
      throw new Fault("invalid_request", `'model' must be one of the installed models: ${installed}.`, {
        param: "model",
      });
    }
    await tx.projectModels.ask(projectId, model, true);
    tx.afterCommit(this.#uses.wakeChanges);
  }

  /**
   * Cancels the change of a project's model. The vectors built so far are deleted.
   * @throws Fault `project_not_found`; `invalid_state` if the model is not being changed
   */
  async cancel(tx: Transaction, projectId: ProjectId): Promise<void> {
    await mustExist(tx.accounts, projectId);
    if (!(await tx.projectModels.cancel(projectId))) {
      throw new Fault("invalid_state", "The embedding model of this project is not being changed.");
    }
    tx.afterCommit(this.#uses.wakeChanges);
  }

  /**
   * Deletes the vectors that are kept for a rollback.
   * @throws Fault `project_not_found`; `invalid_state` if there are none
   */
  async forget(tx: Transaction, projectId: ProjectId): Promise<void> {
    await mustExist(tx.accounts, projectId);
    if (!(await tx.projectModels.forget(projectId))) {
      throw new Fault("invalid_state", "This project has no vectors of an earlier embedding model.");
    }
    tx.afterCommit(this.#uses.wakeChanges);
  }
}

async function mustExist(accounts: AccountStore, projectId: ProjectId): Promise<void> {
  if ((await accounts.project(projectId)) === null) throw unknownProject(projectId);
}
