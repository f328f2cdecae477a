// What callers do with users and their events; a key that is confined to a user knows no other.

import { userSubject } from "../account/idempotency.ts";
import { Fault } from "../domain/fault.ts";
import type { JsonObject } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { User, UserDraft, UserEvent } from "../domain/user.ts";
import { shortened } from "../kit/shortened.ts";
import type { ChatStore } from "../ports/chat-store.ts";
import type { ChunkIndex, ProjectIndex } from "../ports/chunk-index.ts";
import type { IdempotencyStore } from "../ports/idempotency-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Transactions } from "../ports/transactions.ts";
import type { Listing, UserStore } from "../ports/user-store.ts";

/** What the service stands on. */
export interface UserServiceParts {
  readonly users: UserStore;
  readonly chats: Pick<ChatStore, "removeAllOf">;
  readonly memories: Pick<MemoryStore, "removeAllOf">;
  readonly idempotency: Pick<IdempotencyStore, "forget">;
  readonly index: ChunkIndex;
  readonly transactions: Transactions;
  readonly wakeIngest: () => void;
}

/** Users and events of one project. What changes something is synchronous: it runs inside the caller's transaction. */
export class UserService {
  readonly #parts: UserServiceParts;

  constructor(parts: UserServiceParts) {
    this.#parts = parts;
  }

  /** @throws Fault `insufficient_scope` for another user than a confined key's. */
  upsert(viewer: Viewer, draft: UserDraft): User {
    userOf(viewer, draft.id, "id");
    return this.#parts.users.upsert(viewer.projectId, draft);
  }

  /** @throws Fault `user_not_found`, `insufficient_scope` */
  get(viewer: Viewer, userId: string): User {
    userOf(viewer, userId);
    const user = this.#parts.users.get(viewer.projectId, userId);
    if (user === null) throw unknownUser(userId);
    return user;
  }

  /** A confined key sees its own user only. @throws Fault `invalid_cursor` */
  list(viewer: Viewer, listing: Listing): Page<User> {
    if (viewer.userId === null) return this.#parts.users.list(viewer.projectId, listing);
    if (listing.cursor !== undefined) {
      throw new Fault("invalid_cursor", "This list has one page only. Start without a cursor.", { param: "cursor" });
    }
    const own = this.#parts.users.get(viewer.projectId, viewer.userId);
    return { items: own === null ? [] : [own], cursor: null };
  }

  /** To be awaited before `remove`: what it needs that takes time. */
  openIndex(viewer: Viewer): Promise<ProjectIndex> {
    return this.#parts.index.project(viewer.projectId);
  }

  /**
   * The profile goes; with `cascade` everything that the user owns goes with it, in one step.
   * @throws Fault `user_not_found`, `insufficient_scope`
   */
  remove(viewer: Viewer, userId: string, cascade: boolean, index: ProjectIndex): void {
    userOf(viewer, userId);
    const { users, chats, memories, idempotency, transactions, wakeIngest } = this.#parts;
    const { projectId } = viewer;
    if (cascade && users.get(projectId, userId) !== null) {
      const removed = memories.removeAllOf(projectId, userId);
      chats.removeAllOf(projectId, userId);
      users.removeEvents(projectId, userId);
      idempotency.forget(projectId, [userSubject(userId)]);
      transactions.afterCommit(() => {
        index.hide(removed);
        wakeIngest();
      });
    }
    if (!users.forget(projectId, userId)) throw unknownUser(userId);
  }

  /** Logs an event; the user becomes known. @throws Fault `insufficient_scope` */
  addEvent(viewer: Viewer, userId: string, event: { readonly type: string; readonly data: JsonObject }): UserEvent {
    userOf(viewer, userId);
    return this.#parts.users.addEvent(viewer.projectId, userId, event);
  }

  /** @throws Fault `user_not_found`, `insufficient_scope`, `invalid_cursor` */
  events(viewer: Viewer, userId: string, listing: Listing & { readonly type?: string }): Page<UserEvent> {
    this.get(viewer, userId);
    return this.#parts.users.events(viewer.projectId, userId, listing);
  }
}

function unknownUser(userId: string): Fault {
  return new Fault("user_not_found", `There is no user '${shortened(userId)}' in this project.`, { param: "userId" });
}
