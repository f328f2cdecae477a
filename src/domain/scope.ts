// Authorisation: what a key may do, and whether a request may see a whole project or the data of one user only.

import { Fault } from "./fault.ts";
import type { KeyId, ProjectId, UserKey } from "./ids.ts";

/** Permissions of API keys. `*` includes all of them except `admin`. */
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
/** A permission of an API key. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/**
 * What a request may see: a project, or only the data of one of its users if `userId` is set. Every read and write of a
 * service takes a viewer, so that no code path bypasses the restriction.
 */
export interface Viewer {
  readonly projectId: ProjectId;
  /**
   * User that the key is confined to. null if the key is not confined: it sees every user of the project, and data
   * without a user.
   */
  readonly userId: string | null;
  /** The key of the caller; absent: the server acts by itself. */
  readonly keyId?: KeyId;
}

/** The authenticated caller: its key, and what that key may see and do. */
export interface Principal extends Viewer {
  readonly keyId: KeyId;
  readonly scopes: readonly KeyScope[];
}

/** The memories that a search may return: those of one project, or of one of its users. */
export interface SearchScope {
  readonly projectId: ProjectId;
  /**
   * The user whose memories may be returned; null if the whole project may be searched. `key` is null if the user has
   * no data yet; such a scope admits no memory.
   */
  readonly user: { readonly id: string; readonly key: UserKey | null } | null;
}

/**
 * Whether a key has the permission `scope`. `*` includes everything except `admin`; `admin` includes `keys` and
 * `project`.
 */
export function allows({ scopes }: Pick<Principal, "scopes">, scope: KeyScope): boolean {
  if (scopes.includes(scope)) return true;
  if (scope === "admin") return false;
  return scopes.includes("*") || ((scope === "keys" || scope === "project") && scopes.includes("admin"));
}

/**
 * Whether `principal` may grant `scopes` to a new key. A key with `admin` may grant any scope, another key only those
 * that it has.
 */
export function mayGrant(principal: Pick<Principal, "scopes">, scopes: readonly KeyScope[]): boolean {
  return allows(principal, "admin") || scopes.every((scope) => allows(principal, scope));
}

/**
 * The user that a request acts for: the user that the request names, otherwise the user that its key is confined to,
 * otherwise undefined.
 * @throws Fault `invalid_request` for the user ids "." and "..", which URL parsers remove from paths;
 *   `insufficient_scope` if the key is confined to another user. Both have `param`
 */
export function userOf(viewer: Viewer, named: string | null | undefined, param = "userId"): string | undefined {
  if (named === "." || named === "..") {
    throw new Fault("invalid_request", `'${param}' must not be "${named}": no URL path can address such a user.`, {
      param,
    });
  }
  if (viewer.userId === null) return named ?? undefined;
  if (named === null || named === undefined || named === viewer.userId) return viewer.userId;
  throw new Fault("insufficient_scope", "This key is confined to one user and cannot act for another.", { param });
}

/** The same conditions, limited to the user that a request acts for. @throws Fault as `userOf` */
export function withinViewer<Asked extends { readonly userId?: string }>(viewer: Viewer, asked: Asked): Asked {
  const userId = userOf(viewer, asked.userId);
  return userId === undefined ? asked : { ...asked, userId };
}
