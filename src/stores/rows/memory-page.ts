// Makes a page of memories from rows.

import type { Memory } from "../../domain/memory.ts";
import { type CursorBinding, encodeCursor, type Page } from "../../domain/page.ts";
import { fittingTogether } from "../../kit/fitting.ts";
import type { MemoryListing } from "../../ports/memory-store.ts";
import { type MemoryRow, toMemory } from "./memory.ts";

/** Builds a page from `limit` + 1 requested rows. The extra row shows whether another page follows. */
export function memoryPage(
  rows: readonly MemoryRow[],
  { limit, contentBytesMax = Number.POSITIVE_INFINITY }: Pick<MemoryListing, "limit" | "contentBytesMax">,
  binding: CursorBinding,
): Page<Memory> {
  const items = fittingTogether(
    rows.slice(0, limit).map(toMemory),
    contentBytesMax,
    ({ contentBytes }) => contentBytes,
  );
  const last = items.at(-1);
  return { items, cursor: rows.length > items.length && last !== undefined ? encodeCursor(last.key, binding) : null };
}
