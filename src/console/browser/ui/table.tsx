// Tables for lists that are read page by page. On narrow screens each row becomes a card.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../core/i18n.ts";
import type { Pages } from "../core/resource.ts";
import { Button } from "./button.tsx";
import { Problem, Skeleton } from "./states.tsx";

/** A column. */
export interface Column<Item> {
  readonly head: string;
  readonly cell: (item: Item) => ComponentChildren;
  readonly class?: string;
  /** Whether an item has something in the column. A column that no loaded item needs is left out. */
  readonly has?: (item: Item) => boolean;
}

interface TableProps<Item> {
  readonly caption: string;
  readonly columns: readonly Column<Item>[];
  readonly pages: Pages<Item>;
  readonly keyOf: (item: Item) => string;
  readonly empty: ComponentChildren;
}

/** A table. Without rows, it shows a skeleton, an error or `empty`. */
export function Table<Item>({ caption, columns: all, pages, keyOf, empty }: TableProps<Item>) {
  const { items, error, hasMore, isLoading, more, reload } = pages;
  const columns = all.filter(({ has }) => has === undefined || items?.some(has));
  const body = useRef<HTMLTableSectionElement>(null);
  const before = useRef(0);
  // After "Load more" the first new row gets the focus, because the button may have been removed.
  useEffect(() => {
    const count = items?.length ?? 0;
    const isLonger = before.current > 0 && count > before.current;
    const active = document.activeElement;
    if (isLonger && (active === document.body || active?.classList.contains("more")))
      body.current?.querySelectorAll<HTMLElement>("tr")[before.current]?.focus();
    before.current = count;
  }, [items]);
  if (items === undefined)
    return error === undefined ? <Skeleton lines={6} height={20} /> : <Problem error={error} retry={reload} />;
  if (items.length === 0 && error === undefined) return <div class="table-frame">{empty}</div>;
  return (
    <div class="table-frame">
      <table role="table">
        <caption class="aside">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, class: kind }) => (
              <th key={head} role="columnheader" scope="col" class={kind}>
                {head === "" ? <span class="aside">{t("Actions")}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body}>
          {items.map((item) => (
            <tr key={keyOf(item)} role="row" tabIndex={-1}>
              {columns.map(({ head, cell, class: kind }) => (
                <td key={head} role="cell" class={kind} data-head={head}>
                  {cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {hasMore && (
        <div class="row centre table-foot">
          <Button class="more" busy={isLoading} run={more}>
            {t("Load more")}
          </Button>
        </div>
      )}
    </div>
  );
}
