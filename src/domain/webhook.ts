// Webhooks: who is told of what, and how telling them went.

import type { DeliveryId, WebhookId } from "./ids.ts";

/** What webhooks can be told of. `webhook.test` needs no subscription. */
export const WEBHOOK_EVENTS = [
  "memory.completed",
  "memory.failed",
  "memory.updated",
  "memory.deleted",
  "webhook.test",
] as const;
/** One thing that a webhook can be told of. */
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

/** What a caller gives to make a webhook. */
export interface WebhookDraft {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string | null;
  readonly isEnabled: boolean;
}

/** What changes in a webhook; absent fields stay. */
export type WebhookChange = Partial<WebhookDraft>;

/** One try to deliver. */
export interface DeliveryAttempt {
  /** Unix milliseconds. */
  readonly at: number;
  /** null: no answer came. */
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly ms: number;
}

/** pending: further attempts will follow. */
export type DeliveryStatus = "pending" | "delivered" | "failed";

/** One event on its way to one webhook. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly webhookId: WebhookId;
  readonly event: WebhookEvent;
  readonly status: DeliveryStatus;
  readonly attempts: readonly DeliveryAttempt[];
  readonly createdAt: number;
  /** When the next attempt is due; null: none will follow by itself. */
  readonly nextAttemptAt: number | null;
}
