// API keys. A caller may grant only its own scopes, in its own project; an admin may grant any scope in any project.

import { Fault } from "../domain/fault.ts";
import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../domain/key.ts";
import type { Page } from "../domain/page.ts";
import type { Project } from "../domain/project.ts";
import { allows, type KeyScope, mayGrant, type Principal, userOf } from "../domain/scope.ts";
import { shortened } from "../kit/shortened.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";

/** Keys of one project. */
export class KeyService {
  readonly #accounts: AccountStore;

  constructor(accounts: AccountStore) {
    this.#accounts = accounts;
  }

  /**
   * @throws Fault `insufficient_scope` if the caller may not use the project or grant the scopes; `project_not_found`
   */
  async create(
    { accounts }: Transaction,
    principal: Principal,
    projectId: ProjectId | null,
    draft: KeyDraft,
  ): Promise<IssuedKey> {
    const project = await projectFor(accounts, principal, projectId);
    refuseUngrantable(principal, draft.scopes);
    userOf(principal, draft.userId);
    return accounts.issueKey(project, draft);
  }

  /**
   * The key of the caller, and its project. Any key may ask.
   * @throws Fault `invalid_api_key` if it has just been revoked
   */
  async current({ projectId, keyId }: Principal): Promise<{ readonly key: ApiKey; readonly project: Project }> {
    const [key, project] = await Promise.all([this.#accounts.key(projectId, keyId), this.#accounts.project(projectId)]);
    if (key === null || project === null) throw new Fault("invalid_api_key", "The API key is not valid any more.");
    return { key, project };
  }

  /** @throws Fault `insufficient_scope` if the caller may not use the project; `project_not_found`; `invalid_cursor` */
  async list(principal: Principal, projectId: ProjectId | null, listing: Listing): Promise<Page<ApiKey>> {
    return this.#accounts.listKeys(await projectFor(this.#accounts, principal, projectId), listing);
  }

  /**
   * @throws Fault `insufficient_scope` if the caller may not use the project, or could not grant the key's scopes;
   *   `project_not_found`; `key_not_found`
   */
  async change(
    { accounts }: Transaction,
    principal: Principal,
    projectId: ProjectId | null,
    id: KeyId,
    change: KeyChange,
  ): Promise<ApiKey> {
    const project = await projectFor(accounts, principal, projectId);
    await refuseStronger(accounts, principal, project, id);
    refuseUngrantable(principal, change.scopes ?? []);
    return (await accounts.changeKey(project, id, change)) ?? unknownKey(id);
  }

  /**
   * @throws Fault `insufficient_scope` if the caller may not use the project, or could not grant the key's scopes;
   *   `project_not_found`; `key_not_found`
   */
  async rotate(
    { accounts }: Transaction,
    principal: Principal,
    projectId: ProjectId | null,
    id: KeyId,
    graceMs: number,
  ): Promise<IssuedKey> {
    const project = await projectFor(accounts, principal, projectId);
    await refuseStronger(accounts, principal, project, id);
    return (await accounts.rotateKey(project, id, graceMs)) ?? unknownKey(id);
  }

  /**
   * @throws Fault `insufficient_scope` if the caller may not use the project, or could not grant the key's scopes;
   *   `project_not_found`; `key_not_found`
   */
  async remove({ accounts }: Transaction, principal: Principal, projectId: ProjectId | null, id: KeyId): Promise<void> {
    const project = await projectFor(accounts, principal, projectId);
    await refuseStronger(accounts, principal, project, id);
    if (!(await accounts.removeKey(project, id))) unknownKey(id);
  }
}

// Only a caller who could have created the key may rotate, change or remove it: otherwise, rotating a key would give
// the caller a secret with scopes that the caller may not grant.
async function refuseStronger(
  accounts: AccountStore,
  principal: Principal,
  projectId: ProjectId,
  id: KeyId,
): Promise<void> {
  const key = (await accounts.key(projectId, id)) ?? unknownKey(id);
  refuseUngrantable(principal, key.scopes);
}

/**
 * The project that a request concerns: the project that it names, otherwise the key's own.
 * @param param where the request names the project.
 * @throws Fault `insufficient_scope` if a key without `admin` names another project; `project_not_found`
 */
export async function projectFor(
  accounts: AccountStore,
  principal: Principal,
  named: ProjectId | null,
  param = "projectId",
): Promise<ProjectId> {
  if (named === null || named === principal.projectId) return principal.projectId;
  if (!allows(principal, "admin")) {
    throw new Fault("insufficient_scope", "Only a key with the scope 'admin' may name another project.", {
      param,
    });
  }
  if ((await accounts.project(named)) === null) throw unknownProject(named, param);
  return named;
}

/** The Fault for a project that does not exist. */
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
