// A clock for tests whose time changes only when a test moves it.

import type { Clock } from "../../src/kit/clock.ts";

/** A clock that only `advance` moves. */
export class ManualClock implements Clock {
  #now = 1_800_000_000_000;
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = { at: this.#now + ms, wake: resolve };
      if (signal?.aborted || ms <= 0) return resolve();
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => this.#wake(sleeper), { once: true });
    });
  }

  /** Moves the time forward and ends each sleep whose time has come. */
  advance(ms: number): void {
    this.#now += ms;
    for (const sleeper of this.#sleepers) if (sleeper.at <= this.#now) this.#wake(sleeper);
  }

  #wake(sleeper: { readonly at: number; readonly wake: () => void }): void {
    this.#sleepers.delete(sleeper);
    sleeper.wake();
  }
}
