// Converts between the records of an export (domain/project-export.ts) and the rows of both databases.

import {
  EXPORT_FIELDS,
  type ExportField,
  type ExportRecord,
  type ExportType,
  type RecordOf,
} from "../../domain/project-export.ts";
import { parseJson } from "../../kit/exact-json.ts";
import { LIVE } from "../rows/sql.ts";
import type { AnyRow } from "../session.ts";

type RowValue = AnyRow[string];

const userOf = (table: string) => `(SELECT users.id FROM users WHERE users.user_key = ${table}.user_key) AS user_id`;

const relationRows = <Table extends string>(table: Table, key: string) => ({
  ...{ table, key, columns: `${table}.*, memories.id AS memory_id, others.id AS other_id` },
  from: `${table} JOIN memories ON memories.memory_key = ${table}.memory_key
      JOIN memories AS others ON others.memory_key = ${table}.other_key
      WHERE ${table}.project_key = $project AND ${LIVE}
        AND others.deleted_at IS NULL AND (others.expires_at IS NULL OR others.expires_at > $now)`,
});

/**
 * The types of records that have one row per record, in the order in which they are written. For each: the table, the
 * key that orders its rows, and the FROM clause that selects those of a project. `owners` are the records whose keys
 * are columns of the table; import.ts uses them for types that need no special treatment.
 */
export const RECORD_ROWS = {
  user: {
    ...{ table: "users", key: "known_key", columns: "*" },
    from: "users WHERE project_key = $project AND known_key IS NOT NULL",
  },
  event: {
    ...{ table: "user_events", owners: ["user"], key: "event_key", columns: "user_events.*, users.id AS user_id" },
    from: "user_events JOIN users USING (user_key) WHERE users.project_key = $project",
  },
  memory: {
    ...{ table: "memories", key: "memories.memory_key" },
    columns: `memories.*, ${userOf("memories")}, memory_findings.finding, document_facts.title AS document_title, marks`,
    from: `memories
      LEFT JOIN memory_findings ON memory_findings.memory_key = memories.memory_key
        AND memory_findings.content_sha256 = memories.content_sha256
      LEFT JOIN document_facts ON document_facts.memory_key = memories.memory_key
        AND document_facts.content_sha256 = memories.content_sha256
      WHERE memories.project_key = $project AND ${LIVE}`,
  },
  relation: relationRows("relations", "relation_key"),
  earlier_text: {
    ...{ table: "earlier_texts", key: "earlier_text_key", columns: "earlier_texts.*, memories.id AS memory_id" },
    from: `earlier_texts JOIN memories USING (memory_key)
      WHERE memories.project_key = $project AND ${LIVE} AND until > 0`,
  },
  earlier_relation: relationRows("earlier_relations", "earlier_relation_key"),
  chat: {
    ...{ table: "chats", owners: ["project", "user"], key: "chat_key", columns: `chats.*, ${userOf("chats")}` },
    from: "chats WHERE project_key = $project",
  },
  message: {
    ...{ table: "messages", key: "message_key", columns: "messages.*, chats.id AS chat_id" },
    from: "messages JOIN chats USING (chat_key) WHERE chats.project_key = $project",
  },
  webhook: { table: "webhooks", key: "webhook_key", columns: "*", from: "webhooks WHERE project_key = $project" },
  entity: {
    ...{ table: "entity_notes", owners: ["project"], key: "entity_note_key", columns: "*" },
    from: "entity_notes WHERE project_key = $project",
  },
  case: {
    ...{ table: "cases", owners: ["project"], key: "case_key", columns: "*" },
    from: "cases WHERE project_key = $project",
  },
  usage: {
    ...{ table: "monthly_usage", owners: ["project"], key: "month_start", columns: "*" },
    from: "monthly_usage WHERE project_key = $project",
  },
} as const;
/** A type with a row per record. */
export type RowType = keyof typeof RECORD_ROWS;

/** For each form of a field: the functions that read its value from a column that is not null, and write it to one. */
const FORMS: Readonly<
  Record<ExportField["form"], readonly [read: (value: RowValue) => unknown, write: (value: unknown) => RowValue]>
> = {
  text: [(value) => value, (value) => value as string],
  integer: [Number, (value) => value as number],
  flag: [(value) => value === 1n, Number],
  json: [(value) => parseJson(value as string), (value) => JSON.stringify(value)],
  hex: [encodedAs("hex"), decodedFrom("hex")],
  base64: [encodedAs("base64"), decodedFrom("base64")],
  apart: [() => null, () => null],
};

function encodedAs(encoding: "hex" | "base64") {
  return (value: RowValue) => Buffer.from(value as Uint8Array).toString(encoding);
}

function decodedFrom(encoding: "hex" | "base64") {
  return (value: unknown) => Buffer.from(value as string, encoding);
}

function fieldsOf(type: ExportType): readonly (readonly [name: string, field: ExportField])[] {
  return Object.entries(EXPORT_FIELDS[type]);
}

/** Converts a row to a record of its type. Fields that are not the value of a single column are null. */
export function recordOf<Type extends ExportType>(type: Type, row: AnyRow): RecordOf<Type> {
  const record: Record<string, unknown> = { type };
  for (const [name, { form, column = name, isOptional }] of fieldsOf(type)) {
    const value = row[column] ?? null;
    if (value !== null || isOptional !== true) record[name] = value === null ? null : FORMS[form][0](value);
  }
  return record as RecordOf<Type>;
}

/** Converts a record to the columns of its row. */
export function columnsOf(record: ExportRecord): AnyRow {
  const values: Readonly<Record<string, unknown>> = { ...record };
  return Object.fromEntries(
    fieldsOf(record.type).flatMap(([name, { form, column = name }]) => {
      const value = values[name] ?? null;
      return form === "apart" ? [] : [[column, value === null ? null : FORMS[form][1](value)]];
    }),
  );
}
