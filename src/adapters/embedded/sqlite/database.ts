// Opens, queries and closes the SQLite file: the only file that imports `bun:sqlite`. The tables are in migrations.ts;
// asynchronous transactions over several stores are in transactions.ts.

import { type Statement as BunStatement, Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite";
import { chmodSync, closeSync, openSync } from "node:fs";
import type { Eventually } from "../../../kit/eventually.ts";
import { refuseNewerVersion, StoreError, type StoreFileCode, storeError } from "../store-error.ts";
import { FURTHER_STEPS, MIGRATIONS } from "./migrations.ts";

/**
 * Maximum time in milliseconds that a statement waits for another process, such as a command that runs at the same time
 * as the server.
 */
const BUSY_TIMEOUT_MS = 5_000;
/** Size in bytes to which the write-ahead log is truncated after a large transaction. */
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024;

/** Values of the named parameters of a statement, by name without `$`. */
export type Bindings = Readonly<Record<string, string | bigint | number | null | Uint8Array>>;

/** A prepared statement. Integers come back as bigint. Every method throws StoreError if the file fails. */
export interface Statement<Row, Params extends Bindings> {
  all(params: Params): Row[];
  /** Returns the first row, or null if there is none. */
  get(params: Params): Row | null;
  /** Returns the rows one by one. No other call of this statement may come in between. */
  iterate(params: Params): Iterable<Row>;
  /** Returns the number of changed rows. */
  run(params: Params): number;
}

/** Receives the error of a failed effect. */
export type EffectFailure = (error: unknown) => void;

/** A function registered with `afterCommit`. Only transactions.ts waits for asynchronous effects. */
export type Effect = () => Eventually<void>;

/** Matches statements that change rows. A match by mistake is harmless: it only empties a cache too early. */
const WRITING = /\b(?:INSERT|UPDATE|DELETE|REPLACE)\b/i;

/** Counts the changes that this process has committed, over all connections to one file. */
export class ChangeCount {
  /** Number of changes so far. */
  value = 0;
}

/**
 * One connection to the SQLite file. Every commit is durable. Other connections and processes may use the file at the
 * same time.
 */
export class SqliteDatabase {
  readonly #statements = new Map<string, Statement<unknown, Bindings>>();
  /** Whether the write-ahead log may have erased rows. It may at first: the last process may have ended before. */
  #mustEmptyLog = true;
  /** Effects of the open transaction, in the order of registration. */
  #effects: Effect[] = [];

  /** Use `openDatabase` or `openReader`. */
  constructor(
    readonly path: string,
    private readonly connection: Database,
    private readonly onEffectFailure: EffectFailure,
    /** Counter that all connections of this process to the file share. */
    readonly changes: ChangeCount,
  ) {}

  /**
   * Returns the statement for this SQL. Statements are cached, so the SQL must be a constant; values are passed as
   * parameters.
   */
  prepare<Row, Params extends Bindings = Record<string, never>>(sql: string): Statement<Row, Params> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const prepared = this.#attempt(() => this.connection.prepare<unknown, SQLQueryBindings[]>(sql));
      statement = this.#wrapped(prepared, WRITING.test(sql));
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Row, Params>;
  }

  /** Whether a transaction is open on this connection, so that rows read now may still be rolled back. */
  get isInTransaction(): boolean {
    return this.connection.inTransaction;
  }

  /**
   * Runs `work` in one transaction. If a transaction is open already, `work` runs in a savepoint of it: if `work`
   * throws and the caller catches the error, only the changes of `work` are rolled back.
   */
  transaction<T>(work: () => T): T {
    if (this.connection.inTransaction) return this.#savepoint(work);
    this.begin();
    let result: T;
    let effects: readonly Effect[];
    try {
      result = work();
      effects = this.commit();
    } catch (error) {
      this.rollback();
      throw error;
    }
    for (const effect of effects) this.#runEffect(effect);
    return result;
  }

  /** Opens a transaction. `commit` or `rollback` ends it. */
  begin(): void {
    // IMMEDIATE acquires the write lock now, so that no other process can write between a read and a write of this
    // transaction
    this.#run("BEGIN IMMEDIATE");
  }

  /** Commits the open transaction and returns its effects. The caller must run them now. */
  commit(): readonly Effect[] {
    this.#run("COMMIT");
    this.changes.value += 1;
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** Rolls back the open transaction. On a full disk SQLite may have done so already. */
  rollback(): void {
    this.#effects = [];
    if (this.connection.inTransaction) this.#run("ROLLBACK");
  }

  /**
   * Runs `effect` after the commit of the open transaction, or at once if none is open. It does not run if the
   * transaction is rolled back.
   */
  afterCommit(effect: Effect): void {
    if (this.connection.inTransaction) this.#effects.push(effect);
    else this.#runEffect(effect);
  }

  /** Opens a transaction that only reads. All later reads of this connection see the file as it is now. */
  freeze(): void {
    this.#run("BEGIN");
    this.prepare("SELECT count(*) FROM sqlite_schema").get({}); // the first read takes the snapshot
  }

  /** Notes that rows were erased for good, for `emptyLog`. */
  noteErasure(): void {
    this.#mustEmptyLog = true;
  }

  /**
   * Moves the write-ahead log into the file and empties it if `noteErasure` was called since, because the log has
   * earlier versions of pages. Returns false if another connection reads or writes at this moment.
   */
  emptyLog(): boolean {
    if (!this.#mustEmptyLog) return true;
    this.#run("PRAGMA busy_timeout = 0"); // waiting would block this thread
    try {
      const result = this.prepare<{ busy: bigint }>("PRAGMA wal_checkpoint(TRUNCATE)").get({});
      this.#mustEmptyLog = result?.busy !== 0n;
      return !this.#mustEmptyLog;
    } finally {
      this.#run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /** Closes the file. A second call does nothing. */
  close(): void {
    this.#statements.clear();
    this.connection.close(true);
  }

  /**
   * Applies the missing migrations, each in its own transaction.
   * @param versionMax later migrations are not applied
   * @throws StoreError `newer_version` if the schema of the file is newer than this version of Mneme
   */
  migrate(versionMax = MIGRATIONS.length): void {
    const stored = this.prepare<{ user_version: bigint }>("PRAGMA user_version").get({});
    const version = Number(stored?.user_version ?? 0n);
    refuseNewerVersion(this.path, version, MIGRATIONS.length);
    for (const [index, sql] of MIGRATIONS.entries()) {
      if (index < version || index >= versionMax) continue;
      this.transaction(() => {
        this.connection.run(sql);
        FURTHER_STEPS.get(sql)?.(this);
        this.connection.run(`PRAGMA user_version = ${index + 1}`);
      });
    }
  }

  #savepoint<T>(work: () => T): T {
    const effectsBefore = this.#effects.length;
    this.#run("SAVEPOINT part");
    try {
      const result = work();
      this.#run("RELEASE part");
      return result;
    } catch (error) {
      this.#effects.length = effectsBefore;
      if (this.connection.inTransaction) {
        this.#run("ROLLBACK TO part");
        this.#run("RELEASE part");
      }
      throw error;
    }
  }

  #runEffect(effect: Effect): void {
    try {
      const ending = effect();
      if (ending instanceof Promise) ending.catch(this.onEffectFailure);
    } catch (error) {
      this.onEffectFailure(error);
    }
  }

  #run(sql: string): void {
    this.#attempt(() => this.connection.run(sql));
  }

  #wrapped(statement: BunStatement<unknown, SQLQueryBindings[]>, writes: boolean): Statement<unknown, Bindings> {
    return {
      all: (params) => this.#attempt(() => statement.all(params), writes),
      get: (params) => this.#attempt(() => statement.get(params) ?? null, writes),
      iterate: (params) => this.#attempt(() => statement.iterate(params), writes),
      run: (params) => this.#attempt(() => statement.run(params).changes, writes),
    };
  }

  #attempt<T>(call: () => T, writes = false): T {
    try {
      return call();
    } catch (error) {
      throw toStoreError(this.path, error);
    } finally {
      // outside of a transaction the change is committed now, so it is counted here; inside one, `commit` counts it
      if (writes && !this.connection.inTransaction) this.changes.value += 1;
    }
  }
}

