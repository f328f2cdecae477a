// Opens all stores of record on one SQLite file. Each store exists twice, on a connection for writing and on one for
// reading. Each call goes to one of the two, depending on whether its method writes.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "../../domain/json.ts";
import type { Memory } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Eventually } from "../../kit/eventually.ts";
import { SharedCount } from "../../kit/shared-count.ts";
import type { Stores, Transactions } from "../../ports/transactions.ts";
import { ActivityNotes } from "../activity-notes.ts";
import type { StoreContext, StoreHooks } from "../context.ts";
import { type RandomBytes, systemRandom } from "../rows/random.ts";
import type { EffectFailure, InTransaction, Session } from "../session.ts";
import { storesOn } from "../stores.ts";
import { routed, StoreTransactions } from "../transactions.ts";
import { closeRows, closingOf, reopenRows } from "./closing.ts";
import { type SqliteDatabase, throwUncaught } from "./database.ts";
import { type DeliveryClaims, SqliteDeliveryQueue } from "./delivery-queue.ts";
import { SqliteEngine } from "./engine.ts";
import { SqliteKeyAccess } from "./key-access.ts";
import { openDatabase, openReader, openSnapshot } from "./open-database.ts";
import type { Ownership } from "./opening.ts";
import { addNoted, type Noted } from "./reading-stores.ts";
import { SqliteSession, SqliteWriter } from "./session.ts";
import { WriteQueue } from "./write-queue.ts";

/** Number of pages that are compared before other work may run; about a millisecond. */
const PAGES_PER_TURN = 256;

/** Options for opening the stores. */
export interface SqliteStoreOptions extends StoreHooks {
  /** Path of the file, which is created if it does not exist. Its folder must exist. */
  readonly path: string;
  readonly clock: Clock;
  /** Creates a webhook secret `whsec_…` from random bytes. */
  readonly newWebhookSecret: (random: RandomBytes) => string;
  /** Default: the random number generator of the operating system. */
  readonly random?: RandomBytes;
  /** The `data` of an event: the API's Memory without `content`. Default: no events are recorded. */
  readonly describe?: (memory: Memory) => JsonObject;
  /** Receives the error of a failed effect. Default: throws it as an uncaught exception, because it is a bug. */
  readonly onEffectFailure?: EffectFailure;
  /** Time limit for a transaction in milliseconds. Default: 30 s. */
  readonly transactionMsMax?: number;
  /** Given by the process that holds the lock of the data directory. */
  readonly ownership?: Ownership;
  /** Number of the newest commit of the texts that commits of these stores may rely on. */
  readonly textsCommits?: () => number;
}

/** Open stores. Each call is a transaction of its own; `transactions` runs several calls in one. */
export interface SqliteStores extends Stores {
  readonly transactions: Transactions;
  /**
   * Opens a snapshot (see `openSnapshot`). `alongside` runs at the same moment: no store writes until it has ended, so
   * it must take milliseconds.
   */
  snapshot<T>(alongside: () => Promise<T>): Promise<readonly [SqliteDatabase, T]>;
  /** Runs `write` on the writing connection in one transaction, when its turn comes. It must take milliseconds. */
  write<T>(write: (database: SqliteDatabase) => T): Eventually<T>;
  /** Runs statements of a command; other writers wait meanwhile. */
  readonly inTransaction: InTransaction;
  /**
   * Compares all pages of the file with their sums; other work runs between two steps.
   * @returns the number of pages, and the numbers of the damaged ones
   */
  comparePages(
    onProgress: (done: number, total: number) => void,
  ): Promise<{ readonly pages: number; readonly damaged: readonly number[] }>;
  /** Numbers of commits of rows and texts. When texts are opened, they are compared, to notice lost commits. */
  readonly record: { readonly storeId: string; readonly textsCommits: number; readonly commits: () => number };
  /** Number of committed changes, for threads that read on connections of their own. */
  readonly changes: SharedCount;
  /** Adds what such a thread has noted. */
  addNoted(noted: Noted): void;
  /** Refuses changes from now on (`closing.ts`). Returns an id: while it stays the same, no row has changed. */
  closeToChanges(): Promise<string>;
  /** Allows changes again. */
  reopen(): Promise<void>;
  /** Whether changes are refused. */
  isClosed(): boolean;
  /** Closes the file. A second call does nothing. */
  close(): void;
}

/**
 * Opens the file and applies the missing migrations.
 * @throws StoreError with a sentence for the operator
 */
