// Delays of the test implementations: every call answers some turns later. A seeded generator chooses the number of
// turns, so that tests find callers that forget to wait.

import { seeded } from "../support/seeded.ts";

/** Waits for some turns of the microtask queue, or for one turn of the event loop. */
export class Delays {
  readonly #random: () => number;

  constructor(seed = 20_261_123) {
    this.#random = seeded(seed);
  }

  async next(): Promise<void> {
    const choice = this.#random();
    if (choice < 0.2) {
      await new Promise<void>((resolve) => {
        setImmediate(() => resolve());
      });
      return;
    }
    for (let turn = Math.ceil(choice * 5); turn > 0; turn--) await Promise.resolve();
  }
}
