// Opens, queries and closes the SQLite file. The tables are in migrations.ts; session.ts runs the statements of the
// stores.

import type { Statement as BunStatement, Database, SQLQueryBindings } from "bun:sqlite";
import type { Effect, EffectFailure } from "../session.ts";
import { refuseNewerVersion, StoreError, storeError } from "../store-error.ts";
import { closeAtExit, forget } from "./at-exit.ts";
import { type Checkpoints, WAL_BYTES_MAX } from "./checkpoints.ts";
import { CommitWitness } from "./commit-witness.ts";
import { BUSY_TIMEOUT_MS } from "./connections.ts";
import { toStoreError } from "./errors.ts";
import { FURTHER_STEPS, MIGRATIONS } from "./migrations.ts";
import { witnessPath } from "./opening.ts";
import type { Statement, Values } from "./statement.ts";

/** Matches statements that change rows. A match by mistake only costs a transaction, and empties a cache too early. */
const WRITING = /\b(?:INSERT|UPDATE|DELETE|REPLACE)\b/i;

/** The parts that number the commits of a database. */
interface Counting {
  readonly storeId: string;
  readonly witness: CommitWitness;
  readonly textsCommits: () => number;
  readonly checkpoints: Checkpoints | null;
  /** Keeps the file open, so that SQLite makes no checkpoint of its own when the writing connection closes. */
  readonly guard: Database;
  readonly merger: Database | null;
}

/** Numbers of a commit, and of the newest commit of the texts that it may rely on. */
type CommitNumbers = { readonly commit: number; readonly texts: number };

// No row changes if another process has committed in between.
const NEXT_COMMIT = "UPDATE store SET commits = $next WHERE only_row = 1 AND commits = $next - 1";
const COMMIT_AFTER_OTHERS = "UPDATE store SET commits = commits + 1 RETURNING commits";
const TEXTS_COMMITS = "UPDATE store SET texts_commits = max(texts_commits, $texts)";

/**
 * One connection to the SQLite file. Every commit is durable. Other connections and processes may use the file at the
 * same time.
 */
