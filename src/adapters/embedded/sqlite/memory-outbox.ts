// Where it is written down that something happened to a memory, for whoever is to be told. Who that is, and how the news
// reaches them, is outbox.ts.

import type { Memory } from "../../../domain/memory.ts";
import type { WebhookEvent } from "../../../domain/webhook.ts";

/** What can happen to a memory. */
export type MemoryEvent = Exclude<WebhookEvent, "webhook.test">;

/** Takes events in the transaction that changes the memory: both become durable, or neither. */
export interface MemoryOutbox {
  /** @param memory as it is after the change; for `memory.deleted` as it was. */
  record(projectKey: bigint, event: MemoryEvent, memory: Memory): void;
}

/** For stores whose events nobody waits for. */
export const NO_OUTBOX: MemoryOutbox = { record: () => undefined };
