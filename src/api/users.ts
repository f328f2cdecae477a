// The operations on /v1/users.

import { LIMITS } from "../domain/limits.ts";
import { profileSubject, userSubject } from "../ports/idempotency-store.ts";
import type { UserService } from "../services/users.ts";
import { checkJsonSize, checkMetadata } from "./drafts.ts";
import { checkCallerId } from "./ids.ts";
import { type Operation, operation } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/users.ts";
import { eventView, listView, userView } from "./views.ts";

/** The operations on /v1/users. */
export function userOperations(users: UserService): readonly Operation[] {
  return [
    operation({
      name: "upsertUser",
      group: "Users",
      summary: "Create or change a user. Absent fields stay unchanged, null clears a field.",
      method: "POST",
      path: "/v1/users",
      scope: "users:write",
      query: NoQuery,
      body: schema.UpsertUser,
      answers: { 200: schema.User },
      faults: ["metadata_too_large"],
      isIdempotent: true,
      run: async ({ principal, body, commit }) => {
        const { metadata, ...rest } = body;
        const draft = {
          ...rest,
          ...(metadata !== undefined && { metadata: metadata && checkMetadata(metadata, "metadata") }),
        };
        return commit(async (tx) => ({
          status: 200,
          body: userView(await users.upsert(tx, principal, draft)),
          subjects: [userSubject(draft.id), profileSubject(draft.id)],
        }));
      },
    }),

    operation({
      name: "listUsers",
      group: "Users",
      summary: "List users, newest first.",
      method: "GET",
      path: "/v1/users",
      scope: "users:read",
      query: schema.ListUsers,
      answers: { 200: schema.UserList },
      faults: ["invalid_cursor"],
      run: async ({ principal, query }) => {
        const page = await users.list(principal, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, userView) };
      },
    }),

    operation({
      name: "getUser",
      group: "Users",
      summary: "Read one user.",
      method: "GET",
      path: "/v1/users/:userId",
      scope: "users:read",
      query: NoQuery,
      answers: { 200: schema.User },
      faults: ["user_not_found"],
      run: async ({ principal, params }) => {
        return { status: 200, body: userView(await users.get(principal, checkCallerId(params.userId, "userId"))) };
      },
    }),

    operation({
      name: "deleteUser",
      group: "Users",
      summary: "Delete a user; with `cascade` also all memories, chats and events of the user, in one step.",
      method: "DELETE",
      path: "/v1/users/:userId",
      scope: "users:write",
      query: schema.DeleteUser,
      answers: { 204: null },
      faults: ["user_not_found"],
      run: async ({ principal, params, query, commit }) => {
        const userId = checkCallerId(params.userId, "userId");
        return commit(async (tx) => {
          await users.remove(tx, principal, userId, query.cascade ?? false);
          return { status: 204, body: null };
        });
      },
    }),

    operation({
      name: "createEvent",
      group: "Users",
      summary: "Log an event for a user. The user is created if necessary.",
      method: "POST",
      path: "/v1/users/:userId/events",
      scope: "users:write",
      query: NoQuery,
      body: schema.CreateEvent,
      answers: { 201: schema.Event },
      faults: ["metadata_too_large"],
      isIdempotent: true,
      run: async ({ principal, params, body, commit }) => {
        const userId = checkCallerId(params.userId, "userId");
        const data = checkJsonSize(body.data ?? {}, LIMITS.eventDataBytes, "data");
        return commit(async (tx) => {
          const event = await users.addEvent(tx, principal, userId, { type: body.type, data });
          return { status: 201, body: eventView(event) };
        });
      },
    }),

    operation({
      name: "listEvents",
      group: "Users",
      summary: "List a user's events, newest first.",
      method: "GET",
      path: "/v1/users/:userId/events",
      scope: "users:read",
      query: schema.ListEvents,
      answers: { 200: schema.EventList },
      faults: ["user_not_found", "invalid_cursor"],
      run: async ({ principal, params, query }) => {
        const listing = { limit: LIMITS.pageItemsDefault, ...query };
        const page = await users.events(principal, checkCallerId(params.userId, "userId"), listing);
        return { status: 200, body: listView(page, eventView) };
      },
    }),
  ];
}
