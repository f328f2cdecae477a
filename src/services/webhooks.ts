// Webhooks. Addresses are checked before they are stored, and again before every delivery.

import { Fault } from "../domain/fault.ts";
import type { DeliveryId, ProjectId, WebhookId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { Delivery, Webhook, WebhookChange, WebhookDraft } from "../domain/webhook.ts";
import { shortened } from "../kit/shortened.ts";
import type { AddressGuard } from "../ports/outbound.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";
import type { WebhookStore, WebhookWithSecret } from "../ports/webhook-store.ts";

/** What the service needs. */
export interface WebhookServiceDependencies {
  readonly webhooks: WebhookStore;
  readonly guard: AddressGuard;
  /** Tells the dispatcher that there may be deliveries. */
  readonly wakeDispatcher: () => void;
}

/** Webhooks of one project. */
export class WebhookService {
  readonly #uses: WebhookServiceDependencies;

  constructor(uses: WebhookServiceDependencies) {
    this.#uses = uses;
  }

  /** Checks an address before it is stored in a webhook. @throws Fault `unsafe_url` */
  async checkAddress(url: string | undefined): Promise<void> {
    if (url !== undefined) await this.#uses.guard.check(url, "url");
  }

  /** @throws Fault `webhook_limit_reached` if the project has the maximum number of webhooks already */
  async create({ webhooks }: Transaction, projectId: ProjectId, draft: WebhookDraft): Promise<WebhookWithSecret> {
    return webhooks.create(projectId, draft);
  }

  /** @throws Fault `webhook_not_found` */
  async get(projectId: ProjectId, id: WebhookId): Promise<Webhook> {
    return (await this.#uses.webhooks.get(projectId, id)) ?? unknownWebhook(id);
  }

  /** @throws Fault `invalid_cursor` */
  async list(projectId: ProjectId, listing: Listing): Promise<Page<Webhook>> {
    return this.#uses.webhooks.list(projectId, listing);
  }

  /** @throws Fault `webhook_not_found` */
  async change(
    { webhooks }: Transaction,
    projectId: ProjectId,
    id: WebhookId,
    change: WebhookChange,
  ): Promise<Webhook> {
    return (await webhooks.change(projectId, id, change)) ?? unknownWebhook(id);
  }

  /** @throws Fault `webhook_not_found` */
  async remove({ webhooks }: Transaction, projectId: ProjectId, id: WebhookId): Promise<void> {
    if (!(await webhooks.remove(projectId, id))) unknownWebhook(id);
  }

  /** @throws Fault `webhook_not_found` */
  async rotateSecret({ webhooks }: Transaction, projectId: ProjectId, id: WebhookId): Promise<WebhookWithSecret> {
    return (await webhooks.rotateSecret(projectId, id)) ?? unknownWebhook(id);
  }

  /** Sends a `webhook.test` event. @throws Fault `webhook_not_found` */
  async test(transaction: Transaction, projectId: ProjectId, id: WebhookId): Promise<Delivery> {
    const delivery = (await transaction.webhooks.addTest(projectId, id)) ?? unknownWebhook(id);
    transaction.afterCommit(this.#uses.wakeDispatcher);
    return delivery;
  }

  /** @throws Fault `webhook_not_found`, `invalid_cursor` */
  async deliveries(projectId: ProjectId, id: WebhookId, listing: Listing): Promise<Page<Delivery>> {
    await this.get(projectId, id);
    return this.#uses.webhooks.deliveries(projectId, id, listing);
  }

  /** Makes another attempt of the same delivery. @throws Fault `webhook_not_found`, `delivery_not_found` */
  async redeliver(
    transaction: Transaction,
    projectId: ProjectId,
    id: WebhookId,
    deliveryId: DeliveryId,
  ): Promise<Delivery> {
    const { webhooks } = transaction;
    if ((await webhooks.get(projectId, id)) === null) unknownWebhook(id);
    const delivery = await webhooks.redeliver(projectId, id, deliveryId);
    if (delivery === null) {
      throw new Fault("delivery_not_found", `There is no delivery '${shortened(deliveryId)}' of this webhook.`, {
        param: "deliveryId",
      });
    }
    transaction.afterCommit(this.#uses.wakeDispatcher);
    return delivery;
  }
}

function unknownWebhook(id: string): never {
  throw new Fault("webhook_not_found", `There is no webhook '${shortened(id)}' in this project.`, { param: "id" });
}
