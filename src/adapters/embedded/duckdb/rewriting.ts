// Rewrites the tables of the DuckDB file, so that removed texts are gone from its bytes. DuckDB only marks deleted
// rows, and does not overwrite the blocks that it frees.

/** Table that exists while the file may have bytes of removed rows. It is created with the removal. */
const MARKER = "removed_rows";
/** Table that fills the free blocks. */
const FILLER = "free_blocks";
/** Tables that exist only while there are bytes of removed rows. A copy of the file does not need them. */
export const TRANSIENT_TABLES: readonly string[] = [MARKER, FILLER];
/** 64-bit numbers in a block of 256 KiB. */
const NUMBERS_PER_BLOCK = 32_768;

/** Runs statements, one at a time. */
export interface Statements {
  run(sql: string): Promise<void>;
  /** Returns the rows of a query. */
  rows(sql: string): Promise<readonly (readonly unknown[])[]>;
}

/** Statement that belongs into the transaction that removes rows for good. */
export const NOTE_REMOVAL = `CREATE TABLE IF NOT EXISTS ${MARKER} (noted UINTEGER)`;
/** Query that has a row if the file may have bytes of removed rows. */
export const NOTED_REMOVAL = `SELECT 1 FROM duckdb_tables() WHERE table_name = '${MARKER}'`;

/** Numbers of blocks that are in use and free, of rows of texts, and of deleted rows among those in the file. */
export const USE_OF_FILE = `SELECT used_blocks, free_blocks, (SELECT count(*) FROM texts),
  (SELECT coalesce(sum(count), 0) FROM pragma_storage_info('texts')
    WHERE column_name = 'memory_key' AND segment_type = 'UBIGINT') FROM pragma_database_size()`;
/** A file is wasteful if more than this share of its blocks is free, or of its rows deleted, above these minimums. */
const WASTE_SHARE_MAX = 0.2;
const FREE_BLOCKS_MIN = 4;
const DELETED_ROWS_MIN = 1_000;

/** Whether rewriting the tables frees much of the file. The arguments are the columns of `USE_OF_FILE`. */
export function isWasteful(use: readonly unknown[] | undefined): boolean {
  const [used = 0, free = 0, live = 0, stored = 0] = (use ?? []).map(Number);
  const deleted = stored - live;
  return (
    (free >= FREE_BLOCKS_MIN && free > (used + free) * WASTE_SHARE_MAX) ||
    (deleted >= DELETED_ROWS_MIN && deleted > stored * WASTE_SHARE_MAX)
  );
}

/**
 * Writes these tables again without their deleted rows, and overwrites the free blocks. Takes about as long as writing
 * the file twice. After a crash at any point the rows are the same, and the call can be repeated.
 */
export async function rewriteTables(connection: Statements, tables: readonly string[]): Promise<void> {
  await connection.run(`DROP TABLE IF EXISTS ${FILLER}`);
  await writeAgain(connection, tables);
  // The tables are now behind the blocks that they had before. The second time they move there, and the file is cut.
  if (isWasteful((await connection.rows(USE_OF_FILE))[0])) await writeAgain(connection, tables);
  const [[free] = []] = await connection.rows("SELECT free_blocks FROM pragma_database_size()");
  // Hashes cannot be compressed. One block more, because a new table may begin in a block that is partly used.
  const numbers = (Number(free) + 1) * NUMBERS_PER_BLOCK;
  await connection.run(`CREATE TABLE ${FILLER} AS SELECT hash(range) AS number FROM range(${numbers})`);
  await connection.run("CHECKPOINT");
  await connection.run(`DROP TABLE ${FILLER}`);
  await connection.run(`DROP TABLE IF EXISTS ${MARKER}`);
  await connection.run("CHECKPOINT");
}

async function writeAgain(connection: Statements, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const [[definition] = []] = await connection.rows(`SELECT sql FROM duckdb_tables() WHERE table_name = '${table}'`);
    const rewritten = `${table}_rewritten`;
    await connection.run("BEGIN");
    await connection.run(String(definition).replace(`CREATE TABLE ${table}(`, `CREATE TABLE ${rewritten}(`));
    await connection.run(`INSERT INTO ${rewritten} SELECT * FROM ${table}`);
    await connection.run(`DROP TABLE ${table}`);
    await connection.run(`ALTER TABLE ${rewritten} RENAME TO ${table}`);
    await connection.run("COMMIT");
  }
  await connection.run("CHECKPOINT");
}
