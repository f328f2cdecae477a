// Converts rows of webhooks and deliveries, and computes the state of a delivery after an attempt.

import { Fault } from "../../domain/fault.ts";
import type { DeliveryId, WebhookId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { LIMITS } from "../../domain/limits.ts";
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryStatus,
  Webhook,
  WebhookDraft,
  WebhookEvent,
} from "../../domain/webhook.ts";
import { isoTime } from "../../kit/clock.ts";
import type { AttemptOutcome, DueDelivery } from "../../ports/webhook-store.ts";

/**
 * Maximum number of attempts that are stored with a delivery: the newest ones. A delivery has up to four regular
 * attempts; redeliveries add more.
 */
const ATTEMPTS_KEPT = 20;
/**
 * Maximum number of due deliveries of one webhook that `due` considers: as many as are sent to one host at the same
 * time.
 */
export const DUE_PER_WEBHOOK = 2;
/** Maximum number of deliveries that one `prune` removes: 500 take about 10 ms. */
export const PRUNED_AT_ONCE = 500;

/** Table for WITH: each webhook with pending deliveries, found with one index look-up, and NULL at the end. */
export const WAITING_WEBHOOKS = `RECURSIVE waiting (webhook_key) AS (
    SELECT min(webhook_key) FROM deliveries WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(deliveries.webhook_key) FROM deliveries
      WHERE status = 'pending' AND deliveries.webhook_key > waiting.webhook_key)
    FROM waiting WHERE waiting.webhook_key IS NOT NULL)`;

/** The columns of a WebhookRow, for SELECT and RETURNING. */
export const WEBHOOK_COLUMNS = `webhooks.webhook_key, webhooks.id, webhooks.url, webhooks.events, webhooks.description,
  webhooks.is_enabled, webhooks.secret, webhooks.created_at`;

/** The columns of a DeliveryRow, for SELECT and RETURNING. */
export const DELIVERY_COLUMNS = `deliveries.delivery_key, deliveries.id,
  (SELECT webhooks.id FROM webhooks WHERE webhooks.webhook_key = deliveries.webhook_key) AS webhook_id,
  deliveries.event, deliveries.status, deliveries.attempts, deliveries.next_attempt_at, deliveries.created_at`;

/** A row of `webhooks`. */
export type WebhookRow = {
  readonly webhook_key: bigint;
  readonly id: string;
  readonly url: string;
  readonly events: string;
  readonly description: string | null;
  readonly is_enabled: bigint;
  readonly secret: string;
  readonly created_at: bigint;
};

/** A row of `deliveries`, with the id of its webhook. */
export type DeliveryRow = {
  readonly delivery_key: bigint;
  readonly id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly status: string;
  readonly attempts: string;
  readonly next_attempt_at: bigint | null;
  readonly created_at: bigint;
};

/** A row of `deliveries` that is due, with what its webhook needs to be called. */
export type DueRow = {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  readonly body: string;
  readonly attempts_counted: bigint;
  readonly is_retried: bigint;
};

/** The columns of a delivery that an attempt changes. */
export type StateRow = Pick<DeliveryRow, "status" | "attempts" | "next_attempt_at"> & { readonly webhook_key: bigint };

/** The fields of a draft in their stored form. */
export type DraftColumns = {
  readonly url: string;
  readonly events: string;
  readonly description: string | null;
  readonly isEnabled: number;
};

/** Events of memories. */
export type MemoryEvent = Exclude<WebhookEvent, "webhook.test">;

/** Body of a delivery: the compact JSON `{"type","timestamp","data"}`. `now` is Unix milliseconds. */
export function eventBody(event: WebhookEvent, now: number, data: JsonObject): string {
  return JSON.stringify({ type: event, timestamp: isoTime(now), data });
}

/** Columns of a delivery after an attempt. */
export type NextState = { readonly status: DeliveryStatus; readonly nextAttemptAt: number | bigint | null };

/**
 * State of a delivery after an attempt. A failed attempt does not count if the webhook was switched off or a redelivery
 * was requested during the attempt. A successful attempt always counts.
 */
export function stateAfter(stored: StateRow, { attempt, next }: AttemptOutcome): NextState {
  if (next === "delivered") return { status: "delivered", nextAttemptAt: null };
  // the webhook was switched off
  if (stored.next_attempt_at === null) return { status: "failed", nextAttemptAt: null };
  // a redelivery was requested during this attempt and stays due
  if (stored.next_attempt_at > attempt.at) return { status: "pending", nextAttemptAt: stored.next_attempt_at };
  return next === "failed" ? { status: "failed", nextAttemptAt: null } : { status: "pending", nextAttemptAt: next.at };
}

/** Appends an attempt. Attempts are stored with the field names of the API, the newest last. */
export function withAttempt(attempts: string, attempt: DeliveryAttempt): string {
  return JSON.stringify([...(JSON.parse(attempts) as readonly DeliveryAttempt[]), attempt].slice(-ATTEMPTS_KEPT));
}

/** Converts a draft to columns. */
export function draftColumns(draft: WebhookDraft): DraftColumns {
  return {
    url: draft.url,
    events: JSON.stringify(draft.events),
    description: draft.description,
    isEnabled: draft.isEnabled ? 1 : 0,
  };
}

/** The Fault for one webhook too many. */
export function limitReached(): Fault {
  return new Fault(
    "webhook_limit_reached",
    `The project has ${LIMITS.webhooksPerProject} webhooks, which is the limit. Delete one first.`,
  );
}

/** Converts a row to a Webhook. */
export function toWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id as WebhookId,
    url: row.url,
    events: JSON.parse(row.events) as readonly WebhookEvent[],
    description: row.description,
    isEnabled: row.is_enabled === 1n,
    createdAt: Number(row.created_at),
  };
}

/** Converts a row to a Delivery. */
export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id as DeliveryId,
    webhookId: row.webhook_id as WebhookId,
    event: row.event as WebhookEvent,
    status: row.status as DeliveryStatus,
    attempts: JSON.parse(row.attempts) as readonly DeliveryAttempt[],
    createdAt: Number(row.created_at),
    nextAttemptAt: row.next_attempt_at === null ? null : Number(row.next_attempt_at),
  };
}

/** Converts a row to a DueDelivery. */
export function toDueDelivery(row: DueRow): DueDelivery {
  return {
    id: row.id as DeliveryId,
    url: row.url,
    secret: row.secret,
    body: row.body,
    attempts: Number(row.attempts_counted),
    isRetried: row.is_retried === 1n,
  };
}
