// Random memories and random filters on them. Both choose from few values, so that filters match.

import type { FilteredAttributes } from "../../src/domain/filter.ts";
import type { MemoryId } from "../../src/domain/ids.ts";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import { isExactInteger, parseJson } from "../../src/kit/exact-json.ts";
import { isRecord } from "../../src/kit/record.ts";
import { seeded } from "./seeded.ts";

/** Seeded random values, from which memories and operands are made. */
export class Chance {
  readonly #next: () => number;

  /** @param scalars JSON texts of the scalars to choose from */
  constructor(
    seed: number,
    readonly scalars: readonly string[],
  ) {
    this.#next = seeded(seed);
  }

  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  list<Item>(lengthMax: number, item: () => Item): Item[] {
    return Array.from({ length: this.below(lengthMax + 1) }, item);
  }
}

/** JSON texts of scalars that an index could confuse, among them equal numbers written in different ways. */
export const SCALARS: readonly string[] = [
  ...["null", "true", "false", "0", "-0", "1", "1.0", "1.5", "9007199254740992", "9007199254740993"],
  ...["9007199254740991", "-9007199254740993", "12345678901234567000", "12345678901234567168", "12345678901234567890"],
  ...["1e20", "100000000000000000000", "1.5e21", "1500000000000000000000", "123456789012345678901234567890"],
  ...["", "a", "A", "ab", "1", "\ue000", "\uffff", "😀"].map((text) => JSON.stringify(text)),
];
const KEYS = ["a", "b", "a.b", "b.a", "__proto__", "constructor"];
const DATES = ["2026-01-31T12:00:00.000Z", "2026-01-31T13:00:00+01:00", "2026-02-01", "2025-12-31T23:59:59.999Z"];
const PATHS = ["a", "b", "a.b", "a.a", "b.a", "a.b.a", "a.b.a.b", "__proto__", "a.__proto__", "constructor"];
const TEXT_FIELDS = [
  ...["type", "title", "tags", "language", "source.media_type", "externalId", "memory_id"],
  ...["userId", "agentId", "sessionId"],
];

function anyJson(chance: Chance, depth: number): string {
  const kind = depth === 0 ? 0 : chance.below(4);
  if (kind === 2) return `[${chance.list(3, () => anyJson(chance, depth - 1)).join(",")}]`;
  if (kind === 3) return anyObject(chance, depth - 1);
  return chance.one(chance.scalars);
}

// Returns JSON text, because an object literal would use a key `__proto__` as the object's prototype.
function anyObject(chance: Chance, depth: number): string {
  const keys = [...new Set(chance.list(4, () => chance.one(KEYS)))];
  return `{${keys.map((key) => `${JSON.stringify(key)}:${anyJson(chance, depth)}`).join(",")}}`;
}

/** A memory whose attributes often have the values that `anyFilter` uses. */
export function anyMemory(chance: Chance): FilteredAttributes {
  const text = () => chance.one([null, "a", "A", "ab", "😀"]);
  return {
    id: chance.one(["a", "ab"]) as MemoryId,
    title: text(),
    type: text(),
    tags: chance.one([null, chance.list(3, () => chance.one(["a", "ab", ""]))]),
    language: text(),
    source: chance.one([null, { filename: "f", media_type: "ab", bytes: 1 }]),
    externalId: text(),
    createdAt: Date.parse(chance.one(DATES)),
    updatedAt: Date.parse(chance.one(DATES)),
    occurredAt: chance.one([null, Date.parse(chance.one(DATES))]),
    supersededBy: null,
    userId: text(),
    agentId: text(),
    sessionId: text(),
    metadata: chance.below(8) === 0 ? null : (parseJson(anyObject(chance, 3)) as JsonObject),
  };
}

/** A valid filter with up to `depth` nested combinators. */
export function anyFilter(chance: Chance, depth: number): JsonObject {
  if (depth > 0 && chance.below(2) === 0) {
    const combinator = chance.one(["$and", "$or", "$not"]);
    const inner = () => anyFilter(chance, depth - 1);
    return { [combinator]: combinator === "$not" ? inner() : chance.list(3, inner) };
  }
  return Object.fromEntries(chance.list(2, () => anyCondition(chance)));
}

function anyCondition(chance: Chance): [field: string, operand: Json] {
  const kind = chance.below(8);
  if (kind === 0)
    return [
      chance.one(["created_at", "updated_at", "occurred_at"]),
      anyOperators(chance, () => chance.one(DATES), false),
    ];
  if (kind <= 2) return [chance.one(TEXT_FIELDS), anyOperators(chance, () => chance.one(["a", "A", "ab", ""]), true)];
  const operand = () => parseJson(anyJson(chance, 2)) as Json;
  return [`metadata.${chance.one(PATHS)}`, anyOperators(chance, operand, true)];
}

function anyOperators(chance: Chance, operand: () => Json, contains: boolean): Json {
  const plain = () => {
    const found = operand();
    return typeof found === "object" && found !== null && !isExactInteger(found) ? "a" : found;
  };
  const bound = () => {
    const found = operand();
    return typeof found === "string" || typeof found === "number" || isExactInteger(found) ? found : 1;
  };
  const orNull = () => (chance.below(6) === 0 ? null : operand());
  if (chance.below(3) === 0) {
    const shorthand = orNull();
    const isObject = isRecord(shorthand);
    return isObject ? { $eq: shorthand } : shorthand;
  }
  const all: [string, () => Json][] = [
    ["$eq", orNull],
    ["$ne", orNull],
    ["$in", () => chance.list(3, orNull)],
    ["$nin", () => chance.list(3, orNull)],
    ["$exists", () => chance.below(2) === 0],
    ...(["$gt", "$gte", "$lt", "$lte"] as const).map((name): [string, () => Json] => [
      name,
      contains ? bound : operand,
    ]),
    ...(contains ? [["$contains", plain] as [string, () => Json]] : []),
  ];
  const chosen = Array.from({ length: 1 + chance.below(2) }, () => chance.one(all));
  return Object.fromEntries(chosen.map(([name, value]) => [name, value()]));
}
