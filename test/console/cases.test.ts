// How the console judges a run over all cases by an earlier one.

import { describe, expect, test } from "bun:test";
import type { CaseResult, CaseRun } from "../../src/console/browser/core/calls.ts";
import { differencesOf, judged } from "../../src/console/browser/views/cases/differences.ts";

const figures = (mode: string, ndcg10: number | null, right_first: number | null, refused_right: number | null) =>
  ({ mode, cases: 4, ndcg10, right_first, refused_right }) as CaseResult;
const run = (...results: CaseResult[]) => ({ results }) as unknown as CaseRun;

const BEFORE = run(figures("hybrid", 0.8, 0.5, 1), figures("fast", 0.7, 0.5, null));

describe("a run over all cases", () => {
  test.each([
    ["first", undefined],
    ["apart", run(figures("precise", 0.8, 0.5, 1))],
    ["same", run(figures("hybrid", 0.8002, 0.5, 1))],
    ["better", run(figures("hybrid", 0.8, 0.25, 1))],
    ["worse", run(figures("hybrid", 0.9, 0.5, 1))],
    ["mixed", run(figures("hybrid", 0.9, 0.25, 1))],
    ["same", run(figures("hybrid", null, null, null))],
  ] as const)("is %s where the figures of the modes that both have say so", (judgement, before) => {
    expect(judged(run(figures("hybrid", 0.8, 0.5, 1)), before)).toBe(judgement);
  });

  test("differs in the figures that both runs have, by mode", () => {
    const latest = run(figures("hybrid", 0.9, 0.5, 0.5), figures("precise", 1, 1, 1), figures("fast", 0.7, 0.5, 1));
    const found = differencesOf(latest, BEFORE).map(({ mode, name, by }) => [mode, name, Math.round(by * 100)]);
    expect(found).toEqual([
      ["hybrid", "ndcg10", 10],
      ["hybrid", "refused_right", -50],
    ]);
  });
});
