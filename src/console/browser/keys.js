// The section for API keys: creating one, which shows its secret once, rotating and revoking.

import { call } from "./api.js";
import { button, h, secretBox, time } from "./dom.js";
import { choices, field, form } from "./forms.js";
import { attemptConfirmed, collapsible, listing, listSection } from "./lists.js";

/** @typedef {import("./calls.js").Key} Key */

const SCOPES = [
  ...["memories:read", "memories:write", "query", "chats:read", "chats:write", "users:read", "users:write"],
  ...["webhooks", "keys", "usage", "project", "admin", "*"],
];
/** Scopes that are preselected: those that an application needs to store memories, search and query. */
const SCOPES_PRESELECTED = ["memories:read", "memories:write", "query"];

/** The section "API keys". */
export function keysSection() {
  const errors = h("div");
  const secrets = h("div");
  const list = listing({
    caption: "API keys, newest first",
    /** @type {import("./lists.js").Column<Key>[]} */
    columns: [
      {
        head: "Key",
        class: "main-cell",
        cell: ({ name, redacted }) => [name, h("br"), h("code", { class: "id" }, redacted)],
      },
      { head: "Scopes", class: "wraps", cell: ({ scopes }) => scopes.join(", ") },
      { head: "User", class: "wraps", cell: ({ userId }) => userId },
      {
        head: "Last used",
        class: "when",
        cell: ({ last_used_at }) => (last_used_at === null ? "never" : time(last_used_at)),
      },
      { head: "Expires", class: "when", cell: ({ expires_at }) => (expires_at === null ? "never" : time(expires_at)) },
      {
        head: "",
        class: "actions",
        cell: (key) => [button("Rotate…", () => rotate(key)), button("Revoke…", () => revoke(key))],
      },
    ],
    load: (cursor) => call("listKeys", { query: { cursor } }),
    empty: "No API keys.",
  });

  const rotate = async (/** @type {Key} */ { id, name }) => {
    const grace = field("grace_seconds", "Keep the old secret valid for", {
      options: [
        ["0", "0 (revoke it now)"],
        ["3600", "1 hour"],
        ["86400", "1 day"],
      ],
    });
    await attemptConfirmed({
      place: errors,
      title: `Rotate the key “${name}”?`,
      text: "The key gets a new secret. Applications that use the old secret need the new one.",
      verb: "Rotate",
      extra: grace.element,
      run: async () => {
        const { key, ...withoutSecret } = await call("rotateKey", {
          params: { id },
          body: { grace_seconds: Number(grace.value()) },
        });
        list.put(withoutSecret);
        if (key !== undefined) secrets.prepend(secretBox(`New secret of “${name}”.`, key));
      },
    });
  };
  const revoke = (/** @type {Key} */ { id, name }) =>
    attemptConfirmed({
      place: errors,
      title: `Revoke “${name}”?`,
      text: "The key stops working at once. If you are signed in with it, you need another key.",
      verb: "Revoke",
      run: async () => {
        await call("deleteKey", { params: { id } });
        list.remove(id);
      },
    });
  const onCreated = (/** @type {import("./calls.js").KeyWithSecret} */ { key, ...withoutSecret }) => {
    list.put(withoutSecret);
    if (key !== undefined) secrets.prepend(secretBox(`Secret of “${withoutSecret.name}”.`, key));
  };
  return listSection("API keys", collapsible("Create an API key", keyForm(onCreated)), [secrets, errors], list);
}

/** @param {(key: import("./calls.js").KeyWithSecret) => void} onCreated */
function keyForm(onCreated) {
  const name = field("name", "Name", { hint: "What the key is used for" });
  const userId = field("userId", "Confined to user", { hint: "Optional: the key can access only this user's data" });
  const expires = field("expires_at", "Expires", { type: "datetime-local", hint: "Optional" });
  const scopes = choices("scopes", "Scopes", SCOPES, SCOPES_PRESELECTED);
  return form({
    fields: [name, userId, expires, scopes],
    layout: [h("div", { class: "fields" }, name.element, userId.element, expires.element), scopes.element],
    actions: [
      {
        label: "Create key",
        run: async () => {
          const body = {
            name: name.value(),
            scopes: scopes.values(),
            ...(userId.value() !== "" && { userId: userId.value() }),
            ...(expires.value() !== "" && { expires_at: new Date(expires.value()).toISOString() }),
          };
          onCreated(await call("createKey", { body }));
        },
      },
    ],
  });
}
