// Forms: fields with labels, hints and errors. An API error is shown at the field that it names.

import { type ComponentChildren, createContext } from "preact";
import { useContext, useId, useState } from "preact/hooks";
import { ApiError } from "../core/api.ts";
import { t } from "../core/i18n.ts";
import { Button, type Icon } from "./button.tsx";
import { ChevronDown } from "./icons.ts";
import { Problem } from "./states.tsx";

/** Closes the dialog around an element; null: there is none. */
export const ClosingDialog = createContext<(() => void) | null>(null);

/** The error that a form shows. */
const FormError = createContext<ApiError | null>(null);

interface FormProps {
  readonly children: ComponentChildren;
  /** Called when the form is submitted. If it rejects, the error is shown. */
  readonly send: () => Promise<unknown>;
  readonly verb: string;
  readonly icon?: Icon | undefined;
  /** More buttons beside the main one. */
  readonly beside?: ComponentChildren;
  readonly label: string;
  readonly disabled?: boolean | undefined;
  /** Whether nothing was changed yet: then it has no buttons. */
  readonly isIdle?: boolean | undefined;
  /** Undoes what was changed and not saved yet. */
  readonly discard?: (() => void) | undefined;
  /** Whether sending it destroys something. */
  readonly destroys?: boolean | undefined;
  /** Whether the button that leaves the dialog gets the focus. */
  readonly prefersCancel?: boolean | undefined;
}

/** A form with one main button. Enter sends it. In a dialog it has Cancel, too. */
export function Form({
  children,
  send,
  verb,
  icon,
  beside,
  label,
  disabled,
  isIdle,
  discard,
  destroys,
  prefersCancel,
}: FormProps) {
  const cancel = useContext(ClosingDialog);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy || disabled === true) return;
    setIsBusy(true);
    setError(null);
    try {
      await send();
    } catch (problem) {
      setError(problem);
    } finally {
      setIsBusy(false);
    }
  };
  const ofField = error instanceof ApiError && error.param !== null ? error : null;
  return (
    <form noValidate aria-label={label} onSubmit={(event) => void submit(event)}>
      <FormError.Provider value={ofField}>{children}</FormError.Provider>
      {error !== null && <Problem error={error} />}
      <div class="row form-foot" hidden={isIdle}>
        {cancel !== null && (
          <Button autofocus={prefersCancel} run={cancel}>
            {t("Cancel")}
          </Button>
        )}
        <Button type="submit" kind={destroys ? "destructive" : "primary"} icon={icon} busy={isBusy} disabled={disabled}>
          {verb}
        </Button>
        {discard !== undefined && isIdle !== true && <Button run={discard}>{t("Discard")}</Button>}
        {beside}
      </div>
    </form>
  );
}

/** The message for a field in the error of the form around it. */
function useFieldError(name: string): string | null {
  const error = useContext(FormError);
  const param = error?.param ?? "";
  const isMine = param === name || param.startsWith(`${name}.`) || param.startsWith(`${name}[`);
  return error !== null && isMine ? error.message : null;
}

type Option = readonly [value: string, label: string];

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly hint?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly type?: "text" | "search" | "number" | "password" | "url" | "email" | "date" | "datetime-local" | undefined;
  /** Number of lines; makes the field a text area. */
  readonly lines?: number | undefined;
  /** Makes the field a drop-down list. */
  readonly options?: readonly Option[] | undefined;
  /** More options of the list, below headings. */
  readonly groups?: readonly (readonly [heading: string, options: readonly Option[]])[] | undefined;
  readonly min?: number | string | undefined;
  readonly max?: number | string | undefined;
  readonly step?: number | string | undefined;
  readonly code?: boolean | undefined;
  /** Unit of a number, shown at the end of the field. */
  readonly unit?: string | undefined;
  readonly autofocus?: boolean | undefined;
  /** Values that the browser suggests while a person types. */
  readonly suggestions?: readonly string[] | undefined;
  /** Whether only screen readers get the label. */
  readonly quiet?: boolean | undefined;
  readonly disabled?: boolean | undefined;
}

/** A labelled field. */
export function Field(props: FieldProps) {
  const { name, label, value, onValue, hint, lines, options, groups, ...more } = props;
  const { suggestions, quiet, code, unit, autofocus, ...rest } = more;
  const id = useId();
  const error = useFieldError(name);
  const described = [error !== null && `${id}-error`, hint !== undefined && `${id}-hint`].filter(Boolean).join(" ");
  const shared = {
    id,
    name,
    disabled: rest.disabled,
    "aria-invalid": error !== null || undefined,
    "aria-describedby": described === "" ? undefined : described,
    autofocus,
  };
  const change = (event: { currentTarget: { value: string } }) => onValue(event.currentTarget.value);
  return (
    <div class={`field ${quiet ? "quiet" : ""}`}>
      <label for={id}>
        {label}
        {unit !== undefined && <span class="aside"> ({unit})</span>}
      </label>
      {options !== undefined ? (
        <div class="select">
          <select {...shared} value={value} onChange={change}>
            <Options options={options} />
            {groups?.map(([heading, those]) => (
              <optgroup key={heading} label={heading}>
                <Options options={those} />
              </optgroup>
            ))}
          </select>
          <ChevronDown size={16} aria-hidden="true" />
        </div>
      ) : lines !== undefined ? (
        <textarea
          {...shared}
          class={code ? "code" : ""}
          rows={lines}
          value={value}
          onInput={change}
          placeholder={rest.placeholder}
          dir="auto"
        />
      ) : (
        <div class={unit === undefined ? "input" : "input with-unit"}>
          <input
            {...shared}
            class={code ? "code" : ""}
            {...typeOf(rest.type)}
            value={value}
            onInput={change}
            placeholder={rest.placeholder}
            min={rest.min}
            max={rest.max}
            step={rest.step}
            autocomplete="off"
            spellcheck={false}
            list={suggestions === undefined ? undefined : `${id}-list`}
            dir={rest.type === "number" || rest.type === "password" ? undefined : "auto"}
          />
          {unit !== undefined && (
            <span class="unit" aria-hidden="true">
              {unit}
            </span>
          )}
        </div>
      )}
      {suggestions !== undefined && (
        <datalist id={`${id}-list`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== null && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function Options({ options }: { readonly options: readonly Option[] }) {
  return options.map(([option, text]) => (
    <option key={option} value={option}>
      {text}
    </option>
  ));
}

// Preact has a different type of properties for each `type` of an input element. A field may have any of them.
function typeOf(type: FieldProps["type"]): { type: "text" } {
  return { type: (type ?? "text") as "text" };
}

interface CheckProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
  readonly hint?: string | undefined;
  readonly disabled?: boolean | undefined;
  /** Whether it looks like a switch, for a setting that is on or off. */
  readonly isSwitch?: boolean | undefined;
}

/** A checkbox with its label. */
export function CheckField({ label, checked, onChecked, hint, disabled, isSwitch }: CheckProps) {
  return (
    <label class={isSwitch ? "check switch" : "check"}>
      <input
        type="checkbox"
        role={isSwitch ? "switch" : undefined}
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}

/** Splits `a, b` into a list. */
export function listOf(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** Parses a text as JSON; undefined if it is empty. @throws ApiError that names the field `param` */
export function jsonOf(text: string, param: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiError({ code: "page", param, message: t("Invalid JSON: {reason}", { reason }) });
  }
}
