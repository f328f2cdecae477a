// The operations on /v1/webhooks.

import type { DeliveryId, WebhookId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { WebhookWithSecret } from "../ports/webhook-store.ts";
import type { WebhookService } from "../services/webhooks.ts";
import { refuseEmptyChange } from "./drafts.ts";
import { pathId } from "./ids.ts";
import { type Answer, type Operation, operation } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/webhooks.ts";
import { deliveryView, listView, webhookView } from "./views.ts";

/** The operations on /v1/webhooks. */
export function webhookOperations(webhooks: WebhookService): readonly Operation[] {
  const shared = { group: "Webhooks", scope: "webhooks", isForConfinedKeys: false } as const;
  return [
    operation({
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
      run: async ({ principal, body, commit }) => {
        await webhooks.checkAddress(body.url);
        const { url, events, description, enabled } = body;
        const draft = { url, events, description: description ?? null, isEnabled: enabled ?? true };
        return commit(async (tx) => secretAnswer(201, await webhooks.create(tx, principal.projectId, draft)));
      },
    }),

    operation({
      ...shared,
      name: "listWebhooks",
      summary: "List webhooks, newest first.",
      method: "GET",
      path: "/v1/webhooks",
      query: schema.ListWebhooks,
      answers: { 200: schema.WebhookList },
      faults: ["invalid_cursor"],
      run: async ({ principal, query }) => {
        const page = await webhooks.list(principal.projectId, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, webhookView) };
      },
    }),

    operation({
      ...shared,
      name: "getWebhook",
      summary: "Read one webhook.",
      method: "GET",
      path: "/v1/webhooks/:id",
      query: NoQuery,
      answers: { 200: schema.Webhook },
      faults: ["webhook_not_found"],
      run: async ({ principal, params }) => {
        return { status: 200, body: webhookView(await webhooks.get(principal.projectId, webhookId(params.id))) };
      },
    }),

    operation({
      ...shared,
      name: "updateWebhook",
      summary: "Change a webhook. Absent fields stay unchanged.",
      method: "PUT",
      path: "/v1/webhooks/:id",
      query: NoQuery,
      body: schema.UpdateWebhook,
      answers: { 200: schema.Webhook },
      faults: ["webhook_not_found", "unsafe_url"],
      run: async ({ principal, params, body, commit }) => {
        const id = webhookId(params.id);
        const { enabled, ...rest } = body;
        refuseEmptyChange(body);
        await webhooks.get(principal.projectId, id);
        await webhooks.checkAddress(body.url);
        const change = { ...rest, ...(enabled !== undefined && { isEnabled: enabled }) };
        return commit(async (tx) => {
          return { status: 200, body: webhookView(await webhooks.change(tx, principal.projectId, id, change)) };
        });
      },
    }),

    operation({
      ...shared,
      name: "deleteWebhook",
      summary: "Delete a webhook and its pending deliveries.",
      method: "DELETE",
      path: "/v1/webhooks/:id",
      query: NoQuery,
      answers: { 204: null },
      faults: ["webhook_not_found"],
      run: async ({ principal, params, commit }) => {
        const id = webhookId(params.id);
        return commit(async (tx) => {
          await webhooks.remove(tx, principal.projectId, id);
          return { status: 204, body: null };
        });
      },
    }),

    operation({
      ...shared,
      name: "testWebhook",
      summary: "Send a webhook.test event to this webhook.",
      method: "POST",
      path: "/v1/webhooks/:id/test",
      query: NoQuery,
      answers: { 202: schema.Delivery },
      faults: ["webhook_not_found"],
      isIdempotent: true,
      run: async ({ principal, params, commit }) => {
        const id = webhookId(params.id);
        return commit(async (tx) => {
          return { status: 202, body: deliveryView(await webhooks.test(tx, principal.projectId, id)) };
        });
      },
    }),

    operation({
      ...shared,
      name: "rotateWebhookSecret",
      summary: "Give a webhook a new secret, which is shown only once.",
      method: "POST",
      path: "/v1/webhooks/:id/rotate-secret",
      query: NoQuery,
      answers: { 200: schema.WebhookWithSecret },
      faults: ["webhook_not_found"],
      run: async ({ principal, params, commit }) => {
        const id = webhookId(params.id);
        return commit(async (tx) => secretAnswer(200, await webhooks.rotateSecret(tx, principal.projectId, id)));
      },
    }),

    operation({
      ...shared,
      name: "listDeliveries",
      summary: "List the deliveries to a webhook with their attempts, newest first.",
      method: "GET",
      path: "/v1/webhooks/:id/deliveries",
      query: schema.ListWebhooks,
      answers: { 200: schema.DeliveryList },
      faults: ["webhook_not_found", "invalid_cursor"],
      run: async ({ principal, params, query }) => {
        const listing = { limit: LIMITS.pageItemsDefault, ...query };
        const page = await webhooks.deliveries(principal.projectId, webhookId(params.id), listing);
        return { status: 200, body: listView(page, deliveryView) };
      },
    }),

    operation({
      ...shared,
      name: "redeliver",
      summary: "Send a delivery again, with the same `webhook-id`.",
      method: "POST",
      path: "/v1/webhooks/:id/deliveries/:deliveryId/redeliver",
      query: NoQuery,
      answers: { 202: schema.Delivery },
      faults: ["webhook_not_found", "delivery_not_found"],
      isIdempotent: true,
      run: async ({ principal, params, commit }) => {
        const id = webhookId(params.id);
        const delivery: DeliveryId = pathId("dlv", params.deliveryId, "delivery_not_found", "deliveryId");
        return commit(async (tx) => {
          const again = await webhooks.redeliver(tx, principal.projectId, id, delivery);
          return { status: 202, body: deliveryView(again) };
        });
      },
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
