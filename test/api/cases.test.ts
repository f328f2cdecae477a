// Cases and runs: what they take and refuse, what a run measures, and that it goes on after a restart. Their store is
// tested in test/stores, who may call them in authorisation.test.ts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LIMITS } from "../../src/domain/limits.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const ROOM = "The workshop on lace making is in room 114 of the old mill.";
const QUESTION = "In which room is the workshop on lace making?";

const dataDir = mkdtempSync(join(tmpdir(), "mneme-cases-"));
let mneme: TestService;
let room: string;
let adas: string;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, dataDir });
  room = (await mneme.store({ content: ROOM })).body.id;
  adas = (await mneme.store({ content: "Ada's bicycle is locked behind the bakery.", userId: "ada" })).body.id;
  await mneme.store({ content: "Bread is baked at 220 degrees.", userId: "ben" });
});
afterAll(async () => {
  await mneme.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const add = (body: object) => mneme.call("POST", "/v1/cases", body);
const run = async (body: object) => {
  const { status, body: begun } = await mneme.call("POST", "/v1/cases/runs", body);
  expect(status).toBe(202);
  return ended(begun.id);
};
const ended = (id: string) =>
  until("the run has ended", async () => {
    const { body } = await mneme.call("GET", `/v1/cases/runs/${id}`);
    return body.status === "processing" ? null : body;
  });

test("a run without cases is complete, and its shares are null", async () => {
  expect(await run({ modes: ["hybrid"] })).toMatchObject({
    ...{ status: "completed", done: 0, total: 0 },
    results: [{ mode: "hybrid", cases: 0, ndcg10: null, right_first: null, refused_right: null }],
  });
});

test("a run keeps the models and settings with which it began", async () => {
  const before = await run({ modes: ["fast"] });
  const { body: project } = await mneme.call("GET", "/v1/project");
  const { body: models } = await mneme.call("GET", "/v1/project/embedder");
  const { default_mode, min_evidence, superseding } = project;
  expect(before.setup).toEqual({
    ...{ embedder: models.model, reranker: null, default_mode, min_evidence, superseding },
  });
  await mneme.call("PUT", "/v1/project", { min_evidence: 0.5, superseding: "off", default_mode: "fast" });
  const after = await run({ modes: ["fast"] });
  expect(after.setup).toEqual({ ...before.setup, min_evidence: 0.5, superseding: "off", default_mode: "fast" });
  const listed = (await mneme.call("GET", "/v1/cases/runs?limit=2")).body.data;
  expect(listed.map(({ setup }: { setup: object }) => setup)).toEqual([after.setup, before.setup]);
  await mneme.call("PUT", "/v1/project", { min_evidence: null, superseding, default_mode });
});

test("a case is refused if it cannot be right, and the message names the field", async () => {
  const expected = { not_found: true };
  expectFault(await add({ query: "  ", expected }), 400, "invalid_request", "query");
  expectFault(await add({ query: "x".repeat(LIMITS.queryCharacters + 1), expected }), 400, "invalid_request", "query");
  expectFault(await add({ query: QUESTION }), 400, "invalid_request", "expected");
  for (const wrong of [{}, { memory_ids: [room], not_found: true }]) {
    expectFault(await add({ query: QUESTION, expected: wrong }), 400, "invalid_request", "expected");
  }
  for (const memory_ids of [[], [room, room], Array.from({ length: LIMITS.memoriesPerCase + 1 }, (_, at) => `${at}`)]) {
    const answer = await add({ query: QUESTION, expected: { memory_ids } });
    expectFault(answer, 400, "invalid_request", "expected.memory_ids");
  }
  expectFault(await add({ query: QUESTION, expected, mode: "best" }), 400, "invalid_request", "mode");
  expectFault(await add({ query: QUESTION, expected, userId: ".." }), 400, "invalid_request", "userId");
  const second = "expected.memory_ids[1]";
  for (const unknown of ["mem_00000000000000000000000000", "mem_x", adas]) {
    const answer = await add({ query: QUESTION, userId: "ben", expected: { memory_ids: [unknown] } });
    expectFault(answer, 404, "memory_not_found", "expected.memory_ids[0]");
  }
  const mixed = await add({ query: QUESTION, expected: { memory_ids: [room, "mem_00000000000000000000000000"] } });
  expectFault(mixed, 404, "memory_not_found", second);
  expectFault(await mneme.call("POST", "/v1/cases/runs", { modes: [] }), 400, "invalid_request", "modes");
  expectFault(await mneme.call("POST", "/v1/cases/runs", { modes: ["x"] }), 400, "invalid_request", "modes[0]");
  expectFault(await mneme.call("DELETE", "/v1/cases/nothing"), 404, "case_not_found", "id");
  expectFault(await mneme.call("GET", "/v1/cases/runs/nothing"), 404, "run_not_found", "id");
  expect((await mneme.call("GET", "/v1/cases")).body.data).toEqual([]);
});

test("a run measures all cases in all modes, and costs no query and no activity", async () => {
  const usage = async () => (await mneme.call("GET", "/v1/usage")).body;
  const activity = async () => {
    const steps: { answered: number; not_found: number; searches: Record<string, number> }[] = (
      await mneme.call("GET", "/v1/project/activity")
    ).body.data;
    return steps.map(({ answered, not_found, searches }) => [answered, not_found, searches]);
  };
  const [used, seen] = [await usage(), await activity()];
  const made = await add({ query: QUESTION, expected: { memory_ids: [room] } });
  expect(made.status).toBe(201);
  expect(made.body).toEqual({
    ...{ id: expect.stringMatching(/^case_/), query: QUESTION, userId: null, mode: null },
    ...{ expected: { memory_ids: [room] }, created_at: expect.any(String) },
  });
  // right for ada, but the best result is another memory
  await add({ query: "Where is the bicycle locked?", userId: "ada", expected: { memory_ids: [adas] } });
  await add({ query: QUESTION, expected: { memory_ids: [adas] } });
  await add({ query: "What is the capital of Mongolia?", expected: { not_found: true } });
  await add({ query: QUESTION, expected: { not_found: true }, mode: "fast" });
  expect((await mneme.call("GET", "/v1/cases?limit=1")).body).toMatchObject({
    ...{ data: [{ mode: "fast", expected: { not_found: true } }], has_more: true },
  });
  const { results, ...figures } = await run({ modes: MODE_NAMES });
  expect(figures).toMatchObject({ status: "completed", done: 20, skipped: 0, total: 20, modes: [...MODE_NAMES] });
  expect(results.map(({ mode }: { mode: string }) => mode)).toEqual([...MODE_NAMES]);
  for (const result of results) {
    expect(result).toMatchObject({ cases: 5, right_first: 2 / 3, refused_right: 0.5 });
    expect(result.ndcg10).toBeGreaterThanOrEqual(2 / 3);
    expect(result.ndcg10).toBeLessThan(1);
  }
  const own = await run({});
  expect(own).toMatchObject({ modes: null, done: 5, total: 5 });
  const counts = own.results.map((result: { mode: string; cases: number }) => [result.mode, result.cases]);
  expect(counts).toEqual([
    ["balanced", 4],
    ["fast", 1],
  ]);
  expect(await usage()).toEqual(used);
  const nothing = [0, 0, {}];
  expect([...seen, ...(await activity())].every((step) => Bun.deepEquals(step, nothing))).toBe(true);
  const { body } = await mneme.call("GET", "/v1/cases/runs?limit=2");
  expect(body.data.map(({ id }: { id: string }) => id)).toEqual([own.id, figures.id]);
});

test("a case whose memories were all deleted is skipped", async () => {
  const { body } = await mneme.store({ content: "The ferry leaves from pier nine." });
  const made = await add({ query: "From where does the ferry leave?", expected: { memory_ids: [body.id] } });
  await mneme.call("DELETE", `/v1/memories/${body.id}`);
  const figures = await run({ modes: ["fast"] });
  expect(figures).toMatchObject({ done: 6, skipped: 1, total: 6, results: [{ mode: "fast", cases: 5 }] });
  expect((await mneme.call("DELETE", `/v1/cases/${made.body.id}`)).status).toBe(204);
});

test("the cases of a user go when the user is deleted with all data", async () => {
  await mneme.call("POST", "/v1/users", { id: "cy" });
  await add({ query: QUESTION, userId: "cy", expected: { not_found: true } });
  expect((await mneme.call("DELETE", "/v1/users/cy?cascade=true")).status).toBe(204);
  const { body } = await mneme.call("GET", "/v1/cases?limit=100");
  expect(body.data.filter(({ userId }: { userId: string | null }) => userId === "cy")).toEqual([]);
  expect(body.data).toHaveLength(5);
});

test("a run goes on after a restart, and counts each case once", async () => {
  const { body } = await mneme.call("POST", "/v1/cases/runs", { modes: MODE_NAMES });
  await mneme.service.close();
  mneme = await startService({ countsWords: true, dataDir });
  expect(await ended(body.id)).toMatchObject({ status: "completed", done: 20, total: 20, results: { length: 4 } });
});
