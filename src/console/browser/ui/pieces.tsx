// Small components of views: page heads, cards, tabs, badges, copy buttons, lists of facts, meters, times.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { agoText, timeText } from "../core/format.ts";
import { t } from "../core/i18n.ts";
import { setFilters } from "../core/router.ts";
import { Button, type Icon } from "./button.tsx";
import { Check, Copy } from "./icons.ts";
import { TintedCode } from "./tinted-code.tsx";
import { toastError } from "./toast.tsx";

interface HeadProps {
  readonly title: string;
  /** A sentence that says what the view is for. */
  readonly text?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly above?: ComponentChildren;
  /** Whether the title may be a sentence: then it is smaller, and has two lines at most on a wide page. */
  readonly isSentence?: boolean;
}

/** The head of a view. */
export function PageHead({ title, text, actions, above, isSentence }: HeadProps) {
  return (
    <header class="page-head">
      <div>
        {above}
        <h1 dir="auto" class={isSentence ? "sentence-title" : ""}>
          {title}
        </h1>
        {text && <div class="page-text">{text}</div>}
      </div>
      {actions && <div class="row">{actions}</div>}
    </header>
  );
}

interface CardProps {
  readonly title?: string;
  /** Name of a card without a title. */
  readonly label?: string;
  readonly icon?: Icon;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
}

/** A framed part of a view. */
export function Card({ title, label = title, icon: Shown, actions, children, class: more }: CardProps) {
  return (
    <section class={`card ${more ?? ""}`} aria-label={label}>
      {(title !== undefined || actions) && (
        <header class="card-head">
          {Shown && <Shown size={16} aria-hidden="true" />}
          {title === undefined ? <span class="spring" /> : <h2 dir="auto">{title}</h2>}
          {actions && <div class="row">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

interface TabsProps {
  readonly label: string;
  /** The count says how much there is behind a tab; null: it is being read, and its place is kept. */
  readonly tabs: readonly (readonly [name: string, title: string, count?: number | string | null] | false)[];
  readonly current: string;
  /** Name of the filter of the address that stores the chosen tab. */
  readonly filter?: string;
}

/** Tabs whose choice is stored in the address. */
export function Tabs({ label, tabs, current, filter = "tab" }: TabsProps) {
  const shown = tabs.filter((tab) => tab !== false);
  const list = useRef<HTMLDivElement>(null);
  const [fades, setFades] = useState("");
  // on a phone the chosen tab may be outside the visible part
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  // tabs fade at an edge beyond which there are more
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    const look = () => {
      const { scrollLeft, scrollWidth, clientWidth } = element;
      const before = Math.abs(scrollLeft); // negative from right to left
      setFades(`${before > 1 ? "more-before" : ""} ${before + clientWidth < scrollWidth - 1 ? "more-after" : ""}`);
    };
    const watch = new ResizeObserver(look);
    watch.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = shown.findIndex(([name]) => name === current);
    const next = shown[(at + step + shown.length) % shown.length];
    if (next === undefined) return;
    setFilters({ [filter]: next[0] });
    (list.current?.children[shown.indexOf(next)] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class={`tabs ${fades}`} role="tablist" aria-label={label} onKeyDown={move} ref={list}>
      {shown.map(([name, title, count]) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === current}
          tabIndex={name === current ? 0 : -1}
          onClick={() => setFilters({ [filter]: name })}
        >
          {title}
          {count !== undefined && (
            <span class={count === null ? "tab-count unknown" : "tab-count number"} aria-hidden={count === null}>
              {" "}
              {count ?? 0}
            </span>
          )}
        </button>
      ))}
    </div>
  );
}

/** A coloured label, such as a status. */
export function Badge({
  tone = "neutral",
  children,
}: {
  readonly tone?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`badge ${tone}`} dir="auto">
      {children}
    </span>
  );
}

/** A button that copies a text. */
export function CopyButton({
  text,
  label,
  small,
}: {
  readonly text: string;
  readonly label?: string;
  readonly small?: boolean;
}) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setIsCopied(true);
      setTimeout(() => setIsCopied(false), 2_000);
    } catch {
      toastError(new Error(t("The browser did not allow copying. Select the text instead.")));
    }
  };
  const icon = isCopied ? Check : Copy;
  return small ? (
    <Button kind="ghost" size="small" icon={icon} label={label ?? t("Copy")} run={copy} />
  ) : (
    <Button size="small" icon={icon} run={copy}>
      {isCopied ? t("Copied") : (label ?? t("Copy"))}
    </Button>
  );
}

interface SnippetProps {
  readonly code: string;
  readonly label: string;
  /** Whether long lines are wrapped. */
  readonly wraps?: boolean;
}

/** Code that can be copied. */
export function Snippet({ code, label, wraps }: SnippetProps) {
  return (
    <div class={`snippet ${wraps ? "wraps" : ""}`} dir="ltr">
      <div class="snippet-head">
        <span aria-hidden="true">{label}</span>
        <CopyButton text={code} />
      </div>
      <pre tabIndex={0} role="region" aria-label={label}>
        <TintedCode code={code} />
      </pre>
    </div>
  );
}

interface FactsProps {
  readonly rows: readonly (readonly [string, ComponentChildren])[];
  readonly class?: string;
}

/** A list of names and values. Rows without a value are left out. */
export function Facts({ rows, class: more = "" }: FactsProps) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return (
    <dl class={`facts ${more}`}>
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A bar that shows a share, 0 to 1. */
export function Meter({
  label,
  share,
  tone = "",
}: {
  readonly label: string;
  readonly share: number;
  readonly tone?: string;
}) {
  const percent = Math.max(0, Math.min(100, Math.round(share * 100)));
  return (
    <div class="meter" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}>
      <span class={tone} style={{ width: `${percent}%` }} />
    </div>
  );
}

/** How long ago something was, with the exact time as its tooltip. */
export function Ago({ time }: { readonly time: string | null }) {
  if (time === null) return <span class="fine">–</span>;
  return (
    <time dateTime={time} title={timeText(time)}>
      {agoText(time)}
    </time>
  );
}

/** An id or other exact text that can be copied. */
export function Id({ text }: { readonly text: string }) {
  return (
    <span class="id">
      <code dir="ltr">{text}</code>
      <CopyButton text={text} small label={t("Copy {text}", { text })} />
    </span>
  );
}
