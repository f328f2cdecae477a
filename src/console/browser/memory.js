// One memory in a dialog: what is stored, how its processing goes, and what can be done with it.

import { ApiError, call, pause } from "./api.js";
import { badge, button, bytesText, confirmed, fill, h, openDialog, problem, time } from "./dom.js";
import { check, field, form, listOf } from "./forms.js";
import { linkedView } from "./linked.js";
import { attempt } from "./lists.js";

/** @typedef {import("./calls.js").Memory} Memory */

/** How long to wait before a memory in work is asked for again: first, at most, and by what it grows. */
const POLL_MS = { first: 500, most: 10_000, growth: 1.5 };
/** A text is shown up to here; the rest would make the page heavy and nobody reads it here. */
const CHARACTERS_SHOWN = 50_000;
/** How much of its text names a memory that has no title. */
const NAME_CHARACTERS = 80;

/**
 * Follows a memory until it is no longer in work. Ends silently when it is gone or `signal` aborts.
 * @param {string} id
 * @param {(memory: Memory) => void} tell
 * @param {AbortSignal} signal
 * @returns {Promise<void>} rejects with an ApiError
 */
export async function follow(id, tell, signal) {
  try {
    for (let waitMs = POLL_MS.first; ; waitMs = Math.min(POLL_MS.most, waitMs * POLL_MS.growth)) {
      await pause(waitMs, signal);
      const memory = await call("getMemory", { params: { id }, signal });
      tell(memory);
      if (memory.status !== "processing") return;
    }
  } catch (error) {
    if (!signal.aborted && !(error instanceof ApiError && error.code === "memory_not_found")) throw error;
  }
}

/** Its title, or how its text begins. @param {Pick<Memory, "title" | "content" | "source">} memory */
export function nameOf({ title, content, source }) {
  const beginning = content.length > NAME_CHARACTERS ? `${content.slice(0, NAME_CHARACTERS)}…` : content;
  return title ?? source?.filename ?? (beginning.trim() || "Untitled");
}

/** Status, and how far it got. @param {Memory} memory */
export function statusView({ status, progress }) {
  const counted = progress !== undefined && progress.chunks_total !== null && progress.chunks_total > 0;
  return h(
    "span",
    { class: "status" },
    badge(status),
    progress !== undefined &&
      h(
        "span",
        { class: "fine" },
        ` ${progress.stage}${counted ? ` ${progress.chunks_done} of ${progress.chunks_total}` : ""}`,
      ),
  );
}

/**
 * Opens a memory.
 * @param {string} id
 * @param {{ onChange?: (memory: Memory) => void, onGone?: () => void }} [listeners]
 */
export async function openMemory(id, { onChange = () => {}, onGone = () => {} } = {}) {
  const closing = new AbortController();
  const title = h("h2", { class: "name" }, "Memory");
  const body = h("div", {}, h("p", { class: "empty", role: "status" }, "Loading…"));
  const dialog = h(
    "dialog",
    {
      "aria-label": "Memory",
      onclose: () => closing.abort(),
    },
    h(
      "div",
      { class: "sheet-head" },
      title,
      button("Close", () => dialog.close()),
    ),
    body,
  );
  openDialog(dialog);

  const show = (/** @type {Memory} */ memory) => {
    title.textContent = nameOf(memory);
    fill(
      body,
      view(memory, {
        changed: (next) => {
          onChange(next);
          show(next);
          if (next.status === "processing") void watch(next);
        },
        gone: () => {
          onGone();
          dialog.close();
        },
      }),
    );
  };
  const watch = (/** @type {Memory} */ memory) =>
    follow(
      memory.id,
      (next) => {
        onChange(next);
        show(next);
      },
      closing.signal,
    ).catch((error) => body.prepend(problem(error)));

  try {
    const memory = await call("getMemory", { params: { id }, signal: closing.signal });
    show(memory);
    if (memory.status === "processing") await watch(memory);
  } catch (error) {
    if (!closing.signal.aborted) fill(body, problem(error));
  }
}

