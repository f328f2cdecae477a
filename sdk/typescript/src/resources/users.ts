// The users of the caller's application, and events that are logged for them.

import {
  createEvent,
  deleteUser,
  type Event,
  type GetProfileData,
  getProfile,
  getUser,
  listEvents,
  listUsers,
  type Profile,
  type UpsertUserData,
  type User,
  upsertUser,
} from "../core/index.ts";
import { List } from "../list.ts";
import type { CallOptions, Transport, WriteOptions } from "../transport.ts";
import type { UserChange } from "../types.ts";

/** The operations on users. */
export class Users {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a user, or changes one: an absent field stays, null clears it. */
  upsert(id: string, change: UserChange = {}, options?: WriteOptions): Promise<User> {
    const body: UpsertUserData["body"] = { ...change, id };
    return this.#transport.call((core) => upsertUser({ ...core, body }), "keyed", options);
  }

  /** Lists users, newest first. */
  list(params: { readonly limit?: number } = {}, options?: CallOptions): List<User> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listUsers({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads a user. */
  get(id: string, options?: CallOptions): Promise<User> {
    return this.#transport.call((core) => getUser({ ...core, path: { userId: id } }), "always", options);
  }

  /** Reads what is known of a user: facts that hold now, preferences, people and events. */
  profile(id: string, query: GetProfileData["query"] = {}, options?: CallOptions): Promise<Profile> {
    return this.#transport.call((core) => getProfile({ ...core, path: { userId: id }, query }), "always", options);
  }

  /** Deletes a user; with `cascade` also the user's memories, chats and events. */
  delete(id: string, options: CallOptions & { readonly cascade?: boolean } = {}): Promise<void> {
    const { cascade = false } = options;
    return this.#transport.remove((core) => deleteUser({ ...core, path: { userId: id }, query: { cascade } }), options);
  }

  /** Logs an event for a user. */
  addEvent(id: string, type: string, data?: Record<string, unknown>, options?: WriteOptions): Promise<Event> {
    const body = { type, ...(data !== undefined && { data }) };
    return this.#transport.call((core) => createEvent({ ...core, path: { userId: id }, body }), "keyed", options);
  }

  /** Lists the events of a user, newest first. */
  events(
    id: string,
    params: { readonly limit?: number; readonly type?: string } = {},
    options?: CallOptions,
  ): List<Event> {
    return new List((cursor) =>
      this.#transport.call(
        (core) =>
          listEvents({ ...core, path: { userId: id }, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }
}
