// Opens, queries and closes the SQLite file: the only importer of `bun:sqlite`. The tables are migrations.ts; each
// store has its own queries. Transactions that several stores share are transactions.ts.

import { type Statement as BunStatement, Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite";
import { chmodSync, closeSync, openSync } from "node:fs";
import type { Eventually } from "../../../kit/eventually.ts";
import { refuseNewerVersion, StoreError, type StoreErrorCode, storeError } from "../store-error.ts";
import { MIGRATIONS } from "./migrations.ts";

/** How long a statement waits for another process (a command-line call beside the server) before it gives up. */
const BUSY_TIMEOUT_MS = 5_000;
/** The write-ahead log is cut back to this after it grew for one large transaction. */
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024;

/** Values of a statement's named parameters; names are written without their `$`. */
export type Bindings = Readonly<Record<string, string | bigint | number | null | Uint8Array>>;

/** A prepared statement. Integers come back as bigint. Every method throws StoreError when the file fails it. */
export interface Statement<Row, Params extends Bindings> {
  all(params: Params): Row[];
  /** The first row; null when there is none. */
  get(params: Params): Row | null;
  /** Returns how many rows changed. */
  run(params: Params): number;
}

/** Receives what an effect registered with `afterCommit` threw or rejected with. */
export type EffectFailure = (error: unknown) => void;

/** What follows a commit. It may be asynchronous where the transaction is one of transactions.ts. */
export type Effect = () => Eventually<void>;

/** Matches statements that change rows. A false match only makes a cache forget too early. */
const WRITING = /\b(?:INSERT|UPDATE|DELETE|REPLACE)\b/i;

/** Counts the changes that this process has committed, over all connections to one file. */
export class ChangeCount {
  /** Changes so far; while it stays the same, this process has changed nothing. */
  value = 0;
}

/** One connection to the SQLite file: durable at every commit, safe beside other connections and processes. */
export class SqliteDatabase {
  readonly #statements = new Map<string, Statement<unknown, Bindings>>();
  /** Effects of the open transaction, in the order of registration. */
  #effects: Effect[] = [];

  /** Use `openDatabase` or `openReader`. */
  constructor(
    readonly path: string,
    private readonly connection: Database,
    private readonly onEffectFailure: EffectFailure,
    /** Shared by all connections of this process to the file. */
    readonly changes: ChangeCount,
  ) {}

  /** A statement for this SQL; prepared once, then kept, so SQL texts must be constants and values parameters. */
  prepare<Row, Params extends Bindings = Record<string, never>>(sql: string): Statement<Row, Params> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const prepared = this.#attempt(() => this.connection.prepare<unknown, SQLQueryBindings[]>(sql));
      statement = this.#guarded(prepared, WRITING.test(sql));
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Row, Params>;
  }

  /** Whether a transaction is open on this connection: what is read now may still be undone. */
  get isInTransaction(): boolean {
    return this.connection.inTransaction;
  }

  /**
   * Runs `work` in one transaction, or as a part of the open one. A part that throws is undone alone, if the caller
   * catches the error and goes on.
   */
  atomically<T>(work: () => T): T {
    if (this.connection.inTransaction) return this.#partly(work);
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
    for (const effect of effects) this.#perform(effect);
    return result;
  }

  /** Opens a transaction. `commit` or `rollback` ends it. */
  begin(): void {
    // IMMEDIATE: a transaction that reads first must not find another process's change when it writes
    this.#run("BEGIN IMMEDIATE");
  }

  /** Makes the open transaction durable and returns its effects, which the caller runs now. */
  commit(): readonly Effect[] {
    this.#run("COMMIT");
    this.changes.value += 1;
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** Undoes the open transaction, if there still is one: on a full disk SQLite undoes it by itself. */
  rollback(): void {
    this.#effects = [];
    if (this.connection.inTransaction) this.#run("ROLLBACK");
  }

  /**
   * Runs `effect` after the open transaction has become durable; at once if none is open. Not at all if it is undone.
   */
  afterCommit(effect: Effect): void {
    if (this.connection.inTransaction) this.#effects.push(effect);
    else this.#perform(effect);
  }

  /** Closes the file; a second call does nothing. */
  close(): void {
    this.#statements.clear();
    this.connection.close(true);
  }

  /**
   * Brings the tables up to the newest version, each step in a transaction of its own.
   * @throws StoreError `newer_version` when the file is ahead of this Mneme
   */
  migrate(): void {
    const stored = this.prepare<{ user_version: bigint }>("PRAGMA user_version").get({});
    const version = Number(stored?.user_version ?? 0n);
    refuseNewerVersion(this.path, version, MIGRATIONS.length);
    for (const [index, sql] of MIGRATIONS.entries()) {
      if (index < version) continue;
      this.atomically(() => {
        this.connection.run(sql);
        this.connection.run(`PRAGMA user_version = ${index + 1}`);
      });
    }
  }

  #partly<T>(work: () => T): T {
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

  #perform(effect: Effect): void {
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

  #guarded(statement: BunStatement<unknown, SQLQueryBindings[]>, writes: boolean): Statement<unknown, Bindings> {
    return {
      all: (params) => this.#attempt(() => statement.all(params), writes),
      get: (params) => this.#attempt(() => statement.get(params) ?? null, writes),
      run: (params) => this.#attempt(() => statement.run(params).changes, writes),
    };
  }

  #attempt<T>(call: () => T, writes = false): T {
    try {
      return call();
    } catch (error) {
      throw toStoreError(this.path, error);
    } finally {
      // outside a transaction the statement is committed by now; inside, `commit` counts
      if (writes && !this.connection.inTransaction) this.changes.value += 1;
    }
  }
}

