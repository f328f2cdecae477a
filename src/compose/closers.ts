// Closes what was opened, in reverse order.

/** Collects functions that close what was opened. */
export class Closers {
  #closers: (() => void | Promise<void>)[] = [];

  add(closer: () => void | Promise<void>): void {
    this.#closers.push(closer);
  }

  /** Calls all of them, the latest first, whatever the others do. Throws the first failure after all were tried. */
  async close(): Promise<void> {
    const closers = this.#closers.reverse();
    this.#closers = [];
    const failures: unknown[] = [];
    for (const closer of closers) {
      try {
        await closer();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
