// Stores the messages of mem0's `add`. With `infer: false`, each message becomes a memory, as in mem0. Otherwise mem0
// lets a language model write short facts; Mneme stores the messages as they are, in one memory that is read turn by
// turn.

import type { Operations } from "../../api/operation-calls.ts";
import { Fault } from "../../domain/fault.ts";
import { LIMITS } from "../../domain/limits.ts";
import type { Principal } from "../../domain/scope.ts";
import { isRecord, type JsonRecord } from "../../kit/record.ts";
import {
  booleanField,
  DETAILS,
  ENTITY_NAMES,
  type Entities,
  type EntityName,
  fieldsOf,
  given,
  objectField,
  scopeOfEntities,
  textField,
  wrong,
} from "./names.ts";

const FIELDS = [
  "messages",
  ...ENTITY_NAMES,
  "filters",
  "metadata",
  "infer",
  "timestamp",
  "expiration_date",
  "categories",
] as const;
/** Fields without effect: they shape what mem0's language model extracts, or choose a form of the answer. */
const IGNORED = [
  "custom_categories",
  "custom_instructions",
  "agent_custom_instructions",
  "includes",
  "excludes",
  "enable_graph",
  "async_mode",
  "output_format",
  "version",
  "org_id",
  "project_id",
  "org_name",
  "project_name",
  "api_version",
  "source",
] as const;

/** Fields of a memory, as createMemory takes them. */
export type Drafted = Readonly<Record<string, unknown>>;

interface Message {
  readonly role: string;
  readonly name: string | null;
  readonly content: string;
}

/**
 * Stores the messages of a request.
 * @throws Fault `invalid_request`, and that of an operation that refuses the only memory, or the whole batch
 */
export async function addMemories(body: unknown, principal: Principal, operations: Operations): Promise<Added> {
  const fields = fieldsOf(body, FIELDS, IGNORED);
  const messages = messagesOf(fields);
  const entities = entitiesOf(fields, objectField(fields, "filters") ?? {});
  requireEntity(entities, principal);
  const attributes = attributesOf(fields, entities);
  const drafts =
    booleanField(fields, "infer") === false
      ? messages.map(({ role, name, content }) => withDetails({ ...attributes, content }, { role: name ?? role }))
      : [{ ...attributes, ...conversation(messages) }];
  const [only, ...others] = drafts;
  if (only !== undefined && others.length === 0) {
    return { memories: [await operations.call("createMemory", { body: only })], errors: [] };
  }
  const { data } = await operations.call("batchCreate", { body: { memories: drafts } });
  const items = data as readonly {
    readonly index: number;
    readonly memory?: JsonRecord;
    readonly error?: JsonRecord;
  }[];
  return {
    memories: items.flatMap(({ memory }) => (memory === undefined ? [] : [memory])),
    errors: items.flatMap(({ index, error }) =>
      error === undefined ? [] : [{ index, code: error.code, detail: error.message }],
    ),
  };
}

/** Result of adding messages. */
export interface Added {
  /** Memories of the API. */
  readonly memories: readonly JsonRecord[];
  /** Messages that were refused while others were stored, such as those beyond a quota. */
  readonly errors: readonly JsonRecord[];
}

/**
 * The entities that a request names, at its top level or in `filters`.
 * @throws Fault `invalid_request` if one is named twice with different values, or is no text
 */
export function entitiesOf(...places: readonly JsonRecord[]): Entities {
  const entities: Partial<Record<EntityName, string>> = {};
  for (const fields of places) {
    for (const name of ENTITY_NAMES) {
      const value = textField(fields, name);
      if (value === undefined) continue;
      if (entities[name] !== undefined && entities[name] !== value) {
        throw new Fault("invalid_request", `'${name}' is given twice, with different values.`, { param: name });
      }
      entities[name] = value;
    }
  }
  return entities;
}

/** @throws Fault `invalid_request` if nobody is named, as mem0 does; a confined key names its user */
export function requireEntity(entities: object, principal: Principal): void {
  if (Object.keys(entities).length > 0 || principal.userId !== null) return;
  throw new Fault("invalid_request", `At least one of ${ENTITY_NAMES.join(", ")} is required.`, { param: "user_id" });
}

