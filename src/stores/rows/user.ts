// Converts rows of users and their events.

import type { EventId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { User, UserDraft, UserEvent } from "../../domain/user.ts";
import { parseJson } from "../../kit/exact-json.ts";

/** The columns of a UserRow, for SELECT and RETURNING. */
export const USER_COLUMNS = "known_key, id, name, email, metadata, time_zone, created_at";

/** The columns of an EventRow, for SELECT and RETURNING. */
export const EVENT_COLUMNS = "event_key, id, type, data, created_at";

/** A row of `users` that is known. */
export type UserRow = {
  readonly known_key: bigint;
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly metadata: string | null;
  readonly time_zone: string | null;
  readonly created_at: bigint;
};

/** A row of `user_events`. */
export type EventRow = {
  readonly event_key: bigint;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly created_at: bigint;
};

/** Changes of a profile: a flag per field tells whether the field was given, because null clears it. */
export type ProfileColumns = {
  readonly hasName: number;
  readonly name: string | null;
  readonly hasEmail: number;
  readonly email: string | null;
  readonly hasMetadata: number;
  readonly metadata: string | null;
  readonly hasTimeZone: number;
  readonly timeZone: string | null;
};

/** The stored form of the fields of a draft. */
export function profileColumns({ name, email, metadata, timeZone }: UserDraft): ProfileColumns {
  return {
    hasName: flag(name),
    name: name ?? null,
    hasEmail: flag(email),
    email: email ?? null,
    hasMetadata: flag(metadata),
    metadata: metadata === undefined || metadata === null ? null : JSON.stringify(metadata),
    hasTimeZone: flag(timeZone),
    timeZone: timeZone ?? null,
  };
}

function flag(value: unknown): number {
  return value === undefined ? 0 : 1;
}

/** Converts a row to a User. */
export function toUser(row: UserRow): User {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    metadata: row.metadata === null ? null : (parseJson(row.metadata) as JsonObject),
    timeZone: row.time_zone,
    createdAt: Number(row.created_at),
  };
}

/** Converts a row to a UserEvent. */
export function toEvent(row: EventRow, userId: string): UserEvent {
  return {
    id: row.id as EventId,
    userId,
    type: row.type,
    data: parseJson(row.data) as JsonObject,
    createdAt: Number(row.created_at),
  };
}
