// Placeholders for content: skeletons while it loads, errors with a Retry button, and hints where there is none yet.

import type { ComponentChildren } from "preact";
import { ApiError } from "../core/api.ts";
import { t } from "../core/i18n.ts";
import type { Resource } from "../core/resource.ts";
import { Button, type Icon } from "./button.tsx";
import { CircleAlert, RefreshCw } from "./icons.ts";
import { messageOf } from "./toast.tsx";

/** Grey lines instead of text that is being loaded. */
export function Skeleton({ lines = 3, height }: { readonly lines?: number; readonly height?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={t("Loading")}>
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} style={{ width: `${[96, 82, 90, 64][at % 4]}%`, ...(height && { height: `${height}px` }) }} />
      ))}
    </div>
  );
}

/** An error message, with details such as the request id. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) {
  const known = error instanceof ApiError ? error : null;
  return (
    <div class="problem" role="alert">
      <CircleAlert size={18} aria-hidden="true" />
      <div>
        <p dir="auto">{messageOf(error)}</p>
        {known?.status === 0 && <p class="fine">{t("This page refreshes as soon as the server answers.")}</p>}
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
  /** Whether it takes little room, because other parts of the view follow. */
  readonly isBrief?: boolean;
}

/** A hint in place of missing content, with an action that adds some. */
export function Empty({ icon: Shown, title, children, action, isBrief = false }: EmptyProps) {
  return (
    <div class={isBrief ? "empty brief" : "empty"}>
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

/** Renders the value of a resource. Until it is loaded, shows a skeleton or its error. */
export function Loaded<T>({ from, lines = 4, children }: LoadedProps<T>) {
  const { value, error, reload } = from;
  return (
    <>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value !== undefined ? children(value) : error === undefined && <Skeleton lines={lines} />}
    </>
  );
}
