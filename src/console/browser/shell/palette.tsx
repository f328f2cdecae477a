// The command palette: goes to a view, finds memories by their title, entities by their name and users by their id, and
// starts something new.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { pause } from "../core/api.ts";
import { t } from "../core/i18n.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Search } from "../ui/icons.ts";
import { type Command, commandsOf, find, NOTHING } from "./commands.ts";
import type { View } from "./views.ts";

const isOpen = signal(false);
/** Time in milliseconds after the last key before memories are searched. */
const TYPING_MS = 250;

/** Opens the palette. */
export function openPalette(): void {
  isOpen.value = true;
}

/** The palette. The page has exactly one. */
export function Palette({ views }: { readonly views: readonly View[] }) {
  return isOpen.value ? <Opened views={views} /> : null;
}

function Opened({ views }: { readonly views: readonly View[] }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const [found, setFound] = useState(NOTHING);
  const close = () => {
    isOpen.value = false;
  };

  useEffect(() => {
    addEventListener("hashchange", close);
    return () => removeEventListener("hashchange", close);
  }, []);
  useEffect(() => {
    setAt(0);
    const stopping = new AbortController();
    const search = async () => {
      if (query.trim() === "") return setFound(NOTHING);
      await pause(TYPING_MS, stopping.signal).catch(() => stopping.abort()); // the next key press aborts the pause
      if (stopping.signal.aborted) return;
      const next = await find(query.trim(), stopping.signal);
      if (!stopping.signal.aborted) setFound(next);
    };
    void search();
    return () => stopping.abort();
  }, [query]);

  const commands = commandsOf(views, query, found);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    close();
    void command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (next !== undefined) setAt((next + commands.length) % Math.max(1, commands.length));
    else if (event.key === "Enter") run(commands[at]);
    else return;
    event.preventDefault();
  };
  const groups = [...new Set(commands.map(({ group }) => group))];
  return (
    <Dialog title={t("Search or go to…")} close={close} kind="palette">
      <div class="palette">
        <div class="palette-head">
          <Search size={18} aria-hidden="true" />
          <input
            type="search"
            list={undefined}
            role="combobox"
            aria-label={t("Search or go to…")}
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant={`palette-${at}`}
            placeholder={t("Find a page, a memory or an action")}
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
            onKeyDown={onKeyDown}
            autofocus
            dir="auto"
          />
        </div>
        <div class="palette-list" id="palette-list" role="listbox" aria-label={t("Found")}>
          {groups.map((group) => (
            <div key={group} role="group" aria-label={group}>
              <p class="palette-group" aria-hidden="true">
                {group}
              </p>
              {commands.map(
                (command, index) =>
                  command.group === group && (
                    <Option
                      key={`${command.label} ${index}`}
                      id={`palette-${index}`}
                      command={command}
                      // the labels that offer a search contain all that was typed, so that a mark says nothing
                      match={group === t("Search and ask") ? "" : query.trim()}
                      isSelected={index === at}
                      run={() => run(command)}
                      look={() => setAt(index)}
                    />
                  ),
              )}
            </div>
          ))}
        </div>
        <p class="palette-foot" aria-hidden="true">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> {t("to move")}
          </span>
          <span>
            <kbd>↵</kbd> {t("to open")}
          </span>
          <span>
            <kbd>esc</kbd> {t("to close")}
          </span>
        </p>
      </div>
    </Dialog>
  );
}

interface OptionProps {
  readonly id: string;
  readonly command: Command;
  /** What is marked in the label; empty: nothing. */
  readonly match: string;
  readonly isSelected: boolean;
  readonly run: () => void;
  readonly look: () => void;
}

function Option({ id, command: { label, note, icon: Shown }, match, isSelected, run, look }: OptionProps) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isSelected) element.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  return (
    <div
      ref={element}
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isSelected}
      onClick={run}
      onPointerMove={look}
    >
      <Shown size={16} aria-hidden="true" />
      <span class="two-lines" dir="auto">
        {withMatch(label, match)}
      </span>
      {note !== undefined && <span class="fine">{note}</span>}
    </div>
  );
}

/** A label with the first place of the query marked. */
function withMatch(label: string, query: string) {
  const at = query === "" ? -1 : label.toLowerCase().indexOf(query.toLowerCase());
  if (at === -1) return label;
  return (
    <>
      {label.slice(0, at)}
      <mark>{label.slice(at, at + query.length)}</mark>
      {label.slice(at + query.length)}
    </>
  );
}
