// How the SQLite file is opened, asked and closed: the only importer of `bun:sqlite`. It knows nothing of memories; the
// tables are migrations.ts, what is asked of them is each store's own business.

import { type Statement as BunStatement, Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite";
import { chmodSync, closeSync, openSync } from "node:fs";
import type { Transactions } from "../../../ports/transactions.ts";
import { refuseNewerVersion, StoreError, type StoreErrorCode, storeError } from "../store-error.ts";
import { MIGRATIONS } from "./migrations.ts";

/** How long a statement waits for another process (a command-line call beside the server) before it gives up. */
const BUSY_TIMEOUT_MS = 5_000;
/** The write-ahead log is cut back to this after it grew for one large transaction. */
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024;

/** What a statement's named parameters can be bound to; names are written without their `$`. */
export type Bindings = Readonly<Record<string, string | bigint | number | null | Uint8Array>>;

/** A prepared statement. Integers come back as bigint. Every method throws StoreError when the file fails it. */
export interface Statement<Row, Params extends Bindings> {
  all(params: Params): Row[];
  /** The first row; null when there is none. */
  get(params: Params): Row | null;
  /** Returns how many rows changed. */
  run(params: Params): number;
}

/** Takes what an effect of `afterCommit` threw. */
export type EffectFailure = (error: unknown) => void;

/** What a statement that changes rows has in it; one of these words elsewhere only makes it count as one that does. */
const WRITING = /\b(?:INSERT|UPDATE|DELETE|REPLACE)\b/i;

/** One open SQLite file: durable at every commit, safe to share with other processes. */
export class SqliteDatabase implements Transactions {
  readonly #statements = new Map<string, Statement<unknown, Bindings>>();
  /** What is to run once the transaction under way is durable. */
  #effects: (() => void)[] = [];
  #writes = 0;

  /** Use `openDatabase`. */
  constructor(
    readonly path: string,
    private readonly connection: Database,
    private readonly onEffectFailure: EffectFailure,
  ) {}

  /** A statement for this SQL; prepared once, then kept, so SQL texts must be constants and values parameters. */
  prepare<Row, Params extends Bindings = Record<string, never>>(sql: string): Statement<Row, Params> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const prepared = this.#attempt(() => this.connection.prepare<unknown, SQLQueryBindings[]>(sql));
      statement = this.#guarded(prepared, WRITING.test(sql) ? 1 : 0);
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Row, Params>;
  }

  /** Whether a transaction is under way: what is read now may be undone. */
  get isInTransaction(): boolean {
    return this.connection.inTransaction;
  }

  /** Writing statements run so far, undone and failed ones included: while it stays, this process has changed nothing. */
  get writes(): number {
    return this.#writes;
  }

  /**
   * See Transactions.atomically. A call inside another that throws is undone alone, should the outer one catch that and
   * go on.
   */
  atomically<T>(work: () => T): T {
    if (this.connection.inTransaction) return this.#partly(work);
    // IMMEDIATE: a transaction that reads first cannot find, when it writes, that another process came between
    this.#run("BEGIN IMMEDIATE");
    let result: T;
    try {
      result = work();
      this.#run("COMMIT");
    } catch (error) {
      this.#effects = [];
      // a full disk has SQLite roll back by itself
      if (this.connection.inTransaction) this.#run("ROLLBACK");
      throw error;
    }
    const effects = this.#effects;
    this.#effects = [];
    for (const effect of effects) this.#perform(effect);
    return result;
  }

  /** See Transactions.afterCommit. What an effect throws goes to `onEffectFailure`: the transaction stands, and the other effects run. */
  afterCommit(effect: () => void): void {
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

  #perform(effect: () => void): void {
    try {
      effect();
    } catch (error) {
      this.onEffectFailure(error);
    }
  }

  #run(sql: string): void {
    this.#attempt(() => this.connection.run(sql));
  }

  #guarded(statement: BunStatement<unknown, SQLQueryBindings[]>, writes: 0 | 1): Statement<unknown, Bindings> {
    return {
      all: (params) => this.#attempt(() => statement.all(params), writes),
      get: (params) => this.#attempt(() => statement.get(params) ?? null, writes),
      run: (params) => this.#attempt(() => statement.run(params).changes, writes),
    };
  }

  #attempt<T>(call: () => T, writes: 0 | 1 = 0): T {
    this.#writes += writes;
    try {
      return call();
    } catch (error) {
      throw toStoreError(this.path, error);
    }
  }
}

/**
 * Opens the file, makes it when it is missing (readable by its owner only), and brings its schema up to date. The folder
 * must exist.
 * @param onEffectFailure by default such a failure ends up as an uncaught exception: it is a bug, and nobody else sees it.
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
    const database = new SqliteDatabase(path, connection, onEffectFailure);
    database.migrate();
    return database;
  } catch (error) {
    connection?.close();
    throw toStoreError(path, error);
  }
}

function throwUncaught(error: unknown): void {
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
