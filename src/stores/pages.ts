// Reads lists in pages.

import { type CursorBinding, decodeCursor, type Page, pageOf } from "../domain/page.ts";
import type { Listing } from "../ports/user-store.ts";
import type { Bindings, Session } from "./session.ts";

/** A list, newest row first. */
export interface PagedList<Row, Item> {
  /** Reads the first `$rows` rows. */
  readonly first: string;
  /** Reads the first `$rows` rows whose key is below `$before`. */
  readonly next: string;
  /** The other parameters of both statements. */
  readonly params: Bindings;
  readonly binding: CursorBinding;
  readonly keyOf: (row: Row) => bigint;
  readonly toItem: (row: Row) => Item;
}

/** Reads the page of a list that the cursor asks for. */
export async function readPage<Row, Item>(
  session: Session,
  { first, next, params, binding, keyOf, toItem }: PagedList<Row, Item>,
  { limit, cursor }: Listing,
): Promise<Page<Item>> {
  // one row more than requested shows whether another page follows
  const values = { ...params, rows: limit + 1 };
  const rows =
    cursor === undefined
      ? await session.all<Row>(first, values)
      : await session.all<Row>(next, { ...values, before: decodeCursor(cursor, binding) });
  return pageOf(rows, { limit, binding, keyOf, toItems: (page) => page.map(toItem) });
}
