// Forms: fields with labels, hints and errors, and the handling of a submission. The sections decide what is sent.

import { ApiError } from "./api.js";
import { h, problem } from "./dom.js";

let fieldCount = 0;

/**
 * @typedef {object} Field
 * @property {string} name of the API's field: an error with this `param` is shown beside it
 * @property {HTMLElement} element
 * @property {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} control
 * @property {() => string} value trimmed
 * @property {(message: string | null) => void} setError null clears the error
 */

/**
 * A field with one control.
 * @param {string} name
 * @param {string} label
 * @param {{
 *   hint?: string, options?: (string | [value: string, label: string])[], lines?: number, type?: string,
 *   value?: string | number | null, placeholder?: string, spellcheck?: string, class?: string, min?: number,
 *   max?: number, required?: boolean,
 * }} [parts] `options` make it a select, `lines` a textarea; the others are attributes
 * @returns {Field}
 */
export function field(name, label, { hint, options, lines, ...attributes } = {}) {
  fieldCount += 1;
  const id = `field-${fieldCount}`;
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
    setError: (message) => {
      error.textContent = message ?? "";
      const details = control.closest("details");
      if (message !== null && details !== null) details.open = true;
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
 * A checkbox with its label.
 * @param {string} label
 * @param {import("./dom.js").Attributes} [attributes]
 */
export function check(label, attributes = {}) {
  const control = h("input", { type: "checkbox", ...attributes });
  return { control, element: h("label", { class: "check" }, control, label) };
}

/**
 * A group of checkboxes.
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
    setError: (message) => {
      error.textContent = message ?? "";
    },
  };
}

/**
 * A form. While an action runs, its buttons are disabled. An error is shown next to the field that it names, or below
 * the form if it names none.
 * @param {{ fields: { name: string, element: HTMLElement, setError: (message: string | null) => void }[], actions: {
 *   label: string, run: () => Promise<unknown> }[], layout?: Node[], beside?: (Node | false)[], below?: Node[],
 *   keepsValues?: boolean, isQuiet?: boolean, label?: string, }} parts Enter starts the first of `actions`; `layout`
 *   replaces the plain list of fields; `beside` and `below` are placed next to the buttons; `keepsValues`: the form is
 *   not reset after an action; `isQuiet`: no button is highlighted
 */
export function form({
  fields,
  actions,
  layout,
  beside = [],
  below = [],
  keepsValues = false,
  isQuiet = false,
  label,
}) {
  const errors = h("div");
  let isBusy = false;
  /** Reasons why the key may not run an action, by its button. @type {Map<HTMLButtonElement | undefined, string>} */
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
        errors.replaceChildren();
        for (const { setError } of fields) setError(null);
        for (const one of buttons) one.disabled = true;
        try {
          await actions[chosen]?.run();
          if (!keepsValues) element.reset();
        } catch (error) {
          if (isDenied(error)) denied.set(buttons[chosen], error.message);
          const field = fields.find(({ name }) => error instanceof ApiError && isAbout(error, name));
          if (field === undefined || !(error instanceof ApiError)) errors.append(problem(error));
          else field.setError(error.message);
        } finally {
          isBusy = false;
          for (const one of buttons) {
            one.disabled = denied.has(one);
            one.title = denied.get(one) ?? "";
          }
        }
      },
    },
    layout ?? fields.map((one) => one.element),
    h("div", { class: "row" }, buttons, beside),
    below,
    errors,
  );
  return element;
}

/**
 * Whether the key lacks the scope for an action, independent of the values entered.
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

/** Splits `a, b` into a list. @param {string} text */
export function listOf(text) {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/**
 * The JSON value in a field; undefined if the field is empty.
 * @param {Field} from
 * @throws {ApiError} that names the field
 */
export function jsonOf(from) {
  if (from.value() === "") return undefined;
  try {
    return JSON.parse(from.value());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiError({ code: "page", param: from.name, message: `Invalid JSON: ${reason}` });
  }
}
