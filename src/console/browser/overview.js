// The section "Overview": state of the server, usage of the plan, number of memories, embedding model, and first steps.

import { ApiError, call, pause, readPublic } from "./api.js";
import { badge, bytesText, copyButton, fill, h, problem, time } from "./dom.js";
import { denied } from "./lists.js";

/** Polling intervals in milliseconds, for a server that is ready and for one that is not. */
const READY_MS = 15_000;
const WAITING_MS = 2_000;
/** Polling interval in milliseconds while the embedding model is being changed. */
const CHANGING_MS = 3_000;
/** Share of a quota above which its bar shows a warning. */
const WARNING_SHARE = 0.8;

/** @typedef {import("./calls.js").ProjectEmbedder} ProjectEmbedder */
/**
 * @typedef {object} ServerState
 * @property {"ready" | "waiting" | "unreachable"} state
 * @property {{ name: string, status: string, restarts: number, rss_bytes: number | null, provider: string | null }[]}
 *   lanes
 */

/**
 * Polls the state of the server while the page is open.
 * @param {(state: ServerState) => void} onState
 */
export async function watchServer(onState) {
  for (;;) {
    const state = await serverState();
    onState(state);
    await pause(state.state === "ready" ? READY_MS : WAITING_MS);
    while (document.hidden) await pause(WAITING_MS);
  }
}

/** @returns {Promise<ServerState>} */
async function serverState() {
  try {
    const { status, text } = await readPublic("/ready");
    return { state: status === 200 ? "ready" : "waiting", lanes: lanesOf(text) };
  } catch (error) {
    if (error instanceof ApiError) return { state: "unreachable", lanes: [] };
    throw error;
  }
}

/** @param {string} text */
function lanesOf(text) {
  try {
    return JSON.parse(text).lanes ?? [];
  } catch {
    return []; // a proxy answered: then only the state is shown
  }
}

/** Describes the state of the server in words. @param {ServerState["state"]} state */
export function stateText(state) {
  return { ready: "Server ready", waiting: "Loading models", unreachable: "Server unreachable" }[state];
}

/** The section "Overview". `showServer` updates its server card, also before there is a key. */
export function overviewSection() {
  const server = h("div", { class: "card-body" }, h("p", { class: "empty" }, "Connecting…"));
  const usage = h("div", { class: "card-body" });
  const counts = h("div", { class: "card-body" });
  const model = h("div", { class: "card-body" });
  const cards = h("div", { class: "cards" }, [
    card("Plan", usage),
    card("Memories on this server", counts),
    card("Embedding model", model),
    card("Server", server),
  ]);
  return {
    element: h("div", {}, h("h1", {}, "Overview"), cards, nextSteps()),
    /** @param {ServerState} state */
    showServer: (state) => fill(server, serverView(state)),
    refresh: async () => {
      await Promise.all([show(usage, usageView), show(counts, countsView), showModel(model)]);
    },
  };
}

/** @param {string} title @param {HTMLElement} body */
function card(title, body) {
  return h("section", { class: "card" }, h("h2", {}, title), body);
}

/** @param {HTMLElement} place @param {() => Promise<Node>} view */
async function show(place, view) {
  try {
    fill(place, await view());
  } catch (error) {
    fill(place, error instanceof ApiError && error.code === "insufficient_scope" ? denied(error) : problem(error));
  }
}

/** @param {ServerState} state */
function serverView({ state, lanes }) {
  return h(
    "div",
    {},
    h("p", {}, h("span", { class: "dot", "data-state": state }), stateText(state)),
    lanes.length > 0 &&
      h(
        "dl",
        { class: "facts" },
        lanes.flatMap(({ name, status, restarts, rss_bytes, provider }) => [
          h("dt", {}, `Models, ${name}`),
          h(
            "dd",
            {},
            [status, rss_bytes === null ? null : bytesText(rss_bytes), provider, restarts > 0 && `${restarts} restarts`]
              .filter((fact) => typeof fact === "string")
              .join(" · "),
          ),
        ]),
      ),
  );
}

async function usageView() {
  const { plan, period, queries, documents, storage_bytes, tokens } = await call("getUsage");
  const count = (/** @type {number} */ value) => value.toLocaleString();
  return h(
    "div",
    {},
    h("p", { class: "fine" }, h("strong", {}, plan), " plan · queries reset on ", time(period.end)),
    quotaBar("Memories", documents, count),
    quotaBar("Storage", storage_bytes, bytesText),
    quotaBar("Queries", queries, count),
    h("p", { class: "fine" }, `Tokens: ${count(tokens.prompt)} prompt, ${count(tokens.completion)} completion`),
  );
}

