// What a caller's `filters` mean: their grammar, refused with the place and the cure, and whether a memory lies within
// them. Pure; which memories are asked, and how the answer confines a search, is retrieval's affair.

import { parseIsoTime } from "../kit/clock.ts";
import { nearestName } from "../kit/nearest.ts";
import { Fault } from "./fault.ts";
import { LIMITS } from "./limits.ts";
import type { Json, JsonObject, Memory } from "./memory.ts";

/** Field conditions of one filter; an empty object or list counts as one, so that a filter's cost is bounded. */
const CONDITIONS_MAX = 200;
/** Values of one `$in` or `$nin`. */
const VALUES_MAX = 1_000;
/** `$and`, `$or` and `$not` around one another. */
const COMBINATOR_DEPTH_MAX = 8;
/** Objects and arrays around one another in an operand: more than metadata has, and far from the end of the stack. */
const OPERAND_DEPTH_MAX = 64;
/** Characters of a caller's names that messages repeat, and that are compared with known ones. */
const SHOWN_CHARACTERS = 64;

/** What of a memory a filter can see. */
export type FilteredAttributes = Pick<
  Memory,
  | "id"
  | "title"
  | "type"
  | "tags"
  | "language"
  | "source"
  | "externalId"
  | "createdAt"
  | "updatedAt"
  | "userId"
  | "metadata"
>;

/**
 * The attributes that a filter can name, `null` where a memory has none: for a filter, an attribute without a value is
 * absent. Dates are Unix milliseconds.
 */
const ATTRIBUTES = {
  type: (memory) => memory.type,
  title: (memory) => memory.title,
  tags: (memory) => memory.tags,
  language: (memory) => memory.language,
  "source.media_type": (memory) => memory.source?.media_type ?? null,
  externalId: (memory) => memory.externalId,
  created_at: (memory) => memory.createdAt,
  updated_at: (memory) => memory.updatedAt,
  memory_id: (memory) => memory.id,
  userId: (memory) => memory.userId,
} as const satisfies Record<string, (memory: FilteredAttributes) => Json>;
/** An attribute that a filter can name. */
export type FilteredAttribute = keyof typeof ATTRIBUTES;

const DATE_ATTRIBUTES: readonly FilteredAttribute[] = ["created_at", "updated_at"];
const METADATA_PREFIX = "metadata.";

const COMBINATORS = ["$and", "$or", "$not"] as const;
const COMPARISONS = ["$gt", "$gte", "$lt", "$lte"] as const;
const OPERATORS = ["$eq", "$ne", ...COMPARISONS, "$in", "$nin", "$exists", "$contains"] as const;
type Comparison = (typeof COMPARISONS)[number];

/** What a condition is about: an attribute, or a dotted path into the memory's metadata. */
export type FilterField = { readonly attribute: FilteredAttribute } | { readonly metadataPath: string };

/**
 * Values to be equal to. Numbers are equal by value (1 is 1.0; beyond 2^53 metadata and operands were rounded to doubles
 * alike), objects whatever the order of their keys, arrays item by item.
 */
export interface FilterValues {
  readonly scalars: ReadonlySet<null | boolean | number | string>;
  /** Objects and arrays as JSON with sorted keys. */
  readonly composites: ReadonlySet<string>;
}

/** What has to hold for some value of a field. */
export type FilterCondition =
  /** The value, or an item of it, is one of these; `null` among them admits a field that is absent, too. */
  | { readonly kind: "equals"; readonly values: FilterValues }
  /** The value, or an item of it, has the bound's type and lies on this side of it; texts go by code points. */
  | { readonly kind: "compares"; readonly operator: Comparison; readonly bound: number | string }
  | { readonly kind: "exists" }
  /** An item of an array is the value, or a text holds this text. */
  | { readonly kind: "contains"; readonly values: FilterValues; readonly text: string | null };

