// Settings of DuckDB, and what is read from a file before it is opened for writing.

import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { SchemaVersions } from "../../../stores/before-upgrade.ts";
import { toStoreError } from "./errors.ts";
import type { TextsRecord } from "./opening.ts";
import { MIGRATIONS, VERSION_WITH_COMMIT_NUMBERS } from "./schema.ts";

const MiB = 1024 * 1024;
/**
 * Default limit of DuckDB's memory, in bytes. Enough for a checkpoint of the largest rows (schema.ts). DuckDB's own
 * default is 80 % of the machine's memory.
 */
const MEMORY_BYTES_DEFAULT = 256 * MiB;
/**
 * Maximum size of DuckDB's temporary files, in bytes, which it writes if the memory does not suffice. No query here
 * sorts or joins much.
 */
const SPILL_BYTES_MAX = 1024 * MiB;
/** Number of DuckDB's threads. A second thread halves the time of scans; more would occupy cores that searches need. */
const THREADS = 2;
/**
 * Size in bytes at which the write-ahead log is merged into the file. A larger log would make opening after a crash
 * slower, because it is replayed.
 */
const WAL_BYTES_MAX = 16 * MiB;
/** Settings of an instance. */
export function settings(path: string, memoryMaxBytes = MEMORY_BYTES_DEFAULT): Record<string, string> {
  return {
    threads: String(THREADS),
    memory_limit: `${Math.floor(memoryMaxBytes / MiB)}MiB`,
    temp_directory: `${path}.tmp`,
    max_temp_directory_size: `${SPILL_BYTES_MAX / MiB}MiB`,
    wal_autocheckpoint: `${WAL_BYTES_MAX / MiB}MiB`,
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    // the order matters: temp_directory cannot be set without external access, and after lock_configuration nothing
    // can be set
    enable_external_access: "false",
    lock_configuration: "true",
  };
}

/** Reads all values of all tables. */
const READ_ALL = `SELECT (SELECT sum(hash(memory_key, version, piece) % 7 + strlen(content) + strlen(project_id)) FROM texts),
  (SELECT sum(hash(memory_key, chunk_key, ordinal, range_start, range_end, headings) % 7 + strlen(project_id)) FROM chunks)`;

/**
 * Reads the record of a file, and checks all blocks of the tables, without changing the file.
 * @returns null if the schema version is older than the record, or the record was never written
 * @throws StoreError if the file cannot be read; `damaged` if a block is damaged
 */
export function identify(path: string): Promise<TextsRecord | null> {
  return reading(path, async (connection) => {
    if ((await versionOf(connection)) < VERSION_WITH_COMMIT_NUMBERS) return null;
    await connection.run(READ_ALL); // each block is compared with its checksum when it is read
    const record = await recordOf(connection);
    return record.commits === 0 && record.storeId === "" ? null : record;
  });
}

/**
 * The schema version of a file, and the newest one that this program knows. Does not change the file.
 * @throws StoreError if the file cannot be read; `locked` if a server uses it
 */
export function readTextsBeforeUpgrade(path: string): Promise<SchemaVersions> {
  return reading(path, async (connection) => ({
    found: await versionOf(connection),
    supported: MIGRATIONS.length,
  }));
}

/** The schema version of a file; 0 if the process that created the file was killed before it had tables. */
async function versionOf(connection: DuckDBConnection): Promise<number> {
  const tables = await connection.run("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'meta'");
  if (Number((await tables.getRows())[0]?.[0] ?? 0) === 0) return 0;
  const version = await connection.run("SELECT max(schema_version) FROM meta");
  return Number((await version.getRows())[0]?.[0] ?? 0);
}

async function reading<T>(path: string, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  try {
    const instance = await DuckDBInstance.create(path, { access_mode: "READ_ONLY", ...settings(path) });
    let connection: DuckDBConnection | null = null;
    try {
      connection = await instance.connect();
      return await work(connection);
    } finally {
      connection?.disconnectSync();
      instance.closeSync();
    }
  } catch (error) {
    throw toStoreError(path, error);
  }
}

/** Reads the table `store`. */
export async function recordOf(connection: DuckDBConnection): Promise<TextsRecord> {
  const result = await connection.run("SELECT store_id, commits, rows_commits FROM store");
  const [storeId = "", commits = 0, rowsCommits = 0] = (await result.getRows())[0] ?? [];
  return { storeId: String(storeId), commits: Number(commits), rowsCommits: Number(rowsCommits) };
}
