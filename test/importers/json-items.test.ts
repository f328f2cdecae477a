// The reader of JSON exports: forms of exports, damage, limits. It must give the same records for any chunks.

import { describe, expect, test } from "bun:test";
import type { SourceRecord } from "../../src/importers/imported.ts";
import { readJsonItems } from "../../src/importers/json-items.ts";
import { seeded } from "../support/seeded.ts";

async function* chunks(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  // one buffer for all chunks, as streams may do
  const buffer = new Uint8Array(size);
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    buffer.set(piece);
    yield buffer.subarray(0, piece.length);
  }
}

async function read(text: string | Uint8Array, lists: readonly string[] = ["results"], size = 7, max?: number) {
  const all: SourceRecord[] = [];
  for await (const record of readJsonItems(chunks(text, size), lists, max)) all.push(record);
  return all;
}

/** The values of records, and the reasons of damage. */
function values(records: readonly SourceRecord[]): readonly unknown[] {
  return records.map((record) => (record.kind === "record" ? record.value : record.why));
}

describe("records are read from", () => {
  const items = [
    { id: 1, text: 'quotes " and \\ and [brackets] {}' },
    { id: 2, nested: [{ deep: [1, "ä日"] }] },
  ];
  for (const [name, text] of [
    ["a list", JSON.stringify(items)],
    ["a pretty-printed list", JSON.stringify(items, null, 2)],
    ["a list with a byte order mark", `\uFEFF${JSON.stringify(items)}`],
    ["an object with the list", JSON.stringify({ count: 2, results: items, next: null })],
    ["a pretty-printed object with the list", JSON.stringify({ first: { a: [1] }, results: items }, null, 4)],
    ["lines", items.map((item) => JSON.stringify(item)).join("\n")],
    [
      "lines with a line end behind the last one, and empty ones",
      `\n${items.map((item) => JSON.stringify(item)).join("\r\n\n")}\n`,
    ],
  ] as const) {
    test(name, async () => {
      for (const size of [1, 2, 3, 5, 64, 100_000]) expect(values(await read(text, ["results"], size))).toEqual(items);
    });
  }

  test("several lists of an object, which they name", async () => {
    const records = await read(JSON.stringify({ a: [{ x: 1 }], b: [{ y: 2 }, { y: 3 }], c: [4] }), ["a", "b"]);
    expect(records.map((record) => [record.place.split(" at ")[0], record.kind === "record" && record.list])).toEqual([
      ["a, item 1", "a"],
      ["b, item 1", "b"],
      ["b, item 2", "b"],
    ]);
  });

  test("an object without such lists, which is a record itself", async () => {
    const value = { id: "x", messages: [{ role: "user" }], n: 1.5, yes: true, none: null };
    expect(values(await read(JSON.stringify(value)))).toEqual([value]);
  });

  test("values that are no objects, which the caller judges", async () => {
    expect(values(await read('[1, "two", null, true, [3]]'))).toEqual([1, "two", null, true, [3]]);
  });

  test("empty lists, which have none", async () => {
    expect(await read("[]")).toEqual([]);
    expect(await read('{"results": [], "count": 0}')).toEqual([]);
  });
});

describe("damage is reported with its place, and the rest is read:", () => {
  test("a record that is no JSON", async () => {
    const records = await read('[{"id":1},{"id":2,,},{"id":3}]');
    expect(values(records)).toEqual([{ id: 1 }, "is not valid JSON", { id: 3 }]);
    expect(records[1]?.place).toBe("item 2 at byte 10");
  });
  test("an export that is cut off", async () => {
    const whole = JSON.stringify([{ id: 1 }, { id: 2, text: "long" }]);
    expect(values(await read(whole.slice(0, -8)))).toEqual([{ id: 1 }, expect.stringContaining("is cut off")]);
    expect(values(await read(whole.slice(0, -1)))).toEqual([
      { id: 1 },
      { id: 2, text: "long" },
      expect.stringContaining("before its list is closed"),
    ]);
  });
  test("a quote or bracket that is missing, if records begin on lines of their own", async () => {
    const pretty = JSON.stringify([{ id: 1 }, { id: 2, text: "cut" }, { id: 3 }, { id: 4 }], null, 2);
    for (const broken of [pretty.replace('"cut"', '"cut'), pretty.replace('"cut"\n  }', '"cut"\n  ]')]) {
      for (const size of [1, 9, 1000]) {
        const found = values(await read(broken, [], size));
        expect(found).toEqual([{ id: 1 }, expect.stringContaining("is damaged"), { id: 3 }, { id: 4 }]);
      }
    }
  });
  test("a line that is cut off or no JSON", async () => {
    for (const broken of ['{"id":2,"te', '{"id":2,"text":"abc', '{"id":2', "garbage", "]", '{"id":2]}']) {
      for (const size of [1, 4, 1000]) {
        const found = values(await read(`{"id":1}\n${broken}\n{"id":3}\n{"id":4}`, [], size));
        expect([broken, found]).toEqual([broken, [{ id: 1 }, expect.any(String), { id: 3 }, { id: 4 }]]);
      }
    }
  });
  test("a record that is not UTF-8", async () => {
    const bytes = new TextEncoder().encode('[{"id":1},{"id":"?"},{"id":3}]');
    bytes[bytes.indexOf(0x3f)] = 0xff;
    expect(values(await read(bytes))).toEqual([{ id: 1 }, "is not valid UTF-8", { id: 3 }]);
  });
  test("a record that is too large, by one byte", async () => {
    const text = '[{"id":1},{"t":"1234567890"},{"t":"12345678901"},{"id":4}]';
    const found = await read(text, [], 6, '{"t":"1234567890"}'.length);
    expect(values(found)).toEqual([{ id: 1 }, { t: "1234567890" }, "is larger than 18 bytes", { id: 4 }]);
    expect(values(await read('{"a":"12345","b":"12345"}\n{"id":2}', [], 6, 13))).toEqual([
      "is larger than 13 bytes",
      { id: 2 },
    ]);
  });
  test("a record that is nested too deeply", async () => {
    const found = values(await read(`[\n{"id":1},\n{"a":${"[".repeat(600)}${"]".repeat(600)}},\n{"id":3}\n]`));
    expect(found).toEqual([{ id: 1 }, expect.stringContaining("is damaged"), { id: 3 }]);
  });
  test("an export that is empty, or something else", async () => {
    expect(values(await read(""))).toEqual(["is empty"]);
    expect(values(await read(" \n"))).toEqual(["is empty"]);
    expect(values(await read("<html>an error page</html>"))[0]).toBe("is no JSON object");
  });
});

test("any bytes are read to their end, in any chunks alike", async () => {
  const random = seeded(Number(process.env.MNEME_TEST_SEED ?? 11));
  const alphabet = '{}[]",:\\ \n01ae';
  for (let round = 0; round < 400; round++) {
    const length = Math.floor(random() * 60);
    const text = Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
    const whole = await read(text, ["a"], 1000);
    const size = 1 + Math.floor(random() * 5);
    expect([text, await read(text, ["a"], size)]).toEqual([text, whole]);
  }
});
