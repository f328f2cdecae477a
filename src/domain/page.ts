// Keyset paging: newest first by key, with a cursor that is valid only for the list that it came from.

import { Fault } from "./fault.ts";

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
    readonly binding: string;
    readonly keyOf: (row: Row) => bigint;
    readonly toItems: (rows: readonly Row[]) => readonly Item[];
  },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const isLast = rows.length === shown.length || last === undefined;
  return { items: toItems(shown), cursor: isLast ? null : encodeCursor(keyOf(last), binding) };
}

/** Keys in a cursor are below 2^63, because stores number their rows with signed 64-bit integers. */
const KEY_MAX = 2n ** 63n - 1n;
/**
 * Maximum length of a cursor. `encodeCursor` produces at most 36 characters: two numbers of 13 digits and a dot, in
 * base64.
 */
const CURSOR_CHARACTERS_MAX = 64;

/**
 * Encodes where the next page begins. `binding` identifies list, project and filters; the cursor is valid only for it.
 */
export function encodeCursor(lastKey: bigint, binding: string): string {
  const body = `${lastKey.toString(36)}.${fingerprint(`${lastKey}|${binding}`)}`;
  return Buffer.from(body, "utf8").toString("base64url");
}

/**
 * Decodes a cursor.
 * @throws Fault `invalid_cursor` if it is damaged or belongs to another list, project or filter
 */
export function decodeCursor(cursor: string, binding: string): bigint {
  const body = cursor.length > CURSOR_CHARACTERS_MAX ? "" : Buffer.from(cursor, "base64url").toString("utf8");
  const match = /^([0-9a-z]{1,13})\.([0-9a-z]{1,16})$/.exec(body);
  const key = match?.[1] === undefined ? null : parseBase36(match[1]);
  if (
    key === null ||
    key > KEY_MAX ||
    fingerprint(`${key}|${binding}`) !== match?.[2] ||
    encodeCursor(key, binding) !== cursor
  ) {
    throw new Fault(
      "invalid_cursor",
      "The cursor is damaged or belongs to another list or filter. Request the first page without a cursor.",
      { param: "cursor" },
    );
  }
  return key;
}

function parseBase36(text: string): bigint {
  let value = 0n;
  for (const character of text) value = value * 36n + BigInt(Number.parseInt(character, 36));
  return value;
}

// A checksum without a secret: it only detects cursors that were cut off, mistyped or used with another list.
function fingerprint(text: string): string {
  return Bun.hash.wyhash(text).toString(36);
}
