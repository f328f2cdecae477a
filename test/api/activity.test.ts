// GET /v1/project/activity: what is counted, steps and ranges, and who may read it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { createTenant, type Tenant } from "../support/tenant.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const HOUR_MS = 3_600_000;

const clock = new SettableClock();
let mneme: TestService;
let tenant: Tenant;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
  tenant = await createTenant(mneme, "enterprise");
});
afterAll(() => mneme.stop());

const read = (query = "", of = tenant) => of.call("GET", `/v1/project/activity${query}`);
const EMPTY = {
  ...{ stored: 0, deleted: 0, failed: 0, queue: 0, answered: 0, partial: 0, not_found: 0 },
  ...{ searches: {}, p50_ms: {}, p95_ms: {} },
};

describe("200", () => {
  test("a new project has 24 empty hours, the last of which is in progress", async () => {
    const { status, body } = await read("", await createTenant(mneme, "free"));
    expect([status, body.step, body.data.length]).toEqual([200, "hour", 24]);
    const last = Math.floor(clock.now() / HOUR_MS) * HOUR_MS;
    for (const [at, point] of body.data.entries()) {
      expect(point).toEqual({ ...EMPTY, at: new Date(last - (23 - at) * HOUR_MS).toISOString() });
    }
  });

  test("counts memories, answers by state and searches by mode", async () => {
    const add = await tenant.call("POST", "/v1/memories", { content: "The spare key hangs in the blue pot." });
    const path = `/v1/memories/${add.body.id}`;
    await until("it is completed", async () => (await tenant.call("GET", path)).body.status === "completed");
    const query = "Where does the spare key hang?";
    for (let n = 0; n < 3; n++) await tenant.call("POST", "/v1/memories/search", { query, mode: "fast" });
    await tenant.call("GET", "/v1/memories/search?query=key&mode=hybrid");
    expect((await tenant.call("POST", "/v1/memories/search", { query: " " })).status).toBe(400);
    const states: string[] = [];
    for (const asked of [query, "What is the password of the router in Lisbon?"]) {
      states.push((await tenant.call("POST", "/v1/memories/query", { query: asked })).body.answer_state);
    }
    await tenant.call("DELETE", path);
    for (const step of ["hour", "day"]) {
      const last = (await read(`?step=${step}`)).body.data.at(-1);
      const times = (mode: string) => [last.p50_ms[mode], last.p95_ms[mode]];
      expect(last).toMatchObject({ stored: 1, deleted: 1, failed: 0, searches: { fast: 3, hybrid: 1 } });
      expect(last.queue).toBeWithin(0, 2); // it is looked at once a minute: perhaps while the memory was waiting
      for (const state of ["answered", "partial", "not_found"]) {
        expect(last[state]).toBe(states.filter((each) => each === state).length);
      }
      for (const mode of ["fast", "hybrid"]) {
        const [p50, p95] = times(mode);
        expect(p50).toBeGreaterThan(0);
        expect(p95).toBeGreaterThanOrEqual(p50);
      }
      expect(Object.keys(last.p50_ms).sort()).toEqual(["fast", "hybrid"]);
    }
  });

  test("lists all steps of a range, the ends rounded to steps", async () => {
    const hours = await read("?from=2026-03-01T10:30:00Z&to=2026-03-01T13:00:00Z");
    expect(hours.body.data.map(({ at }: { at: string }) => at.slice(11, 13))).toEqual(["10", "11", "12"]);
    const days = await read("?step=day&from=2026-02-27&to=2026-03-01T00:00:01Z");
    expect(days.body.data.map(({ at }: { at: string }) => at.slice(5, 10))).toEqual(["02-27", "02-28", "03-01"]);
    expect((await read("?step=day&from=2024-01-01&to=2026-09-27")).body.data).toHaveLength(1_000);
  });
});

test("400: too many steps, an empty range, and what is no time", async () => {
  const refused = [
    ["?step=day&from=2024-01-01&to=2026-09-28", "from"],
    ["?from=2026-01-01&to=2026-03-01", "from"],
    ["?from=0001-01-01", "from"],
    ["?from=2026-03-01&to=2026-03-01", "from"],
    ["?from=2026-03-02&to=2026-03-01", "from"],
    ["?from=9000-01-01", "from"],
    ["?from=yesterday", "from"],
    ["?to=", "to"],
    ["?step=week", "step"],
    ["?limit=5", "limit"],
  ] as const;
  for (const [query, param] of refused) expectFault(await read(query), 400, "invalid_request", param);
});

test("403 without the scope, and for a confined key", async () => {
  const withKey = (key: string) =>
    mneme.call("GET", "/v1/project/activity", undefined, { authorization: `Bearer ${key}` });
  expectFault(await withKey(mneme.addKey(["memories:read", "project"])), 403, "insufficient_scope");
  const confined = { name: "ada", scopes: ["*"], userId: "ada" };
  expectFault(await withKey((await mneme.call("POST", "/v1/keys", confined)).body.key), 403, "insufficient_scope");
});
