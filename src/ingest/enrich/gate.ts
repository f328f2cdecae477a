// When an endpoint may be called: so many calls at once, and none for a while after several in a row have failed.

import type { Clock } from "../../kit/clock.ts";

/** Calls of one endpoint at once: a hosted one takes more, one on the same machine is not made quicker by more. */
export const CALLS_MAX = 4;

/** Failures in a row after which something is left alone, and for how long. */
const FAILURES_MAX = 3;
const LEFT_ALONE_MS = 60_000;
/** What an endpoint asks for at most: a day, say, would be one bad header's doing. */
const LEFT_ALONE_MS_MAX = 60 * 60_000;
/** Things of which failures are remembered; beyond, the oldest is forgotten. */
const REMEMBERED_MAX = 10_000;

/** Lets callers through, a few at once per key, in the order in which they came. */
export class Gate {
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves when the caller's turn has come; it ends with the function that comes back. To be called once. */
  async enter(key: string): Promise<() => void> {
    const running = this.#running.get(key) ?? 0;
    if (running >= CALLS_MAX) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const queue = this.#waiting.get(key);
      if (queue === undefined) this.#waiting.set(key, [resolve]);
      else queue.push(resolve);
      await promise; // the place of whoever left is the caller's now
    } else {
      this.#running.set(key, running + 1);
    }
    return () => this.#leave(key);
  }

  #leave(key: string): void {
    const next = this.#waiting.get(key)?.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#waiting.delete(key);
    const running = (this.#running.get(key) ?? 1) - 1;
    if (running === 0) this.#running.delete(key);
    else this.#running.set(key, running);
  }
}

/** Remembers what has failed of late. */
export class Breaker {
  readonly #failures = new Map<string, { readonly count: number; readonly leftAloneUntil: number }>();

  constructor(private readonly clock: Clock) {}

  /** Whether this is to be left alone at the moment. */
  isOpen(key: string): boolean {
    return (this.#failures.get(key)?.leftAloneUntil ?? 0) > this.clock.now();
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * Counts a failure. From the third in a row on each has the thing left alone for a minute; one that asks to be left
   * alone is, at once and for as long as it asks.
   * @returns whether it is left alone from now on and was not before
   */
  failed(key: string, askedMs: number | null = null): boolean {
    const wasOpen = this.isOpen(key);
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const ms = askedMs === null ? LEFT_ALONE_MS : Math.min(askedMs, LEFT_ALONE_MS_MAX);
    const isLeftAlone = askedMs !== null || count >= FAILURES_MAX;
    const oldest = this.#failures.keys().next();
    if (this.#failures.size >= REMEMBERED_MAX && !oldest.done) this.#failures.delete(oldest.value);
    this.#failures.set(key, { count, leftAloneUntil: isLeftAlone ? this.clock.now() + ms : 0 });
    return isLeftAlone && !wasOpen;
  }
}
