// Contract of JsonBodies (src/ports/json-bodies.ts). Every implementation must pass it.

import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { type JsonBodies, type JsonLimits, JsonRefused, LongText } from "../../src/ports/json-bodies.ts";
import { seeded } from "../support/seeded.ts";

const NO_LIMITS: JsonLimits = {
  depth: 64,
  values: 4e9,
  partValues: 4e9,
  partMembers: 4e9,
  areItemsParts: false,
};

/** Depth, values and members of a parsed value. */
function countsOf(value: unknown): { depth: number; values: number; members: number } {
  const counts = { depth: 0, values: 1, members: 0 };
  if (typeof value !== "object" || value === null) return counts;
  if (!Array.isArray(value)) counts.members += Object.keys(value).length;
  for (const inner of Object.values(value)) {
    const { depth, values, members } = countsOf(inner);
    counts.depth = Math.max(counts.depth, depth);
    counts.values += values;
    counts.members += members;
  }
  counts.depth += 1;
  return counts;
}

/** A random document, and the same value written with random white space and escapes. */
function randomDocument(random: () => number): string {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const blank = () => (random() < 0.3 ? pick([" ", "\n", "\t\r\n", " ".repeat(3000)]) : "");
  const pieces = ["a", "é", "€", "😀", '\\"', "\\\\", "\\u0041", "\\ud83d\\ude00", "{[", "]}", ":,", "\\/", " ", "\\n"];
  const quoted = (length: number) => `"${Array.from({ length }, () => pick(pieces)).join("")}"`;
  const shortText = () => quoted(Math.floor(random() * 8));
  const text = () => (random() < 0.002 ? quoted(40_000) : shortText());
  const scalar = () =>
    pick([
      text,
      text,
      () => pick(["0", "-0", "12.5e-3", "1E+2", "-7", "1e308"]),
      () => pick(["true", "false", "null"]),
    ])();
  const value = (depth: number): string => {
    if (depth === 0 || random() < 0.4) return scalar();
    const length = depth === 1 && random() < 0.02 ? 300 : Math.floor(random() * 4);
    const written = (inner: (at: number) => string) => Array.from({ length }, (_, at) => inner(at)).join(",");
    if (random() < 0.5) return `[${blank()}${written(() => `${blank()}${value(depth - 1)}${blank()}`)}]`;
    // Each name begins with its position, so that no name is given twice. None is long: a body with one is refused.
    const name = (at: number) => `${shortText().replace(/^"/, `"${at}${pick(["", "", "__proto__"])}`)}`;
    return `{${written((at) => `${blank()}${name(at)}${blank()}:${blank()}${value(depth - 1)}`)}${blank()}}`;
  };
  const wide = random() < 0.1 ? 200 : 2;
  const rows = Array.from({ length: wide }, () => value(2)).join(" , ");
  return pick([value(5), `{"memories": [${rows}] ,"x":${value(3)}}`, `{"__proto__":[${rows}]}`]);
}

/** Cuts bytes at random borders, also in the middle of a character or an escape. */
function cut(bytes: Uint8Array, random: () => number): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; ) {
    const length = random() < 0.5 ? 1 + Math.floor(random() * 9) : 1 + Math.floor(random() * 5000);
    pieces.push(bytes.slice(at, at + length));
    at += length;
  }
  return pieces;
}

