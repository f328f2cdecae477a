// Requests and answers of /v1/webhooks.

import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { WEBHOOK_EVENTS } from "../../domain/webhook.ts";
import { Text } from "../check.ts";
import { Body, ListOf, Nullable, OneOf, Optional, paging, Query, Time } from "./fields.ts";

const fields = {
  url: Text({
    minLength: 1,
    maxLength: LIMITS.webhookUrlCharacters,
    description: "http or https, with a public address",
  }),
  events: Type.Array(OneOf(WEBHOOK_EVENTS), { minItems: 1, maxItems: WEBHOOK_EVENTS.length, uniqueItems: true }),
  description: Optional(Text({ maxLength: LIMITS.descriptionCharacters })),
  enabled: Type.Boolean({ default: true }),
};
/** Body of createWebhook. */
export const CreateWebhook = Body({ ...fields, enabled: Optional(fields.enabled) });
/** Body of updateWebhook. A field that is absent stays unchanged. */
export const UpdateWebhook = Body({
  url: Type.Optional(fields.url),
  events: Type.Optional(fields.events),
  description: fields.description,
  enabled: Type.Optional(fields.enabled),
});
/** Query parameters of listWebhooks and listDeliveries. */
export const ListWebhooks = Query(paging);

const webhookFields = {
  id: Text({ description: "wh_…" }),
  url: Text(),
  events: Type.Array(OneOf(WEBHOOK_EVENTS)),
  description: Nullable(Text()),
  enabled: Type.Boolean(),
  created_at: Time,
};
/** A webhook without its secret. */
export const Webhook = Type.Object(webhookFields, { $id: "Webhook" });
/** A webhook with its secret, as only its creation and the rotation of the secret return it. */
export const WebhookWithSecret = Type.Object(
  {
    ...webhookFields,
    secret: Type.Optional(Text({ description: "whsec_…, shown only once" })),
  },
  { $id: "WebhookWithSecret" },
);
/** One page of webhooks. */
export const WebhookList = ListOf("WebhookList", Webhook);
/** One event sent to one webhook, with its attempts. */
export const Delivery = Type.Object(
  {
    id: Text({ description: "dlv_…, sent as webhook-id" }),
    webhook_id: Text(),
    event: OneOf(WEBHOOK_EVENTS),
    status: OneOf(["pending", "delivered", "failed"]),
    attempts: Type.Array(
      Type.Object({
        at: Time,
        status_code: Nullable(Type.Integer()),
        error: Nullable(Text()),
        ms: Type.Integer(),
      }),
    ),
    created_at: Time,
    next_attempt_at: Nullable(Time),
  },
  { $id: "Delivery" },
);
/** One page of deliveries, newest first. */
export const DeliveryList = ListOf("DeliveryList", Delivery);
