// Dialogs. The browser keeps the focus inside. When a dialog closes, the element that opened it gets the focus back.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n.ts";
import { Button } from "./button.tsx";
import { CheckField, ClosingDialog, Field, Form } from "./form.tsx";
import { X } from "./icons.ts";

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
  readonly kind?: "normal" | "wide" | "panel" | "palette" | undefined;
  /** Elements beside the title. */
  readonly beside?: ComponentChildren;
}

/** Selector of elements that a person can fill in. */
const FIELDS = "input:not([hidden], [type=checkbox]), select, textarea";

/**
 * A modal dialog, open as long as it is in the page. `panel` stands at the side, over the full height; `palette` stands
 * near the top, without a head.
 */
export function Dialog({ title, close, children, kind = "normal", beside }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    // otherwise the browser focuses the button that closes the dialog
    if (element.current?.querySelector("[autofocus]") === null)
      element.current.querySelector<HTMLElement>(`.dialog-body :is(${FIELDS})`)?.focus();
    return () => {
      // the opener may have been removed, such as the row of a deleted memory: then the main part of the page gets the
      // focus
      const target = opener instanceof HTMLElement && opener.isConnected && opener !== document.body ? opener : null;
      (target ?? document.getElementById("main"))?.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${kind}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onKeyDown={(event) => {
        // without this, Escape in a search field would only empty the field
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        if (event.target === element.current) close();
      }}
    >
      <div class="dialog-inner">
        {kind !== "palette" && (
          <header class="dialog-head">
            <h2 dir="auto">{title}</h2>
            {beside}
            <Button kind="ghost" icon={X} label={t("Close")} run={close} />
          </header>
        )}
        <div class="dialog-body">
          <ClosingDialog.Provider value={close}>{children}</ClosingDialog.Provider>
        </div>
      </div>
    </dialog>
  );
}

/** The buttons at the foot of a dialog without a form; the main one is last. */
export function DialogFoot({ children }: { readonly children: ComponentChildren }) {
  return <div class="row form-foot">{children}</div>;
}

interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  readonly verb: string;
  readonly run: (option: boolean) => Promise<unknown>;
  /** Text that a person must type before the action is possible. */
  readonly typed?: string | undefined;
  /** Label of a checkbox below the question, such as deleting for good. `run` gets whether it is ticked. */
  readonly option?: string | undefined;
  /** Whether it destroys something. */
  readonly destroys?: boolean | undefined;
}

const question = signal<Question | null>(null);

/** Opens a dialog that asks a person to confirm an action. */
export function confirm(asked: Question): void {
  question.value = asked;
}

/** The dialog for `confirm`. The page has exactly one. */
export function Confirmation() {
  const asked = question.value;
  return asked === null ? null : <Asked key={asked.title} asked={asked} />;
}

function Asked({ asked }: { readonly asked: Question }) {
  const [typed, setTyped] = useState("");
  const [option, setOption] = useState(false);
  const close = () => {
    question.value = null;
  };
  return (
    <Dialog title={asked.title} close={close}>
      <div class="stack">
        <div>{asked.text}</div>
        <Form
          label={asked.title}
          verb={asked.verb}
          disabled={asked.typed !== undefined && typed.trim() !== asked.typed}
          destroys={asked.destroys}
          prefersCancel={asked.typed === undefined}
          send={async () => {
            await asked.run(option);
            close();
          }}
        >
          {asked.option !== undefined && <CheckField label={asked.option} checked={option} onChecked={setOption} />}
          {asked.typed !== undefined && (
            <Field
              name="typed"
              label={t("Type {text} to confirm", { text: `“${asked.typed}”` })}
              value={typed}
              onValue={setTyped}
              autofocus
            />
          )}
        </Form>
      </div>
    </Dialog>
  );
}
