// Shows the results of a search, and an answer while it is written, with citations that link to their sources.

import { stream } from "./api.js";
import { button, fill, h } from "./dom.js";
import { openMemory } from "./memory.js";
import { SCOPES } from "./scopes.js";

/** @typedef {import("./calls.js").SearchResult} SearchResult */
/** @typedef {NonNullable<import("./calls.js").SearchResults["explain"]>} Explanation */

/** Minimum length of a word of the question that is marked in passages. */
const MARKED_CHARACTERS_MIN = 3;

/**
 * @param {import("./calls.js").SearchResults} found
 * @param {string} query
 */
export function resultsView({ results, explain }, query) {
  return h(
    "section",
    { "aria-label": "Results" },
    h(
      "p",
      { class: "fine", role: "status" },
      results.length === 0
        ? "No results. Memories that are still being processed cannot be found yet."
        : `${results.length} ${results.length === 1 ? "passage" : "passages"}, best first`,
    ),
    explain !== undefined && stagesView(explain),
    h(
      "ol",
      { class: "results" },
      results.map((result) => h("li", {}, resultView(result, query))),
    ),
  );
}

/**
 * Sends a question and shows the answer while it is written. A button stops it.
 * @param {HTMLElement} place
 * @param {{ query: string }} body of queryMemories
 * @throws {import("./api.js").ApiError}
 */
export async function showAnswer(place, body) {
  const stopping = new AbortController();
  const text = h("div", { class: "answer-text", "aria-live": "polite", "aria-busy": "true" });
  const sources = h("div");
  const usage = h("p", { class: "fine" }, "Searching…");
  const stop = button("Stop", () => stopping.abort());
  fill(
    place,
    h("section", { class: "answer", "aria-label": "Answer" }, text, h("div", { class: "row" }, usage, stop)),
    sources,
  );
  let answer = "";
  try {
    for await (const { name, data } of stream("queryMemories", { body, signal: stopping.signal })) {
      if (name === "text") {
        usage.textContent = "Answering…";
        answer += /** @type {{ content: string }} */ (data).content;
        fill(text, withCitations(answer, sources));
      }
      if (name === "sources") fill(sources, sourcesView(/** @type {SearchResult[]} */ (data), body.query));
      if (name === "usage") {
        const tokens = /** @type {{ tokens_used: number }} */ (data).tokens_used;
        usage.textContent =
          tokens === 0 ? "Quoted from the sources, without a language model" : `${tokens.toLocaleString()} tokens`;
      }
    }
  } catch (error) {
    usage.textContent = stopping.signal.aborted ? "Stopped" : "Incomplete";
    if (!stopping.signal.aborted && answer === "") place.replaceChildren();
    if (!stopping.signal.aborted) throw error;
  } finally {
    text.removeAttribute("aria-busy");
    stop.remove();
  }
}

/** @param {string} answer @param {HTMLElement} sources */
function withCitations(answer, sources) {
  return answer.split(/\[(\d+)\]/).map((piece, at) => {
    if (at % 2 === 0) return piece;
    const showSource = () => {
      const source = sources.querySelector(`[data-source="${piece}"]`);
      if (!(source instanceof HTMLElement)) return; // no sources yet: they arrive after the text
      source.scrollIntoView({ block: "center" });
      source.focus();
    };
    return button(piece, showSource, { class: "citation", "aria-label": `Source ${piece}` });
  });
}

/** @param {SearchResult[]} sources @param {string} query */
function sourcesView(sources, query) {
  const cited = sources.filter((source) => source.cited === true);
  const others = sources.filter((source) => source.cited !== true);
  return h(
    "section",
    { "aria-label": "Sources" },
    cited.length > 0 && h("h2", {}, "Sources"),
    h(
      "ol",
      { class: "results" },
      cited.map((source, at) => h("li", { "data-source": at + 1, tabindex: -1 }, resultView(source, query))),
    ),
    others.length > 0 &&
      h(
        "details",
        { open: cited.length === 0 },
        h("summary", {}, `Other sources, not cited (${others.length})`),
        h(
          "ul",
          { class: "results" },
          others.map((source) => h("li", {}, resultView(source, query))),
        ),
      ),
  );
}

