// Functions on projects and users that several in-memory stores use.

import { PROJECT_SECRET_BYTES } from "../../src/domain/chunk-ids.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId, UserKey } from "../../src/domain/ids.ts";
import type { CursorBinding } from "../../src/domain/page.ts";
import { keyOf, type ProjectRow, type Session, type UserRow } from "./session.ts";

/** A project; null if it was removed or never existed. */
export function openProject({ tables }: Session, id: ProjectId): ProjectRow | null {
  const row = tables.projects.get(id);
  return row === undefined || row.deletedAt !== null ? null : row;
}

/**
 * A project that must exist.
 * @throws Fault `project_not_found` if it was removed or never existed
 */
export function existingProject(session: Session, id: ProjectId): ProjectRow {
  const row = openProject(session, id);
  if (row === null) throw new Fault("project_not_found", `There is no project ${id}.`);
  return row;
}

/** Secret of a project that does not exist. Its lists are empty. */
export const NO_SECRET = new Uint8Array(PROJECT_SECRET_BYTES);

/** What the cursors of a project's list are bound to. */
export function cursorBinding(
  { tables }: Session,
  projectId: ProjectId,
  parts: readonly [kind: string, ...(string | null)[]],
): CursorBinding {
  return {
    list: JSON.stringify([projectId, ...parts]),
    secret: () => tables.projects.get(projectId)?.secret ?? NO_SECRET,
  };
}

/** The key of a user; null if no request ever named this user id. A user keeps its key after `forget`. */
export function userKeyOf({ tables }: Session, projectId: ProjectId, userId: string): UserKey | null {
  return tables.users.get(keyOf(projectId, userId))?.key ?? null;
}

/**
 * Puts a user into the list of users, unless it is there already. A user that is added gets an empty profile and is the
 * first of the list.
 */
export function nameUser(session: Session, projectId: ProjectId, userId: string): UserRow {
  const known = session.tables.users.get(keyOf(projectId, userId));
  if (known !== undefined && known.knownKey !== null) return known;
  return session.tables.users.set(keyOf(projectId, userId), {
    key: known?.key ?? (session.next("user") as UserKey),
    projectId,
    knownKey: session.next("known user"),
    user: { id: userId, name: null, email: null, metadata: null, createdAt: session.now },
  });
}
