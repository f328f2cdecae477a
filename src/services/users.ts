// Users and their events. A key that is confined to one user sees only this user.

import { Fault } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import type { Page } from "../domain/page.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { User, UserDraft, UserEvent } from "../domain/user.ts";
import { shortened } from "../kit/shortened.ts";
import type { PublishedMemories } from "../ports/chunk-index.ts";
import { profileSubject, userSubject } from "../ports/idempotency-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Listing, UserStore } from "../ports/user-store.ts";
import { hideAfterCommit } from "./memories.ts";

/** What the service needs. */
export interface UserServiceDependencies {
  readonly users: UserStore;
  readonly index: PublishedMemories;
  readonly wakeIngest: () => void;
}

/** Users and events of one project. */
export class UserService {
  readonly #uses: UserServiceDependencies;

  constructor(uses: UserServiceDependencies) {
    this.#uses = uses;
  }

  /** @throws Fault `insufficient_scope` if a confined key names another user */
  async upsert({ users }: Transaction, viewer: Viewer, draft: UserDraft): Promise<User> {
    userOf(viewer, draft.id, "id");
    return users.upsert(viewer.projectId, draft);
  }

  /** @throws Fault `user_not_found`; `insufficient_scope` if a confined key names another user */
  async get(viewer: Viewer, userId: string): Promise<User> {
    userOf(viewer, userId);
    const user = await this.#uses.users.get(viewer.projectId, userId);
    if (user === null) throw unknownUser(userId);
    return user;
  }

  /** One page of users, newest first. A confined key sees only its own user. @throws Fault `invalid_cursor` */
  async list(viewer: Viewer, listing: Listing): Promise<Page<User>> {
    if (viewer.userId === null) return this.#uses.users.list(viewer.projectId, listing);
    if (listing.cursor !== undefined) {
      throw new Fault("invalid_cursor", "This list has one page only. Start without a cursor.", { param: "cursor" });
    }
    const own = await this.#uses.users.get(viewer.projectId, viewer.userId);
    return { items: own === null ? [] : [own], cursor: null };
  }

  /**
   * Removes a user's profile; with `cascade` also everything that the user owns, in the same transaction.
   * @throws Fault `user_not_found`; `insufficient_scope` if a confined key names another user
   */
  async remove(transaction: Transaction, viewer: Viewer, userId: string, cascade: boolean): Promise<void> {
    userOf(viewer, userId);
    const { users } = transaction;
    if (cascade && (await users.get(viewer.projectId, userId)) !== null) {
      const { index, wakeIngest } = this.#uses;
      const removed = await removeOwned(transaction, viewer.projectId, userId);
      hideAfterCommit(transaction, index, viewer.projectId, removed);
      transaction.afterCommit(wakeIngest);
    }
    if (!(await users.forget(viewer.projectId, userId))) throw unknownUser(userId);
    await transaction.idempotency.forget(viewer.projectId, [profileSubject(userId)]);
  }

  /** Logs an event; the user is created if necessary. @throws Fault `insufficient_scope` */
  async addEvent(
    { users }: Transaction,
    viewer: Viewer,
    userId: string,
    event: { readonly type: string; readonly data: JsonObject },
  ): Promise<UserEvent> {
    userOf(viewer, userId);
    return users.addEvent(viewer.projectId, userId, event);
  }

  /** @throws Fault `user_not_found`, `insufficient_scope`, `invalid_cursor` */
  async events(
    viewer: Viewer,
    userId: string,
    listing: Listing & { readonly type?: string },
  ): Promise<Page<UserEvent>> {
    await this.get(viewer, userId);
    return this.#uses.users.events(viewer.projectId, userId, listing);
  }
}

/** Removes what a user owns besides the profile. Returns the keys of the memories, which have to leave the index. */
export async function removeOwned(
  { memories, chats, users, deletions, cases, idempotency }: Transaction,
  projectId: ProjectId,
  userId: string,
): Promise<readonly MemoryKey[]> {
  const removed = await memories.removeAllOf(projectId, userId);
  await chats.removeAllOf(projectId, userId);
  await users.removeEvents(projectId, userId);
  await deletions.forgetUser(projectId, userId);
  await cases.forgetUser(projectId, userId);
  await idempotency.forget(projectId, [userSubject(userId)]);
  return removed;
}

function unknownUser(userId: string): Fault {
  return new Fault("user_not_found", `There is no user '${shortened(userId)}' in this project.`, { param: "userId" });
}
