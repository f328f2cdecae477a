// Writes the records of an exported project (domain/project-export.ts) to the stores. The project stays hidden until
// all of it is stored: what is left of an import that failed is erased like a removed project.

import { PROJECT_SECRET_BYTES } from "../../../domain/chunk-ids.ts";
import type { ProjectId } from "../../../domain/ids.ts";
import { DEFAULT_SETTINGS, type ProjectSettings } from "../../../domain/project.ts";
import {
  ExportError,
  type ExportedFile,
  type ExportedMemory,
  type ExportedMessage,
  type ExportedProject,
  type ExportRecord,
} from "../../../domain/project-export.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { IncomingFile, UploadFiles } from "../../../ports/upload-files.ts";
import { foldTitle, storedSource } from "../memory.ts";
import { keptFileOf } from "../memory-file.ts";
import { type RandomBytes, systemRandom } from "../random.ts";
import type { RowParams, RowWriter, WriteRows } from "./row-access.ts";

const MiB = 1024 * 1024;
/**
 * Records that are stored in one transaction, and the size of their texts: other writers wait for a few milliseconds.
 */
const BATCH_RECORDS = 50;
const BATCH_CHARACTERS = 2 * MiB;

/**
 * `deleted_at` of a project that an import fills is negative: it counts as missing like a removed one, but is not
 * erased. PostgreSQL has the time of the last step there, so that what a killed import left is erased after a while.
 */
const PROJECT = `INSERT INTO projects (id, name, plan, settings, secret, created_at, deleted_at)
  VALUES ($id, $name, $plan, $settings, $secret, $createdAt, $hidden)
  ON CONFLICT DO NOTHING RETURNING project_key AS key`;
const PROJECT_POSTGRES = `WITH made AS (
    INSERT INTO projects (id, name, plan, settings, retention_days, secret, created_at, deleted_at)
    VALUES ($id, $name, $plan, $settings, $retentionDays, $secret, $createdAt, $hidden)
    ON CONFLICT DO NOTHING RETURNING project_key)
  INSERT INTO project_service (project_key) SELECT project_key FROM made RETURNING project_key AS key`;
const STILL_HIDDEN =
  "UPDATE projects SET deleted_at = $hidden WHERE project_key = $key AND deleted_at < 0 RETURNING 1 AS n";
const SHOW = "UPDATE projects SET deleted_at = NULL WHERE project_key = $key AND deleted_at < 0 RETURNING 1 AS n";
const GIVE_UP = "UPDATE projects SET deleted_at = $now WHERE project_key = $key AND deleted_at < 0";
const KNOWN = "UPDATE sequences SET next = next + 1 WHERE name = 'known_user' RETURNING next - 1 AS key";
const KNOWN_POSTGRES = "SELECT nextval('known_users') AS key";
const USER = `INSERT INTO users (project_key, id, known_key, name, email, metadata, created_at)
  VALUES ($project, $id, $knownKey, $name, $email, $metadata, $createdAt) ON CONFLICT DO NOTHING RETURNING 1 AS n`;
// a user whose profile was erased is not known, but rows may still refer to it
const UNKNOWN_USER = `INSERT INTO users (project_key, id, created_at) VALUES ($project, $id, $now)
  ON CONFLICT (project_key, id) DO UPDATE SET id = excluded.id RETURNING user_key AS key`;
const EVENT = `INSERT INTO user_events (id, user_key, type, data, created_at)
  VALUES ($id, $userKey, $event, $data, $createdAt) ON CONFLICT DO NOTHING RETURNING 1 AS n`;
const memoryInto = (columns: string, values: string) => `INSERT INTO memories (id, project_key, user_key, external_id,
    version, status, title, title_folded, type, tags, language, metadata, given, content_bytes, content_sha256, source,
    extraction, error_code, error_message, prompt_tokens, completion_tokens, is_reindexed, created_at, updated_at,
    expires_at, occurred_at, agent_id, session_id, ${columns} claimable_at)
  VALUES ($id, $project, $userKey, $externalId, 1, $status, $title, $titleFolded, $type, $tags, $language, $metadata,
    $given, $contentBytes, $sha256, $source, $extraction, $errorCode, $errorMessage, $promptTokens, $completionTokens,
    $isReindexed, $createdAt, $updatedAt, $expiresAt, $occurredAt, $agentId, $sessionId, ${values} $now)
  ON CONFLICT DO NOTHING RETURNING memory_key AS key`;
