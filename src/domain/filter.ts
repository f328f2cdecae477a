// Metadata filters: parses the caller's `filters`, with errors that name the position and the fix, and tests whether a
// memory matches them. No input or output. Indexes evaluate the same filters in the native core.

import { isoTime, parseIsoTime } from "../kit/clock.ts";
import {
  comparableNumber,
  compareNumbers,
  type ExactInteger,
  exactInteger,
  integerOf,
  isExactInteger,
} from "../kit/exact-json.ts";
import { nearestName } from "../kit/nearest.ts";
import { shortened } from "../kit/shortened.ts";
import { Fault } from "./fault.ts";
import type { Json, JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";
import type { Memory } from "./memory.ts";
import { type ApiName, ATTRIBUTES, type AttributesWith, type NamedAttribute } from "./memory-attributes.ts";

/**
 * Maximum number of field conditions in one filter. An empty object or list counts as one, so that the cost of a filter
 * is bounded.
 */
const CONDITIONS_MAX = 200;
/** Maximum number of values in one `$in` or `$nin`. */
const VALUES_MAX = 1_000;
/** Maximum nesting depth of `$and`, `$or` and `$not`. */
const COMBINATOR_DEPTH_MAX = 8;
/**
 * Maximum nesting depth of objects and arrays in an operand. Metadata cannot be nested deeper, and recursive functions
 * stay within the call stack.
 */
const OPERAND_DEPTH_MAX = 64;
/** Name of an attribute in MEMORY_ATTRIBUTES that filters can compare. */
type Comparable = AttributesWith<{ readonly isFilterable: true }>;
/** What filters can read of a memory. */
export type FilteredAttributes = Pick<Memory, Comparable | "id" | "source" | "metadata">;
/** Name of a filterable attribute. */
export type FilteredAttribute = ApiName<Comparable> | "memory_id" | "source.media_type";

type Reader = (memory: FilteredAttributes) => Json;

const COMPARABLE = ATTRIBUTES.filter((row): row is NamedAttribute<Comparable> => row.isFilterable);
/**
 * Readers of the filterable attributes. `null` means that the memory has no value, and counts as absent. Dates are Unix
 * milliseconds.
 */
const READERS = Object.fromEntries<Reader>([
  ...COMPARABLE.map(({ name, property }): [string, Reader] => [name, (memory) => memory[property]]),
  ["memory_id", (memory) => memory.id],
  ["source.media_type", (memory) => memory.source?.media_type ?? null],
]) as { readonly [Name in FilteredAttribute]: Reader };
/** Names of the filterable attributes; filters also know paths in `metadata`. */
export const FILTERABLE_NAMES = Object.keys(READERS) as readonly FilteredAttribute[];
const DATE_ATTRIBUTES: readonly string[] = COMPARABLE.filter(({ type }) => type === "time").map(({ name }) => name);
const METADATA_PREFIX = "metadata.";

const COMBINATORS = ["$and", "$or", "$not"] as const;
const COMPARISONS = ["$gt", "$gte", "$lt", "$lte"] as const;
const OPERATORS = ["$eq", "$ne", ...COMPARISONS, "$in", "$nin", "$exists", "$contains"] as const;
type Comparison = (typeof COMPARISONS)[number];

/** Subject of a condition: an attribute, or a dotted path into the memory's metadata. */
export type FilterField = { readonly attribute: FilteredAttribute } | { readonly metadataPath: string };

/**
 * Values to compare for equality. Numbers are compared by value: 1 equals 1.0, and whole numbers beyond 2^53 are
 * compared digit by digit. Objects are equal regardless of key order; arrays are compared item by item.
 */
export interface FilterValues {
  readonly scalars: ReadonlySet<null | boolean | number | bigint | string>;
  /** Objects and arrays, as JSON with sorted keys. */
  readonly composites: ReadonlySet<string>;
}

/** A condition that some value of a field must meet. */
export type FilterCondition =
  /** The value, or one of its items, is among `values`. `null` among them also matches an absent field. */
  | { readonly kind: "equals"; readonly values: FilterValues }
  /**
   * The value, or one of its items, has the same type as the bound and satisfies the comparison. Texts are compared by
   * code point.
   */
  | { readonly kind: "compares"; readonly operator: Comparison; readonly bound: number | bigint | string }
  | { readonly kind: "exists" }
  /** The field is an array that has one of `values` as an item, or a text that contains `text`. */
  | { readonly kind: "contains"; readonly values: FilterValues; readonly text: string | null };

/** A validated filter. `$ne`, `$nin` and `$exists: false` are represented by `not`. */
export type Filter =
  | { readonly kind: "and"; readonly filters: readonly Filter[] }
  | { readonly kind: "or"; readonly filters: readonly Filter[] }
  | { readonly kind: "not"; readonly filter: Filter }
  | { readonly kind: "field"; readonly field: FilterField; readonly condition: FilterCondition };

/**
 * Parses a filter from JSON that is already decoded.
 * @param param name of the parameter that holds the filter; the path in each error begins with it
 * @throws Fault `invalid_filter` whose `param` is the path of the error (`filters.$and[0].metadata.a.$in`)
 */
export function parseFilter(value: unknown, param = "filters"): Filter {
  return readFilter(value, newPosition(param));
}

/** A filter for the memories that match `filter` and have these values. null matches all memories. */
export function narrowed<Given extends Filter | null>(
  filter: Given,
  values: { readonly [Attribute in FilteredAttribute]?: string | undefined },
): Filter | Given {
  const conditions = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => readOperator(fieldNamed(name, name), "$eq", value, newPosition(name)));
  if (conditions.length === 0) return filter;
  return allOf(filter === null ? conditions : [...conditions, filter]);
}

