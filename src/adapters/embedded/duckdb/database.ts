// Opens, reads, writes, reopens and closes the DuckDB file. Only this folder imports `@duckdb/node-api`. The tables are
// in schema.ts, the queries in archive.ts.

import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  type DuckDBAppender,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBInstance,
  LIST,
  VARCHAR,
} from "@duckdb/node-api";
import { invariant } from "../../../domain/fault.ts";
import type { Log } from "../../../kit/log.ts";
import { syncFolderNow } from "../../../kit/sync-folder.ts";
import { lossError, refuseNewerVersion, StoreError } from "../../../stores/store-error.ts";
import { COMMITTED, CONFLICT, INVALIDATED, NO_TRANSACTION, toStoreError, UNUSABLE } from "./errors.ts";
import { type InspectionOptions, inspectTexts, type RowsRecord, type TextsRecord } from "./opening.ts";
import { identify, recordOf, settings } from "./record.ts";
import { dropLeftovers, type Statements } from "./rewriting.ts";
import { MIGRATIONS } from "./schema.ts";
import { type Cell, DuckSnapshot } from "./snapshot.ts";

/**
 * Number of rows that are appended before other work may run. Appending blocks this thread, and 2,048 texts take about
 * 10 ms.
 */
const ROWS_PER_TURN = 2_048;
/** Maximum number of attempts of a call. It is repeated if the file had to be reopened or transactions conflicted. */
const ATTEMPTS_MAX = 3;

/** Options for opening the file. */
export interface DuckDatabaseOptions {
  readonly path: string;
  /** Memory that DuckDB may use, in bytes; 256 MiB by default. */
  readonly memoryMaxBytes?: number;
  /** Later migrations are not applied; a restore sets it. Default: all are applied. */
  readonly schemaVersionMax?: number;
  readonly log: Log;
  /**
   * What the rows in SQLite know of the texts, and what to do if the file does not fit. Absent: the file is opened
   * without a comparison, and commits are not numbered.
   */
  readonly inspection?: Pick<InspectionOptions, "rows" | "quarantine" | "acceptsLoss">;
}

/** Changes the file within one transaction. */
export interface Writer {
  /** Runs one statement. */
  run(sql: string): Promise<void>;
  /** Appends rows, each with one cell per column. */
  append(table: string, rows: Iterable<readonly Cell[]>): Promise<void>;
}

/** An open DuckDB file. Reopens the file by itself after a failure that makes DuckDB unusable, such as a full disk. */
export class DuckDatabase {
  #session: Session | null = null;
  #opening: Promise<Session> | null = null;
  #writes: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #commits = 0;
  readonly #rows: RowsRecord | null;

  private constructor(private readonly options: DuckDatabaseOptions) {
    this.#rows = options.inspection?.rows ?? null;
  }

