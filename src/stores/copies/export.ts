// Reads everything of a project that an export contains, as records (domain/project-export.ts). import.ts writes them.

import { invariant } from "../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { completeLlm, DEFAULT_SETTINGS, withoutKeys } from "../../domain/project.ts";
import { ExportError, type ExportedSettings, type ExportRecord, type RecordOf } from "../../domain/project-export.ts";
import { parseJson } from "../../kit/exact-json.ts";
import { groupsWithin } from "../../kit/groups.ts";
import type { VectorReader } from "../../ports/vector-reader.ts";
import type { Dialect } from "../dialect.ts";
import { storedSource, toSource } from "../rows/memory.ts";
import { keptFileOf } from "../rows/memory-file.ts";
import { LIVE } from "../rows/sql.ts";
import type { AnyRow } from "../session.ts";
import { projectNamed } from "./named-project.ts";
import { RECORD_ROWS, type RowType, recordOf } from "./records.ts";
import type { StoreSnapshot } from "./snapshot.ts";

const MiB = 1024 * 1024;
/** Number of rows that are read at once. Other work can run between two pages. */
const PAGE_ROWS = 200;
/** Total size of the contents that are read at once. One memory is read even if it is larger. */
const PAGE_CONTENT_BYTES = 16 * MiB;
/** Size of a part of an uploaded file, in bytes. */
const FILE_PART_BYTES = MiB;

const SOURCES = ({ isIn }: Dialect) => `SELECT message_sources.message_key, position, memories.id AS memory_id, shown
  FROM message_sources JOIN memories USING (memory_key)
  WHERE message_key ${isIn("keys")} AND ${LIVE} AND memories.project_key = $project ORDER BY message_key, position`;
const WAITING = ({ isIn }: Dialect) => `SELECT memory_key, content, source
  FROM waiting_contents JOIN memories USING (memory_key) WHERE memory_key ${isIn("keys")}`;

/** A row with any columns. */
type Row = AnyRow & { readonly key: bigint };

/** Reads one project. */
export class ProjectExport {
  private constructor(
    private readonly snapshot: StoreSnapshot,
    private readonly vectors: VectorReader | null,
    private readonly project: Row,
    private readonly now: number,
  ) {}

  /**
   * @param vectors null: the export has no vectors
   * @param named id or name of the project; null: the default project
   * @param now Unix milliseconds: memories that have expired by then are left out
   * @throws Fault `project_not_found`, or `invalid_request` for the name of several projects
   */
  static async open(
    snapshot: StoreSnapshot,
    vectors: VectorReader | null,
    named: string | null,
    now: number,
  ): Promise<ProjectExport> {
    return new ProjectExport(snapshot, vectors, await projectNamed(snapshot.rows, named), now);
  }

