// Tests JSON files: paths, records, conversations, unchanged numbers, invalid and hostile input.

import { describe, expect, test } from "bun:test";
import { jsonText } from "../../src/documents/json/json-text.ts";
import { seeded } from "../support/seeded.ts";

const read = (...pieces: string[]) => jsonText(pieces).join("");
const lines = (...expected: string[]) => expected.join("\n");

describe("values", () => {
  test("follow their paths", () => {
    expect(read('{"a": {"b": [{"c": "value", "d": true}]}, "e": null}')).toBe(
      lines("a.b[0].c: value", "a.b[0].d: true", "", "e: null"),
    );
  });

  test("are written unchanged: large numbers, zeros, empty values", () => {
    expect(read('{"n": 9007199254740993, "z": 1.0, "e": -1E+400, "s": "", "l": [], "o": {}}')).toBe(
      lines("n: 9007199254740993", "z: 1.0", "e: -1E+400", 's: ""', "l: []", "o: {}"),
    );
  });

  test("with the same key are all kept", () => expect(read('{"a": 1, "a": 2}')).toBe("a: 1\na: 2"));

  test("are decoded, without NUL and lone surrogates", () => {
    expect(read('{"\\u00e9": "\\ud83d\\ude00 a\\nb \\"c\\" \\ud800 \\u0000"}')).toBe('é: 😀 a\nb "c" \ufffd ');
  });

  test("under unusual keys have quoted keys in the path", () => {
    expect(read('{"a.b": {"c d": 1, "": 2, "[0]": 3}}')).toBe(
      lines('["a.b"].c d: 1', '["a.b"][""]: 2', '["a.b"]["[0]"]: 3'),
    );
  });

  test("may be the whole file", () => {
    expect(read('"word"')).toBe("word");
    expect(read(" 12 ")).toBe("12");
    expect(read("[]")).toBe("[]");
  });
});

describe("lists", () => {
  test("of short values are one line; long values have a line each", () => {
    expect(read('{"tags": ["red", "green", 3]}')).toBe("tags: red, green, 3");
    const long = "long ".repeat(30).trim();
    expect(read(`{"notes": ["short", "${long}", "last"]}`)).toBe(
      lines("notes: short", `notes[1]: ${long}`, "notes[2]: last"),
    );
    expect(read("[[1, 2], [3]]")).toBe("[0]: 1, 2\n[1]: 3");
  });

  test("of many values are lines of limited length", () => {
    const numbers = Array.from({ length: 5_000 }, (_, at) => at);
    const written = read(JSON.stringify({ numbers })).split("\n");
    expect(written.every((line) => line.length < 450)).toBe(true);
    let next = 0;
    for (const line of written) {
      expect(line.startsWith(next === 0 ? "numbers: 0, " : `numbers[${next}]: ${next}`)).toBe(true);
      next += line.split(", ").length;
    }
    expect(written.flatMap((line) => line.slice(line.indexOf(": ") + 2).split(", "))).toEqual(numbers.map(String));
  });

  test("of objects have a paragraph per object", () => {
    const orders = [
      {
        id: 1,
        buyer: { name: "Ada" },
        items: [
          { sku: "x1", count: 2 },
          { sku: "y2", count: 1 },
        ],
      },
      { id: 2, buyer: { name: "Bo" }, items: [] },
    ];
    expect(read(JSON.stringify({ orders, total: 2 }))).toBe(
      lines(
        "orders[0].id: 1",
        "orders[0].buyer.name: Ada",
        "orders[0].items[0]: sku: x1 | count: 2",
        "orders[0].items[1]: sku: y2 | count: 1",
        "",
        "orders[1].id: 2",
        "orders[1].buyer.name: Bo",
        "orders[1].items: []",
        "",
        "total: 2",
      ),
    );
  });

  test("of objects within a record have paragraphs if they do not fit on a line", () => {
    const text = "word ".repeat(80).trim();
    expect(read(JSON.stringify([{ id: 1, parts: [{ label: "a", text }], end: 1 }]))).toBe(
      lines("[0].id: 1", "", "[0].parts[0].label: a", `[0].parts[0].text: ${text}`, "", "[0].end: 1"),
    );
  });
});

describe("JSON Lines", () => {
  test("have a paragraph per line", () => expect(read('{"a": 1}\n{"a": 2}\n\n')).toBe("[0].a: 1\n\n[1].a: 2"));

  test("with an invalid line keep this line unchanged", () => {
    expect(read('{"a": 1}\n{"a": 2,\n{"a": 3}\n{"a"')).toBe('[0].a: 1\n\n{"a": 2,\n\n[2].a: 3\n\n{"a"');
  });
});