  /**
   * Opens or creates the file, applies the missing migrations and merges a log that a crash left behind.
   * @throws StoreError if the file cannot be used; `lost` if it lacks something that the rows rely on
   */
  static async open(options: DuckDatabaseOptions): Promise<DuckDatabase> {
    const { path, log, inspection } = options;
    const hasLost =
      inspection !== undefined && (await inspectTexts({ ...inspection, path, log }, () => identify(path)));
    if (!existsSync(options.path)) await createFile(options);
    const database = new DuckDatabase(options);
    const hadLog = (statSync(`${path}.wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    const session = await database.#ready();
    if (inspection !== undefined && (hasLost || database.#commits === 0)) {
      const { storeId, textsCommits, commits } = inspection.rows;
      database.#commits = Math.max(database.#commits, textsCommits);
      await session.setRecord({ storeId, commits: database.#commits, rowsCommits: commits() });
    }
    if (hadLog || hasLost) await database.#mergeLog();
    return database;
  }

  /** Number of the newest commit. */
  get commits(): number {
    return this.#commits;
  }

  /** Returns the rows of a query; each value has the type of its column. `values` are bound to `$1`, `$2`, … */
  async rows<Row extends readonly Cell[]>(sql: string, values: readonly string[] = []): Promise<readonly Row[]> {
    const chunks = await this.#read(sql, values);
    return chunks.flatMap((chunk) => chunk.getRows() as unknown as Row[]);
  }

  /** Returns the columns of a query; all must be UBIGINT. For many rows this takes a fraction of the time of `rows`. */
  async keyColumns(sql: string, values: readonly string[] = []): Promise<readonly BigUint64Array[]> {
    const chunks = await this.#read(sql, values);
    const rowCount = chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0);
    return Array.from({ length: chunks[0]?.columnCount ?? 0 }, (_, column) => {
      const keys = new BigUint64Array(rowCount);
      let at = 0;
      for (const chunk of chunks) {
        keys.set(chunk.getColumnVector(column).toArray() as bigint[], at);
        at += chunk.rowCount;
      }
      return keys;
    });
  }

  /**
   * Runs `work` in one transaction, after all earlier ones. Its changes are durable when the call resolves, and undone
   * if it rejects. `work` may be called again if the file had to be reopened.
   * @throws StoreError if the file cannot be used
   */
  write(work: (writer: Writer) => Promise<void>): Promise<void> {
    return this.#afterWrites(async (session) => {
      if (this.#rows === null) await session.transaction(work);
      else this.#commits = await session.write(work, this.#rows.commits());
    });
  }

  /**
   * Merges the log into the file, after all earlier writes. Takes up to a second, so it is for idle times.
   */
  checkpoint(): Promise<void> {
    return this.#afterWrites((session) => session.checkpoint());
  }

  /**
   * Rewrites tables in steps (rewriting.ts), each after the writes that were called before it. Reads go on meanwhile.
   * Gives up if a snapshot is open or was opened since the first step, because the file keeps the rows of snapshots; if
   * the file was reopened; and when it is being closed. Returns whether all steps are done.
   */
  async inSteps(work: (connection: Statements) => AsyncGenerator<void>): Promise<boolean> {
    let rewriting: Rewriting | null = null;
    let state: RewriteState = "unfinished";
    while (state === "unfinished") {
      if (this.#isClosed) return false;
      await this.#afterWrites(async (session) => {
        rewriting ??= session.beginRewrite(work);
        state = await session.continueRewrite(rewriting);
      });
    }
    return state === "done";
  }

  /**
   * Opens a snapshot, which sees the file as it is at its `begin`. Writes go on meanwhile. It must be closed before the
   * file.
   */
  async snapshot(): Promise<DuckSnapshot> {
    this.#refuseWhenClosed();
    return this.#attempt((session) => session.snapshot(this.options.path));
  }

  /** Waits for running calls, merges the log, closes the file and releases its lock. A second call does nothing. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writes;
    await this.#mergeLog();
    await this.#session?.close();
    this.#session = null;
  }

  async #read(sql: string, values: readonly string[]): Promise<readonly DuckDBDataChunk[]> {
    this.#refuseWhenClosed();
    return this.#attempt((session) => session.read(sql, values));
  }

  async #afterWrites(call: (session: Session) => Promise<void>): Promise<void> {
    this.#refuseWhenClosed();
    const result = this.#writes.then(() => this.#attempt(call));
    // allSettled, because a failed write must not prevent the next one
    this.#writes = Promise.allSettled([result]);
    await result;
  }

  #refuseWhenClosed(): void {
    invariant(!this.#isClosed, `${this.options.path} was used after it was closed`);
  }

  // A failure to merge the log, for example on a full disk, is no error: the log is durable, and the file can be opened
  // and read with it.
  async #mergeLog(): Promise<void> {
    try {
      await this.#attempt((session) => session.checkpoint());
    } catch (error) {
      this.options.log.warn({ err: error, path: this.options.path }, "the log of the DuckDB file could not be merged");
    }
  }

  async #attempt<T>(call: (session: Session) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const session = await this.#ready();
      try {
        return await session.use(call);
      } catch (error) {
        const failure = toStoreError(this.options.path, error);
        // if another call made the session unusable, this call is repeated on the reopened file
        const wasInvalidated = INVALIDATED.test(String(error));
        const isTemporary = !(failure instanceof StoreError) && (session.isUnusable || CONFLICT.test(String(error)));
        if ((!wasInvalidated && !isTemporary) || attempt === ATTEMPTS_MAX) throw failure;
        this.options.log.warn({ err: error, attempt, path: this.options.path }, "a failed call to DuckDB is repeated");
      } finally {
        if (session.isUnusable) await this.#discard(session);
      }
    }
  }

  #ready(): Promise<Session> {
    if (this.#session !== null) return Promise.resolve(this.#session);
    this.#opening ??= this.#open(Promise.resolve());
    return this.#opening;
  }

  async #discard(session: Session): Promise<void> {
    if (this.#session !== session) return;
    this.#session = null;
    this.#opening = this.#open(session.close());
    await this.#opening;
  }

  async #open(closed: Promise<void>): Promise<Session> {
    try {
      await closed;
      const session = await Session.open(this.options);
      const commits = this.#rows === null ? 0 : (await session.record()).commits;
      if (commits < this.#commits) {
        await session.close();
        throw lossError(
          this.options.path,
          `has ${commits} commits after it was opened again, instead of ${this.#commits}`,
        );
      }
      this.#commits = commits;
      this.#session = session;
      return session;
    } catch (error) {
      throw toStoreError(this.options.path, error);
    } finally {
      this.#opening = null;
    }
  }
}

