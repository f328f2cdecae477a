// Keyset paging: a page begins after the last key of the page before, which the cursor contains. A cursor is valid only
// for the list that it came from.

import { createCipheriv, createDecipheriv } from "node:crypto";
import { Fault } from "./fault.ts";

/** AES-128 of single blocks. */
const CIPHER = "aes-128-ecb";

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Cursor of the next page; null at the end. */
  readonly cursor: string | null;
}

/**
 * Builds a page from `limit` + 1 requested rows. The extra row shows whether another page follows.
 * @param keyOf key by which the list is sorted
 */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  {
    limit,
    binding,
    keyOf,
    toItems,
  }: {
    readonly limit: number;
    readonly binding: CursorBinding;
    readonly keyOf: (row: Row) => bigint;
    readonly toItems: (rows: readonly Row[]) => readonly Item[];
  },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const isLast = rows.length === shown.length || last === undefined;
  return { items: toItems(shown), cursor: isLast ? null : encodeCursor(keyOf(last), binding) };
}

/** What a cursor is bound to. It is valid only for the same list with the same secret. */
export interface CursorBinding {
  /** Identifies list, project and filters. */
  readonly list: string;
  /** Returns the secret that hides the keys: `PROJECT_SECRET_BYTES` bytes. */
  readonly secret: () => Uint8Array;
}

/** Keys in a cursor are below 2^63, because stores number their rows with signed 64-bit integers. */
const KEY_MAX = 2n ** 63n - 1n;
/** Length of a cursor: 16 bytes in base64. */
const CURSOR_CHARACTERS = 22;

/**
 * Encodes where the next page begins: the key and a checksum of the list, encrypted as one block. Keys are numbered
 * across all projects, so a cursor must not show them.
 */
export function encodeCursor(lastKey: bigint, { list, secret }: CursorBinding): string {
  const block = Buffer.alloc(16);
  block.writeBigUInt64BE(lastKey);
  block.writeBigUInt64BE(Bun.hash.wyhash(list), 8);
  return createCipheriv(CIPHER, secret(), null).setAutoPadding(false).update(block).toString("base64url");
}

/**
 * Decodes a cursor.
 * @throws Fault `invalid_cursor` if it is damaged or belongs to another list, project or filter
 */
export function decodeCursor(cursor: string, { list, secret }: CursorBinding): bigint {
  const encrypted = Buffer.from(cursor.length === CURSOR_CHARACTERS ? cursor : "", "base64url");
  if (encrypted.length === 16 && encrypted.toString("base64url") === cursor) {
    const block = createDecipheriv(CIPHER, secret(), null).setAutoPadding(false).update(encrypted);
    const key = block.readBigUInt64BE();
    if (block.readBigUInt64BE(8) === Bun.hash.wyhash(list) && key <= KEY_MAX) return key;
  }
  throw new Fault(
    "invalid_cursor",
    "The cursor is damaged or belongs to another list or filter. Request the first page without a cursor.",
    { param: "cursor" },
  );
}
