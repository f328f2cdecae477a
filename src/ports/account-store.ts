// Projects, API keys and what is used of a plan. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). Of keys only the SHA-256 is stored, compared in constant time. When a key was last used is durable
// after `flush`; until then only this process knows it. Lists are keyset-paged, newest first, and stable. Removed
// projects are absent from every read, and their keys with them.

import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../domain/key.ts";
import type { Page } from "../domain/page.ts";
import type { Plan, Project, ProjectChange, ProjectSettings, Usage } from "../domain/project.ts";
import type { Principal } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Listing } from "./user-store.ts";

/** Projects, keys and usage. */
export interface AccountStore {
  /** The project that exists from the first start on; made when it is missing. */
  defaultProject(): Eventually<ProjectId>;
  /** All projects, oldest first. */
  projects(): Eventually<readonly ProjectId[]>;
  createProject(draft: {
    readonly name: string;
    readonly plan: Plan;
    readonly settings: ProjectSettings;
  }): Eventually<Project>;
  project(id: ProjectId): Eventually<Project | null>;
  /** @throws Fault `invalid_cursor` */
  listProjects(listing: Listing): Eventually<Page<Project>>;
  /** null: there is no such project. */
  changeProject(id: ProjectId, change: ProjectChange): Eventually<Project | null>;
  /**
   * The project is gone from every read and its keys open nothing; its data is `removedProjects`' business. False:
   * there was none.
   * @throws Fault `invalid_state` for the default project
   */
  removeProject(id: ProjectId): Eventually<boolean>;
  /** Projects whose data still has to go. */
  removedProjects(): Eventually<readonly ProjectId[]>;
  /**
   * Memories (up to `limit`, whatever their state) of a removed project, to be purged before its rows; none of any
   * other.
   */
  memoriesOfRemoved(id: ProjectId, limit: number): Eventually<readonly bigint[]>;
  /** Erases the rows of those memories; of a project that was not removed, none. */
  eraseMemoriesOfRemoved(id: ProjectId, keys: readonly bigint[]): Eventually<void>;
  /** Erases all that is left of a removed project; its memories must be gone. Nothing happens to any other project. */
  eraseProject(id: ProjectId): Eventually<void>;

  /**
   * Whether somebody can administer through this project: it has an `admin` key that has not expired and is not
   * confined.
   */
  hasAdminKey(projectId: ProjectId): Eventually<boolean>;
  /**
   * A new key; the secret is in the result and nowhere else.
   * @throws Fault `project_not_found`
   */
  issueKey(projectId: ProjectId, draft: KeyDraft): Eventually<IssuedKey>;
  /**
   * The key of the operator's choice, with all rights on the default project; one chosen earlier ends. The same one
   * again keeps its id, and has all rights again, whatever was changed of it since.
   * @throws Fault `invalid_request` when the secret is that of an issued key
   */
  setOperatorKey(secret: string): Eventually<void>;
  key(projectId: ProjectId, id: KeyId): Eventually<ApiKey | null>;
  /** @throws Fault `invalid_cursor` */
  listKeys(projectId: ProjectId, listing: Listing): Eventually<Page<ApiKey>>;
  /** null: there is no such key. */
  changeKey(projectId: ProjectId, id: KeyId, change: KeyChange): Eventually<ApiKey | null>;
  /** A new secret under the same id; the old ones open nothing `graceMs` from now on. null: there is no such key. */
  rotateKey(projectId: ProjectId, id: KeyId, graceMs: number): Eventually<IssuedKey | null>;
  /** The key opens nothing from now on; false: there was none. */
  removeKey(projectId: ProjectId, id: KeyId): Eventually<boolean>;
  /** Who holds this secret; null when nobody does, or not any more. */
  authenticate(secret: string): Eventually<Principal | null>;
  /** Writes down when keys were last used, if that waits: to be called every minute, and before closing. */
  flush(): Eventually<void>;

  /** What a project has used of its plan; expired memories no longer count. @throws Fault `project_not_found` */
  usage(projectId: ProjectId): Eventually<Usage>;
  /** Counts one query of this month, and the tokens that it took; nothing for a project that is gone. */
  countQuery(projectId: ProjectId, tokens: { readonly prompt: number; readonly completion: number }): Eventually<void>;
}
