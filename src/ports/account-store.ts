// Projects and API keys. Implemented by adapters/embedded on SQLite.
//
// Owed by an implementation: keys are stored as SHA-256 only and compared in constant time; each method is one
// transaction and durable when it returns.

import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { KeyScope, Principal } from "../domain/scope.ts";

/** Projects and keys. Synchronous: a call takes microseconds. */
export interface AccountStore {
  /** The project that exists from the first start on; made when it is missing. */
  defaultProject(): ProjectId;
  /** All projects, oldest first. */
  projects(): readonly ProjectId[];
  /** Whether any key was ever made in this project. */
  hasKeys(projectId: ProjectId): boolean;
  /** Stores a key's hash; storing the same key again changes nothing. */
  addKey(
    projectId: ProjectId,
    key: { readonly secret: string; readonly name: string; readonly scopes: readonly KeyScope[] },
  ): KeyId;
  /** Who holds this key; null when nobody does. */
  authenticate(secret: string): Principal | null;
}
