// Scores of rankings, and their formatting.

import { describe, expect, test } from "bun:test";
import { scoreColumns, scoresOf, shortFigure, signed } from "../../bench/lib/scores.ts";

const query = (id: string, ...relevant: string[]) => ({
  id,
  text: id,
  userId: null,
  judgements: new Map(relevant.map((document) => [document, 1])),
});

describe("scores of rankings", () => {
  const queries = [query("first", "a", "b"), query("second", "c")];

  test("are means over the questions, each with its own ranking", () => {
    const columns = scoreColumns(scoresOf(queries, [["a", "x", "b"], ["y"]]));
    // The mean of (1 + 1/2) / (1 + 1/log2(3)) and 0.
    expect(columns["nDCG@10"]).toBeCloseTo(0.4599, 4);
    expect(columns["R@2"]).toBe(0.25);
    expect(columns["R@5"]).toBe(0.5);
    expect(columns.low).toBe(0);
    expect(columns.high).toBeCloseTo(0.9197, 4);
  });
  test("count a question without a ranking as 0", () => {
    expect(scoresOf(queries, [["a", "b"]]).ndcg).toEqual([1, 0]);
  });
});

test("figures have no leading zero, and differences have a sign", () => {
  expect([0.7314, -0.0042, 1, 0].map((value) => shortFigure(value))).toEqual([".731", "-.004", "1.000", ".000"]);
  expect([0.0123, -0.5, 0].map((value) => signed(value))).toEqual(["+.012", "-.500", "+.000"]);
});
