// Implements UserStore: users and their events. user-rows.ts makes users known.

import { invariant } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import { decodeCursor, type Page, pageOf } from "../domain/page.ts";
import type { User, UserDraft, UserEvent } from "../domain/user.ts";
import type { Listing, UserStore } from "../ports/user-store.ts";
import type { StoreContext } from "./context.ts";
import { cursorBinding } from "./cursor-binding.ts";
import { type PagedList, readPage } from "./pages.ts";
import { newId } from "./rows/random.ts";
import { PROJECT_KEY } from "./rows/sql.ts";
import {
  EVENT_COLUMNS,
  type EventRow,
  profileColumns,
  toEvent,
  toUser,
  USER_COLUMNS,
  type UserRow,
} from "./rows/user.ts";
import type { Session } from "./session.ts";
import { projectKeyOf, USER_KEY, UserKeys } from "./user-rows.ts";

// a flag per field tells whether the field was given, because null is a value that clears it
const CHANGE_PROFILE = `UPDATE users SET
    name = CASE WHEN CAST($hasName AS bigint) = 1 THEN $name ELSE name END,
    email = CASE WHEN CAST($hasEmail AS bigint) = 1 THEN $email ELSE email END,
    metadata = CASE WHEN CAST($hasMetadata AS bigint) = 1 THEN $metadata ELSE metadata END,
    time_zone = CASE WHEN CAST($hasTimeZone AS bigint) = 1 THEN $timeZone ELSE time_zone END
  WHERE user_key = $userKey RETURNING ${USER_COLUMNS}`;

const FIND_KNOWN = `SELECT ${USER_COLUMNS} FROM users
  WHERE id = $userId AND project_key = ${PROJECT_KEY} AND known_key IS NOT NULL`;

const LIST_USERS = `SELECT ${USER_COLUMNS} FROM users
  WHERE project_key = ${PROJECT_KEY} AND known_key IS NOT NULL ORDER BY known_key DESC LIMIT $rows`;
const LIST_USERS_BEFORE = `SELECT ${USER_COLUMNS} FROM users
  WHERE project_key = ${PROJECT_KEY} AND known_key < $before ORDER BY known_key DESC LIMIT $rows`;

const FORGET = `UPDATE users SET known_key = NULL, name = NULL, email = NULL, metadata = NULL, time_zone = NULL
  WHERE id = $userId AND project_key = ${PROJECT_KEY} AND known_key IS NOT NULL`;

const ADD_EVENT = `INSERT INTO user_events (id, user_key, type, data, created_at)
  VALUES ($id, $userKey, $type, $data, $now) RETURNING ${EVENT_COLUMNS}`;

const REMOVE_EVENTS = `DELETE FROM user_events WHERE user_key = ${USER_KEY}`;

/** Users and events. */
export class StoredUsers implements UserStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async upsert(projectId: ProjectId, draft: UserDraft): Promise<User> {
    const userKey = await this.#ensureKnown(projectId, draft.id, this.context.clock.now());
    const row = await this.session.get<UserRow>(CHANGE_PROFILE, { userKey, ...profileColumns(draft) });
    invariant(row !== null, "a user disappeared within its own upsert");
    return toUser(row);
  }

  async get(projectId: ProjectId, userId: string): Promise<User | null> {
    const row = await this.session.get<UserRow>(FIND_KNOWN, { project: projectId, userId });
    return row === null ? null : toUser(row);
  }

  async list(projectId: ProjectId, listing: Listing): Promise<Page<User>> {
    const list: PagedList<UserRow, User> = {
      ...{ first: LIST_USERS, next: LIST_USERS_BEFORE, params: { project: projectId } },
      binding: await cursorBinding(this.session, projectId, ["users"]),
      keyOf: (row) => row.known_key,
      toItem: toUser,
    };
    return readPage(this.session, list, listing);
  }

  async forget(projectId: ProjectId, userId: string): Promise<boolean> {
    return (await this.session.run(FORGET, { project: projectId, userId })) === 1;
  }

  async addEvent(
    projectId: ProjectId,
    userId: string,
    event: { readonly type: string; readonly data: JsonObject },
  ): Promise<UserEvent> {
    const now = this.context.clock.now();
    const row = await this.session.get<EventRow>(ADD_EVENT, {
      id: newId("evt", now, this.context.random),
      userKey: await this.#ensureKnown(projectId, userId, now),
      type: event.type,
      data: JSON.stringify(event.data),
      now,
    });
    invariant(row !== null, "an inserted event returned no row");
    return toEvent(row, userId);
  }

  async events(
    projectId: ProjectId,
    userId: string,
    listing: Listing & { readonly type?: string },
  ): Promise<Page<UserEvent>> {
    const { type = null, limit, cursor } = listing;
    const binding = await cursorBinding(this.session, projectId, ["events", userId, type]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    // one statement per combination of conditions, so that each uses its own index
    const conditions = [`user_key = ${USER_KEY}`];
    if (type !== null) conditions.push("type = $type");
    if (before !== null) conditions.push("event_key < $before");
    const rows = await this.session.all<EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM user_events WHERE ${conditions.join(" AND ")} ORDER BY event_key DESC LIMIT $rows`,
      // one row more than requested shows whether another page follows
      { project: projectId, userId, rows: limit + 1, type, before },
    );
    const toItems = (page: readonly EventRow[]) => page.map((row) => toEvent(row, userId));
    return pageOf(rows, { limit, binding, keyOf: (row) => row.event_key, toItems });
  }

  async removeEvents(projectId: ProjectId, userId: string): Promise<void> {
    await this.session.run(REMOVE_EVENTS, { project: projectId, userId });
  }

  async #ensureKnown(projectId: ProjectId, userId: string, now: number): Promise<bigint> {
    return new UserKeys(this.session, await projectKeyOf(this.session, projectId)).ensureKnown(userId, now);
  }
}
