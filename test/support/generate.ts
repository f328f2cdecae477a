// Seeded random values for JSON Schemas: valid ones, and ones that are invalid in one place. With `Source.named`, a
// test chooses the values of certain names itself.

import type { JsonSchema } from "../../src/api/json-schema.ts";
import { seeded } from "./seeded.ts";

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Seeded random choices. */
export class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  /** An integer from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  /** A random element. */
  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  /** Returns true with the probability `share`, 0 to 1. */
  often(share: number): boolean {
    return this.#next() < share;
  }
}

/** What the generator of valid values needs. */
export interface Source {
  readonly chance: Chance;
  /** Schemas that a `$ref` can refer to, by name. */
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /**
   * Returns the value for a field or parameter whose schema is less strict than the API. Returns undefined if a value
   * made from the schema will do.
   */
  readonly named: (name: string, schema: JsonSchema) => Json | undefined;
}

/** Letters of several scripts with one to four bytes in UTF-8, including combining marks and right-to-left letters. */
const LETTERS = [..."abcxyzABC019 _-.éßñЖ日本語𝛂😀e\u0301שלום"];
/** Well-formed texts that often cause bugs. */
export const AWKWARD_TEXTS: readonly string[] = [
  ...["", " ", "\t\n", "null", "true", "0", "-1", "1e999", "NaN", "[]", "{}", "undefined", "__proto__", "constructor"],
  ...["../../etc/passwd", "%00", "%2e%2e%2f", "' OR 1=1 --", '"; DROP TABLE memories; --', "<script>alert(1)</script>"],
  ...[
    "\u202e",
    "\ufeff",
    "\u2028",
    "\u00ad",
    "ﬁ",
    "İ",
    "ß",
    "🏳️‍🌈",
    "a".repeat(257),
    "𝛂".repeat(256),
    "x".repeat(9_000),
  ],
  ...["en_US", "2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "2026-02-31T00:00:00Z", "mem_", "ctx_0"],
];
/** Texts that no store can keep: NUL and lone surrogates. */
export const BROKEN_TEXTS: readonly string[] = ["\u0000", "a\u0000b", "\ud800", "\udc00x", "x\ud83d"];
const AWKWARD_NUMBERS = [
  ...[0, -0, 1, -1, 0.5, 1.5, 2, 19, 20, 21, 50, 51, 99, 100, 101, 200, 201, 255, 256, 257, 1_000],
  ...[2 ** 31, 2 ** 53, 2 ** 53 + 2, -(2 ** 63), 1e21, 1e308, 5e-324],
];
const NAMES = ["a", "b c", "x.y", "$eq", "__proto__", "constructor", "toString", "_x", "", "é", "0"];

/** A value that is valid for the schema; optional fields may be present or absent. */
export function soundValue(schema: JsonSchema, source: Source, name = ""): Json {
  const { chance } = source;
  if (typeof schema.$ref === "string") {
    return soundValue(source.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, source, name);
  }
  const named = source.named(name, schema);
  if (named !== undefined) return named;
  if (Array.isArray(schema.enum)) return chance.pick(schema.enum as Json[]);
  if ("const" in schema) return schema.const as Json;
  if (Array.isArray(schema.anyOf)) return soundValue(chance.pick(schema.anyOf as JsonSchema[]), source, name);
  switch (typeOf(schema, chance)) {
    case "null":
      return null;
    case "boolean":
      return chance.often(0.5);
    case "integer":
    case "number":
      return soundNumber(schema, chance);
    case "string":
      return soundText(schema, chance);
    case "array":
      return soundArray(schema, source, name);
    case "object":
      return soundObject(schema, source);
    default:
      return anyJson(chance);
  }
}

/** Whether the schema allows only this type, such as `integer` or `array`. */
export function isOfType(schema: JsonSchema, type: string): boolean {
  return schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type));
}

/** Any JSON value, a few levels deep, with difficult texts and numbers. */
export function anyJson(chance: Chance, depth = 0): Json {
  const kind = chance.below(depth > 3 ? 4 : 6);
  if (kind === 0) return chance.pick([null, true, false]);
  if (kind === 1) return chance.pick(AWKWARD_NUMBERS);
  if (kind === 2) return chance.pick(AWKWARD_TEXTS);
  if (kind === 3) return randomText(chance, chance.below(12));
  const items = Array.from({ length: chance.below(4) }, () => anyJson(chance, depth + 1));
  return kind === 4 ? items : objectOf(items.map((item) => [chance.pick(NAMES), item]));
}

/** Changes the value in one place: another value, a removed field, an added field, or a size at or beyond a limit. */
export function spoilt(value: Json, chance: Chance): Json {
  const places = placesIn(value);
  const at = chance.pick(places);
  return changedAt(value, at, (there) => spoiltHere(there, chance));
}

/**
 * Cuts, duplicates or overwrites a few characters of a JSON text. The result is usually not JSON, sometimes different
 * JSON.
 */
export function mangled(text: string, chance: Chance): string {
  const at = chance.below(text.length + 1);
  const inserted = [
    "",
    "{",
    "}",
    "]",
    ",",
    '"',
    ":",
    "\\u0000",
    "\\ud800",
    "\\u12",
    "1e999",
    "-",
    "\u0000",
    "\ufeff",
    "nul",
  ];
  return text.slice(0, at) + chance.pick(inserted) + text.slice(at + chance.below(4));
}

