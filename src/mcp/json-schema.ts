// Converts the TypeBox schemas of tools to JSON Schema for clients: each to one object without references.

import type { TObject } from "@sinclair/typebox";
import { type JsonSchema, SCHEMA_REFERENCE, SchemaCollection } from "../api/json-schema.ts";
import { invariant } from "../domain/fault.ts";

/** A JSON Schema of an object. */
export type ObjectSchema = JsonSchema & { readonly type: "object" };

/**
 * The JSON Schema of a tool's arguments or result.
 * @param hidesNull whether optional arguments are shown without `null`. Calls may still contain it. Some clients cannot
 *   show a type like `["string", "null"]` to their model
 */
export function toolSchema(schema: TObject, hidesNull: boolean): ObjectSchema {
  const collection = new SchemaCollection();
  const converted = collection.of(schema);
  const { components } = collection;
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== "object" || value === null) return value;
    const part = value as JsonSchema;
    if (typeof part.$ref === "string") return plain(components[part.$ref.slice(SCHEMA_REFERENCE.length)]);
    const entries = Object.entries(hidesNull ? withoutNull(part) : part);
    return Object.fromEntries(entries.map(([keyword, inner]) => [keyword, plain(inner)]));
  };
  const result = plain(converted) as JsonSchema;
  invariant(result.type === "object", "the schema of a tool is an object");
  return result as ObjectSchema;
}

function withoutNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values } = schema;
  if (!Array.isArray(type) || !type.includes("null")) return schema;
  const others = type.filter((name) => name !== "null");
  return {
    ...schema,
    type: others.length === 1 ? others[0] : others,
    ...(Array.isArray(values) && { enum: values.filter((value) => value !== null) }),
  };
}
