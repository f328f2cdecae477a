// Generates a realistic example for every schema of the contract, for the OpenAPI document and the reference. A value
// is chosen by the name of its field; test/api/openapi.test.ts checks that each example fits its schema.

import { ID_PREFIXES } from "../domain/ids.ts";
import { type JsonSchema, SCHEMA_REFERENCE } from "./json-schema.ts";
import type { Group } from "./operation.ts";

/** What follows the prefix in every id of the examples. */
const OPAQUE = "01jd3vqm5yf8rbk0t6zn2hx9ea";
const PASSAGE = "Ada keeps the spare key under the blue pot.";
const NOW = "2026-11-20T09:30:00.000Z";

/** Whether this is a resource whose ids the server makes. */
export function isResource(resource: string): resource is keyof typeof ID_PREFIXES {
  return Object.hasOwn(ID_PREFIXES, resource);
}

/**
 * Example id of a resource such as `memory`. For resources whose ids the application chooses, it is a user's id; for a
 * model, its name.
 */
export function exampleOfResource(resource: string): string {
  if (resource === "model") return "mneme";
  return isResource(resource) ? exampleId(ID_PREFIXES[resource]) : "ada";
}

/** Converts the name of a collection in a path to the name of its resource: `memories` → `memory`. */
export function singular(plural: string): string {
  return plural.replace(/ies$/, "y").replace(/s$/, "");
}

function exampleId(prefix: string): string {
  return `${prefix}_${OPAQUE}`;
}

/**
 * Values by field name; `Schema.field` takes precedence over `field`. If the schema wants a string and the value is an
 * object or array, the example is its JSON.
 */
const BY_NAME: Readonly<Record<string, unknown>> = {
  "Message.content": "The spare key is under the blue pot [1].",
  "Message.role": "assistant",
  "ChatCompletion.content": "The spare key is under the blue pot [1].",
  "ChatCompletion.created": 1_795_599_000,
  "ChatCompletion.end_index": 39,
  "ChatCompletion.id": "chatcmpl-4f1c9a70-6f0e-4b8e-9d5d-2f6f3c1b7a42",
  "ChatCompletion.model": "mneme/balanced",
  "ChatCompletion.start_index": 36,
  "ChatCompletion.url": `/v1/memories/${exampleId("mem")}`,
  "Delivery.status": "delivered",
  "Memory.status": "completed",
  "Model.created": 1_795_219_200,
  "Model.id": "mneme/balanced",
  "Model.owned_by": "mneme",
  "Profile.events": [],
  "Profile.people": [],
  "Profile.text": `## Facts\n\n- ${PASSAGE}`,
  "ProfileEntry.end": PASSAGE.length,
  "ProfileEntry.text": PASSAGE,
  "ResultChunk.end": PASSAGE.length,
  "Project.model": null,
  "Usage.end": "2026-12-01T00:00:00.000Z",
  "Usage.limit": null,
  "Usage.start": "2026-11-01T00:00:00.000Z",
  accepted: 1,
  agentId: "house-assistant",
  answer: "The spare key is under the blue pot [1].",
  content: PASSAGE,
  data: { path: "/pricing" },
  description: "updates the search page",
  email: "ada@example.com",
  enabled: true,
  event: "memory.completed",
  events: ["memory.completed", "memory.failed"],
  grace_seconds: 3_600,
  key: "ctx_this-is-an-example-and-it-opens-nothing",
  language: "en",
  limit: 5,
  memories: [
    { content: PASSAGE, userId: "ada" },
    { content: "The boiler was serviced in May.", userId: "ada" },
  ],
  memory_id: exampleId("mem"),
  message: "Where is the spare key?",
  metadata: { room: "hall" },
  mode: "balanced",
  model: "mneme-e5-small",
  ms: 84,
  name: "Ada Lovelace",
  plan: "enterprise",
  projectId: exampleId("prj"),
  query: "How do I get into the house?",
  redacted: "ctx_th…hing",
  retention_days: 30,
  scopes: ["memories:read", "memories:write", "query"],
  allowed_scopes: ["memories:read", "memories:write", "query"],
  score: 0.87,
  sessionId: "2026-11-21-evening",
  secret: "whsec_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ=",
  status_code: 204,
  tags: ["house", "keys"],
  title: "Spare key",
  total_results: 1,
  type: "note",
  time_zone: "Europe/Zurich",
  url: "https://app.example.com/hooks/mneme",
  used: 412,
  userId: "ada",
  webhook_id: exampleId("wh"),
};

