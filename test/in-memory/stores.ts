// All stores of record in memory, in the simplest code that passes the contracts. Every call answers after a short
// random delay, which proves that no caller depends on an immediate answer. Readers see the committed tables; writers
// work on a fork of the tables, one writer at a time.

import { invariant } from "../../src/domain/fault.ts";
import type { KeyId, ProjectId } from "../../src/domain/ids.ts";
import { type Eventually, within } from "../../src/kit/eventually.ts";
import { READING_METHODS, type Stores, type Transaction, type Transactions } from "../../src/ports/transactions.ts";
import { InMemoryAccounts } from "./accounts.ts";
import { InMemoryChats } from "./chats.ts";
import { type Delay, Delays } from "./delays.ts";
import { InMemoryDeletions } from "./deletions.ts";
import { InMemoryIdempotency } from "./idempotency.ts";
import { InMemoryJobs } from "./jobs.ts";
import { InMemoryLlmExtractions } from "./llm-extractions.ts";
import { InMemoryMemories } from "./memories.ts";
import { InMemoryProjectModels } from "./project-models.ts";
import { InMemoryRetirement } from "./retirement.ts";
import { emptyTables, Session, type Surroundings, type Tables } from "./session.ts";
import { InMemoryUsers } from "./users.ts";
import { InMemoryWebhooks } from "./webhooks.ts";

/** Options for opening the stores. */
export interface InMemoryStoreOptions extends Omit<Surroundings, "lastUses"> {
  /** Called with the error of an effect that failed after a commit. */
  readonly onEffectFailure: (error: unknown) => void;
  /** Default: random delays. */
  readonly delays?: Delay;
  /** Tables of stores that were opened before, as of their last commit. Default: empty tables. */
  readonly tables?: Tables;
  /** Called within each commit, with the tables as they are after it. */
  readonly onCommit?: (tables: Tables) => void;
  /** Undoes a transaction that takes too long. Default: after 10 s of real time. */
  readonly limit?: <T>(work: Eventually<T>) => Eventually<T>;
}

/** Open stores, with methods for tests that no port has. */
export interface InMemoryStores extends Stores {
  readonly transactions: Transactions;
  /** The tables as of the last commit. */
  committed(): Tables;
  /** Adds bytes to those that count towards the storage quota of a project, without storing anything. */
  occupy(projectId: ProjectId, bytes: number): void;
  close(): void;
}

const STORES = {
  memories: InMemoryMemories,
  jobs: InMemoryJobs,
  retirement: InMemoryRetirement,
  deletions: InMemoryDeletions,
  extractions: InMemoryLlmExtractions,
  accounts: InMemoryAccounts,
  projectModels: InMemoryProjectModels,
  users: InMemoryUsers,
  chats: InMemoryChats,
  webhooks: InMemoryWebhooks,
  idempotency: InMemoryIdempotency,
} as const satisfies Record<keyof Stores, new (session: Session) => object>;

/**
 * Maximum duration of a transaction. One that takes longer is undone, because its work probably waits for something
 * other than a store, or for itself.
 */
const TRANSACTION_MS_MAX = 10_000;
const OVERDUE = `a transaction stayed open for ${TRANSACTION_MS_MAX} ms; this is a bug in Mneme`;

/** Opens empty stores. */
export function openInMemoryStores(options: InMemoryStoreOptions): InMemoryStores {
  const {
    onEffectFailure,
    onCommit,
    delays = new Delays(),
    limit = (work) => within(work, TRANSACTION_MS_MAX, OVERDUE),
  } = options;
  const surroundings: Surroundings = { ...options, lastUses: new Map<KeyId, number>() };
  let committed = options.tables ?? emptyTables();
  let isOpen = true;
  let lastWriter: Promise<void> = Promise.resolve();

  /** Waits until all earlier writers have ended, runs `work` on a new session, commits, and runs the effects. */
  const write = async <T>(work: (session: Session) => Eventually<T>): Promise<T> => {
    const before = lastWriter;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    lastWriter = ended;
    await before;
    try {
      invariant(isOpen, "a store was used after it was closed");
      const session = new Session(committed, surroundings);
      const result = await work(session);
      committed = session.tables;
      onCommit?.(committed);
      for (const effect of session.effects) {
        try {
          await effect();
        } catch (error) {
          onEffectFailure(error);
        }
      }
      return result;
    } finally {
      end();
    }
  };
  const read = <T>(work: (session: Session) => T): T => {
    invariant(isOpen, "a store was used after it was closed");
    const session = new Session(committed, surroundings);
    const result = work(session);
    invariant(!session.isChanged, "a method that is listed in READING_METHODS wrote something");
    return result;
  };

  const transactions: Transactions = {
    run: async (work) => {
      await delays.next("transaction", "begin");
      return write(async (session) => {
        let isRunning = true;
        const checkRunning = () => invariant(isRunning, "a transaction was used after its end");
        const stores = asynchronous(delays, "transaction.", (_name, _method, call) => {
          checkRunning();
          return session.attempt(() => call(session));
        });
        const transaction: Transaction = {
          ...stores,
          afterCommit: (effect) => {
            checkRunning();
            session.effects.push(effect);
          },
        };
        try {
          const result = await limit(work(transaction));
          await delays.next("commit", "begin");
          return result;
        } finally {
          isRunning = false;
        }
      });
    },
  };
  return {
    ...asynchronous(delays, "", (name, method, call) => {
      const reads: readonly string[] = READING_METHODS[name];
      return reads.includes(method) ? read(call) : write((session) => session.attempt(() => call(session)));
    }),
    transactions,
    committed: () => committed,
    occupy: (projectId, bytes) => {
      const row = committed.projects.get(projectId);
      invariant(row !== undefined, `there is no project ${projectId}`);
      committed.projects.set(projectId, { ...row, occupiedBytes: row.occupiedBytes + bytes });
    },
    close: () => {
      isOpen = false;
    },
  };
}

type Call = (session: Session) => unknown;
type Run = (name: keyof Stores, method: string, call: Call) => Eventually<unknown>;

/** Creates all stores. Each call of a method goes through `run`, with a delay before and after it. */
function asynchronous(delays: Delay, prefix: string, run: Run): Stores {
  const store = (name: keyof Stores) => {
    const methods: Record<string, (...parameters: unknown[]) => Promise<unknown>> = {};
    for (const method of Object.getOwnPropertyNames(STORES[name].prototype)) {
      if (method === "constructor") continue;
      const label = `${prefix}${name}.${method}`;
      methods[method] = async (...parameters) => {
        await delays.next(label, "begin");
        const answer = await run(name, method, (session) => {
          const target = new STORES[name](session) as unknown as Record<string, (...values: unknown[]) => unknown>;
          return target[method]?.(...parameters);
        });
        await delays.next(label, "end");
        return answer;
      };
    }
    return methods;
  };
  return Object.fromEntries(
    Object.keys(STORES).map((name) => [name, store(name as keyof Stores)]),
  ) as unknown as Stores;
}
