// Short messages at the top of the page, where they cover no button that a person needs next. They disappear after the
// time that reading takes; errors stay until they are closed or SHOWN_MAX newer messages have come.

import { signal } from "@preact/signals";
import { ApiError } from "../core/api.ts";
import { t } from "../core/i18n.ts";
import { CircleAlert, CircleCheck, X } from "./icons.ts";

interface Toast {
  readonly id: number;
  readonly kind: "done" | "error";
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => unknown } | undefined;
}

const SHOWN_MS = 6_000;
const SHOWN_MAX = 4;
const toasts = signal<readonly Toast[]>([]);
let count = 0;

/** Shows that something was done. `action` is a button in the message, such as Undo. */
export function toast(text: string, action?: Toast["action"]): void {
  const id = add({ kind: "done", text, action });
  setTimeout(() => remove(id), action === undefined ? SHOWN_MS : SHOWN_MS * 2);
}

/** Shows that something failed. */
export function toastError(error: unknown): void {
  add({ kind: "error", text: messageOf(error) });
}

/** The message of an error for people. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? error.message : String(error);
}

function add(parts: Omit<Toast, "id">): number {
  count += 1;
  toasts.value = [...toasts.value, { ...parts, id: count }].slice(-SHOWN_MAX);
  return count;
}

function remove(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** The list of messages. The page has exactly one. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, action }) => (
        <div key={id} class={`toast ${kind}`}>
          {kind === "done" ? (
            <CircleCheck size={18} aria-hidden="true" />
          ) : (
            <CircleAlert size={18} aria-hidden="true" />
          )}
          <p dir="auto">{text}</p>
          {action && (
            <button
              type="button"
              class="button ghost small"
              onClick={() => {
                remove(id);
                void action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="button ghost small bare" aria-label={t("Close")} onClick={() => remove(id)}>
            <X size={16} aria-hidden="true" />
          </button>
        </div>
      ))}
    </div>
  );
}
