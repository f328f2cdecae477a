// Cursors decode to the key that they were made from, and are valid only for their own list.

import { expect, test } from "bun:test";
import { PROJECT_SECRET_BYTES } from "../../src/domain/chunk-ids.ts";
import { Fault } from "../../src/domain/fault.ts";
import { type CursorBinding, decodeCursor, encodeCursor } from "../../src/domain/page.ts";

const KEYS = [1n, 35n, 36n, 2n ** 53n + 1n, 2n ** 63n - 1n];
const SECRETS = [1, 2].map((fill) => new Uint8Array(PROJECT_SECRET_BYTES).fill(fill));
const BINDINGS = ["", "memories", 'memories|{"type":"note"}', "𝛂"].flatMap((list) =>
  SECRETS.map((secret): CursorBinding => ({ list, secret: () => secret })),
);
const LIST: CursorBinding = { list: "list", secret: () => new Uint8Array(PROJECT_SECRET_BYTES) };

test("a cursor decodes to its key under its binding, and is refused under any other", () => {
  for (const key of KEYS) {
    for (const binding of BINDINGS) {
      const cursor = encodeCursor(key, binding);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]{22}$/);
      for (const other of BINDINGS) {
        if (other === binding) expect(decodeCursor(cursor, other)).toBe(key);
        else expect(() => decodeCursor(cursor, other)).toThrow(Fault);
      }
    }
  }
});

test("cursors that were typed, cut off or changed are refused as invalid_cursor", () => {
  const cursor = encodeCursor(123_456n, LIST);
  const bad = [
    "",
    " ",
    "x",
    cursor.slice(1),
    cursor.slice(0, -1),
    `${cursor}=`,
    `${cursor}A`,
    ` ${cursor}`,
    `${cursor}\n`,
    // the same bytes, but not as they are written
    cursor.slice(0, -1) + String.fromCharCode(cursor.charCodeAt(21) + 1),
    ...Array.from(
      cursor,
      (character, at) => cursor.slice(0, at) + (character === "A" ? "B" : "A") + cursor.slice(at + 1),
    ),
  ];
  for (const text of bad) {
    expect(() => decodeCursor(text, LIST)).toThrow(
      expect.objectContaining({ code: "invalid_cursor", param: "cursor" }),
    );
  }
});

test("cursors of successive keys share no beginning, so they do not show how many rows there are", () => {
  const cursors = Array.from({ length: 1_000 }, (_, at) => encodeCursor(BigInt(at + 1), LIST));
  expect(new Set(cursors.map((cursor) => cursor.slice(0, 6))).size).toBe(cursors.length);
  expect(cursors.toSorted()).not.toEqual(cursors);
});

test("a cursor with a key that no store can hold is refused", () => {
  for (const key of [2n ** 63n, 2n ** 64n - 1n]) {
    expect(() => decodeCursor(encodeCursor(key, LIST), LIST)).toThrow(
      expect.objectContaining({ code: "invalid_cursor" }),
    );
  }
});