const MEMORY = memoryInto("", "");
const MEMORY_POSTGRES = memoryInto("file, media_type,", "$file, $mediaType,");
const TAGS_POSTGRES = `INSERT INTO memory_tags (project_key, tag, memory_key)
  SELECT DISTINCT CAST($project AS BIGINT), tag, CAST($key AS BIGINT)
  FROM json_array_elements_text($tags::text::json) AS given (tag)`;
const CONTENT = "INSERT INTO waiting_contents (memory_key, content) VALUES ($key, $content)";
const VECTORS = `INSERT INTO imported_vectors (memory_key, first_chunk, fingerprint, inputs_sha256, vectors)
  SELECT memory_key, CAST($first AS BIGINT), CAST($fingerprint AS TEXT), CAST($inputs AS TEXT), $vectors FROM memories
  WHERE id = $memoryId AND project_key = $project ON CONFLICT DO NOTHING RETURNING 1 AS n`;
const FINDING = `INSERT INTO memory_findings (memory_key, version, content_sha256, finding)
  VALUES ($key, 1, $sha256, $finding)`;
const FACTS = `INSERT INTO document_facts (memory_key, content_sha256, title, marks)
  VALUES ($key, $sha256, $title, $marks)`;
const SOURCE_OF = "SELECT source FROM memories WHERE id = $id AND project_key = $project";
const FILE = "UPDATE memories SET source = $source WHERE id = $id AND project_key = $project";
const FILE_POSTGRES = `UPDATE memories SET source = $source, file = $file, media_type = $mediaType
  WHERE id = $id AND project_key = $project`;
const CHAT = `INSERT INTO chats (id, project_key, user_key, agent_id, session_id, title, created_at)
  VALUES ($id, $project, $userKey, $agentId, $sessionId, $title, $createdAt) ON CONFLICT DO NOTHING RETURNING 1 AS n`;
const CHAT_KEY = "SELECT chat_key AS key FROM chats WHERE id = $id AND project_key = $project";
const MESSAGE = `INSERT INTO messages (id, chat_key, role, content, is_interrupted, source_count, created_at)
  VALUES ($id, $chatKey, $role, $content, $isInterrupted, $sourceCount, $createdAt)
  ON CONFLICT DO NOTHING RETURNING message_key AS key`;
const SOURCE = `INSERT INTO message_sources (message_key, position, memory_key, shown)
  SELECT CAST($messageKey AS BIGINT), CAST($position AS BIGINT), memory_key, CAST($shown AS TEXT) FROM memories
  WHERE id = $memoryId AND project_key = $project RETURNING 1 AS n`;
const WEBHOOK = `INSERT INTO webhooks (id, project_key, url, events, description, is_enabled, secret, created_at)
  VALUES ($id, $project, $url, $events, $description, $isEnabled, $secret, $createdAt)
  ON CONFLICT DO NOTHING RETURNING 1 AS n`;
const USAGE = `INSERT INTO monthly_usage (project_key, month_start, queries, prompt_tokens, completion_tokens)
  VALUES ($project, $monthStart, $queries, $promptTokens, $completionTokens) ON CONFLICT DO NOTHING RETURNING 1 AS n`;

/** A record that is stored together with others. */
type BatchRecord = Exclude<ExportRecord, ExportedProject | ExportedFile>;

/** What an import needs. */
export interface ImportParts {
  readonly write: WriteRows;
  /** `deleted_at` of a project that is being filled: negative. */
  readonly hidden: () => number;
  readonly files: UploadFiles;
  readonly clock: Clock;
  readonly newWebhookSecret: (random: RandomBytes) => string;
}

/**
 * Stores the records of an export as a new project, completely or not at all.
 * @throws ExportError if the records cannot be stored
 */
