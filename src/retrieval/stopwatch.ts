// Times the stages of a search, for `explain`.

import type { StageRecord } from "../domain/ranking.ts";

/**
 * Measures consecutive stages. A stage that occurs twice is shown once with the sum of its times; for example, `queue`
 * occurs for both models.
 */
export class Stopwatch {
  readonly #stages = new Map<StageRecord["name"], { ms: number; candidates: number }>();
  #last = performance.now();

  /** Ends a stage, which began when the previous stage ended. */
  lap(name: StageRecord["name"], candidates: number): void {
    const now = performance.now();
    const ms = (this.#stages.get(name)?.ms ?? 0) + now - this.#last;
    this.#stages.set(name, { ms, candidates });
    this.#last = now;
  }

  /** All stages so far, in the order in which they first ended; milliseconds with three decimals. */
  get stages(): StageRecord[] {
    return [...this.#stages].map(([name, { ms, candidates }]) => ({
      name,
      ms: Math.round(ms * 1000) / 1000,
      candidates,
    }));
  }
}
