// What a memory is linked to, asked for when somebody wants to see it: the names in it, facts, and the memories that name the same.

import { call } from "./api.js";
import { button, fill, h, problem } from "./dom.js";

/** More names than this say nothing at a glance. */
const NAMES_SHOWN = 40;

/**
 * A closed part of a page that loads the graph around a memory when it is first opened.
 * @param {string} id
 * @param {(id: string) => void} open shows another memory
 */
export function linkedView(id, open) {
  const body = h("div", {}, h("p", { class: "empty", role: "status" }, "Loading…"));
  let isAsked = false;
  return h(
    "details",
    {
      ontoggle: async (/** @type {ToggleEvent} */ event) => {
        if (isAsked || event.newState !== "open") return;
        isAsked = true;
        try {
          fill(body, graphView(await call("getMemoryGraph", { params: { id } }), open));
        } catch (error) {
          isAsked = false;
          fill(body, problem(error));
        }
      },
    },
    h("summary", {}, "Names and linked memories"),
    body,
  );
}

/** @param {import("./calls.js").MemoryGraph} graph @param {(id: string) => void} open */
function graphView({ entities, relations, neighbours }, open) {
  if (entities.length === 0 && relations.length === 0)
    return [h("p", { class: "empty" }, "No names were found in it.")];
  const shown = entities.slice(0, NAMES_SHOWN);
  const rest = entities.length - shown.length;
  return [
    h(
      "p",
      {},
      shown.flatMap(({ name, kind, memories }) => [
        h("span", { class: "badge", title: `${kind}; in ${memories} ${memories === 1 ? "memory" : "memories"}` }, name),
        " ",
      ]),
      rest > 0 && h("span", { class: "fine" }, `and ${rest.toLocaleString()} more`),
    ),
    relations.length > 0 &&
      h(
        "ul",
        { class: "fine" },
        relations.map(({ subject, predicate, object }) => h("li", {}, `${subject} – ${predicate} – ${object}`)),
      ),
    neighbours.length === 0
      ? h("p", { class: "empty" }, "No other memory names the same.")
      : h(
          "ul",
          {},
          neighbours.map(({ memory_id, title, entities: shared }) =>
            h(
              "li",
              {},
              button(title ?? memory_id, () => open(memory_id), { class: "link" }),
              h("span", { class: "fine" }, ` ${shared.join(", ")}`),
            ),
          ),
        ),
  ];
}