/** A rewrite in steps, and the number of snapshots that had been opened when it began. */
interface Rewriting {
  readonly session: Session;
  readonly snapshotsOpened: number;
  readonly connection: Statements;
  readonly steps: AsyncGenerator<void>;
  hasFailed: boolean;
}

type RewriteState = "unfinished" | "done" | "given up";

/**
 * The opened file: an instance of DuckDB with one connection for writes and one for reads. Replaced when the file is
 * reopened.
 */
class Session {
  #calls = 0;
  #becomesIdle: (() => void) | null = null;
  #isUnusable = false;
  readonly #snapshots = new Set<DuckSnapshot>();
  #snapshotsOpened = 0;

  private constructor(
    private readonly instance: DuckDBInstance,
    private readonly writer: DuckDBConnection,
    private readonly reader: DuckDBConnection,
  ) {}

  static async open({ path, memoryMaxBytes, schemaVersionMax }: DuckDatabaseOptions): Promise<Session> {
    const instance = await DuckDBInstance.create(path, settings(path, memoryMaxBytes));
    const connections: DuckDBConnection[] = [];
    try {
      const writer = await instance.connect();
      connections.push(writer);
      const reader = await instance.connect();
      connections.push(reader);
      const session = new Session(instance, writer, reader);
      await session.#migrate(path, schemaVersionMax ?? MIGRATIONS.length);
      await dropLeftovers(session.#statements);
      return session;
    } catch (error) {
      for (const connection of connections) connection.disconnectSync();
      instance.closeSync();
      throw error;
    }
  }

  /** Whether DuckDB refuses all further calls until the file is opened again. */
  get isUnusable(): boolean {
    return this.#isUnusable;
  }

  /** Runs `call`. `close` waits until it has ended. */
  async use<T>(call: (session: Session) => Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      return await call(this);
    } catch (error) {
      if (UNUSABLE.test(String(error))) this.#isUnusable = true;
      throw error;
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0) this.#becomesIdle?.();
    }
  }

  async read(sql: string, values: readonly string[]): Promise<readonly DuckDBDataChunk[]> {
    const result = await this.reader.run(sql, [...values]);
    return result.fetchAllChunks();
  }

  /** Reads the table `store`. */
  record(): Promise<TextsRecord> {
    return recordOf(this.reader);
  }

  async setRecord({ storeId, commits, rowsCommits }: TextsRecord): Promise<void> {
    await this.writer.run("UPDATE store SET store_id = $1, commits = $2::UBIGINT, rows_commits = $3::UBIGINT", [
      storeId,
      String(commits),
      String(rowsCommits),
    ]);
  }

  /** Runs a transaction that counts as a commit of the texts. Returns its number. */
  async write(work: (writer: Writer) => Promise<void>, rowsCommits: number): Promise<number> {
    let number = 0;
    await this.transaction(async (writer) => {
      await work(writer);
      const counted = await this.writer.run(
        `UPDATE store SET commits = commits + 1, rows_commits = ${rowsCommits} RETURNING commits`,
      );
      number = Number((await counted.getRows())[0]?.[0] ?? 0);
    });
    return number;
  }

  async transaction(work: (writer: Writer) => Promise<void>): Promise<void> {
    await this.writer.run("BEGIN");
    try {
      await work({
        run: async (sql) => {
          await this.writer.run(sql);
        },
        append: (table, rows) => this.#append(table, rows),
      });
    } catch (error) {
      await this.#rollBack(error);
      throw error;
    }
    try {
      await this.writer.run("COMMIT");
    } catch (error) {
      if (!COMMITTED.test(String(error))) throw error;
      this.#isUnusable = true;
    }
  }

  async checkpoint(): Promise<void> {
    await this.writer.run("CHECKPOINT");
  }

  beginRewrite(work: (connection: Statements) => AsyncGenerator<void>): Rewriting {
    const connection = this.#statements;
    return {
      session: this,
      snapshotsOpened: this.#snapshotsOpened,
      connection,
      steps: work(connection),
      hasFailed: false,
    };
  }

  get #statements(): Statements {
    const run = async (sql: string) => void (await this.writer.run(sql));
    return { run, rows: async (sql) => (await this.writer.run(sql)).getRows() };
  }

  /** Runs the next step. */
  async continueRewrite(rewriting: Rewriting): Promise<RewriteState> {
    const { session, snapshotsOpened, connection, steps, hasFailed } = rewriting;
    if (session !== this) return "given up";
    try {
      if (this.#snapshots.size === 0 && this.#snapshotsOpened === snapshotsOpened && !hasFailed) {
        return (await steps.next()).done === true ? "done" : "unfinished";
      }
      await dropLeftovers(connection);
      return "given up";
    } catch (error) {
      rewriting.hasFailed = true;
      await this.#rollBack(error);
      // The disk may need the space of the copies now. If this fails, too, the next rewrite begins by dropping them.
      await Promise.allSettled([dropLeftovers(connection)]);
      throw error;
    }
  }

  async snapshot(path: string): Promise<DuckSnapshot> {
    const connection = await this.instance.connect();
    const snapshot = new DuckSnapshot(connection, path, () => this.#snapshots.delete(snapshot));
    this.#snapshots.add(snapshot);
    this.#snapshotsOpened += 1;
    return snapshot;
  }

  /**
   * Waits for running calls, then closes the session. Snapshots become unusable. The file's lock is released when its
   * last connection closes.
   */
  async close(): Promise<void> {
    for (const snapshot of [...this.#snapshots]) await snapshot.close();
    if (this.#calls > 0) {
      await new Promise<void>((resolve) => {
        this.#becomesIdle = resolve;
      });
    }
    this.writer.disconnectSync();
    this.reader.disconnectSync();
    this.instance.closeSync();
  }

  async #append(table: string, rows: Iterable<readonly Cell[]>): Promise<void> {
    const appender = await this.writer.createAppender(table);
    try {
      let rowsAppended = 0;
      for (const row of rows) {
        for (const cell of row) appendCell(appender, cell);
        appender.endRow();
        rowsAppended += 1;
        if (rowsAppended % ROWS_PER_TURN === 0) {
          appender.flushSync();
          await new Promise(setImmediate);
        }
      }
    } finally {
      appender.closeSync();
    }
  }

  // DuckDB may have ended the transaction itself; then there is nothing to roll back. If ROLLBACK fails otherwise, the
  // error has the message of `reason`, the failure that made it necessary.
  async #rollBack(reason: unknown): Promise<void> {
    try {
      await this.writer.run("ROLLBACK");
    } catch (error) {
      if (UNUSABLE.test(String(error))) this.#isUnusable = true;
      else if (!NO_TRANSACTION.test(String(error))) throw new AggregateError([reason, error], String(reason));
    }
  }

  async #migrate(path: string, versionMax: number): Promise<void> {
    await this.writer.run("CREATE TABLE IF NOT EXISTS meta (schema_version UINTEGER NOT NULL)");
    const result = await this.writer.run("SELECT max(schema_version) FROM meta");
    const version = Number((await result.getRows())[0]?.[0] ?? 0);
    refuseNewerVersion(path, version, MIGRATIONS.length);
    for (const [index, statements] of MIGRATIONS.entries()) {
      if (index < version || index >= versionMax) continue;
      await this.transaction(async (writer) => {
        for (const statement of statements) await writer.run(statement);
        await writer.run(`DELETE FROM meta`);
        await writer.run(`INSERT INTO meta VALUES (${index + 1})`);
      });
    }
    // the log is merged now, because the first log entries of a table are expensive to replay
    if (version < versionMax) await this.checkpoint();
  }
}

// The file gets its name when its tables are in it: DuckDB refuses a file whose creation a crash interrupted.
async function createFile(options: DuckDatabaseOptions): Promise<void> {
  const path = `${options.path}.creating`;
  for (const leftover of [path, `${path}.wal`]) rmSync(leftover, { force: true });
  try {
    await (await Session.open({ ...options, path })).close();
    renameSync(path, options.path);
    syncFolderNow(dirname(path));
  } catch (error) {
    throw toStoreError(options.path, error);
  }
}

function appendCell(appender: DuckDBAppender, cell: Cell): void {
  if (typeof cell === "string") appender.appendVarchar(cell);
  else if (typeof cell === "bigint") appender.appendUBigInt(cell);
  else if (typeof cell === "number") appender.appendUInteger(cell);
  else appender.appendList([...cell], LIST(VARCHAR));
}
