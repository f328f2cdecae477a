// Names of mem0, and the fields of Mneme that they stand for. A memory of mem0 belongs to up to four entities: user,
// agent, run and app.

import { Fault } from "../../domain/fault.ts";
import { type MemoryScope, type ScopeName, scopeOf } from "../../domain/memory-attributes.ts";
import { nearestName } from "../../kit/nearest.ts";
import { isRecord, type JsonRecord } from "../../kit/record.ts";

/** Member of the metadata that holds mem0's fields without a counterpart. The importer of mem0 uses the same name. */
export const DETAILS = "mem0";

/** mem0's names of the entities that memories have as a scope. */
const SCOPES = { user_id: "userId", agent_id: "agentId", run_id: "sessionId" } as const satisfies Record<
  string,
  ScopeName
>;
/** mem0's names of entities, and the fields of a memory that hold them. An app has no field; see `DETAILS`. */
export const ENTITY_FIELDS = {
  ...SCOPES,
  app_id: `metadata.${DETAILS}.app_id`,
} as const;
/** mem0's name of an entity. */
export type EntityName = keyof typeof ENTITY_FIELDS;
/** All names of entities. */
export const ENTITY_NAMES = Object.keys(ENTITY_FIELDS) as readonly EntityName[];
const PAIRS = Object.entries(SCOPES) as readonly (readonly [keyof typeof SCOPES, ScopeName])[];

/** Entities by mem0's names. */
export type Entities = Readonly<Partial<Record<EntityName, string>>>;

/** The scope that entities stand for. */
export function scopeOfEntities(entities: Entities): MemoryScope {
  return scopeOf(Object.fromEntries(PAIRS.map(([theirs, ours]) => [ours, entities[theirs]])));
}

/** The entities of a memory of the API by mem0's names; null for those that it does not belong to. */
export function entitiesOfMemory(memory: JsonRecord): Readonly<Partial<Record<EntityName, unknown>>> {
  return Object.fromEntries(PAIRS.map(([theirs, ours]) => [theirs, memory[ours] ?? null]));
}

/** A field of a request; undefined if it is absent or null. */
export function given(fields: JsonRecord, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
}

/** The error for a field that has the wrong form. */
export function wrong(param: string, what: string): Fault {
  return new Fault("invalid_request", `'${param}' must be ${what}.`, { param });
}

/** A text field; undefined if it is absent. @throws Fault `invalid_request` */
export function textField(fields: JsonRecord, name: string): string | undefined {
  const value = given(fields, name);
  if (value === undefined || typeof value === "string") return value;
  throw wrong(name, "a string");
}

/** A field that is true or false; undefined if it is absent. @throws Fault `invalid_request` */
export function booleanField(fields: JsonRecord, name: string): boolean | undefined {
  const value = given(fields, name);
  if (value === undefined || typeof value === "boolean") return value;
  throw wrong(name, "true or false");
}

/** An object field; undefined if it is absent. @throws Fault `invalid_request` */
export function objectField(fields: JsonRecord, name: string): JsonRecord | undefined {
  const value = given(fields, name);
  if (value === undefined || isRecord(value)) return value;
  throw wrong(name, "an object");
}

/** A number field in a range; undefined if it is absent. @throws Fault `invalid_request` */
export function numberField(fields: JsonRecord, name: string, min: number, max: number, isInteger: boolean) {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  const isInRange = typeof value === "number" && value >= min && value <= max;
  if (isInRange && (!isInteger || Number.isInteger(value))) return value;
  throw wrong(name, `${isInteger ? "an integer" : "a number"} from ${min} to ${max}`);
}

/** A list of texts; undefined if it is absent. @throws Fault `invalid_request` */
export function textsField(fields: JsonRecord, name: string): readonly string[] | undefined {
  const value = given(fields, name);
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value as readonly string[];
  throw wrong(name, "a list of strings");
}

/**
 * The body of a request as an object. Unknown fields are refused, as one of them may be a misspelt scope.
 * @param ignored fields of mem0 that only shape what its language model does
 * @throws Fault `invalid_request`
 */
export function fieldsOf(body: unknown, known: readonly string[], ignored: readonly string[] = []): JsonRecord {
  if (!isRecord(body)) throw new Fault("invalid_request", "The body must be a JSON object.");
  for (const name of Object.keys(body)) {
    if (known.includes(name) || ignored.includes(name)) continue;
    const near = nearestName(name, known);
    const hint = near === null ? `Known fields: ${known.join(", ")}.` : `Did you mean '${near}'?`;
    throw new Fault("invalid_request", `Unknown or unsupported field '${name}'. ${hint}`, { param: name });
  }
  return body;
}
