// The scale of a chart: round steps from zero to a line above all values. It does not use the page, so that tests can
// run without one.

/** Maximum number of steps: as many as have room in a chart. */
const STEPS_MAX = 3;
/** Sizes of a step, times a power of ten. */
const SIZES = [1, 2, 5, 10];

/** The values at which a chart has lines, from 0 up, in steps of a whole number. The last one is at least `most`. */
export function linesUpTo(most: number): readonly number[] {
  const least = Math.max(1, most) / STEPS_MAX;
  const power = Math.max(1, 10 ** Math.floor(Math.log10(least)));
  const step = power * (SIZES.find((size) => size * power >= least) ?? 10);
  const steps = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: steps + 1 }, (_, at) => at * step);
}
