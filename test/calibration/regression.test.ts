// Calibration: fitting recovers the curve of synthetic data, and a calibrated score can be inverted.

import { describe, expect, test } from "bun:test";
import { finalScores, fitRegression } from "../../src/calibration/regression.ts";
import type { Candidate } from "../../src/retrieval/candidate.ts";
import { calibrate } from "../../src/retrieval/results.ts";
import { seeded } from "../support/seeded.ts";
import { ENGLISH_TUNING } from "../support/shipped-models.ts";

describe("fitting", () => {
  const chance = seeded(12);
  const draw = (coefficients: readonly number[], offset: number, count = 4_000) =>
    Array.from({ length: count }, () => {
      const features = [chance(), 3 * chance(), 100 + 10 * chance()];
      const logit = features.reduce((sum, value, at) => sum + value * (coefficients[at] ?? 0), offset);
      return { features, isRelevant: chance() < 1 / (1 + Math.exp(-logit)), weight: 1 };
    });
  test("recovers the coefficients that the observations were drawn from", () => {
    const { coefficients, offset } = fitRegression(draw([3, 1, 0.2], -24));
    expect(Math.abs((coefficients[0] ?? 0) - 3)).toBeLessThan(0.5);
    expect(Math.abs((coefficients[1] ?? 0) - 1)).toBeLessThan(0.2);
    expect(Math.abs((coefficients[2] ?? 0) - 0.2)).toBeLessThan(0.05);
    expect(Math.abs(offset + 24)).toBeLessThan(5);
  });
  test("leaves out features that lower the probability", () => {
    const { coefficients } = fitRegression(draw([3, -1, 0], -1));
    expect(coefficients[1]).toBe(0);
    expect(coefficients[0]).toBeGreaterThan(2);
  });
  test("counts observations by their weight", () => {
    const once = (isRelevant: boolean, weight: number) => ({ features: [], isRelevant, weight });
    const { offset } = fitRegression([once(true, 3), once(false, 1)]);
    expect(1 / (1 + Math.exp(-offset))).toBeCloseTo(0.75, 6);
  });
  test("gives finite coefficients if the classes are separable", () => {
    const { coefficients } = fitRegression(
      [0, 1, 2, 3].map((at) => ({ features: [at], isRelevant: at > 1, weight: 1 })),
    );
    expect(Number.isFinite(coefficients[0])).toBe(true);
    expect(coefficients[0]).toBeGreaterThan(0);
  });
});

describe("inverting a curve", () => {
  const finals = [2.4, 1.1, 0.6, 0, -0.3];
  const candidates = finals.map((finalScore) => ({ finalScore }) as Candidate);
  for (const [signals, curve] of Object.entries(ENGLISH_TUNING.curves)) {
    test(`gives the final scores: ${signals}`, () => {
      const found = finalScores(calibrate(candidates, curve, 40), curve, 40);
      for (const [at, final] of finals.entries()) expect(found[at]).toBeCloseTo(final, 6);
    });
  }
  test("gives the final scores of a curve with slopes for the distance to the best and for the number of memories", () => {
    const curve = { slope: 1.5, gapSlope: 2.5, sizeSlope: 0.3, offset: -1 };
    const found = finalScores(calibrate(candidates, curve, 40), curve, 40);
    for (const [at, final] of finals.entries()) expect(found[at]).toBeCloseTo(final, 6);
  });
});