/**
 * @param {string} label
 * @param {{ used: number, limit: number | null }} quota
 * @param {(value: number) => string} text
 */
function quotaBar(label, { used, limit }, text) {
  return h(
    "div",
    { class: "quota" },
    h("span", {}, label),
    h("span", { class: "number" }, limit === null ? `${text(used)} · unlimited` : `${text(used)} of ${text(limit)}`),
    limit !== null && bar(`${label} used`, used / limit),
  );
}

/** @param {string} label @param {number} share more than 1 is possible after a change to a smaller plan */
function bar(label, share) {
  const used = h("div", { class: share > WARNING_SHARE ? "bar-used nearly" : "bar-used" });
  const percent = Math.min(100, Math.round(share * 100));
  used.style.width = `${percent}%`;
  return h(
    "div",
    {
      class: "bar-track",
      role: "meter",
      "aria-label": label,
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": percent,
    },
    used,
  );
}

/** Shows the project's embedding model, and the progress of a change while there is one. @param {HTMLElement} place */
async function showModel(place) {
  for (;;) {
    let isBuilding = false;
    await show(place, async () => {
      const { model, previous, change } = await call("getProjectEmbedder");
      isBuilding = change?.state === "building";
      return modelView(model, previous, change);
    });
    if (!isBuilding || !place.isConnected) return;
    await pause(CHANGING_MS);
  }
}

/**
 * @param {ProjectEmbedder["model"]} model
 * @param {ProjectEmbedder["previous"]} previous
 * @param {ProjectEmbedder["change"]} change
 */
function modelView(model, previous, change) {
  const total = change?.chunks_total ?? 0;
  return h(
    "div",
    {},
    h("p", {}, h("strong", {}, model ?? "not known yet")),
    previous !== null && h("p", { class: "fine" }, `Vectors of ${previous} are kept for a rollback.`),
    change !== null &&
      change.state === "building" &&
      h(
        "div",
        { class: "quota" },
        h("span", {}, `Changing to ${change.model}`),
        h(
          "span",
          { class: "number" },
          change.chunks_total === null
            ? "waiting"
            : `${change.chunks_done.toLocaleString()} of ${total.toLocaleString()} chunks`,
        ),
        total > 0 && bar("Chunks with a vector of the new model", change.chunks_done / total),
      ),
    change !== null &&
      change.state === "failed" &&
      h("p", { class: "fine" }, badge("failed"), ` Change to ${change.model}: ${change.error}`),
  );
}

// Number of memories by status, from the metrics: the API has no such numbers. They cover all projects together.
async function countsView() {
  const { status, text } = await readPublic("/metrics");
  const counts = [...text.matchAll(/^mneme_memories\{status="(\w+)"\} (\d+)/gm)];
  if (status !== 200 || counts.length === 0)
    return h("p", { class: "empty" }, "This server does not expose its metrics.");
  return h(
    "dl",
    { class: "facts" },
    counts.flatMap(([, name = "", value]) => [
      h("dt", {}, Number(value) > 0 ? badge(name) : name),
      h("dd", { class: "number" }, Number(value).toLocaleString()),
    ]),
    h("dt", { class: "fine" }, "All projects together"),
  );
}

function nextSteps() {
  const snippet = h(
    "code",
    {},
    [
      `curl ${location.origin}/v1/memories \\`,
      '  -H "Authorization: Bearer $MNEME_KEY" -H "Content-Type: application/json" \\',
      `  -d '{"content": "Lena prefers meetings before noon.", "userId": "lena"}'`,
      "",
      `curl ${location.origin}/v1/memories/search \\`,
      '  -H "Authorization: Bearer $MNEME_KEY" -H "Content-Type: application/json" \\',
      `  -d '{"query": "when should I meet Lena?"}'`,
    ].join("\n"),
  );
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "First steps"),
    h(
      "ol",
      { class: "steps" },
      h("li", {}, h("a", { href: "#memories" }, "Add a memory"), " and watch its processing."),
      h("li", {}, h("a", { href: "#search" }, "Search for it"), ", or ask a question about it."),
      h("li", {}, h("a", { href: "#keys" }, "Create an API key"), " for your application and call the API from there:"),
    ),
    h("pre", { class: "snippet" }, snippet),
    h("div", { class: "row" }, copyButton(snippet), h("a", { href: "/docs" }, "API reference")),
  );
}
