// Lists of the API as tables: pages, "more", what stands there while nothing does, and a part that the key may not see.

import { ApiError } from "./api.js";
import { button, fill, h, openDialog, problem } from "./dom.js";

/**
 * @template Item
 * @typedef {{ head: string, cell: (item: Item) => import("./dom.js").Child | import("./dom.js").Child[], class?: string }} Column
 */

/**
 * A table that loads its rows page by page.
 * @template {{ id: string }} Item
 * @param {{
 *   caption: string,
 *   columns: Column<Item>[],
 *   load: (cursor: string | null) => Promise<import("./calls.js").Listed<Item>>,
 *   empty: string,
 *   onRows?: (items: Item[]) => void,
 * }} parts `onRows` is told of the items of each page that was loaded
 */
export function listing({ caption, columns, load, empty, onRows = () => {} }) {
  /** @type {string | null} */
  let cursor = null;
  let asked = 0;
  /** @type {Map<string, HTMLTableRowElement>} */
  let rows = new Map();
  const body = h("tbody", { role: "rowgroup" });
  const table = h(
    "table",
    { role: "table", hidden: true },
    h("caption", { class: "aside" }, caption),
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        columns.map(({ head }) => h("th", { role: "columnheader", scope: "col" }, head)),
      ),
    ),
    body,
  );
  const foot = h("div", { class: "foot" });
  const element = h("div", { class: "listing" }, table, foot);

  const rowOf = (/** @type {Item} */ item) => {
    const row = h(
      "tr",
      { role: "row" },
      columns.map((column) =>
        h("td", { role: "cell", class: column.class, "data-head": column.head }, column.cell(item)),
      ),
    );
    rows.set(item.id, row);
    return row;
  };

  const showFoot = (/** @type {import("./dom.js").Child} */ child) => fill(foot, child);

  const settle = () => {
    table.hidden = body.childElementCount === 0;
    if (table.hidden) showFoot(h("p", { class: "empty" }, empty));
    else showFoot(cursor === null ? null : button("More", () => loadPage(cursor)));
  };

  /** @param {string | null} from */
  const loadPage = async (from) => {
    asked += 1;
    const turn = asked;
    if (body.childElementCount === 0 || from !== null) showFoot(h("p", { class: "empty", role: "status" }, "Loading…"));
    try {
      const page = await load(from);
      if (turn !== asked) return; // asked anew meanwhile
      if (from === null) {
        rows = new Map();
        body.replaceChildren();
      }
      cursor = page.cursor;
      body.append(...page.data.map(rowOf));
      settle();
      onRows(page.data);
    } catch (error) {
      if (turn !== asked) return;
      if (from === null) {
        body.replaceChildren();
        table.hidden = true;
      }
      showFoot(error instanceof ApiError && error.code === "insufficient_scope" ? denied(error) : problem(error));
    }
  };

  return {
    element,
    /** Loads the first page again. */
    refresh: () => loadPage(null),
    /** Shows an item as it is now: in its row, or in a new one at the top. @param {Item} item */
    put: (item) => {
      const before = rows.get(item.id);
      const row = rowOf(item);
      if (before === undefined) body.prepend(row);
      else before.replaceWith(row);
      settle();
    },
    /** @param {string} id */
    drop: (id) => {
      rows.get(id)?.remove();
      rows.delete(id);
      settle();
    },
  };
}

/** What stands in place of a part that the key may not see. @param {ApiError} error */
export function denied(error) {
  return h("p", { class: "denied" }, "Not for this key. ", error.message);
}

/**
 * Runs what a button does and shows beside it what went wrong.
 * @param {HTMLElement} place
 * @param {() => Promise<void>} work
 */
export async function attempt(place, work) {
  place.replaceChildren();
  try {
    await work();
  } catch (error) {
    place.append(problem(error));
  }
}

/** A form that is opened when it is wanted. @param {string} title @param {Node} content */
export function fold(title, content) {
  return h("details", { class: "card" }, h("summary", {}, h("h2", {}, title)), content);
}

/**
 * A list in a dialog.
 * @template {{ id: string }} Item
 * @param {string} title
 * @param {Parameters<typeof listing<Item>>[0]} parts
 */
export function openList(title, parts) {
  const trouble = h("div");
  const list = listing(parts);
  const dialog = h(
    "dialog",
    { "aria-label": title },
    h(
      "div",
      { class: "sheet-head" },
      h("h2", { class: "name" }, title),
      h(
        "div",
        { class: "row" },
        button("Refresh", () => list.refresh()),
        button("Close", () => dialog.close()),
      ),
    ),
    trouble,
    list.element,
  );
  openDialog(dialog);
  void list.refresh();
  return { list, trouble };
}
