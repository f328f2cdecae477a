// The section for searches and questions. results.js shows what they return.

import { call } from "./api.js";
import { fill, h } from "./dom.js";
import { check, field, form, jsonOf } from "./forms.js";
import { resultsView, showAnswer } from "./results.js";
import { SCOPES } from "./scopes.js";

/** The modes, and the choice to name none. @type {[value: string, label: string][]} */
const MODES = [
  ["", "default mode of the project"],
  ["balanced", "balanced – vectors, full text and reranker"],
  ["hybrid", "hybrid – vectors and full text, nearly as fast as fast"],
  ["fast", "fast – vectors only"],
  ["precise", "precise – also the graph, slowest"],
];

/** The section "Search and ask". */
export function searchSection() {
  const query = field("query", "Search or question", {
    type: "search",
    spellcheck: "true",
    placeholder: "When does Lena like to meet?",
  });
  const mode = field("mode", "Mode", { options: MODES });
  const scopes = SCOPES.map(([name, label]) =>
    field(name, label, { hint: `Optional: only this ${label.toLowerCase()}'s memories` }),
  );
  const limit = field("limit", "Maximum results", { type: "number", min: 1, max: 100, value: 10 });
  const filters = field("filters", "Filters (JSON)", {
    lines: 3,
    class: "code",
    placeholder: '{"tags": "invoice", "metadata.year": {"$gte": 2024}}',
  });
  const instructions = field("instructions", "Instructions for the answer", { lines: 3, spellcheck: "true" });
  const graph = check("Include neighbours from the knowledge graph");
  const explain = check("Explain the ranking", {
    onchange: () => {
      if (isSearched) element.requestSubmit();
    },
  });
  const outcome = h("div", { class: "outcome" });
  /** Whether search results are shown. If they are, switching `explain` repeats the search. */
  let isSearched = false;

  const sharedFields = () => ({
    query: query.value(),
    ...(mode.value() !== "" && { mode: mode.value() }),
    ...Object.fromEntries(scopes.flatMap(({ name, value }) => (value() === "" ? [] : [[name, value()]]))),
    ...(filters.value() !== "" && { filters: jsonOf(filters) }),
    ...(graph.control.checked && { includeGraph: true }),
  });
  // Results of an earlier question must not stay on the page below an error.
  const clear = () => {
    isSearched = false;
    outcome.replaceChildren();
  };
  const search = async () => {
    clear();
    const body = { ...sharedFields(), limit: Number(limit.value() || 10), explain: explain.control.checked };
    const found = await call("searchMemories", { body });
    isSearched = true;
    fill(outcome, resultsView(found, body.query));
  };
  const ask = async () => {
    clear();
    const body = {
      ...sharedFields(),
      stream: true,
      ...(instructions.value() !== "" && { instructions: instructions.value() }),
    };
    await showAnswer(outcome, body);
  };

  const element = form({
    fields: [query, mode, limit, ...scopes, filters, instructions],
    layout: [query.element],
    actions: [
      { label: "Search", run: search },
      { label: "Ask", run: ask },
    ],
    beside: [explain.element],
    below: [
      h(
        "details",
        { class: "options" },
        h("summary", {}, "Options"),
        h("div", { class: "fields" }, mode.element, limit.element),
        h(
          "div",
          { class: "fields" },
          scopes.map((scope) => scope.element),
        ),
        h("div", { class: "fields" }, filters.element, instructions.element),
        graph.element,
      ),
    ],
    keepsValues: true,
    label: "Search and ask",
  });
  return { element: h("div", {}, h("h1", {}, "Search and ask"), element, outcome), refresh: async () => {} };
}
