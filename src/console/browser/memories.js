// The section for memories: the list with its filters, and adding a memory.

import { call } from "./api.js";
import { button, h, problem, time } from "./dom.js";
import { field, form, listOf } from "./forms.js";
import { collapsible, listing } from "./lists.js";
import { nameOf, occurredAtField, openMemory, pollMemory, statusView } from "./memory.js";
import { SCOPES } from "./scopes.js";

/** @typedef {import("./calls.js").Memory} Memory */

/**
 * Maximum number of memories in processing that are polled at the same time; each causes a request every few seconds.
 */
const POLLED_MAX = 10;

/** The section "Memories". */
export function memoriesSection() {
  const errors = h("div");
  let polling = new AbortController();
  /** @type {Set<string>} */
  const polled = new Set();

  const status = field("status", "Status", { options: [["", "Any"], "processing", "completed", "failed"] });
  const q = field("q", "Title contains", { type: "search" });
  const tag = field("tag", "Tag");
  const type = field("type", "Type");
  const filters = [q, status, tag, type, ...SCOPES.map(([name, label]) => field(name, label))];

  /** @type {import("./lists.js").Column<Memory>[]} */
  const columns = [
    {
      head: "Memory",
      class: "main-cell",
      cell: (memory) => button(nameOf(memory), () => openMemory(memory.id, listeners(memory.id)), { class: "link" }),
    },
    { head: "Status", cell: statusView },
    { head: "Type", cell: ({ type: name }) => name },
    { head: "Tags", class: "wraps", cell: ({ tags }) => tags?.join(", ") },
    { head: "User", class: "wraps", cell: ({ userId: id }) => id },
    { head: "Created", class: "when", cell: ({ created_at }) => time(created_at) },
  ];
  const list = listing({
    caption: "Memories, newest first",
    columns,
    load: (cursor) => {
      if (cursor === null) {
        polling.abort();
        polling = new AbortController();
        polled.clear();
      }
      const chosen = Object.fromEntries(filters.map(({ name, value }) => [name, value()]));
      return call("listMemories", { query: { ...chosen, cursor } });
    },
    empty: "No memories. Add one above, or relax the filters.",
    onRows: (items) => {
      if (items.length === 0 && filters.every(({ value }) => value() === "")) addCard.open = true;
      for (const memory of items) if (memory.status === "processing") poll(memory);
    },
  });

  const poll = (/** @type {Memory} */ memory) => {
    if (polled.has(memory.id) || polled.size >= POLLED_MAX) return;
    polled.add(memory.id);
    const { signal } = polling;
    pollMemory(memory.id, (next) => list.put(next), signal)
      .catch((error) => errors.replaceChildren(problem(error)))
      .finally(() => polled.delete(memory.id));
  };
  const addCard = collapsible(
    "Add a memory",
    addForm((memory) => {
      list.put(memory);
      poll(memory);
    }),
  );
  const listeners = (/** @type {string} */ id) => ({
    onChange: (/** @type {Memory} */ next) => list.put(next),
    onDeleted: () => list.remove(id),
  });

  return {
    element: h(
      "div",
      {},
      h("h1", {}, "Memories"),
      addCard,
      form({
        fields: filters,
        keepsValues: true,
        isQuiet: true,
        label: "Filter memories",
        layout: [
          h(
            "div",
            { class: "fields few" },
            filters.map((one) => one.element),
          ),
        ],
        actions: [{ label: "Filter", run: () => list.refresh() }],
        beside: [
          button("Clear", () => {
            for (const { control } of filters) control.value = "";
            void list.refresh();
          }),
        ],
      }),
      errors,
      list.element,
    ),
    refresh: () => list.refresh(),
  };
}

/** @param {(memory: Memory) => void} onAdded */
function addForm(onAdded) {
  const content = field("content", "Text", {
    lines: 5,
    spellcheck: "true",
    hint: "Title, tags, type and language are extracted from the text.",
  });
  const userId = field("userId", "User", { hint: "Optional: the user that the memory belongs to" });
  const tags = field("tags", "Tags", { hint: "Optional, separated by commas" });
  const occurredAt = occurredAtField();
  return form({
    fields: [content, userId, tags, occurredAt],
    layout: [content.element, h("div", { class: "fields" }, userId.element, tags.element, occurredAt.element)],
    actions: [
      {
        label: "Add",
        run: async () => {
          const given = listOf(tags.value());
          const body = {
            content: content.control.value,
            ...(userId.value() !== "" && { userId: userId.value() }),
            ...(given.length > 0 && { tags: given }),
            ...(occurredAt.value() !== "" && { occurred_at: occurredAt.value() }),
          };
          onAdded(await call("createMemory", { body }));
        },
      },
    ],
  });
}
