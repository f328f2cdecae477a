// Limits concurrent calls to each endpoint of a language model, embedder or reranker on another server.

/**
 * Maximum number of concurrent calls per endpoint. A hosted endpoint could handle more; one on the same machine would
 * not be faster with more.
 */
export const CALLS_MAX = 4;

/** Semaphores by key, with `CALLS_MAX` permits each. Waiting callers are served in order of arrival. */
export class KeyedSemaphore {
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Waits for a permit of `key`. Returns the function that releases it; call that once. */
  async acquire(key: string): Promise<() => void> {
    const running = this.#running.get(key) ?? 0;
    if (running >= CALLS_MAX) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const queue = this.#waiting.get(key);
      if (queue === undefined) this.#waiting.set(key, [resolve]);
      else queue.push(resolve);
      await promise; // `#release` passes its permit on, so the count stays
    } else {
      this.#running.set(key, running + 1);
    }
    return () => this.#release(key);
  }

  #release(key: string): void {
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
