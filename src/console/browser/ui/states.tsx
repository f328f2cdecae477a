// What stands where content will be: skeletons, errors with Retry, and empty places that say what to do.

import type { ComponentChildren } from "preact";
import { ApiError } from "../core/api.ts";
import { t } from "../core/i18n.ts";
import type { Resource } from "../core/resource.ts";
import { Button, type Icon } from "./button.tsx";
import { CircleAlert, RefreshCw } from "./icons.ts";
import { messageOf } from "./toast.tsx";

/** Grey lines in the place of text. */
export function Skeleton({ lines = 3, height }: { readonly lines?: number; readonly height?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={t("Loading")}>
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} style={{ width: `${[96, 82, 90, 64][at % 4]}%`, ...(height && { height: `${height}px` }) }} />
      ))}
    </div>
  );
}

/** An error, with what helps to find its cause. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) {
  const known = error instanceof ApiError ? error : null;
  return (
    <div class="problem" role="alert">
      <CircleAlert size={18} aria-hidden="true" />
      <div>
        <p dir="auto">{messageOf(error)}</p>
        {known?.status === 0 && <p class="fine">{t("It is read again by itself as soon as the server answers.")}</p>}
        {known?.requestId && (
          <p class="fine">
            <code>{known.code}</code> · {t("request")} <code>{known.requestId}</code>
          </p>
        )}
      </div>
      {retry && (
        <Button size="small" icon={RefreshCw} run={retry}>
          {t("Retry")}
        </Button>
      )}
    </div>
  );
}

interface EmptyProps {
  readonly icon: Icon;
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}

/** An empty place that says what could stand there and how. */
export function Empty({ icon: Shown, title, children, action }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Shown size={22} aria-hidden="true" />
      </span>
      <p class="empty-title">{title}</p>
      {children && <p class="empty-text">{children}</p>}
      {action && <div class="row centre">{action}</div>}
    </div>
  );
}

interface LoadedProps<T> {
  readonly from: Resource<T>;
  readonly lines?: number;
  readonly children: (value: T) => ComponentChildren;
}

/** The value of a resource, or what stands for it until it is there. */
export function Loaded<T>({ from, lines = 4, children }: LoadedProps<T>) {
  const { value, error, reload } = from;
  return (
    <>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value !== undefined ? children(value) : error === undefined && <Skeleton lines={lines} />}
    </>
  );
}
