// Reads everything that a project owns, as the records of domain/project-export.ts. project-import.ts writes them.

import { Fault, invariant } from "../../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { JsonObject } from "../../../domain/memory.ts";
import { DEFAULT_SETTINGS } from "../../../domain/project.ts";
import {
  ExportError,
  type ExportedMemory,
  type ExportedSettings,
  type ExportedVectors,
  type ExportRecord,
} from "../../../domain/project-export.ts";
import { groupsWithin } from "../../../kit/groups.ts";
import type { VectorReader } from "../../../ports/store-keeper.ts";
import { storedSource, toSource } from "../memory.ts";
import { keptFileOf } from "../memory-file.ts";
import { LIVE } from "../sql.ts";
import { type AnyRow, listOf, type RowReader } from "./row-access.ts";

const MiB = 1024 * 1024;
/** Rows that are read at once; other work runs between two pages. */
const PAGE_ROWS = 200;
/** Total size of the contents that are read at once. One memory is read even if it is larger. */
const PAGE_CONTENT_BYTES = 16 * MiB;
/** Size of a part of an uploaded file. */
const FILE_PART_BYTES = MiB;

const PROJECT = `SELECT project_key AS key, * FROM projects
  WHERE deleted_at IS NULL AND CASE WHEN CAST($named AS TEXT) IS NULL THEN is_default = 1
    ELSE id = $named OR name = $named END ORDER BY project_key`;

const OF_USER = "(SELECT users.id FROM users WHERE users.user_key = memories.user_key)";
const MEMORIES = `SELECT memories.memory_key AS key, memories.*, ${OF_USER} AS user_id,
    memory_findings.finding AS finding, document_facts.title AS document_title, document_facts.marks AS marks
  FROM memories
  LEFT JOIN memory_findings ON memory_findings.memory_key = memories.memory_key
    AND memory_findings.content_sha256 = memories.content_sha256
  LEFT JOIN document_facts ON document_facts.memory_key = memories.memory_key
    AND document_facts.content_sha256 = memories.content_sha256
  WHERE memories.project_key = $project AND ${LIVE} AND memories.memory_key > $after
  ORDER BY memories.memory_key LIMIT $limit`;
const USERS = `SELECT known_key AS key, * FROM users
  WHERE project_key = $project AND known_key > $after ORDER BY known_key LIMIT $limit`;
const EVENTS = `SELECT user_events.event_key AS key, user_events.*, users.id AS user_id
  FROM user_events JOIN users USING (user_key)
  WHERE users.project_key = $project AND event_key > $after ORDER BY event_key LIMIT $limit`;
const CHATS = `SELECT chats.chat_key AS key, chats.*,
    (SELECT users.id FROM users WHERE users.user_key = chats.user_key) AS user_id
  FROM chats WHERE project_key = $project AND chat_key > $after ORDER BY chat_key LIMIT $limit`;
const MESSAGES = `SELECT messages.message_key AS key, messages.*, chats.id AS chat_id
  FROM messages JOIN chats USING (chat_key)
  WHERE chats.project_key = $project AND message_key > $after ORDER BY message_key LIMIT $limit`;
const sourcesOf = ({
  keys,
}: RowReader) => `SELECT message_sources.message_key, position, memories.id AS memory_id, shown
  FROM message_sources JOIN memories USING (memory_key)
  WHERE message_key IN ${keys} AND ${LIVE} AND memories.project_key = $project ORDER BY message_key, position`;
const WEBHOOKS = `SELECT webhook_key AS key, * FROM webhooks
  WHERE project_key = $project AND webhook_key > $after ORDER BY webhook_key LIMIT $limit`;
const USAGE = `SELECT month_start AS key, * FROM monthly_usage
  WHERE project_key = $project AND month_start > $after ORDER BY month_start LIMIT $limit`;
const waitingIn = ({ keys }: RowReader) => `SELECT memory_key, content, source
  FROM waiting_contents JOIN memories USING (memory_key) WHERE memory_key IN ${keys}`;

