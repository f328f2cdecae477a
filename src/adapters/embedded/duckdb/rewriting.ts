// Rewrites the tables of the DuckDB file, so that removed texts are gone from its bytes. DuckDB only marks deleted
// rows, and does not overwrite the blocks that it frees. The work is done in steps, between which writes run.

import { clusters, toCondition } from "./key-conditions.ts";
import { TABLES } from "./schema.ts";

type TextTable = keyof typeof TABLES;

/** Table that exists while the file may have bytes of removed rows. It is created with the removal. */
const MARKER = "removed_rows";
/** Beginning of the names of tables that fill the free blocks. */
const FILLER = "free_blocks";
/** End of the names of the tables that replace others. */
const REWRITTEN = "_rewritten";
/** Bytes of a block of metadata. */
const METADATA_BLOCK_BYTES = 4_096;
/** Metadata blocks written beyond the free ones: more than the 64 that a file block has. */
const METADATA_BLOCKS_MORE = 128;
/** 64-bit numbers in a block of 256 KiB. */
const NUMBERS_PER_BLOCK = 32_768;
/** Maximum number of checkpoints by which `cutFile` shortens the file. */
const CUTS_MAX = 3;
/** Number of blocks that a step fills: 64 MiB. */
const BLOCKS_PER_STEP = 256;
/**
 * Number of rows that a step copies: at most 60 MB of text. With 215 MB of text, writes wait up to 0.6 s, instead of
 * 1.8 s with 122,880 rows. With 10,240 rows, the file grows to 1.6 times its size (docs/measurements.md).
 */
const ROWS_PER_STEP = 30_720;

/** Whether a table exists only while removed rows are erased. A copy of the file does not need it. */
export function isTransient(table: string): boolean {
  return table === MARKER || table.startsWith(FILLER) || table.endsWith(REWRITTEN);
}

/** Runs statements, one at a time. */
export interface Statements {
  run(sql: string): Promise<void>;
  /** Returns the rows of a query. */
  rows(sql: string): Promise<readonly (readonly unknown[])[]>;
}

/** Statement that belongs into the transaction that removes rows for good. */
export const NOTE_REMOVAL = `CREATE TABLE IF NOT EXISTS ${MARKER} (noted UINTEGER)`;
/** Query for the names of all tables. */
export const TABLE_NAMES = "SELECT table_name FROM duckdb_tables()";
/** Query that has a row if the file may have bytes of removed rows. */
export const NOTED_REMOVAL = `SELECT 1 FROM duckdb_tables() WHERE table_name = '${MARKER}'`;

/** Numbers of used blocks, of free ones, of rows of texts, and of rows in the file with the deleted ones. */
export const USE_OF_FILE = `SELECT used_blocks, free_blocks, (SELECT count(*) FROM texts),
  (SELECT coalesce(sum(count), 0) FROM pragma_storage_info('texts')
    WHERE column_name = 'memory_key' AND segment_type = 'UBIGINT') FROM pragma_database_size()`;
/**
 * The tables are rewritten if more than this share of the blocks is free. A rewrite leaves up to 0.38 of them free,
 * because DuckDB writes the last rows of a table several times. That is no loss: later writes reuse them.
 */
const FREE_SHARE_MAX = 0.5;
const FREE_BLOCKS_MIN = 4;
/** The tables are also rewritten if more than this share of the rows is deleted. */
const DELETED_SHARE_MAX = 0.2;
const DELETED_ROWS_MIN = 1_000;
/** Share of free blocks above which a rewrite fills the gaps first and copies the tables twice. */
const GAPS_SHARE_MAX = 0.2;

/** Number of free blocks. `use` is the row that `USE_OF_FILE` returns. */
export function freeBlocks(use: readonly unknown[] | undefined): number {
  return Number(use?.[1] ?? 0);
}

/**
 * Whether rewriting the tables makes the file much smaller.
 * @param use the row that `USE_OF_FILE` returns
 * @param unfreedBlocks number of free blocks that the last rewrite left, if nothing was written since it began. If
 *   there are no more now, another rewrite would not make the file smaller.
 */