/** A day such as `2026-12-31` as the end of that day in UTC. @throws Fault `invalid_request` */
export function expiryOf(value: unknown): string {
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(value)) {
    throw wrong("expiration_date", "a date, such as 2026-12-31");
  }
  return `${value}T23:59:59.999Z`;
}

/** A Unix time in seconds, or ISO 8601, as the API takes it. @throws Fault `invalid_request` */
export function occurredAt(value: unknown): string {
  if (typeof value === "string") return value;
  const date = new Date(typeof value === "number" ? value * 1000 : Number.NaN);
  if (Number.isNaN(date.getTime())) throw wrong("timestamp", "a Unix time in seconds, or an ISO 8601 time");
  return date.toISOString();
}

/** A memory with details in its metadata, under the name `DETAILS`. */
export function withDetails(memory: Drafted, details: JsonRecord): Drafted {
  const metadata = isRecord(memory.metadata) ? memory.metadata : {};
  const before = isRecord(metadata[DETAILS]) ? metadata[DETAILS] : {};
  return { ...memory, metadata: { ...metadata, [DETAILS]: { ...before, ...details } } };
}

/** The caller's metadata. @throws Fault `invalid_request`, also if it uses the name `DETAILS` */
export function ownMetadata(fields: JsonRecord): JsonRecord | undefined {
  const metadata = objectField(fields, "metadata");
  if (metadata !== undefined && Object.hasOwn(metadata, DETAILS)) {
    throw new Fault("invalid_request", `'metadata.${DETAILS}' is a name that Mneme uses. Choose another one.`, {
      param: `metadata.${DETAILS}`,
    });
  }
  return metadata;
}

function attributesOf(fields: JsonRecord, entities: Entities): Drafted {
  const metadata = ownMetadata(fields);
  const [timestamp, expiry, categories] = ["timestamp", "expiration_date", "categories"].map((name) =>
    given(fields, name),
  );
  const memory: Drafted = {
    ...scopeOfEntities(entities),
    ...(metadata !== undefined && { metadata }),
    ...(timestamp !== undefined && { occurred_at: occurredAt(timestamp) }),
    ...(expiry !== undefined && { expires_at: expiryOf(expiry) }),
    ...(categories !== undefined && { tags: categories }),
  };
  const { app_id } = entities;
  return app_id === undefined ? memory : withDetails(memory, { app_id });
}

function conversation(messages: readonly Message[]): Drafted {
  const [first, ...others] = messages;
  if (first !== undefined && others.length === 0) return { content: first.content };
  const turns = messages.map(({ role, name, content }) =>
    JSON.stringify({ role, ...(name !== null && { name }), content }),
  );
  return { content: `[\n${turns.join(",\n")}\n]`, type: "conversation" };
}

function messagesOf(fields: JsonRecord): readonly Message[] {
  const value = given(fields, "messages");
  const list = typeof value === "string" ? [{ role: "user", content: value }] : value;
  if (!Array.isArray(list) || list.length === 0 || list.length > LIMITS.memoriesPerBatch) {
    throw wrong("messages", `a list of 1 to ${LIMITS.memoriesPerBatch} messages`);
  }
  return list.map((message: unknown, at) => {
    const param = `messages[${at}]`;
    if (!isRecord(message)) throw wrong(param, "an object with role and content");
    const role = textField(message, "role") ?? "user";
    const content = contentOf(given(message, "content"), `${param}.content`);
    return { role, name: textField(message, "name") ?? null, content };
  });
}

function contentOf(content: unknown, param: string): string {
  const parts = Array.isArray(content) ? content : [content];
  const texts = parts.map((part: unknown) => {
    const text = isRecord(part) && part.type === "text" ? part.text : part;
    if (typeof text === "string") return text;
    throw wrong(
      param,
      "a string; pictures and documents cannot be stored here. Use POST /v1/memories/upload for files",
    );
  });
  const text = texts.join("\n");
  if (text.trim() === "") throw wrong(param, "a text that is not blank");
  return text;
}
