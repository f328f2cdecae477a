// Converts the TypeBox schemas of the contract to plain JSON Schema 2020-12, for OpenAPI 3.1. Each named schema becomes
// one component, and `$ref`s point to it. TypeBox's own forms of enums, nullable values and maps become the standard
// forms.

import type { TSchema } from "@sinclair/typebox";
import { invariant } from "../domain/fault.ts";

/** A JSON Schema, or a part of one, as plain JSON. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Prefix of every `$ref` to a named schema. */
export const SCHEMA_REFERENCE = "#/components/schemas/";
/** Pattern with which TypeBox describes the keys of a map; every name matches it. */
const ANY_NAME = "^(.*)$";
/** Matches the component names that OpenAPI allows. */
const COMPONENT_NAME = /^[A-Za-z0-9._-]+$/;
/** JSON Schema keywords that describe values but do not restrict them. */
const ANNOTATIONS: readonly string[] = ["description", "default"];

/** Converts schemas, and collects those that have a name (`$id`). */
export class SchemaCollection {
  readonly #named = new Map<string, JsonSchema>();
  /** Cache of results by schema, because many bodies share the same schemas. */
  readonly #converted = new Map<TSchema, JsonSchema>();

  /**
   * Converts a schema; a named one becomes a `$ref` into `components`.
   * @throws Error if two different schemas have the same name.
   */
  of(schema: TSchema): JsonSchema {
    const known = this.#converted.get(schema);
    if (known !== undefined) return known;
    const converted = this.#convert(schema);
    this.#converted.set(schema, converted);
    return converted;
  }

  /** The named schemas so far, sorted by name. */
  get components(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#named].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  #convert(schema: TSchema): JsonSchema {
    const { $id: name, ...unnamed } = schema;
    if (name === undefined) return this.#plain(unnamed);
    invariant(COMPONENT_NAME.test(name), `a schema is named ${JSON.stringify(name)}`);
    const converted = this.#plain(unnamed);
    const known = this.#named.get(name) ?? converted;
    invariant(JSON.stringify(known) === JSON.stringify(converted), `two schemas are named ${name}`);
    this.#named.set(name, converted);
    return { $ref: SCHEMA_REFERENCE + name };
  }

  #plain(schema: JsonSchema): JsonSchema {
    if (Array.isArray(schema.anyOf)) return this.#union(schema, schema.anyOf);
    // Object.entries skips TypeBox's own properties, because their keys are symbols.
    const entries = Object.entries(schema).map(([keyword, value]) => [keyword, this.#keyword(keyword, value)] as const);
    return withMaps(Object.fromEntries(entries));
  }

  #keyword(keyword: string, value: unknown): unknown {
    switch (keyword) {
      case "$ref":
        return SCHEMA_REFERENCE + String(value);
      case "properties":
      case "patternProperties":
        return mapValues(value as Record<string, TSchema>, (part) => this.of(part));
      case "items":
      case "not":
        return this.of(value as TSchema);
      case "additionalProperties":
        return typeof value === "object" ? this.of(value as TSchema) : value;
      case "allOf":
        return (value as TSchema[]).map((part) => this.of(part));
      default:
        return value;
    }
  }

  // Converts a union. Of the keywords next to `anyOf`, only annotations are kept: `Nullable` repeats `type` and bounds
  // there for error messages, but in JSON Schema they would apply to null, too.
  #union(schema: JsonSchema, members: readonly TSchema[]): JsonSchema {
    const outer = Object.fromEntries(ANNOTATIONS.filter((name) => name in schema).map((name) => [name, schema[name]]));
    const converted = members.map((member) => this.of(member));
    const others = converted.filter((member) => member.type !== "null");
    const isNullable = others.length < converted.length;
    if (others.every((member) => "const" in member)) {
      const values = others.map((member) => member.const);
      return { ...enumOf(isNullable ? [...values, null] : values), ...outer };
    }
    const [only] = others;
    if (isNullable && others.length === 1 && only !== undefined) return { ...nullable(only), ...outer };
    return { anyOf: converted, ...outer };
  }
}

function nullable(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.enum)) return { ...schema, ...enumOf([...schema.enum, null]) };
  if (typeof schema.type === "string") return { ...schema, type: [schema.type, "null"] };
  const takesAnything = Object.keys(schema).every((keyword) => ANNOTATIONS.includes(keyword));
  return takesAnything ? schema : { anyOf: [schema, { type: "null" }] };
}

function enumOf(values: readonly unknown[]): JsonSchema {
  const types = [...new Set(values.map((value) => (value === null ? "null" : typeof value)))];
  return { type: types.length === 1 ? types[0] : types, enum: values };
}

function withMaps(schema: JsonSchema): JsonSchema {
  const { patternProperties, ...rest } = schema;
  const patterns = Object.entries((patternProperties ?? {}) as Record<string, JsonSchema>);
  const [only] = patterns;
  if (patterns.length !== 1 || only === undefined || only[0] !== ANY_NAME) return schema;
  return { ...rest, additionalProperties: Object.keys(only[1]).length === 0 ? true : only[1] };
}

function mapValues<In, Out>(record: Readonly<Record<string, In>>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
