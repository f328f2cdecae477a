// The page as a whole: the key, which part is on show, and what of it the key may not see.

import { ApiError, call, keyring, listen } from "./api.js";
import { askPart } from "./ask.js";
import { fill, h } from "./dom.js";
import { field, form } from "./forms.js";
import { keysPart } from "./keys.js";
import { denied } from "./lists.js";
import { memoriesPart } from "./memories.js";
import { projectsPart } from "./projects.js";
import { startPart, stateText, watchServer } from "./start.js";
import { usersPart } from "./users.js";
import { webhooksPart } from "./webhooks.js";

/** @typedef {{ element: HTMLElement, refresh: () => Promise<void> }} Part */
/** @typedef {{ name: string, title: string, make: () => Part, sees: (() => Promise<unknown>) | null }} PartKind */

const one = { query: { limit: 1 } };
const start = startPart();
/**
 * In the order of the navigation. `sees` is a small read that fails where the key may not see the part; null: some of it is
 * of use to every key.
 * @type {PartKind[]}
 */
const PARTS = [
  { name: "start", title: "Overview", make: () => start, sees: null },
  { name: "ask", title: "Search and ask", make: askPart, sees: null },
  { name: "memories", title: "Memories", make: memoriesPart, sees: null },
  { name: "users", title: "Users", make: usersPart, sees: () => call("listUsers", one) },
  { name: "keys", title: "Keys", make: keysPart, sees: () => call("listKeys", one) },
  { name: "webhooks", title: "Webhooks", make: webhooksPart, sees: () => call("listWebhooks", one) },
  { name: "projects", title: "Projects", make: projectsPart, sees: () => call("listProjects", one) },
];

const main = byId("main");
const nav = byId("nav");
const session = byId("session");
const notice = byId("notice");
const links = new Map(PARTS.map(({ name, title }) => [name, h("a", { href: `#${name}` }, title)]));
/** Made when first shown, and kept as long as the key. @type {Map<string, Part>} */
const parts = new Map();
/** Why the key may not see a part. @type {Map<string, ApiError>} */
const refusals = new Map();

/** @param {string} id */
function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no #${id}.`);
  return element;
}

/** Shows the part that the address names; without a key, the place to give one. */
function show() {
  if (location.hash === "#main") return; // the link past the navigation
  if (keyring.get() === null) {
    showDoor(null);
    return;
  }
  const kind = PARTS.find(({ name }) => name === location.hash.slice(1)) ?? PARTS[0];
  if (kind === undefined) return;
  for (const [name, link] of links) {
    if (name !== kind.name) {
      link.removeAttribute("aria-current");
      continue;
    }
    link.setAttribute("aria-current", "page");
    link.scrollIntoView({ block: "nearest", inline: "center" }); // the links do not all fit on a telephone
  }
  document.title = `${kind.title} – Mneme`;
  const refusal = refusals.get(kind.name);
  if (refusal !== undefined) {
    fill(main, h("h1", {}, kind.title), denied(refusal));
    return;
  }
  const part = parts.get(kind.name) ?? kind.make();
  parts.set(kind.name, part);
  fill(main, part.element);
  void part.refresh();
}

/** What stands there without a key. @param {ApiError | null} refusal */
function showDoor(refusal) {
  parts.clear();
  refusals.clear();
  nav.hidden = true;
  session.replaceChildren();
  document.title = "Mneme";
  const key = field("key", "API key", { type: "password", placeholder: "ctx_…", required: true });
  const door = form({
    fields: [key],
    actions: [
      {
        label: "Open",
        run: async () => {
          await check(key.value());
          enter();
        },
      },
    ],
  });
  fill(
    main,
    h(
      "div",
      { class: "door" },
      h("h1", {}, "What your applications remember"),
      h(
        "p",
        {},
        "This server stores memories and finds them again. The console lets you add and search them, and look after " +
          "users, keys and webhooks.",
      ),
      door,
      h(
        "p",
        { class: "fine" },
        "The first start prints an admin key (",
        h("code", {}, "KEY=ctx_…"),
        "), unless ",
        h("code", {}, "MNEME_ADMIN_KEY"),
        " sets one. The key stays in this tab and is gone when you close it.",
      ),
      h("p", { class: "fine" }, "To build on it, see the ", h("a", { href: "/docs" }, "API reference"), "."),
    ),
  );
  if (refusal !== null) key.tell(refusal.message);
  key.control.focus();
}

/** @param {string} key @throws {ApiError} about the field, where the key opens nothing */
async function check(key) {
  // a header takes no other characters
  if (!/^[\x21-\x7e]+$/.test(key)) throw new ApiError({ code: "page", param: "key", message: "Paste a key: ctx_…" });
  keyring.keep(key);
  try {
    await call("getUsage");
  } catch (error) {
    const isKnown = error instanceof ApiError && error.code === "insufficient_scope";
    if (isKnown) return;
    keyring.forget();
    if (error instanceof ApiError && error.status === 401) error.param = "key";
    throw error;
  }
}

/** The key was taken: the parts that it opens can be reached. */
function enter() {
  const key = keyring.get() ?? "";
  fill(nav, [...links.values()]);
  nav.hidden = false;
  fill(
    session,
    h("code", { class: "id", title: "The key of this tab" }, `${key.slice(0, 4)}…${key.slice(-4)}`),
    h("button", { type: "button", onclick: leave }, "Forget key"),
  );
  for (const kind of PARTS) void mark(kind);
  show();
}

function leave() {
  keyring.forget();
  location.hash = "";
  showDoor(null);
}

/** Greys a part's link where the key may not see the part. @param {PartKind} kind */
async function mark({ name, title, sees }) {
  const link = links.get(name);
  if (link === undefined || sees === null) return;
  const key = keyring.get();
  link.className = "";
  fill(link, title);
  try {
    await sees();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "insufficient_scope") return; // the part itself will say it
    if (keyring.get() !== key) return;
    refusals.set(name, error);
    link.className = "not-for-key";
    fill(link, title, h("span", { class: "aside" }, " (not for this key)"));
    if (location.hash === `#${name}`) show();
  }
}

listen({
  wait: (text) => {
    notice.textContent = text ?? "";
    notice.hidden = text === null;
  },
  refusedKey: (error) => {
    if (keyring.get() === null || parts.size === 0) return; // the door says it itself
    keyring.forget();
    showDoor(error);
  },
});
addEventListener("hashchange", show);
void watchServer((state) => {
  start.showServer(state);
  byId("server").dataset.state = state.state;
  fill(byId("server-text"), stateText(state.state));
});
if (keyring.get() === null) show();
else enter();
