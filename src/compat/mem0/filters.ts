// Translates filters of mem0 (`{"AND": [{"user_id": "ada"}, {"created_at": {"gte": "2026-01-01"}}]}`) to filters of
// Mneme. What has no counterpart is refused: a filter that is ignored would show what it should hide.

import { Fault } from "../../domain/fault.ts";
import { isRecord, type JsonRecord } from "../../kit/record.ts";
import { DETAILS, ENTITY_FIELDS, ENTITY_NAMES, type Entities, type EntityName, wrong } from "./names.ts";

/** mem0's fields of a memory, and the fields of Mneme's filters. */
const FILTER_FIELDS: Readonly<Record<string, string>> = {
  ...ENTITY_FIELDS,
  created_at: "created_at",
  updated_at: "updated_at",
  timestamp: "occurred_at",
  categories: "tags",
  id: "memory_id",
  memory_id: "memory_id",
  memory_ids: "memory_id",
};
const COMPARISONS: Readonly<Record<string, string>> = {
  eq: "$eq",
  ne: "$ne",
  gt: "$gt",
  gte: "$gte",
  lt: "$lt",
  lte: "$lte",
  in: "$in",
  nin: "$nin",
  contains: "$contains",
};
/** mem0's word for any value. */
const ANY = "*";
/** Maximum nesting; Mneme's filters have a limit of their own, too. */
const DEPTH_MAX = 16;

/** Which memories a request is about. */
export interface Selection {
  readonly filter: MnemeFilter;
  /** Entities that every match has. */
  readonly entities: Entities;
}

/** A filter of Mneme. */
export type MnemeFilter = Readonly<Record<string, unknown>>;

/**
 * The filter of Mneme for one of mem0.
 * @throws Fault `invalid_filter` for what Mneme has no counterpart of, `invalid_request` for a part of the wrong form;
 *   `param` is the path of the part
 */
export function mnemeFilterOf(filters: unknown, path = "filters", depth = 0): MnemeFilter {
  if (!isRecord(filters)) throw wrong(path, "an object");
  if (depth > DEPTH_MAX) throw refused(path, "is nested too deeply");
  const parts = Object.entries(filters).map(([name, value]) => partOf(name, value, `${path}.${name}`, depth));
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { $and: parts };
}

function partOf(name: string, value: unknown, path: string, depth: number): MnemeFilter {
  if (name === "AND") return { $and: listOf(value, path, depth) };
  if (name === "OR") return { $or: listOf(value, path, depth) };
  if (name === "NOT")
    return {
      $not: { $or: Array.isArray(value) ? listOf(value, path, depth) : [mnemeFilterOf(value, path, depth + 1)] },
    };
  if (name === "metadata") return metadataFilter(value, path);
  const field = Object.hasOwn(FILTER_FIELDS, name) ? FILTER_FIELDS[name] : undefined;
  if (field === undefined) {
    const known = [...Object.keys(FILTER_FIELDS), "metadata", "AND", "OR", "NOT"].join(", ");
    throw refused(
      path,
      `is not known. Known: ${known}. Fields of your own are in metadata: {"metadata": {"${name}": …}}`,
    );
  }
  return { [field]: conditionOf(value, path) };
}

function listOf(value: unknown, path: string, depth: number): readonly MnemeFilter[] {
  if (!Array.isArray(value)) throw wrong(path, "a list of filters");
  return value.map((part, at) => mnemeFilterOf(part, `${path}[${at}]`, depth + 1));
}

function metadataFilter(value: unknown, path: string): MnemeFilter {
  if (!isRecord(value)) throw wrong(path, "an object");
  const parts = Object.entries(value).map(([name, condition]) => {
    if (name === DETAILS || name.startsWith(`${DETAILS}.`))
      throw refused(`${path}.${name}`, "is a name that Mneme uses");
    return { [`metadata.${name}`]: conditionOf(condition, `${path}.${name}`) };
  });
  return { $and: parts };
}

function conditionOf(value: unknown, path: string): unknown {
  if (value === ANY) return { $ne: null };
  if (Array.isArray(value)) return { $in: value };
  if (!isRecord(value)) return { $eq: value };
  const operators = Object.entries(value);
  if (operators.length === 0) throw refused(path, "has no operator");
  return Object.fromEntries(
    operators.map(([name, operand]) => {
      const operator = Object.hasOwn(COMPARISONS, name) ? COMPARISONS[name] : undefined;
      if (operator !== undefined) return [operator, operand];
      const known = Object.keys(COMPARISONS).join(", ");
      throw refused(`${path}.${name}`, `is no operator that Mneme has. Known: ${known}`);
    }),
  );
}

function refused(path: string, what: string): Fault {
  return new Fault("invalid_filter", `'${path}' ${what}.`, { param: path });
}

/**
 * The entities that every match of a filter has: those that it names outside of OR and NOT. A list of the API can be
 * narrowed by them.
 */
export function entitiesIn(filters: JsonRecord): Entities {
  const found: Partial<Record<EntityName, string>> = {};
  for (const [name, value] of Object.entries(filters)) {
    if (name === "AND" && Array.isArray(value)) {
      for (const part of value) if (isRecord(part)) Object.assign(found, entitiesIn(part));
    }
    const entity = ENTITY_NAMES.find((known) => known === name);
    if (entity !== undefined && typeof value === "string" && value !== ANY) found[entity] = value;
  }
  return found;
}
