// Times the stages of a search, for `explain`.

import type { StageRecord } from "../domain/ranking.ts";

/**
 * Measures consecutive stages. A stage that occurs several times is shown once with the sum of its times; for example,
 * `queue` occurs for each model.
 */
export class Stopwatch {
  readonly #stages = new Map<StageRecord["name"], Omit<StageRecord, "name">>();
  #last = performance.now();

  /** @param waitedMs waiting time before the search, which is shown as `queue`; 0 if there was none */
  constructor(waitedMs = 0) {
    if (waitedMs > 0) this.#stages.set("queue", { ms: waitedMs, candidates: 1 });
  }

  /**
   * Ends a stage, which began when the previous stage ended.
   * @param skipped see `StageRecord`
   */
  lap(name: StageRecord["name"], candidates: number, skipped = 0): void {
    const now = performance.now();
    const ms = (this.#stages.get(name)?.ms ?? 0) + now - this.#last;
    this.#stages.set(name, { ms, candidates, ...(skipped > 0 && { skipped }) });
    this.#last = now;
  }

  /** All stages so far, in the order in which they first ended; milliseconds with three decimals. */
  get stages(): StageRecord[] {
    return [...this.#stages].map(([name, { ms, ...counts }]) => ({
      name,
      ms: Math.round(ms * 1000) / 1000,
      ...counts,
    }));
  }
}
