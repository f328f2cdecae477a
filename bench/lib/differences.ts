// 95 % intervals of differences and of figures that are not means; src/bench/intervals.ts has those of means.

import { bootstrapInterval, type Interval, meanInterval } from "../../src/bench/intervals.ts";
import { mean } from "../../src/bench/metrics.ts";

/** Mean difference of two rankings on the same questions, with its interval. */
export interface Difference extends Interval {
  readonly mean: number;
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