const COUNTS: Readonly<Record<string, string>> = {
  user: "SELECT count(*) AS n FROM users WHERE project_key = $project AND known_key IS NOT NULL",
  event: "SELECT count(*) AS n FROM user_events JOIN users USING (user_key) WHERE project_key = $project",
  memory: `SELECT count(*) AS n FROM memories WHERE project_key = $project AND ${LIVE}`,
  chat: "SELECT count(*) AS n FROM chats WHERE project_key = $project",
  message: "SELECT count(*) AS n FROM messages JOIN chats USING (chat_key) WHERE project_key = $project",
  webhook: "SELECT count(*) AS n FROM webhooks WHERE project_key = $project",
  usage: "SELECT count(*) AS n FROM monthly_usage WHERE project_key = $project",
};

/** A row with any columns. */
type Row = AnyRow & { readonly key: bigint };

/** What an export reads. All of it shows one moment. */
export interface ExportSource {
  readonly rows: RowReader;
  /** The texts of published memories, by key. */
  contents(keys: readonly bigint[]): Promise<ReadonlyMap<bigint, string>>;
  /** The bytes of an uploaded file. */
  file(name: string): AsyncIterable<Uint8Array>;
  /** null: the export has no vectors. */
  readonly vectors: VectorReader | null;
}

/** Reads one project. */
export class ProjectExport {
  private constructor(
    private readonly source: ExportSource,
    private readonly project: Row,
    private readonly now: number,
  ) {}

  /**
   * @param named id or name of the project; null: the default project
   * @param now Unix milliseconds: memories that have expired by then are left out
   * @throws Fault `project_not_found`, or `invalid_request` for the name of several projects
   */
  static async open(source: ExportSource, named: string | null, now: number): Promise<ProjectExport> {
    const found = await source.rows.all<Row>(PROJECT, { named });
    const [project, second] = found;
    if (second !== undefined) {
      const ids = found.map(({ id }) => id).join(", ");
      throw new Fault("invalid_request", `${JSON.stringify(named)} is the name of several projects: ${ids}.`);
    }
    if (project === undefined) throw new Fault("project_not_found", `There is no project ${JSON.stringify(named)}.`);
    return new ProjectExport(source, project, now);
  }

