// Fit of a line by least squares: slope, mean and the width of the interval.

import { expect, test } from "bun:test";
import { fitLine } from "../../bench/lib/line-fit.ts";
import { seeded } from "../support/seeded.ts";

test("finds the slope of points on a line exactly", () => {
  const { slope, slopeError, mean } = fitLine([0, 1, 2, 3].map((time) => [time, 5 + 2 * time] as const));
  expect(slope).toBeCloseTo(2, 10);
  expect(slopeError).toBeCloseTo(0, 10);
  expect(mean).toBeCloseTo(8, 10);
});

test("the interval of noise without a trend seldom excludes 0, and that of a trend does", () => {
  const noise = (seed: number) => {
    const random = seeded(seed);
    return Array.from({ length: 120 }, (_, at) => [at, 100 + 20 * (random() - 0.5)] as const);
  };
  const seeds = Array.from({ length: 200 }, (_, seed) => seed);
  const excludes = (points: readonly (readonly [number, number])[]) => {
    const { slope, slopeError } = fitLine(points);
    return Math.abs(slope) > slopeError;
  };
  // 10 of 200 are expected with an interval of 95 %
  expect(seeds.filter((seed) => excludes(noise(seed))).length).toBeLessThan(25);
  expect(seeds.every((seed) => excludes(noise(seed).map(([time, value]) => [time, value + time / 5])))).toBeTrue();
});

test("neighbours that are alike widen the interval", () => {
  const wave = (length: number) => (at: number) => Math.sin((2 * Math.PI * at) / length);
  const points = (value: (at: number) => number) => Array.from({ length: 120 }, (_, at) => [at, value(at)] as const);
  const slow = fitLine(points(wave(40))).slopeError;
  const alternating = fitLine(points((at) => (at % 2 === 0 ? 1 : -1) * Math.SQRT1_2)).slopeError;
  expect(slow).toBeGreaterThan(3 * alternating);
});

test("two points give a slope without an interval", () => {
  const { slope, slopeError } = fitLine([
    [0, 1],
    [2, 5],
  ]);
  expect(slope).toBe(2);
  expect(slopeError).toBeNaN();
});