export function isWasteful(use: readonly unknown[] | undefined, unfreedBlocks: number): boolean {
  const [, , live = 0, stored = 0] = (use ?? []).map(Number);
  const deleted = stored - live;
  return (
    (freeBlocks(use) > unfreedBlocks && hasFreeShare(use, FREE_SHARE_MAX)) ||
    (deleted >= DELETED_ROWS_MIN && deleted > stored * DELETED_SHARE_MAX)
  );
}

function hasFreeShare(use: readonly unknown[] | undefined, share: number): boolean {
  const [free, used] = [freeBlocks(use), Number(use?.[0] ?? 0)];
  return free >= FREE_BLOCKS_MIN && free > (used + free) * share;
}

/** How tables are rewritten. */
export interface RewriteOptions {
  /** Number of rows that a step copies; default: ROWS_PER_STEP. */
  readonly rowsPerStep: number | undefined;
  /** Whether gaps are filled first. Otherwise the file hardly grows meanwhile, but may keep its size afterwards. */
  readonly fillsGaps: boolean;
}

/** What happened to the tables since the first step. */
export interface Changes {
  /** Keys of memories whose write or removal was asked for. */
  keys(): readonly bigint[];
  /** Whether no memory was removed. */
  isNothingRemoved(): boolean;
}

/**
 * Writes these tables again without their deleted rows, and overwrites the free blocks, also those of metadata: the
 * statistics of a column have the first eight bytes of its smallest and largest text. Takes about as long as writing
 * the file twice, and meanwhile up to twice the space of the tables besides the file. Other writes may run after each
 * step, but no snapshot may be opened. After a crash at any point the rows are the same, and everything can be
 * repeated.
 */
export async function* rewriteTables(
  connection: Statements,
  tables: readonly TextTable[],
  changes: Changes,
  { rowsPerStep = ROWS_PER_STEP, fillsGaps }: RewriteOptions,
): AsyncGenerator<void> {
  await dropLeftovers(connection);
  const hasGaps = async () => hasFreeShare((await connection.rows(USE_OF_FILE))[0], GAPS_SHARE_MAX);
  // A copy in scattered free blocks stays scattered, so the file cannot be cut. If they are filled first, the first
  // copy goes to the end of the file, and the second one to its beginning.
  const isFilled = fillsGaps && (await hasGaps());
  if (isFilled) yield* fillFreeBlocks(connection);
  yield* writeAgain(connection, tables, changes, rowsPerStep);
  if (isFilled) {
    await dropLeftovers(connection);
    await connection.run("CHECKPOINT");
    yield;
  }
  if (await hasGaps()) yield* writeAgain(connection, tables, changes, rowsPerStep);
  yield* fillFreeBlocks(connection);
  await overwriteMetadata(connection);
  await connection.run("CHECKPOINT");
  yield;
  await dropLeftovers(connection);
  // The bytes of rows that were removed meanwhile are left to the next call.
  if (changes.isNothingRemoved()) await connection.run(`DROP TABLE IF EXISTS ${MARKER}`);
  await connection.run("CHECKPOINT");
  await cutFile(connection);
  // Rows that were written while fillers occupied the free blocks lie behind these, so the file could not be cut
  // there.
  if (changes.keys().length > 0 && (await hasGaps())) {
    yield;
    yield* writeAgain(connection, tables, changes, rowsPerStep);
    await cutFile(connection);
  }
}

/** Creates tables that fill all free blocks with other bytes. */
async function* fillFreeBlocks(connection: Statements): AsyncGenerator<void> {
  const [[free] = []] = await connection.rows("SELECT free_blocks FROM pragma_database_size()");
  // One block more, because a new table may begin in a block that is partly used.
  for (let [left, filler] = [Number(free) + 1, 0]; left > 0; [left, filler] = [left - BLOCKS_PER_STEP, filler + 1]) {
    const numbers = Math.min(left, BLOCKS_PER_STEP) * NUMBERS_PER_BLOCK;
    // hashes cannot be compressed
    await connection.run(`CREATE TABLE ${FILLER}_${filler} AS SELECT hash(range) AS number FROM range(${numbers})`);
    yield;
  }
}

