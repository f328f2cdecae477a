// Sessions on PostgreSQL: one reads outside of transactions, and one is an open transaction. client.ts has the
// connections.

import { invariant } from "../../domain/fault.ts";
import { UnknownOutcome } from "../../ports/transactions.ts";
import { type Sql, textOf } from "../dialect.ts";
import {
  type Bindings,
  type Compiled,
  compile,
  type Effect,
  type Session,
  type TransactionSession,
  type Value,
} from "../session.ts";
import type { Client, Connection, Result } from "./client.ts";
import { databaseError } from "./database-error.ts";
import { POSTGRES } from "./dialect.ts";
import type { ProjectTurns } from "./project-turns.ts";
import { SharedReads } from "./shared-reads.ts";

type Asked = string | bigint;

const compiledOf = new Map<Sql, Compiled>();

/** A statement with `$1`, `$2`, … for names, and its values in this order; null for one that `params` lacks. */
export function bound(sql: Sql, params: Bindings): { readonly sql: string; readonly values: readonly Value[] } {
  let known = compiledOf.get(sql);
  if (known === undefined) {
    known = compile(textOf(sql, POSTGRES), "$");
    compiledOf.set(sql, known);
  }
  return { sql: known.text, values: known.names.map((name) => params[name] ?? null) };
}

abstract class StatementSession {
  readonly dialect = POSTGRES;

  protected abstract query(sql: string, values: readonly Value[]): Promise<Result>;

