// Opens the SQLite file: for writing, for reading, and as a snapshot.

import { Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import type { EffectFailure } from "../session.ts";
import { checkContent, configure, connectReader, createCheckpoints, identify } from "./connections.ts";
import { SqliteDatabase, throwUncaught } from "./database.ts";
import { toStoreError } from "./errors.ts";
import { inspect, type Ownership } from "./opening.ts";

/** Options for opening a database for writing. */
export interface OpenOptions {
  /** Default: an uncaught exception, because a failed effect is a bug that nobody else would see. */
  readonly onEffectFailure?: EffectFailure;
  /** Given by the process that holds the lock of the data directory, which also makes the checkpoints. */
  readonly ownership?: Ownership | null;
  /** Number of the newest commit of the texts that commits of this file may rely on. */
  readonly textsCommits?: () => number;
  /** Counts the changes that this process commits. Default: a count of this thread. */
  readonly changes?: { value: number };
  /** Later migrations are not applied, and commits are not numbered; a restore sets it. */
  readonly schemaVersionMax?: number;
}

/**
 * Opens the file for writing and applies the missing migrations. Creates the file if it does not exist, readable by its
 * owner only. Its folder must exist.
 * @throws StoreError if the file cannot be used; `lost` or `damaged` if it lacks something that was committed
 */
export function openDatabase(path: string, options: OpenOptions = {}): SqliteDatabase {
  const { onEffectFailure = throwUncaught, ownership = null, textsCommits = () => 0, schemaVersionMax } = options;
  const { changes = { value: 0 } } = options;
  const opened: { close(isAtOnce: boolean): void }[] = [];
  const keep = (connection: Database) => {
    opened.unshift(connection);
    return connection;
  };
  try {
    const inspected = inspect(path, ownership, () => identify(path));
    // SQLite creates its log and shared-memory files with the mode of the main file
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
    const connection = keep(new Database(path, { readwrite: true, create: true, safeIntegers: true, strict: true }));
    configure(connection);
    const guard = connectReader(path);
    opened.push(guard);
    guard.run("SELECT 1 FROM sqlite_schema"); // from now on it holds a lock
    if (inspected.isUnproven) checkContent(path, connection);
    const database = new SqliteDatabase(path, connection, onEffectFailure, changes);
    database.migrate(schemaVersionMax);
    if (schemaVersionMax !== undefined) {
      guard.close(true);
      return database;
    }
    const merger = ownership === null ? null : keep(new Database(path, { readwrite: true }));
    const checkpoints = createCheckpoints(path, inspected, ownership, merger);
    if (checkpoints !== null) opened.push(checkpoints);
    database.startCounting({ guard, merger, textsCommits, checkpoints }, inspected.commitsMin);
    return database;
  } catch (error) {
    for (const each of opened) each.close(true); // at once, so that the guard is the last one (see Counting)
    throw toStoreError(path, error);
  }
}

/**
 * Opens a read-only connection to the file of `writer`. It sees committed changes only, also while a transaction is
 * open on `writer`.
 * @throws StoreError if the file cannot be used
 */
export function openReader(writer: Pick<SqliteDatabase, "path" | "changes">): SqliteDatabase {
  try {
    return new SqliteDatabase(writer.path, connectReader(writer.path), throwUncaught, writer.changes);
  } catch (error) {
    throw toStoreError(writer.path, error);
  }
}

/**
 * Opens a read-only connection that sees the file as it is now, until it is closed. Meanwhile the write-ahead log
 * grows, because later changes are not merged into the file.
 * @throws StoreError if the file cannot be used
 */
export function openSnapshot(writer: SqliteDatabase): SqliteDatabase {
  const snapshot = openReader(writer);
  try {
    snapshot.freeze();
    return snapshot;
  } catch (error) {
    snapshot.close();
    throw error;
  }
}
