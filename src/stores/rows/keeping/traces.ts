// What the stores hold of a memory, a user or a project: finds the subject, counts its traces by store, and erases
// those that no other part erases. compose/forget.ts decides the order.

import { Fault } from "../../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import { userSubject } from "../../../ports/idempotency-store.ts";
import type { TextArchive } from "../../../ports/text-archive.ts";
import { keptFileOf } from "../memory-file.ts";
import { listOf, type RowParams, type RowWriter, type WriteRows } from "./row-access.ts";

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

const PROJECTS = `SELECT project_key AS key, id FROM projects WHERE deleted_at IS NULL
  AND CASE WHEN CAST($named AS TEXT) IS NULL THEN is_default = 1 ELSE id = $named OR name = $named END`;
const MEMORIES = `SELECT memory_key AS key, id, deleted_at FROM memories WHERE project_key = $project`;
const REMOVE_RETENTION = ({ keys }: RowWriter) =>
  `UPDATE memories SET is_purge_asked = 1 WHERE memory_key IN ${keys} AND deleted_at IS NOT NULL`;

/** Conditions by table, for the traces of memories. */
function ofMemories({ keys, ids, dialect }: RowWriter): Readonly<Record<string, string>> {
  const own = `memory_key IN ${keys}`;
  return {
    ...{ memories: own, waiting_contents: own, memory_findings: own, document_facts: own },
    imported_vectors: own,
    memory_tags: `project_key = $project AND ${own}`,
    message_sources: own,
    idempotency_records: `record_key IN (SELECT record_key FROM idempotency_subjects WHERE subject IN ${ids}) AND body <> ''`,
    // an event has the attributes of its memory, until that is erased
    deliveries: `memory_id IN ${ids}`,
    ...(dialect === "postgres" && { publication_parts: own, publication_vectors: own }),
  };
}

const OF_USER: Readonly<Record<string, string>> = {
  users: "user_key = $user",
  user_events: "user_key = $user",
  chats: "user_key = $user",
  messages: "chat_key IN (SELECT chat_key FROM chats WHERE user_key = $user)",
  api_keys: "project_key = $project AND user_id = $id",
  deletions: "project_key = $project AND user_id = $id",
};
/** Answers to keys that are confined to the user. */
const OF_USER_KEYS = "(project_key = $project AND user_id = $id)";
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
  deletions: "project_key = $project",
};

/** Names of the stores in the counts. */
export interface StoreNames {
  readonly rows: string;
  readonly texts: string;
}

/** Finds and counts traces. */
export class TraceFinder {
  constructor(
    private readonly write: WriteRows,
    private readonly archive: Pick<TextArchive, "stored">,
    private readonly names: StoreNames,
  ) {}

