// Webhooks: who is told of what happens to memories, and how telling them went.

import { call } from "./api.js";
import { badge, button, confirmed, h, secretBox, time } from "./dom.js";
import { choices, field, form } from "./forms.js";
import { attempt, fold, listing, openList } from "./lists.js";

/** @typedef {import("./calls.js").Webhook} Webhook */
/** @typedef {import("./calls.js").Delivery} Delivery */

const EVENTS = ["memory.completed", "memory.failed", "memory.updated", "memory.deleted"];

/** Lists webhooks. */
export function webhooksPart() {
  const trouble = h("div");
  const secrets = h("div");
  const list = listing({
    caption: "Webhooks, newest first",
    /** @type {import("./lists.js").Column<Webhook>[]} */
    columns: [
      {
        head: "Address",
        class: "main-cell",
        cell: ({ url, description }) => [url, description !== null && h("p", { class: "fine" }, description)],
      },
      { head: "Events", class: "wraps", cell: ({ events }) => events.join(", ") },
      { head: "State", cell: ({ enabled }) => badge(enabled ? "enabled" : "disabled") },
      { head: "Since", class: "when", cell: ({ created_at }) => time(created_at) },
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
    empty: "There is no webhook yet. One tells your application when a memory was processed.",
  });

  const test = (/** @type {Webhook} */ webhook) =>
    attempt(trouble, async () => {
      await call("testWebhook", { params: { id: webhook.id } });
      openDeliveries(webhook);
    });
  const toggle = (/** @type {Webhook} */ { id, enabled }) =>
    attempt(trouble, async () =>
      list.put(await call("updateWebhook", { params: { id }, body: { enabled: !enabled } })),
    );
  const rotate = async (/** @type {Webhook} */ { id, url }) => {
    const isConfirmed = await confirmed({
      title: "Sign with a new secret?",
      text: `What is sent to ${url} from now on is signed with it.`,
      verb: "Rotate",
    });
    if (!isConfirmed) return;
    await attempt(trouble, async () => {
      const { secret } = await call("rotateWebhookSecret", { params: { id } });
      if (secret !== undefined) secrets.prepend(secretBox(`The new signing secret of ${url}.`, secret));
    });
  };
  const remove = async (/** @type {Webhook} */ { id, url }) => {
    const isConfirmed = await confirmed({
      title: "Delete this webhook?",
      text: `${url} is told of nothing any more; what waits for it goes too.`,
      verb: "Delete",
    });
    if (!isConfirmed) return;
    await attempt(trouble, async () => {
      await call("deleteWebhook", { params: { id } });
      list.drop(id);
    });
  };
  const onMade = (/** @type {import("./calls.js").WebhookWithSecret} */ { secret, ...webhook }) => {
    list.put(webhook);
    if (secret !== undefined) secrets.prepend(secretBox(`The signing secret of ${webhook.url}.`, secret));
  };

  return {
    element: h(
      "div",
      {},
      h("h1", {}, "Webhooks"),
      fold("Add a webhook", webhookForm(onMade)),
      secrets,
      trouble,
      list.element,
    ),
    refresh: () => list.refresh(),
  };
}

/** @param {(webhook: import("./calls.js").WebhookWithSecret) => void} onMade */
function webhookForm(onMade) {
  const url = field("url", "Address", { type: "url", placeholder: "https://example.com/hooks/mneme" });
  const description = field("description", "Description", { hint: "Optional" });
  const events = choices("events", "Told of", EVENTS, EVENTS);
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
          onMade(await call("createWebhook", { body }));
        },
      },
    ],
  });
}

/** @param {Webhook} webhook */
function openDeliveries({ id, url }) {
  const { list, trouble } = openList(`Deliveries to ${url}`, {
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
          next_attempt_at !== null && h("p", { class: "fine" }, "next ", time(next_attempt_at)),
        ],
      },
      { head: "Made", class: "when", cell: ({ created_at }) => time(created_at) },
      {
        head: "",
        class: "actions",
        cell: (delivery) =>
          button("Send again", () =>
            attempt(trouble, async () => {
              list.put(await call("redeliver", { params: { id, deliveryId: delivery.id } }));
            }),
          ),
      },
    ],
    load: (cursor) => call("listDeliveries", { params: { id }, query: { cursor } }),
    empty: "Nothing was sent yet.",
  });
}

/** @param {Delivery["attempts"][number]} attempt */
function attemptText({ status_code, error, ms }) {
  return `${[status_code, error].filter((part) => part !== null).join(" ")} in ${ms} ms`;
}
