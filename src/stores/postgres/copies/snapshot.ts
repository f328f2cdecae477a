// A snapshot of the database: a read-only transaction that stays open while it is read.

import { createHash } from "node:crypto";
import { invariant } from "../../../domain/fault.ts";
import type { StoreLayout } from "../../../domain/store-copy.ts";
import { piecesWithin } from "../../../kit/text-pieces.ts";
import type { RowValue } from "../../copies/row-lines.ts";
import type { CopiedTable, StoreSnapshot, TextSum } from "../../copies/snapshot.ts";
import type { Sql } from "../../dialect.ts";
import type { Bindings, Reader } from "../../session.ts";
import type { Client, Connection } from "../client.ts";
import { POSTGRES } from "../dialect.ts";
import { bound } from "../session.ts";
import { COPIED_EXPRESSIONS } from "./table-differences.ts";

const BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/** Numbers of rows that are fetched at once. The next one is chosen by the size of the rows before. */
const FETCHED_ROWS = [8, 64, 512, 2_048] as const;
/** Size of the rows that are fetched at once, in bytes. */
const FETCHED_BYTES = 2 * 1024 * 1024;

const CONTENTS = `SELECT memory_key, content FROM texts WHERE memory_key = ANY($keys::bigint[])`;
const PIECES = "SELECT piece FROM kept_files WHERE name = $name ORDER BY piece";
const PIECE = "SELECT bytes FROM kept_files WHERE name = $name AND piece = $piece";
const FILE_BYTES = "SELECT sum(octet_length(bytes))::bigint AS bytes FROM kept_files WHERE name = $name";
const LAST_TEXT = "SELECT coalesce(max(memory_key), 0) AS key FROM texts";
// a text with U+0001 may be stored with an escape (text-coding.ts), so its sum is computed of the decoded text
const SUMS = `SELECT memory_key, version, octet_length(content)::bigint AS bytes,
    encode(sha256(convert_to(content, 'UTF8')), 'hex') AS sha256,
    CASE WHEN position(chr(1) IN content) > 0 THEN content END AS encoded
  FROM texts WHERE memory_key BETWEEN $first AND $last`;
const BYTES = `SELECT coalesce(sum(pg_table_size(quote_ident(tablename)::regclass)), 0)::bigint AS bytes FROM pg_tables
  WHERE schemaname = current_schema() AND tablename NOT LIKE 'publication%'`;
const TEXTS = "SELECT project_id, memory_key, version, content FROM texts ORDER BY memory_key";
const CHUNKS = `SELECT texts.project_id, chunks.memory_key, chunk_key, ordinal, range_start, range_end, headings
  FROM chunks JOIN texts USING (memory_key) ORDER BY chunks.memory_key, chunk_key`;
const UPLOADS = `SELECT file AS name FROM memories WHERE file IS NOT NULL
  UNION SELECT original_file FROM memories WHERE original_file IS NOT NULL ORDER BY 1`;
const WAITING = "SELECT count(*) AS n FROM memories WHERE file IS NOT NULL";
const SEQUENCES = `SELECT 1::bigint AS access, (SELECT next FROM chunk_keys) AS chunk_key,
  (SELECT last_value + is_called::int FROM known_users) AS known_user,
  (SELECT last_value + is_called::int FROM lease_tokens) AS lease`;

/** Tables of a copy that DuckDB has in an installation with SQLite. Their parts end between memories. */
const TEXT_TABLES: readonly CopiedTable[] = [
  {
    ...{ kind: "texts", table: "chunks", keys: ["memory_key"] },
    columns: ["project_id", "memory_key", "chunk_key", "ordinal", "range_start", "range_end", "headings"],
  },
  { kind: "texts", table: "store", keys: ["store_id"], columns: ["store_id", "commits", "rows_commits"] },
  {
    ...{ kind: "texts", table: "texts", keys: ["memory_key"] },
    columns: ["project_id", "memory_key", "version", "piece", "content"],
  },
];

type Row = Readonly<Record<string, RowValue>>;

/** A read-only transaction. It runs one statement at a time. */
export class DatabaseSnapshot implements StoreSnapshot {
  readonly rows: Reader;
  readonly index = [];
  #cursors = 0;
  #isOpen = true;

  private constructor(
    private readonly connection: Connection,
    private readonly databaseId: string,
    private readonly layout: StoreLayout,
  ) {
    this.rows = {
      dialect: POSTGRES,
      all: async <Of>(sql: Sql, params: Bindings = {}) => {
        const { sql: numbered, values } = bound(sql, params);
        return (await connection.query(numbered, values)).rows as readonly Of[];
      },
    };
  }

  /** @throws DatabaseError if the database cannot be read */
  static async take(client: Client, databaseId: string, layout: StoreLayout): Promise<DatabaseSnapshot> {
    const connection = await client.begin(BEGIN);
    await connection.query("SELECT 1", []); // the first statement takes the snapshot
    return new DatabaseSnapshot(connection, databaseId, layout);
  }

  async contents(keys: readonly bigint[]): Promise<ReadonlyMap<bigint, string>> {
    type Content = { readonly memory_key: bigint; readonly content: string };
    const rows = await this.rows.all<Content>(CONTENTS, { keys });
    return new Map(rows.map(({ memory_key, content }) => [memory_key, content]));
  }

  async lastText(): Promise<bigint> {
    return (await this.rows.all<{ readonly key: bigint }>(LAST_TEXT))[0]?.key ?? 0n;
  }

