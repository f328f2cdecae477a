// Requests and answers of /v1/users.

import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { Text } from "../check.ts";
import { Body, CallerId, JsonMap, ListOf, Nullable, Optional, paging, Query, Time, TimeZone } from "./fields.ts";

/** Body of upsertUser. A field that is absent stays unchanged; null clears the field. */
export const UpsertUser = Body({
  id: CallerId,
  name: Optional(Text({ minLength: 1, maxLength: LIMITS.nameCharacters })),
  email: Optional(Text({ minLength: 1, maxLength: LIMITS.emailCharacters })),
  metadata: Optional(JsonMap),
  time_zone: Optional(
    TimeZone("IANA name, such as `Europe/Zurich`: the zone of the user's days; null: that of the project"),
  ),
});
/** Query parameters of listUsers. */
export const ListUsers = Query(paging);
/** Query parameters of deleteUser. */
export const DeleteUser = Query({
  cascade: Type.Boolean({ default: false, description: "true: also delete the user's memories, chats and events" }),
});
/** Body of createEvent. */
export const CreateEvent = Body({
  type: Text({ minLength: 1, maxLength: LIMITS.eventTypeCharacters }),
  data: Optional(JsonMap),
});
/** Query parameters of listEvents. */
export const ListEvents = Query({ ...paging, type: Text({ minLength: 1, maxLength: LIMITS.eventTypeCharacters }) });

/** A user of the caller's application. */
export const User = Type.Object(
  {
    id: Text(),
    name: Nullable(Text()),
    email: Nullable(Text()),
    metadata: JsonMap,
    time_zone: Nullable(Text()),
    created_at: Time,
  },
  { $id: "User" },
);
/** One page of users, newest first. */
export const UserList = ListOf("UserList", User);
/** An event that was logged for a user. */
export const Event = Type.Object(
  { id: Text({ description: "evt_…" }), userId: Text(), type: Text(), data: JsonMap, created_at: Time },
  { $id: "Event" },
);
/** One page of events, newest first. */
export const EventList = ListOf("EventList", Event);
