// Writes the records of an exported project (domain/project-export.ts) to the stores. The project stays hidden until
// all of it is stored. If an import fails, what it has stored is erased like a removed project.

import { PROJECT_SECRET_BYTES } from "../../domain/chunk-ids.ts";
import type { ProjectId } from "../../domain/ids.ts";
import { completeLlm, type ProjectSettings, withoutKeys } from "../../domain/project.ts";
import { ExportError, type ExportRecord, type RecordOf } from "../../domain/project-export.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IncomingFile, UploadFiles } from "../../ports/upload-files.ts";
import type { Dialect, Sql } from "../dialect.ts";
import { beginService } from "../project-rows.ts";
import { foldTitle } from "../rows/memory.ts";
import { setSource, sourceColumns } from "../rows/memory-file.ts";
import { type RandomBytes, systemRandom } from "../rows/random.ts";
import type { AnyRow, InTransaction, Session } from "../session.ts";
import { columnsOf, RECORD_ROWS } from "./records.ts";

const MiB = 1024 * 1024;
/**
 * Maximum number of records of one transaction, and (`BATCH_CHARACTERS`) maximum length of their texts in UTF-16 code
 * units. Other writers wait for a transaction for a few milliseconds.
 */
const BATCH_RECORDS = 50;
const BATCH_CHARACTERS = 2 * MiB;

/**
 * `deleted_at` of a project that is being imported is negative: requests do not find the project, and it is not erased.
 * In PostgreSQL the number is the negated time of the last step, from which nodes see that an import was killed.
 */
const STILL_HIDDEN =
  "UPDATE projects SET deleted_at = $hidden WHERE project_key = $key AND deleted_at < 0 RETURNING 1 AS n";
const SHOW = "UPDATE projects SET deleted_at = NULL WHERE project_key = $key AND deleted_at < 0 RETURNING 1 AS n";
const GIVE_UP = "UPDATE projects SET deleted_at = $now WHERE project_key = $key AND deleted_at < 0";
const GIVE_UP_OLD = "UPDATE projects SET deleted_at = $now WHERE deleted_at < 0 AND deleted_at > $since";
const NEXT_KNOWN = ({ nextKnownUser }: Dialect) => `SELECT ${nextKnownUser} AS key`;
// adds a user whose profile was deleted: rows refer to the user, but no list shows it
const UNKNOWN_USER = `INSERT INTO users (project_key, id, created_at) VALUES ($project, $id, $now)
  ON CONFLICT (project_key, id) DO UPDATE SET id = excluded.id RETURNING user_key AS key`;
const ADD_TAGS = ({ elements }: Dialect) => `INSERT INTO memory_tags (project_key, tag, memory_key)
  SELECT DISTINCT CAST($project AS bigint), value, CAST($key AS bigint) FROM ${elements("tags", "text")}`;
const MEMORY_KEY = "SELECT memory_key AS key FROM memories WHERE id = $id AND project_key = $project";
const SOURCE_OF = "SELECT source FROM memories WHERE id = $id AND project_key = $project";
const SET_SOURCE = (dialect: Dialect) => `UPDATE memories SET ${setSource(dialect)}
  WHERE id = $id AND project_key = $project`;
const SET_ORIGINAL = "UPDATE memories SET original_file = $name WHERE id = $id AND project_key = $project";
const CHAT_KEY = "SELECT chat_key AS key FROM chats WHERE id = $id AND project_key = $project";

/** A record that is stored together with others. */
type BatchRecord = Exclude<ExportRecord, RecordOf<"project" | "file">>;

/** Where an import stores its records. */
export interface ImportTarget {
  readonly write: InTransaction;
  /** `deleted_at` of a project that is being imported: negative. */
  readonly hidden: () => number;
  readonly files: UploadFiles;
  readonly clock: Clock;
  readonly newWebhookSecret: (random: RandomBytes) => string;
}

/** A project that was imported, and the number of its records. */
export interface ImportedProject {
  readonly projectId: ProjectId;
  readonly records: number;
}

/**
 * Stores the records of an export as a new project, completely or not at all.
 * @throws ExportError if the records cannot be stored
 */
export async function importProject(
  target: ImportTarget,
  records: AsyncIterable<ExportRecord>,
): Promise<ImportedProject> {
  const importing = new ProjectImport(target);
  try {
    for await (const record of records) await importing.add(record);
    return await importing.finish();
  } catch (error) {
    await importing.giveUp();
    throw error;
  }
}

/** Time in milliseconds after which an import into PostgreSQL that has stored nothing more counts as ended. */
export const IMPORT_MS_MAX = 60 * 60_000;