/** A filter for the memories that match both; null matches all. */
export function bothOf(filter: Filter | null, other: Filter): Filter {
  return filter === null ? other : allOf([other, filter]);
}

/** A filter for the memories that match `filter` and were accepted by `at`, Unix milliseconds. */
export function acceptedBy(filter: Filter | null, at: number): Filter {
  return bothOf(filter, parseFilter({ created_at: { $lte: isoTime(at) } }));
}

/** @throws Fault `invalid_filter` for a condition on `superseded_by`: indexes know only its current value */
export function refuseFilterThen(filter: Filter | null): void {
  if (filter === null || !hasConditionOn(filter, "superseded_by")) return;
  throw new Fault(
    "invalid_filter",
    "'superseded_by' cannot be a filter together with `knownAt`. Lists of memories can have `superseded` and `knownAt`.",
    { param: "filters" },
  );
}

function hasConditionOn(filter: Filter, attribute: FilteredAttribute): boolean {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.some((part) => hasConditionOn(part, attribute));
    case "not":
      return hasConditionOn(filter.filter, attribute);
    case "field":
      return "attribute" in filter.field && filter.field.attribute === attribute;
  }
}

/**
 * Whether a memory matches a filter. A metadata path can lead to several values. A dot leads from an object to the
 * value of one of its keys; arrays are searched item by item. A key that itself contains dots is found by its full
 * name, at any level. A condition is met if one of the values meets it.
 */
export function matchesFilter(filter: Filter, memory: FilteredAttributes): boolean {
  switch (filter.kind) {
    case "and":
      return filter.filters.every((part) => matchesFilter(part, memory));
    case "or":
      return filter.filters.some((part) => matchesFilter(part, memory));
    case "not":
      return !matchesFilter(filter.filter, memory);
    case "field":
      return holds(filter.condition, valuesOf(filter.field, memory));
  }
}

/**
 * The filterable part of a memory as JSON: its attributes by their names in filters, and `metadata`; `null` for absent
 * values. An index that contains this JSON can evaluate filters with exactly the results of `matchesFilter`.
 */
export function filteredAttributesJson(memory: FilteredAttributes): string {
  const attributes = Object.entries(READERS).map(([name, read]): [string, Json] => [name, read(memory)]);
  return JSON.stringify({ ...Object.fromEntries(attributes), metadata: memory.metadata });
}

/** Where in the filter the parser is. */
interface Position {
  /** Path of the value being parsed. */
  readonly at: string;
  /** Number of enclosing combinators. */
  readonly depth: number;
  /** Number of conditions so far; one counter for the whole filter. */
  readonly seen: { conditions: number };
}

function newPosition(at: string): Position {
  return { at, depth: 0, seen: { conditions: 0 } };
}

