// The application's users, and the events logged for them.

import type { EventId } from "./ids.ts";
import type { JsonObject } from "./json.ts";

/** A user. A user exists from the first memory, chat, event or profile with its id. */
export interface User {
  /** The application's own identifier. */
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly metadata: JsonObject | null;
  /** IANA name; null: the zone of the project holds. */
  readonly timeZone: string | null;
  /**
   * When the user was created, in Unix milliseconds. If a deleted user is created again, this is the time of the new
   * creation.
   */
  readonly createdAt: number;
}

/**
 * Input of an upsert. A field that is absent stays unchanged; null clears the field. `metadata` is replaced as a whole.
 */
export interface UserDraft {
  readonly id: string;
  readonly name?: string | null;
  readonly email?: string | null;
  readonly metadata?: JsonObject | null;
  readonly timeZone?: string | null;
}

/** A logged event of a user. */
export interface UserEvent {
  readonly id: EventId;
  readonly userId: string;
  readonly type: string;
  readonly data: JsonObject;
  /** Unix milliseconds. */
  readonly createdAt: number;
}