export async function importProject(
  parts: ImportParts,
  records: AsyncIterable<ExportRecord>,
): Promise<{ readonly projectId: ProjectId; readonly records: number }> {
  const importing = new ProjectImport(parts);
  try {
    for await (const record of records) await importing.add(record);
    return await importing.finish();
  } catch (error) {
    await importing.giveUp();
    throw error;
  }
}

/** An import in progress. `add` all records in their order, then `finish`; after any failure, `giveUp`. */
class ProjectImport {
  readonly #parts: ImportParts;
  #project: { readonly key: bigint; readonly id: ProjectId } | null = null;
  #batch: BatchRecord[] = [];
  #batchCharacters = 0;
  #records = 0;
  /** The memory whose file is being read. */
  #file: { readonly memoryId: string; readonly bytes: number; written: number; incoming: IncomingFile | null } | null =
    null;

  constructor(parts: ImportParts) {
    this.#parts = parts;
  }

  /** @throws ExportError if the record does not fit to what is stored; nothing of the project is visible then */
  async add(record: ExportRecord): Promise<void> {
    this.#records += 1;
    if (record.type === "project") return this.#begin(record);
    if (this.#project === null) throw new ExportError("the first record must be of type project");
    if (record.type === "file") return this.#addFile(record);
    await this.#endFile();
    this.#batch.push(record);
    this.#batchCharacters += charactersOf(record);
    const isFull = this.#batch.length >= BATCH_RECORDS || this.#batchCharacters >= BATCH_CHARACTERS;
    const hasFile = record.type === "memory" && record.has_file;
    if (isFull || hasFile) await this.#store();
    if (hasFile) this.#file = { memoryId: record.id, bytes: record.source?.bytes ?? 0, written: 0, incoming: null };
  }

  /** Stores what is left and shows the project. Returns its id and the number of records. */
  async finish(): Promise<{ readonly projectId: ProjectId; readonly records: number }> {
    await this.#endFile();
    await this.#store();
    const project = this.#project;
    if (project === null) throw new ExportError("the file has no record of type project");
    if (!(await this.#parts.write((rows) => returnsRow(rows, SHOW, { key: project.key })))) throw givenUp(project.id);
    return { projectId: project.id, records: this.#records };
  }

  /** Marks the project as removed. The server that runs, or the next one that starts, erases what was stored. */
  async giveUp(): Promise<void> {
    await this.#file?.incoming?.discard();
    const project = this.#project;
    if (project === null) return;
    const now = this.#parts.clock.now();
    await this.#parts.write((rows) => rows.all(GIVE_UP, { key: project.key, now }));
  }

  async #begin({ id, name, plan, created_at, settings }: ExportedProject): Promise<void> {
    if (this.#project !== null) throw new ExportError("there is more than one record of type project");
    const llm = { ...DEFAULT_SETTINGS.llm, ...settings.llm, api_key: null, is_address_trusted: false };
    const secret = systemRandom(PROJECT_SECRET_BYTES);
    const stored: ProjectSettings = { ...settings, llm };
    const row = {
      ...{ id, name, plan, settings: JSON.stringify(stored), createdAt: created_at, secret },
      ...{ retentionDays: stored.retention_days, hidden: this.#parts.hidden() },
    };
    const made = await this.#parts.write((rows) => {
      return keyOf(rows, rows.dialect === "sqlite" ? PROJECT : PROJECT_POSTGRES, row);
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
    await this.#parts.write(async (rows) => {
      const hidden = this.#parts.hidden();
      if (!(await returnsRow(rows, STILL_HIDDEN, { key: project.key, hidden }))) throw givenUp(project.id);
      for (const record of batch) {
        if (await this.#insert(rows, project.key, record)) continue;
        if (record.type === "vectors") throw strayVectors(record.memory_id);
        const which = "id" in record ? record.id : `of ${record.month_start}`;
        throw new ExportError(`${record.type} ${which} exists already, or another one has its externalId`);
      }
    });
  }

  /** Returns false if the id is taken. */
  async #insert(rows: RowWriter, project: bigint, record: BatchRecord): Promise<boolean> {
    const now = this.#parts.clock.now();
    const userKey = async (id: string | null) => (id === null ? null : keyOf(rows, UNKNOWN_USER, { project, id, now }));
    switch (record.type) {
      case "user": {
        const { id, name, email, metadata, created_at: createdAt } = record;
        const knownKey = await keyOf(rows, rows.dialect === "sqlite" ? KNOWN : KNOWN_POSTGRES, {});
        return returnsRow(rows, USER, { project, id, knownKey, name, email, metadata: textOf(metadata), createdAt });
      }
      case "event": {
        const { id, userId, event, data, created_at: createdAt } = record;
        const row = { id, userKey: await userKey(userId), event, data: JSON.stringify(data), createdAt };
        return returnsRow(rows, EVENT, row);
      }
      case "memory":
        return insertMemory(rows, record, { project, userKey: await userKey(record.userId), now });
      case "vectors": {
        const { memory_id: memoryId, model: fingerprint, inputs_sha256: inputs, first, data } = record;
        const vectors = Buffer.from(data, "base64");
        return returnsRow(rows, VECTORS, { memoryId, project, first, fingerprint, inputs, vectors });
      }
      case "chat": {
        const { id, userId, agentId = null, sessionId = null, title, created_at: createdAt } = record;
        const row = { id, project, userKey: await userKey(userId), agentId, sessionId, title, createdAt };
        return returnsRow(rows, CHAT, row);
      }
      case "message":
        return insertMessage(rows, project, record);
      case "webhook": {
        const { id, url, events, description, is_enabled, created_at: createdAt } = record;
        const secret = this.#parts.newWebhookSecret(systemRandom);
        const texts = { id, url, events: JSON.stringify(events), description, secret };
        return returnsRow(rows, WEBHOOK, { ...texts, project, isEnabled: Number(is_enabled), createdAt });
      }
      case "usage": {
        const { month_start, queries, prompt_tokens, completion_tokens } = record;
        const tokens = { promptTokens: prompt_tokens, completionTokens: completion_tokens };
        return returnsRow(rows, USAGE, { project, monthStart: month_start, queries, ...tokens });
      }
    }
  }

  async #addFile({ memory_id, offset, data }: ExportedFile): Promise<void> {
    const file = this.#file;
    if (file?.memoryId !== memory_id || file.written !== offset) {
      throw new ExportError(`the file of memory ${memory_id} is not complete or not in order`);
    }
    const bytes = Buffer.from(data, "base64");
    if (file.written + bytes.length > file.bytes) throw new ExportError(`the file of ${memory_id} is too long`);
    file.incoming ??= await this.#parts.files.begin();
    await file.incoming.write(bytes);
    file.written += bytes.length;
  }

  async #endFile(): Promise<void> {
    const [file, project] = [this.#file, this.#project];
    if (file === null || project === null) return;
    if (file.written !== file.bytes) throw new ExportError(`the file of memory ${file.memoryId} is not complete`);
    const incoming = file.incoming ?? (await this.#parts.files.begin());
    await incoming.end();
    const name = await this.#parts.files.keep(incoming.path);
    await this.#parts.write((rows) => setFile(rows, { id: file.memoryId, project: project.key }, name));
    this.#file = null;
  }
}

async function insertMemory(
  rows: RowWriter,
  record: ExportedMemory,
  { project, userKey, now }: { readonly project: bigint; readonly userKey: bigint | null; readonly now: number },
): Promise<boolean> {
  const { id, externalId, status, content, title, kind, tags, language, metadata, given, source, error } = record;
  const sha256 = Buffer.from(record.content_sha256, "hex");
  const isRead = status === "completed";
  const key = await keyOf(rows, rows.dialect === "sqlite" ? MEMORY : MEMORY_POSTGRES, {
    ...{ id, project, userKey, externalId, title, type: kind, tags: textOf(tags), language, sha256, now },
    titleFolded: title === null ? null : foldTitle(title),
    status: isRead ? "processing" : status,
    metadata: textOf(metadata),
    given: JSON.stringify(given),
    contentBytes: record.has_file ? (source?.bytes ?? 0) : Buffer.byteLength(content, "utf8"),
    ...fileColumns(textOf(source)),
    extraction: record.extraction ?? (isRead ? "local" : null),
    ...{ errorCode: error?.code ?? null, errorMessage: error?.message ?? null },
    ...{ promptTokens: record.tokens.prompt, completionTokens: record.tokens.completion },
    isReindexed: Number(isRead),
    ...{ createdAt: record.created_at, updatedAt: record.updated_at },
    ...{ expiresAt: record.expires_at, occurredAt: record.occurred_at },
    ...{ agentId: record.agentId ?? null, sessionId: record.sessionId ?? null },
  });
  if (key === null) return false;
  if (status === "failed" && error === null) throw new ExportError(`memory ${id} is failed, but has no error`);
  if (rows.dialect === "postgres" && tags !== null) await rows.all(TAGS_POSTGRES, { project, key, tags: textOf(tags) });
  await rows.all(CONTENT, { key, content });
  const { llm_extraction: finding, document } = record;
  if (finding !== null) await rows.all(FINDING, { key, sha256, finding: JSON.stringify(finding) });
  if (document !== null) {
    await rows.all(FACTS, { key, sha256, title: document.title, marks: JSON.stringify(document.marks) });
  }
  return true;
}

/** Notes the kept file of a memory in its source. */
async function setFile(
  rows: RowWriter,
  memory: { readonly id: string; readonly project: bigint },
  name: string,
): Promise<void> {
  const [row] = await rows.all<{ readonly source: string }>(SOURCE_OF, memory);
  const source = JSON.stringify({ ...JSON.parse(row?.source ?? "{}"), file: name });
  await rows.all(rows.dialect === "sqlite" ? FILE : FILE_POSTGRES, { ...memory, ...fileColumns(source) });
}

/** The column `source`, and those that repeat what SQL needs of it in PostgreSQL. */
function fileColumns(source: string | null) {
  return { source, file: keptFileOf({ source }), mediaType: storedSource({ source })?.media_type ?? null };
}

async function insertMessage(rows: RowWriter, project: bigint, record: ExportedMessage): Promise<boolean> {
  const { id, chat_id, role, content, is_interrupted, source_count: sourceCount, created_at: createdAt } = record;
  const chatKey = await keyOf(rows, CHAT_KEY, { id: chat_id, project });
  if (chatKey === null) throw new ExportError(`message ${id} belongs to chat ${chat_id}, which is not in the file`);
  const row = { id, chatKey, role, content, isInterrupted: Number(is_interrupted), sourceCount, createdAt };
  const messageKey = await keyOf(rows, MESSAGE, row);
  if (messageKey === null) return false;
  for (const { position, memory_id: memoryId, shown } of record.sources) {
    const source = { messageKey, position, memoryId, project, shown: JSON.stringify(shown) };
    if (!(await returnsRow(rows, SOURCE, source))) {
      throw new ExportError(`message ${id} has memory ${memoryId} as a source, which is not in the file`);
    }
  }
  return true;
}

/** Runs a statement that returns a key; null if it returned no row. */
async function keyOf(rows: RowWriter, sql: string, params: RowParams): Promise<bigint | null> {
  return (await rows.all<{ readonly key: bigint }>(sql, params))[0]?.key ?? null;
}

/** Runs a statement; returns whether it returned a row. */
async function returnsRow(rows: RowWriter, sql: string, params: RowParams): Promise<boolean> {
  return (await rows.all(sql, params)).length > 0;
}

/** Size of what is large in a record. */
function charactersOf(record: BatchRecord): number {
  if (record.type === "vectors") return record.data.length;
  return "content" in record ? record.content.length : 0;
}

function strayVectors(memoryId: string): ExportError {
  return new ExportError(`vectors of memory ${memoryId} do not follow its record, or are there twice`);
}

function givenUp(id: ProjectId): ExportError {
  return new ExportError(`the import of project ${id} was given up, because it took too long; run it again`);
}

function textOf(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
