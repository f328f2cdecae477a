// Lists of the API as tables: paging, empty lists, and lists that the key may not read.

import { ApiError } from "./api.js";
import { button, confirmed, fill, h, openDialog, problem } from "./dom.js";

/**
 * @template Item
 * @typedef {{ head: string, cell: (item: Item) => import("./dom.js").Child | import("./dom.js").Child[], class?: string
 *   }} Column
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
 * }} parts `onRows` receives the items of each loaded page
 */
export function listing({ caption, columns, load, empty, onRows = () => {} }) {
  /** @type {string | null} */
  let cursor = null;
  let loadCount = 0;
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
    else showFoot(cursor === null ? null : button("Load more", () => loadPage(cursor)));
  };

  /** @param {string | null} from */
  const loadPage = async (from) => {
    loadCount += 1;
    const turn = loadCount;
    if (body.childElementCount === 0 || from !== null) showFoot(h("p", { class: "empty", role: "status" }, "Loading…"));
    try {
      const page = await load(from);
      if (turn !== loadCount) return; // a newer load has started, so this result is outdated
      if (from === null) {
        rows = new Map();
        body.replaceChildren();
      }
      cursor = page.cursor;
      body.append(...page.data.map(rowOf));
      settle();
      onRows(page.data);
    } catch (error) {
      if (turn !== loadCount) return;
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
    /** Updates the row of an item, or adds one at the top. @param {Item} item */
    put: (item) => {
      const before = rows.get(item.id);
      const row = rowOf(item);
      if (before === undefined) body.prepend(row);
      else before.replaceWith(row);
      settle();
    },
    /** Removes a row. @param {string} id */
    remove: (id) => {
      rows.get(id)?.remove();
      rows.delete(id);
      settle();
    },
  };
}

/** Replaces a section or list that the key may not read. @param {ApiError} error */
export function denied(error) {
  return h("p", { class: "denied" }, "This key has no access. ", error.message);
}

/**
 * Runs the action of a button and shows an error in `place`.
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

/**
 * Asks for confirmation, then runs an action and shows an error in `place`.
 * @param {Parameters<typeof confirmed>[0] & { place: HTMLElement, run: () => Promise<void> }} parts
 */
export async function attemptConfirmed({ place, run, ...question }) {
  if (await confirmed(question)) await attempt(place, run);
}

/**
 * A section with a heading, a card that adds items, and the list of them.
 * @param {string} title
 * @param {HTMLElement} adding
 * @param {HTMLElement[]} between elements above the list, for secrets and errors
 * @param {{ element: HTMLElement, refresh: () => Promise<void> }} list
 */
export function listSection(title, adding, between, list) {
  return { element: h("div", {}, h("h1", {}, title), adding, ...between, list.element), refresh: list.refresh };
}

/** A card that opens on a click on its title. @param {string} title @param {Node} content */
export function collapsible(title, content) {
  return h("details", { class: "card" }, h("summary", {}, h("h2", {}, title)), content);
}

/**
 * A list in a dialog.
 * @template {{ id: string }} Item
 * @param {string} title
 * @param {Parameters<typeof listing<Item>>[0]} parts
 */
export function openList(title, parts) {
  const errors = h("div");
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
    errors,
    list.element,
  );
  openDialog(dialog);
  void list.refresh();
  return { list, errors };
}
