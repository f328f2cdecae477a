// 95 % intervals of figures over questions, such as means and differences, by percentile bootstrap (Efron 1979):
// questions are resampled with replacement, and the interval is the middle 95 % of the resampled figures. Pure and
// seeded: equal figures give equal intervals.

import { mean, percentile } from "./metrics.ts";
import { seeded } from "./seeded.ts";

/** 95 % interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Mean difference of two rankings on the same questions, with its interval. */
export interface Difference extends Interval {
  readonly mean: number;
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

/**
 * The interval of a figure that is not a mean, such as an area under a curve. Each resample draws from every group
 * separately, so the groups keep their sizes.
 * @param figure computes the figure from resampled groups, in the order of `groups`
 */
export function resampledInterval<Item>(
  groups: readonly (readonly Item[])[],
  figure: (groups: readonly (readonly Item[])[]) => number,
): Interval {
  if (groups.some((group) => group.length === 0)) return { low: Number.NaN, high: Number.NaN };
  const draw = (group: readonly Item[], chance: () => number) =>
    group.map(() => group[Math.floor(chance() * group.length)]).filter((item) => item !== undefined);
  return bootstrapInterval((chance) => figure(groups.map((group) => draw(group, chance))));
}

/**
 * Mean paired difference `values - others`. Hard questions are hard for both rankings, so the interval of the
 * difference is narrower than the two separate intervals suggest.
 * @throws Error if the lists have different lengths
 */
export function pairedDifference(values: readonly number[], others: readonly number[]): Difference {
  if (values.length !== others.length) throw new Error(`${values.length} values do not pair with ${others.length}`);
  const differences = values.map((value, at) => value - (others[at] ?? 0));
  return { mean: mean(differences), ...meanInterval(differences) };
}

// The interval of a figure. `resampled` computes it from one resample, drawn with `chance`.
function bootstrapInterval(resampled: (chance: () => number) => number): Interval {
  const chance = seeded(SEED);
  const figures = Array.from({ length: RESAMPLES }, () => resampled(chance));
  return { low: percentile(TAIL, figures), high: percentile(1 - TAIL, figures) };
}
