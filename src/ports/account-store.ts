// Projects, API keys and usage of plans. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). Only the SHA-256 of a key's secret is stored, and it is compared in constant time. The time and
// the client of a key's last use are durable after `flush`; until then only this process knows them. Lists are
// keyset-paged, newest first, and stable under inserts and deletes. A removed project and its keys count as missing,
// except for the methods that erase it.

import type { ChunkIds } from "../domain/chunk-ids.ts";
import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../domain/key.ts";
import type { Page } from "../domain/page.ts";
import type { Plan, Project, ProjectChange, ProjectSettings, ProjectUse, Usage } from "../domain/project.ts";
import type { Principal } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Listing } from "./user-store.ts";

/** Projects, keys and usage. */
export interface AccountStore {
  /** Returns the default project. Creates it if it does not exist. */
  defaultProject(): Promise<ProjectId>;
  /** All projects, oldest first. */
  projects(): Promise<readonly ProjectId[]>;
  createProject(draft: {
    readonly name: string;
    readonly plan: Plan;
    readonly settings: ProjectSettings;
  }): Promise<Project>;
  project(id: ProjectId): Promise<Project | null>;
  /**
   * Public ids of a project's chunks; null if the project does not exist. They are made with a random secret of the
   * project, which never changes and which no method returns.
   */
  chunkIds(id: ProjectId): Promise<ChunkIds | null>;
  /**
   * The projects with their use; `lastUsedAt` is what is durable.
   * @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged
   */
  listProjects(listing: Listing): Promise<Page<Project & ProjectUse>>;
  /** Returns null if the project does not exist. */
  changeProject(id: ProjectId, change: ProjectChange): Promise<Project | null>;
  /**
   * Removes a project: no method returns it any more, and its keys are refused. Its data is erased later, see
   * `removedProjects`. Returns false if the project does not exist.
   * @throws Fault `invalid_state` for the default project
   */
  removeProject(id: ProjectId): Promise<boolean>;
  /** Removed projects whose data has not been erased completely. */
  removedProjects(): Promise<readonly ProjectId[]>;
  /**
   * Up to `limit` keys of memories of a removed project, in any state. These memories have to be purged before
   * `eraseProject` is called. Returns none for a project that was not removed.
   */
  memoriesOfRemoved(id: ProjectId, limit: number): Promise<readonly bigint[]>;
  /**
   * Erases the rows of these memories, which belong to a removed project. Does nothing for a project that was not
   * removed. Returns the uploaded files that no row refers to any more.
   */
  eraseMemoriesOfRemoved(id: ProjectId, keys: readonly bigint[]): Promise<readonly string[]>;
  /**
   * Erases everything that is left of a removed project. Its memories must have been erased before. Does nothing for a
   * project that was not removed.
   */
  eraseProject(id: ProjectId): Promise<void>;

  /**
   * Whether the project has a key with scope `admin` that has not expired and is not confined to a user.
   */
  hasAdminKey(projectId: ProjectId): Promise<boolean>;
  /**
   * Creates a key. Only the result contains its secret.
   * @throws Fault `project_not_found` if the project does not exist
   */
  issueKey(projectId: ProjectId, draft: KeyDraft): Promise<IssuedKey>;
  /**
   * Makes `secret` the operator's key, with all rights on the default project. If the operator's key had another secret
   * before, the earlier key is removed. If `secret` already belongs to the operator's key, that key keeps its id and
   * gets all rights back.
   * @throws Fault `invalid_request` if another key already has this secret
   */
  setOperatorKey(secret: string): Promise<void>;
  key(projectId: ProjectId, id: KeyId): Promise<ApiKey | null>;
  /** @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged */
  listKeys(projectId: ProjectId, listing: Listing): Promise<Page<ApiKey>>;
  /** Returns null if the key does not exist. */
  changeKey(projectId: ProjectId, id: KeyId, change: KeyChange): Promise<ApiKey | null>;
  /** Gives a key a new secret. Its old secrets are refused after `graceMs`. Returns null if the key does not exist. */
  rotateKey(projectId: ProjectId, id: KeyId, graceMs: number): Promise<IssuedKey | null>;
  /** Removes a key, which is refused from then on. Returns false if it does not exist. */
  removeKey(projectId: ProjectId, id: KeyId): Promise<boolean>;
  /**
   * Returns the project and rights of this secret, or null if it is not valid (any more).
   * @param userAgent header of the request that uses the key; null if there is none
   */
  authenticate(secret: string, userAgent?: string | null): Eventually<Principal | null>;
  /** Stores the time and the client of each key's last use. Called every minute and before the store is closed. */
  flush(): Promise<void>;

  /**
   * How much of its plan's quotas a project uses. Expired memories do not count.
   * @throws Fault `project_not_found` if the project does not exist
   */
  usage(projectId: ProjectId): Promise<Usage>;
  /**
   * Adds one query and its tokens to the current month, and ends the reservation with this id, if one is given. Does
   * nothing for a project that does not exist.
   */
  countQuery(
    projectId: ProjectId,
    tokens: { readonly prompt: number; readonly completion: number },
    reservation?: string,
  ): Promise<void>;
  /** Adds tokens to the current month, without a query. Does nothing for a project that does not exist. */
  countTokens(projectId: ProjectId, tokens: { readonly prompt: number; readonly completion: number }): Promise<void>;
}
