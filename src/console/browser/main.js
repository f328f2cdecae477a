// The frame of the page: signing in with a key, the navigation, and notices for sections that the key may not see.

import { ApiError, call, keyStore, listen } from "./api.js";
import { fill, h } from "./dom.js";
import { field, form } from "./forms.js";
import { keysSection } from "./keys.js";
import { denied } from "./lists.js";
import { memoriesSection } from "./memories.js";
import { overviewSection, stateText, watchServer } from "./overview.js";
import { projectsSection } from "./projects.js";
import { searchSection } from "./search.js";
import { usersSection } from "./users.js";
import { webhooksSection } from "./webhooks.js";

/** @typedef {{ element: HTMLElement, refresh: () => Promise<void> }} Section */
/**
 * @typedef {{ name: string, title: string, create: () => Section, probe: (() => Promise<unknown>) | null }} SectionKind
 */

const one = { query: { limit: 1 } };
const overview = overviewSection();
/**
 * The sections in the order of the navigation. `probe` is a small read that fails if the key may not see the section;
 * null if the section is useful with every key.
 * @type {SectionKind[]}
 */
const SECTIONS = [
  { name: "overview", title: "Overview", create: () => overview, probe: null },
  { name: "search", title: "Search and ask", create: searchSection, probe: null },
  { name: "memories", title: "Memories", create: memoriesSection, probe: null },
  { name: "users", title: "Users", create: usersSection, probe: () => call("listUsers", one) },
  { name: "keys", title: "API keys", create: keysSection, probe: () => call("listKeys", one) },
  { name: "webhooks", title: "Webhooks", create: webhooksSection, probe: () => call("listWebhooks", one) },
  { name: "projects", title: "Projects", create: projectsSection, probe: () => call("listProjects", one) },
];

const main = byId("main");
const nav = byId("nav");
const session = byId("session");
const notice = byId("notice");
const links = new Map(SECTIONS.map(({ name, title }) => [name, h("a", { href: `#${name}` }, title)]));
/**
 * Sections by name. They are created when they are first shown and kept until the key changes.
 * @type {Map<string, Section>}
 */
const sections = new Map();
/** The error of each section that the key may not see. @type {Map<string, ApiError>} */
const refusals = new Map();

/** @param {string} id */
function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no #${id}.`);
  return element;
}

/** Shows the section that the address names, or the sign-in form if there is no key. */
function show() {
  if (location.hash === "#main") return; // the "Skip to content" link
  if (keyStore.get() === null) {
    showSignIn(null);
    return;
  }
  const kind = SECTIONS.find(({ name }) => name === location.hash.slice(1)) ?? SECTIONS[0];
  if (kind === undefined) return;
  for (const [name, link] of links) {
    if (name !== kind.name) {
      link.removeAttribute("aria-current");
      continue;
    }
    link.setAttribute("aria-current", "page");
    link.scrollIntoView({ block: "nearest", inline: "center" }); // on a phone not all links fit
  }
  document.title = `${kind.title} – Mneme`;
  const refusal = refusals.get(kind.name);
  if (refusal !== undefined) {
    fill(main, h("h1", {}, kind.title), denied(refusal));
    return;
  }
  const section = sections.get(kind.name) ?? kind.create();
  sections.set(kind.name, section);
  fill(main, section.element);
  void section.refresh();
}

/** Shows the sign-in form. @param {ApiError | null} refusal why the previous key was rejected */
function showSignIn(refusal) {
  sections.clear();
  refusals.clear();
  nav.hidden = true;
  session.replaceChildren();
  document.title = "Mneme";
  const key = field("key", "API key", { type: "password", placeholder: "ctx_…", required: true });
  const signIn = form({
    fields: [key],
    actions: [
      {
        label: "Sign in",
        run: async () => {
          await storeKey(key.value());
          openConsole();
        },
      },
    ],
  });
  fill(
    main,
    h(
      "div",
      { class: "sign-in" },
      h("h1", {}, "Mneme console"),
      h(
        "p",
        {},
        "Mneme stores memories of your applications and finds them again. Here you can add and search memories, and " +
          "manage users, API keys, webhooks and projects.",
      ),
      signIn,
      h(
        "p",
        { class: "fine" },
        "On its first start the server prints an admin key (",
        h("code", {}, "KEY=ctx_…"),
        "), unless ",
        h("code", {}, "MNEME_ADMIN_KEY"),
        " sets one. The key is stored in this tab only, until you close it.",
      ),
      h("p", { class: "fine" }, "For developers: ", h("a", { href: "/docs" }, "API reference"), "."),
    ),
  );
  if (refusal !== null) key.setError(refusal.message);
  key.control.focus();
}

/** Stores a key if the server accepts it. @param {string} key @throws {ApiError} that names the field if it does not */
async function storeKey(key) {
  // Only these characters can be sent in a header.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new ApiError({ code: "page", param: "key", message: "Enter an API key (ctx_…)." });
  keyStore.set(key);
  try {
    await call("getUsage");
  } catch (error) {
    const isKnown = error instanceof ApiError && error.code === "insufficient_scope";
    if (isKnown) return;
    keyStore.remove();
    if (error instanceof ApiError && error.status === 401) error.param = "key";
    throw error;
  }
}

/** Shows the navigation and the current section, after a key was accepted. */
function openConsole() {
  const key = keyStore.get() ?? "";
  fill(nav, [...links.values()]);
  nav.hidden = false;
  fill(
    session,
    h("code", { class: "id", title: "API key of this session" }, `${key.slice(0, 4)}…${key.slice(-4)}`),
    h("button", { type: "button", onclick: signOut }, "Sign out"),
  );
  for (const kind of SECTIONS) void probeAccess(kind);
  show();
}

function signOut() {
  keyStore.remove();
  location.hash = "";
  showSignIn(null);
}

/** Greys out the link of a section if the key may not see the section. @param {SectionKind} kind */
async function probeAccess({ name, title, probe }) {
  const link = links.get(name);
  if (link === undefined || probe === null) return;
  const key = keyStore.get();
  link.className = "";
  fill(link, title);
  try {
    await probe();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "insufficient_scope") return; // the section itself shows this error
    if (keyStore.get() !== key) return;
    refusals.set(name, error);
    link.className = "no-access";
    fill(link, title, h("span", { class: "aside" }, " (no access with this key)"));
    if (location.hash === `#${name}`) show();
  }
}

listen({
  wait: (text) => {
    notice.textContent = text ?? "";
    notice.hidden = text === null;
  },
  refusedKey: (error) => {
    if (keyStore.get() === null || sections.size === 0) return; // the sign-in form shows the error itself
    keyStore.remove();
    showSignIn(error);
  },
});
addEventListener("hashchange", show);
void watchServer((state) => {
  overview.showServer(state);
  byId("server").dataset.state = state.state;
  fill(byId("server-text"), stateText(state.state));
});
if (keyStore.get() === null) show();
else openConsole();
