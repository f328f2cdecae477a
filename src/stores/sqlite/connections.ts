// Connections to the SQLite file: their settings, and what is read from a file before it is opened.

import { Database } from "bun:sqlite";
import { storeError } from "../store-error.ts";
import { Checkpoints, WAL_BYTES_MAX } from "./checkpoints.ts";
import { toStoreError } from "./errors.ts";
import type { FileIdentity, Inspected, Ownership } from "./opening.ts";
import { PageSums } from "./page-sums.ts";

/** Page size of new files in bytes, SQLite's default. */
const PAGE_BYTES = 4_096;
/**
 * Size of the page cache of a connection that writes. With SQLite's default of 2 MB, the tags of stored memories, which
 * are spread over their index, evict pages that are soon needed again; docs/measurements.md has the figures.
 */
const CACHE_KIB = 16 * 1_024;

/**
 * Maximum time in milliseconds that a statement waits for another process, such as a command that runs at the same time
 * as the server.
 */
export const BUSY_TIMEOUT_MS = 5_000;

/** Reads the table `store` of a file without changing the file; null if a version without that table wrote it. */
export function identify(path: string): FileIdentity | null {
  try {
    const connection = connectReader(path);
    try {
      if (firstValue(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'store'") === undefined) return null;
      const found = connection.query<{ store_id: string; commits: bigint }, []>("SELECT store_id, commits FROM store");
      const row = found.get();
      if (row === null) throw storeError("damaged", path);
      return { storeId: row.store_id, commits: Number(row.commits) };
    } finally {
      connection.close(true);
    }
  } catch (error) {
    throw toStoreError(path, error);
  }
}

/** Has SQLite check the structure of a file whose pages are not proven by sums. */
export function checkContent(path: string, connection: Database): void {
  const found = String(firstValue(connection, "PRAGMA integrity_check(1)"));
  if (found !== "ok") throw storeError("damaged", path, new Error(found));
}

function firstValue(connection: Database, sql: string): unknown {
  return Object.values(connection.query<Record<string, unknown>, []>(sql).get() ?? {})[0];
}

/** Opens a connection that only reads. It never makes a checkpoint. */
export function connectReader(path: string): Database {
  const connection = new Database(path, { readonly: true, safeIntegers: true, strict: true });
  connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  connection.run("PRAGMA temp_store = MEMORY");
  return connection;
}

/** Settings of a connection that writes. */
export function configure(connection: Database): void {
  connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);

  connection.run("PRAGMA journal_mode = WAL");
  // FULL: a commit is on the disk before it is acknowledged, so it survives a power cut
  connection.run("PRAGMA synchronous = FULL");
  connection.run("PRAGMA foreign_keys = ON");
  connection.run("PRAGMA temp_store = MEMORY");
  // deleted content is overwritten with zeros, also in pages that become free
  connection.run("PRAGMA secure_delete = ON");
  connection.run(`PRAGMA journal_size_limit = ${WAL_BYTES_MAX}`);
  connection.run("PRAGMA wal_autocheckpoint = 0"); // checkpoints.ts makes them
  connection.run(`PRAGMA cache_size = -${CACHE_KIB}`);
}

/** The checkpoints of the process that owns the data directory; null for other processes. */
export function createCheckpoints(
  path: string,
  { sums }: Pick<Inspected, "sums">,
  ownership: Ownership | null,
  merger: Database | null,
): Checkpoints | null {
  if (ownership === null || merger === null) return null;
  configure(merger);
  return new Checkpoints({
    path,
    sums: sums ?? PageSums.empty(PAGE_BYTES),
    mergeLog: () => void merger.run("PRAGMA wal_checkpoint(PASSIVE)"),
    log: ownership.log,
  });
}