/**
 * @param {Memory} memory
 * @param {{ changed: (memory: Memory) => void, gone: () => void }} told
 */
function view(memory, { changed, gone }) {
  const { id, content, error, metadata } = memory;
  const trouble = h("div");
  const retry = button("Process it again", () =>
    attempt(trouble, async () => changed(await call("retryMemory", { params: { id } }))),
  );
  return h(
    "article",
    {},
    h("p", {}, statusView(memory), " ", h("code", { class: "id" }, id)),
    error !== undefined &&
      h(
        "div",
        { class: "problem" },
        h("p", {}, error.message),
        h("p", { class: "fine" }, h("code", {}, error.code)),
        retry,
      ),
    facts(memory),
    h("pre", { class: "text", tabindex: 0, "aria-label": "Stored text" }, content.slice(0, CHARACTERS_SHOWN)),
    content.length > CHARACTERS_SHOWN &&
      h(
        "p",
        { class: "fine" },
        `The first ${CHARACTERS_SHOWN.toLocaleString()} of ${content.length.toLocaleString()} characters.`,
      ),
    Object.keys(metadata).length > 0 &&
      h(
        "details",
        { open: true },
        h("summary", {}, "Metadata"),
        h("pre", { class: "text" }, JSON.stringify(metadata, null, 2)),
      ),
    memory.status === "completed" && linkedView(id, (next) => void openMemory(next)),
    // while it is in work this view is made anew again and again, and title and tags may still be found
    memory.status !== "processing" &&
      h("details", {}, h("summary", {}, "Edit title and tags"), editForm(memory, changed)),
    h(
      "div",
      { class: "row end" },
      button("Delete…", () => remove(memory, trouble, gone), { class: "danger" }),
    ),
    trouble,
  );
}

/** @param {Memory} memory */
function facts({
  type,
  language,
  userId,
  externalId,
  tags,
  source,
  chunk_count,
  extraction,
  created_at,
  updated_at,
  expires_at,
}) {
  /** @type {[string, import("./dom.js").Child][]} */
  const rows = [
    ["Tags", tags === null || tags.length === 0 ? null : tags.join(", ")],
    ["Type", type],
    ["Language", language],
    ["User", userId],
    ["External id", externalId],
    ["File", source && `${source.filename} · ${source.media_type} · ${bytesText(source.bytes)}`],
    ["Chunks", chunk_count],
    ["Extracted by", extraction],
    ["Created", time(created_at)],
    ["Updated", updated_at.slice(0, 16) === created_at.slice(0, 16) ? null : time(updated_at)],
    ["Expires", expires_at && time(expires_at)],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows
      .filter(([, value]) => value !== null && value !== undefined)
      .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

/** @param {Memory} memory @param {(memory: Memory) => void} changed */
function editForm({ id, title, tags }, changed) {
  const titleField = field("title", "Title", { value: title });
  const tagsField = field("tags", "Tags", {
    value: tags === null ? null : tags.join(", "),
    hint: "Separated by commas",
  });
  return form({
    fields: [titleField, tagsField],
    keeps: true,
    actions: [
      {
        label: "Save",
        run: async () => {
          const body = { title: titleField.value() || null, tags: listOf(tagsField.value()) };
          changed(await call("updateMemory", { params: { id }, body }));
        },
      },
    ],
  });
}

/** @param {Memory} memory @param {HTMLElement} trouble @param {() => void} gone */
async function remove(memory, trouble, gone) {
  const purge = check("Remove it for good at once, without the retention");
  const isConfirmed = await confirmed({
    title: "Delete this memory?",
    text: `“${nameOf(memory)}” is gone from every list and answer at once.`,
    verb: "Delete",
    extra: purge.element,
  });
  if (!isConfirmed) return;
  await attempt(trouble, async () => {
    await call("deleteMemory", { params: { id: memory.id }, query: { purge: purge.control.checked || null } });
    gone();
  });
}
