// The monthly query quota, when queries begin and end while the store reads the number of queries.

import { expect, test } from "bun:test";
import { QueryQuota } from "../../src/account/query-quota.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { monthOf, PLANS } from "../../src/domain/project.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { Delays } from "../in-memory/delays.ts";

const PROJECT = "prj_00000000000000000000000001" as ProjectId;
const LIMIT = PLANS.free.queriesPerMonth;
const NO_TOKENS = { prompt: 0, completion: 0 };

/** Creates a quota on a store that waits for random times before and after it reads the number of queries. */
function openQuota(used: number, seed: number) {
  const clock = new ManualClock();
  const delays = new Delays(seed);
  let queries = used;
  const usage = async () => {
    await delays.next();
    const seen = queries;
    await delays.next();
    const period = monthOf(clock.now());
    return { plan: "free" as const, period, queries: seen, documents: 0, storageBytes: 0, tokens: NO_TOKENS };
  };
  const accounts = {
    countQuery: async () => {
      await delays.next();
      queries += 1;
    },
  } as unknown as Parameters<Awaited<ReturnType<QueryQuota["reserve"]>>["count"]>[0]["accounts"];
  return { quota: new QueryQuota({ usage }, clock), accounts, delays, queries: () => queries };
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(`is never exceeded by queries that end while the usage is read (seed ${seed})`, async () => {
    const { quota, accounts, delays, queries } = openQuota(LIMIT - 20, seed);
    const ask = async () => {
      const reservation = await quota.reserve(PROJECT);
      try {
        await delays.next();
        await reservation.count({ accounts }, NO_TOKENS);
      } finally {
        reservation.release();
      }
    };
    const outcomes = await Promise.allSettled(Array.from({ length: 60 }, ask));
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect((outcome.reason as Fault).code).toBe("query_quota_exceeded");
    }
    expect(queries()).toBeLessThanOrEqual(LIMIT);
    expect(queries()).toBe(LIMIT - 20 + outcomes.filter(({ status }) => status === "fulfilled").length);
  });
}

test("a query that fails ends its reservation", async () => {
  const { quota } = openQuota(LIMIT - 1, 1);
  const reservation = await quota.reserve(PROJECT);
  expect(await quota.reserve(PROJECT).catch((error: unknown) => error)).toBeInstanceOf(Fault);
  reservation.release();
  reservation.release();
  (await quota.reserve(PROJECT)).release();
});
