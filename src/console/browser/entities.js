// The entities of a memory, the relations between them, and the memories that share entities. They are loaded only when
// their section is opened.

import { call } from "./api.js";
import { button, fill, h, problem } from "./dom.js";

/** Maximum number of entities that are shown; more would be hard to read. */
const ENTITIES_SHOWN = 40;

/**
 * A closed section of a dialog that loads the graph of a memory when it is first opened.
 * @param {string} id
 * @param {(id: string) => void} open shows another memory
 */
export function entitiesView(id, open) {
  const body = h("div", {}, h("p", { class: "empty", role: "status" }, "Loading…"));
  let isLoaded = false;
  return h(
    "details",
    {
      ontoggle: async (/** @type {ToggleEvent} */ event) => {
        if (isLoaded || event.newState !== "open") return;
        isLoaded = true;
        try {
          fill(body, graphView(await call("getMemoryGraph", { params: { id } }), open));
        } catch (error) {
          isLoaded = false;
          fill(body, problem(error));
        }
      },
    },
    h("summary", {}, "Entities and related memories"),
    body,
  );
}

/** @param {import("./calls.js").MemoryGraph} graph @param {(id: string) => void} open */
function graphView({ entities, relations, neighbours }, open) {
  if (entities.length === 0 && relations.length === 0)
    return [h("p", { class: "empty" }, "No entities were found in this memory.")];
  const shown = entities.slice(0, ENTITIES_SHOWN);
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
      ? h("p", { class: "empty" }, "No other memory mentions these entities.")
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
