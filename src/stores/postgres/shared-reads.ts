// Reads single rows for many callers with few statements. Keys of callers that arrive at about the same time, or while
// statements run, are collected for the next statement.

/**
 * Number of statements that run at once. With two, this process converts the rows of one while the server reads those
 * of the other; with more, each statement has fewer keys (bench/store-cost.ts).
 */
const STATEMENTS_MAX = 2;
/**
 * Time in milliseconds after which a running statement no longer delays the next one: its connection is probably lost.
 */
const HOLDS_UP_MS_MAX = 25;

/** Reads values by key. Every caller gets what was committed before its call. */
export class SharedReads<Key, Value> {
  #asked = new Map<Key, PromiseWithResolvers<Value | null>>();
  /** Number of running statements that delay the next one. */
  #running = 0;
  #isStarting = false;

  /** @param read reads the values of these keys; keys without a value are left out */
  constructor(private readonly read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {}

  /** The value of a key; null if there is none. */
  get(key: Key): Promise<Value | null> {
    const known = this.#asked.get(key);
    if (known !== undefined) return known.promise;
    const asked = Promise.withResolvers<Value | null>();
    this.#asked.set(key, asked);
    this.#startSoon();
    return asked.promise;
  }

  /**
   * Starts a statement after the requests that have already arrived have added their keys, unless enough statements are
   * running.
   */
  #startSoon(): void {
    if (this.#isStarting || this.#running >= STATEMENTS_MAX || this.#asked.size === 0) return;
    this.#isStarting = true;
    setImmediate(() => {
      this.#isStarting = false;
      void this.#readNext();
    });
  }

  async #readNext(): Promise<void> {
    const asked = this.#asked;
    this.#asked = new Map();
    this.#running += 1;
    let isHoldingUp = true;
    const goOn = () => {
      if (!isHoldingUp) return;
      isHoldingUp = false;
      this.#running -= 1;
      this.#startSoon();
    };
    const heldUp = setTimeout(goOn, HOLDS_UP_MS_MAX);
    try {
      const found = await this.read([...asked.keys()]);
      for (const [key, { resolve }] of asked) resolve(found.get(key) ?? null);
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
    clearTimeout(heldUp);
    goOn();
  }
}