  /** Number of records by type. */
  async counts(): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = { project: 1 };
    for (const [type, sql] of Object.entries(COUNTS)) {
      const [row] = await this.source.rows.all<{ readonly n: bigint }>(sql, {
        project: this.project.key,
        now: this.now,
      });
      counts[type] = Number(row?.n ?? 0n);
    }
    return counts;
  }

  /**
   * All records, in the order of EXPORT_TYPES; a file follows its memory.
   * @throws ExportError if the text of a completed memory is missing
   */
  async *records(): AsyncGenerator<ExportRecord> {
    yield this.#projectRecord();
    yield* this.#each(USERS, (row) => ({
      ...{ type: "user", id: string(row.id), name: text(row.name), email: text(row.email) },
      ...{ metadata: json<JsonObject>(row.metadata), created_at: Number(row.created_at) },
    }));
    yield* this.#each(EVENTS, (row) => ({
      ...{ type: "event", id: string(row.id), userId: string(row.user_id), event: string(row.type) },
      ...{ data: json<JsonObject>(row.data) ?? {}, created_at: Number(row.created_at) },
    }));
    yield* this.#memories();
    yield* this.#each(CHATS, (row) => ({
      ...{ type: "chat", id: string(row.id), userId: text(row.user_id), ...partitionOf(row), title: text(row.title) },
      created_at: Number(row.created_at),
    }));
    yield* this.#messages();
    yield* this.#each(WEBHOOKS, (row) => ({
      ...{ type: "webhook", id: string(row.id), url: string(row.url), events: JSON.parse(string(row.events)) },
      ...{ description: text(row.description), is_enabled: row.is_enabled === 1n, created_at: Number(row.created_at) },
    }));
    yield* this.#each(USAGE, (row) => ({
      ...{ type: "usage", month_start: Number(row.month_start), queries: Number(row.queries) },
      ...{ prompt_tokens: Number(row.prompt_tokens), completion_tokens: Number(row.completion_tokens) },
    }));
  }

  #projectRecord(): ExportRecord {
    const { id, name, plan, created_at, settings } = this.project;
    const stored = JSON.parse(string(settings));
    const { api_key, is_address_trusted, ...llm } = { ...DEFAULT_SETTINGS.llm, ...stored.llm };
    const exported: ExportedSettings = { ...DEFAULT_SETTINGS, ...stored, llm };
    return {
      ...{ type: "project", id: string(id), name: string(name), plan: string(plan) as "free" },
      ...{ created_at: Number(created_at), settings: exported },
    };
  }

  /** The pages of a query, each after a turn of other work. */
  async *#pages(sql: string): AsyncGenerator<readonly Row[]> {
    let after = -1n;
    for (;;) {
      const params = { project: this.project.key, after, now: this.now, limit: PAGE_ROWS };
      const rows = await this.source.rows.all<Row>(sql, params);
      if (rows.length > 0) yield rows;
      if (rows.length < PAGE_ROWS) return;
      after = rows.at(-1)?.key ?? after;
      await new Promise(setImmediate);
    }
  }

  async *#each(sql: string, toRecord: (row: Row) => ExportRecord): AsyncGenerator<ExportRecord> {
    for await (const rows of this.#pages(sql)) for (const row of rows) yield toRecord(row);
  }

  async *#messages(): AsyncGenerator<ExportRecord> {
    for await (const rows of this.#pages(MESSAGES)) {
      const params = { keys: listOf(rows.map(({ key }) => key)), now: this.now, project: this.project.key };
      const found = await this.source.rows.all<Row>(sourcesOf(this.source.rows), params);
      const sources = Map.groupBy(found, (source) => source.message_key);
      for (const row of rows) {
        yield {
          ...{ type: "message", id: string(row.id), chat_id: string(row.chat_id), role: string(row.role) as "user" },
          ...{ content: string(row.content), is_interrupted: row.is_interrupted === 1n },
          source_count: Number(row.source_count),
          sources: (sources.get(row.key) ?? []).map((source) => ({
            ...{ position: Number(source.position), memory_id: string(source.memory_id) },
            shown: json<JsonObject>(source.shown) ?? {},
          })),
          created_at: Number(row.created_at),
        };
      }
    }
  }

  async *#memories(): AsyncGenerator<ExportRecord> {
    for await (const page of this.#pages(MEMORIES)) {
      for (const rows of groupsWithin(page, PAGE_CONTENT_BYTES, (row) => Number(row.content_bytes))) {
        const contents = await this.#contents(rows.map(({ key }) => key));
        const vectors = this.#vectors(rows);
        try {
          let next = await vectors.next();
          for (const row of rows) {
            const record = memoryRecord(row, contents.get(row.key) ?? null);
            yield record;
            const file = storedSource({ source: text(row.source) })?.file;
            if (file !== undefined) yield* this.#file(record.id, file);
            for (; !next.done && next.value.key === row.key; next = await vectors.next()) {
              yield { ...next.value.record, memory_id: record.id };
            }
          }
        } finally {
          await vectors.return(undefined); // gives the index back if nobody reads on
        }
      }
    }
  }

  /** Contents by memory key: waiting ones from the rows, published ones from the texts. */
  async #contents(keys: readonly bigint[]): Promise<ReadonlyMap<unknown, string>> {
    const { rows } = this.source;
    const contents = new Map<unknown, string>();
    for (const { memory_key, content, source } of await rows.all<Row>(waitingIn(rows), { keys: listOf(keys) })) {
      // the file of a long text; an uploaded file is exported in records of its own
      const name = storedSource({ source: text(source) }) === null ? keptFileOf({ source: text(source) }) : null;
      contents.set(memory_key, name === null ? string(content) : await this.#textIn(name));
    }
    const published = await this.source.contents(keys.filter((key) => !contents.has(key)));
    for (const [key, content] of published) contents.set(key, content);
    return contents;
  }

  async #textIn(name: string): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.source.file(name)) pieces.push(piece);
    return Buffer.concat(pieces).toString("utf8");
  }

  /** The vectors of completed memories, in the order of the rows. */
  async *#vectors(rows: readonly Row[]) {
    const { vectors } = this.source;
    if (vectors === null) return;
    const keys = rows.filter(({ status }) => status === "completed").map(({ key }) => key as MemoryKey);
    const projectId = string(this.project.id) as ProjectId;
    for await (const read of keys.length === 0 ? [] : vectors(projectId, keys)) {
      const { buffer, byteOffset, byteLength } = read.vectors;
      const record: Omit<ExportedVectors, "memory_id"> = {
        ...{ type: "vectors", model: read.fingerprint, dimensions: read.dimensions, inputs_sha256: read.inputsSha256 },
        ...{ first: read.first, data: Buffer.from(buffer, byteOffset, byteLength).toString("base64") },
      };
      yield { key: read.memoryKey, record };
    }
  }

  async *#file(memoryId: string, name: string): AsyncGenerator<ExportRecord> {
    let offset = 0;
    for await (const piece of this.source.file(name)) {
      for (let start = 0; start < piece.length; start += FILE_PART_BYTES) {
        const data = Buffer.from(piece.subarray(start, start + FILE_PART_BYTES));
        yield { type: "file", memory_id: memoryId, offset, data: data.toString("base64") };
        offset += data.length;
      }
    }
  }
}

