// Opens all stores of record on one PostgreSQL database.

import type { NodeIdentity } from "../../domain/system.ts";
import type { Log } from "../../kit/log.ts";
import type { SharedIndex } from "../../ports/shared-index.ts";
import type { TextArchive } from "../../ports/text-archive.ts";
import type { Stores, Transactions } from "../../ports/transactions.ts";
import type { SharedFiles } from "../../ports/upload-files.ts";
import { ActivityNotes } from "../activity-notes.ts";
import type { StoreContext } from "../context.ts";
import { systemRandom } from "../rows/random.ts";
import type { EffectFailure, InTransaction, Session } from "../session.ts";
import { storesOn } from "../stores.ts";
import { routed, StoreTransactions } from "../transactions.ts";
import { Client } from "./client.ts";
import { PostgresCoordination } from "./coordination.ts";
import { closingOf } from "./copies/closing.ts";
import { refuseUnfinishedMove } from "./copies/move.ts";
import { databaseError } from "./database-error.ts";
import { PostgresDeliveryQueue } from "./delivery-queue.ts";
import { PostgresEngine } from "./engine.ts";
import { PostgresKeyAccess } from "./key-access.ts";
import { prepareDatabase } from "./opening.ts";
import { ProjectTurns } from "./project-turns.ts";
import { ReadingSession, WritingSession } from "./session.ts";
import { PostgresFiles } from "./shared-files.ts";
import { PostgresSharedIndex } from "./shared-index.ts";
import { PostgresTexts } from "./texts.ts";

/** Options for opening the stores. */
export interface PostgresStoreOptions
  extends Omit<StoreContext, "nodeId" | "random" | "lastUses" | "activity" | "noteErasure" | "engine"> {
  /** `postgres://user:password@host:port/name`. The database must exist. */
  readonly url: string;
  /** Receives the error of a failed effect. */
  readonly onEffectFailure: EffectFailure;
  /** Id of this node, which stays the same over restarts. Default: empty, for a single node. */
  readonly nodeId?: string;
  /** Time limit for the answer to one statement in milliseconds. Default: 30 s. */
  readonly answerMsMax?: number;
  /** Time limit for a transaction in milliseconds. Default: 30 s. */
  readonly transactionMsMax?: number;
}

/** Open stores. Each call is a transaction of its own; `transactions` runs several calls in one. */
export interface PostgresStores extends Stores {
  readonly transactions: Transactions;
  /** The texts of published memories. */
  readonly texts: TextArchive;
  /** Id of the database, which is random and never changes. */
  readonly databaseId: string;
  /** Runs statements of a command. */
  readonly inTransaction: InTransaction;
  /** The publications and numbered changes that nodes share. */
  readonly shared: SharedIndex;
  /** Files that wait to be read, and originals, for all nodes. */
  readonly files: SharedFiles;
  /** Creates the coordination of the nodes on this database. */
  coordination(log: Log, identity: NodeIdentity): PostgresCoordination;
  /** Size of the database in bytes. */
  bytes(): Promise<number>;
  /** The connections, for commands that copy data (`copies/`). */
  readonly client: Client;
  /** Why changes are refused, because the data is being moved or was moved (`closing.ts`); null if they are not. */
  whyClosed(): Promise<string | null>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * Connects to the database and applies the missing migrations.
 * @throws DatabaseError if the database cannot be used
 */
export async function openPostgresStores(options: PostgresStoreOptions): Promise<PostgresStores> {
  const { url, onEffectFailure, answerMsMax, transactionMsMax, nodeId = "", ...surroundings } = options;
  const client = new Client(url, answerMsMax === undefined ? {} : { answerMsMax });
  let databaseId: string;
  try {
    databaseId = await prepareDatabase(client);
    await refuseUnfinishedMove(client);
  } catch (error) {
    await client.close();
    throw error;
  }
  const context: StoreContext = {
    ...surroundings,
    nodeId,
    random: systemRandom,
    lastUses: new Map(),
    activity: new ActivityNotes(),
    noteErasure: () => undefined,
    engine: new PostgresEngine(client),
  };
  const turns = new ProjectTurns();
  const begin = async () => {
    const session = new WritingSession(client, turns);
    return { session, stores: connected(session, context) };
  };
  const transactions = new StoreTransactions(begin, onEffectFailure, transactionMsMax);
  return {
    ...routed(connected(new ReadingSession(client), context), transactions.call.bind(transactions)),
    transactions,
    inTransaction: transactions.onSession,
    texts: new PostgresTexts(client),
    databaseId,
    shared: new PostgresSharedIndex(client),
    files: new PostgresFiles(client),
    coordination: (log, identity) =>
      new PostgresCoordination({ client, nodeId, identity, clock: surroundings.clock, log }),
    bytes: async () => {
      const { rows } = await client.read("SELECT pg_database_size(current_database()) AS bytes", []);
      return Number(rows[0]?.bytes ?? 0);
    },
    client,
    whyClosed: async () => ((await closingOf(client)) === null ? null : databaseError("closed", client.where).message),
    close: () => client.close(),
  };
}

function connected(session: Session, context: StoreContext): Stores {
  return storesOn(session, context, {
    access: new PostgresKeyAccess(session, context),
    deliveries: new PostgresDeliveryQueue(session),
  });
}
