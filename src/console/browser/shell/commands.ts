// What the command palette offers: views, actions, and what the server finds for a text.

import { call } from "../core/api.ts";
import type { Entity, Memory, User } from "../core/calls.ts";
import { countText, dayText } from "../core/format.ts";
import { t } from "../core/i18n.ts";
import { go } from "../core/router.ts";
import { mayAdd, mayAsk, rights } from "../core/session.ts";
import { chooseTheme, isDark } from "../core/theme.ts";
import type { Icon } from "../ui/button.tsx";
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

const MEMORIES_SHOWN = 6;
const ENTITIES_SHOWN = 3;

/** An entry of the palette. */
export interface Command {
  readonly label: string;
  /** Title of the group in which it stands. */
  readonly group: string;
  /** What tells it from others with the same label. */
  readonly note?: string;
  readonly icon: Icon;
  readonly run: () => unknown;
}

/** What the server found. */
export interface Found {
  readonly memories: readonly Memory[];
  readonly entities: readonly Entity[];
  readonly user: User | null;
}

/** Nothing was found, or not yet. */
export const NOTHING: Found = { memories: [], entities: [], user: null };

/** Searches for a text. A kind of result whose search fails is left out, because the others are still useful. */
export async function find(text: string, signal: AbortSignal): Promise<Found> {
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

/** All entries for a text: views and actions that fit it, and what was found. */
export function commandsOf(
  views: readonly View[],
  query: string,
  { memories, entities, user }: Found,
): readonly Command[] {
  const text = query.trim();
  const known = rights.value;
  const pages: Command[] = views.map(({ name, title, icon }) => ({
    label: t(title),
    group: t("Pages"),
    icon,
    run: () => go([name]),
  }));
  const actions: Command[] = [
    ...(known !== null && mayAdd(known)
      ? [
          { label: t("Add a memory"), group: t("Actions"), icon: Plus, run: () => go(["memories"], { add: "text" }) },
          {
            label: t("Upload files"),
            group: t("Actions"),
            icon: Upload,
            run: () => go(["memories"], { add: "files" }),
          },
        ]
      : []),
    ...(known?.keys
      ? [{ label: t("Create a key"), group: t("Actions"), icon: KeyRound, run: () => go(["keys"], { new: "1" }) }]
      : []),
    isDark.value
      ? { label: t("Light"), group: t("Actions"), icon: Sun, run: () => chooseTheme("light") }
      : { label: t("Dark"), group: t("Actions"), icon: Moon, run: () => chooseTheme("dark") },
  ];
  const fitting = [...pages, ...actions].filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()));
  if (text === "") return fitting;
  const found: Command[] = [
    ...memories.map((memory) => ({
      label: nameOf(memory),
      group: t("Memories"),
      note: [memory.userId, dayText(memory.occurred_at ?? memory.created_at)].filter(Boolean).join(" · "),
      icon: FileText,
      run: () => go(["memories", memory.id]),
    })),
    ...entities.map(({ id, name, memories: count }) => ({
      label: name,
      group: t("Entities"),
      note: countText(count, "1 memory", "{n} memories"),
      icon: Network,
      run: () => go(["graph"], { entity: id }),
    })),
    ...(user === null
      ? []
      : [
          {
            label: user.name ?? user.id,
            group: t("Users"),
            note: user.id,
            icon: UserIcon,
            run: () => go(["users", user.id]),
          },
        ]),
  ];
  const searches: Command[] = known?.memoriesRead
    ? [
        {
          label: t("Search for “{text}”", { text }),
          group: t("Search and ask"),
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
            group: t("Search and ask"),
            icon: MessageSquare,
            run: () => go(["ask"], { q: text }),
          },
        ]
      : [];
  return [...fitting, ...found, ...searches, ...asks];
}