/** A checked filter. `$ne`, `$nin` and `$exists: false` are negations of what they negate. */
export type Filter =
  | { readonly kind: "and"; readonly filters: readonly Filter[] }
  | { readonly kind: "or"; readonly filters: readonly Filter[] }
  | { readonly kind: "not"; readonly filter: Filter }
  | { readonly kind: "field"; readonly field: FilterField; readonly condition: FilterCondition };

/**
 * Reads a filter as a caller wrote it, JSON already parsed.
 * @param param the name of the parameter it came in, the beginning of every path in a refusal.
 * @throws Fault `invalid_filter` whose `param` is the path of what is wrong (`filters.$and[0].metadata.a.$in`).
 */
export function parseFilter(value: unknown, param = "filters"): Filter {
  return readFilter(value, { at: param, depth: 0, seen: { conditions: 0 } });
}

/**
 * Whether a memory lies within a filter. A metadata path reaches every value that it leads to: dots descend into objects,
 * into each item of an array, and a key that itself holds dots is found under its full name, at any level; a condition
 * holds where it holds for one of the values reached.
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
 * What filters see of a memory, as JSON: its attributes by their names in filters, and `metadata`. `null` where it has none.
 * An index that holds this can tell what `matchesFilter` tells.
 */
export function filteredAttributesJson(memory: FilteredAttributes): string {
  const attributes = Object.entries(ATTRIBUTES).map(([name, read]): [string, Json] => [name, read(memory)]);
  return JSON.stringify({ ...Object.fromEntries(attributes), metadata: memory.metadata });
}

/** Where reading stands. */
interface Place {
  /** Path of what is read. */
  readonly at: string;
  /** Combinators around it. */
  readonly depth: number;
  /** Shared by all places of one filter. */
  readonly seen: { conditions: number };
}

function readFilter(value: unknown, place: Place): Filter {
  if (!isObject(value)) {
    throw refusal(place.at, `must be an object such as {"type": "note"}, found ${sketch(value)}.`);
  }
  const entries = Object.entries(value);
  if (entries.length === 0) countCondition(place);
  return allOf(
    entries.map(([name, operand]) => {
      const inner = { ...place, at: `${place.at}.${shown(name)}` };
      return name.startsWith("$") ? readCombinator(name, operand, inner) : readField(name, operand, inner);
    }),
  );
}

function readCombinator(name: string, operand: unknown, place: Place): Filter {
  if (!isOneOf(COMBINATORS, name)) {
    throw isOneOf(OPERATORS, name)
      ? refusal(place.at, `is an operator: it belongs inside a field, as in {"type": {"${name}": …}}.`)
      : refusal(place.at, `is no combinator. ${nearestOf(name, COMBINATORS, "combinators")}`);
  }
  const inner = { ...place, depth: place.depth + 1 };
  if (inner.depth > COMBINATOR_DEPTH_MAX) {
    throw refusal(
      place.at,
      `is nested too deeply: at most ${COMBINATOR_DEPTH_MAX} combinators stand around one another.`,
    );
  }
  if (name === "$not") return { kind: "not", filter: readFilter(operand, inner) };
  if (!Array.isArray(operand)) throw refusal(place.at, `must be an array of filters, found ${sketch(operand)}.`);
  if (operand.length === 0) countCondition(place);
  const filters = operand.map((part: unknown, index) => readFilter(part, { ...inner, at: `${place.at}[${index}]` }));
  return name === "$and" ? allOf(filters) : { kind: "or", filters };
}

function readField(name: string, operand: unknown, place: Place): Filter {
  const field = fieldNamed(name, place.at);
  if (!isObject(operand)) return readOperator(field, "$eq", operand, place);
  const names = Object.keys(operand);
  const plain = names.find((key) => !key.startsWith("$"));
  if (names.length === 0) {
    throw refusal(place.at, 'is empty: name an operator, or compare with an empty object by {"$eq": {}}.');
  }
  if (plain === undefined) {
    return allOf(
      Object.entries(operand).map(([operator, value]) =>
        readOperator(field, operator, value, { ...place, at: `${place.at}.${shown(operator)}` }),
      ),
    );
  }
  if ("attribute" in field || names.some((key) => key.startsWith("$"))) {
    const cure = nearestOf(`$${plain}`, OPERATORS, "operators");
    throw refusal(`${place.at}.${shown(plain)}`, `is no operator. ${cure}`);
  }
  return readOperator(field, "$eq", operand, place);
}

