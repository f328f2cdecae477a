// The section for webhooks: the URLs that receive events about memories, and the deliveries to them.

import { call } from "./api.js";
import { badge, button, h, secretBox, time } from "./dom.js";
import { choices, field, form } from "./forms.js";
import { attempt, attemptConfirmed, collapsible, listing, listSection, openList } from "./lists.js";

/** @typedef {import("./calls.js").Webhook} Webhook */
/** @typedef {import("./calls.js").Delivery} Delivery */

const EVENTS = ["memory.completed", "memory.failed", "memory.updated", "memory.deleted"];

/** The section "Webhooks". */
export function webhooksSection() {
  const errors = h("div");
  const secrets = h("div");
  const list = listing({
    caption: "Webhooks, newest first",
    /** @type {import("./lists.js").Column<Webhook>[]} */
    columns: [
      {
        head: "URL",
        class: "main-cell",
        cell: ({ url, description }) => [url, description !== null && h("p", { class: "fine" }, description)],
      },
      { head: "Events", class: "wraps", cell: ({ events }) => events.join(", ") },
      { head: "Status", cell: ({ enabled }) => badge(enabled ? "enabled" : "disabled") },
      { head: "Created", class: "when", cell: ({ created_at }) => time(created_at) },
      {
        head: "",
        class: "actions",
        cell: (webhook) => [
          button("Deliveries", () => openDeliveries(webhook)),
          button("Test", () => test(webhook)),
          button(webhook.enabled ? "Disable" : "Enable", () => toggle(webhook)),
          button("New secret…", () => rotate(webhook)),
          button("Delete…", () => remove(webhook)),
        ],
      },
    ],
    load: (cursor) => call("listWebhooks", { query: { cursor } }),
    empty: "No webhooks yet. A webhook notifies your application when a memory was processed, changed or deleted.",
  });

  const test = (/** @type {Webhook} */ webhook) =>
    attempt(errors, async () => {
      await call("testWebhook", { params: { id: webhook.id } });
      openDeliveries(webhook);
    });
  const toggle = (/** @type {Webhook} */ { id, enabled }) =>
    attempt(errors, async () => list.put(await call("updateWebhook", { params: { id }, body: { enabled: !enabled } })));
  const rotate = (/** @type {Webhook} */ { id, url }) =>
    attemptConfirmed({
      place: errors,
      title: "Create a new signing secret?",
      text: `All further requests to ${url} are signed with the new secret.`,
      verb: "Create",
      run: async () => {
        const { secret } = await call("rotateWebhookSecret", { params: { id } });
        if (secret !== undefined) secrets.prepend(secretBox(`New signing secret of ${url}.`, secret));
      },
    });
  const remove = (/** @type {Webhook} */ { id, url }) =>
    attemptConfirmed({
      place: errors,
      title: "Delete this webhook?",
      text: `${url} receives no more events. Pending deliveries are dropped.`,
      verb: "Delete",
      run: async () => {
        await call("deleteWebhook", { params: { id } });
        list.remove(id);
      },
    });
  const onCreated = (/** @type {import("./calls.js").WebhookWithSecret} */ { secret, ...webhook }) => {
    list.put(webhook);
    if (secret !== undefined) secrets.prepend(secretBox(`Signing secret of ${webhook.url}.`, secret));
  };

  return listSection("Webhooks", collapsible("Add a webhook", webhookForm(onCreated)), [secrets, errors], list);
}

/** @param {(webhook: import("./calls.js").WebhookWithSecret) => void} onCreated */
function webhookForm(onCreated) {
  const url = field("url", "URL", { type: "url", placeholder: "https://example.com/hooks/mneme" });
  const description = field("description", "Description", { hint: "Optional" });
  const events = choices("events", "Events", EVENTS, EVENTS);
  return form({
    fields: [url, description, events],
    layout: [h("div", { class: "fields" }, url.element, description.element), events.element],
    actions: [
      {
        label: "Add",
        run: async () => {
          const body = {
            url: url.value(),
            events: events.values(),
            ...(description.value() !== "" && { description: description.value() }),
          };
          onCreated(await call("createWebhook", { body }));
        },
      },
    ],
  });
}

/** @param {Webhook} webhook */
function openDeliveries({ id, url }) {
  const { list, errors } = openList(`Deliveries to ${url}`, {
    caption: "Deliveries, newest first",
    /** @type {import("./lists.js").Column<Delivery>[]} */
    columns: [
      { head: "Event", class: "when", cell: ({ event }) => event },
      { head: "Status", cell: ({ status }) => badge(status) },
      {
        head: "Attempts",
        class: "wraps",
        cell: ({ attempts, next_attempt_at }) => [
          h(
            "ul",
            { class: "plain" },
            attempts.map((one) => h("li", {}, time(one.at), ` ${attemptText(one)}`)),
          ),
          next_attempt_at !== null && h("p", { class: "fine" }, "next attempt ", time(next_attempt_at)),
        ],
      },
      { head: "Created", class: "when", cell: ({ created_at }) => time(created_at) },
      {
        head: "",
        class: "actions",
        cell: (delivery) =>
          button("Send again", () =>
            attempt(errors, async () => {
              list.put(await call("redeliver", { params: { id, deliveryId: delivery.id } }));
            }),
          ),
      },
    ],
    load: (cursor) => call("listDeliveries", { params: { id }, query: { cursor } }),
    empty: "No deliveries yet.",
  });
}

/** @param {Delivery["attempts"][number]} attempt */
function attemptText({ status_code, error, ms }) {
  return `${[status_code, error].filter((part) => part !== null).join(" ")} in ${ms} ms`;
}
