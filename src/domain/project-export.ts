// The format of exported projects: one JSON object per line. docs/backup.md describes it for users. Stores write and
// read the records (adapters/embedded/keeping), commands check files (cli).

import { isRecord } from "../kit/record.ts";
import { isId } from "./ids.ts";
import type { ExtractedField, Extraction, FailureCode, JsonObject, MemorySource } from "./memory.ts";
import { EXTRACTED_FIELDS } from "./memory.ts";
import { PLAN_NAMES, type Plan, type ProjectSettings } from "./project.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "./webhook.ts";

/**
 * Name and version of the format, in the first line of each file. A change that older readers misread is a new version.
 */
export const EXPORT_FORMAT = "mneme-export";
/** Newest version of the format that this program writes and reads. */
export const EXPORT_VERSION = 1;

/** Types of the records between the first and the last line, in the order in which they are written. */
export const EXPORT_TYPES = [
  "project",
  "user",
  "event",
  "memory",
  "file",
  "vectors",
  "chat",
  "message",
  "webhook",
  "usage",
] as const;
/** Type of a record. */
export type ExportType = (typeof EXPORT_TYPES)[number];

/**
 * The first line. `exported_at` and `mneme` are the only fields that differ between two exports of the same project.
 */
export interface ExportHeader {
  readonly type: "header";
  readonly format: typeof EXPORT_FORMAT;
  readonly version: number;
  /** Version of Mneme that wrote the file. */
  readonly mneme: string;
  readonly exported_at: string;
  /** Number of records by type, `file` and `vectors` excepted. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The last line. A file without it is incomplete. */
export interface ExportEnd {
  readonly type: "end";
  /** Number of lines between the first and the last one. */
  readonly lines: number;
  /** SHA-256 of these lines with their line ends, in hexadecimal digits. */
  readonly sha256: string;
}

/** Settings without the key of the language model, and without the permission that only an admin's choice gives. */
export type ExportedSettings = Omit<ProjectSettings, "llm"> & {
  readonly llm: Omit<ProjectSettings["llm"], "api_key" | "is_address_trusted">;
};

/** A project without its API keys. Always the first record. */
export interface ExportedProject {
  readonly type: "project";
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly created_at: number;
  readonly settings: ExportedSettings;
}

/** A known user. */
export interface ExportedUser {
  readonly type: "user";
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly metadata: JsonObject | null;
  readonly created_at: number;
}

/** An event of a user. */
export interface ExportedEvent {
  readonly type: "event";
  readonly id: string;
  readonly userId: string;
  readonly event: string;
  readonly data: JsonObject;
  readonly created_at: number;
}

/** A memory that is neither deleted nor expired. */
export interface ExportedMemory {
  readonly type: "memory";
  readonly id: string;
  readonly status: "processing" | "completed" | "failed";
  /** Empty for a file that has not been read; the file follows in records of type `file`. */
  readonly content: string;
  readonly content_sha256: string;
  readonly title: string | null;
  /** The attribute `type` of the memory. */
  readonly kind: string | null;
  readonly tags: readonly string[] | null;
  readonly language: string | null;
  /** Which of title, type, tags and language a caller gave. */
  readonly given: readonly ExtractedField[];
  readonly extraction: Extraction | null;
  readonly metadata: JsonObject | null;
  readonly userId: string | null;
  /** Absent if the memory belongs to no agent, as in files of versions that knew none. */
  readonly agentId?: string;
  /** Absent if the memory belongs to no session. */
  readonly sessionId?: string;
  readonly externalId: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number | null;
  readonly occurred_at: number | null;
  readonly source: MemorySource | null;
  readonly has_file: boolean;
  readonly error: { readonly code: FailureCode; readonly message: string } | null;
  readonly tokens: { readonly prompt: number; readonly completion: number };
  /** What a language model extracted, as it is stored; null if none did. */
  readonly llm_extraction: JsonObject | null;
  /** Title and place marks of the file that was read; null if there was none. */
  readonly document: { readonly title: string | null; readonly marks: readonly JsonObject[] } | null;
}

/** A part of an uploaded file that has not been read yet. It follows the record of its memory. */
export interface ExportedFile {
  readonly type: "file";
  readonly memory_id: string;
  /** Position of the part in bytes. */
  readonly offset: number;
  /** Base 64. */
  readonly data: string;
}

/**
 * Vectors of consecutive chunks of a completed memory, by the live model of its project. They follow the record of
 * their memory, in the order of its chunks.
 */
export interface ExportedVectors {
  readonly type: "vectors";
  readonly memory_id: string;
  /** Fingerprint of the model. */
  readonly model: string;
  readonly dimensions: number;
  /** SHA-256 of the texts that the model read of all chunks of the memory, in hexadecimal digits. */
  readonly inputs_sha256: string;
  /** Position of the first of these chunks in the memory. */
  readonly first: number;
  /** Base 64 of the components: 32-bit floats, little-endian. */
  readonly data: string;
}

/** A chat without its messages. */
export interface ExportedChat {
  readonly type: "chat";
  readonly id: string;
  readonly userId: string | null;
  /** Absent if the chat is limited to no agent. */
  readonly agentId?: string;
  /** Absent if the chat is limited to no session. */
  readonly sessionId?: string;
  readonly title: string | null;
  readonly created_at: number;
}

/** A message with those sources whose memories are in the file. */
export interface ExportedMessage {
  readonly type: "message";
  readonly id: string;
  readonly chat_id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly is_interrupted: boolean;
  /** Number of sources when the message was stored; see `turns` in ports/chat-store.ts. */
  readonly source_count: number;
  readonly sources: readonly {
    readonly position: number;
    readonly memory_id: string;
    readonly shown: JsonObject;
  }[];
  readonly created_at: number;
}

/** A webhook without its secret and its deliveries. */
export interface ExportedWebhook {
  readonly type: "webhook";
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description: string | null;
  readonly is_enabled: boolean;
  readonly created_at: number;
}

/** Queries and tokens of a calendar month (UTC). */
export interface ExportedUsage {
  readonly type: "usage";
  readonly month_start: number;
  readonly queries: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** A record of an export. Times are Unix milliseconds. */
export type ExportRecord =
  | ExportedProject
  | ExportedUser
  | ExportedEvent
  | ExportedMemory
  | ExportedFile
  | ExportedVectors
  | ExportedChat
  | ExportedMessage
  | ExportedWebhook
  | ExportedUsage;

/** The file is not an export that this program can import. `message` is one sentence without the line number. */
export class ExportError extends Error {
  override readonly name = "ExportError";
}

/** Whether the first line of a file says that it is an export, of any version. */
export function isExportHeader(line: string): boolean {
  return /^\s*\{\s*"type"\s*:\s*"header"/.test(line) && line.includes(EXPORT_FORMAT);
}

/** @throws ExportError if the line is not the header of a file that this program can read */
export function parseExportHeader(line: string): ExportHeader {
  const value = parseObject(line);
  if (value.type !== "header" || value.format !== EXPORT_FORMAT) {
    throw new ExportError(`this is not an export of Mneme: the first line must have "format": "${EXPORT_FORMAT}"`);
  }
  if (value.version !== EXPORT_VERSION) {
    const found = JSON.stringify(value.version);
    throw new ExportError(
      `the file has version ${found} of the format, and this program reads version ${EXPORT_VERSION}: use a version of Mneme that reads it (it was written by ${JSON.stringify(value.mneme)})`,
    );
  }
  return value as unknown as ExportHeader;
}

/** The last line as an end; null if it is a record. @throws ExportError if the line is no JSON object */
export function parseExportEnd(line: string): ExportEnd | null {
  const value = parseObject(line);
  return value.type === "end" ? (value as unknown as ExportEnd) : null;
}

/** @throws ExportError that names the field that is wrong */
export function parseExportRecord(line: string): ExportRecord {
  const value = parseObject(line);
  const type = EXPORT_TYPES.find((known) => known === value.type);
  if (type === undefined) throw new ExportError(`there is no record type ${JSON.stringify(value.type)}`);
  const fields: Readonly<Record<string, Check>> = FIELDS[type];
  for (const [name, check] of Object.entries(fields)) {
    if (!Object.hasOwn(value, name)) {
      if (check.isOptional === true) continue;
      throw new ExportError(`a record of type ${type} lacks the field '${name}'`);
    }
    if (!check.test(value[name])) throw new ExportError(`'${name}' of a record of type ${type} must be ${check.what}`);
  }
  const surplus = Object.keys(value).find((name) => name !== "type" && !Object.hasOwn(fields, name));
  if (surplus !== undefined) throw new ExportError(`a record of type ${type} has no field ${JSON.stringify(surplus)}`);
  return value as unknown as ExportRecord;
}

interface Check {
  readonly what: string;
  readonly test: (value: unknown) => boolean;
  readonly isOptional?: boolean;
}

const text: Check = { what: "a text", test: (value) => typeof value === "string" };
const flag: Check = { what: "true or false", test: (value) => typeof value === "boolean" };
const count: Check = {
  what: "an integer of at least 0",
  test: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
};
const object: Check = { what: "an object", test: isRecord };
const sha256: Check = {
  what: "64 hexadecimal digits",
  test: (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value),
};
const orNull = ({ what, test }: Check): Check => ({
  what: `${what} or null`,
  test: (value) => value === null || test(value),
});
const optional = (check: Check): Check => ({ ...check, isOptional: true });
const listOf = ({ what, test }: Check): Check => ({
  what: `a list, each item ${what}`,
  test: (value) => Array.isArray(value) && value.every(test),
});
const oneOf = (names: readonly string[]): Check => ({
  what: `one of ${names.join(", ")}`,
  test: (value) => typeof value === "string" && names.includes(value),
});
const idOf = (prefix: Parameters<typeof isId>[0]): Check => ({
  what: `an id that begins with ${prefix}_`,
  test: (value) => typeof value === "string" && isId(prefix, value),
});
const withFields = (fields: Readonly<Record<string, Check>>): Check => ({
  what: `an object with ${Object.entries(fields)
    .map(([name, { what }]) => `'${name}' (${what})`)
    .join(", ")}`,
  test: (value) => isRecord(value) && Object.entries(fields).every(([name, { test }]) => test(value[name])),
});

const FIELDS: { readonly [Type in ExportType]: Readonly<Record<string, Check>> } = {
  project: {
    id: idOf("prj"),
    name: text,
    plan: oneOf(PLAN_NAMES),
    created_at: count,
    settings: withFields({ llm: object, smart_ingestion: object, retention_days: count, default_mode: text }),
  },
  user: { id: text, name: orNull(text), email: orNull(text), metadata: orNull(object), created_at: count },
  event: { id: idOf("evt"), userId: text, event: text, data: object, created_at: count },
  memory: {
    id: idOf("mem"),
    status: oneOf(["processing", "completed", "failed"]),
    content: text,
    content_sha256: sha256,
    title: orNull(text),
    kind: orNull(text),
    tags: orNull(listOf(text)),
    language: orNull(text),
    given: listOf(oneOf(EXTRACTED_FIELDS)),
    extraction: orNull(oneOf(["caller", "llm", "local"])),
    metadata: orNull(object),
    userId: orNull(text),
    agentId: optional(text),
    sessionId: optional(text),
    externalId: orNull(text),
    created_at: count,
    updated_at: count,
    expires_at: orNull(count),
    occurred_at: orNull({ what: "an integer", test: Number.isSafeInteger }),
    source: orNull(withFields({ filename: text, media_type: text, bytes: count })),
    has_file: flag,
    error: orNull(withFields({ code: oneOf(["unreadable_document", "processing_error"]), message: text })),
    tokens: withFields({ prompt: count, completion: count }),
    llm_extraction: orNull(object),
    document: orNull(withFields({ title: orNull(text), marks: listOf(object) })),
  },
  file: { memory_id: idOf("mem"), offset: count, data: text },
  vectors: { memory_id: idOf("mem"), model: text, dimensions: count, inputs_sha256: sha256, first: count, data: text },
  chat: {
    id: idOf("chat"),
    userId: orNull(text),
    agentId: optional(text),
    sessionId: optional(text),
    title: orNull(text),
    created_at: count,
  },
  message: {
    id: idOf("msg"),
    chat_id: idOf("chat"),
    role: oneOf(["user", "assistant"]),
    content: text,
    is_interrupted: flag,
    source_count: count,
    sources: listOf(withFields({ position: count, memory_id: idOf("mem"), shown: object })),
    created_at: count,
  },
  webhook: {
    id: idOf("wh"),
    url: text,
    events: listOf(oneOf(WEBHOOK_EVENTS)),
    description: orNull(text),
    is_enabled: flag,
    created_at: count,
  },
  usage: { month_start: count, queries: count, prompt_tokens: count, completion_tokens: count },
};

function parseObject(line: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new ExportError("this is not valid JSON: the file is damaged or incomplete", { cause });
  }
  if (!isRecord(value)) throw new ExportError("this is not a JSON object");
  return value;
}
