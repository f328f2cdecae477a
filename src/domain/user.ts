// The application's users, and the events logged for them.

import type { EventId } from "./ids.ts";
import type { JsonObject } from "./memory.ts";

/** A user. Users exist from the first time they are named. */
export interface User {
  /** The application's own identifier. */
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly metadata: JsonObject | null;
  /** Unix milliseconds; does not change while the user exists. */
  readonly createdAt: number;
}

/** Input of an upsert. Absent fields stay unchanged, null clears, `metadata` is replaced as a whole. */
export interface UserDraft {
  readonly id: string;
  readonly name?: string | null;
  readonly email?: string | null;
  readonly metadata?: JsonObject | null;
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
