// Reads single rows for many callers with few statements: the keys of callers that come at about the same time, or
// while statements run, are collected for the next one.

/**
 * Number of statements that run at once. With two, this process converts the rows of one while the server reads those
 * of the other; with more, each statement has fewer keys (bench/store-cost.ts).
 */
const STATEMENTS_MAX = 2;
/**
 * Time in milliseconds after which a statement no longer holds up the next one: it probably waits for a connection that
 * is lost.
 */
const HOLDS_UP_MS_MAX = 25;

/** Reads values by key. Every caller gets what was committed before its call. */
export class SharedReads<Key, Value> {
  #asked = new Map<Key, PromiseWithResolvers<Value | null>>();
  /** Number of statements that hold up the next one. */
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

  /** Starts a statement when the requests that have arrived by now have asked, unless enough statements are running. */
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
