// How sure is a mean over questions? Percentile bootstrap (Efron 1979): questions are drawn again with replacement, and
// the middle 95 % of the means so found is the interval. Pure and seeded: equal figures give equal intervals.

import { seeded } from "../../test/support/seeded.ts";
import { mean, percentile } from "./metrics.ts";

/** 95 % interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** How far one ranking's mean lies above another's, on the same questions. */
export interface Difference extends Interval {
  readonly mean: number;
}

/** Beyond a thousand the bounds move by less than the third digit that is printed. */
const RESAMPLES = 1_000;
const SEED = 20_261_121;
const TAIL = 0.025;

/** The interval of the mean of `values`; NaN bounds for no values. */
export function meanInterval(values: readonly number[]): Interval {
  if (values.length === 0) return { low: Number.NaN, high: Number.NaN };
  const chance = seeded(SEED);
  const means = Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let draw = 0; draw < values.length; draw++) sum += values[Math.floor(chance() * values.length)] ?? 0;
    return sum / values.length;
  });
  return { low: percentile(TAIL, means), high: percentile(1 - TAIL, means) };
}

/**
 * By how much `values` lie above `others`, pair by pair: what is hard about a question is hard for both, so that the
 * interval of the difference is narrower than the two intervals suggest.
 * @throws Error when there are not as many of one as of the other.
 */
export function pairedDifference(values: readonly number[], others: readonly number[]): Difference {
  if (values.length !== others.length) throw new Error(`${values.length} values do not pair with ${others.length}`);
  const differences = values.map((value, at) => value - (others[at] ?? 0));
  return { mean: mean(differences), ...meanInterval(differences) };
}