function readFilter(value: unknown, position: Position): Filter {
  if (!isObject(value)) {
    throw refusal(position.at, `must be an object such as {"type": "note"}, found ${describe(value)}.`);
  }
  const entries = Object.entries(value);
  if (entries.length === 0) countCondition(position);
  return allOf(
    entries.map(([name, operand]) => {
      const inner = { ...position, at: `${position.at}.${shortened(name)}` };
      return name.startsWith("$") ? readCombinator(name, operand, inner) : readField(name, operand, inner);
    }),
  );
}

function readCombinator(name: string, operand: unknown, position: Position): Filter {
  if (!isOneOf(COMBINATORS, name)) {
    throw isOneOf(OPERATORS, name)
      ? refusal(position.at, `is an operator: place it inside a field, as in {"type": {"${name}": …}}.`)
      : refusal(position.at, `is not a combinator. ${nearestOf(name, COMBINATORS, "combinators")}`);
  }
  const inner = { ...position, depth: position.depth + 1 };
  if (inner.depth > COMBINATOR_DEPTH_MAX) {
    throw refusal(
      position.at,
      `is nested too deeply: at most ${COMBINATOR_DEPTH_MAX} levels of combinators are allowed.`,
    );
  }
  if (name === "$not") return { kind: "not", filter: readFilter(operand, inner) };
  if (!Array.isArray(operand)) throw refusal(position.at, `must be an array of filters, found ${describe(operand)}.`);
  if (operand.length === 0) countCondition(position);
  const filters = operand.map((part: unknown, index) => readFilter(part, { ...inner, at: `${position.at}[${index}]` }));
  return name === "$and" ? allOf(filters) : { kind: "or", filters };
}

function readField(name: string, operand: unknown, position: Position): Filter {
  const field = fieldNamed(name, position.at);
  if (!isObject(operand)) return readOperator(field, "$eq", operand, position);
  const names = Object.keys(operand);
  const plain = names.find((key) => !key.startsWith("$"));
  if (names.length === 0) {
    throw refusal(position.at, 'is empty: use an operator, or {"$eq": {}} to compare with an empty object.');
  }
  if (plain === undefined) {
    return allOf(
      Object.entries(operand).map(([operator, value]) =>
        readOperator(field, operator, value, { ...position, at: `${position.at}.${shortened(operator)}` }),
      ),
    );
  }
  if ("attribute" in field || names.some((key) => key.startsWith("$"))) {
    const cure = nearestOf(`$${plain}`, OPERATORS, "operators");
    throw refusal(`${position.at}.${shortened(plain)}`, `is not an operator. ${cure}`);
  }
  return readOperator(field, "$eq", operand, position);
}

function readOperator(field: FilterField, operator: string, operand: unknown, position: Position): Filter {
  if (!isOneOf(OPERATORS, operator)) {
    throw isOneOf(COMBINATORS, operator)
      ? refusal(position.at, `is a combinator: place it around fields, as in {"${operator}": ${combined(operator)}}.`)
      : refusal(position.at, `is not an operator. ${nearestOf(operator, OPERATORS, "operators")}`);
  }
  countCondition(position);
  const { at } = position;
  switch (operator) {
    case "$eq":
      return equals(field, [operandOf(field, operand, at)]);
    case "$ne":
      return not(equals(field, [operandOf(field, operand, at)]));
    case "$in":
      return equals(field, operandsOf(field, operand, at));
    case "$nin":
      return not(equals(field, operandsOf(field, operand, at)));
    case "$exists": {
      if (typeof operand !== "boolean") throw refusal(at, `must be true or false, found ${describe(operand)}.`);
      const exists: Filter = { kind: "field", field, condition: { kind: "exists" } };
      return operand ? exists : not(exists);
    }
    case "$contains":
      return { kind: "field", field, condition: containment(field, operand, at) };
    default:
      return { kind: "field", field, condition: { kind: "compares", operator, bound: boundOf(field, operand, at) } };
  }
}

function fieldNamed(name: string, at: string): FilterField {
  if (Object.hasOwn(READERS, name)) return { attribute: name as FilteredAttribute };
  if (name.startsWith(METADATA_PREFIX) && name.length > METADATA_PREFIX.length) {
    return { metadataPath: name.slice(METADATA_PREFIX.length) };
  }
  throw refusal(at, `is not a filterable field. ${fieldCure(shortened(name))}`);
}