  async all<Row>(sql: Sql, params: Bindings = {}): Promise<readonly Row[]> {
    return (await this.#result(sql, params)).rows as readonly Row[];
  }

  async get<Row>(sql: Sql, params: Bindings = {}): Promise<Row | null> {
    return ((await this.#result(sql, params)).rows[0] ?? null) as Row | null;
  }

  async run(sql: Sql, params: Bindings = {}): Promise<number> {
    return (await this.#result(sql, params)).count;
  }

  /** The rows by their column `asked`. */
  protected async rowsOf(sql: Sql, keys: readonly Asked[], params: Bindings): Promise<ReadonlyMap<Asked, object>> {
    const rows = await this.all<{ readonly asked: Asked }>(sql, { ...params, keys: keys as readonly string[] });
    return new Map(rows.map((row) => [row.asked, row]));
  }

  #result(sql: Sql, params: Bindings): Promise<Result> {
    const { sql: numbered, values } = bound(sql, params);
    return this.query(numbered, values);
  }
}

/**
 * Reads committed data outside of transactions. A single statement that changes something may use it too, if it does no
 * harm when it runs twice.
 */
export class ReadingSession extends StatementSession implements Session {
  readonly readsCommitted = true;
  /** Reads that concurrent callers share, by statement. */
  readonly #shared = new Map<Sql, SharedReads<Asked, object>>();
  readonly #paramsOfShared = new Map<Sql, Bindings>();

  constructor(private readonly client: Client) {
    super();
  }

  getShared<Row>(sql: Sql, key: Asked, params: Bindings = {}): Promise<Row | null> {
    this.#paramsOfShared.set(sql, params);
    let shared = this.#shared.get(sql);
    if (shared === undefined) {
      shared = new SharedReads((keys) => this.rowsOf(sql, keys, this.#paramsOfShared.get(sql) ?? {}));
      this.#shared.set(sql, shared);
    }
    return shared.get(key) as Promise<Row | null>;
  }

  async lock(): Promise<void> {}

  lookUp<Row>(sql: Sql, params: Bindings = {}): Promise<readonly Row[]> {
    return this.all<Row>(sql, params);
  }

  afterCommit(effect: Effect): void {
    invariant(false, `the effect ${effect.name} was registered outside of a transaction`);
  }

  protected query(sql: string, values: readonly Value[]): Promise<Result> {
    return this.client.read(sql, values);
  }
}

/** Maximum time that a transaction waits for the lock of a project that another server has, in milliseconds. */
const LOCK_MS_MAX = 20_000;
/**
 * PostgreSQL ends a transaction that sends nothing for this time, in milliseconds, so that a frozen process does not
 * keep its locks. It is longer than the time limit of a transaction, so it never ends the transaction of a healthy
 * process.
 */
const IDLE_MS_MAX = 45_000;

const BEGIN = `BEGIN; SET LOCAL lock_timeout = ${LOCK_MS_MAX}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS_MAX}`;
const SAVEPOINT = "SAVEPOINT part";
const RELEASE = "RELEASE part";

/** The statement that locks a project. It is sent together with others, and so has no parameters. */
function lockOf(projectId: string): string {
  return `SELECT pg_advisory_xact_lock(hashtextextended('mneme project ' || '${projectId.replaceAll("'", "''")}', 0))`;
}

/**
 * One transaction. It begins with the first statement, so that a transaction that waits for its turn in a project takes
 * no connection. Locks and savepoints are sent with the beginning or the end if that comes next, otherwise in one round
 * trip before the next statement. Every statement after a lock sees what the transactions before it committed.
 */
export class WritingSession extends StatementSession implements TransactionSession {
  readonly readsCommitted = false;
  #connection: Connection | null = null;
  #isBroken = false;
  /**
   * Error after which the transaction can only be rolled back: a statement outside of a savepoint, or a pending one,
   * was refused.
   */
  #failure: unknown = null;
  #isInSavepoint = false;
  /** Statements that the server has not answered yet. */
  #waiting = 0;
  /** Statements without parameters to send before the next one. */
  #pending: string[] = [];
  /** Projects whose lock this transaction has on the server, or will have with the next statement. */
  #locked = new Set<string>();
  /** Functions that end this transaction's turn among those of this process, by project. */
  readonly #turnEnds = new Map<string, () => void>();
  #effects: Effect[] = [];

  constructor(
    private readonly client: Client,
    private readonly turns: ProjectTurns,
  ) {
    super();
  }

  /**
   * The error of a transaction that took too long: `slow` if PostgreSQL has not answered yet; otherwise `error`,
   * because `work` waits for something else, which is a bug.
   */
  overdue(error: Error): Error {
    return this.#waiting > 0 ? databaseError("slow", this.client.where, error) : error;
  }

  /**
   * The locks of one call are taken in the order of the ids, so that two transactions never wait for each other: each
   * locks all its projects in one call. The turns in this process come first, because a transaction that has not begun
   * waits for them without a connection.
   */
  async lock(projectIds: readonly string[]): Promise<void> {
    const missing = [...new Set(projectIds)].filter((id) => !this.#locked.has(id)).sort();
    for (const id of missing) if (!this.#turnEnds.has(id)) this.#turnEnds.set(id, await this.turns.take(id));
    for (const id of missing) {
      this.#pending.push(lockOf(id));
      this.#locked.add(id);
    }
  }

  async getShared<Row>(sql: Sql, key: Asked, params: Bindings = {}): Promise<Row | null> {
    return ((await this.rowsOf(sql, [key], params)).get(key) ?? null) as Row | null;
  }

  lookUp<Row>(sql: Sql, params: Bindings = {}): Promise<readonly Row[]> {
    return new ReadingSession(this.client).all<Row>(sql, params);
  }

  afterCommit(effect: Effect): void {
    this.#effects.push(effect);
  }

  /** Runs `work` in a savepoint: if it throws, only its own changes and effects are undone. */
  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    const effectsBefore = this.#effects.length;
    const lockedBefore = new Set(this.#locked);
    this.#pending.push(SAVEPOINT);
    this.#isInSavepoint = true;
    try {
      const result = await work();
      // a savepoint that no statement followed is not needed
      if (this.#pending.at(-1) === SAVEPOINT) this.#pending.pop();
      else this.#pending.push(RELEASE);
      return result;
    } catch (error) {
      this.#effects.length = effectsBefore;
      this.#locked = lockedBefore; // the server has released the locks that were taken in the savepoint
      const at = this.#pending.lastIndexOf(SAVEPOINT);
      this.#pending.length = Math.max(0, at);
      const isSent = at === -1;
      if (isSent && !this.#isBroken && this.#failure === null) await this.#execute(`ROLLBACK TO part; ${RELEASE}`);
      throw error;
    } finally {
      this.#isInSavepoint = false;
    }
  }

  /**
   * Commits and returns the effects, which the caller must run before `end`.
   * @throws UnknownOutcome if the connection was lost before the server answered
   */
  async commit(): Promise<readonly Effect[]> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#connection !== null) {
      try {
        await this.#execute("COMMIT");
      } catch (error) {
        throw isConnectionLost(error) ? new UnknownOutcome(error) : error;
      }
      await this.#giveBack();
    }
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** Undoes the transaction. Does nothing after its commit. */
  async rollback(): Promise<void> {
    this.#effects = [];
    this.#pending = [];
    try {
      if (this.#connection !== null && !this.#isBroken) await this.#execute("ROLLBACK");
    } finally {
      await this.#giveBack();
    }
  }

  /** Lets the next transactions of the same projects begin. */
  end(): void {
    for (const end of this.#turnEnds.values()) end();
    this.#turnEnds.clear();
  }

  protected async query(sql: string, values: readonly Value[]): Promise<Result> {
    if (this.#failure !== null) throw this.#failure;
    const connection = await this.#begun();
    if (this.#pending.length > 0) await this.#execute("");
    try {
      return await this.#attempt(connection.query(sql, values));
    } catch (error) {
      if (!this.#isInSavepoint) this.#failure = error;
      throw error;
    }
  }

  /** The connection of this transaction. If the transaction has not begun, sends the pending statements too. */
  async #begun(): Promise<Connection> {
    if (this.#connection !== null) return this.#connection;
    this.#connection = await this.#attempt(this.client.begin([BEGIN, ...this.#pending].join("; ")));
    this.#pending = [];
    return this.#connection;
  }

  /** Sends the pending statements and this one. */
  async #execute(sql: string): Promise<void> {
    const connection = await this.#begun();
    const statements = [...this.#pending, sql].join("; ");
    this.#pending = [];
    try {
      await this.#attempt(connection.execute(statements));
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async #attempt<T>(running: Promise<T>): Promise<T> {
    this.#waiting += 1;
    try {
      return await running;
    } catch (error) {
      if (isConnectionLost(error)) this.#isBroken = true;
      throw error;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #giveBack(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    await connection?.end(this.#isBroken);
  }
}

/**
 * Runs `work` in a transaction of its own, and commits. `work` must not call `afterCommit`: effects would not run.
 * @throws UnknownOutcome if the connection was lost before the server answered the commit
 */
export async function inWritingSession<T>(
  client: Client,
  turns: ProjectTurns,
  work: (session: WritingSession) => Promise<T>,
): Promise<T> {
  const session = new WritingSession(client, turns);
  try {
    const result = await work(session);
    await session.commit();
    return result;
  } catch (error) {
    await session.rollback();
    throw error;
  } finally {
    session.end();
  }
}

function isConnectionLost(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "lost" || error.code === "unreachable");
}
