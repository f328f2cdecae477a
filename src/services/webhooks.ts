// What callers do with webhooks: addresses are checked before they are stored, and again when they are called.

import { Fault } from "../domain/fault.ts";
import type { DeliveryId, ProjectId, WebhookId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { Delivery, Webhook, WebhookChange, WebhookDraft } from "../domain/webhook.ts";
import { shortened } from "../kit/shortened.ts";
import type { AddressGuard } from "../ports/outbound.ts";
import type { Transactions } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";
import type { WebhookStore, WebhookWithSecret } from "../ports/webhook-store.ts";

/** What the service stands on. */
export interface WebhookServiceParts {
  readonly webhooks: WebhookStore;
  readonly guard: AddressGuard;
  readonly transactions: Transactions;
  /** Tells the dispatcher that there may be something to deliver. */
  readonly wakeDispatcher: () => void;
}

/** Webhooks of one project. Synchronous but for `checkAddress`: what changes something runs inside the caller's transaction. */
export class WebhookService {
  readonly #parts: WebhookServiceParts;

  constructor(parts: WebhookServiceParts) {
    this.#parts = parts;
  }

  /** To be awaited before a webhook gets this address. @throws Fault `unsafe_url` */
  async checkAddress(url: string | undefined): Promise<void> {
    if (url !== undefined) await this.#parts.guard.check(url, "url");
  }

  /** @throws Fault `webhook_limit_reached` */
  create(projectId: ProjectId, draft: WebhookDraft): WebhookWithSecret {
    return this.#parts.webhooks.create(projectId, draft);
  }

  /** @throws Fault `webhook_not_found` */
  get(projectId: ProjectId, id: WebhookId): Webhook {
    return this.#parts.webhooks.get(projectId, id) ?? unknownWebhook(id);
  }

  /** @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: Listing): Page<Webhook> {
    return this.#parts.webhooks.list(projectId, listing);
  }

  /** @throws Fault `webhook_not_found` */
  change(projectId: ProjectId, id: WebhookId, change: WebhookChange): Webhook {
    return this.#parts.webhooks.change(projectId, id, change) ?? unknownWebhook(id);
  }

  /** @throws Fault `webhook_not_found` */
  remove(projectId: ProjectId, id: WebhookId): void {
    if (!this.#parts.webhooks.remove(projectId, id)) unknownWebhook(id);
  }

  /** @throws Fault `webhook_not_found` */
  rotateSecret(projectId: ProjectId, id: WebhookId): WebhookWithSecret {
    return this.#parts.webhooks.rotateSecret(projectId, id) ?? unknownWebhook(id);
  }

  /** Sends a `webhook.test` event. @throws Fault `webhook_not_found` */
  test(projectId: ProjectId, id: WebhookId): Delivery {
    const delivery = this.#parts.webhooks.addTest(projectId, id) ?? unknownWebhook(id);
    this.#parts.transactions.afterCommit(this.#parts.wakeDispatcher);
    return delivery;
  }

  /** @throws Fault `webhook_not_found`, `invalid_cursor` */
  deliveries(projectId: ProjectId, id: WebhookId, listing: Listing): Page<Delivery> {
    this.get(projectId, id);
    return this.#parts.webhooks.deliveries(projectId, id, listing);
  }

  /** One further attempt of the same delivery. @throws Fault `webhook_not_found`, `delivery_not_found` */
  redeliver(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Delivery {
    this.get(projectId, id);
    const delivery = this.#parts.webhooks.redeliver(projectId, id, deliveryId);
    if (delivery === null) {
      throw new Fault("delivery_not_found", `There is no delivery '${shortened(deliveryId)}' of this webhook.`, {
        param: "deliveryId",
      });
    }
    this.#parts.transactions.afterCommit(this.#parts.wakeDispatcher);
    return delivery;
  }
}

function unknownWebhook(id: string): never {
  throw new Fault("webhook_not_found", `There is no webhook '${shortened(id)}' in this project.`, { param: "id" });
}
