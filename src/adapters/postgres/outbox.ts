// Writes the deliveries of an event, one row per subscribed webhook, in the transaction that changes the memory. So no
// event is lost, and none is sent for a change that was rolled back.

import type { DeliveryId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import type { WebhookEvent } from "../../domain/webhook.ts";
import { newId, type RandomBytes } from "../rows/random.ts";
import { eventBody, type MemoryEvent } from "../rows/webhook.ts";
import type { Session } from "./session.ts";
import type { StoreContext } from "./store-context.ts";

const SUBSCRIBED = `SELECT webhook_key FROM webhooks
  WHERE project_key = $projectKey AND is_enabled = 1 AND events::jsonb ? $event ORDER BY webhook_key`;

const ADD = `INSERT INTO deliveries (id, webhook_key, event, body, status, next_attempt_at, created_at)
  VALUES ($id, $webhookKey, $event, $body, 'pending', $now, $now)`;

/** Writes events of memories for the webhooks that subscribed to them. */
export class PostgresOutbox {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  /**
   * Adds the deliveries of one event. They are due at once.
   * @param memory the memory after the change; for `memory.deleted` the memory before it
   */
  async record(projectKey: bigint, event: MemoryEvent, memory: Memory): Promise<void> {
    const { clock, describe, onDeliveries, random } = this.context;
    if (describe === undefined) return;
    const subscribed = await this.session.all<{ webhook_key: bigint }>(SUBSCRIBED, { projectKey, event });
    if (subscribed.length === 0) return;
    const now = clock.now();
    const body = eventBody(event, now, describe(memory));
    for (const { webhook_key: webhookKey } of subscribed) {
      await addDelivery(this.session, { webhookKey, event, body, now, random });
    }
    if (onDeliveries !== undefined) this.session.afterCommit(onDeliveries);
  }
}

/** Adds a pending delivery that is due at `now` (Unix milliseconds). */
export async function addDelivery(
  session: Session,
  delivery: {
    readonly webhookKey: bigint;
    readonly event: WebhookEvent;
    readonly body: string;
    readonly now: number;
    readonly random: RandomBytes;
  },
): Promise<DeliveryId> {
  const { webhookKey, event, body, now, random } = delivery;
  const id = newId("dlv", now, random) as DeliveryId;
  await session.run(ADD, { id, webhookKey, event, body, now });
  return id;
}
