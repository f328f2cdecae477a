// Deliveries of memory events: one per enabled webhook of the project that subscribed to the event.

import type { WebhookId } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/memory.ts";
import type { WebhookEvent } from "../../src/domain/webhook.ts";
import { isoTime } from "../../src/kit/clock.ts";
import { toMemory } from "./memory-row.ts";
import type { DeliveryRow, MemoryRow, Session } from "./session.ts";

/**
 * Adds a delivery of a memory's event for each enabled webhook that subscribed to the event. `row` is the memory after
 * the change.
 */
export function recordEvent(session: Session, event: WebhookEvent, row: MemoryRow): void {
  const { describe, onDeliveries } = session.surroundings;
  if (describe === undefined) return;
  const subscribed = session.tables.webhooks.rows(
    ({ projectId, webhook }) => projectId === row.projectId && webhook.isEnabled && webhook.events.includes(event),
  );
  if (subscribed.length === 0) return;
  const data = describe(toMemory(row));
  for (const { webhook } of subscribed) addDelivery(session, webhook.id, event, data);
  if (onDeliveries !== undefined) session.effects.push(onDeliveries);
}

/** Adds a pending delivery that is due now. */
export function addDelivery(
  session: Session,
  webhookId: WebhookId,
  event: WebhookEvent,
  data: JsonObject,
): DeliveryRow {
  const id = session.newId("dlv") as DeliveryRow["id"];
  return session.tables.deliveries.set(id, {
    key: session.next("delivery"),
    id,
    webhookId,
    event,
    body: JSON.stringify({ type: event, timestamp: isoTime(session.now), data }),
    status: "pending",
    isRetried: true,
    attemptsCounted: 0,
    attempts: [],
    nextAttemptAt: session.now,
    createdAt: session.now,
  });
}
