// 95 % intervals of means over questions, by percentile bootstrap (Efron 1979): questions are resampled with
// replacement, and the interval is the middle 95 % of the resampled means. Pure and seeded: equal figures give equal
// intervals.

import { percentile } from "./metrics.ts";
import { seeded } from "./seeded.ts";

/** 95 % interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Number of resamples. More of them would change the bounds by less than one unit of the third printed digit. */
const RESAMPLES = 1_000;
const SEED = 20_261_121;
const TAIL = 0.025;

/** The interval of the mean of `values`; NaN bounds for no values. */
export function meanInterval(values: readonly number[]): Interval {
  if (values.length === 0) return { low: Number.NaN, high: Number.NaN };
  return bootstrapInterval((chance) => {
    let sum = 0;
    for (let draw = 0; draw < values.length; draw++) sum += values[Math.floor(chance() * values.length)] ?? 0;
    return sum / values.length;
  });
}

/** The interval of a figure. @param resampled computes the figure from one resample, drawn with `chance` */
export function bootstrapInterval(resampled: (chance: () => number) => number): Interval {
  const chance = seeded(SEED);
  const figures = Array.from({ length: RESAMPLES }, () => resampled(chance));
  return { low: percentile(TAIL, figures), high: percentile(1 - TAIL, figures) };
}
