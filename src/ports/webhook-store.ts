// Webhooks and the outbox of deliveries to them. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). Stores that change memories write the deliveries of their events in the same transaction. A
// delivery is sent at least once, across restarts. Lists are keyset-paged, newest first, and stable.

import type { DeliveryId, ProjectId, WebhookId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { Delivery, DeliveryAttempt, Webhook, WebhookChange, WebhookDraft } from "../domain/webhook.ts";
import type { Listing } from "./user-store.ts";

/** A webhook with its secret, which is shown only on creation and rotation. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  /** `whsec_…` (Standard Webhooks 1.0). */
  readonly secret: string;
}

/** A delivery whose next attempt is due. */
export interface DueDelivery {
  readonly id: DeliveryId;
  readonly url: string;
  readonly secret: string;
  /** The JSON to send, as it was when the event happened. */
  readonly body: string;
  /** Number of attempts made before this one. */
  readonly attempts: number;
  /** Whether a failed attempt is followed by another one. false for a redelivery, which is a single attempt. */
  readonly isRetried: boolean;
}

/** The outcome of an attempt, and its consequences for delivery and webhook. */
export interface AttemptOutcome {
  readonly attempt: DeliveryAttempt;
  /** Delivered, failed for good, or due again at this time in Unix milliseconds. */
  readonly next: "delivered" | "failed" | { readonly at: number };
  /** Whether the webhook is switched off, because the receiver answered that it no longer exists. */
  readonly disables: boolean;
}

/** Webhooks and deliveries. */
export interface WebhookStore {
  /** @throws Fault `webhook_limit_reached` if the project already has LIMITS.webhooksPerProject webhooks */
  create(projectId: ProjectId, draft: WebhookDraft): Promise<WebhookWithSecret>;
  get(projectId: ProjectId, id: WebhookId): Promise<Webhook | null>;
  /** @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged */
  list(projectId: ProjectId, listing: Listing): Promise<Page<Webhook>>;
  /**
   * Changes a webhook. Switching it off makes its pending deliveries fail; they are not sent after it is switched on
   * again. Returns null if the webhook does not exist.
   */
  change(projectId: ProjectId, id: WebhookId, change: WebhookChange): Promise<Webhook | null>;
  /** Removes a webhook with its deliveries. Returns false if it does not exist. */
  remove(projectId: ProjectId, id: WebhookId): Promise<boolean>;
  /** Returns null if the webhook does not exist. */
  rotateSecret(projectId: ProjectId, id: WebhookId): Promise<WebhookWithSecret | null>;

  /**
   * Adds the delivery of a `webhook.test` event for this webhook only, whether it is enabled or not. Returns null if
   * the webhook does not exist.
   */
  addTest(projectId: ProjectId, id: WebhookId): Promise<Delivery | null>;
  /** Returns null if the webhook has no such delivery. */
  delivery(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Promise<Delivery | null>;
  /** @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged */
  deliveries(projectId: ProjectId, id: WebhookId, listing: Listing): Promise<Page<Delivery>>;
  /** Makes the delivery due now, for one more attempt. Returns null if the webhook has no such delivery. */
  redeliver(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Promise<Delivery | null>;

  /**
   * Up to `limit` due deliveries of all projects that are not in `except`, in the order of their due times. For each
   * webhook, only the few that have waited longest are returned, so that a webhook with many deliveries does not delay
   * those of others. For a webhook that is switched off, these are only tests and redeliveries requested since then.
   */
  due(limit: number, except: ReadonlySet<DeliveryId>): Promise<readonly DueDelivery[]>;
  /**
   * Claims a due delivery for one attempt, for `forMs` or until `record`. Returns false if it is not due any more or
   * another claim runs. Meanwhile `due` leaves it out.
   */
  claim(id: DeliveryId, forMs: number): Promise<boolean>;
  /** Ends a claim whose attempt was given up without an outcome: the delivery is due again. */
  giveBack(id: DeliveryId): Promise<void>;
  /** Milliseconds until the next delivery is due. 0 if one is due now; null if none is pending. */
  nextDueInMs(): Promise<number | null>;
  /** Stores the outcome of an attempt. Does nothing if the delivery no longer exists. */
  record(id: DeliveryId, outcome: AttemptOutcome): Promise<void>;
  /**
   * Removes deliveries that ended before this time (Unix milliseconds), oldest first. One call removes a limited number
   * of them.
   */
  prune(beforeMs: number): Promise<void>;
}
