// The figures of runs over cases.

import { describe, expect, test } from "bun:test";
import { ndcg10, withOutcome } from "../../src/domain/case.ts";
import type { MemoryId } from "../../src/domain/ids.ts";

const id = (name: string | number) => `mem_${name}` as MemoryId;
const ids = (...names: (string | number)[]) => names.map(id);

describe("nDCG@10", () => {
  test("is 1 if all expected memories come first, in any order", () => {
    expect(ndcg10(ids("a", "b", "c"), new Set(ids("b", "a")))).toBe(1);
  });

  test("falls with the rank, and is 0 if nothing expected is found", () => {
    expect(ndcg10(ids("x", "a"), new Set(ids("a")))).toBeCloseTo(1 / Math.log2(3), 12);
    const twoOfThree = (1 + 1 / Math.log2(4)) / (1 + 1 / Math.log2(3) + 1 / Math.log2(4));
    expect(ndcg10(ids("a", "x", "b"), new Set(ids("a", "b", "c")))).toBeCloseTo(twoOfThree, 12);
    expect(ndcg10(ids("x"), new Set(ids("a")))).toBe(0);
    expect(ndcg10([], new Set(ids("a")))).toBe(0);
  });

  test("counts a memory once, and its further passages take no rank", () => {
    expect(ndcg10(ids("a", "a", "a", "b"), new Set(ids("a", "b")))).toBe(1);
  });

  test("looks at the first ten memories, also for the best order of more than ten", () => {
    const others = Array.from({ length: 10 }, (_, at) => id(at));
    expect(ndcg10([...others, id("a")], new Set(ids("a")))).toBe(0);
    expect(ndcg10([...others.slice(1), id("a")], new Set(ids("a")))).toBeCloseTo(1 / Math.log2(11), 12);
    expect(ndcg10(others, new Set([...others, ...ids("a", "b")]))).toBe(1);
  });
});

test("sums are kept by mode: of cases with memories, and of those where nothing should be found", () => {
  const a = new Set(ids("a"));
  let sums = withOutcome([], "fast", a, { found: ids("a"), isAnswerable: false });
  sums = withOutcome(sums, "fast", a, { found: ids("x", "a"), isAnswerable: true });
  sums = withOutcome(sums, "fast", null, { found: ids("x"), isAnswerable: false });
  sums = withOutcome(sums, "precise", null, { found: ids("x"), isAnswerable: true });
  sums = withOutcome(sums, "fast", null, { found: [], isAnswerable: true });
  expect(sums).toContainEqual({
    ...{ mode: "fast", findable: 2, unfindable: 2, first: 1, refused: 1 },
    ndcg10: 1 + 1 / Math.log2(3),
  });
  expect(sums).toContainEqual({ mode: "precise", findable: 0, unfindable: 1, first: 0, refused: 0, ndcg10: 0 });
  expect(sums).toHaveLength(2);
});
