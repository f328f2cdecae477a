// Forms: fields with their labels, hints and errors, and what happens when one is sent. What is sent is left to the parts.

import { ApiError } from "./api.js";
import { h, problem } from "./dom.js";

let fields = 0;

/**
 * @typedef {object} Field
 * @property {string} name the API's own name: an error whose `param` it is stands beside it
 * @property {HTMLElement} element
 * @property {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} control
 * @property {() => string} value trimmed
 * @property {(message: string | null) => void} tell what is wrong with it; null: nothing
 */

/**
 * A field of one control.
 * @param {string} name
 * @param {string} label
 * @param {{
 *   hint?: string, options?: (string | [value: string, label: string])[], lines?: number, type?: string, value?: string | number | null,
 *   placeholder?: string, spellcheck?: string, class?: string, min?: number, max?: number, required?: boolean,
 * }} [parts] `options` make it a select, `lines` a textarea; the others are attributes
 * @returns {Field}
 */
export function field(name, label, { hint, options, lines, ...attributes } = {}) {
  fields += 1;
  const id = `field-${fields}`;
  const shared = {
    id,
    name,
    "aria-describedby": `${id}-error${hint === undefined ? "" : ` ${id}-hint`}`,
    ...attributes,
  };
  const control =
    options !== undefined
      ? h("select", shared, options.map(optionOf))
      : lines !== undefined
        ? h("textarea", { rows: lines, ...shared })
        : h("input", { autocomplete: "off", spellcheck: "false", ...shared });
  const error = h("p", { class: "field-error", id: `${id}-error`, "aria-live": "polite" });
  return {
    name,
    control,
    element: h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      control,
      hint !== undefined && h("p", { class: "fine", id: `${id}-hint` }, hint),
      error,
    ),
    value: () => control.value.trim(),
    tell: (message) => {
      error.textContent = message ?? "";
      const fold = control.closest("details");
      if (message !== null && fold !== null) fold.open = true;
      if (message === null) control.removeAttribute("aria-invalid");
      else control.setAttribute("aria-invalid", "true");
    },
  };
}

/** @param {string | [value: string, label: string]} option */
function optionOf(option) {
  const [value, label] = typeof option === "string" ? [option, option] : option;
  return h("option", { value }, label);
}

/**
 * A checkbox with its label behind it.
 * @param {string} label
 * @param {import("./dom.js").Attributes} [attributes]
 */
export function check(label, attributes = {}) {
  const control = h("input", { type: "checkbox", ...attributes });
  return { control, element: h("label", { class: "check" }, control, label) };
}

/**
 * Several of a few.
 * @param {string} name
 * @param {string} legend
 * @param {readonly string[]} values
 * @param {readonly string[]} chosen
 */
export function choices(name, legend, values, chosen) {
  const checks = values.map((value) => check(value, { value, checked: chosen.includes(value) }));
  const error = h("p", { class: "field-error", "aria-live": "polite" });
  return {
    name,
    element: h(
      "fieldset",
      { class: "field" },
      h("legend", {}, legend),
      h(
        "div",
        { class: "choices" },
        checks.map(({ element }) => element),
      ),
      error,
    ),
    values: () => checks.filter(({ control }) => control.checked).map(({ control }) => control.value),
    /** @param {string | null} message */
    tell: (message) => {
      error.textContent = message ?? "";
    },
  };
}

/**
 * A form. While an action runs, its buttons wait; what the action throws is shown beside the field that it is about, else
 * below.
 * @param {{
 *   fields: { name: string, element: HTMLElement, tell: (message: string | null) => void }[],
 *   actions: { label: string, run: () => Promise<unknown> }[],
 *   layout?: Node[],
 *   beside?: (Node | false)[],
 *   below?: Node[],
 *   keeps?: boolean,
 *   isQuiet?: boolean,
 *   label?: string,
 * }} parts the first of `actions` is the one that Enter starts; `layout` stands in place of the fields in their order;
 *   `beside` and `below` the buttons; `keeps`: what was entered stays after it was sent;
 *   `isQuiet`: its buttons do not stand out
 */
export function form({
  fields: asked,
  actions,
  layout,
  beside = [],
  below = [],
  keeps = false,
  isQuiet = false,
  label,
}) {
  const trouble = h("div");
  let isBusy = false;
  /** What the key may not do, with the reason. @type {Map<HTMLButtonElement | undefined, string>} */
  const denied = new Map();
  const buttons = actions.map((action, at) =>
    h("button", { type: "submit", class: at === 0 && !isQuiet && "primary" }, action.label),
  );
  const element = h(
    "form",
    {
      novalidate: true,
      "aria-label": label,
      onsubmit: async (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        const chosen = event.submitter instanceof HTMLButtonElement ? buttons.indexOf(event.submitter) : 0;
        if (isBusy || buttons[chosen]?.disabled) return;
        isBusy = true;
        trouble.replaceChildren();
        for (const { tell } of asked) tell(null);
        for (const one of buttons) one.disabled = true;
        try {
          await actions[chosen]?.run();
          if (!keeps) element.reset();
        } catch (error) {
          if (isDenied(error)) denied.set(buttons[chosen], error.message);
          const about = asked.find(({ name }) => error instanceof ApiError && isAbout(error, name));
          if (about === undefined || !(error instanceof ApiError)) trouble.append(problem(error));
          else about.tell(error.message);
        } finally {
          isBusy = false;
          for (const one of buttons) {
            one.disabled = denied.has(one);
            one.title = denied.get(one) ?? "";
          }
        }
      },
    },
    layout ?? asked.map((one) => one.element),
    h("div", { class: "row" }, buttons, beside),
    below,
    trouble,
  );
  return element;
}

/**
 * Whether the key lacks the scope, whatever is entered.
 * @param {unknown} error
 * @returns {error is ApiError}
 */
function isDenied(error) {
  return error instanceof ApiError && error.code === "insufficient_scope" && error.param === null;
}

/** @param {ApiError} error @param {string} name */
function isAbout({ param }, name) {
  return param !== null && (param === name || param.startsWith(`${name}.`) || param.startsWith(`${name}[`));
}

/** `a, b` as a list. @param {string} text */
export function listOf(text) {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/**
 * The JSON object that a field holds; undefined where it is empty.
 * @param {Field} from
 * @throws {ApiError} about the field
 */
export function jsonOf(from) {
  if (from.value() === "") return undefined;
  try {
    return JSON.parse(from.value());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiError({ code: "page", param: from.name, message: `This is no JSON: ${reason}` });
  }
}