function readOperator(field: FilterField, operator: string, operand: unknown, place: Place): Filter {
  if (!isOneOf(OPERATORS, operator)) {
    throw isOneOf(COMBINATORS, operator)
      ? refusal(place.at, `is a combinator: it belongs around fields, as in {"${operator}": ${combined(operator)}}.`)
      : refusal(place.at, `is no operator. ${nearestOf(operator, OPERATORS, "operators")}`);
  }
  countCondition(place);
  const { at } = place;
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
      if (typeof operand !== "boolean") throw refusal(at, `must be true or false, found ${sketch(operand)}.`);
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
  if (Object.hasOwn(ATTRIBUTES, name)) return { attribute: name as FilteredAttribute };
  if (name.startsWith(METADATA_PREFIX) && name.length > METADATA_PREFIX.length) {
    return { metadataPath: name.slice(METADATA_PREFIX.length) };
  }
  throw refusal(at, `is no field to filter by. ${fieldCure(shown(name))}`);
}

function fieldCure(name: string): string {
  if (name === "metadata" || name === METADATA_PREFIX) return "Name a key of the metadata, as in 'metadata.color'.";
  const near = nearestName(name, Object.keys(ATTRIBUTES));
  if (near !== null) return `Did you mean '${near}'?`;
  const [head = "", ...path] = name.split(".");
  if (path.length > 0 && nearestName(head, ["metadata"]) !== null) {
    return `Did you mean '${METADATA_PREFIX}${path.join(".")}'?`;
  }
  const known = Object.keys(ATTRIBUTES).join(", ");
  return `Known fields: ${known}, and metadata by its path: '${METADATA_PREFIX}${name}'.`;
}

function operandsOf(field: FilterField, operands: unknown, at: string): readonly Json[] {
  if (!Array.isArray(operands)) throw refusal(at, `must be an array of values, found ${sketch(operands)}.`);
  if (operands.length > VALUES_MAX) {
    throw refusal(at, `holds ${operands.length} values; at most ${VALUES_MAX} are possible.`);
  }
  return operands.map((operand: unknown, index) => operandOf(field, operand, `${at}[${index}]`));
}

// A value to be equal to. What an attribute can never hold is refused only where another operator was surely meant.
function operandOf(field: FilterField, operand: unknown, at: string): Json {
  if (isDate(field)) return operand === null ? null : instantOf(operand, at);
  const isComposite = typeof operand === "object" && operand !== null;
  if (isComposite && "attribute" in field && !(field.attribute === "tags" && Array.isArray(operand))) {
    throw refusal(at, `must be one value, found ${sketch(operand)}; several values are asked for with $in.`);
  }
  if (isComposite && isDeeperThan(operand, OPERAND_DEPTH_MAX)) {
    throw refusal(at, `is nested more than ${OPERAND_DEPTH_MAX} levels deep.`);
  }
  return operand as Json;
}

function boundOf(field: FilterField, operand: unknown, at: string): number | string {
  if (isDate(field)) return instantOf(operand, at);
  if (typeof operand === "number" || typeof operand === "string") return operand;
  throw refusal(at, `must be a number or a string, found ${sketch(operand)}.`);
}

function containment(field: FilterField, operand: unknown, at: string): FilterCondition {
  if (isDate(field)) throw refusal(at, "does not apply to a date; use $gte and $lt.");
  if (Array.isArray(operand)) {
    throw refusal(at, "must be one value, found an array; for several of them combine $contains with $and or $or.");
  }
  const value = operandOf(field, operand, at);
  return { kind: "contains", values: valuesAmong([value]), text: typeof value === "string" ? value : null };
}