/** Runs the contract. */
export function jsonBodiesContract(implementation: string, bodies: JsonBodies): void {
  const parse = async (text: string | Uint8Array, limits = NO_LIMITS) => {
    const body = bodies.begin(limits);
    expect(body.add(Buffer.from(text as string))).toBeNull();
    return (await body.parse(() => false)).value;
  };
  const flawOf = async (text: string | Uint8Array) => {
    const refused = await parse(text).catch((error: unknown) => error);
    if (!(refused instanceof JsonRefused)) throw new Error(`not refused: ${String(text).slice(0, 100)}`);
    return [refused.flaw, refused.path];
  };

  describe(`${implementation} as JsonBodies`, () => {
    const seed = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);

    test(`values and counts are those of JSON.parse, wherever the bytes are cut (MNEME_TEST_SEED=${seed})`, async () => {
      const random = seeded(seed);
      for (let round = 0; round < 60; round++) {
        const bytes = Buffer.from(randomDocument(random));
        const expected: unknown = JSON.parse(bytes.toString());
        const { depth, values, members } = countsOf(expected);
        const exact = { ...NO_LIMITS, depth: Math.max(depth, 1), values, partValues: values, partMembers: members };
        const body = bodies.begin(exact);
        for (const piece of cut(bytes, random)) expect(body.add(piece)).toBeNull();
        expect((await body.parse(() => false)).value).toEqual(expected);
        expect(bodies.exceeded(bytes, exact)).toBeNull();

        const tooSmall: readonly [keyof JsonLimits, number][] = [
          ["depth", depth - 1],
          ["values", values - 1],
          ["partValues", values - 1],
          ["partMembers", members - 1],
        ];
        for (const [limit, most] of tooSmall) {
          if (most < 0 || (limit === "depth" && depth === 0) || (limit !== "depth" && depth === 0)) continue;
          const limits = { ...NO_LIMITS, [limit]: most };
          expect(bodies.exceeded(bytes, limits)).toBe(limit as "depth");
          const arriving = bodies.begin(limits);
          expect(cut(bytes, random).map((piece) => arriving.add(piece))).toContain(limit as "depth");
        }
      }
    });

    test("long texts are set apart where the caller says so", async () => {
      const texts = [
        `"\\é€😀\n`.repeat(40_000),
        `${"x".repeat(70_000)}\u0001`,
        "\ufeff".repeat(70_000),
        "y".repeat(70_000),
      ];
      const short = "z".repeat(60_000);
      const value = { a: [...texts, short], b: texts[3], c: { a: texts[3] } };
      const body = bodies.begin(NO_LIMITS);
      expect(body.add(Buffer.from(JSON.stringify(value)))).toBeNull();
      const parsed = await body.parse((path) => path[0] === "a" && path.length === 2);
      const items: readonly unknown[] = (parsed.value as typeof value).a;
      // a text of white space is not set apart
      expect(items.map((item) => item instanceof LongText)).toEqual([true, true, false, true, false]);
      expect(parsed.value).toEqual({ ...value, a: [items[0], items[1], texts[2], items[3], short] });
      expect(parsed.longTexts.map((text) => items.indexOf(text))).toEqual([0, 1, 3]);
      for (const long of parsed.longTexts) {
        const text = texts[items.indexOf(long)] ?? "";
        expect(JSON.parse(JSON.stringify(long))).toStartWith("\0");
        const joined = (pieces: Iterable<Uint8Array>) =>
          Buffer.concat(Array.from(pieces, (piece) => new Uint8Array(piece))).toString();
        expect(joined(long.pieces())).toBe(text);
        expect(JSON.parse(`"${joined(long.jsonPieces())}"`)).toBe(text);
        expect(long.bytes).toBe(Buffer.byteLength(text));
        expect(Buffer.from(long.sha256)).toEqual(createHash("sha256").update(text).digest());
      }
    });

    test("of a name that is given twice, the last value counts, and each one is counted", async () => {
      const long = "x".repeat(70_000);
      const rows = `[${`{"t":"${"y".repeat(40_000)}"},`.repeat(4)}1]`;
      const documents = [
        `{"a":1,"a":2}`,
        `{"a":"${long}","a":2}`,
        `{"a":2,"a":"${long}"}`,
        `{"a":{"b":"${long}"},"a":3}`,
        `{"a":${rows},"a":[2]}`,
        `{"a":[2],"a":${rows}}`,
        `{"a":"${long}","a":"${long}z"}`,
        `{"__proto__":"${long}","b":{"__proto__":["${long}"]}}`,
      ];
      for (const text of documents) expect(await parse(text)).toEqual(JSON.parse(text));
      expect(bodies.exceeded(Buffer.from(`{"a":1,"a":2}`), { ...NO_LIMITS, partMembers: 1 })).toBe("partMembers");
    });

    test("long texts are decoded: escapes, characters of one to four bytes", async () => {
      for (const piece of ["plain ascii ", "é", "€", "😀", "\\n", "\\u00e9\\\\", '\\"\\ud83d\\ude00', "a\\u3000"]) {
        const text = `["${piece.repeat(70_000 / piece.length)}"]`;
        expect(await parse(text)).toEqual(JSON.parse(text));
      }
    });

    test("each item of a list in the outermost object has the limits of a part", () => {
      const limits = { ...NO_LIMITS, partValues: 3, partMembers: 2, areItemsParts: true };
      const exceeded = (text: string) => bodies.exceeded(Buffer.from(text), limits);
      expect(exceeded(`{"m":[${`{"a":1,"b":2},`.repeat(100)}0]}`)).toBeNull();
      expect(exceeded('{"m":[{"a":1},{"a":1,"b":2,"c":3}]}')).toBe("partValues");
      expect(exceeded('{"m":{"a":1,"b":2}}')).toBe("partValues");
    });

    test("hostile bodies exceed a limit in their first bytes", () => {
      const limits = { depth: 64, values: 1e6, partValues: 20_000, partMembers: 10_000, areItemsParts: false };
      const bytesUntilRefusal = (text: string) => {
        const body = bodies.begin(limits);
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.byteLength; at += 1024) {
          if (body.add(bytes.subarray(at, at + 1024)) !== null) return at + 1024;
        }
        return null;
      };
      expect(bytesUntilRefusal(`{"query":${"[".repeat(1e6)}`)).toBe(1024);
      expect(bytesUntilRefusal("[".repeat(1e6))).toBe(1024);
      expect(bytesUntilRefusal(`[${"0,".repeat(1e6)}`)).toBeLessThan(42 * 1024);
      const keys = Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join(",");
      expect(bytesUntilRefusal(`{"metadata":{${keys}`)).toBeLessThan(110 * 1024);
      expect(bytesUntilRefusal(`["${'\\"[{'.repeat(1e5)}"]`)).toBeNull();
    });

    test("what is not JSON, or not UTF-8, is refused", async () => {
      const texts = ["", "{", "[1,]", '{"a":1,}', "[NaN]", "[01]", "[1.]", '["\\x"]', '["a\nb"]', '["\\u12"]', "[] []"];
      for (const text of [...texts, "{'a':1}", '{"a" 1}', "[tru]", '["abc', "[+1]", "[.5]", "[1e]"]) {
        expect([text, ...(await flawOf(text))]).toEqual([text, "syntax", []]);
      }
      for (const bytes of [[0xff], [0xe2, 0x82], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]) {
        expect(await flawOf(Buffer.from([0x5b, 0x22, ...bytes, 0x22, 0x5d]))).toEqual(["syntax", []]);
      }
    });

    test("values that cannot be stored are refused with their path", async () => {
      expect(await flawOf('{"a":[1,{"b":"x\\u0000"}]}')).toEqual(["nul", ["a", 1, "b"]]);
      expect(await flawOf('{"a":["\\ud800x"]}')).toEqual(["surrogate", ["a", 0]]);
      expect(await flawOf(`["${"y".repeat(70_000)}\\udc00"]`)).toEqual(["surrogate", [0]]);
      expect(await flawOf('{"\\u0000":1}')).toEqual(["nul", ["\0"]]);
      for (const number of ["1e400", "-1e400", "9".repeat(400)]) {
        expect(await flawOf(`{"n":[${number}]}`)).toEqual(["number", ["n", 0]]);
      }
    });
  });
}
