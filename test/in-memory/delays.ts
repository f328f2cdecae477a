// Delays of the in-memory implementations. Every call answers a few microtasks or one turn of the event loop later, so
// that tests find callers that forget `await`. A seeded random generator chooses each delay.

import { seeded } from "../support/seeded.ts";

/** Random delays: a few microtasks, or one turn of the event loop. */
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
