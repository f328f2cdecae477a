// The stores of record on SQLite, with a short random delay before and after every call. SQLite answers at once; the
// delays prove that no caller depends on that.

import { READING_METHODS, type Stores, type Transactions } from "../../src/ports/transactions.ts";
import { connectStores, type SqliteStoreOptions } from "../../src/stores/sqlite/stores.ts";
import { type Delay, Delays } from "./delays.ts";
import { UnsyncedDatabase } from "./unsynced-database.ts";

/** Options for opening the stores. */
export interface DelayedStoreOptions extends Omit<SqliteStoreOptions, "path" | "ownership" | "textsCommits"> {
  /** Default: random delays. */
  readonly delays?: Delay;
  /** Default: a new one. No other stores may use it at the same time. */
  readonly database?: UnsyncedDatabase;
}

/** Open stores. */
export interface DelayedStores extends Stores {
  readonly transactions: Transactions;
  close(): void;
}

/** Opens the stores. */
export function openDelayedStores({
  delays = new Delays(),
  database = new UnsyncedDatabase(),
  ...options
}: DelayedStoreOptions): DelayedStores {
  const { transactions, ...stores } = connectStores(database.writer, database.reader, options);
  return {
    ...delayed(stores, delays, ""),
    transactions: {
      run: async (work) => {
        await delays.next("transaction", "begin");
        return transactions.run(async (transaction) => {
          const result = await work({
            ...delayed(transaction, delays, "transaction."),
            afterCommit: (effect) => transaction.afterCommit(effect),
          });
          await delays.next("commit", "begin");
          return result;
        });
      },
    },
    close: () => database.close(),
  };
}

const STORE_NAMES = Object.keys(READING_METHODS) as (keyof Stores)[];

type Method = (...parameters: unknown[]) => unknown;

/** Stores with a delay before and after each call. */
function delayed(stores: Stores, delays: Delay, prefix: string): Stores {
  const store = (name: keyof Stores) => {
    const get = (_: object, method: string) => {
      if (method === "then") return undefined; // a store is no promise
      return async (...parameters: unknown[]) => {
        const call = `${prefix}${name}.${method}`;
        await delays.next(call, "begin");
        const target = stores[name] as unknown as Readonly<Record<string, Method>>;
        const answer = await target[method]?.(...parameters);
        await delays.next(call, "end");
        return answer;
      };
    };
    return new Proxy({}, { get });
  };
  return Object.fromEntries(STORE_NAMES.map((name) => [name, store(name)])) as unknown as Stores;
}
