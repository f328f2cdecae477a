// Keys of projects and users, which other rows refer to. Profiles and lists of users are in user-store.ts.

import { Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId, UserKey } from "../../domain/ids.ts";
import type { SqliteDatabase } from "./database.ts";

const FIND_PROJECT = "SELECT project_key FROM projects WHERE id = $project AND deleted_at IS NULL";

const FIND_USER = "SELECT user_key, known_key FROM users WHERE project_key = $projectKey AND id = $userId";

const NEXT_KNOWN_KEY = "UPDATE sequences SET next = next + 1 WHERE name = 'known_user' RETURNING next - 1 AS known_key";

// a user that becomes known again after `forget` is like a new one: first in the list, with an empty profile
const MAKE_KNOWN = `INSERT INTO users (project_key, id, known_key, created_at)
  VALUES ($projectKey, $userId, $knownKey, $now)
  ON CONFLICT (project_key, id) DO UPDATE SET known_key = excluded.known_key, created_at = excluded.created_at,
    name = NULL, email = NULL, metadata = NULL
  RETURNING user_key`;

/** The key of the user `$userId` of the project `$project`; null if nothing ever referred to this user. */
export const USER_KEY = `(SELECT user_key FROM users
  WHERE id = $userId AND project_key = (SELECT project_key FROM projects WHERE id = $project))`;

/**
 * The key of an existing project, for new rows that refer to it.
 * @throws Fault `project_not_found` if the project does not exist or was removed
 */
export function projectKeyOf(database: SqliteDatabase, projectId: ProjectId): bigint {
  const project = database
    .prepare<{ project_key: bigint }, { project: string }>(FIND_PROJECT)
    .get({ project: projectId });
  if (project === null) throw new Fault("project_not_found", `There is no project ${projectId}.`);
  return project.project_key;
}

/** The key of a user that is or was known; null if nothing ever referred to this user. */
export function userKeyOf(database: SqliteDatabase, projectId: ProjectId, userId: string): UserKey | null {
  const user = database
    .prepare<{ user_key: bigint | null }, { project: string; userId: string }>(`SELECT ${USER_KEY} AS user_key`)
    .get({ project: projectId, userId });
  return (user?.user_key ?? null) as UserKey | null;
}

/**
 * Makes a user known and returns its key. A user that was not known gets `now` as `created_at` and an empty profile.
 * Must be called in the transaction that stores a row with this user's key.
 * @param now Unix milliseconds
 */
export function ensureKnownUser(database: SqliteDatabase, projectKey: bigint, userId: string, now: number): bigint {
  const found = database
    .prepare<{ user_key: bigint; known_key: bigint | null }, { projectKey: bigint; userId: string }>(FIND_USER)
    .get({ projectKey, userId });
  if (found !== null && found.known_key !== null) return found.user_key;
  const next = database.prepare<{ known_key: bigint }>(NEXT_KNOWN_KEY).get({});
  invariant(next !== null, "the counter of known users is missing");
  const made = database
    .prepare<{ user_key: bigint }, { projectKey: bigint; userId: string; knownKey: bigint; now: number }>(MAKE_KNOWN)
    .get({ projectKey, userId, knownKey: next.known_key, now });
  invariant(made !== null, "an upserted user returned no row");
  return made.user_key;
}