function fieldCure(name: string): string {
  if (name === "metadata" || name === METADATA_PREFIX) return "Add a metadata key, as in 'metadata.color'.";
  const near = nearestName(name, FILTERABLE_NAMES);
  if (near !== null) return `Did you mean '${near}'?`;
  const [head = "", ...path] = name.split(".");
  if (path.length > 0 && nearestName(head, ["metadata"]) !== null) {
    return `Did you mean '${METADATA_PREFIX}${path.join(".")}'?`;
  }
  return `Known fields: ${FILTERABLE_NAMES.join(", ")}, and metadata paths such as '${METADATA_PREFIX}${name}'.`;
}

function operandsOf(field: FilterField, operands: unknown, at: string): readonly Json[] {
  if (!Array.isArray(operands)) throw refusal(at, `must be an array of values, found ${describe(operands)}.`);
  if (operands.length > VALUES_MAX) {
    throw refusal(at, `has ${operands.length} values; at most ${VALUES_MAX} are allowed.`);
  }
  return operands.map((operand: unknown, index) => operandOf(field, operand, `${at}[${index}]`));
}

// Validates an operand for equality. For an attribute other than `tags`, an object or array is refused, because the
// caller probably meant `$in`. Other impossible values are accepted and match nothing.
function operandOf(field: FilterField, operand: unknown, at: string): Json {
  if (isDate(field)) return operand === null ? null : instantOf(operand, at);
  const isComposite = typeof operand === "object" && operand !== null && !isExactInteger(operand);
  if (isComposite && "attribute" in field && !(field.attribute === "tags" && Array.isArray(operand))) {
    throw refusal(at, `must be a single value, found ${describe(operand)}; use $in for several values.`);
  }
  if (isComposite && isDeeperThan(operand, OPERAND_DEPTH_MAX)) {
    throw refusal(at, `is nested more than ${OPERAND_DEPTH_MAX} levels deep.`);
  }
  return operand as Json;
}

function boundOf(field: FilterField, operand: unknown, at: string): number | bigint | string {
  if (isDate(field)) return instantOf(operand, at);
  if (typeof operand === "string") return operand;
  if (isNumber(operand)) return comparableNumber(operand);
  throw refusal(at, `must be a number or a string, found ${describe(operand)}.`);
}

function containment(field: FilterField, operand: unknown, at: string): FilterCondition {
  if (isDate(field)) throw refusal(at, "does not apply to a date; use $gte and $lt.");
  if (Array.isArray(operand)) {
    throw refusal(at, "must be a single value, found an array; combine several $contains with $and or $or.");
  }
  const value = operandOf(field, operand, at);
  return { kind: "contains", values: valuesAmong([value]), text: typeof value === "string" ? value : null };
}

function instantOf(operand: unknown, at: string): number {
  const instant = typeof operand === "string" ? parseIsoTime(operand) : null;
  if (instant !== null) return instant;
  throw refusal(
    at,
    `must be an ISO 8601 date such as "2026-01-31T12:00:00Z" or "2026-01-31", found ${describe(operand)}.`,
  );
}

function isDate(field: FilterField): boolean {
  return "attribute" in field && DATE_ATTRIBUTES.includes(field.attribute);
}

function countCondition({ at, seen }: Position): void {
  seen.conditions += 1;
  if (seen.conditions > CONDITIONS_MAX) {
    throw refusal(
      at,
      `exceeds the limit: a filter may have at most ${CONDITIONS_MAX} conditions. Use $in for many values.`,
    );
  }
}

function allOf(filters: readonly Filter[]): Filter {
  const [only] = filters;
  return only !== undefined && filters.length === 1 ? only : { kind: "and", filters };
}

function not(filter: Filter): Filter {
  return { kind: "not", filter };
}

function equals(field: FilterField, operands: readonly Json[]): Filter {
  return { kind: "field", field, condition: { kind: "equals", values: valuesAmong(operands) } };
}

function valuesAmong(operands: readonly Json[]): FilterValues {
  const scalars = new Set<null | boolean | number | bigint | string>();
  const composites = new Set<string>();
  for (const operand of operands) {
    if (isExactInteger(operand)) scalars.add(comparableNumber(operand));
    else if (typeof operand === "object" && operand !== null) composites.add(canonicalJson(operand));
    else scalars.add(operand);
  }
  return { scalars, composites };
}

function refusal(at: string, sentence: string): Fault {
  return new Fault("invalid_filter", `'${at}' ${sentence}`, { param: at });
}

