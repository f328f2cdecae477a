// Transactions over all stores of one database, and calls of single methods as transactions of their own. The sessions
// of sqlite/ and postgres/ implement beginning, committing and waiting.

import { invariant } from "../domain/fault.ts";
import { type Eventually, within } from "../kit/eventually.ts";
import { READING_METHODS, type Stores, type Transaction, type Transactions } from "../ports/transactions.ts";
import type { Effect, EffectFailure, InTransaction, TransactionSession } from "./session.ts";

/**
 * Maximum duration of a transaction in milliseconds; then it is rolled back. Either the database is slow, or there is a
 * bug: `work` waits for something other than a store, or for a call that waits for the transaction itself.
 */
const TRANSACTION_MS_MAX = 30_000;
const OVERDUE = "a transaction stayed open for too long; this is a bug in Mneme";

const STORE_NAMES = Object.keys(READING_METHODS) as (keyof Stores)[];

type Method = (...parameters: unknown[]) => unknown;

/** A transaction that has begun, and the stores that work in it. */
export interface Begun {
  readonly session: TransactionSession;
  readonly stores: Stores;
}

/** Transactions on one database. */
export class StoreTransactions implements Transactions {
  /** @param begin begins a transaction, when its turn comes */
  constructor(
    private readonly begin: () => Promise<Begun>,
    private readonly onEffectFailure: EffectFailure,
    private readonly transactionMsMax = TRANSACTION_MS_MAX,
  ) {}

  run<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T> {
    return this.#inTransaction(async (begun) => {
      const transaction = new OpenTransaction(begun);
      try {
        const running = (async () => work(transaction.stores))();
        return await within(running, this.transactionMsMax, OVERDUE);
      } catch (error) {
        throw error instanceof Error && error.message === OVERDUE ? begun.session.overdue(error) : error;
      } finally {
        await transaction.end();
      }
    });
  }

  /** Runs one method as a transaction of its own. */
  call(name: keyof Stores, method: string, parameters: readonly unknown[]): Promise<unknown> {
    return this.#inTransaction(async ({ session, stores }) => {
      await session.lock(projectsOf(parameters));
      return methodOf(stores[name], method)(...parameters);
    });
  }

  /** Runs statements in one transaction. */
  readonly onSession: InTransaction = (work) => this.#inTransaction(({ session }) => work(session));

  async #inTransaction<T>(work: (begun: Begun) => Promise<T>): Promise<T> {
    const begun = await this.begin();
    const { session } = begun;
    try {
      let result: T;
      let effects: readonly Effect[];
      try {
        result = await work(begun);
        effects = await session.commit();
      } catch (error) {
        await session.rollback();
        throw error;
      }
      for (const effect of effects) await this.#runEffect(effect);
      return result;
    } finally {
      session.end();
    }
  }

  async #runEffect(effect: Effect): Promise<void> {
    try {
      await effect();
    } catch (error) {
      this.onEffectFailure(error);
    }
  }
}

/** Runs one method of a store as a transaction of its own. */
export type CallStore = (name: keyof Stores, method: string, parameters: readonly unknown[]) => Promise<unknown>;

/** Stores whose reading methods use `reading`; every other call goes to `call`. */
export function routed(reading: Stores, call: CallStore): Stores {
  const store = (name: keyof Stores) => {
    const reads: readonly PropertyKey[] = READING_METHODS[name];
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(reading[name])).filter(
      (method) => method !== "constructor",
    );
    return Object.fromEntries(
      methods.map((method): [string, Method] => [
        method,
        reads.includes(method) ? methodOf(reading[name], method) : (...parameters) => call(name, method, parameters),
      ]),
    );
  };
  return Object.fromEntries(STORE_NAMES.map((name) => [name, store(name)])) as unknown as Stores;
}

/**
 * Ids of the projects that the first parameter of a call names. The parameter is a project id, an object with a
 * `projectId` (an IdempotencySlot, a Job), a Completion, whose job has one, or a list of these. For other parameters,
 * returns none: such a method locks the projects of the rows that it changes itself (`lockProjects`).
 */
function projectsOf([first]: readonly unknown[]): readonly string[] {
  if (typeof first === "string") return first.startsWith("prj_") ? [first] : [];
  if (Array.isArray(first)) return first.flatMap((item) => (typeof item === "object" ? projectsOf([item]) : []));
  if (typeof first !== "object" || first === null) return [];
  if ("job" in first) return projectsOf([first.job]);
  return "projectId" in first && typeof first.projectId === "string" ? [first.projectId] : [];
}

function methodOf(store: object, name: string): Method {
  return (Reflect.get(store, name) as Method).bind(store);
}

/** The stores of one open transaction. Calls run one after the other. Refuses calls after its end. */
class OpenTransaction {
  readonly stores: Transaction;
  #isOpen = true;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly begun: Begun) {
    const afterCommit = (effect: Effect) => {
      this.#checkOpen();
      begun.session.afterCommit(effect);
    };
    // a store is wrapped when it is used: most transactions use few
    this.stores = new Proxy(begun.stores as Transaction, {
      get: (_stores, name) => (name === "afterCommit" ? afterCommit : this.#guarded(name as keyof Stores)),
    });
  }

  /** Refuses further calls, and waits for those that `work` did not wait for. */
  async end(): Promise<void> {
    this.#isOpen = false;
    await this.#last;
  }

  #guarded(name: keyof Stores): object {
    this.#checkOpen();
    const { session, stores } = this.begun;
    const store = stores[name];
    const reads: readonly PropertyKey[] = READING_METHODS[name];
    return new Proxy(store, {
      get: (_store, method) => {
        if (typeof method !== "string" || !(method in store)) return undefined;
        const call = methodOf(store, method);
        return (...parameters: unknown[]) => {
          this.#checkOpen();
          const work = async () => call(...parameters);
          return this.#inTurn(async () => {
            await session.lock(projectsOf(parameters));
            return reads.includes(method) ? work() : session.savepoint(work);
          });
        };
      },
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const running = this.#last.then(work);
    const ended = () => undefined;
    this.#last = running.then(ended, ended); // the caller gets the error
    return running;
  }

  #checkOpen(): void {
    invariant(this.#isOpen, "a transaction was used after its end");
  }
}
