// Reads all rows, texts and unread files of the database at one moment, as the parts of a copy (domain/store-copy.ts).
// Equal data gives the same parts here and in the embedded stores.

import { invariant } from "../../../domain/fault.ts";
import {
  type FilledPart,
  STORE_COPY_VERSION,
  type StoreLayout,
  type StoreSummary,
  type TableLayout,
} from "../../../domain/store-copy.ts";
import { isoTime } from "../../../kit/clock.ts";
import { piecesOf } from "../../../kit/text-pieces.ts";
import { TimeSlice } from "../../../kit/time-slice.ts";
import { VERSION } from "../../../kit/version.ts";
import { PART_BYTES_MAX, PartLines } from "../../rows/part-lines.ts";
import { encodeRow, type RowValue } from "../../rows/row-lines.ts";
import type { Client } from "../client.ts";
import { keptPieces } from "./row-access.ts";
import { DatabaseSnapshot } from "./snapshot.ts";
import { COPIED_EXPRESSIONS, NUMBERS } from "./table-differences.ts";

/** Rest between two slices of the work in milliseconds: a server answers requests meanwhile. */
const REST_MS = 1;

const COUNTS = `SELECT (SELECT count(*) FROM projects WHERE deleted_at IS NULL) AS projects,
  (SELECT count(*) FROM memories WHERE deleted_at IS NULL) AS memories,
  (SELECT count(*) FROM users WHERE known_key IS NOT NULL) AS users,
  (SELECT count(*) FROM chats) AS chats,
  (SELECT count(*) FROM memories WHERE file IS NOT NULL) AS uploads`;
const BYTES = `SELECT coalesce(sum(pg_table_size(quote_ident(tablename)::regclass)), 0)::bigint AS bytes FROM pg_tables
  WHERE schemaname = current_schema() AND tablename NOT LIKE 'publication%'`;
const TEXTS = "SELECT project_id, memory_key, version, content FROM texts ORDER BY memory_key";
const CHUNKS = `SELECT texts.project_id, chunks.memory_key, chunk_key, ordinal, range_start, range_end, headings
  FROM chunks JOIN texts USING (memory_key) ORDER BY chunks.memory_key, chunk_key`;
const UPLOADS = "SELECT DISTINCT file AS name FROM memories WHERE file IS NOT NULL ORDER BY 1";
const SEQUENCES = `SELECT (SELECT next FROM chunk_keys) AS chunk_key,
  (SELECT last_value + is_called::int FROM known_users) AS known_user,
  (SELECT last_value + is_called::int FROM lease_tokens) AS lease`;

type Row = Readonly<Record<string, RowValue>>;