function instantOf(operand: unknown, at: string): number {
  const instant = typeof operand === "string" ? parseIsoTime(operand) : null;
  if (instant !== null) return instant;
  throw refusal(
    at,
    `must be an ISO 8601 date such as "2026-01-31T12:00:00Z" or "2026-01-31", found ${sketch(operand)}.`,
  );
}

function isDate(field: FilterField): boolean {
  return "attribute" in field && DATE_ATTRIBUTES.includes(field.attribute);
}

function countCondition({ at, seen }: Place): void {
  seen.conditions += 1;
  if (seen.conditions > CONDITIONS_MAX) {
    throw refusal(at, `is one condition too many: a filter holds at most ${CONDITIONS_MAX}. For many values use $in.`);
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
  const scalars = new Set<null | boolean | number | string>();
  const composites = new Set<string>();
  for (const operand of operands) {
    if (typeof operand === "object" && operand !== null) composites.add(canonicalJson(operand));
    else scalars.add(operand);
  }
  return { scalars, composites };
}

function refusal(at: string, sentence: string): Fault {
  return new Fault("invalid_filter", `'${at}' ${sentence}`, { param: at });
}

function nearestOf(name: string, known: readonly string[], what: string): string {
  const near = nearestName(shown(name), known);
  return near === null ? `Known ${what}: ${known.join(", ")}.` : `Did you mean '${near}'?`;
}

function combined(combinator: (typeof COMBINATORS)[number]): string {
  return combinator === "$not" ? '{"type": "note"}' : '[{"type": "note"}]';
}

function shown(name: string): string {
  return name.length > SHOWN_CHARACTERS ? `${name.slice(0, SHOWN_CHARACTERS)}…` : name;
}

function sketch(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? JSON.stringify(shown(value)) : String(value);
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
    const value = ATTRIBUTES[field.attribute](memory);
    return value === null ? [] : [value];
  }
  const found: Json[] = [];
  // a longer path than metadata has room for leads nowhere, and each step would read all that is left of it
  const leadsSomewhere = field.metadataPath.length <= LIMITS.metadataBytes;
  if (memory.metadata !== null && leadsSomewhere) reach(memory.metadata, field.metadataPath, found);
  return found;
}

// Each value lies under one text of joined keys, so it is reached once at most, however often its keys hold dots.
function reach(value: Json, path: string, found: Json[]): void {
  if (isArray(value)) {
    for (const item of value) reach(item, path, found);
    return;
  }
  if (!isObject(value)) return;
  // own keys only: what every object inherits (`constructor`) is nobody's metadata
  if (Object.hasOwn(value, path)) found.push(value[path] as Json);
  if (!path.includes(".")) return;
  for (const [key, inner] of Object.entries(value)) {
    if (path[key.length] === "." && path.startsWith(key)) reach(inner as Json, path.slice(key.length + 1), found);
  }
}

function someItem(value: Json, holdsFor: (item: Json) => boolean): boolean {
  return holdsFor(value) || (isArray(value) && value.some(holdsFor));
}

function isAmong(value: Json, { scalars, composites }: FilterValues): boolean {
  if (typeof value !== "object" || value === null) return scalars.has(value);
  return composites.size > 0 && composites.has(canonicalJson(value));
}

function compares(value: Json, operator: Comparison, bound: number | string): boolean {
  if (typeof value === "number" && typeof bound === "number") return isInOrder(value - bound, operator);
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

// By code points. JavaScript's own order goes by UTF-16 units, in which an emoji comes before U+E000.
function compareTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const difference = codePointRank(left.charCodeAt(at)) - codePointRank(right.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

// Surrogates behind all other units: they stand for code points beyond those.
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit;
}

function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_, part: Json) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1))) : part,
  );
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name);
}
