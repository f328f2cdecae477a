// Fitting calibration curves to samples: recovers the curve, weighs stores equally, and judges unseen groups.

import { describe, expect, test } from "bun:test";
import { figuresOfOtherGroups, figuresWith, fitCurve } from "../../bench/lib/calibration-fit.ts";
import type { ScoreSample } from "../../bench/lib/score-samples.ts";
import { seeded } from "../support/seeded.ts";

const CURVE = { slope: 3, gapSlope: 4, sizeSlope: 0.5, offset: -2 };
const chance = seeded(31);

function drawn(group: string, store: string, count: number, offset = CURVE.offset): ScoreSample[] {
  return Array.from({ length: count }, (_, at) => {
    const admissible = 6 * 10 ** (at % 3);
    const finals = Array.from({ length: 6 }, () => 2 * chance()).sort((left, right) => right - left);
    const best = finals[0] ?? 0;
    const results = finals.map((final) => {
      const size = CURVE.sizeSlope * Math.log(admissible);
      const logit = CURVE.slope * final + CURVE.gapSlope * (final - best) - size + offset;
      return { final, isRelevant: chance() < 1 / (1 + Math.exp(-logit)), signals: {} };
    });
    const isAnswerable = results.some(({ isRelevant }) => isRelevant);
    const kind = isAnswerable ? "direct" : "off";
    return {
      group,
      store,
      question: `${group}/${at}`,
      kind,
      isAnswerable,
      combination: "vector",
      admissible,
      results,
    };
  });
}

describe("a fitted curve", () => {
  test("is the one that the samples were drawn from", () => {
    const { slope, gapSlope, sizeSlope, offset } = fitCurve(drawn("p01", "all notes", 1_500));
    expect(Math.abs(slope - CURVE.slope)).toBeLessThan(0.6);
    expect(Math.abs(gapSlope - CURVE.gapSlope)).toBeLessThan(0.8);
    expect(Math.abs(sizeSlope - CURVE.sizeSlope)).toBeLessThan(0.2);
    expect(Math.abs(offset - CURVE.offset)).toBeLessThan(0.8);
  });
  test("counts every kind of store the same, however many questions it has", () => {
    const few = drawn("p01", "one note", 300, -4);
    const many = drawn("p01", "all notes", 300, 0);
    const repeated = fitCurve([...few, ...many, ...many, ...many]);
    const once = fitCurve([...few, ...many]);
    expect(repeated.offset).toBeCloseTo(once.offset, 4);
    expect(repeated.slope).toBeCloseTo(once.slope, 4);
  });
});

describe("figures", () => {
  const samples = ["p01", "p02", "p03"].flatMap((group) => drawn(group, "all notes", 200));
  test("of unseen groups show a small calibration error for samples of one curve", () => {
    const { errorTop10, errorTop1, medianRight } = figuresOfOtherGroups(samples);
    expect(errorTop10).toBeLessThan(0.04);
    expect(errorTop1).toBeLessThan(0.08);
    expect(medianRight).toBeGreaterThan(0.5);
  });
  test("of a wrong curve show a larger one", () => {
    expect(figuresWith(samples, { ...CURVE, offset: 1 }).errorTop10).toBeGreaterThan(0.15);
  });
  test("have the highest threshold at which .93 of the answerable questions are answered", () => {
    const question = (final: number, kind: string): ScoreSample => ({
      group: "p01",
      store: "all notes",
      question: String(final),
      kind,
      isAnswerable: kind === "direct",
      combination: "vector",
      admissible: 1,
      results: [{ final, isRelevant: kind === "direct", signals: {} }],
    });
    const probability = (final: number) => 1 / (1 + Math.exp(-final));
    const answerable = Array.from({ length: 100 }, (_, at) => question(at / 10, "direct"));
    const others = [question(0.55, "off"), question(0.65, "off"), question(0.2, "near"), question(5, "near")];
    const figures = figuresWith([...answerable, ...others], { slope: 1, gapSlope: 0, sizeSlope: 0, offset: 0 });
    expect(figures.threshold).toBeCloseTo(probability(0.6), 6);
    expect(figures.refusedOff).toBe(0.5);
    expect(figures.refusedNear).toBe(0.5);
  });
});
