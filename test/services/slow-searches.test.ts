// The log of slow searches: which are logged, with what, and how many at most.

import { beforeEach, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Ranking } from "../../src/domain/ranking.ts";
import type { Log } from "../../src/kit/log.ts";
import { type LoggedSearch, SlowSearches } from "../../src/services/slow-searches.ts";
import { ManualClock } from "../contract/manual-clock.ts";

const PROJECT = "prj_a" as ProjectId;
const REQUESTED: LoggedSearch = {
  ...{ query: "Where is the secret vault?", limit: 10, includeGraph: true, userId: "ada" },
  filter: { kind: "and", filters: [] },
};
const RANKING: Ranking = {
  ...{
    mode: "precise",
    results: [],
    admissible: 1_000,
    asOf: 0,
    time: null,
    degraded: null,
    evidence: null,
    evidenceMin: 0.1,
    relevantMin: 0.1,
  },
  calibration: "shipped",
  stages: [
    { name: "embed", ms: 12.345, candidates: 1 },
    { name: "rerank", ms: 900, candidates: 20 },
  ],
};

const lines: Record<string, unknown>[] = [];
const log = { warn: (fields: Record<string, unknown>) => void lines.push(fields) } as unknown as Log;
const clock = new ManualClock();
beforeEach(() => {
  lines.length = 0;
});

test("logs a search from the threshold on, with its stages and without its words", () => {
  const slow = new SlowSearches({ fromMs: 1_000, log, clock });
  slow.note(PROJECT, REQUESTED, RANKING, 999.9);
  expect(lines).toEqual([]);
  slow.note(PROJECT, REQUESTED, RANKING, 1_000);
  expect(lines).toEqual([
    {
      ...{ projectId: PROJECT, mode: "precise", ms: 1_000, limit: 10, results: 0, admissible: 1_000 },
      ...{ stages: { embed: 12.3, rerank: 900 }, candidates: { embed: 1, rerank: 20 } },
      ...{ queryCharacters: 26, isFiltered: true, scope: 1, includeGraph: true },
    },
  ]);
  expect(JSON.stringify(lines)).not.toContain("vault");
  expect(JSON.stringify(lines)).not.toContain("ada");
});

test("logs nothing if it is off", () => {
  new SlowSearches({ fromMs: Number.POSITIVE_INFINITY, log, clock }).note(PROJECT, REQUESTED, RANKING, 1e9);
  expect(lines).toEqual([]);
});

test("writes at most 30 lines in a minute, and says how many it left out", () => {
  const slow = new SlowSearches({ fromMs: 1, log, clock });
  for (let at = 0; at < 45; at++) slow.note(PROJECT, REQUESTED, RANKING, 10);
  expect(lines).toHaveLength(30);
  clock.advance(60_000);
  slow.note(PROJECT, REQUESTED, RANKING, 10);
  slow.note(PROJECT, REQUESTED, RANKING, 10);
  expect(lines.slice(30).map(({ skippedLines }) => skippedLines)).toEqual([15, undefined]);
});
