// What the stores hold of a memory, a user or a project: finds the subject, counts its traces by store, and erases
// those that no other part erases. compose/forget.ts decides the order.

import { Fault } from "../../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { Archive } from "../duckdb/archive.ts";
import type { Bindings, SqliteDatabase } from "../sqlite/database.ts";
import { KEYS, keyList } from "../sqlite/memory-row.ts";
import type { SqliteStores } from "../sqlite/stores.ts";

/** What can be forgotten. */
export const SUBJECT_KINDS = ["memory", "user", "project"] as const;
/** A kind of subject. */
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** A memory, user or project that exists, or of which something is left. */
export interface Subject {
  readonly kind: SubjectKind;
  readonly id: string;
  readonly projectId: ProjectId;
  readonly projectKey: bigint;
  /** Key of the user; null for other subjects. */
  readonly userKey: bigint | null;
  /** All of its memories in any state, deleted ones included. */
  readonly memories: readonly { readonly key: MemoryKey; readonly id: string; readonly isLive: boolean }[];
}

/** Numbers of entries by store and kind of entry. */
export type Traces = Readonly<Record<string, Readonly<Record<string, number>>>>;

const PROJECTS = `SELECT project_key AS key, id FROM projects
  WHERE iif($named IS NULL, is_default = 1, id = $named OR name = $named) AND deleted_at IS NULL`;
const MEMORIES = `SELECT memory_key AS key, id, deleted_at IS NULL AS live FROM memories WHERE project_key = $project`;
const ANSWERS = `record_key IN (SELECT record_key FROM idempotency_subjects WHERE subject IN
  (SELECT value FROM json_each($ids))) AND body <> ''`;
// an event has the attributes of its memory
const EVENTS = `body ->> '$.data.id' IN (SELECT value FROM json_each($ids))
  AND (SELECT count(*) FROM json_each(body, '$.data')) > 1`;

/** Conditions by table, for the traces of memories. */
const OF_MEMORIES: Readonly<Record<string, string>> = {
  memories: `memory_key IN ${KEYS}`,
  waiting_contents: `memory_key IN ${KEYS}`,
  memory_findings: `memory_key IN ${KEYS}`,
  document_facts: `memory_key IN ${KEYS}`,
  memory_tags: `project_key = $project AND memory_key IN ${KEYS}`,
  message_sources: `memory_key IN ${KEYS}`,
  idempotency_records: ANSWERS,
  deliveries: EVENTS,
};
const OF_USER: Readonly<Record<string, string>> = {
  users: "user_key = $user",
  user_events: "user_key = $user",
  chats: "user_key = $user",
  messages: "chat_key IN (SELECT chat_key FROM chats WHERE user_key = $user)",
  api_keys: "project_key = $project AND user_id = $id",
};
const OF_PROJECT: Readonly<Record<string, string>> = {
  projects: "project_key = $project",
  users: "project_key = $project",
  user_events: "user_key IN (SELECT user_key FROM users WHERE project_key = $project)",
  chats: "project_key = $project",
  messages: "chat_key IN (SELECT chat_key FROM chats WHERE project_key = $project)",
  webhooks: "project_key = $project",
  deliveries: "webhook_key IN (SELECT webhook_key FROM webhooks WHERE project_key = $project)",
  api_keys: "project_key = $project",
  idempotency_records: "project_key = $project",
  monthly_usage: "project_key = $project",
};

/** Finds and counts traces. */
export class TraceFinder {
  constructor(
    private readonly stores: Pick<SqliteStores, "write">,
    private readonly archive: Pick<Archive, "stored">,
  ) {}

  /**
   * @param project id or name of the project of a memory or user; null: the default project
   * @throws Fault if there is no such subject
   */
  async find(kind: SubjectKind, id: string, project: string | null): Promise<Subject> {
    return this.stores.write((database) => {
      const named = kind === "project" ? id : project;
      const found = database.prepare<{ key: bigint; id: string }, { named: string | null }>(PROJECTS).all({ named });
      const [first, second] = found;
      if (first === undefined) throw new Fault("project_not_found", `There is no project ${JSON.stringify(named)}.`);
      if (second !== undefined) {
        throw new Fault("invalid_request", `${JSON.stringify(named)} is the name of several projects: use an id.`);
      }
      const userKey = kind === "user" ? userKeyOf(database, first.key, id) : null;
      const where = { memory: "AND id = $id", user: "AND user_key = $user", project: "" }[kind];
      const values = {
        project: first.key,
        ...(kind === "memory" && { id }),
        ...(kind === "user" && { user: userKey }),
      };
      const memories = database
        .prepare<{ key: bigint; id: string; live: bigint }, Bindings>(`${MEMORIES} ${where}`)
        .all(values)
        .map((row) => ({ key: row.key as MemoryKey, id: row.id, isLive: row.live === 1n }));
      if (kind === "memory" && memories.length === 0) {
        throw new Fault("memory_not_found", `There is no memory ${id} in project ${first.id}, not even a deleted one.`);
      }
      const projectId = first.id as ProjectId;
      return { kind, id: kind === "project" ? projectId : id, projectId, projectKey: first.key, userKey, memories };
    });
  }

