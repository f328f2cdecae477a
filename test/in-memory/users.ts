// UserStore in memory.

import type { EventId, ProjectId } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/memory.ts";
import { decodeCursor, type Page, pageOf } from "../../src/domain/page.ts";
import type { User, UserDraft, UserEvent } from "../../src/domain/user.ts";
import type { Listing, UserStore } from "../../src/ports/user-store.ts";
import { cursorBinding, existingProject, nameUser } from "./projects.ts";
import { type EventRow, jsonCopy, keyOf, type Session, type Synchronous, type UserRow } from "./session.ts";

/** UserStore in memory. */
export class InMemoryUsers implements Synchronous<UserStore> {
  constructor(private readonly session: Session) {}

  upsert(projectId: ProjectId, draft: UserDraft): User {
    existingProject(this.session, projectId);
    const row = nameUser(this.session, projectId, draft.id);
    const user = { ...row.user, ...jsonCopy(draft) };
    return this.session.tables.users.set(keyOf(projectId, draft.id), { ...row, user }).user;
  }

  get(projectId: ProjectId, userId: string): User | null {
    return this.#known(projectId, userId)?.user ?? null;
  }

  list(projectId: ProjectId, { limit, cursor }: Listing): Page<User> {
    const binding = cursorBinding(this.session, projectId, ["users"]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    const place = ({ knownKey }: UserRow) => knownKey ?? 0n;
    const rows = this.session.tables.users
      .rows((row) => row.projectId === projectId && row.knownKey !== null && (before === null || place(row) < before))
      .sort((a, b) => (place(a) < place(b) ? 1 : -1));
    const toItems = (page: readonly UserRow[]) => page.map(({ user }) => user);
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: place, toItems });
  }

  forget(projectId: ProjectId, userId: string): boolean {
    const row = this.#known(projectId, userId);
    if (row === null) return false;
    const user = { ...row.user, name: null, email: null, metadata: null };
    this.session.tables.users.set(keyOf(projectId, userId), { ...row, user, knownKey: null });
    return true;
  }

  addEvent(
    projectId: ProjectId,
    userId: string,
    { type, data }: { readonly type: string; readonly data: JsonObject },
  ): UserEvent {
    existingProject(this.session, projectId);
    nameUser(this.session, projectId, userId);
    const id = this.session.newId("evt") as EventId;
    const event = { id, userId, type, data: jsonCopy(data), createdAt: this.session.now };
    const key = this.session.next("event");
    return this.session.tables.events.set(key, { key, projectId, event }).event;
  }

  events(
    projectId: ProjectId,
    userId: string,
    { limit, cursor, type }: Listing & { readonly type?: string },
  ): Page<UserEvent> {
    const binding = cursorBinding(this.session, projectId, ["events", userId, type ?? null]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    const rows = this.#eventsOf(projectId, userId)
      .filter(({ key, event }) => (type ?? event.type) === event.type && (before === null || key < before))
      .reverse();
    const toItems = (page: readonly EventRow[]) => page.map(({ event }) => event);
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: ({ key }) => key, toItems });
  }

  removeEvents(projectId: ProjectId, userId: string): void {
    for (const { key } of this.#eventsOf(projectId, userId)) this.session.tables.events.delete(key);
  }

  #known(projectId: ProjectId, userId: string): UserRow | null {
    const row = this.session.tables.users.get(keyOf(projectId, userId));
    return row === undefined || row.knownKey === null ? null : row;
  }

  #eventsOf(projectId: ProjectId, userId: string): EventRow[] {
    return this.session.tables.events.rows((row) => row.projectId === projectId && row.event.userId === userId);
  }
}
