// Collects the times of many searches by stage, and computes percentiles and shares.

import { STAGE_NAMES } from "../../src/domain/ranking.ts";
import type { SearchReply } from "./ask.ts";
import { percentile, sum } from "./metrics.ts";
import { rounded } from "./scores.ts";

/**
 * Times of one stage in all searches. The stage `whole` is the time that the caller measured; `rest` is the part of it
 * that belongs to no stage.
 */
export interface StageTimes {
  readonly stage: string;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Share of the stage `whole`, 0..1. */
  readonly share: number;
}

/** Collector of stage times. */
export class Timings {
  readonly #msByStage = new Map<string, number[]>();

  add({ wholeMs, stages }: SearchReply): void {
    this.#note("whole", wholeMs);
    for (const { name, ms } of stages) this.#note(name, ms);
    this.#note("rest", wholeMs - sum(stages.map(({ ms }) => ms)));
  }

  /** One entry per stage: `whole` first, then the stages in order, `rest` last. */
  summary(): readonly StageTimes[] {
    const wholeMs = sum(this.#msByStage.get("whole") ?? []);
    return ["whole", ...STAGE_NAMES, "rest"].flatMap((stage) => {
      const ms = this.#msByStage.get(stage);
      if (ms === undefined) return [];
      return {
        stage,
        p50Ms: rounded(percentile(0.5, ms), 2),
        p95Ms: rounded(percentile(0.95, ms), 2),
        share: rounded(sum(ms) / wholeMs, 3),
      };
    });
  }

  #note(stage: string, ms: number): void {
    const noted = this.#msByStage.get(stage);
    if (noted === undefined) this.#msByStage.set(stage, [ms]);
    else noted.push(ms);
  }
}
