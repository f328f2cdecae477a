// Changes the rows of a service that runs in the process of the test, on a connection of its own.

import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "../../src/stores/store-error.ts";

/** Number of attempts, each of which waits for some seconds. */
const ATTEMPTS_MAX = 10;

/**
 * Runs `change`, which opens the file for writing. A transaction that the service has begun can only end in another
 * turn of this thread, so each attempt waits for one first. Another attempt follows if a transaction locks the file.
 * @throws StoreError `locked` if that is so in all attempts
 */
export async function besideTransactions(change: () => void): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await nextTurn();
    try {
      return change();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "locked") || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
