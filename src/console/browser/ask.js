// Search and ask: one box for both. What comes back is shown by results.js.

import { call } from "./api.js";
import { fill, h } from "./dom.js";
import { check, field, form, jsonOf } from "./forms.js";
import { resultsView, showAnswer } from "./results.js";

/** @type {[value: string, label: string][]} */
const MODES = [
  ["balanced", "balanced – meaning, then reranking"],
  ["fast", "fast – meaning only"],
  ["precise", "precise – meaning, words, graph, reranking"],
];

/** Searches and asks. */
export function askPart() {
  const query = field("query", "A search or a question", {
    type: "search",
    spellcheck: "true",
    placeholder: "When does Lena like to meet?",
  });
  const mode = field("mode", "Mode", { options: MODES });
  const userId = field("userId", "User", { hint: "Only this user's memories" });
  const limit = field("limit", "Results of a search", { type: "number", min: 1, max: 100, value: 10 });
  const filters = field("filters", "Filters as JSON", {
    lines: 3,
    class: "code",
    placeholder: '{"tags": "invoice", "metadata.year": {"$gte": 2024}}',
  });
  const instructions = field("instructions", "Instructions for the answer", { lines: 3, spellcheck: "true" });
  const graph = check("Add neighbours from the knowledge graph");
  const explain = check("Explain the ranking", {
    onchange: () => {
      if (isSearched) element.requestSubmit();
    },
  });
  const outcome = h("div", { class: "outcome" });
  /** Whether results are on show, which `explain` then asks for again. */
  let isSearched = false;

  const shared = () => ({
    query: query.value(),
    mode: mode.value(),
    ...(userId.value() !== "" && { userId: userId.value() }),
    ...(filters.value() !== "" && { filters: jsonOf(filters) }),
    ...(graph.control.checked && { includeGraph: true }),
  });
  // else what another question found would stand below a refusal
  const clear = () => {
    isSearched = false;
    outcome.replaceChildren();
  };
  const search = async () => {
    clear();
    const body = { ...shared(), limit: Number(limit.value() || 10), explain: explain.control.checked };
    const found = await call("searchMemories", { body });
    isSearched = true;
    fill(outcome, resultsView(found, body.query));
  };
  const ask = async () => {
    clear();
    const body = {
      ...shared(),
      stream: true,
      ...(instructions.value() !== "" && { instructions: instructions.value() }),
    };
    await showAnswer(outcome, body);
  };

  const element = form({
    fields: [query, mode, limit, userId, filters, instructions],
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
        h("summary", {}, "Mode, user, filters"),
        h("div", { class: "fields" }, mode.element, userId.element, limit.element),
        h("div", { class: "fields" }, filters.element, instructions.element),
        graph.element,
      ),
    ],
    keeps: true,
    label: "Search and ask",
  });
  return { element: h("div", {}, h("h1", {}, "Search and ask"), element, outcome), refresh: async () => {} };
}
