// The first API key of a server.

import type { ProjectId } from "../domain/ids.ts";
import type { AccountStore } from "../ports/account-store.ts";

/**
 * Stores the operator's key if one is configured. Otherwise creates an admin key if there is none yet. Returns the
 * secret of a key that it created, which is shown only once; otherwise null.
 */
export async function ensureAdminKey(
  accounts: AccountStore,
  projectId: ProjectId,
  adminKey: string | null,
): Promise<string | null> {
  if (adminKey !== null) {
    await accounts.setOperatorKey(adminKey);
    return null;
  }
  if (await accounts.hasAdminKey(projectId)) return null;
  const draft = { name: "admin", scopes: ["*", "admin"], userId: null, expiresAt: null } as const;
  return (await accounts.issueKey(projectId, draft)).secret;
}
