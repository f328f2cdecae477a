// What a request may see: a project, and within it possibly one user only.

import type { KeyId, ProjectId, UserKey } from "./ids.ts";

/** What an API key allows; `*` is all but `admin`. */
export type KeyScope =
  | "memories:read"
  | "memories:write"
  | "query"
  | "chats:read"
  | "chats:write"
  | "users:read"
  | "users:write"
  | "webhooks"
  | "keys"
  | "usage"
  | "project"
  | "admin"
  | "*";

/** Who asks: the key that authenticated the request, and the project that it belongs to. */
export interface Principal {
  readonly keyId: KeyId;
  readonly projectId: ProjectId;
  readonly scopes: readonly KeyScope[];
}

/** The memories that a search may look at: one project, and only one user's where a user is named. */
export interface SearchScope {
  readonly projectId: ProjectId;
  /** null: the whole project. A user that nobody has named yet has no key; such a scope is empty, not unlimited. */
  readonly user: { readonly id: string; readonly key: UserKey | null } | null;
}

/** Whether a key may do what asks for `scope`. `*` stands for everything but `admin`. */
export function allows(principal: Principal, scope: KeyScope): boolean {
  return principal.scopes.includes(scope) || (scope !== "admin" && principal.scopes.includes("*"));
}
