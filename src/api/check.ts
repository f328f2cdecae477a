// Checks bodies and query parameters against their schemas. A mismatch becomes a Fault that names the field and says
// what it should be.

import { Kind, type Static, type TObject, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { Fault } from "../domain/fault.ts";
import type { JsonObject } from "../domain/json.ts";
import { isExactInteger } from "../kit/exact-json.ts";
import { nearestName } from "../kit/nearest.ts";
import { isRecord } from "../kit/record.ts";
import { LongText } from "../ports/json-bodies.ts";
import { refuseBadText } from "./body.ts";

interface TextOptions {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly description?: string;
  readonly default?: string;
}

// A string type of its own, because JSON Schema counts Unicode code points, but TypeBox's strings count UTF-16 code
// units.
TypeRegistry.Set<TextOptions>("Text", (schema, value) => {
  if (typeof value !== "string") return value instanceof LongText;
  const units = value.length;
  if (units < (schema.minLength ?? 0)) return false;
  const longest = schema.maxLength ?? Number.POSITIVE_INFINITY;
  if (units <= longest) return true;
  return units <= longest * 2 && [...value].length <= longest;
});

// An object with arbitrary fields. TypeBox's own type would also accept a whole number beyond 2^53, because such a
// number is kept as an object (`isExactInteger`).
TypeRegistry.Set("JsonMap", (_, value) => isRecord(value));

/** An object with arbitrary fields. */
export function ObjectOfAnything() {
  return Type.Unsafe<JsonObject>({ ...Type.Record(Type.String(), Type.Unknown()), [Kind]: "JsonMap" });
}

/** A string whose length is bounded in Unicode code points. */
export function Text(options: TextOptions = {}) {
  return Type.Unsafe<string>({ [Kind]: "Text", type: "string", ...options });
}

/** The content of a memory: a text without a limit, which can be a long one of a large body. */
export function Content(options: Pick<TextOptions, "minLength" | "description"> = {}) {
  return Type.Unsafe<string | LongText>({ [Kind]: "Text", type: "string", ...options });
}

/** Maximum number of schema errors that are read to find the one to report. No object of the API has so many fields. */
const ERRORS_MAX = 64;

const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>();

function compile<S extends TSchema>(schema: S): TypeCheck<S> {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = TypeCompiler.Compile(schema) as TypeCheck<TSchema>;
    compiled.set(schema, check);
  }
  return check as TypeCheck<S>;
}

/** Whether a value fits a schema. */
export function fits(schema: TSchema, value: unknown): boolean {
  return compile(schema).Check(value);
}

/**
 * Narrows `value` to the schema's type.
 * @param at path of the value in the request (`memories[3]`); errors put it in front of the field's name
 * @throws Fault `invalid_request` about one field: an unknown field first, then a missing one, then a wrong type.
 */
export function check<S extends TSchema>(schema: S, value: unknown, at = ""): Static<S> {
  const checker = compile(schema);
  if (checker.Check(value)) return value as Static<S>;
  const errors = firstErrors(checker.Errors(value));
  const worst =
    errors.find((error) => error.type === ValueErrorType.ObjectAdditionalProperties) ??
    errors.find((error) => error.type === ValueErrorType.ObjectRequiredProperty) ??
    errors[0];
  throw worst === undefined ? new Fault("invalid_request", "The request is malformed.") : explain(schema, worst, at);
}

// Reads only the first errors, because a list of a million wrong items has a million errors. TypeBox reports missing
// and unknown fields of an object first.
function firstErrors(all: Iterable<ValueError>): ValueError[] {
  const errors: ValueError[] = [];
  for (const error of all) if (errors.push(error) === ERRORS_MAX) break;
  return errors;
}

/** The parsed form of an empty query string. */
const NO_PARAMETERS = Object.freeze({});

/**
 * Parses and checks query parameters.
 * @param schema says which values are numbers or booleans.
 * @param search the query string, with or without its question mark.
 * @throws Fault `invalid_request`
 */
export function checkQuery<S extends TObject>(schema: S, search: string): Static<S> {
  if (search === "" && schema.required === undefined) return NO_PARAMETERS as Static<S>;
  // The object has no prototype; otherwise a parameter named __proto__ would be lost.
  const values: Record<string, unknown> = Object.create(null);
  for (const pair of search.replace(/^\?/, "").split("&")) {
    if (pair === "") continue;
    const [name, text] = readPair(pair);
    if (Object.hasOwn(values, name)) {
      throw new Fault("invalid_request", `The query parameter '${name}' is given twice. Give it once.`, {
        param: name,
      });
    }
    values[name] = readParameter(schema.properties[name], text);
  }
  return check(schema, values);
}