  /**
   * @param project id or name of the project of a memory or user; null: the default project
   * @throws Fault `project_not_found`, `user_not_found` or `memory_not_found`; `invalid_request` for the name of
   *   several projects
   */
  async find(kind: SubjectKind, id: string, project: string | null): Promise<Subject> {
    return this.write(async (rows) => {
      const named = kind === "project" ? id : project;
      const found = await rows.all<{ readonly key: bigint; readonly id: string }>(PROJECTS, { named });
      const [first, second] = found;
      if (first === undefined) throw new Fault("project_not_found", `There is no project ${JSON.stringify(named)}.`);
      if (second !== undefined) {
        throw new Fault("invalid_request", `${JSON.stringify(named)} is the name of several projects: use an id.`);
      }
      const userKey = kind === "user" ? await userKeyOf(rows, first.key, id) : null;
      const where = { memory: "AND id = $id", user: "AND user_key = $user", project: "" }[kind];
      type Row = { readonly key: MemoryKey; readonly id: string; readonly deleted_at: bigint | null };
      const owned = await rows.all<Row>(`${MEMORIES} ${where}`, { project: first.key, id, user: userKey });
      const memories = owned.map((row) => ({ key: row.key, id: row.id, isLive: row.deleted_at === null }));
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
    const rows = await this.write((session) => countRows(session, subject));
    const texts = { texts: 0, chunks: 0 };
    for (let first = 0; first < keys.length; first += 500) {
      const stored = await this.archive.stored(keys.slice(first, first + 500));
      texts.texts += stored.size;
      for (const { chunks } of stored.values()) texts.chunks += chunks.length;
    }
    const uploads = { files: await this.write((session) => countFiles(session, keys)) };
    const { rows: ofRows, texts: ofTexts } = this.names;
    if (ofRows === ofTexts) return { [ofRows]: { ...rows, ...texts }, uploads };
    return { [ofRows]: rows, [ofTexts]: texts, uploads };
  }

  /** Number of chunks in counts. */
  chunksIn(traces: Traces): number {
    return traces[this.names.texts]?.chunks ?? 0;
  }

  /** Number of answers in chats that were made with these memories as sources. Their text is not a trace. */
  async answersFrom({ memories }: Subject): Promise<number> {
    return this.write(async (rows) => {
      const sql = `SELECT count(DISTINCT message_key) AS n FROM message_sources WHERE memory_key IN ${rows.keys}`;
      const [row] = await rows.all<{ readonly n: bigint }>(sql, { keys: listOf(memories.map(({ key }) => key)) });
      return Number(row?.n ?? 0n);
    });
  }

  /** Ends the retention of memories that are deleted. */
  async endRetention({ memories }: Subject): Promise<void> {
    await this.write((rows) => rows.all(REMOVE_RETENTION(rows), { keys: listOf(memories.map(({ key }) => key)) }));
  }

  /** Erases the row of a user and the keys confined to the user. Erase the memories, chats and events before. */
  async eraseUser({ userKey: user, projectKey: project, id }: Subject): Promise<void> {
    await this.write(async (rows) => {
      for (const table of ["api_keys", "idempotency_records"]) {
        await rows.all(`DELETE FROM ${table} WHERE project_key = $project AND user_id = $id`, { project, id });
      }
      await rows.all("DELETE FROM users WHERE user_key = $user", { user });
    });
  }
}

async function userKeyOf(rows: RowWriter, project: bigint, id: string): Promise<bigint> {
  const sql = "SELECT user_key AS key FROM users WHERE project_key = $project AND id = $id";
  const [found] = await rows.all<{ readonly key: bigint }>(sql, { project, id });
  if (found === undefined) throw new Fault("user_not_found", `There is no user ${JSON.stringify(id)} in this project.`);
  return found.key;
}

async function countRows(rows: RowWriter, subject: Subject): Promise<Readonly<Record<string, number>>> {
  const { kind, projectKey: project, userKey: user, id, memories } = subject;
  const further: Readonly<Record<string, string>> = { memory: {}, user: OF_USER, project: OF_PROJECT }[kind];
  const ids = [...memories.map((memory) => memory.id), ...(kind === "user" ? [userSubject(id)] : [])];
  const known: RowParams = { ...idsOf(memories, project), ids: listOf(ids), user, id };
  const counts: Record<string, number> = {};
  const tables = { ...ofMemories(rows), ...further };
  if (kind === "user") tables.idempotency_records = `(${tables.idempotency_records}) OR ${OF_USER_KEYS}`;
  for (const [table, where] of Object.entries(tables)) {
    const [row] = await rows.all<{ readonly n: bigint }>(`SELECT count(*) AS n FROM ${table} WHERE ${where}`, known);
    counts[table] = Number(row?.n ?? 0n);
  }
  return counts;
}

async function countFiles(rows: RowWriter, keys: readonly bigint[]): Promise<number> {
  const sql = `SELECT source FROM memories WHERE memory_key IN ${rows.keys} AND source IS NOT NULL`;
  const found = await rows.all<{ readonly source: string }>(sql, { keys: listOf(keys) });
  return found.filter((row) => keptFileOf(row) !== null).length;
}

function idsOf(memories: Subject["memories"], project: bigint) {
  return {
    project,
    keys: listOf(memories.map(({ key }) => key)),
    ids: listOf(memories.map(({ id }) => id)),
  };
}
