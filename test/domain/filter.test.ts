// Metadata filters: the rules of the language, refusals, and random filters on random memories against a second
// implementation of the rules that shares no code with the first.

import { describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { type FilteredAttributes, matchesFilter, parseFilter } from "../../src/domain/filter.ts";
import type { MemoryId } from "../../src/domain/ids.ts";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import { type ExactInteger, isExactInteger, parseJson } from "../../src/kit/exact-json.ts";
import { isRecord } from "../../src/kit/record.ts";
import { anyFilter, anyMemory, Chance, SCALARS } from "../support/any-filter.ts";
import { seeded } from "../support/seeded.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
const CASES = Number(process.env.MNEME_TEST_CASES ?? 10_000);

const BARE: FilteredAttributes = {
  id: "mem_01" as MemoryId,
  title: null,
  type: null,
  tags: null,
  language: null,
  source: null,
  externalId: null,
  createdAt: Date.UTC(2026, 0, 31, 12),
  updatedAt: Date.UTC(2026, 1, 28),
  occurredAt: Date.UTC(2025, 6, 14),
  supersededBy: null,
  userId: null,
  agentId: null,
  sessionId: null,
  metadata: null,
};
const memory = (attributes: Partial<FilteredAttributes>): FilteredAttributes => ({ ...BARE, ...attributes });
const withMetadata = (metadata: JsonObject) => memory({ metadata });

const admits = (filter: unknown, of: FilteredAttributes) => matchesFilter(parseFilter(filter), of);
/**
 * Filters on `metadata.a`, with values of `a` that must match and values that must not match. With undefined, metadata
 * lacks `a`.
 */
function expectOnA(
  cases: readonly (readonly [filter: Json, admitted: readonly unknown[], refused: readonly unknown[]])[],
) {
  for (const [filter, admitted, refused] of cases) {
    for (const [values, verdict] of [
      [admitted, true],
      [refused, false],
    ] as const) {
      for (const value of values) {
        const found = admits({ "metadata.a": filter }, withMetadata(value === undefined ? {} : { a: value as Json }));
        expect([filter, value, found]).toEqual([filter, value, verdict]);
      }
    }
  }
}

function refusalOf(filter: unknown, param?: string): Fault {
  try {
    parseFilter(filter, param);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(filter)}`);
}

describe("fields", () => {
  const whole = memory({
    id: "mem_7" as MemoryId,
    title: "Kites",
    type: "note",
    tags: ["red", "wind"],
    language: "en",
    source: { filename: "kites.pdf", media_type: "application/pdf", bytes: 9 },
    externalId: "ext-1",
    userId: "ada",
    agentId: "cook",
    sessionId: "s-1",
    metadata: { color: "red" },
  });

  test("every field of the API matches its own value and no other", () => {
    const values: Record<string, string> = {
      title: "Kites",
      type: "note",
      tags: "red",
      language: "en",
      "source.media_type": "application/pdf",
      externalId: "ext-1",
      created_at: "2026-01-31T12:00:00.000Z",
      updated_at: "2026-02-28",
      occurred_at: "2025-07-14",
      memory_id: "mem_7",
      userId: "ada",
      agentId: "cook",
      sessionId: "s-1",
      "metadata.color": "red",
    };
    for (const [field, value] of Object.entries(values)) {
      expect([field, admits({ [field]: value }, whole)]).toEqual([field, true]);
      const other = field.endsWith("_at") ? "2020-01-01" : "other";
      expect([field, admits({ [field]: other }, whole)]).toEqual([field, false]);
    }
  });

  test("an attribute without a value is absent: $exists is false and it equals null", () => {
    const attributes = [
      "title",
      "type",
      "tags",
      "language",
      "source.media_type",
      "externalId",
      "userId",
      "agentId",
      "sessionId",
      "metadata.color",
    ];
    for (const field of attributes) {
      const verdicts = (of: FilteredAttributes) =>
        [{ $exists: true }, { $exists: false }, null, { $ne: null }].map((operand) => admits({ [field]: operand }, of));
      expect([field, verdicts(BARE)]).toEqual([field, [false, true, true, false]]);
      expect([field, verdicts(whole)]).toEqual([field, [true, false, false, true]]);
    }
  });

  test("several fields are combined with AND, so are several operators of a field; an empty filter matches all", () => {
    expect(admits({ type: "note", userId: "ada" }, whole)).toBeTrue();
    expect(admits({ type: "note", userId: "bob" }, whole)).toBeFalse();
    expectOnA([[{ $gt: 1, $lt: 5 }, [2], [1, 5]]]);
    expect(admits({}, BARE)).toBeTrue();
  });
});

describe("equality", () => {
  test("compares type and value: no coercion, 1 is 1.0 and 0 is -0", () => {
    expectOnA([
      [1, [1, 1.0, [1, 2]], ["1", true, [["1"]], 2, undefined, null]],
      ["1", ["1"], [1]],
      [true, [true], [1, "true", false]],
      [0, [0, -0], [false, "", null]],
      ["Red", ["Red"], ["red", "Red "]],
    ]);
  });

  test(`whole numbers beyond 2^53 keep their digits and are compared by them (seed ${SEED})`, () => {
    const chance = seeded(SEED);
    const near = [2n ** 53n, -(2n ** 53n), 2n ** 63n, 10n ** 19n, -(10n ** 29n), 10n ** 20n + 12_345n];
    const numbers = near.flatMap((base) =>
      [-2n, -1n, 0n, 1n, 2n].map((step) => base + step * BigInt(1 + Math.floor(chance() * 3))),
    );
    const written = numbers.map(String);
    const text = `{"a":[${written.join(",")}],"b":{"c":${written[3]}},"d":[1.5,1e20,-0.25,3]}`;
    const parsed = parseJson(text) as JsonObject;
    expect(JSON.stringify(parsed)).toBe(text.replace("1e20", "100000000000000000000"));
    const operand = (value: bigint) => parseJson(String(value));
    for (const value of numbers) {
      const stored = memory({
        metadata: parseJson(`{"a":${value},"list":[1,${value}],"deep":{"b":[${value}]}}`) as JsonObject,
      });
      for (const other of numbers) {
        const isEqual = value === other;
        expect(admits({ "metadata.a": operand(other) }, stored)).toBe(isEqual);
        expect(admits({ "metadata.list": { $contains: operand(other) } }, stored)).toBe(isEqual);
        expect(admits({ "metadata.a": { $in: [1, operand(other), "x"] } }, stored)).toBe(isEqual);
        expect(admits({ "metadata.deep": { $eq: parseJson(`{"b":[${other}]}`) } }, stored)).toBe(isEqual);
        expect(admits({ "metadata.a": { $gt: operand(other) } }, stored)).toBe(value > other);
        expect(admits({ "metadata.a": { $gte: operand(other) } }, stored)).toBe(value >= other);
        expect(admits({ "metadata.a": { $lt: operand(other) } }, stored)).toBe(value < other);
      }
      expect(admits({ "metadata.a": { $gt: 1.5 } }, stored)).toBe(value > 1n);
    }
  });

  test("on an array means membership; an array operand equals an array as a whole", () => {
    expectOnA([
      ["x", ["x", ["y", "x"], [null, "x"]], [["xy"], [["x"]], []]],
      [
        ["x", "y"],
        [
          ["x", "y"],
          [["x", "y"], 1],
        ],
        [["y", "x"], ["x"], "x", ["x", "y", "z"]],
      ],
      [[], [[], [[]]], [undefined, null, [1]]],
    ]);
    expect(admits({ tags: ["a", "b"] }, memory({ tags: ["a", "b"] }))).toBeTrue();
    expect(admits({ tags: ["a"] }, memory({ tags: ["a", "b"] }))).toBeFalse();
  });

  test("of objects is deep and ignores key order", () => {
    expectOnA([
      [
        { x: 1, y: { z: [1, { w: null }] } },
        [{ y: { z: [1, { w: null }] }, x: 1 }, [0, { x: 1.0, y: { z: [1, { w: null }] } }]],
        [{ x: 1 }, { x: 1, y: { z: [{ w: null }, 1] } }, { x: 1, y: { z: [1, { w: null }] }, v: 0 }],
      ],
      [{ $eq: {} }, [{}], [{ x: 1 }, [], undefined]],
      [{ $eq: { $gt: 1 } }, [{ $gt: 1 }], [2]],
      [{ $in: [{ x: 1 }, [2]] }, [{ x: 1 }, [2]], [1, 2, { x: 2 }]],
    ]);
  });

  test("with null matches absent and null; $ne null matches what is present and not null", () => {
    expectOnA([
      [null, [undefined, null, [null, 1]], [0, "", false, [], {}]],
      [{ $eq: null }, [undefined, null], [0]],
      [{ $ne: null }, [0, "", false, [], {}], [undefined, null]],
    ]);
  });

  test("negated also matches absent fields", () => {
    expectOnA([
      [{ $ne: 1 }, [undefined, null, 2, "1", [2]], [1, [2, 1]]],
      [{ $nin: [1, 2] }, [undefined, null, 3], [1, 2, [3, 2]]],
    ]);
    expect(admits({ $not: { "metadata.a": 1 } }, BARE)).toBeTrue();
    expect(admits({ $not: { "metadata.a": { $gt: 1 } } }, BARE)).toBeTrue();
  });

  test("with a list: $in matches any, $nin none; an empty $in matches nothing, an empty $nin everything", () => {
    expectOnA([
      [{ $in: [1, "x"] }, [1, "x", ["x"]], [2, undefined, null]],
      [{ $in: [null, 1] }, [undefined, null, 1], [2]],
      [{ $nin: [null] }, [2, false], [undefined, null]],
      [{ $in: [] }, [], [1, undefined, null, []]],
      [{ $nin: [] }, [1, undefined, null, []], []],
    ]);
  });
});

describe("comparison", () => {
  test("includes the bound as its operator says, for numbers and strings, and never compares across types", () => {
    expectOnA([
      [{ $gt: 2 }, [2.5, [1, 3]], [2, 1, "3", null, true, undefined]],
      [{ $gte: 2 }, [2, 3], [1.999]],
      [{ $lt: 2 }, [1, -1e308], [2, "1", null, undefined]],
      [{ $lte: 2 }, [2, [9, 1]], [2.001, []]],
      [{ $gt: "b" }, ["ba", "c"], ["b", "B", 9]],
      [{ $lte: "b" }, ["b", "", "B"], ["ba"]],
    ]);
  });

  test("of strings is by code point: characters that UTF-16 encodes as surrogates sort last", () => {
    const rising = ["", "A", "a", "é", "\ud7ff", "\ue000", "\uffff", "😀", "😀a", "\u{10ffff}"];
    for (const [at, text] of rising.entries()) {
      expectOnA([
        [{ $gt: text }, rising.slice(at + 1), rising.slice(0, at + 1)],
        [{ $lt: text }, rising.slice(0, at), rising.slice(at)],
      ]);
    }
  });
});

describe("$exists and $contains", () => {
  test("a stored null exists", () => {
    expectOnA([
      [{ $exists: true }, [null, 0, "", [], {}], [undefined]],
      [{ $exists: false }, [undefined], [null, 0]],
    ]);
  });

  test("$contains tests membership in arrays and substrings of strings, case-sensitively", () => {
    expectOnA([
      [{ $contains: "ed" }, ["red", "ed", ["ed"]], ["Ed", "RED", ["red"], undefined, null, { ed: 1 }]],
      [{ $contains: "" }, ["", "x", [""]], [["x"], undefined]],
      [{ $contains: 1 }, [[2, 1]], [1, "1", ["1"], [[1]]]],
      [{ $contains: null }, [[null]], [null, undefined, []]],
      [{ $contains: { x: 1 } }, [[{ x: 1 }]], [{ x: 1 }]],
    ]);
    expect(admits({ tags: { $contains: "red" } }, memory({ tags: ["red"] }))).toBeTrue();
    expect(admits({ tags: { $contains: "re" } }, memory({ tags: ["red"] }))).toBeFalse();
    expect(admits({ title: { $contains: "ite" } }, memory({ title: "Kites" }))).toBeTrue();
  });
});

describe("combinators", () => {
  test("$and, $or and $not combine as named; an empty $and matches all, an empty $or nothing", () => {
    const of = withMetadata({ a: 1, b: 2 });
    const [yes, no] = [{ "metadata.a": 1 }, { "metadata.b": 1 }];
    expect(admits({ $and: [yes, no] }, of)).toBeFalse();
    expect(admits({ $or: [no, yes] }, of)).toBeTrue();
    expect(admits({ $not: no }, of)).toBeTrue();
    expect(admits({ $and: [yes], $not: yes }, of)).toBeFalse();
    expect(admits({ $and: [] }, of)).toBeTrue();
    expect(admits({ $or: [] }, of)).toBeFalse();
    expect(admits({ $not: {} }, of)).toBeFalse();
    expect(admits({ $or: [{}] }, of)).toBeTrue();
  });
});

describe("dates", () => {
  const of = memory({ createdAt: Date.UTC(2026, 0, 31, 12, 0, 0, 250) });

  test("compare as instants in any time zone; a date means its first instant in UTC", () => {
    const cases: [filter: Json, verdict: boolean][] = [
      ["2026-01-31T12:00:00.250Z", true],
      ["2026-01-31T14:00:00.25+02:00", true],
      ["2026-01-31T12:00:00Z", false],
      [{ $gt: "2026-01-31T12:00Z" }, true],
      [{ $gte: "2026-01-31", $lt: "2026-02-01" }, true],
      [{ $lt: "2026-01-31T23:30:00+13:00" }, false],
      [{ $lte: "2026-01-31T12:00:00.250Z" }, true],
      [{ $in: ["2020-01-01", "2026-01-31T12:00:00.250Z"] }, true],
      [{ $nin: ["2026-01-31T12:00:00.250Z"] }, false],
      [{ $ne: "2026-01-31" }, true],
      [{ $exists: true }, true],
      [null, false],
    ];
    for (const [filter, verdict] of cases) {
      expect([filter, admits({ created_at: filter }, of)]).toEqual([filter, verdict]);
    }
  });

  test("a text that is not a date is refused on a date field, and is an ordinary text elsewhere", () => {
    const bad = [
      "yesterday",
      "",
      "2026",
      "2026-02-30",
      "2026-13-01",
      "2026-01-31T25:00:00Z",
      "2026-01-31T12:00:00",
      5,
      true,
    ];
    for (const value of bad) {
      for (const operand of [value, { $gt: value }, { $in: ["2026-01-31", value] }]) {
        expect([operand, refusalOf({ updated_at: operand }).code]).toEqual([operand, "invalid_filter"]);
      }
    }
    expect(refusalOf({ created_at: { $in: ["2026-01-31", "soon"] } }).param).toBe("filters.created_at.$in[1]");
    expect(refusalOf({ created_at: { $contains: "2026" } }).param).toBe("filters.created_at.$contains");
    expect(refusalOf({ created_at: { $gt: null } }).param).toBe("filters.created_at.$gt");
    expectOnA([[{ $gt: "yesterday" }, ["yesterdays"], ["2026-01-31"]]]);
  });
});

describe("metadata paths", () => {
  test("dots descend; a key that contains dots matches by its full name, at any level", () => {
    const descends = { "metadata.a.b.c": 1 };
    const found: JsonObject[] = [
      { a: { b: { c: 1 } } },
      { "a.b.c": 1 },
      { "a.b": { c: 1 } },
      { a: { "b.c": 1 } },
      { a: { b: { c: 2 } }, "a.b.c": 1 },
    ];
    for (const metadata of found)
      expect([metadata, admits(descends, withMetadata(metadata))]).toEqual([metadata, true]);
    const missed: JsonObject[] = [{ a: { b: 1 } }, { a: { c: 1 } }, { "a.b.c.d": 1 }, { c: 1 }, { ab: { c: 1 } }];
    for (const metadata of missed)
      expect([metadata, admits(descends, withMetadata(metadata))]).toEqual([metadata, false]);
  });

  test("reach each object in an array, and match if one of the values reached matches", () => {
    const of = withMetadata({ items: [{ name: "x", n: 1 }, 7, { name: "y" }, [{ name: "z" }]] });
    for (const name of ["x", "y", "z"]) expect(admits({ "metadata.items.name": name }, of)).toBeTrue();
    expect(admits({ "metadata.items.name": "w" }, of)).toBeFalse();
    expect(admits({ "metadata.items.name": { $ne: "x" } }, of)).toBeFalse();
    expect(admits({ "metadata.items.n": { $gte: 1 } }, of)).toBeTrue();
    expect(admits({ "metadata.items.name": { $exists: true } }, of)).toBeTrue();
    expect(admits({ "metadata.items.size": { $exists: false } }, of)).toBeTrue();
    expect(admits({ "metadata.items.name": null }, of)).toBeFalse();
  });

  test("see only stored keys, not inherited properties", () => {
    for (const name of ["constructor", "__proto__", "toString", "a.constructor.name", "a.length", "__proto__.x"]) {
      const field = `metadata.${name}`;
      expect([name, admits({ [field]: { $exists: true } }, withMetadata({ a: "text" }))]).toEqual([name, false]);
    }
    const stored = withMetadata(JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}'));
    expect(admits({ "metadata.__proto__.x": 1, "metadata.constructor": 2 }, stored)).toBeTrue();
    expect(admits(JSON.parse('{"metadata.__proto__": {"$eq": {"x": 1}}}'), stored)).toBeTrue();
    expect(admits({ "metadata.a": JSON.parse('{"__proto__": 1}') }, withMetadata({ a: {} }))).toBeFalse();
  });

  test("reach as deep as metadata can be nested", () => {
    const levels = 2_000;
    const deep = JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
    expect(admits({ [`metadata${".a".repeat(levels)}`]: 1 }, withMetadata(deep))).toBeTrue();
    expect(admits({ [`metadata${".a".repeat(levels + 1)}`]: 1 }, withMetadata(deep))).toBeFalse();
    expect(admits({ "metadata.a": { $in: [{}, []] } }, withMetadata(deep))).toBeFalse();
    const lists = JSON.parse(`${"[".repeat(5_000)}1${"]".repeat(5_000)}`);
    expect(admits({ "metadata.a": { $in: [{}, []] }, "metadata.a.b": null }, withMetadata({ a: lists }))).toBeFalse();
  });
});

describe("refusals", () => {
  test("name the position and what would be right", () => {
    const cases: [filter: unknown, param: string, says: string][] = [
      ["type = note", "filters", "must be an object"],
      [null, "filters", "found null"],
      [[{ type: "note" }], "filters", "found an array of 1"],
      [{ typ: "note" }, "filters.typ", "Did you mean 'type'?"],
      [{ user_id: "ada" }, "filters.user_id", "Did you mean 'userId'?"],
      [{ status: "completed" }, "filters.status", "'metadata.status'"],
      [{ metadata: { a: 1 } }, "filters.metadata", "as in 'metadata.color'"],
      [{ "metadata.": 1 }, "filters.metadata.", "Add a metadata key"],
      [{ "metdata.a.b": 1 }, "filters.metdata.a.b", "Did you mean 'metadata.a.b'?"],
      [{ type: { $equals: "x" } }, "filters.type.$equals", "Known operators"],
      [{ type: { $inn: ["x"] } }, "filters.type.$inn", "Did you mean '$in'?"],
      [{ type: { eq: "x" } }, "filters.type.eq", "Did you mean '$eq'?"],
      [{ type: {} }, "filters.type", "is empty"],
      [{ "metadata.a": { $gt: 1, lt: 2 } }, "filters.metadata.a.lt", "Did you mean '$lt'?"],
      [{ "metadata.a": { $not: { $gt: 1 } } }, "filters.metadata.a.$not", "is a combinator"],
      [{ $eq: 1 }, "filters.$eq", "place it inside a field"],
      [{ $nor: [] }, "filters.$nor", "Did you mean '$or'?"],
      [{ $and: { type: "x" } }, "filters.$and", "must be an array of filters"],
      [{ $or: [{ type: "x" }, 7] }, "filters.$or[1]", "found 7"],
      [{ $not: [{ type: "x" }] }, "filters.$not", "must be an object"],
      [{ $and: [{ "metadata.a": { $in: "x" } }] }, "filters.$and[0].metadata.a.$in", "must be an array of values"],
      [{ $or: [{ $not: { type: { $exists: 1 } } }] }, "filters.$or[0].$not.type.$exists", "true or false"],
      [{ title: { $gt: true } }, "filters.title.$gt", "must be a number or a string"],
      [{ "metadata.a": { $lte: [1] } }, "filters.metadata.a.$lte", "must be a number or a string"],
      [{ "metadata.a": { $contains: ["x"] } }, "filters.metadata.a.$contains", "must be a single value"],
      [{ type: ["a", "b"] }, "filters.type", "use $in for several values"],
      [{ tags: { $in: [{ x: 1 }] } }, "filters.tags.$in[0]", "must be a single value"],
      [JSON.parse('{"__proto__": 1}'), "filters.__proto__", "is not a filterable field"],
      [{ constructor: 1 }, "filters.constructor", "is not a filterable field"],
      [{ type: JSON.parse('{"__proto__": 1}') }, "filters.type.__proto__", "is not an operator"],
    ];
    for (const [filter, param, says] of cases) {
      const { code, message, param: where } = refusalOf(filter);
      expect([code, where]).toEqual(["invalid_filter", param]);
      expect(message).toContain(says);
      expect(message).toContain(`'${param}'`);
    }
    expect(refusalOf({ typ: 1 }, "question.filters").param).toBe("question.filters.typ");
  });

  test("handle a name of any length cheaply and do not repeat it in full", () => {
    const long = "x".repeat(1_000_000);
    for (const filter of [{ [long]: 1 }, { [`$${long}`]: 1 }, { type: { [`$${long}`]: 1 } }, { created_at: long }]) {
      expect(refusalOf(filter).message.length).toBeLessThan(600);
    }
  });
});

describe("limits hold at their edge and one past it", () => {
  test("200 conditions, at any position; empty objects and lists count as one", () => {
    const fields = (count: number) => Array.from({ length: count }, (_, at) => ({ [`metadata.k${at}`]: at }));
    parseFilter({ $and: fields(200) });
    parseFilter(Object.assign({}, ...fields(200)));
    parseFilter({ $or: [{ $and: fields(100) }, { $not: { $or: fields(98) } }, {}, { $and: [] }] });
    for (const filter of [
      { $and: fields(201) },
      Object.assign({}, ...fields(201)),
      { "metadata.a": { $gt: 1, $lt: 2 }, $or: fields(199) },
      { $or: Array(201).fill({}) },
      { $or: Array(201).fill({ $and: [] }) },
    ]) {
      expect(refusalOf(filter).message).toContain("at most 200");
    }
    expect(refusalOf({ $and: fields(201) }).param).toBe("filters.$and[200].metadata.k200");
  });

  test("1,000 values in $in and $nin", () => {
    const values = Array.from({ length: 1_000 }, (_, at) => at);
    for (const operator of ["$in", "$nin"]) {
      parseFilter({ "metadata.a": { [operator]: values } });
      const { param, message } = refusalOf({ "metadata.a": { [operator]: [...values, 0] } });
      expect([param, message.includes("1001 values; at most 1000")]).toEqual([`filters.metadata.a.${operator}`, true]);
    }
  });

  test("combinators 8 deep", () => {
    for (const combinator of ["$and", "$or", "$not"]) {
      const nested = (depth: number): unknown => {
        if (depth === 0) return { type: "note" };
        const inner = nested(depth - 1);
        return { [combinator]: combinator === "$not" ? inner : [inner] };
      };
      expect(admits(nested(8), memory({ type: "note" }))).toBeTrue();
      expect(refusalOf(nested(9)).message).toContain("at most 8");
      expect(refusalOf(nested(5_000)).code).toBe("invalid_filter");
    }
  });

  test("operands 64 levels deep, however deep the input is", () => {
    const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    expect(admits({ "metadata.a": nested(64) }, withMetadata({ a: nested(64) }))).toBeTrue();
    for (const depth of [65, 20_000]) expect(refusalOf({ "metadata.a": nested(depth) }).message).toContain("64 levels");
  });
});

describe("random filters on random memories", () => {
  test(`match like a second implementation of the rules (seed ${SEED}, ${CASES} cases)`, () => {
    const chance = new Chance(SEED, SCALARS);
    let admitted = 0;
    for (let round = 0; round < CASES; round++) {
      const filter = anyFilter(chance, chance.below(4));
      const of = anyMemory(chance);
      const verdict = admits(filter, of);
      if (verdict !== reread(filter)(flattened(of))) {
        expect({ round, filter, of, verdict }).toEqual({ round, filter, of, verdict: !verdict });
      }
      if (verdict) admitted++;
    }
    // if almost all or almost no memories matched, the comparison would prove little
    expect(admitted / CASES).toBeGreaterThan(0.2);
    expect(admitted / CASES).toBeLessThan(0.8);
  });
});

// The second implementation. It turns a memory into a table from dotted paths to the values at each path, and a filter
// into a predicate over such tables. It has its own comparison of values: it compares strings as lists of code points.

type Table = ReadonlyMap<string, readonly unknown[]>;

function flattened(of: FilteredAttributes): Table {
  const table = new Map<string, unknown[]>();
  const enter = (path: string, value: unknown) => table.set(path, [...(table.get(path) ?? []), value]);
  const attributes: Record<string, unknown> = {
    ...{ memory_id: of.id, title: of.title, type: of.type, tags: of.tags, language: of.language },
    ...{ "source.media_type": of.source?.media_type, externalId: of.externalId },
    ...{ userId: of.userId, agentId: of.agentId, sessionId: of.sessionId },
    ...{ created_at: new Date(of.createdAt), updated_at: new Date(of.updatedAt) },
    occurred_at: of.occurredAt === null ? null : new Date(of.occurredAt),
  };
  for (const [path, value] of Object.entries(attributes)) if (value !== null && value !== undefined) enter(path, value);
  const below = (value: unknown, path: string): void => {
    if (Array.isArray(value)) for (const item of value) below(item, path);
    else if (value !== null && typeof value === "object" && !isExactInteger(value)) {
      for (const key of Reflect.ownKeys(value).map(String)) {
        const inner: unknown = Reflect.get(value, key);
        enter(`${path}.${key}`, inner);
        below(inner, `${path}.${key}`);
      }
    }
  };
  below(of.metadata, "metadata");
  return table;
}

function reread(filter: unknown): (table: Table) => boolean {
  const parts = Object.entries(filter as object).map(([name, operand]): ((table: Table) => boolean) => {
    if (name === "$and") return (table) => !operand.some((part: unknown) => !reread(part)(table));
    if (name === "$or") return (table) => operand.findIndex((part: unknown) => reread(part)(table)) >= 0;
    if (name === "$not") return (table) => reread(operand)(table) === false;
    const isOperators = isRecord(operand);
    const operators: [string, unknown][] = isOperators ? Object.entries(operand) : [["$eq", operand]];
    return (table) => operators.every(([operator, value]) => rereadOperator(operator, value, table.get(name) ?? []));
  });
  return (table) => parts.every((part) => part(table));
}

function rereadOperator(operator: string, operand: unknown, values: readonly unknown[]): boolean {
  const items = values.flatMap((value) => (Array.isArray(value) ? [value, ...value] : [value]));
  const isEqualTo = (wanted: unknown) =>
    (wanted === null && values.length === 0) || items.some((item) => areSame(item, wanted));
  const orders = items.map((item) => orderOf(item, operand));
  const expectations: Record<string, () => boolean> = {
    $eq: () => isEqualTo(operand),
    $ne: () => !isEqualTo(operand),
    $in: () => (operand as unknown[]).some(isEqualTo),
    $nin: () => (operand as unknown[]).every((wanted) => !isEqualTo(wanted)),
    $exists: () => values.length > 0 === operand,
    $gt: () => orders.includes(1),
    $gte: () => orders.includes(1) || orders.includes(0),
    $lt: () => orders.includes(-1),
    $lte: () => orders.includes(-1) || orders.includes(0),
    $contains: () =>
      values.some((value) => {
        if (Array.isArray(value)) return value.some((item) => areSame(item, operand));
        return typeof value === "string" && typeof operand === "string" && value.split(operand).length > 1;
      }),
  };
  // every string contains the empty string; split("") is no test for this, because strings of at most one character
  // give at most one part
  if (operator === "$contains" && operand === "") {
    return values.some((value) => typeof value === "string" || (Array.isArray(value) && value.includes("")));
  }
  return expectations[operator]?.() ?? false;
}

function areSame(left: unknown, right: unknown): boolean {
  if (left instanceof Date) return typeof right === "string" && left.getTime() === new Date(right).getTime();
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  if (isNumber(left) || isNumber(right)) return orderOf(left, right) === 0;
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return left === right;
  const names = Reflect.ownKeys(left).filter((name) => !(Array.isArray(left) && name === "length"));
  const others = Reflect.ownKeys(right).filter((name) => !(Array.isArray(right) && name === "length"));
  return (
    names.length === others.length &&
    names.every((name) => others.includes(name) && areSame(Reflect.get(left, name), Reflect.get(right, name)))
  );
}

function isNumber(value: unknown): value is number | ExactInteger {
  return typeof value === "number" || isExactInteger(value);
}

/** A number as it is written: a bigint if it is whole. */
function digitsOf(value: number | ExactInteger): number | bigint {
  if (typeof value !== "number") return BigInt(value.rawJSON);
  if (!Number.isInteger(value)) return value;
  const [mantissa = "", exponent = ""] = value.toExponential().split("e+");
  const [whole = "", decimals = ""] = mantissa.split(".");
  return BigInt(whole + decimals.padEnd(Number(exponent), "0"));
}

/**
 * Returns -1 if `left` sorts before `right`, 0 if they are equal, 1 if it sorts after `right`, and null if they cannot
 * be compared.
 */
function orderOf(left: unknown, right: unknown): number | null {
  if (left instanceof Date && typeof right === "string") return Math.sign(left.getTime() - new Date(right).getTime());
  if (isNumber(left) && isNumber(right)) {
    const [one, other] = [digitsOf(left), digitsOf(right)];
    return one > other ? 1 : one < other ? -1 : 0;
  }
  if (typeof left !== "string" || typeof right !== "string") return null;
  const [these, those] = [left, right].map((text) => Array.from(text, (character) => character.codePointAt(0) ?? 0));
  for (let at = 0; ; at++) {
    const [one, other] = [these?.[at] ?? -1, those?.[at] ?? -1];
    if (one !== other) return one > other ? 1 : -1;
    if (one === -1) return 0;
  }
}