// Decodes one parameter. URLSearchParams is not used, because it replaces bytes that are not UTF-8, and so could turn
// one user's id into another user's.
function readPair(pair: string): readonly [name: string, text: string] {
  const equals = pair.indexOf("=");
  const [name, text] = equals === -1 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
  try {
    const decoded = [name, text].map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    const [shownName = "", value = ""] = decoded;
    refuseBadText(value, [shownName]);
    return [shownName, value];
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid_request", "A query parameter is not valid percent-encoded UTF-8.", { param: name, cause });
  }
}

// Matches every double as JSON writes it, so that a score from an answer can be used as `min_score`.
const DECIMAL = /^-?\d{1,22}(\.\d{1,24})?(e[+-]?\d{1,3})?$/i;

function readParameter(schema: TSchema | undefined, text: string): unknown {
  if (schema?.type === "integer") return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text;
  if (schema?.type === "number") return DECIMAL.test(text) ? Number(text) : text;
  if (schema?.type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function explain(schema: TSchema, found: ValueError, at: string): Fault {
  const error = innermost(found);
  const path = [at, fieldPath(error.path)]
    .filter((part) => part !== "")
    .join(at !== "" && error.path !== "" ? "." : "");
  const name = path === "" ? "The body" : `'${path}'`;
  const detail = path === "" ? {} : { param: path };
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const known = Object.keys(knownFields(schema, error.path));
    const field = error.path.split("/").at(-1) ?? "";
    const near = nearestName(field, known);
    const hint = near === null ? `Known fields: ${known.join(", ")}.` : `Did you mean '${near}'?`;
    return new Fault("invalid_request", `Unknown field ${name}. ${hint}`, detail);
  }
  if (error.type === ValueErrorType.ObjectRequiredProperty) {
    return new Fault("invalid_request", `${name} is required: ${expectation(error.schema)}.`, detail);
  }
  return new Fault(
    "invalid_request",
    `${name} must be ${expectation(error.schema)}, found ${shownValue(error.value)}.${hintFor(path, error.value)}`,
    detail,
  );
}

// A hint for `content` that is not a string. Callers often send a conversation as a JSON array of turns, but it must be
// sent as one JSON text.
function hintFor(path: string, value: unknown): string {
  const isStructured = typeof value === "object" && value !== null && !isExactInteger(value);
  return isStructured && /(^|\.)content$/.test(path) ? " JSON is stored as text: send it as one string." : "";
}

// The error inside a nullable value, such as that of a wrong tag instead of that of the whole list of tags.
function innermost(error: ValueError): ValueError {
  for (const variant of error.errors) {
    for (const inner of variant) if (inner.path.length > error.path.length) return innermost(inner);
  }
  return error;
}

// Converts a JSON pointer to a path: "/tags/3" → "tags[3]".
function fieldPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === "" ? part : `${path}.${part}`), "");
}

function knownFields(schema: TSchema, pointer: string): Record<string, TSchema> {
  let at: TSchema | undefined = schema;
  for (const part of pointer.split("/").slice(1, -1)) at = withinNullable(at?.properties?.[part] ?? at?.items);
  return at?.properties ?? {};
}

function withinNullable(schema: TSchema | undefined): TSchema | undefined {
  const variants: readonly TSchema[] = schema?.anyOf ?? [];
  return variants.find(({ properties, items }) => properties !== undefined || items !== undefined) ?? schema;
}

function expectation(schema: TSchema): string {
  const options = literals(schema);
  if (options.length > 0) return `one of ${options.map((option) => `"${option}"`).join(", ")}`;
  const from = schema.minimum ?? schema.minLength ?? schema.minItems;
  const to = schema.maximum ?? schema.maxLength ?? schema.maxItems;
  const unit = schema.type === "string" ? " characters" : schema.type === "array" ? " items" : "";
  const bounds =
    from !== undefined && to !== undefined
      ? ` of ${from} to ${to}${unit}`
      : to !== undefined
        ? ` of at most ${to}${unit}`
        : from !== undefined
          ? ` of at least ${from}${from === 1 ? unit.replace(/s$/, "") : unit}`
          : "";
  const article = /^[aeiou]/.test(String(schema.type)) ? "an" : "a";
  return schema.type === undefined ? "another value" : `${article} ${schema.type}${bounds}`;
}

function literals(schema: TSchema): readonly string[] {
  if (typeof schema.const === "string") return [schema.const];
  const options: readonly TSchema[] = schema.anyOf ?? [];
  return options.flatMap(literals);
}

function shownValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isExactInteger(value)) return value.rawJSON;
  if (typeof value === "object") return "an object";
  if (typeof value === "string")
    return value.length > 40 ? `a string of ${value.length} characters` : JSON.stringify(value);
  return String(value);
}
