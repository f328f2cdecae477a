// The format of exported projects: one JSON object per line. docs/backup.md describes it for users. The stores write
// and read the records, commands check files.

import { parseJson } from "../kit/exact-json.ts";
import { isRecord } from "../kit/record.ts";
import { ANSWER_STATES } from "./answer-state.ts";
import { isId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { FailureCode, MemorySource } from "./memory.ts";
import {
  ATTRIBUTES,
  type AttributeName,
  type AttributesWith,
  type AttributeType,
  EXTRACTED_FIELDS,
  type ExportedName,
  type MemoryAttribute,
  type MemoryAttributes,
  type ScopeName,
} from "./memory-attributes.ts";
import { type LlmSettingsWithoutKeys, PLAN_NAMES, type ProjectSettings } from "./project.ts";
import { MODE_NAMES } from "./ranking.ts";
import { RELATION_KINDS } from "./relation.ts";
import { WEBHOOK_EVENTS } from "./webhook.ts";

/** Name of the format, in the first line of each file. */
export const EXPORT_FORMAT = "mneme-export";
/**
 * Newest version of the format that this program writes and reads. A change that older readers misread is a new
 * version.
 */
export const EXPORT_VERSION = 2;
/** Files of this version lack records of relations. */
const VERSION_WITHOUT_RELATIONS = 1;

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

/** Settings without the keys of language models. */
export type ExportedSettings = Omit<ProjectSettings, "llm"> & { readonly llm: LlmSettingsWithoutKeys };

/** A field of the records of one type. */
export interface ExportField<Value = unknown> {
  /** What a value must be, for messages. */
  readonly what: string;
  readonly test: (value: unknown) => value is Value;
  /** How a column stores the value. apart: no single column has it. */
  readonly form: "text" | "integer" | "flag" | "json" | "hex" | "base64" | "apart";
  /** Name of the column, if it is not that of the field. */
  readonly column?: string;
  /** Left out where it is null, because files of versions that did not know it lack it. */
  readonly isOptional?: true;
}

const field = <Value>(
  form: ExportField["form"],
  what: string,
  test: (value: unknown) => boolean,
): ExportField<Value> => ({ form, what, test: test as ExportField<Value>["test"] });
const entityHash = field<string>(
  "text",
  "16 hexadecimal digits",
  (value) => typeof value === "string" && /^[0-9a-f]{16}$/.test(value),
);
const text = field<string>("text", "a text", (value) => typeof value === "string");
const flag = field<boolean>("flag", "true or false", (value) => typeof value === "boolean");
const isInteger = (value: unknown) => Number.isSafeInteger(value);
const integer = field<number>("integer", "an integer", isInteger);
const count = field<number>("integer", "an integer of at least 0", (value) => isInteger(value) && Number(value) >= 0);
const object = field<JsonObject>("json", "an object", isRecord);
const sha256 = field<string>(
  "text",
  "64 hexadecimal digits",
  (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value),
);
const orNull = <Value>({ what, test, ...of }: ExportField<Value>): ExportField<Value | null> => ({
  ...of,
  what: `${what} or null`,
  test: (value) => value === null || test(value),
});
const listOf = <Value>({ what, test }: ExportField<Value>) =>
  field<readonly Value[]>("json", `a list, each item ${what}`, (value) => Array.isArray(value) && value.every(test));
const oneOf = <Name extends string>(names: readonly Name[]) =>
  field<Name>("text", `one of ${names.join(", ")}`, (value) => names.some((name) => name === value));
const idOf = (prefix: Parameters<typeof isId>[0]) =>
  field<string>(
    "text",
    `an id that begins with ${prefix}_`,
    (value) => typeof value === "string" && isId(prefix, value),
  );
const withFields = <Value extends object>(fields: Readonly<Record<string, ExportField>>) =>
  field<Value>(
    "json",
    `an object with ${Object.entries(fields)
      .map(([name, { what }]) => `'${name}' (${what})`)
      .join(", ")}`,
    (value) => isRecord(value) && Object.entries(fields).every(([name, { test }]) => test(value[name])),
  );
const column = <Of extends ExportField>(name: string, of: Of) => ({ ...of, column: name });
const apart = <Of extends ExportField>(of: Of): Of => ({ ...of, form: "apart" });

/** How exports write an attribute, by its type. */
const ATTRIBUTE_FIELDS: { readonly [Type in AttributeType]: ExportField } = {
  ...{ text, id: text, language: text, texts: listOf(text), object, time: integer, future: count },
};
/** The fields of attributes of memories, by their names in exports. */
type AttributeFields<Names extends AttributeName> = {
  readonly [Name in Names as ExportedName<Name>]: Name extends AttributesWith<{ readonly inExports: "since later" }>
    ? ExportField<NonNullable<MemoryAttributes[Name]>> & { readonly isOptional: true }
    : ExportField<MemoryAttributes[Name]>;
};
const attributeField = ({ type, setBy, inExports, column }: MemoryAttribute): ExportField => {
  if (setBy === "server") return { ...count, column };
  const of = { ...ATTRIBUTE_FIELDS[type], column };
  return inExports === "always" ? orNull(of) : { ...of, isOptional: true };
};
const attributeFields = (attributes: readonly (typeof ATTRIBUTES)[number][]) =>
  Object.fromEntries(
    attributes.map((attribute) => [attribute.exportedAs ?? attribute.name, attributeField(attribute)]),
  );
type Exported = Exclude<AttributeName, AttributesWith<{ readonly inExports: "never" }>>;
const ofMemory = attributeFields(
  ATTRIBUTES.filter(({ inExports }) => inExports !== "never"),
) as AttributeFields<Exported>;
const ofScope = attributeFields(ATTRIBUTES.filter(({ isScope }) => isScope)) as AttributeFields<ScopeName>;

const OF_RELATION = {
  memory_id: apart(idOf("mem")),
  other_id: apart(idOf("mem")),
  kind: oneOf(RELATION_KINDS),
  state: oneOf(["active", "suggested"]),
  by: column("made_by", oneOf(["rule", "model", "llm", "person"])),
  /** In thousandths. */
  confidence: orNull(count),
  /** Ordinals of the passages. */
  own_passage: orNull(count),
  other_passage: orNull(count),
  evidence: orNull(object),
  created_at: count,
  /** Id of the key with which a person set it. */
  set_by: { ...text, isOptional: true },
} as const;

/** The fields of each type, in the order in which they are written. Times are Unix milliseconds. */
export const EXPORT_FIELDS = {
  /** A project without its API keys. Always the first record. */
  project: {
    id: idOf("prj"),
    name: text,
    plan: oneOf(PLAN_NAMES),
    created_at: count,
    /** Since when earlier texts and relations are complete. */
    history_since: { ...count, isOptional: true },
    settings: withFields<ExportedSettings>({
      llm: object,
      smart_ingestion: object,
      retention_days: count,
      default_mode: text,
    }),
  },
  /** A known user. */
  user: {
    id: text,
    name: orNull(text),
    email: orNull(text),
    metadata: orNull(object),
    time_zone: { ...text, isOptional: true },
    created_at: count,
  },
  event: {
    id: idOf("evt"),
    userId: column("user_id", text),
    event: column("type", text),
    data: object,
    created_at: count,
  },
  /** A memory that is neither deleted nor expired. */
  memory: {
    id: idOf("mem"),
    status: oneOf(["processing", "completed", "failed"]),
    /** Empty for a file that has not been read; the file follows in records of type `file`. */
    content: apart(text),
    content_sha256: { ...sha256, form: "hex" },
    ...ofMemory,
    /** Which attributes a caller gave. */
    given: listOf(oneOf(EXTRACTED_FIELDS)),
    extraction: orNull(oneOf(["caller", "llm", "local"])),
    /** Number of the text, time when it replaced another one, id of the key that sent it. */
    text_version: { ...count, isOptional: true },
    text_since: { ...count, isOptional: true },
    text_by: { ...text, isOptional: true },
    source: orNull(withFields<MemorySource>({ filename: text, media_type: text, bytes: count })),
    has_file: apart(flag),
    /** Whether the file is kept after it was read. It follows in records of type `file`, as one that was not read. */
    kept_file: { ...apart(flag), isOptional: true },
    error: apart(
      orNull(
        withFields<{ readonly code: FailureCode; readonly message: string }>({
          code: oneOf(["unreadable_document", "processing_error"]),
          message: text,
        }),
      ),
    ),
    tokens: apart(
      withFields<{ readonly prompt: number; readonly completion: number }>({ prompt: count, completion: count }),
    ),
    /** What a language model extracted, as it is stored; null if none did. */
    llm_extraction: apart(orNull(object)),
    /** Title and place marks of the file that was read; null if there was none. */
    document: apart(
      orNull(
        withFields<{ readonly title: string | null; readonly marks: readonly JsonObject[] }>({
          title: orNull(text),
          marks: listOf(object),
        }),
      ),
    ),
  },
  /**
   * A part of an uploaded file that has not been read yet or is kept, after the record of its memory. `offset` is its
   * position in bytes, `data` is in base 64.
   */
  file: { memory_id: idOf("mem"), offset: count, data: text },
  /**
   * Vectors of consecutive chunks of a completed memory, by the live model of its project. They follow the record of
   * their memory, in the order of its chunks.
   */
  vectors: {
    memory_id: idOf("mem"),
    /** Fingerprint of the model. */
    model: column("fingerprint", text),
    dimensions: apart(count),
    /** SHA-256 of the texts that the model read of all chunks of the memory. */
    inputs_sha256: sha256,
    /** Position of the first of these chunks in the memory. */
    first: column("first_chunk", count),
    /** Base 64 of the components: 32-bit floats, little-endian. */
    data: column("vectors", { ...text, form: "base64" }),
  },
  /**
   * A relation between two memories of the file (domain/relation.ts). If a person set it, `confidence`, the passages
   * and `evidence` are null.
   */
  relation: OF_RELATION,
  /** A text that a memory of the file had from `since` until `until`. */
  earlier_text: {
    memory_id: apart(idOf("mem")),
    version: column("text_version", count),
    content: apart(text),
    passages: count,
    since: count,
    until: count,
    by: column("text_by", { ...text, isOptional: true as const }),
  },
  /** A relation that was removed, and the id of the key that did so. */
  earlier_relation: { ...OF_RELATION, removed_at: count, removed_by: { ...text, isOptional: true } },
  /** A chat without its messages. */
  chat: { id: idOf("chat"), ...ofScope, title: orNull(text), created_at: count },
  /** A message with those sources whose memories are in the file. */
  message: {
    id: idOf("msg"),
    chat_id: idOf("chat"),
    role: oneOf(["user", "assistant"]),
    content: text,
    is_interrupted: flag,
    answer_state: { ...oneOf(ANSWER_STATES), isOptional: true },
    failure: { ...text, isOptional: true },
    /** Number of sources when the message was stored; see `turns` in ports/chat-store.ts. */
    source_count: count,
    sources: apart(
      listOf(
        withFields<{ readonly position: number; readonly memory_id: string; readonly shown: JsonObject }>({
          position: count,
          memory_id: idOf("mem"),
          shown: object,
        }),
      ),
    ),
    created_at: count,
  },
  /** A webhook without its secret and its deliveries. */
  webhook: {
    id: idOf("wh"),
    url: text,
    events: listOf(oneOf(WEBHOOK_EVENTS)),
    description: orNull(text),
    is_enabled: flag,
    created_at: count,
  },
  /** What a person said of an entity. Entities are hashes: 16 hexadecimal digits. */
  entity: { entity: entityHash, name: orNull(text), merged_into: orNull(entityHash), updated_at: count },
  /** A question with the memories that a search should find; null: none should be found. */
  case: {
    id: idOf("case"),
    query: text,
    userId: column("user_id", orNull(text)),
    mode: orNull(oneOf(MODE_NAMES)),
    memory_ids: orNull(listOf(idOf("mem"))),
    created_at: count,
  },
  /** Queries and tokens of a calendar month (UTC). */
  usage: { month_start: count, queries: count, prompt_tokens: count, completion_tokens: count },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExportField>>>>;

/** Type of a record. */
export type ExportType = keyof typeof EXPORT_FIELDS;
/** Types of the records between the first and the last line, in the order in which they are written. */
export const EXPORT_TYPES = Object.keys(EXPORT_FIELDS) as readonly ExportType[];

type Fields<Type extends ExportType> = (typeof EXPORT_FIELDS)[Type];
type ValueOf<Field> = Field extends ExportField<infer Value> ? Value : never;
type OptionalIn<Of> = { [Name in keyof Of]: Of[Name] extends { readonly isOptional: true } ? Name : never }[keyof Of];

/** A record of one of these types. */
export type RecordOf<Type extends ExportType> = Type extends ExportType
  ? { readonly type: Type } & {
      readonly [Name in Exclude<keyof Fields<Type>, OptionalIn<Fields<Type>>>]: ValueOf<Fields<Type>[Name]>;
    } & { readonly [Name in OptionalIn<Fields<Type>>]?: ValueOf<Fields<Type>[Name]> }
  : never;

/** A record of an export. */
export type ExportRecord = RecordOf<ExportType>;

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
  if (value.version !== EXPORT_VERSION && value.version !== VERSION_WITHOUT_RELATIONS) {
    const found = JSON.stringify(value.version);
    throw new ExportError(
      `the file has version ${found} of the format, and this program reads versions ${VERSION_WITHOUT_RELATIONS} and ${EXPORT_VERSION}: use a version of Mneme that reads it (it was written by ${JSON.stringify(value.mneme)})`,
    );
  }
  return value as unknown as ExportHeader;
}

/** Parses the last line; null if the line is a record. @throws ExportError if the line is no JSON object */
export function parseExportEnd(line: string): ExportEnd | null {
  const value = parseObject(line);
  return value.type === "end" ? (value as unknown as ExportEnd) : null;
}

/** @throws ExportError that names the field that is wrong */
export function parseExportRecord(line: string): ExportRecord {
  const value = parseObject(line);
  const type = EXPORT_TYPES.find((known) => known === value.type);
  if (type === undefined) throw new ExportError(`there is no record type ${JSON.stringify(value.type)}`);
  const fields: Readonly<Record<string, ExportField>> = EXPORT_FIELDS[type];
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

function parseObject(line: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch (cause) {
    throw new ExportError("this is not valid JSON: the file is damaged or incomplete", { cause });
  }
  if (!isRecord(value)) throw new ExportError("this is not a JSON object");
  return value;
}
