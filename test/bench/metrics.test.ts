// The benches' metrics against cases calculated by hand.

import { describe, expect, test } from "bun:test";
import { mean, ndcgAt, percentile, recallAt, reciprocalRank } from "../../bench/lib/metrics.ts";
import { areaUnderRoc, calibrationError } from "../../bench/lib/score-metrics.ts";
import { seeded } from "../support/seeded.ts";

const judged = (...ids: string[]) => new Map(ids.map((id) => [id, 1]));

describe("nDCG", () => {
  test("is 1 when the relevant documents come first, in any order among themselves", () => {
    expect(ndcgAt(10, ["b", "a", "x"], judged("a", "b"))).toBe(1);
  });
  test("discounts by the binary logarithm of rank + 1", () => {
    // One relevant document, at rank 2: 1 / log2(3).
    expect(ndcgAt(10, ["x", "a"], judged("a"))).toBeCloseTo(0.63093, 5);
    // Two relevant documents, at ranks 1 and 3: (1 + 1/2) / (1 + 1/log2(3)).
    expect(ndcgAt(10, ["a", "x", "b"], judged("a", "b"))).toBeCloseTo(0.91972, 5);
  });
  test("ignores everything beyond its depth, in the ranking and in the ideal", () => {
    expect(ndcgAt(2, ["x", "y", "a"], judged("a"))).toBe(0);
    expect(ndcgAt(2, ["a", "b"], judged("a", "b", "c", "d"))).toBe(1);
  });
  test("uses grades as gains", () => {
    // (1 + 2/log2(3)) / (2 + 1/log2(3))
    const grades = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    expect(ndcgAt(10, ["a", "b"], grades)).toBeCloseTo(0.85972, 5);
  });
  test("is 0 for an empty ranking, and without relevant documents", () => {
    expect(ndcgAt(10, [], judged("a"))).toBe(0);
    expect(ndcgAt(10, ["a"], new Map())).toBe(0);
  });
});

describe("reciprocal rank", () => {
  test("is 1 / rank of the first relevant document", () => {
    expect(reciprocalRank(["a", "b"], judged("a", "b"))).toBe(1);
    expect(reciprocalRank(["x", "y", "b", "a"], judged("a", "b"))).toBeCloseTo(1 / 3, 12);
  });
  test("is 0 if none is found", () => {
    expect(reciprocalRank(["x"], judged("a"))).toBe(0);
    expect(reciprocalRank([], judged("a"))).toBe(0);
  });
});

describe("recall", () => {
  test("is the share of relevant documents found within the depth", () => {
    expect(recallAt(2, ["a", "x", "b"], judged("a", "b"))).toBe(0.5);
    expect(recallAt(3, ["a", "x", "b"], judged("a", "b"))).toBe(1);
  });
  test("does not count documents judged as not relevant", () => {
    expect(
      recallAt(
        5,
        ["a"],
        new Map([
          ["a", 1],
          ["b", 0],
        ]),
      ),
    ).toBe(1);
  });
  test("is 0 without relevant documents", () => expect(recallAt(5, ["a"], new Map())).toBe(0));
});

describe("percentile and mean", () => {
  test("a percentile is a measured value, by nearest rank", () => {
    const values = [5, 1, 4, 2, 3];
    expect(percentile(0.5, values)).toBe(3);
    expect(percentile(0.95, values)).toBe(5);
    expect(percentile(0, values)).toBe(1);
  });
  test("of no values are NaN", () => {
    expect(percentile(0.5, [])).toBeNaN();
    expect(mean([])).toBeNaN();
  });
  test("a mean is the sum over the number", () => expect(mean([1, 2, 6])).toBe(3));
});

describe("area under the ROC curve", () => {
  test("is the share of pairs in the right order", () => {
    expect(areaUnderRoc([3, 4], [1, 2])).toBe(1);
    expect(areaUnderRoc([1, 2], [3, 4])).toBe(0);
    // of (1, 2), (1, 0), (3, 2), (3, 0) only the first is in the wrong order
    expect(areaUnderRoc([1, 3], [2, 0])).toBe(0.75);
  });
  test("counts a tie as half", () => {
    expect(areaUnderRoc([1], [1])).toBe(0.5);
    // pairs: (0, 0) tie, (0, 1) wrong, (2, 0) right, (2, 1) right
    expect(areaUnderRoc([0, 2], [0, 1])).toBe(0.625);
  });
  test("equals the count of pairs on random values with ties", () => {
    const chance = seeded(3);
    const draw = (count: number) => Array.from({ length: count }, () => Math.floor(chance() * 20));
    const [positives, negatives] = [draw(60), draw(40)];
    let wins = 0;
    for (const positive of positives) {
      for (const negative of negatives) wins += positive > negative ? 1 : positive === negative ? 0.5 : 0;
    }
    expect(areaUnderRoc(positives, negatives)).toBeCloseTo(wins / 2400, 12);
  });
  test("is NaN if one side is empty", () => {
    expect(areaUnderRoc([], [1])).toBeNaN();
    expect(areaUnderRoc([1], [])).toBeNaN();
  });
});

describe("expected calibration error", () => {
  const predictions = (...of: readonly (readonly [number, boolean])[]) =>
    of.map(([score, isRelevant]) => ({ score, isRelevant }));
  test("is 0 if every bin's mean score is its observed share", () => {
    expect(calibrationError(predictions([0.5, true], [0.5, false], [1, true], [1, true]), 2)).toBe(0);
  });
  test("weighs the distance of each bin by its size", () => {
    // lower bin: mean .1, observed .5; upper bin: mean .8, observed .5
    const found = predictions([0.7, true], [0.1, false], [0.9, false], [0.1, true]);
    expect(calibrationError(found, 2)).toBeCloseTo((0.4 + 0.3) / 2, 12);
  });
  test("uses every prediction if the bins are not of equal size, or are more than the predictions", () => {
    const found = predictions([0, true], [0, true], [0, true]);
    expect(calibrationError(found, 2)).toBe(1);
    expect(calibrationError(found, 15)).toBe(1);
  });
  test("is NaN without predictions", () => expect(calibrationError([], 15)).toBeNaN());
});
