// One memory in a dialog: its text and attributes, the progress of its processing, and actions such as edit and delete.

import { ApiError, call, pause } from "./api.js";
import { dialogueOf } from "./dialogue.js";
import { badge, button, bytesText, fill, h, openDialog, problem, time } from "./dom.js";
import { entitiesView } from "./entities.js";
import { check, field, form, listOf } from "./forms.js";
import { attempt, attemptConfirmed } from "./lists.js";
import { SCOPES } from "./scopes.js";

/** @typedef {import("./calls.js").Memory} Memory */

/** Pauses between two polls of a processing memory, in milliseconds: the first, the longest, and the growth factor. */
const POLL_MS = { first: 500, max: 10_000, growth: 1.5 };
/** Maximum number of characters of a text that are shown; longer texts would make the page slow. */
const CHARACTERS_SHOWN = 50_000;
/** Maximum number of characters of the text that are shown in place of a missing title. */
const NAME_CHARACTERS = 80;

/**
 * Polls a memory until its processing has ended. Also stops, without an error, if the memory was deleted or `signal`
 * aborts.
 * @param {string} id
 * @param {(memory: Memory) => void} onChange
 * @param {AbortSignal} signal
 * @returns {Promise<void>} rejects with an ApiError
 */
export async function pollMemory(id, onChange, signal) {
  try {
    for (let waitMs = POLL_MS.first; ; waitMs = Math.min(POLL_MS.max, waitMs * POLL_MS.growth)) {
      await pause(waitMs, signal);
      const memory = await call("getMemory", { params: { id }, signal });
      onChange(memory);
      if (memory.status !== "processing") return;
    }
  } catch (error) {
    if (!signal.aborted && !(error instanceof ApiError && error.code === "memory_not_found")) throw error;
  }
}

/**
 * The title of a memory, or the beginning of its text.
 * @param {Pick<Memory, "title" | "content" | "source">} memory
 */
export function nameOf({ title, content, source }) {
  const beginning = content.length > NAME_CHARACTERS ? `${content.slice(0, NAME_CHARACTERS)}…` : content;
  return title ?? source?.filename ?? (beginning.trim() || "Untitled");
}

/** Status and progress of a memory. @param {Memory} memory */
export function statusView({ status, progress }) {
  const isCounted = progress !== undefined && progress.chunks_total !== null && progress.chunks_total > 0;
  return h(
    "span",
    { class: "status" },
    badge(status),
    progress !== undefined &&
      h(
        "span",
        { class: "fine" },
        ` ${progress.stage}${isCounted ? ` ${progress.chunks_done} of ${progress.chunks_total}` : ""}`,
      ),
  );
}

/**
 * Opens the dialog of a memory.
 * @param {string} id
 * @param {{ onChange?: (memory: Memory) => void, onDeleted?: () => void }} [listeners]
 */
export async function openMemory(id, { onChange = () => {}, onDeleted = () => {} } = {}) {
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
        onChange: (next) => {
          onChange(next);
          show(next);
          if (next.status === "processing") void poll(next);
        },
        onDeleted: () => {
          onDeleted();
          dialog.close();
        },
      }),
    );
  };
  const poll = (/** @type {Memory} */ memory) =>
    pollMemory(
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
    if (memory.status === "processing") await poll(memory);
  } catch (error) {
    if (!closing.signal.aborted) fill(body, problem(error));
  }
}

/**
 * @param {Memory} memory
 * @param {{ onChange: (memory: Memory) => void, onDeleted: () => void }} listeners
 */
function view(memory, { onChange, onDeleted }) {
  const { id, content, error, metadata } = memory;
  const text = dialogueOf(content) ?? content;
  const errors = h("div");
  const retry = button("Retry processing", () =>
    attempt(errors, async () => onChange(await call("retryMemory", { params: { id } }))),
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
    h("pre", { class: "text", tabindex: 0, "aria-label": "Stored text" }, text.slice(0, CHARACTERS_SHOWN)),
    text.length > CHARACTERS_SHOWN &&
      h(
        "p",
        { class: "fine" },
        `The first ${CHARACTERS_SHOWN.toLocaleString()} of ${text.length.toLocaleString()} characters.`,
      ),
    Object.keys(metadata).length > 0 &&
      h(
        "details",
        { open: true },
        h("summary", {}, "Metadata"),
        h("pre", { class: "text" }, JSON.stringify(metadata, null, 2)),
      ),
    memory.status === "completed" && entitiesView(id, (next) => void openMemory(next)),
    // A memory that is being processed cannot be edited: each poll replaces this view, and title and tags may still be
    // extracted.
    memory.status !== "processing" &&
      h("details", {}, h("summary", {}, "Edit title, tags and day"), editForm(memory, onChange)),
    h(
      "div",
      { class: "row end" },
      button("Delete…", () => remove(memory, errors, onDeleted), { class: "danger" }),
    ),
    errors,
  );
}

/** @param {Memory} memory */
function facts(memory) {
  const { tags, source, created_at, updated_at, expires_at, occurred_at } = memory;
  /** @type {[string, import("./dom.js").Child][]} */
  const rows = [
    ["Tags", tags === null || tags.length === 0 ? null : tags.join(", ")],
    ["Type", memory.type],
    ["Language", memory.language],
    ...SCOPES.map(([name, label]) => /** @type {[string, string | null]} */ ([label, memory[name]])),
    ["External id", memory.externalId],
    ["File", source && `${source.filename} · ${source.media_type} · ${bytesText(source.bytes)}`],
    ["Chunks", memory.chunk_count],
    ["Extracted by", memory.extraction],
    ["Occurred", occurred_at && time(occurred_at)],
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

/**
 * The field for the day or time at which something happened.
 * @param {string | null} [value]
 */
export function occurredAtField(value = null) {
  return field("occurred_at", "Occurred", {
    value: value === null ? null : value.replace("T00:00:00.000Z", ""),
    placeholder: "2026-05-03",
    hint: "Optional: when it happened, if not now",
  });
}

/** @param {Memory} memory @param {(memory: Memory) => void} onChange */
function editForm({ id, title, tags, occurred_at }, onChange) {
  const titleField = field("title", "Title", { value: title });
  const tagsField = field("tags", "Tags", {
    value: tags === null ? null : tags.join(", "),
    hint: "Separated by commas",
  });
  const occurredField = occurredAtField(occurred_at);
  return form({
    fields: [titleField, tagsField, occurredField],
    keepsValues: true,
    actions: [
      {
        label: "Save",
        run: async () => {
          const body = {
            title: titleField.value() || null,
            tags: listOf(tagsField.value()),
            occurred_at: occurredField.value() || null,
          };
          onChange(await call("updateMemory", { params: { id }, body }));
        },
      },
    ],
  });
}

/** @param {Memory} memory @param {HTMLElement} errors @param {() => void} onDeleted */
async function remove(memory, errors, onDeleted) {
  const purge = check("Delete permanently now, without the retention period");
  await attemptConfirmed({
    place: errors,
    title: "Delete this memory?",
    text: `“${nameOf(memory)}” disappears from all lists and answers at once.`,
    verb: "Delete",
    extra: purge.element,
    run: async () => {
      await call("deleteMemory", { params: { id: memory.id }, query: { purge: purge.control.checked || null } });
      onDeleted();
    },
  });
}
