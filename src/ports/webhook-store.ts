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

/** What is to be sent now. */
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

/** How an attempt ended, and what follows. */
export interface AttemptOutcome {
  readonly attempt: DeliveryAttempt;
  /** delivered; failed for good; or again at this time (Unix milliseconds). */
  readonly next: "delivered" | "failed" | { readonly at: number };
  /** The receiver said that it is gone: the webhook is switched off. */
  readonly disables: boolean;
}

/** Webhooks and deliveries. */
export interface WebhookStore {
  /** @throws Fault `webhook_limit_reached` beyond LIMITS.webhooksPerProject */
  create(projectId: ProjectId, draft: WebhookDraft): Eventually<WebhookWithSecret>;
  get(projectId: ProjectId, id: WebhookId): Eventually<Webhook | null>;
  /** @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: Listing): Eventually<Page<Webhook>>;
  /** Switching off fails what is pending; switching on revives nothing. null: there is no such webhook. */
  change(projectId: ProjectId, id: WebhookId, change: WebhookChange): Eventually<Webhook | null>;
  /** Its deliveries go with it; false: there was none. */
  remove(projectId: ProjectId, id: WebhookId): Eventually<boolean>;
  /** null: there is no such webhook. */
  rotateSecret(projectId: ProjectId, id: WebhookId): Eventually<WebhookWithSecret | null>;

  /** A `webhook.test` event for this webhook alone, whether it is enabled or not; null: there is no such webhook. */
  addTest(projectId: ProjectId, id: WebhookId): Eventually<Delivery | null>;
  /** null: there is no such delivery of this webhook. */
  delivery(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Eventually<Delivery | null>;
  /** @throws Fault `invalid_cursor` */
  deliveries(projectId: ProjectId, id: WebhookId, listing: Listing): Eventually<Page<Delivery>>;
  /** One further attempt, now; null: there is no such delivery of this webhook. */
  redeliver(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Eventually<Delivery | null>;

  /**
   * Deliveries whose time has come, oldest first, of all projects; of one webhook no more than the few that wait
   * longest, so that none hides another's. Of webhooks that are switched off there is only what was asked for by name
   * since.
   */
  due(limit: number, except: ReadonlySet<DeliveryId>): Eventually<readonly DueDelivery[]>;
  /** Milliseconds until the next delivery is due; 0: now; null: none waits. */
  nextDueInMs(): Eventually<number | null>;
  /** Writes an attempt down; a delivery that is gone meanwhile is passed over. */
  record(id: DeliveryId, outcome: AttemptOutcome): Eventually<void>;
  /** Removes deliveries that ended before this time (Unix milliseconds), oldest first, a bounded number a call. */
  prune(beforeMs: number): Eventually<void>;
}
