// Writes the parts of a copy (domain/store-copy.ts) into an empty database. Each part is one transaction that also
// notes the number of the next part, so that a process that was killed can go on there.

import { invariant } from "../../../domain/fault.ts";
import type { FilledPart, StoreLayout, StorePart } from "../../../domain/store-copy.ts";
import { partsOf } from "../../copies/parts.ts";
import { decodeRow, type RowValue } from "../../copies/row-lines.ts";
import type { CopySink } from "../../copies/sink.ts";
import type { Value } from "../../session.ts";
import type { Client, Connection } from "../client.ts";
import { encodedText } from "../text-coding.ts";
import { endMove, type MovedDatabase } from "./move.ts";
import { DatabaseSnapshot } from "./snapshot.ts";
import { type CopiedRow, NOT_COPIED, NUMBERS, OWN_COLUMNS } from "./table-differences.ts";
import { inTransaction } from "./transaction.ts";

/** Size of the pieces of a file in the database, in bytes. */
const PIECE_BYTES = 1024 * 1024;

const COLUMNS = `SELECT table_name, column_name FROM information_schema.columns
  WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`;
const NOTE = "UPDATE mneme_migration SET parts = $1";
const PUT_PIECE = `INSERT INTO kept_files (name, piece, bytes) VALUES ($1, $2, $3)
  ON CONFLICT (name, piece) DO UPDATE SET bytes = excluded.bytes`;
const SET_KEY = "SELECT setval(pg_get_serial_sequence($1, $2), $3)";
const SET_NUMBERS: Readonly<Record<string, string>> = {
  chunk_key: "UPDATE chunk_keys SET next = $1",
  known_user: "SELECT setval('known_users', $1::bigint, false)",
  lease: "SELECT setval('lease_tokens', $1::bigint, false)",
};

/** A text that is not complete: further pieces of it may follow in the next parts. */
interface OpenText {
  readonly row: CopiedRow;
  readonly pieces: string[];
  /** Number of the part with its first piece. */
  readonly firstPart: number;
}

/** Writes a copy into a database into which a move has begun. */
export class DatabaseWriter implements CopySink {
  #open: OpenText | null = null;

  private constructor(
    private readonly client: Client,
    private readonly id: string,
    private readonly layout: StoreLayout,
    readonly partsDone: number,
    private readonly columnsOf: ReadonlyMap<string, readonly string[]>,
  ) {}

  /** @throws DatabaseError if the database cannot be used */
  static async open({ client, id }: MovedDatabase, layout: StoreLayout, partsDone: number): Promise<DatabaseWriter> {
    const { rows } = await client.read(COLUMNS, []);
    const columns = rows as readonly { readonly table_name: string; readonly column_name: string }[];
    const byTable = Map.groupBy(columns, ({ table_name }) => table_name);
    const columnsOf = new Map([...byTable].map(([table, own]) => [table, own.map(({ column_name }) => column_name)]));
    for (const table of columnsOf.keys()) {
      const isKnown = NOT_COPIED.includes(table) || layout.tables.some((known) => known.table === table);
      invariant(isKnown, `the table ${table} is neither copied nor named as not copied`);
    }
    return new DatabaseWriter(client, id, layout, partsDone, columnsOf);
  }