  async texts(first: bigint, last: bigint): Promise<readonly TextSum[]> {
    type Sum = {
      readonly [Name in "memory_key" | "version" | "bytes"]: bigint;
    } & { readonly sha256: string; readonly encoded: string | null };
    const rows = await this.rows.all<Sum>(SUMS, { first, last });
    return rows.map(({ memory_key: memoryKey, version, bytes, sha256, encoded }) => {
      if (encoded === null) return { memoryKey, version, bytes, sha256 };
      const content = Buffer.from(encoded);
      const sum = createHash("sha256").update(content).digest("hex");
      return { memoryKey, version, bytes: BigInt(content.length), sha256: sum };
    });
  }

  async *file(name: string): AsyncGenerator<Uint8Array> {
    for (const { piece } of await this.rows.all<{ readonly piece: bigint }>(PIECES, { name })) {
      const [found] = await this.rows.all<{ readonly bytes: Uint8Array }>(PIECE, { name, piece });
      if (found !== undefined) yield found.bytes;
    }
  }

  async fileBytes(name: string): Promise<number | null> {
    const [row] = await this.rows.all<{ readonly bytes: bigint | null }>(FILE_BYTES, { name });
    return row?.bytes == null ? null : Number(row.bytes);
  }

  async tables(): Promise<readonly CopiedTable[]> {
    const ofRows = this.layout.tables.map((layout) => ({ ...layout, kind: "rows" as const }));
    const sequence = { kind: "rows", table: "sqlite_sequence", columns: ["name", "seq"], keys: [] } as const;
    return [...ofRows, sequence, ...TEXT_TABLES];
  }

  async *rowsOf(of: CopiedTable): AsyncGenerator<readonly RowValue[]> {
    const { kind, table, columns, keys } = of;
    switch (`${kind} ${table}`) {
      case "rows store":
        return yield [1n, this.databaseId, 0n, 0n];
      case "rows sequences":
        return yield* Object.entries((await this.rows.all<Row>(SEQUENCES))[0] ?? {});
      case "rows sqlite_sequence":
        return yield* this.#largestKeys();
      case "texts store":
        return yield [this.databaseId, 0n, 0n];
      case "texts texts":
        return yield* this.#pieces();
      case "texts chunks":
        for await (const row of this.#fetched(CHUNKS, false)) {
          yield columns.map((name) => (name === "headings" ? JSON.parse(String(row[name])) : (row[name] ?? null)));
        }
        return;
    }
    const selected = columns.map((name) => {
      const expression = COPIED_EXPRESSIONS[`${table}.${name}`];
      return expression === undefined ? `${table}.${name}` : `${expression} AS ${name}`;
    });
    const sql = `SELECT ${selected.join(", ")} FROM ${table} ORDER BY ${keys.join(", ")}`;
    for await (const row of this.#fetched(sql, table === "waiting_contents")) {
      yield columns.map((name) => row[name] ?? null);
    }
  }

  async uploads(): Promise<{ readonly names: readonly string[]; readonly memories: number }> {
    const found = await this.rows.all<{ readonly name: string }>(UPLOADS);
    const [waiting] = await this.rows.all<{ readonly n: bigint }>(WAITING);
    return { names: found.map(({ name }) => name), memories: Number(waiting?.n) };
  }

  async size(): ReturnType<StoreSnapshot["size"]> {
    const [size] = await this.rows.all<{ readonly bytes: bigint }>(BYTES);
    invariant(size !== undefined, "a sum returned no row");
    const { rowsVersion, textsVersion } = this.layout;
    return { rows_version: rowsVersion, texts_version: textsVersion, bytes_estimated: Number(size.bytes) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.connection.end(true); // closing the connection ends the transaction, whatever its state
  }

  async *#pieces(): AsyncGenerator<readonly RowValue[]> {
    for await (const { project_id, memory_key, version, content } of this.#fetched(TEXTS, true)) {
      let piece = 0;
      for (const text of piecesWithin(String(content), this.layout.pieceCharactersMax)) {
        yield [project_id ?? null, memory_key ?? null, version ?? null, piece++, text];
      }
    }
  }

  async *#largestKeys(): AsyncGenerator<readonly RowValue[]> {
    for (const { table, keys, isNumbered } of this.layout.tables) {
      if (!isNumbered) continue;
      const [row] = await this.rows.all<{ readonly last: bigint | null }>(
        `SELECT pg_sequence_last_value(pg_get_serial_sequence('${table}', '${keys[0]}')::regclass) AS last`,
      );
      if (row?.last != null) yield [table, row.last];
    }
  }

  /**
   * The rows of a query one by one.
   * @param hasContents whether a row may have megabytes, so that few are fetched at once
   */
  async *#fetched(sql: string, hasContents: boolean): AsyncGenerator<Row> {
    const cursor = `copy_${this.#cursors++}`;
    await this.connection.execute(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`);
    let count: number = FETCHED_ROWS[0];
    for (;;) {
      const { rows } = await this.connection.query(`FETCH ${count} FROM ${cursor}`, []);
      let bytes = 0;
      for (const row of rows as readonly Row[]) {
        bytes += sizeOf(row);
        yield row;
      }
      if (rows.length < count) break;
      const fitting = FETCHED_ROWS.findLast((rowCount) => (bytes / rows.length) * rowCount <= FETCHED_BYTES);
      count = hasContents ? FETCHED_ROWS[0] : (fitting ?? FETCHED_ROWS[0]);
    }
    await this.connection.execute(`CLOSE ${cursor}`);
  }
}

function sizeOf(row: Row): number {
  let bytes = 0;
  for (const value of Object.values(row))
    bytes += typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
  return bytes;
}