function nearestOf(name: string, known: readonly string[], what: string): string {
  const near = nearestName(shortened(name), known);
  return near === null ? `Known ${what}: ${known.join(", ")}.` : `Did you mean '${near}'?`;
}

function combined(combinator: (typeof COMBINATORS)[number]): string {
  return combinator === "$not" ? '{"type": "note"}' : '[{"type": "note"}]';
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isExactInteger(value)) return value.rawJSON;
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? JSON.stringify(shortened(value)) : String(value);
}

function holds(condition: FilterCondition, values: readonly Json[]): boolean {
  switch (condition.kind) {
    case "exists":
      return values.length > 0;
    case "equals":
      if (values.length === 0) return condition.values.scalars.has(null);
      return values.some((value) => someItem(value, (item) => isAmong(item, condition.values)));
    case "compares":
      return values.some((value) => someItem(value, (item) => compares(item, condition.operator, condition.bound)));
    case "contains":
      return values.some((value) =>
        isArray(value)
          ? value.some((item) => isAmong(item, condition.values))
          : condition.text !== null && typeof value === "string" && value.includes(condition.text),
      );
  }
}

function valuesOf(field: FilterField, memory: FilteredAttributes): readonly Json[] {
  if ("attribute" in field) {
    const value = READERS[field.attribute](memory);
    return value === null ? [] : [value];
  }
  const found: Json[] = [];
  // A path longer than the size limit of metadata cannot match. It is skipped, because every level of the search would
  // compare the whole rest of the path.
  const canMatch = field.metadataPath.length <= LIMITS.metadataBytes;
  if (memory.metadata !== null && canMatch) collectValues(memory.metadata, field.metadataPath, found);
  return found;
}

// Collects all values that a dotted path leads to. The keys that lead to a value, joined by dots, give only one path,
// so a value is collected at most once even if keys contain dots.
function collectValues(value: Json, path: string, found: Json[]): void {
  if (isArray(value)) {
    for (const item of value) collectValues(item, path, found);
    return;
  }
  if (!isObject(value)) return;
  // Only own keys count: inherited properties such as `constructor` are not metadata.
  if (Object.hasOwn(value, path)) found.push(value[path] as Json);
  if (!path.includes(".")) return;
  for (const [key, inner] of Object.entries(value)) {
    if (path[key.length] === "." && path.startsWith(key))
      collectValues(inner as Json, path.slice(key.length + 1), found);
  }
}

function someItem(value: Json, holdsFor: (item: Json) => boolean): boolean {
  return holdsFor(value) || (isArray(value) && value.some(holdsFor));
}

function isAmong(value: Json, { scalars, composites }: FilterValues): boolean {
  if (isExactInteger(value)) return scalars.has(comparableNumber(value));
  if (typeof value !== "object" || value === null) return scalars.has(value);
  return composites.size > 0 && composites.has(canonicalJson(value));
}

function compares(value: Json, operator: Comparison, bound: number | bigint | string): boolean {
  if (isNumber(value) && typeof bound !== "string") {
    return isInOrder(compareNumbers(comparableNumber(value), bound), operator);
  }
  return typeof value === "string" && typeof bound === "string" && isInOrder(compareTexts(value, bound), operator);
}

function isInOrder(difference: number, operator: Comparison): boolean {
  switch (operator) {
    case "$gt":
      return difference > 0;
    case "$gte":
      return difference >= 0;
    case "$lt":
      return difference < 0;
    case "$lte":
      return difference <= 0;
  }
}

// Compares two texts by code point. JavaScript's `<` compares UTF-16 code units and so puts emoji before U+E000.
function compareTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const difference = codePointRank(left.charCodeAt(at)) - codePointRank(right.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

// Rank of a UTF-16 code unit. Surrogates sort after all others, because they encode the code points above U+FFFF.
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit;
}

function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_, part: Json) => {
    if (typeof part === "number") return canonicalNumber(part);
    if (!isObject(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}

// JSON.stringify writes doubles from 1e21 on with an exponent, and the same whole number may be written in digits.
function canonicalNumber(value: number): Json {
  return Math.abs(value) >= 1e21 && Number.isFinite(value) ? exactInteger(integerOf(value)) : value;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactInteger(value);
}

function isNumber(value: unknown): value is number | ExactInteger {
  return typeof value === "number" || isExactInteger(value);
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name);
}
