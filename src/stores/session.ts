// The interface with which stores run statements. A session either reads outside of transactions, or is an open
// transaction. sqlite/session.ts and postgres/session.ts implement it; transactions.ts opens and ends transactions.

import type { Eventually } from "../kit/eventually.ts";
import type { Dialect, Sql } from "./dialect.ts";

/** A value of a parameter. A list is one parameter; `Dialect.isIn` and `elements` read it. */
export type Value =
  | string
  | bigint
  | number
  | null
  | Uint8Array
  | readonly (string | null)[]
  | readonly (bigint | null)[];

/** Values of the named parameters of a statement, by name without `$`. A parameter without a value is NULL. */
export type Bindings = Readonly<Record<string, Value>>;

/** A function registered with `afterCommit`. */
export type Effect = () => Eventually<void>;

/** Receives the error of a failed effect. */
export type EffectFailure = (error: unknown) => void;

/** Runs statements. Parameters are written `$name`. Integers come back as bigint. */
export interface Session {
  readonly dialect: Dialect;
  /**
   * Whether everything that it reads is committed. A transaction also reads its own changes, which may be rolled back.
   */
  readonly readsCommitted: boolean;
  all<Row>(sql: Sql, params?: Bindings): Promise<readonly Row[]>;
  /** Returns the first row, or null if there is none. */
  get<Row>(sql: Sql, params?: Bindings): Promise<Row | null>;
  /**
   * Returns the row whose column `asked` is `key`, or null. `sql` selects the rows of all `$keys`, because concurrent
   * callers share one statement. It runs with the other parameters of the last caller, so these must not differ between
   * callers, except for the current time.
   */
  getShared<Row>(sql: Sql, key: string | bigint, params?: Bindings): Promise<Row | null>;
  /** Returns the number of changed rows. */
  run(sql: Sql, params?: Bindings): Promise<number>;
  /**
   * Waits until no other transaction of any server concerns these projects. Others then wait until this transaction has
   * ended. Does nothing outside of transactions.
   */
  lock(projectIds: readonly string[]): Promise<void>;
  /**
   * Reads committed data outside of the transaction. Used to find the projects to lock: a transaction that waited for a
   * lock with a connection of its own could keep that connection from the one it waits for.
   */
  lookUp<Row>(sql: Sql, params?: Bindings): Promise<readonly Row[]>;
  /** Runs `effect` after the commit. */
  afterCommit(effect: Effect): void;
}

/** Reads rows of one moment. */
export type Reader = Pick<Session, "dialect" | "all">;

/** A row with any columns. */
export type AnyRow = Readonly<Record<string, string | bigint | number | Uint8Array | null>>;

/** Runs `work` in one transaction, which takes no locks of projects. */
export type InTransaction = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

/** Locks the projects whose ids `sql` returns. `sql` reads committed data, outside of the transaction (`lookUp`). */
export async function lockProjects(session: Session, sql: Sql, params?: Bindings): Promise<void> {
  if (!session.dialect.locksProjects) return;
  const projects = await session.lookUp<{ readonly id: string }>(sql, params);
  await session.lock(projects.map(({ id }) => id));
}

/** A session that is an open transaction, for transactions.ts. */
export interface TransactionSession extends Session {
  /** Runs `work` in a savepoint: if it throws, only its own changes and effects are undone. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Commits and returns the effects, which the caller must run before `end`.
   * @throws UnknownOutcome if it cannot be known whether the commit happened
   */
  commit(): Promise<readonly Effect[]>;
  /** Undoes the transaction. Does nothing after its commit. */
  rollback(): Promise<void>;
  /** Lets the next transactions begin. */
  end(): void;
  /** The error of a transaction that was undone because it took too long. */
  overdue(error: Error): Error;
}

/** A statement with its parameters by position, and the names of these parameters. */
export interface Compiled {
  readonly text: string;
  readonly names: readonly string[];
}

/** Replaces each `$name` with `mark` and its position, from 1. */
export function compile(text: string, mark: "$" | "?"): Compiled {
  const names: string[] = [];
  const compiled = text.replace(/\$([a-zA-Z]\w*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `${mark}${names.indexOf(name) + 1}`;
  });
  return { text: compiled, names };
}
