// The command palette: goes to a view, finds memories by their title, entities by their name and users by their id, and
// starts something new.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { call, pause } from "../core/api.ts";
import type { Entity, Memory, User } from "../core/calls.ts";
import { t } from "../core/i18n.ts";
import { go } from "../core/router.ts";
import { mayAdd, mayAsk, rights } from "../core/session.ts";
import { chooseTheme, isDark } from "../core/theme.ts";
import type { Icon } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import {
  FileText,
  FlaskConical,
  KeyRound,
  MessageSquare,
  Moon,
  Network,
  Plus,
  Sun,
  Upload,
  User as UserIcon,
} from "../ui/icons.ts";
import { nameOf } from "../views/shared/memory-names.ts";
import type { View } from "./views.ts";

const isOpen = signal(false);
const MEMORIES_SHOWN = 6;
const ENTITIES_SHOWN = 3;
/** Time in milliseconds after the last key press before the server is searched. */
const TYPING_MS = 250;

interface Command {
  readonly label: string;
  readonly kind: string;
  readonly icon: Icon;
  readonly run: () => unknown;
}

/** What the server found. */
interface Found {
  readonly memories: readonly Memory[];
  readonly entities: readonly Entity[];
  readonly user: User | null;
}

const NOTHING: Found = { memories: [], entities: [], user: null };

/**
 * Searches memories, entities and users for a text. A request that fails is left out, because the others are still
 * useful.
 */
async function find(text: string, signal: AbortSignal): Promise<Found> {
  const known = rights.value;
  const [memories, entities, user] = await Promise.allSettled([
    known?.memoriesRead ? call("listMemories", { query: { q: text, limit: MEMORIES_SHOWN }, signal }) : null,
    known?.memoriesRead ? call("listEntities", { query: { q: text, limit: ENTITIES_SHOWN }, signal }) : null,
    known?.usersRead && !text.includes(" ") ? call("getUser", { params: { userId: text }, signal }) : null,
  ]);
  return {
    memories: (memories.status === "fulfilled" && memories.value?.data) || [],
    entities: (entities.status === "fulfilled" && entities.value?.data) || [],
    user: user.status === "fulfilled" ? user.value : null,
  };
}

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
  return (
    <Dialog title={t("Search or go to…")} close={close}>
      <div class="palette">
        <input
          type="search"
          list={undefined}
          role="combobox"
          aria-label={t("Search or go to…")}
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={`palette-${at}`}
          placeholder={t("A page, a memory, or something new")}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          autofocus
          dir="auto"
        />
        <div class="palette-list" id="palette-list" role="listbox" aria-label={t("Found")}>
          {commands.map((command, index) => (
            <div
              key={`${command.kind} ${command.label}`}
              id={`palette-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onClick={() => run(command)}
              onPointerMove={() => setAt(index)}
            >
              <command.icon size={16} aria-hidden="true" />
              <span class="cut" dir="auto">
                {command.label}
              </span>
              <span class="fine">{command.kind}</span>
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  );
}

function commandsOf(views: readonly View[], query: string, { memories, entities, user }: Found): readonly Command[] {
  const text = query.trim();
  const known = rights.value;
  const pages: Command[] = views.map(({ name, title, icon }) => ({
    label: t(title),
    kind: t("page"),
    icon,
    run: () => go([name]),
  }));
  const actions: Command[] = [
    ...(known !== null && mayAdd(known)
      ? [
          { label: t("Add a memory"), kind: t("action"), icon: Plus, run: () => go(["memories"], { add: "text" }) },
          { label: t("Upload files"), kind: t("action"), icon: Upload, run: () => go(["memories"], { add: "files" }) },
        ]
      : []),
    ...(known?.keys
      ? [{ label: t("Create a key"), kind: t("action"), icon: KeyRound, run: () => go(["keys"], { new: "1" }) }]
      : []),
    isDark.value
      ? { label: t("Light"), kind: t("appearance"), icon: Sun, run: () => chooseTheme("light") }
      : { label: t("Dark"), kind: t("appearance"), icon: Moon, run: () => chooseTheme("dark") },
  ];
  const fitting = [...pages, ...actions].filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()));
  if (text === "") return fitting;
  const found: Command[] = [
    ...memories.map((memory) => ({
      label: nameOf(memory),
      kind: t("memory"),
      icon: FileText,
      run: () => go(["memories", memory.id]),
    })),
    ...entities.map(({ id, name }) => ({
      label: name,
      kind: t("entity"),
      icon: Network,
      run: () => go(["graph"], { entity: id }),
    })),
    ...(user === null
      ? []
      : [{ label: user.name ?? user.id, kind: t("user"), icon: UserIcon, run: () => go(["users", user.id]) }]),
  ];
  const searches: Command[] = known?.memoriesRead
    ? [
        {
          label: t("Search for “{text}”", { text }),
          kind: t("search"),
          icon: FlaskConical,
          run: () => go(["playground"], { q: text }),
        },
      ]
    : [];
  const asks: Command[] =
    known !== null && mayAsk(known)
      ? [
          {
            label: t("Ask “{text}”", { text }),
            kind: t("ask"),
            icon: MessageSquare,
            run: () => go(["ask"], { q: text }),
          },
        ]
      : [];
  return [...fitting, ...found, ...searches, ...asks];
}