/** A copy of the database at one moment. `parts` has to be read to its end, or returned. */
export async function readCopy(
  client: Client,
  databaseId: string,
  layout: StoreLayout,
  now: number,
): Promise<{ readonly summary: StoreSummary; readonly parts: AsyncGenerator<FilledPart> }> {
  const snapshot = await DatabaseSnapshot.take(client);
  try {
    const summary = await summaryOf(snapshot, layout, now);
    return { summary, parts: closing(snapshot, partsOf(snapshot, layout, databaseId)) };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

async function summaryOf(snapshot: DatabaseSnapshot, layout: StoreLayout, now: number): Promise<StoreSummary> {
  const [counted] = await snapshot.all<Readonly<Record<keyof StoreSummary["counts"], bigint>>>(COUNTS);
  const [size] = await snapshot.all<{ readonly bytes: bigint }>(BYTES);
  invariant(counted !== undefined && size !== undefined, "a count returned no row");
  const { projects, memories, users, chats, uploads } = counted;
  return {
    ...{ has_index: false, version: STORE_COPY_VERSION, mneme: VERSION, taken_at: isoTime(now) },
    ...{ rows_version: layout.rowsVersion, texts_version: layout.textsVersion },
    counts: {
      ...{ projects: Number(projects), memories: Number(memories), users: Number(users) },
      ...{ chats: Number(chats), uploads: Number(uploads) },
    },
    bytes_estimated: Number(size.bytes),
  };
}

async function* partsOf(
  snapshot: DatabaseSnapshot,
  layout: StoreLayout,
  databaseId: string,
): AsyncGenerator<FilledPart> {
  for (const table of layout.tables) {
    if (table.table === "store") yield* numberParts(table, [[1n, databaseId, 0n, 0n]]);
    else if (table.table === "sequences") yield* numberParts(table, await sequencesOf(snapshot));
    else yield* rowParts(snapshot, table);
  }
  const sequence = { table: "sqlite_sequence", columns: ["name", "seq"], keys: [], isNumbered: false };
  yield* numberParts(sequence, await largestKeys(snapshot, layout.tables));
  yield* chunkParts(snapshot);
  const store = { table: "store", columns: ["store_id", "commits", "rows_commits"] };
  yield linesPart("texts", store, [encodeRow([databaseId, 0n, 0n])]);
  yield* textParts(snapshot, layout.pieceCharactersMax);
  for (const { name } of await snapshot.all<{ readonly name: string }>(UPLOADS)) yield* uploadParts(snapshot, name);
}

async function* rowParts(
  snapshot: DatabaseSnapshot,
  { table, columns, keys }: TableLayout,
): AsyncGenerator<FilledPart> {
  const selected = columns.map((name) => {
    const expression = COPIED_EXPRESSIONS[`${table}.${name}`];
    return expression === undefined ? `${table}.${name}` : `${expression} AS ${name}`;
  });
  const sql = `SELECT ${selected.join(", ")} FROM ${table} ORDER BY ${keys.join(", ")}`;
  const encoded = snapshot.rows<Row>(sql, hasContents(table));
  yield* cut("rows", { table, columns }, encoded, (row) => ({
    line: encodeRow(columns.map((name) => row[name] ?? null)),
    key: keys.map((name) => row[name]).join(),
  }));
}

function* numberParts({ table, columns }: TableLayout, rows: readonly (readonly RowValue[])[]): Generator<FilledPart> {
  invariant(NUMBERS.includes(table), `${table} is not a table of numbers`);
  if (rows.length > 0) yield linesPart("rows", { table, columns }, rows.map(encodeRow));
}

function chunkParts(snapshot: DatabaseSnapshot): AsyncGenerator<FilledPart> {
  const columns = ["project_id", "memory_key", "chunk_key", "ordinal", "range_start", "range_end", "headings"];
  return cut("texts", { table: "chunks", columns }, snapshot.rows<Row>(CHUNKS, false), (row) => {
    const values = columns.map((name) => row[name] ?? null);
    return { line: encodeRow(values.with(6, JSON.parse(String(row.headings)))), key: String(row.memory_key) };
  });
}

async function* textParts(snapshot: DatabaseSnapshot, pieceCharactersMax: number): AsyncGenerator<FilledPart> {
  const columns = ["project_id", "memory_key", "version", "piece", "content"];
  async function* pieces() {
    for await (const { project_id, memory_key, version, content } of snapshot.rows<Row>(TEXTS, true)) {
      let piece = 0;
      for (const text of piecesOf(String(content), pieceCharactersMax)) {
        yield [project_id ?? null, memory_key ?? null, version ?? null, piece++, text];
      }
    }
  }
  yield* cut("texts", { table: "texts", columns }, pieces(), (row) => ({ line: encodeRow(row), key: String(row[1]) }));
}

/** Parts of one table, cut as those of the embedded stores are. */
async function* cut<Each>(
  kind: "rows" | "texts",
  table: { readonly table: string; readonly columns: readonly string[] },
  rows: AsyncIterable<Each>,
  encode: (row: Each) => { readonly line: string; readonly key: string },
): AsyncGenerator<FilledPart> {
  const lines = new PartLines();
  const slice = new TimeSlice(REST_MS);
  for await (const row of rows) {
    const { line, key } = encode(row);
    const full = lines.add(line, key);
    if (full !== null) yield { part: { kind, ...table, rows: full.rows }, bytes: full.bytes };
    await slice.next();
  }
  const last = lines.end();
  if (last !== null) yield { part: { kind, ...table, rows: last.rows }, bytes: last.bytes };
}

function linesPart(
  kind: "rows" | "texts",
  table: { readonly table: string; readonly columns: readonly string[] },
  lines: readonly string[],
): FilledPart {
  return { part: { kind, ...table, rows: lines.length }, bytes: new TextEncoder().encode(`${lines.join("\n")}\n`) };
}

async function* uploadParts(snapshot: DatabaseSnapshot, name: string): AsyncGenerator<FilledPart> {
  let [waiting, length, offset, isThere]: [Uint8Array[], number, number, boolean] = [[], 0, 0, false];
  const part = (): FilledPart => ({ part: { kind: "upload", name, offset }, bytes: Buffer.concat(waiting) });
  for await (const piece of keptPieces(snapshot, name)) {
    isThere = true;
    let rest = piece;
    while (length + rest.length > PART_BYTES_MAX) {
      waiting.push(rest.subarray(0, PART_BYTES_MAX - length));
      rest = rest.subarray(PART_BYTES_MAX - length);
      yield part();
      [waiting, length, offset] = [[], 0, offset + PART_BYTES_MAX];
    }
    waiting.push(rest);
    length += rest.length;
  }
  if (!isThere) throw new Error(`The file ${name} of a memory is missing: run mneme verify.`);
  if (length > 0 || offset === 0) yield part();
}

async function sequencesOf(snapshot: DatabaseSnapshot): Promise<readonly (readonly RowValue[])[]> {
  const [found] = await snapshot.all<Readonly<Record<string, bigint>>>(SEQUENCES);
  return Object.entries({ access: 1n, ...found }).map(([name, next]) => [name, next]);
}

async function largestKeys(
  snapshot: DatabaseSnapshot,
  tables: readonly TableLayout[],
): Promise<readonly (readonly RowValue[])[]> {
  const found: RowValue[][] = [];
  for (const { table, keys, isNumbered } of tables) {
    if (!isNumbered) continue;
    const [row] = await snapshot.all<{ readonly last: bigint | null }>(
      `SELECT pg_sequence_last_value(pg_get_serial_sequence('${table}', '${keys[0]}')::regclass) AS last`,
    );
    if (row?.last != null) found.push([table, row.last]);
  }
  return found;
}

function hasContents(table: string): boolean {
  return table === "waiting_contents";
}

async function* closing(snapshot: DatabaseSnapshot, parts: AsyncGenerator<FilledPart>): AsyncGenerator<FilledPart> {
  try {
    yield* parts;
  } finally {
    await snapshot.close();
  }
}
