// POST /v1/memories/{id}/retry: only failed memories are processed again.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { markFailed, startWithoutModels } from "../support/unfinished.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
});
afterAll(() => mneme.stop());

const retry = (id: string, headers?: Record<string, string>) =>
  mneme.call("POST", `/v1/memories/${id}/retry`, undefined, headers);

/** Creates a memory, marks it as failed, and returns its id. */
async function failed(body: object): Promise<string> {
  const { id } = (await mneme.call("POST", "/v1/memories", body)).body;
  await markFailed(mneme, id);
  return id;
}

describe("202", () => {
  test("the memory is processing again, without its error, and then completed and found", async () => {
    const given = { content: "The pump runs at night.", title: "Pump", tags: ["cellar"], userId: "ada" };
    const id = await failed(given);
    const { status, body } = await retry(id);
    expect(status).toBe(202);
    expect(body).toMatchObject({ ...given, id, status: "processing", progress: expect.any(Object) });
    expect(body).not.toHaveProperty("error");
    const settled = (await mneme.settled(id)).body;
    expect(settled).toMatchObject({ ...given, status: "completed", chunk_count: 1 });
    expect(settled).not.toHaveProperty("error");
    const found = await mneme.call("POST", "/v1/memories/search", { query: "when does the pump run", userId: "ada" });
    expect(found.body.results.map((result: { memory_id: string }) => result.memory_id)).toEqual([id]);
  });

  test("as often as it fails", async () => {
    const id = await failed({ content: "Fails three times." });
    for (let round = 0; round < 3; round++) {
      expect((await retry(id)).status).toBe(202);
      await markFailed(mneme, id, `for the ${round + 2}. time`);
    }
    expect((await mneme.call("GET", `/v1/memories/${id}`)).body.error.message).toBe("for the 4. time");
  });
});

describe("409: any other status", () => {
  test("a completed memory, also after a retry", async () => {
    const { body } = await mneme.store({ content: "Done." });
    expectFault(await retry(body.id), 409, "invalid_state");
    const id = await failed({ content: "Failed, then done." });
    await retry(id);
    await mneme.settled(id);
    expectFault(await retry(id), 409, "invalid_state");
    expect((await mneme.call("GET", `/v1/memories/${id}`)).body.status).toBe("completed");
  });

  test("a processing memory: of two parallel retries one is accepted", async () => {
    const bare = await startWithoutModels();
    try {
      const { id } = (await bare.call("POST", "/v1/memories", { content: "Waits." })).body;
      const again = () => bare.call("POST", `/v1/memories/${id}/retry`);
      expectFault(await again(), 409, "invalid_state");
      await markFailed(bare, id);
      const answers = await Promise.all([again(), again(), again()]);
      expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
    } finally {
      await bare.stop();
    }
  });
});

test("404: an unknown, a deleted, an expired and another project's memory", async () => {
  const deleted = await failed({ content: "Deleted." });
  await mneme.call("DELETE", `/v1/memories/${deleted}`);
  const expired = await failed({ content: "Expired.", expires_at: new Date(clock.now() + 60_000).toISOString() });
  clock.advance(60_000);
  for (const id of [deleted, expired, "mem_00000000000000000000000000", "x"]) {
    expectFault(await retry(id), 404, "memory_not_found", "id");
  }
  const ours = await failed({ content: "Ours." });
  const authorization = `Bearer ${mneme.addKey(["*"], "prj_another")}`;
  expectFault(await retry(ours, { authorization }), 404, "memory_not_found", "id");
});

describe("POST /v1/memories/retry", () => {
  const retryAll = (body?: object, key?: string) =>
    mneme.call("POST", "/v1/memories/retry", body, key === undefined ? {} : { authorization: `Bearer ${key}` });
  const statusOf = async (id: string, headers = {}) =>
    (await mneme.call("GET", `/v1/memories/${id}`, undefined, headers)).body.status;

  test("202: all failed memories, or those of a user; a confined key reaches its user's only", async () => {
    await retryAll();
    const of = (userId: string) => failed({ content: `Failed, of ${userId}.`, userId });
    const ids = [await of("grace"), await of("alan"), await failed({ content: "Of nobody." })];
    const done = (await mneme.store({ content: "Done before." })).body.id;
    const { key } = (await mneme.call("POST", "/v1/keys", { name: "alan", scopes: ["*"], userId: "alan" })).body;
    expectFault(await retryAll({ userId: "grace" }, key), 403, "insufficient_scope", "userId");
    const first = await retryAll(undefined, key);
    expect([first.status, first.body]).toEqual([202, { retried: 1 }]);
    expect((await retryAll({ userId: "alan" })).body).toEqual({ retried: 0 });
    expect((await retryAll({ userId: "nobody" })).body).toEqual({ retried: 0 });
    expect((await retryAll({ userId: null })).body).toEqual({ retried: 2 });
    for (const id of ids) expect((await mneme.settled(id)).body.status).toBe("completed");
    expect(await statusOf(done)).toBe("completed");
    expect((await retryAll({})).body).toEqual({ retried: 0 });
  });

  test("another project's, deleted and expired memories stay; a repeated request has the same answer", async () => {
    const headers = { authorization: `Bearer ${mneme.addKey(["*"], "prj_retrying")}` };
    const deleted = await failed({ content: "Deleted." });
    await mneme.call("DELETE", `/v1/memories/${deleted}`);
    await failed({ content: "Expired.", expires_at: new Date(clock.now() + 60_000).toISOString() });
    clock.advance(60_000);
    const ours = await failed({ content: "Ours." });
    expect((await mneme.call("POST", "/v1/memories/retry", {}, headers)).body).toEqual({ retried: 0 });
    expect(await statusOf(ours)).toBe("failed");
    const keyed = () => mneme.call("POST", "/v1/memories/retry", {}, { "idempotency-key": "all-again" });
    expect([(await keyed()).body, (await keyed()).body]).toEqual([{ retried: 1 }, { retried: 1 }]);
  });
});

test("400: query parameters are refused", async () => {
  const answer = await mneme.call("POST", "/v1/memories/mem_00000000000000000000000000/retry?force=true");
  expectFault(answer, 400, "invalid_request", "force");
});

test("401 without a key, 403 for a key that cannot write; the memory stays failed", async () => {
  const id = await failed({ content: "Stays failed." });
  const unkeyed = new Request(`http://mneme.test/v1/memories/${id}/retry`, { method: "POST" });
  expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:read", "query"])}`;
  expectFault(await retry(id, { authorization }), 403, "insufficient_scope");
  expect((await mneme.call("GET", `/v1/memories/${id}`)).body.status).toBe("failed");
});
