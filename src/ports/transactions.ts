// Transactions over all stores of record. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation:
// - Atomicity: all changes that `work` makes through the stores of its transaction become durable together, before
//   `run` resolves. If `work` throws or rejects, none of them happens and `run` rejects with the same error.
// - If a call of a store method inside a transaction throws, its own changes are undone completely. If `work` catches
//   the error and goes on, the other changes of the transaction stay.
// - Isolation: no change is visible outside of the transaction before the commit. Inside, each call sees the changes
//   made before it. A read outside of the transaction never waits for it. A change outside waits until the transaction
//   has ended if both concern the same project; whether it waits otherwise is up to the implementation.
// - Order: transactions that concern the same project take effect one after the other. The later one reads what the
//   earlier one committed. Effects run in the order of the commits.
// - Effects registered with `afterCommit` have ended when `run` resolves. So what a caller does after `run`, such as
//   answering a request, happens after them. An effect that fails is logged; the transaction stays committed, and the
//   other effects run.
// - `run` calls `work` at most once. It never repeats a failed transaction, because `work` may also change things that
//   are not stored, such as variables and files.
// - If it cannot be known whether the commit happened, because the connection to the store was lost, `run` rejects with
//   UnknownOutcome, and no effect runs.
// - A transaction that stays open too long is undone, and `run` rejects. The time limit is at least some seconds.
//
// Obligations of a caller:
// - `work` waits only for the stores of its own transaction and for calls that end at once. Other writers may have to
//   wait until the transaction ends.
// - `work` and effects never wait for `run` or for a changing method of a store outside the transaction: that call may
//   itself wait until the transaction and its effects have ended.
// - `work` concerns one project. If it needs several, it may fail because another transaction takes them in another
//   order.
// - Neither the transaction nor its stores are used after `work` has ended; such a call is refused.

import type { Eventually } from "../kit/eventually.ts";
import type { AccountStore } from "./account-store.ts";
import type { ActivityStore } from "./activity-store.ts";
import type { CaseStore } from "./case-store.ts";
import type { ChatStore } from "./chat-store.ts";
import type { DeletionStore } from "./deletion-store.ts";
import type { EntityStore } from "./entity-store.ts";
import type { HistoryStore } from "./history-store.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import type { InstalledModelStore } from "./installed-model-store.ts";
import type { JobStore } from "./job-store.ts";
import type { LlmExtractionStore } from "./llm-extraction-store.ts";
import type { MapStore } from "./map-store.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { ProjectModelStore } from "./project-model-store.ts";
import type { RelationStore } from "./relation-store.ts";
import type { RetirementStore } from "./retirement-store.ts";
import type { UserStore } from "./user-store.ts";
import type { WebhookStore } from "./webhook-store.ts";

/**
 * The stores of record. If a store is used directly, each call is a transaction of its own: when the call returns or
 * resolves, its changes are durable. An implementation returns a plain value instead of a promise if it has the value
 * at once.
 */
export interface Stores {
  readonly memories: MemoryStore;
  readonly jobs: JobStore;
  readonly retirement: RetirementStore;
  readonly relations: RelationStore;
  readonly history: HistoryStore;
  readonly activity: ActivityStore;
  readonly entities: EntityStore;
  readonly cases: CaseStore;
  readonly maps: MapStore;
  readonly deletions: DeletionStore;
  readonly extractions: LlmExtractionStore;
  readonly accounts: AccountStore;
  readonly projectModels: ProjectModelStore;
  readonly installedModels: InstalledModelStore;
  readonly users: UserStore;
  readonly chats: ChatStore;
  readonly webhooks: WebhookStore;
  readonly idempotency: IdempotencyStore;
}

/**
 * Names of the methods that only read. Outside of a transaction they never wait for one. All other methods may change
 * something, and wait until earlier writers have ended.
 */
export const READING_METHODS: { readonly [Name in keyof Stores]: readonly (keyof Stores[Name])[] } = {
  memories: [
    "get",
    "getMany",
    "waitingContents",
    "waitingTextFiles",
    "isMadeFrom",
    "list",
    "countFrom",
    "partsOf",
    "partCounts",
    "userKey",
    "visible",
    "unreferencedFiles",
    "counts",
  ],
  jobs: ["nextJobInMs", "published"],
  retirement: ["purgeable", "eraseTraces"], // `eraseTraces` changes no row, and cannot be in a transaction
  relations: ["of", "supersededAt", "waiting"],
  history: ["entries", "horizon", "textsAt", "earlierTexts", "archived"],
  activity: ["note", "list", "recent", "hour"], // what is noted is stored by `flush`
  entities: ["notes"],
  cases: ["list", "run", "runs", "open", "step"],
  maps: ["state", "places", "all", "unplaced"],
  deletions: ["get", "work", "open", "openOf"],
  extractions: ["previous", "facts", "tokensToday"],
  accounts: [
    "projects",
    "project",
    "chunkIds",
    "listProjects",
    "removedProjects",
    "hasAdminKey",
    "key",
    "listKeys",
    "authenticate",
  ],
  projectModels: ["get", "list"],
  installedModels: ["list", "get", "cursorBinding"],
  users: ["get", "list", "events"],
  chats: ["get", "list", "message", "history", "turns", "messages"],
  webhooks: ["get", "list", "delivery", "deliveries", "due", "nextDueInMs"],
  idempotency: ["recall"],
};

/** An open transaction. Calls of its stores are part of it. */
export interface Transaction extends Stores {
  /**
   * Registers an effect that runs after the commit, such as waking a worker or hiding memories from searches. Effects
   * run one after the other in the order of registration. None runs if the transaction is undone.
   */
  afterCommit(effect: () => Eventually<void>): void;
}

/** Nobody knows whether a transaction was committed. `cause` is the error of the commit. */
export class UnknownOutcome extends Error {
  override readonly name = "UnknownOutcome";

  constructor(cause: unknown) {
    super("it is not known whether a transaction was committed", { cause });
  }
}

/** Runs transactions. */
export interface Transactions {
  /** Runs `work` in one transaction, as described at the top of this file, and returns its result. */
  run<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T>;
}
