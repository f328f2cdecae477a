// Makes elements. Whatever comes from the server becomes a text node: nothing here, and nothing in the page, reads HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

/**
 * An element. An attribute that is null, undefined or false is left out; `onclick` and the like are listeners.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...shown(children));
  return element;
}

/**
 * Puts other children in place of those that are there.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function shown(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * @param {string} label
 * @param {(event: MouseEvent) => void} onclick
 * @param {Attributes} [attributes]
 */
export function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

/** A word that says how something stands. @param {string} status */
export function badge(status) {
  return h("span", { class: "badge", "data-status": status }, status);
}

/** An instant in the reader's own time zone. @param {string | null | undefined} iso */
export function time(iso) {
  if (iso === null || iso === undefined) return "–";
  const text = new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return h("time", { datetime: iso, title: iso }, text);
}

/** Bytes in units of 1024. @param {number} bytes */
export function bytesText(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 && power > 0 ? 1 : 0 })} ${units[power]}`;
}

/**
 * What went wrong, in the API's own words.
 * @param {unknown} error
 */
export function problem(error) {
  const { message, code, requestId, retryAfterSeconds } = describe(error);
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, message),
    h(
      "p",
      { class: "fine" },
      h("code", {}, code),
      requestId && [" · request ", h("code", { class: "id" }, requestId)],
      retryAfterSeconds && ` · try again in ${retryAfterSeconds} s`,
    ),
  );
}

/** @param {unknown} error @returns {{ message: string, code: string, requestId?: string | null, retryAfterSeconds?: number | null }} */
function describe(error) {
  if (error instanceof Error && "code" in error) return /** @type {any} */ (error);
  return { message: `The page itself failed: ${error instanceof Error ? error.message : String(error)}`, code: "page" };
}

/**
 * A button that copies; where the browser keeps its clipboard shut (plain http), it selects the text instead.
 * @param {HTMLElement} source
 */
export function copyButton(source) {
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? "");
      copy.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(source); // the next best: one keystroke is left
      copy.textContent = "Selected: press Ctrl+C";
    }
  });
  return copy;
}

/**
 * A secret that is shown this once.
 * @param {string} title
 * @param {string} secret
 */
export function secretBox(title, secret) {
  const value = h("code", { class: "secret" }, secret);
  const box = h(
    "div",
    { class: "secret-box", role: "status" },
    h("p", {}, h("strong", {}, title), " It is shown this once; keep it somewhere safe."),
    h(
      "div",
      { class: "row" },
      value,
      copyButton(value),
      button("Done", () => box.remove()),
    ),
  );
  return box;
}

/**
 * Asks before something is done that cannot be undone; resolves with whether it was confirmed.
 * @param {{ title: string, text: string, verb: string, extra?: Node }} question
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text, verb, extra }) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { class: "small", "aria-labelledby": "confirm-title" },
      h("h2", { id: "confirm-title" }, title),
      h("p", {}, text),
      extra,
      h(
        "div",
        { class: "row end" },
        button("Cancel", () => dialog.close(), { autofocus: true }),
        button(verb, () => dialog.close("confirmed"), { class: "danger" }),
      ),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "confirmed"));
    openDialog(dialog);
  });
}

/**
 * Shows a dialog above everything, until it is closed. What had the focus gets it back; where that is gone meanwhile, the
 * page does, so that the keyboard is not lost.
 * @param {HTMLDialogElement} dialog
 */
export function openDialog(dialog) {
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (document.activeElement === document.body) document.querySelector("main")?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}