  /** Traces by store. The index has one entry per chunk. */
  async count(subject: Subject): Promise<Traces> {
    const keys = subject.memories.map(({ key }) => key);
    const rows = await this.stores.write((database) => countRows(database, subject));
    const texts = { texts: 0, chunks: 0 };
    for (let first = 0; first < keys.length; first += 500) {
      const stored = await this.archive.stored(keys.slice(first, first + 500));
      texts.texts += stored.size;
      for (const { chunks } of stored.values()) texts.chunks += chunks.length;
    }
    const uploads = await this.stores.write((database) => countFiles(database, keys));
    return { "mneme.sqlite": rows, "memories.duckdb": texts, uploads: { files: uploads } };
  }

  /** Number of answers in chats that were made with these memories as sources. Their text is not a trace. */
  async answersFrom({ memories }: Subject): Promise<number> {
    const sql = `SELECT count(DISTINCT message_key) AS n FROM message_sources WHERE memory_key IN ${KEYS}`;
    const values = { keys: keyList(memories.map(({ key }) => key)) };
    return this.stores.write((database) => Number(database.prepare<{ n: bigint }, Bindings>(sql).get(values)?.n ?? 0n));
  }

  /** Ends the retention of memories that are deleted, and erases what their events tell besides the id. */
  async endRetention({ memories, projectKey }: Subject): Promise<void> {
    const values = idsOf(memories, projectKey);
    await this.stores.write((database) => {
      database
        .prepare<never, { keys: string }>(
          `UPDATE memories SET is_purge_asked = 1 WHERE memory_key IN ${KEYS} AND deleted_at IS NOT NULL`,
        )
        .run({ keys: values.keys });
      database
        .prepare<never, { ids: string }>(
          `UPDATE deliveries SET body = json_set(body, '$.data', json_object('id', body ->> '$.data.id')) WHERE ${EVENTS}`,
        )
        .run({ ids: values.ids });
    });
  }

  /**
   * Erases the row of a user and the keys that are confined to it. Its memories, chats and events are erased before.
   */
  async eraseUser({ userKey: user, projectKey: project, id }: Subject): Promise<void> {
    await this.stores.write((database) => {
      const confined = "project_key = $project AND user_id = $id";
      for (const table of ["api_keys", "idempotency_records"]) {
        database.prepare<never, Bindings>(`DELETE FROM ${table} WHERE ${confined}`).run({ project, id });
      }
      database.prepare<never, Bindings>("DELETE FROM users WHERE user_key = $user").run({ user });
    });
  }
}

function userKeyOf(database: SqliteDatabase, project: bigint, id: string): bigint {
  const sql = "SELECT user_key AS key FROM users WHERE project_key = $project AND id = $id";
  const found = database.prepare<{ key: bigint }, Bindings>(sql).get({ project, id });
  if (found === null) throw new Fault("user_not_found", `There is no user ${JSON.stringify(id)} in this project.`);
  return found.key;
}

function countRows(database: SqliteDatabase, subject: Subject): Readonly<Record<string, number>> {
  const { kind, projectKey: project, userKey: user, id, memories } = subject;
  const further: Readonly<Record<string, string>> = { memory: {}, user: OF_USER, project: OF_PROJECT }[kind];
  const known: Bindings = { ...idsOf(memories, project), user, id };
  const counts = new Map<string, number>();
  for (const [table, where] of Object.entries({ ...OF_MEMORIES, ...further })) {
    const values = Object.fromEntries(Object.entries(known).filter(([name]) => where.includes(`$${name}`)));
    const row = database
      .prepare<{ n: bigint }, Bindings>(`SELECT count(*) AS n FROM ${table} WHERE ${where}`)
      .get(values);
    counts.set(table, Number(row?.n ?? 0n));
  }
  return Object.fromEntries(counts);
}

function countFiles(database: SqliteDatabase, keys: readonly bigint[]): number {
  const sql = `SELECT count(*) AS n FROM memories WHERE memory_key IN ${KEYS} AND source ->> '$.file' IS NOT NULL`;
  return Number(database.prepare<{ n: bigint }, Bindings>(sql).get({ keys: keyList(keys) })?.n ?? 0n);
}

function idsOf(memories: Subject["memories"], project: bigint) {
  return {
    project,
    keys: keyList(memories.map(({ key }) => key)),
    ids: JSON.stringify(memories.map(({ id }) => id)),
  };
}
