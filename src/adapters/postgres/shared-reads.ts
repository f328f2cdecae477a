// Reads single rows for many callers with few statements: while one runs, the keys of further callers are collected for
// the next one. A single caller waits for one statement, as without this.

/**
 * Time in milliseconds after which a statement no longer holds up the next one: it probably waits for a connection that
 * is lost.
 */
const HOLDS_UP_MS_MAX = 25;

/** Reads values by key. Every caller gets what was committed before its call. */
export class SharedReads<Key, Value> {
  #asked = new Map<Key, PromiseWithResolvers<Value | null>>();
  /** Ends when the next statement may start; null if it may start now. */
  #heldUp: ReturnType<typeof setTimeout> | null = null;

  /** @param read reads the values of these keys; keys without a value are left out */
  constructor(private readonly read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {}

  /** The value of a key; null if there is none. */
  get(key: Key): Promise<Value | null> {
    const asked = this.#asked.get(key) ?? Promise.withResolvers<Value | null>();
    this.#asked.set(key, asked);
    if (this.#heldUp === null) void this.#readNext();
    return asked.promise;
  }

  async #readNext(): Promise<void> {
    const asked = this.#asked;
    this.#asked = new Map();
    const heldUp = setTimeout(() => this.#goOn(heldUp), HOLDS_UP_MS_MAX);
    this.#heldUp = heldUp;
    try {
      const found = await this.read([...asked.keys()]);
      for (const [key, { resolve }] of asked) resolve(found.get(key) ?? null);
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
    clearTimeout(heldUp);
    this.#goOn(heldUp);
  }

  /** Lets the next statement start, unless another one has started since. */
  #goOn(heldUp: ReturnType<typeof setTimeout>): void {
    if (this.#heldUp !== heldUp) return;
    this.#heldUp = null;
    if (this.#asked.size > 0) void this.#readNext();
  }
}
