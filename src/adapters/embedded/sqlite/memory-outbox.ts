// Interface through which the stores record events of memories. outbox.ts decides which webhooks receive them.

import type { Memory } from "../../../domain/memory.ts";
import type { WebhookEvent } from "../../../domain/webhook.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";

/** Events of memories. */
export type MemoryEvent = Exclude<WebhookEvent, "webhook.test">;

/** Records events in the transaction that changes the memory: both become durable, or neither. */
export interface MemoryOutbox {
  /** @param memory as it is after the change; for `memory.deleted` as it was. */
  record(projectKey: bigint, event: MemoryEvent, memory: Memory): void;
}

/** Records nothing. */
export const NO_OUTBOX: MemoryOutbox = { record: () => undefined };

/** What the stores of memories, jobs and retirement need. */
export interface MemoryStoreOptions {
  readonly database: SqliteDatabase;
  readonly clock: Clock;
  /** Events are recorded here; by default they are not recorded. */
  readonly outbox?: MemoryOutbox;
}
