// Calibration: fitting recovers the curve of synthetic data, and a calibrated score can be inverted.

import { describe, expect, test } from "bun:test";
import { finalScore, fitLogistic, probability } from "../../bench/lib/logistic.ts";
import { calibrationCurve } from "../../src/retrieval/modes.ts";
import { type Candidate, calibrate } from "../../src/retrieval/rank.ts";
import { seeded } from "../support/seeded.ts";
import { ENGLISH_TUNING } from "../support/shipped-models.ts";

describe("fitting", () => {
  test("recovers the curve that the samples were drawn from", () => {
    const curve = { slope: 4, offset: -3 };
    const chance = seeded(11);
    const samples = Array.from({ length: 20_000 }, () => {
      const score = 2 * chance();
      return { score, isRelevant: chance() < probability(score, curve) };
    });
    const { slope, offset } = fitLogistic(samples);
    expect(Math.abs(slope - curve.slope)).toBeLessThan(0.3);
    expect(Math.abs(offset - curve.offset)).toBeLessThan(0.3);
  });
  test("returns finite numbers if there is no curve to fit", () => {
    for (const isRelevant of [true, false]) {
      const { slope, offset } = fitLogistic([0.1, 0.5, 0.9].map((score) => ({ score, isRelevant })));
      expect(Number.isFinite(slope) && Number.isFinite(offset)).toBe(true);
    }
    expect(fitLogistic([])).toEqual({ slope: 1, offset: 0 });
  });
});

for (const text of [false, true]) {
  for (const graph of [false, true]) {
    for (const rerank of [false, true]) {
      test(`inverting a calibrated score gives its final score: ${JSON.stringify({ text, graph, rerank })}`, () => {
        const curve = calibrationCurve({ text, graph, rerank }, ENGLISH_TUNING);
        for (const final of [2.4, 1.1, 0.6, 0, -0.3]) {
          const candidate: Candidate = {
            chunkKey: 1n,
            memoryKey: 1n,
            signals: {},
            hybridScore: final,
            finalScore: final,
          } as Candidate;
          const [calibrated = Number.NaN] = calibrate([candidate], curve);
          expect(finalScore(calibrated, curve)).toBeCloseTo(final, 6);
        }
      });
    }
  }
}
