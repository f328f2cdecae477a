// Keys of projects and users, which other rows refer to. Profiles and lists of users are in user-store.ts.

import { Fault, invariant } from "../domain/fault.ts";
import type { ProjectId, UserKey } from "../domain/ids.ts";
import type { Dialect } from "./dialect.ts";
import { PROJECT_KEY } from "./rows/sql.ts";
import type { Session } from "./session.ts";

const FIND_PROJECT = "SELECT project_key FROM projects WHERE id = $project AND deleted_at IS NULL";

const FIND_USERS = ({ isIn }: Dialect) => `SELECT id, user_key, known_key FROM users
  WHERE project_key = $projectKey AND id ${isIn("ids", "text")}`;

// a user that becomes known again after `forget` is like a new one: first in the list, with an empty profile
const MAKE_KNOWN = ({ nextKnownUser }: Dialect) => `INSERT INTO users (project_key, id, known_key, created_at)
  VALUES ($projectKey, $userId, ${nextKnownUser}, $now)
  ON CONFLICT (project_key, id) DO UPDATE SET known_key = excluded.known_key, created_at = excluded.created_at,
    name = NULL, email = NULL, metadata = NULL, time_zone = NULL
  RETURNING id, user_key, known_key`;

type FoundUser = { readonly id: string; readonly user_key: bigint; readonly known_key: bigint | null };

/** The key of the user `$userId` of the project `$project`; NULL if there is no row of this user. */
export const USER_KEY = `(SELECT user_key FROM users
  WHERE id = $userId AND project_key = ${PROJECT_KEY})`;

/**
 * The key of an existing project, for new rows that refer to it.
 * @throws Fault `project_not_found` if the project does not exist or was removed
 */
export async function projectKeyOf(session: Session, projectId: ProjectId): Promise<bigint> {
  const project = await session.get<{ project_key: bigint }>(FIND_PROJECT, { project: projectId });
  if (project === null) throw new Fault("project_not_found", `There is no project ${projectId}.`);
  return project.project_key;
}

/** The key of a user that is or was known; null if there is no row of this user. */
export async function userKeyOf(session: Session, projectId: ProjectId, userId: string): Promise<UserKey | null> {
  const user = await session.get<{ user_key: bigint | null }>(`SELECT ${USER_KEY} AS user_key`, {
    project: projectId,
    userId,
  });
  return (user?.user_key ?? null) as UserKey | null;
}

/** The users of one project that a transaction refers to. Each is looked up once. */
export class UserKeys {
  readonly #found = new Map<string, FoundUser | null>();

  constructor(
    private readonly session: Session,
    readonly projectKey: bigint,
  ) {}

  /** Looks users up together. */
  async read(ids: Iterable<string>): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => !this.#found.has(id));
    if (missing.length === 0) return;
    for (const id of missing) this.#found.set(id, null);
    const params = { projectKey: this.projectKey, ids: missing };
    for (const user of await this.session.all<FoundUser>(FIND_USERS, params)) this.#found.set(user.id, user);
  }

  /** The key of a user that was read; null if there is no row of this user. */
  keyOf(id: string): bigint | null {
    return this.#found.get(id)?.user_key ?? null;
  }

  /**
   * Makes a user known and returns its key. A user that was not known gets `now` (Unix milliseconds) as `created_at`
   * and an empty profile.
   */
  async ensureKnown(id: string, now: number): Promise<bigint> {
    if (!this.#found.has(id)) await this.read([id]);
    const found = this.#found.get(id) ?? null;
    return found === null || found.known_key === null ? this.#makeKnown(id, now) : found.user_key;
  }

  async #makeKnown(id: string, now: number): Promise<bigint> {
    const made = await this.session.get<FoundUser>(MAKE_KNOWN, { projectKey: this.projectKey, userId: id, now });
    invariant(made !== null, "an upserted user returned no row");
    const { advanceKnownUsers } = this.session.dialect;
    if (advanceKnownUsers !== null) await this.session.run(advanceKnownUsers);
    this.#found.set(id, made);
    return made.user_key;
  }
}
