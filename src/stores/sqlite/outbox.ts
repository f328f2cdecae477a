// Writes the deliveries of an event, one row per subscribed webhook, in the transaction that changes the memory. So no
// event is lost, and none is sent for a change that was rolled back. src/webhooks/ sends the deliveries;
// webhook-store.ts stores the outcomes.

import type { DeliveryId, MemoryId } from "../../domain/ids.ts";
import type { JsonObject, Memory } from "../../domain/memory.ts";
import type { WebhookEvent } from "../../domain/webhook.ts";
import type { Clock } from "../../kit/clock.ts";
import { newId, type RandomBytes, systemRandom } from "../rows/random.ts";
import { eventBody, type MemoryEvent } from "../rows/webhook.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";

const SUBSCRIBED = `SELECT webhook_key FROM webhooks
  WHERE project_key = $projectKey AND is_enabled = 1
    AND EXISTS (SELECT 1 FROM json_each(webhooks.events) WHERE value = $event)
  ORDER BY webhook_key`;

const ADD = `INSERT INTO deliveries (id, webhook_key, event, memory_id, body, status, next_attempt_at, created_at)
  VALUES ($id, $webhookKey, $event, $memoryId, $body, 'pending', $now, $now)`;
type Added = {
  readonly id: string;
  readonly webhookKey: bigint;
  readonly event: string;
  readonly memoryId: string | null;
  readonly body: string;
  readonly now: number;
};

/** Options of the outbox. */
export interface OutboxOptions {
  readonly database: SqliteDatabase;
  readonly clock: Clock;
  readonly random?: RandomBytes;
  /** The `data` of an event: the API's Memory without `content`. */
  readonly describe: (memory: Memory) => JsonObject;
  /** Called after new deliveries were committed. Must not throw. */
  readonly onRecorded?: () => void;
}

/** Writes events of memories for the webhooks that subscribed to them. */
export class SqliteOutbox implements MemoryOutbox {
  readonly #options: OutboxOptions;
  readonly #random: RandomBytes;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#random = options.random ?? systemRandom;
  }

  /**
   * Adds the deliveries of one event in the open transaction. They are due at once. If no webhook subscribed to the
   * event, the cost is one look-up in an index.
   * @param memory the memory after the change; for `memory.deleted` the memory before it
   * @throws StoreError if the file cannot be written
   */
  record(projectKey: bigint, event: MemoryEvent, memory: Memory): void {
    const { database, clock, describe, onRecorded } = this.#options;
    const subscribed = database
      .prepare<{ webhook_key: bigint }, { projectKey: bigint; event: string }>(SUBSCRIBED)
      .all({ projectKey, event });
    if (subscribed.length === 0) return;
    const now = clock.now();
    const body = eventBody(event, now, describe(memory));
    for (const { webhook_key: webhookKey } of subscribed) {
      addDelivery(database, { webhookKey, event, memoryId: memory.id, body, now, random: this.#random });
    }
    if (onRecorded !== undefined) database.afterCommit(onRecorded);
  }
}

/** Adds a pending delivery that is due at `now` (Unix milliseconds). */
export function addDelivery(
  database: SqliteDatabase,
  delivery: {
    readonly webhookKey: bigint;
    readonly event: WebhookEvent;
    /** The memory of the event; null if the event is not about a memory. */
    readonly memoryId: MemoryId | null;
    readonly body: string;
    readonly now: number;
    readonly random: RandomBytes;
  },
): DeliveryId {
  const { random, ...rest } = delivery;
  const id = newId("dlv", rest.now, random) as DeliveryId;
  database.prepare<never, Added>(ADD).run({ id, ...rest });
  return id;
}
