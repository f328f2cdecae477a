// Cursors decode to the key that they were made from, and are valid only for their own list.

import { expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { decodeCursor, encodeCursor } from "../../src/domain/page.ts";

const KEYS = [1n, 35n, 36n, 2n ** 53n + 1n, 2n ** 63n - 1n];
const BINDINGS = ["", "memories", 'memories|{"type":"note"}', "𝛂"];

test("a cursor decodes to its key under its binding, and is refused under any other", () => {
  for (const key of KEYS) {
    for (const binding of BINDINGS) {
      const cursor = encodeCursor(key, binding);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
      for (const other of BINDINGS) {
        if (other === binding) expect(decodeCursor(cursor, other)).toBe(key);
        else expect(() => decodeCursor(cursor, other)).toThrow(Fault);
      }
    }
  }
});

test("cursors that were typed, cut off or changed are refused as invalid_cursor", () => {
  const cursor = encodeCursor(123_456n, "list");
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
  ];
  for (const text of [...bad, Buffer.from("-1.x").toString("base64url"), Buffer.from("1.1.1").toString("base64url")]) {
    expect(() => decodeCursor(text, "list")).toThrow(
      expect.objectContaining({ code: "invalid_cursor", param: "cursor" }),
    );
  }
});

test("a cursor with a key that no store can hold is refused", () => {
  for (const key of [2n ** 63n, 2n ** 64n - 1n]) {
    expect(() => decodeCursor(encodeCursor(key, "list"), "list")).toThrow(
      expect.objectContaining({ code: "invalid_cursor" }),
    );
  }
});
