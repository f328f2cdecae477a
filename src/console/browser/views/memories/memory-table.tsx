// The table of memories. The page contains only the visible rows, so that 10,000 memories scroll smoothly.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Memory } from "../../core/calls.ts";
import { countText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import type { Pages } from "../../core/resource.ts";
import { filterOf, setFilters, to } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import { ArrowDown, ArrowUp } from "../../ui/icons.ts";
import { useIsNarrow } from "../../ui/narrow.ts";
import { Ago, Badge } from "../../ui/pieces.tsx";
import { Problem, Skeleton } from "../../ui/states.tsx";
import { nameOf } from "../shared/memory-names.ts";
import { StatusBadge } from "../shared/status.tsx";
import { COLUMNS, type MemoryColumn } from "./columns.tsx";
import { useVirtual } from "./rows.ts";

const ROW_PX = 48;
/** Height of a row on a narrow window, where it is a title with a line of attributes. */
const CARD_PX = 68;
/** What the reason of a failure adds, which has up to two lines. */
const REASON_PX = 18;
const HEAD_PX = 38;
/** Number of rows before the end at which the next page is loaded. */
const ROWS_AHEAD = 30;
/** Maximum number of rows of a table that scrolls with the page, and not in a frame of its own. */
const ROWS_IN_PAGE = 50;

interface MemoryTableProps {
  readonly pages: Pages<Memory>;
  readonly columns: readonly string[];
  /** Number of memories on all pages; null until it is known. */
  readonly total: number | null;
  readonly selected: ReadonlySet<string>;
  /** Called with the new selection; null if rows cannot be selected. */
  readonly onSelected: ((selected: ReadonlySet<string>) => void) | null;
  readonly empty: ComponentChildren;
}

/** The table. While it is loading or has no rows, it shows a skeleton, an error or `empty`. */
export function MemoryTable({ pages, columns, total, selected, onSelected, empty }: MemoryTableProps) {
  const { items, error, reload, hasMore, more, isLoading } = pages;
  const shown = COLUMNS.filter(({ name }) => columns.includes(name));
  const sort = filterOf("sort");
  const rows = sorted(items ?? [], sort);
  const isSortedHere = sort !== "" && !sort.startsWith("created.");
  if (items === undefined) {
    if (error !== undefined) return <Problem error={error} retry={reload} />;
    return (
      <div class="table-frame padded">
        <Skeleton lines={8} height={20} />
      </div>
    );
  }
  return (
    <div class="stack tight">
      {error !== undefined && <Problem error={error} retry={reload} />}
      {items.length === 0 ? (
        <div class="table-frame">{empty}</div>
      ) : (
        <>
          <Rows
            rows={rows}
            columns={shown}
            selected={selected}
            onSelected={onSelected}
            onEnd={hasMore && !isLoading && error === undefined ? more : null}
          />
          <div class="row between">
            <p class="fine" role="status">
              {hasMore && total !== null
                ? t("{n} of {total} loaded", { n: numberText(items.length), total: numberText(total) })
                : countText(items.length, "1 memory", "{n} memories")}
              {isSortedHere && ` · ${t("Sorted among the loaded memories only.")}`}
            </p>
            {hasMore && (
              <Button busy={isLoading} run={more}>
                {t("Load more")}
              </Button>
            )}
          </div>
        </>
      )}
    </div>
  );
}

interface RowsProps {
  readonly rows: readonly Memory[];
  readonly columns: readonly MemoryColumn[];
  readonly selected: ReadonlySet<string>;
  readonly onSelected: ((selected: ReadonlySet<string>) => void) | null;
  /** Called when the last rows become visible; null if there are no more pages. */
  readonly onEnd: (() => void) | null;
}

function Rows({ rows, columns, selected, onSelected, onEnd }: RowsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow();
  const rowPx = isNarrow ? CARD_PX : ROW_PX;
  const heightOf = (row: number) => rowPx + (rows[row]?.error === undefined ? 0 : REASON_PX);
  // a scrolled table is rendered at each frame, with up to all memories of a project in `rows`
  const failed = useMemo(() => rows.flatMap(({ error }, at) => (error === undefined ? [] : [at])).join(" "), [rows]);
  const virtual = useVirtual(frame, rows.length, heightOf, `${rowPx} ${failed}`);
  const seenLast = virtual.getVirtualItems().at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd !== null && (frame.current?.scrollTop ?? 0) > 0 && seenLast >= rows.length - ROWS_AHEAD) onEnd();
  }, [seenLast, rows.length, onEnd]);
  const [last, setLast] = useState<string | null>(null);
  const tracks = isNarrow
    ? [onSelected !== null && "2.75rem", "minmax(0, 1fr)"]
    : [onSelected !== null && "1.5rem", "minmax(14rem, 1fr)", ...columns.map(({ width }) => width)];
  const shown = isNarrow ? [] : columns;
  const hasStatus = columns.some(({ name }) => name === "status");
  const least = isNarrow
    ? 0
    : tracks.map((track) => (track ? leastOf(track) : 0)).reduce((sum, rem) => sum + rem + 1, 1);
  const template = { gridTemplateColumns: tracks.filter(Boolean).join(" ") };
  // whole rows, so that none is cut at the lower edge
  const seenRows = Math.max(6, Math.floor((innerHeight * 0.7 - HEAD_PX) / rowPx));
  const areAllSelected = rows.length > 0 && rows.every(({ id }) => selected.has(id));

  const select = (id: string, isRange: boolean) => {
    const from = rows.findIndex((row) => row.id === last);
    const at = rows.findIndex((row) => row.id === id);
    const ids =
      isRange && from !== -1 ? rows.slice(Math.min(from, at), Math.max(from, at) + 1).map((row) => row.id) : [id];
    const next = new Set(selected);
    const isAdding = !selected.has(id);
    for (const one of ids) isAdding ? next.add(one) : next.delete(one);
    setLast(id);
    onSelected?.(next);
  };
  return (
    <div
      class="grid-table"
      ref={frame}
      role="table"
      aria-label={t("Memories")}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
      style={{
        maxHeight: rows.length > ROWS_IN_PAGE ? `${HEAD_PX + seenRows * rowPx + 2}px` : undefined,
        "--least": `${least}rem`,
      }}
    >
      <div class="grid-inner" role="presentation">
        <div role="rowgroup" class="grid-head">
          <div role="row" class="grid-row" style={template} aria-rowindex={1}>
            {onSelected !== null && (
              <div role="columnheader" class="tick">
                <input
                  type="checkbox"
                  aria-label={t("Select all loaded memories")}
                  checked={areAllSelected}
                  ref={(box) => {
                    if (box !== null) box.indeterminate = !areAllSelected && rows.some(({ id }) => selected.has(id));
                  }}
                  onChange={() => onSelected(areAllSelected ? new Set() : new Set(rows.map(({ id }) => id)))}
                />
              </div>
            )}
            <Head name="name" title={t("Memory")} />
            {shown.map(({ name, title, sortBy }) =>
              sortBy === undefined ? (
                <div key={name} role="columnheader">
                  {t(title)}
                </div>
              ) : (
                <Head key={name} name={name} title={t(title)} />
              ),
            )}
          </div>
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: `${virtual.getTotalSize()}px` }}>
          {virtual.getVirtualItems().map(({ index, start, size }) => {
            const memory = rows[index];
            if (memory === undefined) return null;
            const name = nameOf(memory);
            return (
              <div
                key={memory.id}
                role="row"
                aria-rowindex={index + 2}
                class={`grid-row ${selected.has(memory.id) ? "selected" : ""}`}
                style={{ ...template, transform: `translateY(${start}px)`, height: `${size}px` }}
              >
                {onSelected !== null && (
                  <div role="cell">
                    <label class="tick">
                      <input
                        type="checkbox"
                        aria-label={t("Select {name}", { name })}
                        checked={selected.has(memory.id)}
                        onClick={(event) => select(memory.id, event.shiftKey)}
                      />
                    </label>
                  </div>
                )}
                <div role="cell" class="stack-lines">
                  <span class="name-line">
                    <a
                      href={to(["memories", memory.id])}
                      class={isNarrow || memory.error !== undefined ? "cut" : "two-lines"}
                      dir="auto"
                      title={name}
                    >
                      {name}
                    </a>
                    {(isNarrow || !hasStatus) && memory.status !== "completed" && <StatusBadge memory={memory} />}
                    {memory.superseded_by !== null && <Badge>{t("superseded")}</Badge>}
                  </span>
                  {memory.error !== undefined ? <Reason memory={memory} /> : isNarrow && <MetaLine memory={memory} />}
                </div>
                {shown.map(({ name: column, cell }) => (
                  <div key={column} role="cell" class="cut" dir="auto">
                    {cell(memory)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** Why a memory failed. */
function Reason({ memory: { error } }: { readonly memory: Memory }) {
  return (
    <span class="fine two-lines reason" dir="auto" title={error?.message}>
      {error?.message}
    </span>
  );
}

/** The attributes of a memory in one line. */
function MetaLine({ memory }: { readonly memory: Memory }) {
  return (
    <span class="fine cut" dir="auto">
      <Ago time={memory.created_at} />
      {[memory.type, memory.userId, ...(memory.tags ?? [])].map((part) => part && ` · ${part}`)}
    </span>
  );
}

function Head({ name, title }: { readonly name: string; readonly title: string }) {
  const [by, way] = filterOf("sort").split(".");
  const isSorted = by === name;
  const next = !isSorted ? `${name}.up` : way === "up" ? `${name}.down` : null;
  const Arrow = way === "down" ? ArrowDown : ArrowUp;
  return (
    <div role="columnheader" aria-sort={isSorted ? (way === "down" ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={() => setFilters({ sort: next })}>
        {title} {isSorted && <Arrow size={14} aria-hidden="true" />}
      </button>
    </div>
  );
}

function sorted(items: readonly Memory[], sort: string): readonly Memory[] {
  const [name = "", way] = sort.split(".");
  const sortBy = name === "name" ? nameOf : COLUMNS.find((column) => column.name === name)?.sortBy;
  if (sortBy === undefined || name === "created") return items; // the server sorts by time
  const order = way === "down" ? -1 : 1;
  return [...items].sort((left, right) => {
    const [a, b] = [sortBy(left), sortBy(right)];
    return order * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  });
}

/** Minimum width of a column's track in rem. The table gets the sum, so that it scrolls before a column collapses. */
function leastOf(track: string): number {
  return Number(/([\d.]+)rem/.exec(track)?.[1] ?? 0);
}
