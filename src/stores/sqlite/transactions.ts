// Transactions over all stores of one SQLite file, and the queue of writes. One connection writes. An open transaction
// occupies it until its commit and its effects have ended; other writes wait in the queue. A second connection reads
// committed changes only and never waits.

import { invariant } from "../../domain/fault.ts";
import { type Eventually, within } from "../../kit/eventually.ts";
import type { Stores, Transaction, Transactions } from "../../ports/transactions.ts";
import type { Effect, EffectFailure, SqliteDatabase } from "./database.ts";

/**
 * Maximum duration of a transaction in milliseconds; then it is rolled back. Only a bug takes this long: `work` waits
 * for something other than a store, or for a call that waits for the transaction itself.
 */
const TRANSACTION_MS_MAX = 30_000;
const OVERDUE = `a transaction stayed open for ${TRANSACTION_MS_MAX} ms; this is a bug in Mneme`;

/** Lets one writer at a time use the connection, in the order of arrival. */
export class WriteQueue {
  #last: Promise<void> | null = null;

  /** Runs a synchronous write: at once if no other writer runs or waits, otherwise when its turn comes. */
  run<T>(write: () => T): Eventually<T> {
    return this.#last === null ? write() : this.hold(async () => write());
  }

  /** Runs `work` when its turn comes. All other writers wait until it has ended. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last = ended;
    if (before !== null) await before;
    try {
      return await work();
    } finally {
      if (this.#last === ended) this.#last = null;
      end();
    }
  }
}

/** Transactions on SQLite. */
export class SqliteTransactions implements Transactions {
  readonly #database: SqliteDatabase;
  readonly #stores: Stores;
  readonly #queue: WriteQueue;
  readonly #onEffectFailure: EffectFailure;

  /** `database` is the writing connection, and `stores` write through it. */
  constructor(parts: {
    readonly database: SqliteDatabase;
    readonly stores: Stores;
    readonly queue: WriteQueue;
    readonly onEffectFailure: EffectFailure;
  }) {
    this.#database = parts.database;
    this.#stores = parts.stores;
    this.#queue = parts.queue;
    this.#onEffectFailure = parts.onEffectFailure;
  }

  run<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T> {
    return this.#queue.hold(async () => {
      const transaction = new OpenTransaction(this.#stores, this.#database);
      let result: T;
      let effects: readonly Effect[];
      this.#database.begin();
      try {
        const working = work(transaction);
        result = working instanceof Promise ? await within(working, TRANSACTION_MS_MAX, OVERDUE) : working;
        effects = this.#database.commit();
      } catch (error) {
        this.#database.rollback();
        throw error;
      } finally {
        transaction.end();
      }
      for (const effect of effects) await this.#runEffect(effect);
      return result;
    });
  }

  async #runEffect(effect: Effect): Promise<void> {
    try {
      await effect();
    } catch (error) {
      this.#onEffectFailure(error);
    }
  }
}

/** The stores of one open transaction. Refuses calls after its end. */
class OpenTransaction implements Transaction {
  #isOpen = true;

  constructor(
    private readonly stores: Stores,
    private readonly database: SqliteDatabase,
  ) {}

  get memories() {
    return this.#guarded(this.stores.memories);
  }

  get jobs() {
    return this.#guarded(this.stores.jobs);
  }

  get retirement() {
    return this.#guarded(this.stores.retirement);
  }

  get deletions() {
    return this.#guarded(this.stores.deletions);
  }

  get extractions() {
    return this.#guarded(this.stores.extractions);
  }

  get accounts() {
    return this.#guarded(this.stores.accounts);
  }

  get projectModels() {
    return this.#guarded(this.stores.projectModels);
  }

  get users() {
    return this.#guarded(this.stores.users);
  }

  get chats() {
    return this.#guarded(this.stores.chats);
  }

  get webhooks() {
    return this.#guarded(this.stores.webhooks);
  }

  get idempotency() {
    return this.#guarded(this.stores.idempotency);
  }

  afterCommit(effect: Effect): void {
    this.#checkOpen();
    this.database.afterCommit(effect);
  }

  end(): void {
    this.#isOpen = false;
  }

  /**
   * A store that refuses calls after the transaction has ended, because a late change would become part of another
   * transaction.
   */
  #guarded<Store extends object>(store: Store): Store {
    this.#checkOpen();
    return new Proxy(store, {
      get: (target, name) => {
        this.#checkOpen();
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  #checkOpen(): void {
    invariant(this.#isOpen, "a transaction was used after its end");
  }
}
