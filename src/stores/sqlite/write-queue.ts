// The queue of writes. One connection writes, and an open transaction occupies it until its effects have ended; other
// writes wait here. Reads have a connection of their own and never wait.

import type { Eventually } from "../../kit/eventually.ts";

/** Lets one writer at a time use the connection, in the order of arrival. */
export class WriteQueue {
  #last: Promise<void> | null = null;

  /** Waits until all earlier writers have ended. The caller ends its turn with the returned function. */
  async take(): Promise<() => void> {
    const before = this.#last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last = ended;
    if (before !== null) await before;
    return () => {
      if (this.#last === ended) this.#last = null;
      end();
    };
  }

  /** Runs a synchronous write: at once if no other writer runs or waits, otherwise when its turn comes. */
  run<T>(write: () => T): Eventually<T> {
    return this.#last === null ? write() : this.hold(async () => write());
  }

  /** Runs `work` when its turn comes. All other writers wait until it has ended. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    const end = await this.take();
    try {
      return await work();
    } finally {
      end();
    }
  }
}
