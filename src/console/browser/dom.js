// Creates elements. All text from the server becomes text nodes; no code of the page parses HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

/**
 * Creates an element. Attributes that are null, undefined or false are omitted; functions such as `onclick` become
 * listeners.
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
  element.append(...nodesOf(children));
  return element;
}

/**
 * Replaces the children of an element.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodesOf(children));
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function nodesOf(children) {
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

/** A status as a coloured label. @param {string} status */
export function badge(status) {
  return h("span", { class: "badge", "data-status": status }, status);
}

/** A time in the reader's time zone. @param {string | null | undefined} iso */
export function time(iso) {
  if (iso === null || iso === undefined) return "–";
  const text = new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return h("time", { datetime: iso, title: iso }, text);
}

/** Formats a number of bytes in KB, MB and so on, in steps of 1024. @param {number} bytes */
export function bytesText(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 && power > 0 ? 1 : 0 })} ${units[power]}`;
}

/**
 * An error message with its code and request id.
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

/**
 * @param {unknown} error
 * @returns {{ message: string, code: string, requestId?: string | null, retryAfterSeconds?: number | null }}
 */
function describe(error) {
  if (error instanceof Error && "code" in error) return /** @type {any} */ (error);
  return { message: `Error in the console: ${error instanceof Error ? error.message : String(error)}`, code: "page" };
}

/**
 * A button that copies the text of an element. Without https, browsers offer no clipboard; then the button only selects
 * the text.
 * @param {HTMLElement} source
 */
export function copyButton(source) {
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? "");
      copy.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(source); // the reader only has to press the shortcut
      copy.textContent = "Selected: press Ctrl+C";
    }
  });
  return copy;
}

/**
 * Shows a secret, which the server never shows again.
 * @param {string} title
 * @param {string} secret
 */
export function secretBox(title, secret) {
  const value = h("code", { class: "secret" }, secret);
  const box = h(
    "div",
    { class: "secret-box", role: "status" },
    h("p", {}, h("strong", {}, title), " It is shown only once. Copy it now and store it safely."),
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
 * Asks for confirmation of something that cannot be undone.
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
 * Shows a modal dialog until it is closed. Then the browser returns the focus to the element that had it before. If
 * that element no longer exists, the main part of the page gets the focus, so that keyboard users stay on the page.
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
