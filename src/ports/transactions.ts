// One transaction over all stores of the system of record. Implemented by adapters/embedded on SQLite.
//
// Owed by an implementation: what happens inside `atomically` is durable as a whole when it returns, or has not happened at
// all when it throws. A call inside another becomes part of that one.

/** Binds changes of several stores together. */
export interface Transactions {
  /** Runs `work`, which must not await, in one transaction. */
  atomically<T>(work: () => T): T;
  /**
   * Runs `effect` right after the transaction under way has become durable, in the same turn of the event loop; not at all when
   * it is undone; at once outside any transaction. For what follows the rows: visibility, waking workers. Must not throw.
   */
  afterCommit(effect: () => void): void;
}
