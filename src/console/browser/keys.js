// API keys: making one, which shows it once, giving one a new secret, and revoking one.

import { call } from "./api.js";
import { button, confirmed, h, secretBox, time } from "./dom.js";
import { choices, field, form } from "./forms.js";
import { attempt, fold, listing } from "./lists.js";

/** @typedef {import("./calls.js").Key} Key */

const SCOPES = [
  ...["memories:read", "memories:write", "query", "chats:read", "chats:write", "users:read", "users:write"],
  ...["webhooks", "keys", "usage", "project", "admin", "*"],
];
/** What an application needs that stores and asks. */
const SCOPES_CHOSEN = ["memories:read", "memories:write", "query"];

/** Lists keys. */
export function keysPart() {
  const trouble = h("div");
  const secrets = h("div");
  const list = listing({
    caption: "Keys, newest first",
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
    empty: "There is no key.",
  });

  const rotate = async (/** @type {Key} */ { id, name }) => {
    const grace = field("grace_seconds", "The old one lives on for", {
      options: [
        ["0", "no time: it ends now"],
        ["3600", "an hour"],
        ["86400", "a day"],
      ],
    });
    const isConfirmed = await confirmed({
      title: `Give “${name}” a new secret?`,
      text: "Whoever uses the old one needs the new one.",
      verb: "Rotate",
      extra: grace.element,
    });
    if (!isConfirmed) return;
    await attempt(trouble, async () => {
      const { key, ...shown } = await call("rotateKey", {
        params: { id },
        body: { grace_seconds: Number(grace.value()) },
      });
      list.put(shown);
      if (key !== undefined) secrets.prepend(secretBox(`The new secret of “${name}”.`, key));
    });
  };
  const revoke = async (/** @type {Key} */ { id, name }) => {
    const isConfirmed = await confirmed({
      title: `Revoke “${name}”?`,
      text: "It opens nothing from now on. If it is the key that you use here, you will need another.",
      verb: "Revoke",
    });
    if (!isConfirmed) return;
    await attempt(trouble, async () => {
      await call("deleteKey", { params: { id } });
      list.drop(id);
    });
  };
  const onMade = (/** @type {import("./calls.js").KeyWithSecret} */ { key, ...shown }) => {
    list.put(shown);
    if (key !== undefined) secrets.prepend(secretBox(`The key “${shown.name}”.`, key));
  };
  return {
    element: h("div", {}, h("h1", {}, "Keys"), fold("Make a key", keyForm(onMade)), secrets, trouble, list.element),
    refresh: () => list.refresh(),
  };
}

/** @param {(key: import("./calls.js").KeyWithSecret) => void} onMade */
function keyForm(onMade) {
  const name = field("name", "Name", { hint: "What it is for" });
  const userId = field("userId", "Confined to the user", { hint: "Optional: it then sees this user's things only" });
  const expires = field("expires_at", "Expires", { type: "datetime-local", hint: "Optional" });
  const scopes = choices("scopes", "It may", SCOPES, SCOPES_CHOSEN);
  return form({
    fields: [name, userId, expires, scopes],
    layout: [h("div", { class: "fields" }, name.element, userId.element, expires.element), scopes.element],
    actions: [
      {
        label: "Make the key",
        run: async () => {
          const body = {
            name: name.value(),
            scopes: scopes.values(),
            ...(userId.value() !== "" && { userId: userId.value() }),
            ...(expires.value() !== "" && { expires_at: new Date(expires.value()).toISOString() }),
          };
          onMade(await call("createKey", { body }));
        },
      },
    ],
  });
}
