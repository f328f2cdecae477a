// Webhooks, their deliveries and delivery attempts.

import type { DeliveryId, WebhookId } from "./ids.ts";

/** Events that webhooks can receive. Webhooks receive `webhook.test` without subscribing to it. */
export const WEBHOOK_EVENTS = [
  "memory.completed",
  "memory.failed",
  "memory.updated",
  "memory.deleted",
  "memory.superseded",
  "webhook.test",
] as const;
/** An event that webhooks can receive. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** A webhook without its secret. */
export interface Webhook {
  readonly id: WebhookId;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string | null;
  readonly isEnabled: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** Input for a new webhook. */
export interface WebhookDraft {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string | null;
  readonly isEnabled: boolean;
}

/** Changes to a webhook. A field that is absent stays unchanged. */
export type WebhookChange = Partial<WebhookDraft>;

/** One attempt to deliver an event. */
export interface DeliveryAttempt {
  /** Unix milliseconds. */
  readonly at: number;
  /** HTTP status of the response; null if no response was received. */
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly ms: number;
}

/** Status of a delivery. `pending`: more attempts will follow. */
export type DeliveryStatus = "pending" | "delivered" | "failed";

/** The delivery of one event to one webhook. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly webhookId: WebhookId;
  readonly event: WebhookEvent;
  readonly status: DeliveryStatus;
  readonly attempts: readonly DeliveryAttempt[];
  readonly createdAt: number;
  /** When the next attempt is due, in Unix milliseconds; null if none is scheduled. */
  readonly nextAttemptAt: number | null;
}