/**
 * Opens the file, makes it when it is missing (readable by its owner only), and brings its schema up to date. The
 * folder must exist.
 * @param onEffectFailure by default such a failure ends up as an uncaught exception: it is a bug, and nobody else sees
 *   it.
 * @throws StoreError
 */
export function openDatabase(path: string, onEffectFailure: EffectFailure = throwUncaught): SqliteDatabase {
  let connection: Database | null = null;
  try {
    // SQLite gives its log and shared-memory files the mode of the main file
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
    connection = new Database(path, { readwrite: true, create: true, safeIntegers: true, strict: true });
    configure(connection);
    const database = new SqliteDatabase(path, connection, onEffectFailure, new ChangeCount());
    database.migrate();
    return database;
  } catch (error) {
    connection?.close();
    throw toStoreError(path, error);
  }
}

/**
 * Opens a second connection to the same file that cannot write. It sees committed changes only, so it can be used while
 * a transaction is open on `writer`.
 * @throws StoreError
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

/** Turns a failure into an uncaught exception. */
export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

function configure(connection: Database): void {
  connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  connection.run("PRAGMA journal_mode = WAL");
  // FULL: a commit is on the disk before it is acknowledged, power cuts included
  connection.run("PRAGMA synchronous = FULL");
  connection.run("PRAGMA foreign_keys = ON");
  connection.run("PRAGMA temp_store = MEMORY");
  connection.run(`PRAGMA journal_size_limit = ${JOURNAL_BYTES_MAX}`);
}

const CODES: readonly (readonly [RegExp, Exclude<StoreErrorCode, "newer_version">])[] = [
  [/^SQLITE_(NOTADB|CORRUPT)/, "damaged"],
  [/^SQLITE_(READONLY|PERM)|^(EACCES|EPERM|EROFS)$/, "read_only"],
  [/^SQLITE_FULL|^(ENOSPC|EDQUOT)$/, "no_space"],
  [/^SQLITE_(BUSY|LOCKED)/, "locked"],
  [/^SQLITE_(CANTOPEN|IOERR|PROTOCOL|NOLFS)|^E[A-Z]+$/, "io"],
];

/** The failure of a file as a StoreError; a mistake in Mneme's own SQL or values stays what it was. */
function toStoreError(path: string, error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const code = error instanceof SQLiteError || isSystemError(error) ? error.code : undefined;
  const known = CODES.find(([pattern]) => code !== undefined && pattern.test(code));
  return known === undefined ? error : storeError(known[1], path, error);
}

function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
