// Webhooks: addresses that receive an event when a memory changes.

import {
  createWebhook,
  type Delivery,
  deleteWebhook,
  getWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  type Webhook,
  type WebhookWithSecret,
} from "../core/index.ts";
import { List } from "../list.ts";
import type { CallOptions, Transport, WriteOptions } from "../transport.ts";
import type { NewWebhook, WebhookChange } from "../types.ts";

/** The operations on webhooks. `verifyWebhook` checks what they receive. */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a webhook. Only this answer contains its secret. */
  create(webhook: NewWebhook, options?: WriteOptions): Promise<WebhookWithSecret> {
    return this.#transport.call((core) => createWebhook({ ...core, body: webhook }), "keyed", options);
  }

  /** Lists webhooks, newest first. */
  list(params: { readonly limit?: number } = {}, options?: CallOptions): List<Webhook> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listWebhooks({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads a webhook. */
  get(id: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call((core) => getWebhook({ ...core, path: { id } }), "always", options);
  }

  /** Changes a webhook; an absent field stays. */
  update(id: string, change: WebhookChange, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call((core) => updateWebhook({ ...core, path: { id }, body: change }), "always", options);
  }

  /** Deletes a webhook. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => deleteWebhook({ ...core, path: { id } }), options);
  }

  /** Sends the event `webhook.test`. */
  test(id: string, options?: WriteOptions): Promise<Delivery> {
    return this.#transport.call((core) => testWebhook({ ...core, path: { id } }), "keyed", options);
  }

  /** Gives a webhook a new secret. Only this answer contains it. */
  rotateSecret(id: string, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.#transport.call((core) => rotateWebhookSecret({ ...core, path: { id } }), "refused", options);
  }

  /** Lists the deliveries of a webhook, newest first. */
  deliveries(id: string, params: { readonly limit?: number } = {}, options?: CallOptions): List<Delivery> {
    return new List((cursor) =>
      this.#transport.call(
        (core) =>
          listDeliveries({ ...core, path: { id }, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Sends a delivery once more, with the same `webhook-id`. */
  redeliver(id: string, deliveryId: string, options?: WriteOptions): Promise<Delivery> {
    return this.#transport.call((core) => redeliver({ ...core, path: { id, deliveryId } }), "keyed", options);
  }
}