/**
 * Marks the projects of imports whose process was killed as removed, so that what they stored is erased.
 * @param idleMs time since the last step of such an import; 0 if no import can be in progress
 */
export async function giveUpImports(
  { write, clock }: Pick<ImportTarget, "write" | "clock">,
  idleMs: number,
): Promise<void> {
  const now = clock.now();
  await write((session) => session.run(GIVE_UP_OLD, { now, since: idleMs - now }));
}

/** An import in progress. `add` all records in their order, then `finish`; after any failure, `giveUp`. */
class ProjectImport {
  readonly #target: ImportTarget;
  #project: { readonly key: bigint; readonly id: ProjectId } | null = null;
  #batch: BatchRecord[] = [];
  #batchCharacters = 0;
  #records = 0;
  /** The memory whose file is being read. */
  #file: {
    readonly memory: RecordOf<"memory">;
    readonly bytes: number;
    written: number;
    incoming: IncomingFile | null;
  } | null = null;

  constructor(target: ImportTarget) {
    this.#target = target;
  }

  /** @throws ExportError if the record does not fit what is stored; nothing of the project is visible then */
  async add(record: ExportRecord): Promise<void> {
    this.#records += 1;
    if (record.type === "project") return this.#begin(record);
    if (this.#project === null) throw new ExportError("the first record must be of type project");
    if (record.type === "file") return this.#addFile(record);
    await this.#endFile();
    this.#batch.push(record);
    this.#batchCharacters += charactersOf(record);
    const isFull = this.#batch.length >= BATCH_RECORDS || this.#batchCharacters >= BATCH_CHARACTERS;
    const hasFile = record.type === "memory" && (record.has_file || record.kept_file === true);
    if (isFull || hasFile) await this.#store();
    if (hasFile) this.#file = { memory: record, bytes: record.source?.bytes ?? 0, written: 0, incoming: null };
  }

  /** Stores what is left and shows the project. Returns its id and the number of records. */
  async finish(): Promise<ImportedProject> {
    await this.#endFile();
    await this.#store();
    const project = this.#project;
    if (project === null) throw new ExportError("the file has no record of type project");
    if (!(await this.#target.write((session) => returnsRow(session, SHOW, { key: project.key }))))
      throw givenUp(project.id);
    return { projectId: project.id, records: this.#records };
  }

  /** Marks the project as removed. The server that runs, or the next one that starts, erases what was stored. */
  async giveUp(): Promise<void> {
    await this.#file?.incoming?.discard();
    const project = this.#project;
    if (project === null) return;
    const now = this.#target.clock.now();
    await this.#target.write((session) => session.run(GIVE_UP, { key: project.key, now }));
  }

  async #begin(record: RecordOf<"project">): Promise<void> {
    if (this.#project !== null) throw new ExportError("there is more than one record of type project");
    const { id, settings, history_since = this.#target.clock.now() } = record;
    const stored: ProjectSettings = { ...settings, llm: completeLlm(withoutKeys(completeLlm(settings.llm))) };
    const row = {
      ...{ ...columnsOf(record), settings: JSON.stringify(stored), secret: systemRandom(PROJECT_SECRET_BYTES) },
      ...{ deleted_at: this.#target.hidden(), history_since },
    };
    const made = await this.#target.write(async (session) => {
      const repeats = only(session.dialect.repeatsOfSettings, stored);
      const key = await insert(session, "projects", { ...row, ...repeats }, "project_key");
      if (key !== null) await beginService(session, key);
      return key;
    });
    if (made === null) {
      throw new ExportError(`project ${id} exists already: import it into another server, or delete the project first`);
    }
    this.#project = { key: made, id: id as ProjectId };
  }

  async #store(): Promise<void> {
    const [batch, project] = [this.#batch, this.#project];
    if (batch.length === 0 || project === null) return;
    [this.#batch, this.#batchCharacters] = [[], 0];
    await this.#target.write(async (session) => {
      const hidden = this.#target.hidden();
      if (!(await returnsRow(session, STILL_HIDDEN, { key: project.key, hidden }))) throw givenUp(project.id);
      for (const record of batch) {
        if (await this.#insert(session, project.key, record)) continue;
        if (record.type === "vectors") throw strayVectors(record.memory_id);
        if (record.type === "relation" || record.type === "earlier_relation") throw strayRelation(record);
        if (record.type === "earlier_text") throw strayText(record);
        const which = whichOf(record);
        throw new ExportError(`${record.type} ${which} exists already, or another one has its externalId`);
      }
    });
  }

  /** Inserts the rows of a record. Returns false if they conflict with existing ones, or if its memory is missing. */
  async #insert(session: Session, project: bigint, record: BatchRecord): Promise<boolean> {
    const now = this.#target.clock.now();
    const columns = columnsOf(record);
    const table = record.type === "vectors" ? "imported_vectors" : RECORD_ROWS[record.type].table;
    const ofUser = async ({ user_id: id = null, ...row }: AnyRow): Promise<AnyRow> => {
      return { ...row, user_key: id === null ? null : await keyOf(session, UNKNOWN_USER, { project, id, now }) };
    };
    switch (record.type) {
      case "user": {
        const known_key = await keyOf(session, NEXT_KNOWN, {});
        if (session.dialect.advanceKnownUsers !== null) await session.run(session.dialect.advanceKnownUsers);
        return isInserted(session, table, { ...columns, project_key: project, known_key });
      }
      case "memory":
        return insertMemory(session, record, { ...(await ofUser(columns)), project_key: project, claimable_at: now });
      case "vectors": {
        const memory_key = await keyOf(session, MEMORY_KEY, { id: record.memory_id, project });
        const { memory_id, ...row } = columns;
        return memory_key !== null && isInserted(session, table, { ...row, memory_key });
      }
      case "earlier_text": {
        const memory_key = await keyOf(session, MEMORY_KEY, { id: record.memory_id, project });
        const { content } = record;
        const row = { ...columns, memory_key, content, content_bytes: Buffer.byteLength(content, "utf8") };
        return memory_key !== null && isInserted(session, table, row);
      }
      case "relation":
      case "earlier_relation": {
        const memory_key = await keyOf(session, MEMORY_KEY, { id: record.memory_id, project });
        const other_key = await keyOf(session, MEMORY_KEY, { id: record.other_id, project });
        const row = { ...columns, project_key: project, memory_key, other_key };
        return memory_key !== null && other_key !== null && isInserted(session, table, row);
      }
      case "message":
        return insertMessage(session, project, record);
      case "webhook": {
        const secret = this.#target.newWebhookSecret(systemRandom);
        return isInserted(session, table, { ...columns, project_key: project, secret });
      }
      default: {
        const owners: readonly string[] = RECORD_ROWS[record.type].owners;
        const row = owners.includes("user") ? await ofUser(columns) : columns;
        return isInserted(session, table, owners.includes("project") ? { ...row, project_key: project } : row);
      }
    }
  }

  async #addFile({ memory_id, offset, data }: RecordOf<"file">): Promise<void> {
    const file = this.#file;
    if (file?.memory.id !== memory_id || file.written !== offset) {
      throw new ExportError(`the file of memory ${memory_id} is not complete or not in order`);
    }
    const bytes = Buffer.from(data, "base64");
    if (file.written + bytes.length > file.bytes) throw new ExportError(`the file of ${memory_id} is too long`);
    file.incoming ??= await this.#target.files.begin();
    await file.incoming.write(bytes);
    file.written += bytes.length;
  }

  async #endFile(): Promise<void> {
    const [file, project] = [this.#file, this.#project];
    if (file === null || project === null) return;
    if (file.written !== file.bytes) throw new ExportError(`the file of memory ${file.memory.id} is not complete`);
    const incoming = file.incoming ?? (await this.#target.files.begin());
    await incoming.end();
    const name = await this.#target.files.keep(incoming.path);
    await this.#target.write((session) => setFile(session, project.key, file.memory, name));
    this.#file = null;
  }
}

/** @param row the columns that are fields of the record, and those with one value for all memories of the project */
async function insertMemory(session: Session, record: RecordOf<"memory">, row: AnyRow): Promise<boolean> {
  const { id, status, content, title, source, error } = record;
  const isRead = status === "completed";
  const { source: stored = null, content_sha256 = null, project_key: project = null } = row;
  const key = await insert(
    session,
    "memories",
    {
      ...row,
      ...only(session.dialect.repeatsOfSource, sourceColumns(stored as string | null)),
      ...{ version: 1, text_version: record.text_version ?? 1 },
      ...{ status: isRead ? "processing" : status, is_reindexed: Number(isRead) },
      title_folded: title === null ? null : foldTitle(title),
      content_bytes: record.has_file ? (source?.bytes ?? 0) : Buffer.byteLength(content, "utf8"),
      extraction: record.extraction ?? (isRead ? "local" : null),
      ...{ error_code: error?.code ?? null, error_message: error?.message ?? null },
      ...{ prompt_tokens: record.tokens.prompt, completion_tokens: record.tokens.completion },
    },
    "memory_key",
  );
  if (key === null) return false;
  if (status === "failed" && error === null) throw new ExportError(`memory ${id} is failed, but has no error`);
  if (!session.dialect.hasTagTriggers && record.tags !== null) {
    await session.run(ADD_TAGS, { project, key, tags: record.tags });
  }
  const ofContent = { memory_key: key, content_sha256 };
  await insert(session, "waiting_contents", { memory_key: key, content });
  const { llm_extraction: finding, document } = record;
  if (finding !== null) {
    await insert(session, "memory_findings", { ...ofContent, version: 1, finding: JSON.stringify(finding) });
  }
  if (document !== null) {
    const marks = JSON.stringify(document.marks);
    await insert(session, "document_facts", { ...ofContent, title: document.title, marks });
  }
  return true;
}

/**
 * Stores the name of a memory's file in its row: in `source` until the file is read, and in `original_file` if it is
 * kept.
 */
async function setFile(
  session: Session,
  project: bigint,
  { id, has_file, kept_file }: RecordOf<"memory">,
  name: string,
): Promise<void> {
  const memory = { id, project };
  if (kept_file === true) await session.run(SET_ORIGINAL, { ...memory, name });
  if (!has_file) return;
  const [row] = await session.all<{ readonly source: string }>(SOURCE_OF, memory);
  const source = JSON.stringify({ ...JSON.parse(row?.source ?? "{}"), file: name });
  await session.run(SET_SOURCE, { ...memory, ...sourceColumns(source) });
}

async function insertMessage(session: Session, project: bigint, record: RecordOf<"message">): Promise<boolean> {
  const { id, sources } = record;
  const { chat_id, ...columns } = columnsOf(record);
  const chat_key = await keyOf(session, CHAT_KEY, { id: record.chat_id, project });
  if (chat_key === null) throw new ExportError(`message ${id} belongs to chat ${chat_id}, which is not in the file`);
  const message_key = await insert(session, "messages", { ...columns, chat_key }, "message_key");
  if (message_key === null) return false;
  for (const { position, memory_id, shown } of sources) {
    const memory_key = await keyOf(session, MEMORY_KEY, { id: memory_id, project });
    if (memory_key === null) {
      throw new ExportError(`message ${id} has memory ${memory_id} as a source, which is not in the file`);
    }
    await insert(session, "message_sources", { message_key, position, memory_key, shown: JSON.stringify(shown) });
  }
  return true;
}

/** The values with these names only. */
function only<Name extends string>(names: readonly Name[], values: Readonly<Record<Name, AnyRow[string]>>): AnyRow {
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

/**
 * Inserts a row. Returns the value of the column or expression `key`, or null if the row conflicts with an existing
 * one.
 */
async function insert(session: Session, table: string, row: AnyRow, key = "1"): Promise<bigint | null> {
  const names = Object.keys(row);
  const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map((name) => `$${name}`).join(", ")})
    ON CONFLICT DO NOTHING RETURNING ${key} AS key`;
  return keyOf(session, sql, row);
}

/** Inserts a row. Returns false if it conflicts with an existing one. */
async function isInserted(session: Session, table: string, row: AnyRow): Promise<boolean> {
  return (await insert(session, table, row)) !== null;
}

/** Runs a statement that returns a key; null if it returned no row. */
async function keyOf(session: Session, sql: Sql, params: AnyRow): Promise<bigint | null> {
  return (await session.all<{ readonly key: bigint }>(sql, params))[0]?.key ?? null;
}

/** Runs a statement; returns whether it returned a row. */
async function returnsRow(session: Session, sql: Sql, params: AnyRow): Promise<boolean> {
  return (await session.all(sql, params)).length > 0;
}

/** Number of characters of the content or the vectors of a record; 0 for records that have neither. */
function charactersOf(record: BatchRecord): number {
  if (record.type === "vectors") return record.data.length;
  return "content" in record ? record.content.length : 0;
}

function strayVectors(memoryId: string): ExportError {
  return new ExportError(`vectors of memory ${memoryId} do not follow its record, or are there twice`);
}

function strayText({ memory_id, version }: RecordOf<"earlier_text">): ExportError {
  return new ExportError(`text ${version} of memory ${memory_id} is there twice, or the memory is not in the file`);
}

function whichOf(record: Exclude<BatchRecord, RecordOf<"vectors" | "relation" | "earlier_relation" | "earlier_text">>) {
  if (record.type === "usage") return `of ${record.month_start}`;
  return record.type === "entity" ? record.entity : record.id;
}

function strayRelation({ memory_id, other_id }: RecordOf<"relation" | "earlier_relation">): ExportError {
  return new ExportError(
    `the relation of memory ${memory_id} with ${other_id} is there twice, or one of the two is not in the file`,
  );
}

function givenUp(id: ProjectId): ExportError {
  return new ExportError(`the import of project ${id} was given up, because it took too long; run it again`);
}
