// The list of memories with its filters, and adding one.

import { call } from "./api.js";
import { button, h, problem, time } from "./dom.js";
import { field, form, listOf } from "./forms.js";
import { fold, listing } from "./lists.js";
import { follow, nameOf, openMemory, statusView } from "./memory.js";

/** @typedef {import("./calls.js").Memory} Memory */

/** Memories in work that are followed at once: each is a request every few seconds. */
const FOLLOWED_MAX = 10;

/** Lists memories and adds to them. */
export function memoriesPart() {
  const trouble = h("div");
  let following = new AbortController();
  /** @type {Set<string>} */
  const followed = new Set();

  const status = field("status", "Status", { options: [["", "Any"], "processing", "completed", "failed"] });
  const q = field("q", "Title contains", { type: "search" });
  const tag = field("tag", "Tag");
  const type = field("type", "Type");
  const userId = field("userId", "User");
  const filters = [q, status, tag, type, userId];

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
        following.abort();
        following = new AbortController();
        followed.clear();
      }
      const chosen = Object.fromEntries(filters.map(({ name, value }) => [name, value()]));
      return call("listMemories", { query: { ...chosen, cursor } });
    },
    empty: "No memory is here. Add one above, or widen the filters.",
    onRows: (items) => {
      if (items.length === 0 && filters.every(({ value }) => value() === "")) adding.open = true;
      for (const memory of items) if (memory.status === "processing") watch(memory);
    },
  });

  const watch = (/** @type {Memory} */ memory) => {
    if (followed.has(memory.id) || followed.size >= FOLLOWED_MAX) return;
    followed.add(memory.id);
    const { signal } = following;
    follow(memory.id, (next) => list.put(next), signal)
      .catch((error) => trouble.replaceChildren(problem(error)))
      .finally(() => followed.delete(memory.id));
  };
  const adding = fold(
    "Add a memory",
    addForm((memory) => {
      list.put(memory);
      watch(memory);
    }),
  );
  const listeners = (/** @type {string} */ id) => ({
    onChange: (/** @type {Memory} */ next) => list.put(next),
    onGone: () => list.drop(id),
  });

  return {
    element: h(
      "div",
      {},
      h("h1", {}, "Memories"),
      adding,
      form({
        fields: filters,
        keeps: true,
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
      trouble,
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
    hint: "Title, tags, type and language are found in the text.",
  });
  const userId = field("userId", "User", { hint: "Optional: whose memory it is" });
  const tags = field("tags", "Tags", { hint: "Optional, separated by commas" });
  return form({
    fields: [content, userId, tags],
    layout: [content.element, h("div", { class: "fields" }, userId.element, tags.element)],
    actions: [
      {
        label: "Add",
        run: async () => {
          const given = listOf(tags.value());
          const body = {
            content: content.control.value,
            ...(userId.value() !== "" && { userId: userId.value() }),
            ...(given.length > 0 && { tags: given }),
          };
          onAdded(await call("createMemory", { body }));
        },
      },
    ],
  });
}