  async write({ part, bytes }: FilledPart, number: number): Promise<void> {
    await inTransaction(this.client, async (connection) => {
      if (part.kind !== "texts" || part.table !== "texts") await this.#endText(connection);
      if (part.kind === "upload") await putPieces(connection, part.name, part.offset, bytes);
      else if (part.kind !== "index") await this.#writeRows(connection, part, rowsOf(part, bytes), number);
      await connection.query(NOTE, [BigInt(this.#open?.firstPart ?? number + 1)]);
    });
  }

  async endParts(): Promise<void> {
    await inTransaction(this.client, (connection) => this.#endText(connection));
  }

  async *writtenParts(): AsyncGenerator<FilledPart> {
    await using snapshot = await DatabaseSnapshot.take(this.client, this.id, this.layout);
    yield* partsOf(snapshot);
  }

  finish(): Promise<void> {
    return endMove(this.client);
  }

  async abandon(): Promise<void> {}

  async #writeRows(
    connection: Connection,
    { kind, table }: Extract<StorePart, { readonly table: string }>,
    rows: readonly CopiedRow[],
    number: number,
  ): Promise<void> {
    if (kind === "texts") {
      if (table === "chunks") await this.#insert(connection, "chunks", rows.map(chunkRow));
      else if (table === "texts") await this.#addPieces(connection, rows, number);
      return;
    }
    if (NUMBERS.includes(table)) return this.#setNumbers(connection, table, rows);
    await this.#insert(connection, table, rows);
    if (table !== "projects") return;
    const served = rows.map(({ project_key, served_lease }) => ({ project_key, served_lease }) as CopiedRow);
    await this.#insert(connection, "project_service", served);
  }

  /** Inserts rows, with only the columns that the table has. Rows that exist already stay. */
  async #insert(connection: Connection, table: string, rows: readonly CopiedRow[]): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const columns = this.columnsOf.get(table) ?? [];
    const filled = columns.filter((name) => name in first || `${table}.${name}` in OWN_COLUMNS);
    const complete = rows.map((row) =>
      Object.fromEntries(filled.map((name) => [name, toJson(columnValue(table, name, row))])),
    );
    // a continued move repeats the parts since the first piece of an open text, so their texts may exist already
    const sql = `INSERT INTO ${table} (${filled.join(", ")}) OVERRIDING SYSTEM VALUE
      SELECT ${filled.join(", ")} FROM json_populate_recordset(NULL::${table}, $1::text::json) ON CONFLICT DO NOTHING`;
    const { count } = await connection.query(sql, [JSON.stringify(complete)]);
    invariant(count === rows.length || table === "texts", `${rows.length - count} rows of ${table} exist already`);
  }

  async #addPieces(connection: Connection, rows: readonly CopiedRow[], number: number): Promise<void> {
    const complete: CopiedRow[] = [];
    for (const row of rows) {
      if (this.#open !== null && this.#open.row.memory_key === row.memory_key) {
        this.#open.pieces.push(String(row.content));
        continue;
      }
      if (this.#open !== null) complete.push(textRow(this.#open));
      this.#open = { row, pieces: [String(row.content)], firstPart: number };
    }
    await this.#insert(connection, "texts", complete);
  }

  async #endText(connection: Connection): Promise<void> {
    if (this.#open !== null) await this.#insert(connection, "texts", [textRow(this.#open)]);
    this.#open = null;
  }

  async #setNumbers(connection: Connection, table: string, rows: readonly CopiedRow[]): Promise<void> {
    for (const { name, seq, next } of rows) {
      if (table === "sqlite_sequence") {
        const key = this.layout.tables.find((layout) => layout.table === name)?.keys[0];
        if (key !== undefined && seq !== 0n) await connection.query(SET_KEY, [String(name), key, seq as Value]);
      } else if (table === "sequences") {
        const sql = SET_NUMBERS[String(name)];
        if (sql !== undefined) await connection.query(sql, [next as Value]);
      }
    }
  }
}

function rowsOf({ columns, rows }: Extract<StorePart, { readonly table: string }>, bytes: Uint8Array): CopiedRow[] {
  const lines = new TextDecoder().decode(bytes).trimEnd().split("\n");
  invariant(lines.length === rows, "a part of a copy has another number of rows than it says");
  return lines.map((line) => {
    const values = decodeRow(line);
    return Object.fromEntries(columns.map((name, at) => [name, values[at] ?? null]));
  });
}

function columnValue(table: string, column: string, row: CopiedRow): RowValue {
  const own = OWN_COLUMNS[`${table}.${column}`];
  return own === undefined ? (row[column] ?? null) : own(row);
}

function chunkRow(row: CopiedRow): CopiedRow {
  return { ...row, headings: JSON.stringify(row.headings) };
}

function textRow({ row, pieces }: OpenText): CopiedRow {
  return { ...row, content: pieces.join("") };
}

/** A value that PostgreSQL reads from JSON. Integers that a number cannot hold are texts of digits. */
function toJson(value: RowValue): string | number | null {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return typeof value === "string" ? encodedText(value) : (value as number | null);
}

async function putPieces(connection: Connection, name: string, offset: number, bytes: Uint8Array): Promise<void> {
  for (let start = 0; start === 0 || start < bytes.length; start += PIECE_BYTES) {
    const piece = BigInt((offset + start) / PIECE_BYTES);
    await connection.query(PUT_PIECE, [name, piece, bytes.slice(start, start + PIECE_BYTES)]);
  }
}
