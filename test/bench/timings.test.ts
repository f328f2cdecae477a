// Summary of stage times: in the order of the stages, including the time that belongs to no stage.

import { expect, test } from "bun:test";
import type { SearchReply } from "../../bench/lib/ask.ts";
import { Timings } from "../../bench/lib/timings.ts";

function asked(wholeMs: number, stages: Readonly<Record<string, number>>): SearchReply {
  return {
    passages: [],
    documents: [],
    wholeMs,
    stages: Object.entries(stages).map(([name, ms]) => ({ name, ms, candidates: 1 })),
    admissible: 1,
  };
}

test("lists the caller's time first, then the stages in order, and the rest last", () => {
  const timings = new Timings();
  timings.add(asked(10, { vector: 2, embed: 4 }));
  timings.add(asked(30, { vector: 6, embed: 4, rerank: 12 }));
  expect(timings.summary()).toEqual([
    { stage: "whole", p50Ms: 10, p95Ms: 30, share: 1 },
    { stage: "embed", p50Ms: 4, p95Ms: 4, share: 0.2 },
    { stage: "vector", p50Ms: 2, p95Ms: 6, share: 0.2 },
    { stage: "rerank", p50Ms: 12, p95Ms: 12, share: 0.3 },
    { stage: "rest", p50Ms: 4, p95Ms: 8, share: 0.3 },
  ]);
});

test("is empty without searches", () => expect(new Timings().summary()).toEqual([]));
