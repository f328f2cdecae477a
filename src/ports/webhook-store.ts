// Webhooks and the outbox of deliveries to them. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). Stores that change memories write the deliveries of their events in the same transaction. A
// delivery is sent at least once, across restarts. Lists are keyset-paged, newest first, and stable.

import type { DeliveryId, ProjectId, WebhookId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { Delivery, DeliveryAttempt, Webhook, WebhookChange, WebhookDraft } from "../domain/webhook.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Listing } from "./user-store.ts";

/** A webhook with its secret: shown on creation and rotation only. */
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
  /** The JSON to send, made when the event happened. */
  readonly body: string;
  /** Attempts made before this one. */
  readonly attempts: number;
  /** Whether failures of this attempt are followed by further ones (a redelivery is one attempt only). */
  readonly isRetried: boolean;
}

/** How an attempt ended, and what follows from it. */
export interface AttemptOutcome {
  readonly attempt: DeliveryAttempt;
  /** Delivered, failed for good, or due again at a time in Unix milliseconds. */
  readonly next: "delivered" | "failed" | { readonly at: number };
  /** Whether the receiver answered that it is gone, which switches the webhook off. */
  readonly disables: boolean;
}

/** Webhooks and deliveries. */
export interface WebhookStore {
  /** @throws Fault `webhook_limit_reached` beyond LIMITS.webhooksPerProject */
  create(projectId: ProjectId, draft: WebhookDraft): Eventually<WebhookWithSecret>;
  get(projectId: ProjectId, id: WebhookId): Eventually<Webhook | null>;
  /** @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: Listing): Eventually<Page<Webhook>>;
  /**
   * Changes a webhook. Switching it off fails its pending deliveries; switching it on does not revive them. Returns
   * null if the webhook does not exist.
   */
  change(projectId: ProjectId, id: WebhookId, change: WebhookChange): Eventually<Webhook | null>;
  /** Removes a webhook with its deliveries. Returns false if it does not exist. */
  remove(projectId: ProjectId, id: WebhookId): Eventually<boolean>;
  /** Returns null if the webhook does not exist. */
  rotateSecret(projectId: ProjectId, id: WebhookId): Eventually<WebhookWithSecret | null>;

  /**
   * Adds a `webhook.test` event for this webhook only, whether it is enabled or not. Returns null if the webhook does
   * not exist.
   */
  addTest(projectId: ProjectId, id: WebhookId): Eventually<Delivery | null>;
  /** Returns null if the webhook has no such delivery. */
  delivery(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Eventually<Delivery | null>;
  /** @throws Fault `invalid_cursor` */
  deliveries(projectId: ProjectId, id: WebhookId, listing: Listing): Eventually<Page<Delivery>>;
  /** Makes one more attempt due now. Returns null if the webhook has no such delivery. */
  redeliver(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Eventually<Delivery | null>;

  /**
   * Up to `limit` due deliveries of all projects that are not in `except`, in the order of their due times. Of each
   * webhook only the few that wait longest are returned, so that one webhook cannot hide the deliveries of another.
   * A webhook that is switched off has only tests and redeliveries that were requested since.
   */
  due(limit: number, except: ReadonlySet<DeliveryId>): Eventually<readonly DueDelivery[]>;
  /** Milliseconds until the next delivery is due. 0: now; null: none is pending. */
  nextDueInMs(): Eventually<number | null>;
  /** Stores an attempt. Does nothing if the delivery no longer exists. */
  record(id: DeliveryId, outcome: AttemptOutcome): Eventually<void>;
  /**
   * Removes deliveries that ended before this time (Unix milliseconds), oldest first. One call removes a bounded
   * number.
   */
  prune(beforeMs: number): Eventually<void>;
}
