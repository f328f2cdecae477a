// Which deliveries an event makes: one row per webhook that asked for it, written in the transaction that changes the
// memory, so that no event is lost or made up. Sending them is src/webhooks/, how they end webhook-store.ts.

import type { DeliveryId } from "../../../domain/ids.ts";
import type { JsonObject, Memory } from "../../../domain/memory.ts";
import type { WebhookEvent } from "../../../domain/webhook.ts";
import { type Clock, isoTime } from "../../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryEvent, MemoryOutbox } from "./memory-outbox.ts";
import { newId, type RandomBytes, systemRandom } from "./random.ts";

const SUBSCRIBED = `SELECT webhook_key FROM webhooks
  WHERE project_key = $projectKey AND is_enabled = 1
    AND EXISTS (SELECT 1 FROM json_each(webhooks.events) WHERE value = $event)
  ORDER BY webhook_key`;

const ADD = `INSERT INTO deliveries (id, webhook_key, event, body, status, next_attempt_at, created_at)
  VALUES ($id, $webhookKey, $event, $body, 'pending', $now, $now)`;

/** What the outbox stands on. */
export interface OutboxOptions {
  readonly database: SqliteDatabase;
  readonly clock: Clock;
  readonly random?: RandomBytes;
  /** The interface's Memory without `content`: what an event's `data` is. */
  readonly describe: (memory: Memory) => JsonObject;
  /** Told after the commit of new deliveries, in the same turn of the event loop. Must not throw. */
  readonly onRecorded?: () => void;
}

/** Writes events of memories down for the webhooks that subscribed to them. */
export class SqliteOutbox implements MemoryOutbox {
  readonly #options: OutboxOptions;
  readonly #random: RandomBytes;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#random = options.random ?? systemRandom;
  }

  /**
   * Makes the deliveries of one event, due at once, in the transaction under way. Cost without a subscriber: one
   * indexed look-up.
   * @param memory as it is after the change; of a deletion, as it was last.
   * @throws StoreError when the file cannot be written
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
      addDelivery(database, { webhookKey, event, body, now, random: this.#random });
    }
    if (onRecorded !== undefined) database.afterCommit(onRecorded);
  }
}

/** The JSON that a webhook is sent, compact: `{"type","timestamp","data"}`. `now` is Unix milliseconds. */
export function eventBody(event: WebhookEvent, now: number, data: JsonObject): string {
  return JSON.stringify({ type: event, timestamp: isoTime(now), data });
}

/** Adds a pending delivery that is due at `now` (Unix milliseconds). */
export function addDelivery(
  database: SqliteDatabase,
  delivery: {
    readonly webhookKey: bigint;
    readonly event: WebhookEvent;
    readonly body: string;
    readonly now: number;
    readonly random: RandomBytes;
  },
): DeliveryId {
  const { webhookKey, event, body, now, random } = delivery;
  const id = newId("dlv", now, random) as DeliveryId;
  database
    .prepare<never, { id: string; webhookKey: bigint; event: string; body: string; now: number }>(ADD)
    .run({ id, webhookKey, event, body, now });
  return id;
}
