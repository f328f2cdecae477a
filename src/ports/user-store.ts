// The application's users and their events. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). A user becomes known when a memory, chat, event or `upsert` refers to it. `forget` makes it
// unknown again. `get` and `list` return known users only. Lists are keyset-paged, newest first, and stable under
// inserts and deletes.

import type { ProjectId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import type { Page } from "../domain/page.ts";
import type { User, UserDraft, UserEvent } from "../domain/user.ts";

/** One page of a list. */
export interface Listing {
  readonly limit: number;
  readonly cursor?: string;
}

/** Users and events. */
export interface UserStore {
  /** Makes the user known and sets the given fields (see UserDraft). */
  upsert(projectId: ProjectId, draft: UserDraft): Promise<User>;
  /** Returns null if the user is not known. */
  get(projectId: ProjectId, userId: string): Promise<User | null>;
  /** @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged */
  list(projectId: ProjectId, listing: Listing): Promise<Page<User>>;
  /**
   * Erases the profile. The user is no longer known; the user's memories, chats and events stay. Returns false if the
   * user was not known.
   */
  forget(projectId: ProjectId, userId: string): Promise<boolean>;

  /** Stores an event. Makes the user known. */
  addEvent(
    projectId: ProjectId,
    userId: string,
    event: { readonly type: string; readonly data: JsonObject },
  ): Promise<UserEvent>;
  /**
   * Events of a user, newest first. Empty for a user without events.
   * @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged
   */
  events(projectId: ProjectId, userId: string, listing: Listing & { readonly type?: string }): Promise<Page<UserEvent>>;
  /** Removes all events of a user for good. */
  removeEvents(projectId: ProjectId, userId: string): Promise<void>;
}
