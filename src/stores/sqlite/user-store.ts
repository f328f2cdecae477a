// UserStore on SQLite: users and their events. user-rows.ts makes users known. Memories and chats of users are in other
// stores; their rows refer to the same rows of users.

import { invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/memory.ts";
import { decodeCursor, type Page, pageOf } from "../../domain/page.ts";
import type { User, UserDraft, UserEvent } from "../../domain/user.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Listing, UserStore } from "../../ports/user-store.ts";
import { newId, type RandomBytes, systemRandom } from "../rows/random.ts";
import { PROJECT_KEY } from "../rows/sql.ts";
import {
  EVENT_COLUMNS,
  type EventRow,
  type ProfileColumns,
  profileColumns,
  toEvent,
  toUser,
  USER_COLUMNS,
  type UserRow,
} from "../rows/user.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { SqliteDatabase } from "./database.ts";
import { ensureKnownUser, projectKeyOf, USER_KEY } from "./user-rows.ts";

// a flag per field tells whether the field was given, because null is a value that clears it
const CHANGE_PROFILE = `UPDATE users SET
    name = iif($hasName, $name, name),
    email = iif($hasEmail, $email, email),
    metadata = iif($hasMetadata, $metadata, metadata)
  WHERE user_key = $userKey RETURNING ${USER_COLUMNS}`;

const FIND_KNOWN = `SELECT ${USER_COLUMNS} FROM users
  WHERE id = $userId AND project_key = ${PROJECT_KEY} AND known_key IS NOT NULL`;

const LIST_USERS = `SELECT ${USER_COLUMNS} FROM users
  WHERE project_key = ${PROJECT_KEY} AND known_key IS NOT NULL ORDER BY known_key DESC LIMIT $rows`;
const LIST_USERS_BEFORE = `SELECT ${USER_COLUMNS} FROM users
  WHERE project_key = ${PROJECT_KEY} AND known_key < $before ORDER BY known_key DESC LIMIT $rows`;

const FORGET = `UPDATE users SET known_key = NULL, name = NULL, email = NULL, metadata = NULL
  WHERE id = $userId AND project_key = ${PROJECT_KEY} AND known_key IS NOT NULL`;

const ADD_EVENT = `INSERT INTO user_events (id, user_key, type, data, created_at)
  VALUES ($id, $userKey, $type, $data, $now) RETURNING ${EVENT_COLUMNS}`;

const REMOVE_EVENTS = `DELETE FROM user_events WHERE user_key = ${USER_KEY}`;

type OneUser = { readonly project: string; readonly userId: string };

/** UserStore on SQLite. */
export class SqliteUserStore implements UserStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #random: RandomBytes;

  constructor(options: { readonly database: SqliteDatabase; readonly clock: Clock; readonly random?: RandomBytes }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#random = options.random ?? systemRandom;
  }

  upsert(projectId: ProjectId, draft: UserDraft): User {
    return this.#database.transaction(() => {
      const userKey = this.#ensureKnown(projectId, draft.id, this.#clock.now());
      const row = this.#database.prepare<UserRow, ProfileColumns & { userKey: bigint }>(CHANGE_PROFILE).get({
        userKey,
        ...profileColumns(draft),
      });
      invariant(row !== null, "a user disappeared within its own upsert");
      return toUser(row);
    });
  }

  get(projectId: ProjectId, userId: string): User | null {
    const row = this.#database.prepare<UserRow, OneUser>(FIND_KNOWN).get({ project: projectId, userId });
    return row === null ? null : toUser(row);
  }

  list(projectId: ProjectId, { limit, cursor }: Listing): Page<User> {
    const binding = cursorBinding(this.#database, projectId, ["users"]);
    // one row more than requested shows whether another page follows
    const params = { project: projectId, rows: limit + 1 };
    const rows =
      cursor === undefined
        ? this.#database.prepare<UserRow, { project: string; rows: number }>(LIST_USERS).all(params)
        : this.#database
            .prepare<UserRow, { project: string; rows: number; before: bigint }>(LIST_USERS_BEFORE)
            .all({ ...params, before: decodeCursor(cursor, binding) });
    return pageOf(rows, { limit, binding, keyOf: (row) => row.known_key, toItems: (page) => page.map(toUser) });
  }

  forget(projectId: ProjectId, userId: string): boolean {
    return this.#database.prepare<never, OneUser>(FORGET).run({ project: projectId, userId }) === 1;
  }

  addEvent(
    projectId: ProjectId,
    userId: string,
    event: { readonly type: string; readonly data: JsonObject },
  ): UserEvent {
    return this.#database.transaction(() => {
      const now = this.#clock.now();
      const row = this.#database
        .prepare<EventRow, { id: string; userKey: bigint; type: string; data: string; now: number }>(ADD_EVENT)
        .get({
          id: newId("evt", now, this.#random),
          userKey: this.#ensureKnown(projectId, userId, now),
          type: event.type,
          data: JSON.stringify(event.data),
          now,
        });
      invariant(row !== null, "an inserted event returned no row");
      return toEvent(row, userId);
    });
  }

  events(projectId: ProjectId, userId: string, listing: Listing & { readonly type?: string }): Page<UserEvent> {
    const { type = null, limit, cursor } = listing;
    const binding = cursorBinding(this.#database, projectId, ["events", userId, type]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    // one statement per combination of conditions, so that each uses its own index
    const conditions = [`user_key = ${USER_KEY}`];
    if (type !== null) conditions.push("type = $type");
    if (before !== null) conditions.push("event_key < $before");
    const rows = this.#database
      .prepare<EventRow, Record<string, string | bigint | number>>(
        `SELECT ${EVENT_COLUMNS} FROM user_events WHERE ${conditions.join(" AND ")}
         ORDER BY event_key DESC LIMIT $rows`,
      )
      .all({
        project: projectId,
        userId,
        rows: limit + 1,
        ...(type !== null && { type }),
        ...(before !== null && { before }),
      });
    const toItems = (page: readonly EventRow[]) => page.map((row) => toEvent(row, userId));
    return pageOf(rows, { limit, binding, keyOf: (row) => row.event_key, toItems });
  }

  removeEvents(projectId: ProjectId, userId: string): void {
    this.#database.prepare<never, OneUser>(REMOVE_EVENTS).run({ project: projectId, userId });
  }

  #ensureKnown(projectId: ProjectId, userId: string, now: number): bigint {
    return ensureKnownUser(this.#database, projectKeyOf(this.#database, projectId), userId, now);
  }
}
