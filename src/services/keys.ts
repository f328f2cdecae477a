// Who may hand out which keys: everybody what they hold themselves, in their own project; an admin anything anywhere.

import { Fault } from "../domain/fault.ts";
import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../domain/key.ts";
import type { Page } from "../domain/page.ts";
import { allows, type KeyScope, mayGrant, type Principal, userOf } from "../domain/scope.ts";
import { shortened } from "../kit/shortened.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { Listing } from "../ports/user-store.ts";

/** Keys of one project. Synchronous: what changes something runs inside the caller's transaction. */
export class KeyService {
  readonly #accounts: AccountStore;

  constructor(accounts: AccountStore) {
    this.#accounts = accounts;
  }

  /** @throws Fault `insufficient_scope`, `project_not_found` */
  create(principal: Principal, projectId: ProjectId | null, draft: KeyDraft): IssuedKey {
    const project = projectFor(this.#accounts, principal, projectId);
    refuseUngrantable(principal, draft.scopes);
    userOf(principal, draft.userId);
    return this.#accounts.issueKey(project, draft);
  }

  /** @throws Fault `insufficient_scope`, `project_not_found`, `invalid_cursor` */
  list(principal: Principal, projectId: ProjectId | null, listing: Listing): Page<ApiKey> {
    return this.#accounts.listKeys(projectFor(this.#accounts, principal, projectId), listing);
  }

  /** @throws Fault `insufficient_scope`, `project_not_found`, `key_not_found` */
  change(principal: Principal, projectId: ProjectId | null, id: KeyId, change: KeyChange): ApiKey {
    const project = projectFor(this.#accounts, principal, projectId);
    this.#refuseStronger(principal, project, id);
    refuseUngrantable(principal, change.scopes ?? []);
    return this.#accounts.changeKey(project, id, change) ?? unknownKey(id);
  }

  /** @throws Fault `insufficient_scope`, `project_not_found`, `key_not_found` */
  rotate(principal: Principal, projectId: ProjectId | null, id: KeyId, graceMs: number): IssuedKey {
    const project = projectFor(this.#accounts, principal, projectId);
    this.#refuseStronger(principal, project, id);
    return this.#accounts.rotateKey(project, id, graceMs) ?? unknownKey(id);
  }

  /** @throws Fault `insufficient_scope`, `project_not_found`, `key_not_found` */
  remove(principal: Principal, projectId: ProjectId | null, id: KeyId): void {
    const project = projectFor(this.#accounts, principal, projectId);
    this.#refuseStronger(principal, project, id);
    if (!this.#accounts.removeKey(project, id)) unknownKey(id);
  }

  // Rotating a key shows a secret with its rights, and changing or ending it is a right over it: only who could have made
  // it may do so.
  #refuseStronger(principal: Principal, projectId: ProjectId, id: KeyId): void {
    const key = this.#accounts.key(projectId, id) ?? unknownKey(id);
    refuseUngrantable(principal, key.scopes);
  }
}

/**
 * The project that a request is about: the one it names, else the key's own.
 * @param param where the request names it.
 * @throws Fault `insufficient_scope` when a key without `admin` names another, `project_not_found`
 */
export function projectFor(
  accounts: AccountStore,
  principal: Principal,
  named: ProjectId | null,
  param = "projectId",
): ProjectId {
  if (named === null || named === principal.projectId) return principal.projectId;
  if (!allows(principal, "admin")) {
    throw new Fault("insufficient_scope", "Only a key with the scope 'admin' may name another project.", {
      param,
    });
  }
  if (accounts.project(named) === null) throw unknownProject(named, param);
  return named;
}

/** The fault of a project that is not there. */
export function unknownProject(id: string, param = "id"): Fault {
  return new Fault("project_not_found", `There is no project '${shortened(id)}'.`, { param });
}

function refuseUngrantable(principal: Principal, scopes: readonly KeyScope[]): void {
  if (mayGrant(principal, scopes)) return;
  const missing = scopes.filter((scope) => !mayGrant(principal, [scope]));
  throw new Fault(
    "insufficient_scope",
    `A key grants only what it holds itself; this one lacks ${missing.map((scope) => `'${scope}'`).join(", ")}.`,
    { param: "scopes" },
  );
}

function unknownKey(id: string): never {
  throw new Fault("key_not_found", `There is no key '${shortened(id)}' in this project.`, { param: "id" });
}