/** A text of `length` letters. */
export function randomText(chance: Chance, letters: number): string {
  return Array.from({ length: letters }, () => chance.pick(LETTERS)).join("");
}

function typeOf(schema: JsonSchema, chance: Chance): unknown {
  if (!Array.isArray(schema.type)) return schema.type;
  const others = schema.type.filter((type) => type !== "null");
  return chance.often(0.15) && others.length < schema.type.length ? "null" : chance.pick(others);
}

function soundNumber(schema: JsonSchema, chance: Chance): number {
  const least = typeof schema.minimum === "number" ? schema.minimum : -1_000;
  const most = typeof schema.maximum === "number" ? schema.maximum : 1_000_000;
  const isWhole = isOfType(schema, "integer");
  const between = least + (isWhole ? chance.below(Math.min(most - least, 1_000) + 1) : chance.below(1_001) / 1_000);
  return chance.pick([least, most, Math.min(between, most), Math.min(between, most)]);
}

function soundText(schema: JsonSchema, chance: Chance): string {
  if (schema.format === "date-time") return "2999-01-01T00:00:00.000Z";
  const least = typeof schema.minLength === "number" ? schema.minLength : 0;
  const most = typeof schema.maxLength === "number" ? schema.maxLength : 64;
  const letters = chance.often(0.08) && most <= 2_048 ? most : Math.min(most, least + chance.below(24));
  // the API refuses blank texts where a text is required, but a schema cannot express that
  return letters === 0 ? "" : `x${randomText(chance, letters - 1)}`;
}

function soundArray(schema: JsonSchema, source: Source, name: string): Json {
  const { chance } = source;
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  const most = typeof schema.maxItems === "number" ? schema.maxItems : least + 4;
  const length = least + chance.below(Math.min(most - least, 4) + 1);
  const items = Array.from({ length }, () => soundValue((schema.items ?? {}) as JsonSchema, source, `${name}[]`));
  return schema.uniqueItems === true ? [...new Set(items)] : items;
}

function soundObject(schema: JsonSchema, source: Source): Json {
  const { chance } = source;
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const required = (schema.required ?? []) as readonly string[];
  if (properties.length === 0) {
    const names = ["a", "room", "x.y", "é", "deep"];
    return objectOf(Array.from({ length: chance.below(4) }, () => [chance.pick(names), anyJson(chance, 2)]));
  }
  return objectOf(
    properties
      .filter(([name]) => required.includes(name) || chance.often(0.3))
      .map(([name, field]) => [name, soundValue(field, source, name)]),
  );
}

// Defines the properties one by one, because `__proto__`, an ordinary name in JSON, would otherwise set the prototype.
function objectOf(entries: readonly (readonly [name: string, value: Json])[]): { readonly [name: string]: Json } {
  const object: Record<string, Json> = {};
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

type Path = readonly (string | number)[];

function placesIn(value: Json, at: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [at];
  const inner = Array.isArray(value)
    ? value.slice(0, 8).flatMap((item: Json, index) => placesIn(item, [...at, index]))
    : Object.entries(value).flatMap(([name, item]) => placesIn(item, [...at, name]));
  return [at, ...inner];
}

function changedAt(value: Json, path: Path, change: (there: Json) => Json | undefined): Json {
  const [first, ...rest] = path;
  if (first === undefined) return change(value) ?? null;
  if (Array.isArray(value)) {
    return value.flatMap((item: Json, at) => (at === first ? kept(inside(item, rest, change)) : [item]));
  }
  if (typeof value !== "object" || value === null) return value;
  return objectOf(
    Object.entries(value).flatMap(([name, item]) =>
      name === first ? kept(inside(item, rest, change)).map((it) => [name, it] as const) : [[name, item] as const],
    ),
  );
}

function inside(item: Json, rest: Path, change: (there: Json) => Json | undefined): Json | undefined {
  return rest.length === 0 ? change(item) : changedAt(item, rest, change);
}

function kept(value: Json | undefined): Json[] {
  return value === undefined ? [] : [value];
}

/** Changes a value, usually so that it is invalid. Returns undefined if its field or element is to be removed. */
function spoiltHere(value: Json, chance: Chance): Json | undefined {
  if (chance.often(0.1)) return undefined;
  if (chance.often(0.3)) return anyJson(chance);
  if (typeof value === "number") return chance.pick([value + 1, value - 1, value + 0.5, -value, String(value)]);
  if (typeof value === "boolean") return chance.pick([!value, String(value), Number(value)]);
  if (typeof value === "string") {
    return chance.pick<Json>([
      ...["", ` ${value}`, value.toUpperCase(), value.slice(1), value + chance.pick(AWKWARD_TEXTS), [value]],
      ...[chance.pick(BROKEN_TEXTS), `${value}\u0000`, value.repeat(300).slice(0, 40_000)],
    ]);
  }
  if (Array.isArray(value)) {
    const [first = anyJson(chance)] = value as readonly Json[];
    const length = chance.pick([0, 1, 2, 12, 14, 50, 51, 100, 101]);
    return Array.from({ length }, (_, at) =>
      typeof first === "string" && chance.often(0.5) ? `${first}${at}` : first,
    );
  }
  const entries = Object.entries((value ?? {}) as { readonly [name: string]: Json });
  return objectOf([...entries, [chance.pick(["user_id", "topK", "Content", ...NAMES]), anyJson(chance)]]);
}