/** Values that differ in the bodies of one group of operations. */
const BY_GROUP: Readonly<Partial<Record<Group, Readonly<Record<string, unknown>>>>> = {
  OpenAI: { input: PASSAGE, messages: [{ role: "user", content: "Where is the spare key?" }] },
  Users: { id: "ada", type: "page_view" },
  Keys: { name: "backend" },
  Projects: { name: "support bot" },
};

/** Optional fields that the example of a request includes. */
const OPTIONAL_IN_REQUESTS: readonly string[] = [
  "data",
  "description",
  "email",
  "enabled",
  "grace_seconds",
  "limit",
  "metadata",
  "mode",
  "name",
  "retention_days",
  "tags",
  "title",
  "userId",
];

/** Optional fields that the example of an answer includes: secrets, which an answer shows once. */
const OPTIONAL_IN_ANSWERS: readonly string[] = ["key", "secret"];

/** Named schemas that a `$ref` can refer to. */
export type Components = Readonly<Record<string, JsonSchema>>;

/** Where an example is used. */
export interface ExampleContext {
  readonly components: Components;
  /** Group of the operation. */
  readonly group: Group;
  /** Values by field name that follow from the operation. They take precedence over all others. */
  readonly known?: Readonly<Record<string, unknown>>;
}

/** What `exampleAt` knows at one place of an example. */
interface Place {
  readonly components: Components;
  /** Values that take precedence over `BY_NAME`. */
  readonly preset: Readonly<Record<string, unknown>>;
  /** Name of the schema that contains the field; empty outside of named schemas. */
  readonly within: string;
}

/** Makes an example that fits the schema. */
export function exampleOf(schema: JsonSchema, { components, group, known = {} }: ExampleContext): unknown {
  return exampleAt(schema, { components, preset: { ...BY_GROUP[group], ...known }, within: "" });
}

function exampleAt(schema: JsonSchema, place: Place): unknown {
  if (typeof schema.$ref === "string") {
    const within = schema.$ref.slice(SCHEMA_REFERENCE.length);
    return exampleAt(place.components[within] ?? {}, { ...place, within });
  }
  if (Array.isArray(schema.anyOf)) return exampleAt(schema.anyOf[0] as JsonSchema, place);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if ("const" in schema) return schema.const;
  switch (mainType(schema)) {
    case "object":
      return objectAt(schema, place);
    case "array":
      return [exampleAt((schema.items ?? {}) as JsonSchema, place)];
    case "string":
      return schema.format === "date-time" ? NOW : "text";
    case "integer":
    case "number":
      return schema.default ?? schema.minimum ?? 0;
    case "boolean":
      return schema.default ?? false;
    case "null":
      return null;
    default:
      return {};
  }
}

function objectAt(schema: JsonSchema, place: Place): Record<string, unknown> {
  const fields = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const required = (schema.required ?? []) as readonly string[];
  const shown = schema.additionalProperties === false ? OPTIONAL_IN_REQUESTS : OPTIONAL_IN_ANSWERS;
  return Object.fromEntries(
    fields
      .filter(([name]) => required.includes(name) || shown.includes(name))
      .map(([name, field]) => [name, fieldAt(name, field, place)]),
  );
}

function fieldAt(name: string, schema: JsonSchema, place: Place): unknown {
  const prefix = /^([a-z]+)_…/.exec(String(schema.description ?? ""))?.[1];
  if (prefix !== undefined && name !== "secret" && name !== "key") return exampleId(prefix);
  const named = [place.preset[name], BY_NAME[`${place.within}.${name}`], BY_NAME[name]]
    .map((value) => (typeof value === "object" && mainType(schema) === "string" ? JSON.stringify(value) : value))
    .find((value) => value !== undefined && fits(value, schema));
  if (named !== undefined) return named;
  return isNullable(schema) ? null : exampleAt(schema, place);
}

function fits(value: unknown, schema: JsonSchema): boolean {
  if (value === null) return isNullable(schema);
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  if ("const" in schema) return value === schema.const;
  const type = mainType(schema);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && schema.properties === undefined && !Array.isArray(value);
  return type === (Number.isInteger(value) && type === "integer" ? "integer" : typeof value);
}

function isNullable(schema: JsonSchema): boolean {
  const members = (schema.anyOf ?? []) as readonly JsonSchema[];
  return (Array.isArray(schema.type) && schema.type.includes("null")) || members.some(({ type }) => type === "null");
}

function mainType(schema: JsonSchema): unknown {
  return Array.isArray(schema.type) ? schema.type[0] : schema.type;
}
