// The benches' metrics against cases calculated by hand.

import { describe, expect, test } from "bun:test";
import { mean, ndcgAt, percentile, recallAt, reciprocalRank } from "../../bench/lib/metrics.ts";

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