export function openStores(options: SqliteStoreOptions): SqliteStores {
  const { onEffectFailure = throwUncaught, ownership = null, textsCommits = () => 0 } = options;
  const changes = new SharedCount();
  const writer = openDatabase(options.path, { onEffectFailure, ownership, textsCommits, changes });
  const reader = openReader(writer);
  const { queue, context, ...stores } = connectStores(writer, reader, { ...options, onEffectFailure });
  writer.onCheckpointDue = nextTurnOnce(() => queue.run(() => writer.checkpointIfFree()));
  return {
    ...stores,
    record: { storeId: writer.storeId, textsCommits: writer.textsCommits, commits: () => writer.commits },
    changes,
    addNoted: (noted) => addNoted(context, noted),
    snapshot: (alongside) =>
      queue.hold(async () => {
        const snapshot = openSnapshot(writer);
        try {
          return [snapshot, await alongside()] as const;
        } catch (error) {
          snapshot.close();
          throw error;
        }
      }),
    write: (write) => queue.run(() => writer.transaction(() => write(writer))),
    inTransaction: stores.transactions.onSession,
    closeToChanges: async () => {
      await queue.run(() => writer.transaction(() => closeRows(writer)));
      return `${writer.storeId}-${closingOf(writer)}`;
    },
    reopen: async () => {
      await queue.run(() => writer.transaction(() => reopenRows(writer)));
    },
    isClosed: () => closingOf(writer) !== null,
    comparePages: (onProgress) => comparePages(writer, onProgress),
    close: () => {
      reader.close(); // before the writer, which holds the file open until its own checkpoint has ended
      writer.close();
    },
  };
}

/**
 * The stores on two connections to one file, or on one that does both: one writes, in the order of the queue, and one
 * reads.
 */
export function connectStores(
  writer: SqliteDatabase,
  reader: SqliteDatabase,
  options: Omit<SqliteStoreOptions, "path">,
): Stores & {
  readonly transactions: StoreTransactions;
  readonly queue: WriteQueue;
  readonly context: StoreContext;
} {
  const {
    clock,
    newWebhookSecret,
    describe,
    random = systemRandom,
    onEffectFailure,
    transactionMsMax,
    ...hooks
  } = options;
  const queue = new WriteQueue();
  const context: StoreContext = {
    ...{
      clock,
      newWebhookSecret,
      random,
      nodeId: "",
      lastUses: new Map(),
      activity: new ActivityNotes(),
      engine: new SqliteEngine(writer, queue),
    },
    noteErasure: () => writer.noteErasure(),
    ...(describe !== undefined && { describe }),
    ...hooks,
  };
  const claims: DeliveryClaims = new Map();
  const connected = (database: SqliteDatabase, own: Session) =>
    storesOn(own, context, {
      access: new SqliteKeyAccess(database, own, context),
      deliveries: new SqliteDeliveryQueue(own, claims),
    });
  const reading = new SqliteSession(reader);
  const session = new SqliteWriter(writer, reading, queue);
  const stores = connected(writer, session);
  const begin = async () => {
    await session.begin();
    return { session, stores };
  };
  const transactions = new StoreTransactions(begin, onEffectFailure ?? throwUncaught, transactionMsMax);
  return { ...routed(connected(reader, reading), transactions.call.bind(transactions)), transactions, queue, context };
}

/**
 * A function that runs `work` in a later turn of the event loop, so that requests are answered before it. Calls until
 * then have no effect.
 */
function nextTurnOnce(work: () => Eventually<void>): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    void nextTurn().then(() => {
      isDue = false;
      return work();
    });
  };
}

async function comparePages(
  { checkpoints }: SqliteDatabase,
  onProgress: (done: number, total: number) => void,
): Promise<{ readonly pages: number; readonly damaged: readonly number[] }> {
  if (checkpoints === null) return { pages: 0, damaged: [] };
  const damaged: number[] = [];
  // reads the number of pages in each round, because a checkpoint may change it between two rounds
  for (let first = 1; first <= checkpoints.pages; first += PAGES_PER_TURN) {
    damaged.push(...checkpoints.damagedIn(first, first + PAGES_PER_TURN));
    onProgress(Math.min(first + PAGES_PER_TURN - 1, checkpoints.pages), checkpoints.pages);
    await nextTurn();
  }
  return { pages: checkpoints.pages, damaged };
}