/**
 * Removes free blocks at the end of the file. The last checkpoint wrote its metadata there, because the fillers still
 * occupied the earlier blocks. Further checkpoints move it to the beginning, but only if something has changed.
 */
async function cutFile(connection: Statements): Promise<void> {
  for (let checkpoints = 0; checkpoints < CUTS_MAX; checkpoints++) {
    const [[free] = []] = await connection.rows("SELECT free_blocks FROM pragma_database_size()");
    if (Number(free) === 0) return;
    await connection.run(`CREATE TABLE ${FILLER}_0 (number UBIGINT)`);
    await connection.run(`DROP TABLE ${FILLER}_0`);
    await connection.run("CHECKPOINT");
  }
}

/** Adds a comment to a filler, which the next checkpoint writes to the free blocks of metadata. */
async function overwriteMetadata(connection: Statements): Promise<void> {
  const [[free] = []] = await connection.rows("SELECT sum(free_blocks) FROM pragma_metadata_info()");
  const bytes = (Number(free) + METADATA_BLOCKS_MORE) * METADATA_BLOCK_BYTES;
  await connection.run(`COMMENT ON TABLE ${FILLER}_0 IS '${"-".repeat(bytes)}'`);
}

/** Drops fillers and copies, but not the marker. */
export async function dropLeftovers(connection: Statements): Promise<void> {
  for (const [name] of await connection.rows(TABLE_NAMES)) {
    const table = String(name);
    if (isTransient(table) && table !== MARKER) await connection.run(`DROP TABLE ${table}`);
  }
}

async function* writeAgain(
  connection: Statements,
  tables: readonly TextTable[],
  changes: Changes,
  rowsPerStep: number,
): AsyncGenerator<void> {
  for (const table of tables) {
    yield* copyInSteps(connection, table, changes, rowsPerStep);
    yield;
  }
  await connection.run("CHECKPOINT");
  yield;
}

/** Copies a table in the order of its keys, some memories per step. The last step replaces the table by the copy. */
async function* copyInSteps(
  connection: Statements,
  table: TextTable,
  changes: Changes,
  rowsPerStep: number,
): AsyncGenerator<void> {
  const copy = `${table}${REWRITTEN}`;
  await connection.run(TABLES[table](copy));
  let first = 0n;
  for (;;) {
    const rest = `SELECT memory_key FROM ${table} WHERE memory_key >= ${first} ORDER BY memory_key LIMIT ${rowsPerStep}`;
    const [[count, last] = []] = await connection.rows(`SELECT count(*), max(memory_key) FROM (${rest})`);
    if (Number(count) < rowsPerStep) break;
    const condition = `memory_key BETWEEN ${first} AND ${last}`;
    await connection.run(`INSERT INTO ${copy} SELECT * FROM ${table} WHERE ${condition}`);
    first = BigInt(String(last)) + 1n;
    yield;
  }
  await connection.run("BEGIN");
  for (const cluster of clusters(changes.keys().filter((key) => key < first))) {
    await connection.run(`DELETE FROM ${copy} WHERE ${toCondition(cluster)}`);
    await connection.run(`INSERT INTO ${copy} SELECT * FROM ${table} WHERE ${toCondition(cluster)}`);
  }
  await connection.run(`INSERT INTO ${copy} SELECT * FROM ${table} WHERE memory_key >= ${first}`);
  await connection.run("COMMIT");
  // A transaction of its own: DuckDB logs the changes of a transaction with the last name of the table, so a replay
  // after a crash would delete rows of the table that is replaced.
  await connection.run("BEGIN");
  await connection.run(`DROP TABLE ${table}`);
  await connection.run(`ALTER TABLE ${copy} RENAME TO ${table}`);
  await connection.run("COMMIT");
}
