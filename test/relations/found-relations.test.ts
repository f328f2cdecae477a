// Relations that a server finds by itself after memories were completed, and what searches and answers make of them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

const OLDER = "The workshop is in room 114.";
const NEWER = "The workshop was moved to room 220.";
const stored = async (content: string, more: object = {}): Promise<string> =>
  (await mneme.store({ content, ...more })).body.id;
const read = async (id: string) => (await mneme.call("GET", `/v1/memories/${id}`)).body;
const allLookedFor = () =>
  until("no relation is waiting", async () => {
    const response = await mneme.service.handle(new Request("http://mneme.test/metrics"));
    return /^mneme_relations_waiting 0$/m.test(await response.text());
  });

test("a correction supersedes what was said before, whichever session it comes in, and the answer uses it", async () => {
  const userId = "ada";
  const older = await stored(OLDER, { userId, sessionId: "monday" });
  const newer = await stored(NEWER, { userId, sessionId: "tuesday" });
  await until("the correction is found", async () => (await read(older)).superseded_by === newer);
  expect((await read(newer)).relations).toMatchObject([
    {
      ...{ type: "supersedes", memory_id: older, state: "active", by: "rule" },
      evidence: {
        own: { start: 0, end: NEWER.length, text: NEWER },
        other: { start: 0, end: OLDER.length, text: OLDER },
      },
    },
  ]);
  const query = "Where is the workshop?";
  const { results } = (await mneme.call("POST", "/v1/memories/search", { query, userId })).body;
  expect(results[0].memory_id).toBe(newer);
  const { answer } = (await mneme.call("POST", "/v1/memories/query", { query, userId })).body;
  expect(answer).toContain("220");
  expect(answer).not.toContain("114");
  const past = "In which room was the workshop before?";
  expect((await mneme.call("POST", "/v1/memories/query", { query: past, userId })).body.answer).toContain("114");
});

test("a memory that happened earlier supersedes nothing, although it was stored later", async () => {
  const userId = "ben";
  const newer = await stored(NEWER, { userId, occurred_at: "2026-03-02T10:05:00Z" });
  const older = await stored(OLDER, { userId, occurred_at: "2026-03-02T10:00:00Z" });
  await until("the correction is found", async () => (await read(older)).superseded_by === newer);
  const before = { query: "Where is the workshop?", userId, explain: true, asOf: "2026-03-02T10:04:00Z" };
  const { results } = (await mneme.call("POST", "/v1/memories/search", before)).body;
  for (const { explain } of results) expect(explain.superseded_by).toBeUndefined();
});

test("nothing is found between users or agents, and nothing at all while the setting is off", async () => {
  const ids = [
    await stored(OLDER, { userId: "cleo" }),
    await stored(OLDER, { userId: "dan", agentId: "smith" }),
    await stored(NEWER, { userId: "dan" }),
  ];
  await mneme.call("PUT", "/v1/project", { superseding: "off" });
  ids.push(await stored(OLDER, { userId: "eve" }), await stored(NEWER, { userId: "eve" }));
  await allLookedFor();
  for (const id of ids) expect((await read(id)).relations).toEqual([]);
  await mneme.call("PUT", "/v1/project", { superseding: "on" });
  await until("it is found when the setting is on", async () => (await read(ids[3] ?? "")).superseded_by === ids[4]);
});
