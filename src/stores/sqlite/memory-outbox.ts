// Interface through which the stores record events of memories. outbox.ts decides which webhooks receive them.

import type { Memory } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MemoryEvent } from "../rows/webhook.ts";
import type { SqliteDatabase } from "./database.ts";

/** Records events in the transaction that changes the memory, so that either both become durable or neither does. */
export interface MemoryOutbox {
  /** @param memory the memory after the change; for `memory.deleted` the memory before it */
  record(projectKey: bigint, event: MemoryEvent, memory: Memory): void;
}

/** Records nothing. */
export const NO_OUTBOX: MemoryOutbox = { record: () => undefined };

/** Options of the stores of memories, jobs and retirement. */
export interface MemoryStoreOptions {
  readonly database: SqliteDatabase;
  readonly clock: Clock;
  /** Records events. If absent, events are not recorded. */
  readonly outbox?: MemoryOutbox;
}