  /** Number of records by type. */
  async counts(): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = { project: 1 };
    for (const [type, { from }] of Object.entries(RECORD_ROWS)) {
      const params = { project: this.project.key, now: this.now };
      const [row] = await this.snapshot.rows.all<{ readonly n: bigint }>(`SELECT count(*) AS n FROM ${from}`, params);
      counts[type] = Number(row?.n ?? 0n);
    }
    return counts;
  }

  /**
   * All records, in the order of EXPORT_TYPES. Parts of a file and vectors follow their memory.
   * @throws ExportError if the text of a completed memory is missing, or a file is missing or damaged
   */
  async *records(): AsyncGenerator<ExportRecord> {
    yield { ...recordOf("project", this.project), settings: settingsOf(this.project) };
    for (const type of Object.keys(RECORD_ROWS) as readonly RowType[]) {
      if (type === "memory") yield* this.#memories();
      else if (type === "message") yield* this.#messages();
      else if (type === "relation" || type === "earlier_relation") yield* this.#relations(type);
      else if (type === "earlier_text") yield* this.#earlierTexts();
      else yield* this.#each(type);
    }
  }

  /** The rows of a type in pages, each after a turn of other work. */
  async *#pages(type: RowType): AsyncGenerator<readonly Row[]> {
    const { key, columns, from } = RECORD_ROWS[type];
    const sql = `SELECT ${key} AS key, ${columns} FROM ${from} AND ${key} > $after ORDER BY ${key} LIMIT $limit`;
    let after = -1n;
    for (;;) {
      const params = { project: this.project.key, after, now: this.now, limit: PAGE_ROWS };
      const rows = await this.snapshot.rows.all<Row>(sql, params);
      if (rows.length > 0) yield rows;
      if (rows.length < PAGE_ROWS) return;
      after = rows.at(-1)?.key ?? after;
      await new Promise(setImmediate);
    }
  }

  async *#each(type: RowType): AsyncGenerator<ExportRecord> {
    for await (const rows of this.#pages(type)) for (const row of rows) yield recordOf(type, row);
  }

  async *#relations(type: "relation" | "earlier_relation"): AsyncGenerator<ExportRecord> {
    for await (const rows of this.#pages(type)) {
      for (const row of rows) {
        const { memory_id, other_id } = row;
        yield { ...recordOf(type, row), memory_id: string(memory_id), other_id: string(other_id) };
      }
    }
  }

  async *#earlierTexts(): AsyncGenerator<ExportRecord> {
    for await (const page of this.#pages("earlier_text")) {
      for (const rows of groupsWithin(page, PAGE_CONTENT_BYTES, (row) => Number(row.content_bytes))) {
        const archived = rows.flatMap(({ content, memory_key }) => (content === null ? [memory_key as bigint] : []));
        const contents = await this.snapshot.contents(archived);
        for (const row of rows) {
          const content = text(row.content) ?? contents.get(row.memory_key as bigint) ?? "";
          yield { ...recordOf("earlier_text", row), memory_id: string(row.memory_id), content };
        }
      }
    }
  }

  async *#messages(): AsyncGenerator<ExportRecord> {
    for await (const rows of this.#pages("message")) {
      const params = { keys: rows.map(({ key }) => key), now: this.now, project: this.project.key };
      const found = await this.snapshot.rows.all<SourceRow>(SOURCES, params);
      const sources = Map.groupBy(found, ({ message_key }) => message_key);
      for (const row of rows) {
        const shown = sources.get(row.key) ?? [];
        yield {
          ...recordOf("message", row),
          sources: shown.map(({ position, memory_id, shown }) => ({
            ...{ position: Number(position), memory_id, shown: parseJson(shown) as JsonObject },
          })),
        };
      }
    }
  }

  async *#memories(): AsyncGenerator<ExportRecord> {
    for await (const page of this.#pages("memory")) {
      for (const rows of groupsWithin(page, PAGE_CONTENT_BYTES, (row) => Number(row.content_bytes))) {
        const contents = await this.#contents(rows.map(({ key }) => key));
        const vectors = this.#vectors(rows);
        try {
          let next = await vectors.next();
          for (const row of rows) {
            const record = memoryRecord(row, contents.get(row.key) ?? null);
            yield record;
            const file = storedSource({ source: text(row.source) })?.file ?? text(row.original_file);
            if (file !== null) yield* this.#file(record, file);
            for (; !next.done && next.value.key === row.key; next = await vectors.next()) {
              yield { ...next.value.record, memory_id: record.id };
            }
          }
        } finally {
          await vectors.return(undefined); // releases the index if the caller stops reading
        }
      }
    }
  }

  /** Contents by memory key: waiting ones from the rows, published ones from the texts. */
  async #contents(keys: readonly bigint[]): Promise<ReadonlyMap<unknown, string>> {
    const { rows } = this.snapshot;
    const contents = new Map<unknown, string>();
    for (const { memory_key, content, source } of await rows.all<Row>(WAITING, { keys })) {
      // the file of a long text; an uploaded file is exported in records of its own
      const name = storedSource({ source: text(source) }) === null ? keptFileOf({ source: text(source) }) : null;
      contents.set(memory_key, name === null ? string(content) : await this.#textIn(name));
    }
    const published = await this.snapshot.contents(keys.filter((key) => !contents.has(key)));
    for (const [key, content] of published) contents.set(key, content);
    return contents;
  }

  async #textIn(name: string): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.snapshot.file(name)) pieces.push(piece);
    return Buffer.concat(pieces).toString("utf8");
  }

  /** The vectors of completed memories, in the order of the rows. */
  async *#vectors(rows: readonly Row[]) {
    const { vectors } = this;
    if (vectors === null) return;
    const keys = rows.filter(({ status }) => status === "completed").map(({ key }) => key as MemoryKey);
    const projectId = string(this.project.id) as ProjectId;
    for await (const read of keys.length === 0 ? [] : vectors(projectId, keys)) {
      const { buffer, byteOffset, byteLength } = read.vectors;
      const record: Omit<RecordOf<"vectors">, "memory_id"> = {
        ...{ type: "vectors", model: read.fingerprint, dimensions: read.dimensions, inputs_sha256: read.inputsSha256 },
        ...{ first: read.first, data: Buffer.from(buffer, byteOffset, byteLength).toString("base64") },
      };
      yield { key: read.memoryKey, record };
    }
  }

  async *#file({ id: memoryId, source }: RecordOf<"memory">, name: string): AsyncGenerator<ExportRecord> {
    if ((await this.snapshot.fileBytes(name)) !== source?.bytes) {
      throw new ExportError(`the file of memory ${memoryId} is missing or damaged: run mneme verify --repair`);
    }
    let offset = 0;
    for await (const piece of this.snapshot.file(name)) {
      for (let start = 0; start < piece.length; start += FILE_PART_BYTES) {
        const data = Buffer.from(piece.subarray(start, start + FILE_PART_BYTES));
        yield { type: "file", memory_id: memoryId, offset, data: data.toString("base64") };
        offset += data.length;
      }
    }
  }
}

/** A source of an answer. */
interface SourceRow {
  readonly message_key: bigint;
  readonly position: bigint;
  readonly memory_id: string;
  readonly shown: string;
}

function settingsOf({ settings }: Row): ExportedSettings {
  const stored = JSON.parse(string(settings));
  return { ...DEFAULT_SETTINGS, ...stored, llm: withoutKeys(completeLlm(stored.llm ?? {})) };
}

function memoryRecord(row: Row, content: string | null): RecordOf<"memory"> {
  const record = recordOf("memory", row);
  const status = row.is_reindexed === 1n ? "completed" : record.status;
  if (status === "completed" && content === null) {
    throw new ExportError(`the text of memory ${record.id} is missing: restore it from a backup`);
  }
  const source = { source: text(row.source) };
  return {
    ...record,
    ...{ status, content: content ?? "", source: toSource(source), has_file: storedSource(source)?.file !== undefined },
    ...(row.original_file !== null && { kept_file: true }),
    error:
      status === "failed"
        ? { code: string(row.error_code) as "processing_error", message: string(row.error_message) }
        : null,
    tokens: { prompt: Number(row.prompt_tokens), completion: Number(row.completion_tokens) },
    llm_extraction: row.finding === null ? null : JSON.parse(string(row.finding)),
    document: row.marks === null ? null : { title: text(row.document_title), marks: JSON.parse(string(row.marks)) },
  };
}

function string(value: Row[string] | undefined): string {
  invariant(typeof value === "string", "a text of a row is missing");
  return value;
}

function text(value: Row[string] | undefined): string | null {
  return typeof value === "string" ? value : null;
}