export class SqliteDatabase {
  readonly #statements = new Map<string, Statement<unknown, never>>();
  /** Whether the write-ahead log may have erased rows. At first yes: the last process may not have emptied it. */
  #mustEmptyLog = true;
  readonly #closeAtExit = () => {
    if (this.connection.inTransaction) this.connection.run("ROLLBACK");
    this.close();
  };
  /** Effects of the open transaction, in the order of registration. */
  #effects: Effect[] = [];
  #counting: Counting | null = null;
  #commits = 0;
  #textsCommits = 0;
  /** Number of the newest commit of the texts that the file has recorded. */
  #textsNoted = 0;
  /** Whether the open transaction has changed rows. */
  #hasChanged = false;
  /** Whether a savepoint begins with the next statement that changes rows. */
  #isSavepointDue = false;

  /** Use `openDatabase` or `openReader`. */
  constructor(
    readonly path: string,
    private readonly connection: Database,
    private readonly onEffectFailure: EffectFailure,
    /** Number of changes that this process has committed. All of its connections to the file share it. */
    readonly changes: { value: number },
  ) {}

  /**
   * Returns the statement for this SQL. Statements are cached, so the SQL must be a constant; values are passed as
   * parameters.
   */
  prepare<Row, Params extends Values = Record<string, never>>(sql: string): Statement<Row, Params> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const prepared = this.#attempt(() => this.connection.prepare<unknown, SQLQueryBindings[]>(sql));
      statement = this.#wrapped(prepared, WRITING.test(sql));
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Row, Params>;
  }

  /** Number of the newest commit of this process; other processes may have made later ones. */
  get commits(): number {
    return this.#commits;
  }

  /** Number of the newest commit of the texts that rows relied on when the file was opened. */
  get textsCommits(): number {
    return this.#textsCommits;
  }

  /** Id of the data directory. */
  get storeId(): string {
    return this.#counting?.storeId ?? "";
  }

  /** The checkpoints; null on a connection that does not own the data directory. */
  get checkpoints(): Checkpoints | null {
    return this.#counting?.checkpoints ?? null;
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

  /** Called after a commit if a checkpoint is due. The default makes it at once. */
  onCheckpointDue = (): void => this.checkpointIfFree();

  /** Makes a checkpoint, or none if another process writes: a later commit makes it then. */
  checkpointIfFree(): void {
    try {
      this.checkpoint();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "locked")) this.onEffectFailure(error);
    }
  }

  /** Opens a transaction. `commit` or `rollback` ends it. */
  begin(): void {
    // IMMEDIATE acquires the write lock now, so that no other process can write between a read and a write of this
    // transaction
    this.#run("BEGIN IMMEDIATE");
  }

  /** Commits the open transaction and returns its effects. The caller must run them now. */
  commit(): readonly Effect[] {
    const taken = this.#hasChanged ? this.#takeNumbers() : null;
    this.#run("COMMIT");
    this.#hasChanged = false;
    this.changes.value += 1;
    const effects = this.#effects;
    this.#effects = [];
    if (taken !== null) this.#committed(taken);
    return effects;
  }

  /**
   * Merges the log into the file. Without effect on a connection that does not own the data directory.
   * @throws StoreError `locked` if another process writes for too long
   */
  checkpoint(): void {
    const { checkpoints } = this;
    if (checkpoints === null) return;
    this.begin();
    try {
      checkpoints.run();
    } finally {
      this.rollback();
    }
  }

  /** Rolls back the open transaction. On a full disk SQLite may have done so already. */
  rollback(): void {
    this.#effects = [];
    this.#hasChanged = false;
    if (this.connection.inTransaction) this.#run("ROLLBACK");
  }

  /** Runs `effect` after the commit of the open transaction, not after a rollback; at once if none is open. */
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
   * Moves the write-ahead log into the file and empties it if `noteErasure` was called since it was last emptied: the
   * log has earlier versions of pages. Returns false if another connection reads or writes at this moment.
   */
  emptyLog(): boolean {
    if (!this.#mustEmptyLog) return true;
    this.#run("PRAGMA busy_timeout = 0"); // waiting would block this thread
    try {
      this.#mustEmptyLog = !(this.checkpoints === null ? this.#truncateLog() : this.#restartLog(this.checkpoints));
      return !this.#mustEmptyLog;
    } catch (error) {
      if (error instanceof StoreError && error.code === "locked") return false;
      throw error;
    } finally {
      this.#run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /** Closes the file; its owner merges the log before. A second call does nothing. */
  close(): void {
    forget(this.#closeAtExit);
    const counting = this.#counting;
    const mayHaveNewPages = counting?.merger != null && this.#mergeAtEnd();
    this.#counting = null;
    this.#statements.clear();
    this.connection.close(true);
    counting?.merger?.close(true);
    counting?.guard.close(true); // the last one, see Counting
    counting?.checkpoints?.close();
    counting?.witness.close();
    if (mayHaveNewPages) counting?.checkpoints?.rewriteSums();
  }

  /** Numbers all commits from now on. */
  startCounting(counting: Omit<Counting, "storeId" | "witness">, commitsMin: number): void {
    this.prepare<never, { least: number }>("UPDATE store SET commits = $least WHERE commits < $least").run({
      least: commitsMin,
    });
    const row = this.prepare<{ store_id: string; commits: bigint; texts_commits: bigint }>("SELECT * FROM store").get(
      {},
    );
    if (row === null) throw storeError("damaged", this.path);
    this.#commits = Number(row.commits);
    this.#textsCommits = Number(row.texts_commits);
    const witness = new CommitWitness(witnessPath(this.path), row.store_id);
    this.#counting = { ...counting, storeId: row.store_id, witness };
    for (const number of [this.#commits - 1, this.#commits]) witness.committed(Math.max(0, number));
    closeAtExit(this.#closeAtExit);
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

  /**
   * Runs `work` in a savepoint of the open transaction: if it throws, only its own changes and effects are undone. Work
   * that only reads gets no savepoint.
   */
  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    const effectsBefore = this.#effects.length;
    this.#isSavepointDue = true;
    try {
      const result = await work();
      if (!this.#isSavepointDue) this.#run("RELEASE part");
      this.#isSavepointDue = false;
      return result;
    } catch (error) {
      this.#undoPart(effectsBefore);
      throw error;
    }
  }

  #undoPart(effectsBefore: number): void {
    this.#effects.length = effectsBefore;
    if (!this.#isSavepointDue && this.connection.inTransaction) {
      this.#run("ROLLBACK TO part");
      this.#run("RELEASE part");
    }
    this.#isSavepointDue = false;
  }

  #beginSavepoint(): void {
    if (!this.#isSavepointDue) return;
    this.#isSavepointDue = false;
    this.#run("SAVEPOINT part");
  }

  #savepoint<T>(work: () => T): T {
    const effectsBefore = this.#effects.length;
    this.#beginSavepoint();
    this.#run("SAVEPOINT part");
    try {
      const result = work();
      this.#run("RELEASE part");
      return result;
    } catch (error) {
      this.#undoPart(effectsBefore);
      throw error;
    }
  }

  #takeNumbers(): CommitNumbers | null {
    if (this.#counting === null) return null;
    const texts = this.#counting.textsCommits();
    if (texts > this.#textsNoted) this.prepare<never, { texts: number }>(TEXTS_COMMITS).run({ texts });
    const next = this.#commits + 1;
    if (this.prepare<never, { next: number }>(NEXT_COMMIT).run({ next }) === 1) return { commit: next, texts };
    const row = this.prepare<{ commits: bigint }>(COMMIT_AFTER_OTHERS).get({});
    if (row === null) throw storeError("damaged", this.path);
    return { commit: Number(row.commits), texts };
  }

  // The commit is durable: nothing that fails here may look like a failed commit.
  #committed({ commit, texts }: CommitNumbers): void {
    this.#commits = commit;
    this.#textsNoted = texts;
    try {
      this.#counting?.witness.committed(commit);
      if (this.checkpoints?.countCommit() === true) this.onCheckpointDue();
    } catch (error) {
      this.onEffectFailure(error);
    }
  }

  /** Merges the log and empties it. Returns whether it may have had pages whose sums are not known. */
  #mergeAtEnd(): boolean {
    const version = this.prepare<{ data_version: bigint }>("PRAGMA data_version");
    try {
      this.checkpoint();
      const before = version.get({})?.data_version;
      this.#run("PRAGMA wal_checkpoint(TRUNCATE)");
      return version.get({})?.data_version !== before;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return false; // the log stays, and the next start reads it
    }
  }

  #truncateLog(): boolean {
    return this.prepare<{ busy: bigint }>("PRAGMA wal_checkpoint(TRUNCATE)").get({})?.busy === 0n;
  }

  // A commit after a complete checkpoint begins the log again. TRUNCATE would also merge pages that another process has
  // written since the sums were.
  #restartLog(checkpoints: Checkpoints): boolean {
    this.checkpoint();
    this.#run("PRAGMA shrink_memory"); // cached pages still have what the checkpoint has cleared in the file
    this.#run("PRAGMA journal_size_limit = 0");
    try {
      this.transaction(() => {
        this.#hasChanged = true;
      });
    } finally {
      this.#run(`PRAGMA journal_size_limit = ${WAL_BYTES_MAX}`);
    }
    checkpoints.sync();
    return checkpoints.isLogEmpty;
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
    this.#attempt(() => this.connection.query(sql).run()); // `query` keeps the compiled statement
  }

  #wrapped(statement: BunStatement<unknown, SQLQueryBindings[]>, writes: boolean): Statement<unknown, never> {
    const call = <Params, Result>(work: (params: Params) => Result, hasChanged: (result: Result) => boolean) => {
      if (!writes) return (params: Params) => this.#attempt(() => work(params));
      const change = (params: Params) => {
        this.#beginSavepoint();
        const result = this.#attempt(() => work(params));
        this.#hasChanged ||= hasChanged(result);
        return result;
      };
      return (params: Params) =>
        this.connection.inTransaction ? change(params) : this.transaction(() => change(params));
    };
    return {
      iterate: (params: SQLQueryBindings) => this.#attempt(() => statement.iterate(params)),
      all: call(
        (params: SQLQueryBindings) => statement.all(params),
        (rows) => rows.length > 0,
      ),
      get: call(
        (params: SQLQueryBindings) => statement.get(params) ?? null,
        (row) => row !== null,
      ),
      run: call(
        (params: SQLQueryBindings) => statement.run(params).changes,
        (rows) => rows > 0,
      ),
    };
  }

  #attempt<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw toStoreError(this.path, error);
    }
  }
}

/** Turns a failure into an uncaught exception. */
export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
