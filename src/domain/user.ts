// The application's users as Mneme knows them, and the events that are logged for them.

import type { EventId } from "./ids.ts";
import type { JsonObject } from "./memory.ts";

/** A user that was named at least once. */
export interface User {
  /** The application's own identifier. */
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly metadata: JsonObject | null;
  /** Unix milliseconds; never changes while the user is known. */
  readonly createdAt: number;
}

/** An upsert: absent fields stay, null clears, `metadata` replaces whole. */
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
