// What a request may see: a project, and within it possibly one user only.

import { Fault } from "./fault.ts";
import type { KeyId, ProjectId, UserKey } from "./ids.ts";

/** What an API key can allow; `*` is all but `admin`. */
export const KEY_SCOPES = [
  "memories:read",
  "memories:write",
  "query",
  "chats:read",
  "chats:write",
  "users:read",
  "users:write",
  "webhooks",
  "keys",
  "usage",
  "project",
  "admin",
  "*",
] as const;
/** One thing that an API key allows. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/**
 * What a request may see: a project, and of it one user's things only where `userId` is set. Every read and every change of
 * a service takes one, so that no way leads past the confinement.
 */
export interface Viewer {
  readonly projectId: ProjectId;
  /** The user that the key is confined to; null: every user of the project, and what belongs to none. */
  readonly userId: string | null;
}

/** Who asks: the key that authenticated the request, and what it may see. */
export interface Principal extends Viewer {
  readonly keyId: KeyId;
  readonly scopes: readonly KeyScope[];
}

/** The memories that a search may look at: one project, and only one user's where a user is named. */
export interface SearchScope {
  readonly projectId: ProjectId;
  /** null: the whole project. A user that nobody has named yet has no key; such a scope is empty, not unlimited. */
  readonly user: { readonly id: string; readonly key: UserKey | null } | null;
}

/** Whether a key may do what asks for `scope`. `*` stands for everything but `admin`; `admin` brings `keys` and `project`. */
export function allows({ scopes }: Pick<Principal, "scopes">, scope: KeyScope): boolean {
  if (scopes.includes(scope)) return true;
  if (scope === "admin") return false;
  return scopes.includes("*") || ((scope === "keys" || scope === "project") && scopes.includes("admin"));
}

/** Whether who holds `principal` may hand out `scopes`: an admin any, everybody else what they hold. */
export function mayGrant(principal: Pick<Principal, "scopes">, scopes: readonly KeyScope[]): boolean {
  return allows(principal, "admin") || scopes.every((scope) => allows(principal, scope));
}

/**
 * The user that a request acts for: the one it names, else the one that its key is confined to, else none (undefined).
 * @throws Fault `invalid_request` for "." and "..", which every URL parser folds away; `insufficient_scope` when a confined key names another user; `param` says where.
 */
export function userOf(viewer: Viewer, named: string | null | undefined, param = "userId"): string | undefined {
  if (named === "." || named === "..") {
    throw new Fault("invalid_request", `'${param}' cannot be "${named}": no path could ever name that user.`, {
      param,
    });
  }
  if (viewer.userId === null) return named ?? undefined;
  if (named === null || named === undefined || named === viewer.userId) return viewer.userId;
  throw new Fault("insufficient_scope", "This key is confined to one user and cannot act for another.", { param });
}
