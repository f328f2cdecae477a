// A menu that a button opens: arrow keys move, Escape closes and gives the focus back.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, type Icon } from "./button.tsx";

/** An entry of a menu. */
export interface MenuItem {
  readonly label: string;
  readonly icon?: Icon | undefined;
  readonly run: () => unknown;
  readonly checked?: boolean | undefined;
  readonly danger?: boolean | undefined;
  /** A note after the label, in small print. */
  readonly fine?: string | undefined;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly (MenuItem | false | null | undefined)[];
  readonly icon?: Icon | undefined;
  /** Content of the button; without it the button has the icon only. */
  readonly children?: ComponentChildren;
  readonly kind?: "plain" | "ghost" | undefined;
  readonly size?: "small" | undefined;
  readonly class?: string | undefined;
}

/** A button with a menu. */
export function Menu({ label, items, icon, children, kind = "ghost", size, class: more }: MenuProps) {
  const [isOpen, setIsOpen] = useState(false);
  const [isAbove, setIsAbove] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const shown = items.filter((item): item is MenuItem => Boolean(item));
  const entries = () => [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];

  useEffect(() => {
    if (!isOpen) return;
    (entries().find((entry) => entry.ariaChecked === "true") ?? entries()[0])?.focus();
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setIsOpen(false);
    };
    addEventListener("pointerdown", outside);
    addEventListener("focusin", outside);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("focusin", outside);
    };
  }, [isOpen]);

  const close = () => {
    setIsOpen(false);
    root.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape") close();
    else if (next !== undefined) all[(next + all.length) % all.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class={`menu ${more ?? ""}`} ref={root} onKeyDown={onKeyDown}>
      <Button
        kind={kind}
        size={size}
        icon={icon}
        label={children === undefined ? label : undefined}
        expanded={isOpen}
        hasPopup="menu"
        run={() => {
          const below = innerHeight - (root.current?.getBoundingClientRect().bottom ?? 0);
          setIsAbove(below < 60 + shown.length * 36);
          setIsOpen(!isOpen);
        }}
      >
        {children}
      </Button>
      {isOpen && (
        <div class={`menu-list ${isAbove ? "above" : ""}`} role="menu" aria-label={label}>
          {shown.map(({ label: text, icon: Shown, run, checked, danger, fine }) => (
            <button
              key={text}
              type="button"
              {...(checked === undefined ? { role: "menuitem" } : { role: "menuitemradio", "aria-checked": checked })}
              tabIndex={-1}
              class={`menu-item ${danger ? "danger" : ""}`}
              onClick={() => {
                close();
                void run();
              }}
            >
              {Shown && <Shown size={16} aria-hidden="true" />}
              <span dir="auto">{text}</span>
              {fine && <span class="fine">{fine}</span>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
