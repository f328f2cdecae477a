// The operations on /v1/webhooks.

import type { DeliveryId, WebhookId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Delivery, Webhook } from "../domain/webhook.ts";
import { isoTime } from "../kit/clock.ts";
import type { WebhookWithSecret } from "../ports/webhook-store.ts";
import type { WebhookService } from "../services/webhooks.ts";
import { refuseEmptyChange } from "./drafts.ts";
import { pathId } from "./ids.ts";
import { type Answer, changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/webhooks.ts";
import { isoTimeOrNull, listView, type View } from "./views.ts";

/** The operations on /v1/webhooks. */
export function webhookOperations(webhooks: WebhookService): readonly Operation[] {
  const shared = { group: "Webhooks", scope: "webhooks", isForConfinedKeys: false } as const;
  return [
    changing({
      ...shared,
      name: "createWebhook",
      summary: "Create a webhook. The secret that signs its requests is shown only once.",
      method: "POST",
      path: "/v1/webhooks",
      query: NoQuery,
      body: schema.CreateWebhook,
      answers: { 201: schema.WebhookWithSecret },
      faults: ["unsafe_url", "webhook_limit_reached"],
      isIdempotent: true,
      prepare: ({ body }) => webhooks.checkAddress(body.url),
      change: (tx, { principal, body: { url, events, description, enabled } }) => {
        const draft = { url, events, description: description ?? null, isEnabled: enabled ?? true };
        return webhooks.create(tx, principal.projectId, draft);
      },
      answer: (created) => secretAnswer(201, created),
    }),

    reading({
      ...shared,
      name: "listWebhooks",
      summary: "List webhooks, newest first.",
      method: "GET",
      path: "/v1/webhooks",
      query: schema.ListWebhooks,
      answers: { 200: schema.WebhookList },
      faults: ["invalid_cursor"],
      read: async ({ principal, query }) => {
        const page = await webhooks.list(principal.projectId, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, webhookView) };
      },
    }),

    reading({
      ...shared,
      name: "getWebhook",
      summary: "Read one webhook.",
      method: "GET",
      path: "/v1/webhooks/:id",
      query: NoQuery,
      answers: { 200: schema.Webhook },
      faults: ["webhook_not_found"],
      read: async ({ principal, params }) => {
        return { status: 200, body: webhookView(await webhooks.get(principal.projectId, webhookId(params.id))) };
      },
    }),

    changing({
      ...shared,
      name: "updateWebhook",
      summary: "Change a webhook. Absent fields stay unchanged.",
      method: "PUT",
      path: "/v1/webhooks/:id",
      query: NoQuery,
      body: schema.UpdateWebhook,
      answers: { 200: schema.Webhook },
      faults: ["webhook_not_found", "unsafe_url"],
      prepare: async ({ principal, params, body }) => {
        const id = webhookId(params.id);
        refuseEmptyChange(body);
        await webhooks.get(principal.projectId, id);
        await webhooks.checkAddress(body.url);
        return id;
      },
      change: (tx, { principal, body: { enabled, ...rest } }, id) => {
        const change = { ...rest, ...(enabled !== undefined && { isEnabled: enabled }) };
        return webhooks.change(tx, principal.projectId, id, change);
      },
      answer: (webhook) => ({ status: 200, body: webhookView(webhook) }),
    }),

    changing({
      ...shared,
      name: "deleteWebhook",
      summary: "Delete a webhook and its pending deliveries.",
      method: "DELETE",
      path: "/v1/webhooks/:id",
      query: NoQuery,
      answers: { 204: null },
      faults: ["webhook_not_found"],
      prepare: ({ params }) => webhookId(params.id),
      change: (tx, { principal }, id) => webhooks.remove(tx, principal.projectId, id),
      answer: () => NO_CONTENT,
    }),

    changing({
      ...shared,
      name: "testWebhook",
      summary: "Send a webhook.test event to this webhook.",
      method: "POST",
      path: "/v1/webhooks/:id/test",
      query: NoQuery,
      answers: { 202: schema.Delivery },
      faults: ["webhook_not_found"],
      isIdempotent: true,
      prepare: ({ params }) => webhookId(params.id),
      change: (tx, { principal }, id) => webhooks.test(tx, principal.projectId, id),
      answer: (delivery) => ({ status: 202, body: deliveryView(delivery) }),
    }),

    changing({
      ...shared,
      name: "rotateWebhookSecret",
      summary: "Give a webhook a new secret, which is shown only once.",
      method: "POST",
      path: "/v1/webhooks/:id/rotate-secret",
      query: NoQuery,
      answers: { 200: schema.WebhookWithSecret },
      faults: ["webhook_not_found"],
      prepare: ({ params }) => webhookId(params.id),
      change: (tx, { principal }, id) => webhooks.rotateSecret(tx, principal.projectId, id),
      answer: (rotated) => secretAnswer(200, rotated),
    }),

    reading({
      ...shared,
      name: "listDeliveries",
      summary: "List the deliveries to a webhook with their attempts, newest first.",
      method: "GET",
      path: "/v1/webhooks/:id/deliveries",
      query: schema.ListWebhooks,
      answers: { 200: schema.DeliveryList },
      faults: ["webhook_not_found", "invalid_cursor"],
      read: async ({ principal, params, query }) => {
        const listing = { limit: LIMITS.pageItemsDefault, ...query };
        const page = await webhooks.deliveries(principal.projectId, webhookId(params.id), listing);
        return { status: 200, body: listView(page, deliveryView) };
      },
    }),

    changing({
      ...shared,
      name: "redeliver",
      summary: "Send a delivery again, with the same `webhook-id`.",
      method: "POST",
      path: "/v1/webhooks/:id/deliveries/:deliveryId/redeliver",
      query: NoQuery,
      answers: { 202: schema.Delivery },
      faults: ["webhook_not_found", "delivery_not_found"],
      isIdempotent: true,
      prepare: ({ params }) => ({
        id: webhookId(params.id),
        delivery: pathId<DeliveryId>("dlv", params.deliveryId, "delivery_not_found", "deliveryId"),
      }),
      change: (tx, { principal }, { id, delivery }) => webhooks.redeliver(tx, principal.projectId, id, delivery),
      answer: (delivery) => ({ status: 202, body: deliveryView(delivery) }),
    }),
  ];
}

function secretAnswer(status: number, { webhook, secret }: WebhookWithSecret): Answer {
  const shown = webhookView(webhook);
  return { status, body: { ...shown, secret }, remembered: shown };
}

function webhookId(text: string | undefined): WebhookId {
  return pathId("wh", text, "webhook_not_found");
}

/** Converts a webhook, without its secret, to the schema `Webhook`. */
function webhookView(webhook: Webhook): View<typeof schema.Webhook> {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    description: webhook.description,
    enabled: webhook.isEnabled,
    created_at: isoTime(webhook.createdAt),
  };
}

/** Converts the delivery of one event to one webhook to the schema `Delivery`. */
function deliveryView(delivery: Delivery): View<typeof schema.Delivery> {
  return {
    id: delivery.id,
    webhook_id: delivery.webhookId,
    event: delivery.event,
    status: delivery.status,
    attempts: delivery.attempts.map(({ at, statusCode, error, ms }) => ({
      at: isoTime(at),
      status_code: statusCode,
      error,
      ms,
    })),
    created_at: isoTime(delivery.createdAt),
    next_attempt_at: isoTimeOrNull(delivery.nextAttemptAt),
  };
}
