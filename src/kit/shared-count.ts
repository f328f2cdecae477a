// A number that all threads of the process share.

/** A count that one thread changes and all threads read. After 2³¹ - 1 it goes on at -2³¹. */
export class SharedCount {
  readonly #cells: Int32Array;

  /** @param memory that of another thread's count, which then is the same count; default: a new count, at 0 */
  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#cells = new Int32Array(memory);
  }

  get value(): number {
    return Atomics.load(this.#cells, 0);
  }

  set value(value: number) {
    Atomics.store(this.#cells, 0, value);
  }
}
