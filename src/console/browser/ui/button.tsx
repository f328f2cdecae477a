// Buttons, and links that look like buttons. While its action runs, a button looks busy; an error of the action is
// shown as a toast.

import type { ComponentChildren, ComponentType } from "preact";
import { useState } from "preact/hooks";
import { LoaderCircle } from "./icons.ts";
import { toastError } from "./toast.tsx";

/** An icon of icons.ts. */
export type Icon = ComponentType<{
  size?: number | string;
  class?: string;
  "aria-hidden"?: boolean | "true" | "false";
}>;

interface Look {
  readonly kind?: "primary" | "plain" | "ghost" | "danger" | "destructive" | undefined;
  readonly size?: "small" | "normal" | undefined;
  readonly icon?: Icon | undefined;
}

interface ButtonProps extends Look {
  readonly children?: ComponentChildren;
  /** Runs on a click. The button is busy until the returned promise settles. A rejection is shown as a toast. */
  readonly run?: ((event: MouseEvent) => unknown) | undefined;
  readonly type?: "button" | "submit" | undefined;
  readonly disabled?: boolean | undefined;
  readonly busy?: boolean | undefined;
  /** Name of a button that has an icon only; shown as its tooltip. */
  readonly label?: string | undefined;
  readonly title?: string | undefined;
  readonly pressed?: boolean | undefined;
  readonly expanded?: boolean | undefined;
  readonly hasPopup?: "menu" | "dialog" | "listbox" | undefined;
  /** Whether the button gets the focus when its dialog opens. */
  readonly autofocus?: boolean | undefined;
  readonly class?: string | undefined;
}

/** A button. */
export function Button({ kind = "plain", size, icon: Shown, children, run, label, busy, ...rest }: ButtonProps) {
  const [isRunning, setIsRunning] = useState(false);
  const isBusy = busy === true || isRunning;
  const click = async (event: MouseEvent) => {
    const done = run?.(event);
    if (!(done instanceof Promise)) return;
    setIsRunning(true);
    try {
      await done;
    } catch (error) {
      toastError(error);
    } finally {
      setIsRunning(false);
    }
  };
  const isBare = children === undefined;
  return (
    <button
      type={rest.type ?? "button"}
      class={`button ${kind} ${size ?? ""} ${isBare ? "bare" : ""} ${rest.class ?? ""}`}
      aria-label={label}
      title={rest.title ?? (isBare ? label : undefined)}
      aria-busy={isBusy || undefined}
      aria-disabled={isBusy || undefined}
      aria-pressed={rest.pressed}
      aria-expanded={rest.expanded}
      aria-haspopup={rest.hasPopup}
      disabled={rest.disabled}
      autofocus={rest.autofocus}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else if (run !== undefined) void click(event);
      }}
    >
      {isBusy ? (
        <LoaderCircle size={16} class="spin" aria-hidden="true" />
      ) : (
        Shown && <Shown size={16} aria-hidden="true" />
      )}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

interface LinkProps extends Look {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly class?: string | undefined;
}

/** A link that looks like a button. */
export function LinkButton({ href, kind = "plain", size, icon: Shown, children, class: more }: LinkProps) {
  return (
    <a class={`button ${kind} ${size ?? ""} ${more ?? ""}`} href={href}>
      {Shown && <Shown size={16} aria-hidden="true" />}
      <span>{children}</span>
    </a>
  );
}