function memoryRecord(row: Row, content: string | null): ExportedMemory {
  const source = storedSource({ source: text(row.source) });
  const isReindexed = row.is_reindexed === 1n;
  const status = isReindexed ? "completed" : string(row.status);
  if (status === "completed" && content === null) {
    throw new ExportError(`the text of memory ${string(row.id)} is missing: restore it from a backup`);
  }
  invariant(row.content_sha256 instanceof Uint8Array, "a memory has no hash of its content");
  return {
    ...{ type: "memory", id: string(row.id), status: status as "completed" },
    content: content ?? "",
    content_sha256: Buffer.from(row.content_sha256).toString("hex"),
    ...{ title: text(row.title), kind: text(row.type), tags: json<string[]>(row.tags), language: text(row.language) },
    given: JSON.parse(string(row.given)),
    extraction: text(row.extraction) as null,
    ...{ metadata: json<JsonObject>(row.metadata), userId: text(row.user_id), ...partitionOf(row) },
    externalId: text(row.external_id),
    ...{ created_at: Number(row.created_at), updated_at: Number(row.updated_at) },
    ...{ expires_at: time(row.expires_at), occurred_at: time(row.occurred_at) },
    source: toSource({ source: text(row.source) }),
    has_file: source?.file !== undefined,
    error:
      status === "failed"
        ? { code: string(row.error_code) as "processing_error", message: string(row.error_message) }
        : null,
    tokens: { prompt: Number(row.prompt_tokens), completion: Number(row.completion_tokens) },
    llm_extraction: json<JsonObject>(row.finding),
    document:
      row.marks === null ? null : { title: text(row.document_title), marks: json<JsonObject[]>(row.marks) ?? [] },
  };
}

/** Agent and session of a memory or chat, as far as it has them. */
function partitionOf({ agent_id, session_id }: Row): { readonly agentId?: string; readonly sessionId?: string } {
  const [agentId, sessionId] = [text(agent_id), text(session_id)];
  return { ...(agentId !== null && { agentId }), ...(sessionId !== null && { sessionId }) };
}

function string(value: Row[string] | undefined): string {
  invariant(typeof value === "string", "a text of a row is missing");
  return value;
}

function text(value: Row[string] | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function time(value: Row[string] | undefined): number | null {
  return typeof value === "bigint" ? Number(value) : null;
}

function json<T>(value: Row[string] | undefined): T | null {
  return typeof value === "string" ? (JSON.parse(value) as T) : null;
}