/** @param {SearchResult} result @param {string} query */
function resultView(result, query) {
  const { _memory: memory, _chunk: chunk } = result.metadata;
  const place = [
    ...(chunk.headings ?? []),
    chunk.page && `page ${chunk.page}`,
    chunk.slide && `slide ${chunk.slide}`,
    chunk.sheet && `sheet ${chunk.sheet}`,
  ].filter((part) => typeof part === "string");
  const passage = h("p", { class: "passage" }, marked(result.content, query));
  const onDeleted = () => {
    for (const shown of document.querySelectorAll(`[data-memory="${result.memory_id}"]`)) shown.remove();
  };
  return h(
    "article",
    { "data-memory": result.memory_id },
    h(
      "div",
      { class: "result-head" },
      button(memory.title ?? "Untitled", () => openMemory(result.memory_id, { onDeleted }), { class: "link" }),
      h("span", { class: "score number", title: "Score, 0 to 1" }, result.score.toFixed(3)),
    ),
    place.join() !== memory.title && place.length > 0 && h("p", { class: "place" }, place.join(" › ")),
    passage,
    h(
      "p",
      { class: "fine" },
      [
        ...SCOPES.map(([name, label]) => memory[name] && `${label.toLowerCase()} ${memory[name]}`),
        memory.tags?.join(", "),
        memory.occurred_at && `occurred ${memory.occurred_at.slice(0, "2026-05-03".length)}`,
      ]
        .filter(Boolean)
        .join(" · "),
    ),
    result.explain !== undefined && signalsView(result.explain),
  );
}

/**
 * A passage in which the words of the question are marked.
 * @param {string} text
 * @param {string} query
 */
function marked(text, query) {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length >= MARKED_CHARACTERS_MIN);
  if (words.length === 0) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((piece, at) => (at % 2 === 0 ? piece : h("mark", {}, piece)));
}

/** @param {NonNullable<SearchResult["explain"]>} explain */
function signalsView({ signals, fused_rank, superseded_by: newer }) {
  return h(
    "ul",
    { class: "signals", "aria-label": "Ranking signals" },
    Object.entries(signals).map(([name, { rank, score, ...more }]) =>
      h(
        "li",
        {},
        h("strong", {}, name),
        ` rank ${rank}, score ${score.toFixed(3)}`,
        "path" in more && ` via ${more.path.join(" → ")}`,
      ),
    ),
    h("li", {}, `rank ${fused_rank} before reranking`),
    newer !== undefined &&
      h(
        "li",
        {},
        "contradicted by a ",
        button("newer memory", () => openMemory(newer), { class: "link" }),
      ),
  );
}

/** @param {Explanation} explain */
function stagesView({ mode, stages, admissible, time }) {
  const names = stages.map(({ name }) => name);
  const admitted = `${admissible.toLocaleString()} ${admissible === 1 ? "memory" : "memories"}`;
  return h(
    "div",
    {},
    h("p", { class: "fine" }, `Mode: ${mode}. Searched: ${admitted}.`),
    time !== undefined && h("p", { class: "fine" }, `Time in the question: “${time.expression}”, ${spanText(time)}.`),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": "Stages of the search" },
      h(
        "table",
        { class: "tight" },
        h("thead", {}, stageRow("Stage", "col", names)),
        h(
          "tbody",
          {},
          stageRow(
            "ms",
            "row",
            stages.map(({ ms }) => ms.toFixed(1)),
          ),
          stageRow(
            "candidates",
            "row",
            stages.map(({ candidates }) => candidates.toLocaleString()),
          ),
        ),
      ),
    ),
  );
}

/** A span of days; an end that is null is open. @param {NonNullable<Explanation["time"]>} span */
function spanText({ from, to }) {
  const day = (/** @type {string} */ time) => time.slice(0, "2026-05-03".length);
  if (from === null) return to === null ? "any time" : `before ${day(to)}`;
  return to === null ? `from ${day(from)}` : `from ${day(from)} to before ${day(to)}`;
}

/** @param {string} head @param {"col" | "row"} scope @param {string[]} cells */
function stageRow(head, scope, cells) {
  return h(
    "tr",
    {},
    h("th", { scope }, head),
    cells.map((cell) => (scope === "col" ? h("th", { scope }, cell) : h("td", { class: "number" }, cell))),
  );
}
