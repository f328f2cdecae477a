// Sessions on SQLite: one that reads on a connection of its own, and one that is an open transaction on the connection
// that writes. SQLite answers at once; callers get promises all the same, as on every database.

import { invariant } from "../../domain/fault.ts";
import { type Sql, textOf } from "../dialect.ts";
import { type Bindings, compile, type Effect, type Session, type TransactionSession, type Value } from "../session.ts";
import type { SqliteDatabase } from "./database.ts";
import { SQLITE } from "./dialect.ts";
import type { SqliteValue } from "./statement.ts";
import type { WriteQueue } from "./write-queue.ts";

/** A prepared statement that takes its parameters by name. */
interface Calls {
  readonly all: (params: Bindings) => unknown[];
  readonly get: (params: Bindings) => unknown;
  readonly run: (params: Bindings) => number;
}

/** Reads committed data outside of transactions. */
export class SqliteSession implements Session {
  readonly dialect = SQLITE;
  readonly readsCommitted: boolean = true;
  readonly #calls = new Map<Sql, Calls>();

  constructor(protected readonly database: SqliteDatabase) {}

  async all<Row>(sql: Sql, params: Bindings = {}): Promise<readonly Row[]> {
    return this.#callsOf(sql).all(params) as readonly Row[];
  }

  async get<Row>(sql: Sql, params: Bindings = {}): Promise<Row | null> {
    return this.#callsOf(sql).get(params) as Row | null;
  }

  getShared<Row>(sql: Sql, key: string | bigint, params: Bindings = {}): Promise<Row | null> {
    return this.get(sql, { ...params, keys: [key] as readonly string[] });
  }

  async run(sql: Sql, params: Bindings = {}): Promise<number> {
    return this.#callsOf(sql).run(params);
  }

  async lock(): Promise<void> {}

  lookUp<Row>(sql: Sql, params: Bindings = {}): Promise<readonly Row[]> {
    return this.all<Row>(sql, params);
  }

  afterCommit(effect: Effect): void {
    invariant(false, `the effect ${effect.name} was registered outside of a transaction`);
  }

  #callsOf(sql: Sql): Calls {
    let calls = this.#calls.get(sql);
    if (calls === undefined) {
      calls = this.#compiled(sql);
      this.#calls.set(sql, calls);
    }
    return calls;
  }

  #compiled(sql: Sql): Calls {
    const { text, names } = compile(textOf(sql, SQLITE), "?");
    const statement = this.database.prepare<unknown, readonly SqliteValue[]>(withSteadyPlan(text));
    const values = (params: Bindings) => names.map((name) => boundValue(params[name]));
    return {
      all: (params) => statement.all(values(params)),
      get: (params) => statement.get(values(params)),
      run: (params) => statement.run(values(params)),
    };
  }
}

/** One transaction after the other on the connection that writes. */
export class SqliteWriter extends SqliteSession implements TransactionSession {
  override readonly readsCommitted = false;
  #endTurn = () => {};

  constructor(
    database: SqliteDatabase,
    private readonly reading: Session,
    private readonly queue: WriteQueue,
  ) {
    super(database);
  }

  /** Begins a transaction when its turn comes. `end` must be called if this succeeds. */
  async begin(): Promise<void> {
    const endTurn = await this.queue.take();
    try {
      this.database.begin();
    } catch (error) {
      endTurn();
      throw error;
    }
    this.#endTurn = endTurn;
  }

  override lookUp<Row>(sql: Sql, params: Bindings = {}): Promise<readonly Row[]> {
    return this.reading.all<Row>(sql, params);
  }

  override afterCommit(effect: Effect): void {
    this.database.afterCommit(effect);
  }

  savepoint<T>(work: () => Promise<T>): Promise<T> {
    return this.database.savepoint(work);
  }

  async commit(): Promise<readonly Effect[]> {
    return this.database.commit();
  }

  async rollback(): Promise<void> {
    this.database.rollback();
  }

  end(): void {
    this.#endTurn();
  }

  overdue(error: Error): Error {
    return error;
  }
}

/**
 * Makes an expression of each limit that is a parameter. SQLite plans with the value of such a parameter, so it would
 * compile the statement again whenever one is bound: 40 µs for the search for jobs, which takes 5 µs itself.
 */
function withSteadyPlan(text: string): string {
  return text.replace(/\bLIMIT \?\d+/g, "$& + 0");
}

function boundValue(value: Value | undefined): SqliteValue {
  if (value === undefined) return null;
  return isList(value) ? listOf(value) : value;
}

function isList(value: Value): value is readonly (string | null)[] | readonly (bigint | null)[] {
  return Array.isArray(value);
}

/** A list as one parameter, a JSON array. */
function listOf(values: readonly (string | bigint | null)[]): string {
  const hasKeys = values.some((value) => typeof value === "bigint");
  return hasKeys ? `[${values.map((value) => value ?? "null").join(",")}]` : JSON.stringify(values);
}
