// A snapshot of all embedded stores at one moment: rows (SQLite), texts (DuckDB), uploaded files and the index. While
// it is taken, no row changes, so that each completed row has its own text. Reading goes on beside all other work.

import { existsSync, linkSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { nullIfMissing } from "../../../kit/missing-files.ts";
import type { UploadFiles } from "../../../ports/upload-files.ts";
import type { RowValue } from "../../../stores/copies/row-lines.ts";
import type { CopiedTable, IndexFile, StoreSnapshot, TextSum } from "../../../stores/copies/snapshot.ts";
import type { Reader } from "../../../stores/session.ts";
import type { SqliteDatabase } from "../../../stores/sqlite/database.ts";
import { SEQUENCE_TABLE, tablesOf } from "../../../stores/sqlite/layout.ts";
import { SqliteSession } from "../../../stores/sqlite/session.ts";
import type { SqliteStores } from "../../../stores/sqlite/stores.ts";
import type { Archive } from "../duckdb/archive.ts";
import { clusters, toCondition } from "../duckdb/key-conditions.ts";
import { isTransient } from "../duckdb/rewriting.ts";
import type { Cell, DuckSnapshot } from "../duckdb/snapshot.ts";

/** Size of the pieces of a file in bytes. */
const PIECE_BYTES = 1024 * 1024;
/** Memory keys that one query of the texts covers. */
const WINDOW_KEYS = 1_024n;
/** Estimated size of a row of the texts, in bytes; its real size is not known. */
const TEXT_BYTES = 1_200;

const UPLOADS = `SELECT source ->> '$.file' AS name FROM memories WHERE source ->> '$.file' IS NOT NULL
  UNION SELECT original_file FROM memories WHERE original_file IS NOT NULL ORDER BY 1`;
const WAITING = "SELECT count(*) AS n FROM memories WHERE source ->> '$.file' IS NOT NULL";
const ROWS_SIZE = `SELECT user_version AS version, page_count * page_size
    + (SELECT ifnull(sum(original_bytes), 0) FROM memories) AS bytes
  FROM pragma_user_version, pragma_page_count, pragma_page_size`;
const TEXTS_SIZE = "SELECT max(schema_version)::UBIGINT, (SELECT count(*) FROM texts)::UBIGINT FROM meta";

/** The stores that a snapshot covers. */
export interface SnapshotSource {
  readonly stores: Pick<SqliteStores, "snapshot">;
  readonly archive: Pick<Archive, "snapshot">;
  /** `hold` postpones the removal of files until the function that it returns is called. */
  readonly files: Pick<UploadFiles, "pathOf"> & { readonly hold: () => () => Promise<void> };
  /** Folder with the indexes of all projects, and one for links to their files, on the same disk. */
  readonly indexFolder: string;
  readonly linkFolder: string;
}

/**
 * Takes a snapshot. Writers wait for a few milliseconds. A row that is completed in the snapshot has the text of its
 * version: only a row in status `processing` can be published, and the rows stand still until both stores have been
 * read for the first time.
 * @param withIndex whether to keep the files of the index too. They are not checked: what is damaged or missing in them
 *   is indexed again when a server opens it
 * @throws StoreError if a store cannot be read; Error if the disk supports no links
 */
export async function takeSnapshot(source: SnapshotSource, withIndex = false): Promise<StoreSnapshot> {
  const { stores, archive, files, indexFolder } = source;
  const release = files.hold();
  const links = join(source.linkFolder, crypto.randomUUID());
  let texts: DuckSnapshot | null = null;
  const end = async () => {
    rmSync(links, { recursive: true, force: true });
    await texts?.close();
    await release();
  };
  try {
    const opened = await archive.snapshot();
    texts = opened;
    const [rows, index] = await stores.snapshot(async () => {
      await opened.begin();
      return withIndex ? linkFiles(indexFolder, links) : [];
    });
    const close = async () => {
      rows.close();
      await end();
    };
    return new EmbeddedSnapshot({ rows, texts: opened, pathOf: (name) => files.pathOf(name), index, close });
  } catch (error) {
    await end();
    throw error;
  }
}

/** Reads embedded stores that do not change meanwhile. */
export class EmbeddedSnapshot implements StoreSnapshot {
  readonly rows: Reader;
  readonly index: readonly IndexFile[];
  readonly #database: SqliteDatabase;
  readonly #texts: DuckSnapshot;
  readonly #pathOf: (name: string) => string;
  #close: (() => Promise<void>) | null;

  constructor(of: {
    readonly rows: SqliteDatabase;
    readonly texts: DuckSnapshot;
    /** Path of an uploaded file to which a row refers. */
    readonly pathOf: (name: string) => string;
    readonly index: readonly IndexFile[];
    readonly close: () => Promise<void>;
  }) {
    this.#database = of.rows;
    this.#texts = of.texts;
    this.#pathOf = of.pathOf;
    this.#close = of.close;
    this.rows = new SqliteSession(of.rows);
    this.index = of.index;
  }

  async contents(keys: readonly bigint[]): Promise<ReadonlyMap<bigint, string>> {
    const contents = new Map<bigint, string>();
    for (const cluster of clusters(keys)) {
      const sql = `SELECT memory_key, content FROM texts WHERE ${toCondition(cluster)} ORDER BY memory_key, piece`;
      for await (const [key, piece] of each<readonly [bigint, string]>(this.#texts, sql)) {
        contents.set(key, (contents.get(key) ?? "") + piece);
      }
    }
    return contents;
  }

  async lastText(): Promise<bigint> {
    const [last] = await firstOf<readonly [bigint]>(
      this.#texts,
      "SELECT ifnull(max(memory_key), 0)::UBIGINT FROM texts",
    );
    return last;
  }

  async texts(first: bigint, last: bigint): Promise<readonly TextSum[]> {
    const sums: TextSum[] = [];
    const sql = `SELECT memory_key, max(version), sum(strlen(content))::UBIGINT,
        sha256(string_agg(content, '' ORDER BY piece))
      FROM texts WHERE memory_key BETWEEN ${first} AND ${last} GROUP BY memory_key`;
    for await (const row of each<readonly [bigint, number, bigint, string]>(this.#texts, sql)) {
      const [memoryKey, version, bytes, sha256] = row;
      sums.push({ memoryKey, version: BigInt(version), bytes, sha256 });
    }
    return sums;
  }

  file(name: string): AsyncIterable<Uint8Array> {
    return piecesOf(this.#pathOf(name));
  }

  async fileBytes(name: string): Promise<number | null> {
    return (await stat(this.#pathOf(name)).catch(nullIfMissing))?.size ?? null;
  }

  async tables(): Promise<readonly CopiedTable[]> {
    const ofRows = tablesOf(this.#database).map((layout) => ({ ...layout, kind: "rows" as const }));
    // last of the rows, because inserting into other tables changes it
    const sequence = { kind: "rows", table: SEQUENCE_TABLE, columns: ["name", "seq"], keys: [] } as const;
    return [...ofRows, sequence, ...(await textTables(this.#texts))];
  }

  rowsOf(of: CopiedTable): AsyncIterable<readonly RowValue[]> {
    return of.kind === "texts" ? textRows(this.#texts, of) : this.#rowsOf(of);
  }

  async *#rowsOf({ table, columns, keys }: CopiedTable): AsyncGenerator<readonly RowValue[]> {
    const order = keys.length === 0 ? "rowid" : keys.join(", ");
    const sql = `SELECT ${columns.join(", ")} FROM ${table} ORDER BY ${order}`;
    const found = this.#database.prepare<Readonly<Record<string, RowValue>>>(sql);
    for (const row of found.iterate({})) yield columns.map((name) => row[name] ?? null);
  }

  async uploads(): Promise<{ readonly names: readonly string[]; readonly memories: number }> {
    const found = await this.rows.all<{ readonly name: string }>(UPLOADS);
    const [waiting] = await this.rows.all<{ readonly n: bigint }>(WAITING);
    return { names: found.map(({ name }) => name), memories: Number(waiting?.n) };
  }

  async size(): ReturnType<StoreSnapshot["size"]> {
    const [rows] = await this.rows.all<{ readonly version: bigint; readonly bytes: bigint }>(ROWS_SIZE);
    const [version, pieces] = await firstOf<readonly [bigint, bigint]>(this.#texts, TEXTS_SIZE);
    return {
      ...{ rows_version: Number(rows?.version), texts_version: Number(version) },
      bytes_estimated: Number(rows?.bytes) + Number(pieces) * TEXT_BYTES,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    const close = this.#close;
    this.#close = null;
    await close?.();
  }
}

/** The tables of the texts, without those that exist only while removed texts are erased from the file. */
export async function textTables(texts: DuckSnapshot): Promise<readonly CopiedTable[]> {
  const tables = new Map<string, string[]>();
  const sql =
    "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index";
  for await (const [table, column] of each<readonly [string, string]>(texts, sql)) {
    if (isTransient(table)) continue;
    tables.set(table, [...(tables.get(table) ?? []), column]);
  }
  return Array.from(tables, ([table, columns]) => {
    const key = columns.find((name) => name === "memory_key") ?? columns[0] ?? "";
    return { kind: "texts", table, columns, keys: [key] };
  });
}

/** The rows of a table of the texts. One query per window of keys: sorting all texts at once would need much memory. */
export async function* textRows(
  texts: DuckSnapshot,
  { table, columns }: Pick<CopiedTable, "table" | "columns">,
): AsyncGenerator<readonly Cell[]> {
  const select = `SELECT ${columns.join(", ")} FROM ${table}`;
  if (!columns.includes("memory_key")) {
    yield* each(texts, `${select} ORDER BY ALL`);
    return;
  }
  const order = ["memory_key"];
  const others = `SELECT column_name FROM duckdb_columns() WHERE table_name = '${table}'
    AND data_type NOT LIKE 'VARCHAR%' AND column_name <> 'memory_key' ORDER BY column_index`;
  for await (const [name] of each<readonly [string]>(texts, others)) order.push(name);
  const range = `SELECT ifnull(min(memory_key), 1)::UBIGINT, ifnull(max(memory_key), 0)::UBIGINT FROM ${table}`;
  const [first, last] = await firstOf<readonly [bigint, bigint]>(texts, range);
  for (let from = first - (first % WINDOW_KEYS); from <= last; from += WINDOW_KEYS) {
    const window = `memory_key BETWEEN ${from} AND ${from + WINDOW_KEYS - 1n}`;
    yield* each(texts, `${select} WHERE ${window} ORDER BY ${order.join(", ")}`);
  }
}

async function* each<Row extends readonly Cell[]>(texts: DuckSnapshot, sql: string): AsyncGenerator<Row> {
  for await (const rows of texts.rows<Row>(sql)) yield* rows;
}

async function firstOf<Row extends readonly Cell[]>(texts: DuckSnapshot, sql: string): Promise<Row> {
  for await (const rows of texts.rows<Row>(sql)) if (rows[0] !== undefined) return rows[0];
  throw new Error(`memories.duckdb returned no row for ${sql}`);
}

/** The first `bytesMax` bytes of a file. */
async function* piecesOf(path: string, bytesMax = Number.MAX_SAFE_INTEGER): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    for (let offset = 0; offset < bytesMax; ) {
      const length = Math.min(PIECE_BYTES, bytesMax - offset);
      const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, offset);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      offset += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** Links to all files of a folder, with their sizes now. A file that vanishes meanwhile is left out. */
function linkFiles(folder: string, links: string): readonly IndexFile[] {
  mkdirSync(links, { recursive: true, mode: 0o700 });
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return found.flatMap((entry, at) => {
    const source = join(entry.parentPath, entry.name);
    const link = join(links, String(at));
    try {
      linkSync(source, link);
    } catch (error) {
      return nullIfMissing(error) ?? [];
    }
    const path = relative(folder, source).split(sep).join("/");
    const bytes = statSync(link).size;
    return [{ path, bytes, pieces: () => piecesOf(link, bytes) }];
  });
}
