// Units of work over all stores of record. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes:
// - All changes that `work` makes through the stores of its transaction become durable together before `run` resolves.
//   If `work` throws or rejects, none of them happens and `run` rejects with the same error.
// - Each call inside is undone as a whole if it throws. If `work` catches the error and goes on, the rest still counts.
// - Nobody outside sees a change before it is committed. Inside, each call sees the changes made before it. A read
//   outside never waits for an open transaction; a change outside does.
// - Transactions that touch the same rows take effect one after the other. Their effects run in the order of their
//   commits.
// - Effects registered with `afterCommit` have ended when `run` resolves. So whatever a caller does after `run` (answer
//   a request, for one) happens after them. An effect that fails is logged; the transaction stands, and the other
//   effects run. An effect must not wait for a changing method of a store: that call waits until the effect has ended.
// - `work` may wait for the stores of its own transaction only. Anything else keeps other writers waiting; calling a
//   changing method of a store outside the transaction would wait for itself. An implementation ends a transaction that
//   stays open too long.

import type { Eventually } from "../kit/eventually.ts";
import type { AccountStore } from "./account-store.ts";
import type { ChatStore } from "./chat-store.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import type { JobStore } from "./job-store.ts";
import type { LlmExtractionStore } from "./llm-extraction-store.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { RetirementStore } from "./retirement-store.ts";
import type { UserStore } from "./user-store.ts";
import type { WebhookStore } from "./webhook-store.ts";

/**
 * The stores of record. Used directly, each call is a transaction of its own. Every method may be awaited: an
 * implementation returns the value itself where it has it at once.
 */
export interface Stores {
  readonly memories: MemoryStore;
  readonly jobs: JobStore;
  readonly retirement: RetirementStore;
  readonly extractions: LlmExtractionStore;
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly chats: ChatStore;
  readonly webhooks: WebhookStore;
  readonly idempotency: IdempotencyStore;
}

/**
 * An open transaction: its stores take part in it. It must not be used after the work that it was given to has ended.
 */
export interface Transaction extends Stores {
  /**
   * Registers what follows the commit: what searches may see, waking workers. Effects run one after the other in the
   * order of registration; none runs if the transaction is undone.
   */
  afterCommit(effect: () => Eventually<void>): void;
}

/** Runs units of work. */
export interface Transactions {
  /** Runs `work` in one transaction; see the top of this file for what that means. */
  run<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T>;
}