describe("conversations", () => {
  test("may be JSON Lines", () => {
    const turns = ['{"role": "user", "content": "Hi"}', '{"role": "assistant", "content": "Hello"}'];
    expect(read(turns.join("\n"))).toBe("user: Hi\nassistant: Hello");
    expect(read([...turns, "{"].join("\n"))).toBe("user: Hi\nassistant: Hello\n\n{");
  });

  test("have a line per turn, with its time", () => {
    const turns = [
      { role: "user", content: "Where were you?", timestamp: "2023-05-08 13:56" },
      { speaker: "Ada", text: "In Rome.\nNote: it rained.", id: 7, mood: "happy" },
      {
        name: "Bo",
        content: [
          { type: "text", text: "I" },
          { type: "text", text: "see." },
        ],
        time: 1_700_000_000,
      },
    ];
    const expected = lines(
      "[2023-05-08 13:56] user: Where were you?",
      "Ada: In Rome. Note: it rained. (mood: happy)",
      "[2023-11-14T22:13:20.000Z] Bo: I see.",
    );
    expect(read(JSON.stringify(turns))).toBe(expected);
    expect(read(JSON.stringify({ title: "Trip", messages: turns, end: true }))).toBe(
      lines("title: Trip", "", expected, "", "end: true"),
    );
  });

  test("prefer the name to the role of a speaker, and find the text in either field", () => {
    expect(read('[{"role": "user", "name": "Ada", "content": "", "text": "Hi"}]')).toBe("Ada: Hi (role: user)");
  });

  test("with pictures are written completely", () => {
    const parts = [{ image: "cat.png" }, { text: "Look." }];
    const written = read(JSON.stringify([{ role: "user", content: parts }]));
    expect(written).toContain("cat.png");
    expect(written).toContain("Look.");
  });

  test("are not recognised in other lists with names", () => {
    expect(read('[{"name": "Ada", "age": 36}]')).toBe("[0].name: Ada\n[0].age: 36");
    expect(read('[{"text": "A title", "type": "Title"}]')).toBe("[0].text: A title\n[0].type: Title");
  });
});

describe("invalid JSON is returned unchanged", () => {
  for (const text of [
    '{"a": 1',
    "{a: 1}",
    "[1, 2,]",
    '{"a": "tab\there"}',
    '"a" "b',
    "[01]",
    '["\\x"]',
    "nulll",
    "12ab",
    "",
    "] [",
    "# not JSON",
  ]) {
    test(JSON.stringify(text), () => expect(read(text)).toBe(text));
  }

  test("also if the text is in pieces", () => expect(jsonText(['{"a": ', "nothing"])).toEqual(['{"a": nothing']));
});

describe("any value", () => {
  test("is in the text once, with its whole path", () => {
    const seed = 20_261_121;
    const random = seeded(seed);
    let made: [string, string][] = [];
    let next = 0;
    const valueAt = (path: string, depth: number): unknown => {
      const kind = random();
      const size = 1 + Math.floor(random() * 4);
      if (depth < 5 && kind < 0.3) {
        // each value of an object in a list is on its own line
        return Array.from({ length: size }, (_, at) => ({
          deep: { value: valueAt(`${path}[${at}].deep.value`, depth + 1), no: [[]] },
        }));
      }
      if (depth < 5 && kind < 0.6) {
        return Object.fromEntries(
          Array.from({ length: size }, (_, at) => [`k${at}`, valueAt(`${path}.k${at}`, depth + 1)]),
        );
      }
      const value = `v${next++}`;
      made.push([path, value]);
      return value;
    };
    for (let round = 0; round < 100; round++) {
      made = [];
      const root = { root: valueAt("root", 0) };
      const written = read(JSON.stringify(root, null, round % 3)).split("\n");
      const found = written.filter((line) => /: v\d+$/.test(line));
      expect({ seed, round, found }).toEqual({ seed, round, found: made.map(([path, value]) => `${path}: ${value}`) });
    }
  });
});

describe("hostile files are read in linear time, into a text of limited length", () => {
  const deep = 100_000;
  const key = "k".repeat(1_000_000);
  const cases: Readonly<Record<string, string>> = {
    "100,000 nested lists": `${"[".repeat(deep)}1${"]".repeat(deep)}`,
    "100,000 nested objects": `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`,
    "100,000 nested lists of objects": `${'[{"a":1,"b":'.repeat(deep)}1${"}]".repeat(deep)}`,
    "100,000 nested turns": `${'[{"role":"a","text":"b","more":'.repeat(deep)}1${"}]".repeat(deep)}`,
    "unclosed lists": "[".repeat(deep),
    "lines of unclosed lists": `{}\n${"[1,\n".repeat(deep)}`,
    "one long string": `["${"x".repeat(3_000_000)}"]`,
    backslashes: `["${"\\\\".repeat(1_000_000)}"]`,
    "an unclosed string": `["${"\\".repeat(1_000_001)}"]`,
    "a long key above many values": `{"${key}": {${Array.from({ length: 10_000 }, (_, at) => `"${at}": 1`).join(",")}}}`,
    "a long number": "1".repeat(3_000_000),
  };
  for (const [what, text] of Object.entries(cases)) {
    test(what, () => expect(read(text).length).toBeLessThan(40 * text.length));
  }

  test("paths do not lengthen the text without limit", () => {
    const steps = 15;
    const open = `{"${"k".repeat(80)}":`.repeat(steps);
    const inner = Array.from({ length: 100_000 }, () => '"a":1').join(",");
    const length = jsonText([`${open}{${inner}}${"}".repeat(steps)}`]).reduce((sum, piece) => sum + piece.length, 0);
    expect(length).toBeLessThan(75_000_000);
  });
});