/**
 * Opens the file for writing and applies the missing migrations. Creates the file if it does not exist, readable by its
 * owner only. Its folder must exist.
 * @param onEffectFailure default: an uncaught exception, because a failed effect is a bug that nobody else would see
 * @param schemaVersionMax later migrations are not applied
 * @throws StoreError if the file cannot be used
 */
export function openDatabase(
  path: string,
  onEffectFailure: EffectFailure = throwUncaught,
  schemaVersionMax?: number,
): SqliteDatabase {
  let connection: Database | null = null;
  try {
    // SQLite creates its log and shared-memory files with the mode of the main file
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
    connection = new Database(path, { readwrite: true, create: true, safeIntegers: true, strict: true });
    configure(connection);
    const database = new SqliteDatabase(path, connection, onEffectFailure, new ChangeCount());
    database.migrate(schemaVersionMax);
    return database;
  } catch (error) {
    connection?.close();
    throw toStoreError(path, error);
  }
}

/**
 * Opens a read-only connection to the file of `writer`. It sees committed changes only, also while a transaction is
 * open on `writer`.
 * @throws StoreError if the file cannot be used
 */
export function openReader(writer: SqliteDatabase): SqliteDatabase {
  try {
    const connection = new Database(writer.path, { readonly: true, safeIntegers: true, strict: true });
    connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    connection.run("PRAGMA temp_store = MEMORY");
    return new SqliteDatabase(writer.path, connection, throwUncaught, writer.changes);
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

/** Turns a failure into an uncaught exception. */
export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

function configure(connection: Database): void {
  connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  connection.run("PRAGMA journal_mode = WAL");
  // FULL: a commit is on the disk before it is acknowledged, so it survives a power cut
  connection.run("PRAGMA synchronous = FULL");
  connection.run("PRAGMA foreign_keys = ON");
  connection.run("PRAGMA temp_store = MEMORY");
  // deleted content is overwritten with zeros, also in pages that become free
  connection.run("PRAGMA secure_delete = ON");
  connection.run(`PRAGMA journal_size_limit = ${JOURNAL_BYTES_MAX}`);
}

const CODES: readonly (readonly [RegExp, StoreFileCode])[] = [
  [/^SQLITE_(NOTADB|CORRUPT)/, "damaged"],
  [/^SQLITE_(READONLY|PERM)|^(EACCES|EPERM|EROFS)$/, "read_only"],
  [/^SQLITE_FULL|^(ENOSPC|EDQUOT)$/, "no_space"],
  [/^SQLITE_(BUSY|LOCKED)/, "locked"],
  [/^SQLITE_(CANTOPEN|IOERR|PROTOCOL|NOLFS)|^E[A-Z]+$/, "io"],
];

/**
 * Converts a failure of the file to a StoreError. Other errors, such as a mistake in Mneme's own SQL, stay as they are.
 */
function toStoreError(path: string, error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const code = error instanceof SQLiteError || isSystemError(error) ? error.code : undefined;
  const known = CODES.find(([pattern]) => code !== undefined && pattern.test(code));
  return known === undefined ? error : storeError(known[1], path, error);
}

function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
