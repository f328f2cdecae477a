// Bootstrap intervals: their width and position, and that they are deterministic.

import { describe, expect, test } from "bun:test";
import { meanInterval, pairedDifference, resampledInterval } from "../../bench/lib/intervals.ts";
import { mean } from "../../bench/lib/metrics.ts";
import { seeded } from "../support/seeded.ts";

const chance = seeded(7);
const values = Array.from({ length: 200 }, () => chance());

describe("the interval of a mean", () => {
  test("is as wide as the normal approximation says, and around the mean", () => {
    const { low, high } = meanInterval(values);
    const middle = mean(values);
    const deviation = Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
    const expected = (2 * 1.96 * deviation) / Math.sqrt(values.length);
    expect(low).toBeLessThan(middle);
    expect(high).toBeGreaterThan(middle);
    expect((high - low) / expected).toBeGreaterThan(0.85);
    expect((high - low) / expected).toBeLessThan(1.15);
  });
  test("is the same for the same figures", () => expect(meanInterval(values)).toEqual(meanInterval([...values])));
  test("narrows with more questions", () => {
    const width = (of: readonly number[]) => meanInterval(of).high - meanInterval(of).low;
    expect(width([...values, ...values, ...values, ...values])).toBeLessThan(width(values) * 0.65);
  });
  test("is a point if all figures are equal, and NaN without figures", () => {
    expect(meanInterval([0.5, 0.5, 0.5])).toEqual({ low: 0.5, high: 0.5 });
    expect(meanInterval([]).low).toBeNaN();
  });
});

describe("a paired difference", () => {
  test("is a point if every question gains the same", () => {
    const {
      mean: gain,
      low,
      high,
    } = pairedDifference(
      values.map((value) => value + 0.25),
      values,
    );
    for (const bound of [gain, low, high]) expect(bound).toBeCloseTo(0.25, 10);
  });
  test("has the sign of first minus second", () => {
    const { mean: loss, high } = pairedDifference(
      values.map((value) => value * 0.5),
      values,
    );
    expect(loss).toBeCloseTo(-mean(values) / 2, 10);
    expect(high).toBeLessThan(0);
  });
  test("refuses lists of different lengths", () => expect(() => pairedDifference([1, 2], [1])).toThrow("2 values"));
});

describe("the interval of another figure", () => {
  test("is that of the mean if the figure is the mean", () => {
    expect(resampledInterval([values], ([drawn = []]) => mean(drawn))).toEqual(meanInterval(values));
  });
  test("resamples every group for itself, with its size", () => {
    const sizes = new Set<string>();
    resampledInterval([values, [1, 2, 3]], ([first = [], second = []]) => {
      sizes.add(`${first.length} ${second.length} ${Math.max(...second) <= 3 && Math.max(...first) < 1}`);
      return 0;
    });
    expect([...sizes]).toEqual([`${values.length} 3 true`]);
  });
  test("is NaN if a group is empty", () => expect(resampledInterval([values, []], () => 1).low).toBeNaN());
});
