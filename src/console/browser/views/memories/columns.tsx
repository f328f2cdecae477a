// The columns of the table of memories: their content and width, and the choice of visible ones.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Memory } from "../../core/calls.ts";
import { bytesText, dayText, languageName } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { keepPreference, preference } from "../../core/storage.ts";
import { Columns3 } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Ago, Badge } from "../../ui/pieces.tsx";
import { StatusBadge } from "../shared/status.tsx";

/** A column. `width` is a track of a CSS grid with a minimum width. */
export interface MemoryColumn {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  readonly cell: (memory: Memory) => ComponentChildren;
  /** Sort key of a memory; absent if the column cannot be sorted. */
  readonly sortBy?: (memory: Memory) => string | number;
}

/** All columns except the first one, which has the memory's name. */
export const COLUMNS: readonly MemoryColumn[] = [
  {
    name: "status",
    title: "Status",
    width: "6.5rem",
    cell: (memory) => <StatusBadge memory={memory} isQuiet />,
    sortBy: ({ status }) => status,
  },
  {
    name: "type",
    title: "Type",
    width: "5.25rem",
    cell: ({ type }) => type,
    sortBy: ({ type }) => type ?? "",
  },
  {
    name: "tags",
    title: "Tags",
    width: "minmax(7rem, 9rem)",
    cell: ({ tags }) => tags?.map((tag) => <Badge key={tag}>{tag}</Badge>),
  },
  {
    name: "user",
    title: "User",
    width: "5.25rem",
    cell: ({ userId }) => userId,
    sortBy: ({ userId }) => userId ?? "",
  },
  {
    name: "agent",
    title: "Agent",
    width: "minmax(7rem, 10rem)",
    cell: ({ agentId }) => agentId,
    sortBy: ({ agentId }) => agentId ?? "",
  },
  {
    name: "session",
    title: "Session",
    width: "minmax(7rem, 10rem)",
    cell: ({ sessionId }) => sessionId,
    sortBy: ({ sessionId }) => sessionId ?? "",
  },
  {
    name: "language",
    title: "Language",
    width: "minmax(6rem, 7rem)",
    cell: ({ language }) => languageName(language),
    sortBy: ({ language }) => language ?? "",
  },
  {
    name: "source",
    title: "File",
    width: "minmax(9rem, 14rem)",
    cell: ({ source }) => source && `${source.filename} · ${bytesText(source.bytes)}`,
    sortBy: ({ source }) => source?.filename ?? "",
  },
  {
    name: "passages",
    title: "Passages",
    width: "minmax(6rem, 7rem)",
    cell: ({ chunk_count: count }) => count,
    sortBy: ({ chunk_count: count }) => count ?? 0,
  },
  {
    name: "occurred",
    title: "Occurred",
    width: "minmax(8rem, 9rem)",
    cell: ({ occurred_at: at }) => at && dayText(at),
    sortBy: ({ occurred_at: at }) => at ?? "",
  },
  {
    name: "created",
    title: "Stored",
    width: "6rem",
    cell: ({ created_at }) => <Ago time={created_at} />,
    sortBy: ({ created_at }) => created_at,
  },
];
/** A status that is not `completed` stands beside the name, too, so that its column is not needed at first. */
const SHOWN_FIRST = ["type", "tags", "user", "created"];

/** The names of the visible columns, which the browser stores, and a function that changes them. */
export function useColumns(): [readonly string[], (columns: readonly string[]) => void] {
  const [columns, setColumns] = useState<readonly string[]>(() => preference("columns")?.split(",") ?? SHOWN_FIRST);
  const choose = (next: readonly string[]) => {
    keepPreference("columns", next.join(","));
    setColumns(next);
  };
  return [columns, choose];
}

interface ColumnMenuProps {
  readonly columns: readonly string[];
  readonly onColumns: (columns: readonly string[]) => void;
}

/** A menu that shows and hides columns. */
export function ColumnMenu({ columns, onColumns }: ColumnMenuProps) {
  return (
    <Menu
      label={t("Columns")}
      icon={Columns3}
      kind="plain"
      class="columns-menu"
      items={COLUMNS.map(({ name, title }) => ({
        label: t(title),
        checked: columns.includes(name),
        run: () =>
          onColumns(
            COLUMNS.map((column) => column.name).filter((other) => (other === name) !== columns.includes(other)),
          ),
      }))}
    />
  );
}
