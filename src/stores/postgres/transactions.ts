// Transactions over all stores of one database, and calls of single methods as transactions of their own.

import { invariant } from "../../domain/fault.ts";
import { type Eventually, within } from "../../kit/eventually.ts";
import { READING_METHODS, type Stores, type Transaction, type Transactions } from "../../ports/transactions.ts";
import type { Client } from "./client.ts";
import { databaseError } from "./database-error.ts";
import { ProjectTurns } from "./project-turns.ts";
import { type Effect, type Session, WritingSession } from "./session.ts";

/**
 * Maximum duration of a transaction in milliseconds; then it is rolled back. Either the database is slow, or there is a
 * bug: `work` waits for something other than a store, or for a call that waits for the transaction itself.
 */
const TRANSACTION_MS_MAX = 30_000;
const OVERDUE = "a transaction stayed open for too long; this is a bug in Mneme";

/** Receives the error of a failed effect. */
export type EffectFailure = (error: unknown) => void;

type Method = (...parameters: unknown[]) => unknown;

/** Transactions on PostgreSQL. */
export class PostgresTransactions implements Transactions {
  readonly #turns = new ProjectTurns();

  constructor(
    private readonly client: Client,
    private readonly storesOn: (session: Session) => Stores,
    private readonly onEffectFailure: EffectFailure,
    private readonly transactionMsMax = TRANSACTION_MS_MAX,
  ) {}

  run<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T> {
    return this.#inTransaction(async (session) => {
      const transaction = new OpenTransaction(this.storesOn(session), session);
      try {
        return await within(
          Promise.resolve(session).then(() => work(transaction)),
          this.transactionMsMax,
          OVERDUE,
        );
      } catch (error) {
        const isOverdue = error instanceof Error && error.message === OVERDUE;
        throw isOverdue && session.isWaiting ? databaseError("slow", this.client.where, error) : error;
      } finally {
        await transaction.end();
      }
    });
  }

  /** Runs one method as a transaction of its own. */
  call(name: keyof Stores, method: string, parameters: readonly unknown[]): Promise<unknown> {
    return this.#inTransaction(async (session) => {
      await session.lock(projectsOf(parameters));
      return methodOf(this.storesOn(session)[name], method)(...parameters);
    });
  }

  async #inTransaction<T>(work: (session: WritingSession) => Promise<T>): Promise<T> {
    const session = new WritingSession(this.client, this.#turns);
    try {
      let result: T;
      let effects: readonly Effect[];
      try {
        result = await work(session);
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

/** The method of a store with this name. */
export function methodOf(store: object, name: string): Method {
  return (Reflect.get(store, name) as Method).bind(store);
}

/** Wraps the methods of a store. `call` gets the name of the method and its parameters. */
export function wrapped<Store extends object>(
  store: Store,
  call: (name: string, parameters: readonly unknown[]) => unknown,
): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return (...parameters: unknown[]) => call(name, parameters);
    },
  });
}

/** The stores of one open transaction. Calls run one after the other. Refuses calls after its end. */
class OpenTransaction implements Transaction {
  #isOpen = true;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly stores: Stores,
    private readonly session: WritingSession,
  ) {}

  get memories() {
    return this.#guarded("memories");
  }

  get jobs() {
    return this.#guarded("jobs");
  }

  get retirement() {
    return this.#guarded("retirement");
  }

  get deletions() {
    return this.#guarded("deletions");
  }

  get extractions() {
    return this.#guarded("extractions");
  }

  get accounts() {
    return this.#guarded("accounts");
  }

  get projectModels() {
    return this.#guarded("projectModels");
  }

  get users() {
    return this.#guarded("users");
  }

  get chats() {
    return this.#guarded("chats");
  }

  get webhooks() {
    return this.#guarded("webhooks");
  }

  get idempotency() {
    return this.#guarded("idempotency");
  }

  afterCommit(effect: Effect): void {
    this.#checkOpen();
    this.session.afterCommit(effect);
  }

  /** Refuses further calls, and waits for those that `work` did not wait for. */
  async end(): Promise<void> {
    this.#isOpen = false;
    await this.#last;
  }

  #guarded<Name extends keyof Stores>(name: Name): Stores[Name] {
    this.#checkOpen();
    const store = this.stores[name];
    const reads: readonly PropertyKey[] = READING_METHODS[name];
    return wrapped(store, (method, parameters) => {
      this.#checkOpen();
      const work = async () => methodOf(store, method)(...parameters);
      return this.#inTurn(async () => {
        await this.session.lock(projectsOf(parameters));
        return reads.includes(method) ? work() : this.session.savepoint(work);
      });
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
