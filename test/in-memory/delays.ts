// Delays of stores, index and models. Every call answers a few microtasks or one turn of the event loop later, so that
// tests find callers that forget `await`. A seeded random generator chooses each delay. The simulation
// (test/simulation/) decides itself how long each call takes, and whether it fails.

import { seeded } from "../support/seeded.ts";

/** Decides how long calls take. */
export interface Delay {
  /**
   * Resolves when the call may continue. If it rejects, the call fails with this error.
   * @param call name of the port's method, such as `jobs.claim`
   * @param phase `begin`: the call has had no effect yet; `end`: it took effect
   */
  next(call?: string, phase?: "begin" | "end"): Promise<void>;
}

/** Random delays: a few microtasks, or one turn of the event loop. No call fails. */
export class Delays implements Delay {
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
