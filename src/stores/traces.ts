// TraceStore on both databases: finds a memory, user or project, and counts its rows in all tables that erasure.ts
// names.

import { Fault } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { userSubject } from "../ports/idempotency-store.ts";
import type { TextArchive } from "../ports/text-archive.ts";
import type { Subject, SubjectKind, TraceStore, Traces } from "../ports/trace-store.ts";
import { projectNamed } from "./copies/named-project.ts";
import type { Dialect } from "./dialect.ts";
import { type OwnerTerms, ownedTables, userErasure } from "./erasure.ts";
import { keptFileOf } from "./rows/memory-file.ts";
import type { InTransaction, Session } from "./session.ts";

const MEMORIES = `SELECT memory_key AS key, id, deleted_at FROM memories WHERE project_key = $project`;
const PARTS = ({ container, isIn }: Dialect) => `${MEMORIES} AND ${container} ${isIn("containers", "text")}`;
const END_RETENTION = ({ isIn }: Dialect) =>
  `UPDATE memories SET is_purge_asked = 1 WHERE memory_key ${isIn("keys")} AND deleted_at IS NOT NULL`;
const ANSWERS_FROM = ({ isIn }: Dialect) =>
  `SELECT count(DISTINCT message_key) AS n FROM message_sources WHERE memory_key ${isIn("keys")}`;
const FILES = ({ isIn }: Dialect) =>
  `SELECT source, original_file FROM memories WHERE memory_key ${isIn("keys")} AND source IS NOT NULL`;

type Row = { readonly key: MemoryKey; readonly id: string; readonly deleted_at: bigint | null };

function termsIn({ isIn }: Dialect): OwnerTerms {
  return { project: "$project", user: "$user", userId: "$id", keys: isIn("keys"), ids: isIn("ids", "text") };
}

/** Names of the stores in the counts. */
export interface StoreNames {
  readonly rows: string;
  readonly texts: string;
}

/** TraceStore on rows of either database, and texts. */
export class StoredTraces implements TraceStore {
  constructor(
    private readonly write: InTransaction,
    private readonly archive: Pick<TextArchive, "stored">,
    private readonly names: StoreNames,
  ) {}

  async find(kind: SubjectKind, id: string, project: string | null): Promise<Subject> {
    return this.write(async (rows) => {
      const first = await projectNamed(rows, kind === "project" ? id : project);
      const userKey = kind === "user" ? await userKeyOf(rows, first.key, id) : null;
      const where = { memory: "AND id = $id", user: "AND user_key = $user", project: "" }[kind];
      const named = await rows.all<Row>(`${MEMORIES} ${where}`, { project: first.key, id, user: userKey });
      const owned = kind === "memory" ? [...named, ...(await partsOf(rows, first.key, named))] : named;
      const memories = owned.map((row) => ({ key: row.key, id: row.id, isLive: row.deleted_at === null }));
      if (kind === "memory" && memories.length === 0) {
        throw new Fault("memory_not_found", `There is no memory ${id} in project ${first.id}, not even a deleted one.`);
      }
      const projectId = first.id as ProjectId;
      return { kind, id: kind === "project" ? projectId : id, projectId, projectKey: first.key, userKey, memories };
    });
  }

  async count(subject: Subject): Promise<Traces> {
    const keys = subject.memories.map(({ key }) => key);
    const rows = await this.write((session) => countRows(session, subject));
    const texts = { texts: 0, chunks: 0 };
    for (let first = 0; first < keys.length; first += 500) {
      const stored = await this.archive.stored(keys.slice(first, first + 500));
      texts.texts += stored.size;
      for (const { chunks } of stored.values()) texts.chunks += chunks.length;
    }
    const uploads = await this.write((session) => countFiles(session, keys));
    const { rows: ofRows, texts: ofTexts } = this.names;
    if (ofRows === ofTexts) return { [ofRows]: { ...rows, ...texts }, uploads };
    return { [ofRows]: rows, [ofTexts]: texts, uploads };
  }

  chunksIn(traces: Traces): number {
    return traces[this.names.texts]?.chunks ?? 0;
  }

  async answersFrom({ memories }: Subject): Promise<number> {
    return this.write(async (rows) => {
      const row = await rows.get<{ readonly n: bigint }>(ANSWERS_FROM, { keys: memories.map(({ key }) => key) });
      return Number(row?.n ?? 0n);
    });
  }

  async endRetention({ memories }: Subject): Promise<void> {
    await this.write((rows) => rows.run(END_RETENTION, { keys: memories.map(({ key }) => key) }));
  }

  async eraseUser({ userKey: user, projectKey: project, id }: Subject): Promise<void> {
    await this.write(async (rows) => {
      for (const sql of userErasure(termsIn(rows.dialect))) await rows.run(sql, { project, user, id });
    });
  }
}

/** The memories of files in the file of a memory, live or deleted, and of those deeper in them. */
async function partsOf(rows: Session, project: bigint, memories: readonly Row[]): Promise<readonly Row[]> {
  if (memories.length === 0) return [];
  const parts = await rows.all<Row>(PARTS, { project, containers: memories.map(({ id }) => id) });
  return [...parts, ...(await partsOf(rows, project, parts))];
}

async function userKeyOf(rows: Session, project: bigint, id: string): Promise<bigint> {
  const sql = "SELECT user_key AS key FROM users WHERE project_key = $project AND id = $id";
  const [found] = await rows.all<{ readonly key: bigint }>(sql, { project, id });
  if (found === undefined) throw new Fault("user_not_found", `There is no user ${JSON.stringify(id)} in this project.`);
  return found.key;
}

async function countRows(rows: Session, subject: Subject): Promise<Readonly<Record<string, number>>> {
  const { kind, projectKey: project, userKey: user, id, memories } = subject;
  const ids = [...memories.map((memory) => memory.id), ...(kind === "user" ? [userSubject(id)] : [])];
  const known = { project, user, id, keys: memories.map(({ key }) => key), ids };
  const counts: Record<string, number> = {};
  for (const { table, ofMemories, ofUser, ofProject } of ownedTables(termsIn(rows.dialect))) {
    const own = { memory: undefined, user: ofUser, project: ofProject }[kind];
    const conditions = [ofMemories, own].flatMap((where) => (where === undefined ? [] : [`(${where})`]));
    if (conditions.length === 0 || rows.dialect.missingTables.includes(table)) continue;
    const sql = `SELECT count(*) AS n FROM ${table} WHERE ${conditions.join(" OR ")}`;
    const row = await rows.get<{ readonly n: bigint }>(sql, known);
    counts[table] = Number(row?.n ?? 0n);
  }
  return counts;
}

/** Counts files that wait to be read, and originals. A file that is both counts as both. */
async function countFiles(rows: Session, keys: readonly bigint[]): Promise<Readonly<Record<string, number>>> {
  const found = await rows.all<{ readonly source: string; readonly original_file: string | null }>(FILES, { keys });
  const waiting = found.filter((row) => keptFileOf(row) !== null).length;
  return { files: waiting, kept_files: found.filter((row) => row.original_file !== null).length };
}
