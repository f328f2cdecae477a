// Quality floors of the modes: at the limit and beyond it.

import { describe, expect, test } from "bun:test";
import type { Baseline } from "../../bench/lib/baselines.ts";
import { floorsOf, moreWorkFloors } from "../../bench/lib/floors.ts";
import type { Scores } from "../../bench/lib/scores.ts";

// A hundred questions with the same score.
function scores(mean: number): Scores {
  return { ndcg: new Array<number>(100).fill(mean), mean, interval: { low: mean, high: mean }, recalls: {} };
}

function floors(modes: Readonly<Record<string, number>>, baselines: Partial<Readonly<Record<Baseline, number>>> = {}) {
  return floorsOf({
    set: "scifact",
    modes: new Map(Object.entries(modes).map(([name, mean]) => [name, scores(mean)])),
    baselines: new Map(Object.entries(baselines).map(([name, mean]) => [name as Baseline, scores(mean)])),
  });
}

describe("floors", () => {
  test("precise is compared with the best baseline", () => {
    const [floor] = floors({ precise: 0.711 }, { "BM25 alone": 0.68, "vectors alone": 0.66, "equal RRF": 0.715 });
    expect(floor).toEqual({
      holds: true,
      sentence: "precise on scifact is .004 below equal RRF (-.004 to -.004)",
    });
  });
  test("more than .005 below breaks the floor", () => {
    const [floor] = floors({ precise: 0.7 }, { "BM25 alone": 0.708, "equal RRF": 0.5 });
    expect(floor?.holds).toBe(false);
    expect(floor?.sentence).toBe(
      "precise on scifact is .008 below BM25 alone (-.008 to -.008): more than the allowed .005",
    );
  });
  test.each([
    ["hybrid", "fast"],
    ["balanced", "hybrid"],
    ["precise", "fast"],
  ])("%s must not rank worse than %s, which does less", (dearer, cheaper) => {
    expect(floors({ [cheaper]: 0.6, [dearer]: 0.596 })).toEqual([
      {
        holds: false,
        sentence: `${dearer} on scifact is .004 below ${cheaper} (-.004 to -.004): more than the allowed .003`,
      },
    ]);
    expect(floors({ [cheaper]: 0.6, [dearer]: 0.598 })[0]?.holds).toBe(true);
    expect(floors({ [cheaper]: 0.6, [dearer]: 0.6 })).toEqual([
      { holds: true, sentence: `${dearer} on scifact is level with ${cheaper} (+.000 to +.000)` },
    ]);
  });
  test("a difference that chance explains breaks no floor", () => {
    const cheaper = Array.from({ length: 40 }, (_, at) => at % 2);
    const dearer = cheaper.map((value, at) => (at > 0 && at < 22 ? 1 - value : value));
    const [floor] = moreWorkFloors(
      "few",
      new Map([
        ["fast", cheaper],
        ["hybrid", dearer],
      ]),
    );
    expect(floor).toMatchObject({ holds: true, sentence: expect.stringContaining("below fast") });
  });
  test("modes that were not measured have no floor", () => {
    expect(floors({ precise: 0.7 })).toEqual([]);
    expect(floors({ balanced: 0.7 }, { "equal RRF": 0.1 })).toEqual([]);
  });
});
