// The operations on /v1/users.

import { LIMITS } from "../domain/limits.ts";
import type { User, UserEvent } from "../domain/user.ts";
import { isoTime } from "../kit/clock.ts";
import { profileSubject, userSubject } from "../ports/idempotency-store.ts";
import type { UserService } from "../services/users.ts";
import { checkJsonSize, checkMetadata, checkTimeZone } from "./drafts.ts";
import { checkCallerId } from "./ids.ts";
import { changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/users.ts";
import { listView, type View } from "./views.ts";

/** The operations on /v1/users. */
export function userOperations(users: UserService): readonly Operation[] {
  return [
    changing({
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
      prepare: ({ body: { metadata, time_zone } }) => {
        if (metadata != null) checkMetadata(metadata, "metadata");
        if (time_zone != null) checkTimeZone(time_zone, "time_zone");
      },
      change: (tx, { principal, body: { time_zone, ...profile } }) =>
        users.upsert(tx, principal, { ...profile, ...(time_zone !== undefined && { timeZone: time_zone }) }),
      answer: (user) => ({
        status: 200,
        body: userView(user),
        subjects: [userSubject(user.id), profileSubject(user.id)],
      }),
    }),

    reading({
      name: "listUsers",
      group: "Users",
      summary: "List users, newest first.",
      method: "GET",
      path: "/v1/users",
      scope: "users:read",
      query: schema.ListUsers,
      answers: { 200: schema.UserList },
      faults: ["invalid_cursor"],
      read: async ({ principal, query }) => {
        const page = await users.list(principal, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, userView) };
      },
    }),

    reading({
      name: "getUser",
      group: "Users",
      summary: "Read one user.",
      method: "GET",
      path: "/v1/users/:userId",
      scope: "users:read",
      query: NoQuery,
      answers: { 200: schema.User },
      faults: ["user_not_found"],
      read: async ({ principal, params }) => {
        return { status: 200, body: userView(await users.get(principal, checkCallerId(params.userId, "userId"))) };
      },
    }),

    changing({
      name: "deleteUser",
      group: "Users",
      summary: "Delete a user; with `cascade` also all memories, chats and events of the user, in one step.",
      method: "DELETE",
      path: "/v1/users/:userId",
      scope: "users:write",
      query: schema.DeleteUser,
      answers: { 204: null },
      faults: ["user_not_found"],
      prepare: ({ params }) => checkCallerId(params.userId, "userId"),
      change: (tx, { principal, query }, userId) => users.remove(tx, principal, userId, query.cascade ?? false),
      answer: () => NO_CONTENT,
    }),

    changing({
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
      prepare: ({ params, body }) => ({
        userId: checkCallerId(params.userId, "userId"),
        draft: { type: body.type, data: checkJsonSize(body.data ?? {}, LIMITS.eventDataBytes, "data") },
      }),
      change: (tx, { principal }, { userId, draft }) => users.addEvent(tx, principal, userId, draft),
      answer: (event) => ({ status: 201, body: eventView(event) }),
    }),

    reading({
      name: "listEvents",
      group: "Users",
      summary: "List a user's events, newest first.",
      method: "GET",
      path: "/v1/users/:userId/events",
      scope: "users:read",
      query: schema.ListEvents,
      answers: { 200: schema.EventList },
      faults: ["user_not_found", "invalid_cursor"],
      read: async ({ principal, params, query }) => {
        const listing = { limit: LIMITS.pageItemsDefault, ...query };
        const page = await users.events(principal, checkCallerId(params.userId, "userId"), listing);
        return { status: 200, body: listView(page, eventView) };
      },
    }),
  ];
}

/** Converts a user to the schema `User`. */
function userView(user: User): View<typeof schema.User> {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    metadata: user.metadata ?? {},
    time_zone: user.timeZone,
    created_at: isoTime(user.createdAt),
  };
}

/** Converts an event of a user to the schema `Event`. */
function eventView(event: UserEvent): View<typeof schema.Event> {
  return {
    id: event.id,
    userId: event.userId,
    type: event.type,
    data: event.data,
    created_at: isoTime(event.createdAt),
  };
}
