// DELETE /v1/memories by conditions, and GET /v1/jobs/{id}: what is deleted, what is counted and what is refused.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import type { Json } from "../../src/domain/json.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import { anyFilter, Chance, SCALARS } from "../support/any-filter.ts";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_123);
const ABSENT = "job_00000000000000000000000000";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
});
afterAll(() => mneme.stop());

type Headers = Record<string, string>;
const remove = (body?: unknown, headers?: Headers) => mneme.call("DELETE", "/v1/memories", body, headers);
const job = (id: string, headers?: Headers) => mneme.call("GET", `/v1/jobs/${id}`, undefined, headers);
const add = async (memories: readonly object[], headers?: Headers): Promise<readonly string[]> => {
  const ids: string[] = [];
  for (let first = 0; first < memories.length; first += 100) {
    const batch = {
      memories: memories.slice(first, first + 100).map((memory) => ({ title: "t", tags: [], ...memory })),
    };
    const { body } = await mneme.call("POST", "/v1/memories/batch", batch, headers);
    ids.push(...body.data.map(({ memory }: { memory: { id: string } }) => memory.id));
  }
  return ids;
};
const left = async (query = ""): Promise<readonly string[]> => {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const { body }: { body: { data: { id: string }[]; cursor: string | null } } = await mneme.call(
      "GET",
      `/v1/memories?limit=100${query}${cursor === null ? "" : `&cursor=${cursor}`}`,
    );
    ids.push(...body.data.map(({ id }) => id));
    cursor = body.cursor;
  } while (cursor !== null);
  return ids.sort();
};
const ended = async (id: string, headers?: Headers) => {
  await until(`${id} has ended`, async () => (await job(id, headers)).body.status !== "processing");
  return (await job(id, headers)).body;
};

describe("what matches", () => {
  beforeEach(async () => {
    for (const userId of ["ada", "bob"]) await remove({ userId });
  });

  test("is counted by a dry run, then deleted: by user, agent, session, filters, all together, in any status", async () => {
    const memories = [
      { content: "one", userId: "ada", agentId: "a", sessionId: "s", tags: ["x"], metadata: { n: 1 } },
      { content: "two", userId: "ada", agentId: "a", tags: ["x", "y"], metadata: { n: 2 } },
      { content: "three", userId: "ada", agentId: "b", sessionId: "s", type: "note" },
      { content: "four", userId: "bob", agentId: "a", sessionId: "s", tags: ["x"], metadata: { n: 1 } },
    ];
    const cases: [conditions: object, matching: readonly number[]][] = [
      [{ userId: "ada" }, [0, 1, 2]],
      [{ agentId: "a" }, [0, 1, 3]],
      [{ sessionId: "s" }, [0, 2, 3]],
      [{ userId: "ada", agentId: "a", sessionId: "s" }, [0]],
      [{ userId: "ada", filters: { tags: "x" } }, [0, 1]],
      [{ filters: { "metadata.n": { $gte: 1 } } }, [0, 1, 3]],
      [{ filters: { userId: "ada", type: "note" } }, [2]],
      [{ agentId: "a", filters: { $not: { "metadata.n": 1 } } }, [1]],
      [{ userId: "ada", filters: {} }, [0, 1, 2]],
      [{ userId: "nobody" }, []],
    ];
    for (const [conditions, matching] of cases) {
      for (const userId of ["ada", "bob"]) await remove({ userId });
      const ids = await add(memories);
      expect((await remove({ ...conditions, dryRun: true })).body).toEqual({ matched: matching.length });
      expect(await left()).toEqual([...ids].sort());
      const { status, body } = await remove({ ...conditions, matched: matching.length });
      expect([conditions, status, body]).toEqual([
        conditions,
        202,
        {
          ...{ id: expect.stringMatching(/^job_[0-9a-hjkmnp-tv-z]{26}$/), status: "completed" },
          ...{ matched: matching.length, deleted: matching.length },
          ...{ created_at: expect.any(String), updated_at: expect.any(String) },
        },
      ]);
      expect((await job(body.id)).body).toEqual(body);
      expect(await left()).toEqual(ids.filter((_, at) => !matching.includes(at)).sort());
    }
  });

  test("is absent from searches, reads and chats at once, and frees the quota", async () => {
    const { body: kept } = await mneme.store({ content: "The anchor is red.", userId: "ada", agentId: "keeps" });
    const { body: gone } = await mneme.store({ content: "The anchor is blue.", userId: "ada", agentId: "goes" });
    const chat = (await mneme.call("POST", "/v1/chats", { userId: "ada" })).body;
    await mneme.call("POST", `/v1/chats/${chat.id}/messages`, { message: "Which colour has the anchor?" });
    const documents = async () => (await mneme.call("GET", "/v1/usage")).body.documents.used;
    const before = await documents();
    await remove({ agentId: "goes" });
    expectFault(await mneme.call("GET", `/v1/memories/${gone.id}`), 404, "memory_not_found", "id");
    for (const mode of ["fast", "hybrid", "balanced", "precise"]) {
      const question = { query: "anchor", mode, userId: "ada" };
      const { results } = (await mneme.call("POST", "/v1/memories/search", question)).body;
      expect(results.map(({ memory_id }: { memory_id: string }) => memory_id)).toEqual([kept.id]);
    }
    expect(JSON.stringify((await mneme.call("GET", `/v1/chats/${chat.id}`)).body)).not.toContain(gone.id);
    expect(await documents()).toBe(before - 1);
    expect((await remove({ agentId: "goes" })).body).toMatchObject({ status: "completed", matched: 0, deleted: 0 });
  });

  test(`is what filters of searches match (random filters, seed ${SEED})`, async () => {
    const chance = new Chance(SEED, SCALARS);
    const memories = Array.from({ length: 30 }, (_, at) => ({
      ...{ content: `text ${at}`, userId: "ada" },
      ...{ type: chance.one(["a", "ab"]), agentId: chance.one(["a", "ab", null]), sessionId: chance.one(["A", null]) },
      ...{ externalId: `${chance.one(["a", "ab"])}${at}`, occurred_at: chance.one(["2026-01-31", "2026-02-02", null]) },
      ...{ title: chance.one(["a", "A", "ab"]), tags: chance.list(2, () => chance.one(["a", "ab"])), language: "en" },
      metadata: { a: parseJson(chance.one(SCALARS)) as Json, b: [1, "a"] },
    }));
    const ids = await add(memories);
    for (const id of ids) await mneme.settled(id);
    let deleted = 0;
    for (let round = 0; round < 200 && (await left("&userId=ada")).length > 0; round++) {
      const filters = { $and: [anyFilter(chance, 2), { created_at: { $gte: "2000-01-01" } }] };
      const question = { query: "text", mode: "fast", limit: 100, userId: "ada", filters };
      const found = (await mneme.call("POST", "/v1/memories/search", question)).body.results;
      const expected = new Set(found.map(({ memory_id }: { memory_id: string }) => memory_id));
      expect((await remove({ userId: "ada", filters, dryRun: true })).body).toEqual({ matched: expected.size });
      if (expected.size === (await left("&userId=ada")).length) continue;
      const before = await left("&userId=ada");
      expect((await remove({ userId: "ada", filters })).body).toMatchObject({ deleted: expected.size });
      expect(await left("&userId=ada")).toEqual(before.filter((id) => !expected.has(id)));
      deleted += expected.size;
    }
    expect(deleted).toBeGreaterThan(0);
  });
});

describe("a deletion of many memories", () => {
  test("goes on in the background, deletes what matched and nothing newer, and ends completed", async () => {
    const memories = Array.from({ length: 900 }, (_, at) => ({ content: `page ${at}`, agentId: "many" }));
    const ids = await add(memories.map((memory, at) => ({ ...memory, tags: [at % 3 === 0 ? "keep" : "drop"] })));
    const begun = await remove({ agentId: "many", filters: { tags: "drop" } });
    expect([begun.status, begun.body]).toEqual([202, expect.objectContaining({ status: "processing", matched: 600 })]);
    expect(begun.body.deleted).toBeLessThan(600);
    const [late = ""] = await add([{ content: "late", agentId: "many", tags: ["drop"] }]);
    expect(await ended(begun.body.id)).toMatchObject({ status: "completed", matched: 600, deleted: 600 });
    const kept = ids.filter((_, at) => at % 3 === 0);
    expect(await left("&agentId=many")).toEqual([...kept, late].sort());
    await ended((await remove({ agentId: "many" })).body.id);
    expect(await left("&agentId=many")).toEqual([]);
  });

  test("sends one event for each memory", async () => {
    const receiver = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const { type, data } = (await request.json()) as { type: string; data: { id: string } };
        received.push(`${type} ${data.id}`);
        return new Response("ok");
      },
    });
    const received: string[] = [];
    try {
      const hooked = await startService({ countsWords: true, config: { webhookAllow: AllowList.parse("127.0.0.1") } });
      try {
        const url = `http://127.0.0.1:${receiver.port}/`;
        await hooked.call("POST", "/v1/webhooks", { url, events: ["memory.deleted"] });
        const memories = Array.from({ length: 30 }, (_, at) => ({ content: `page ${at}`, sessionId: "s" }));
        const { body } = await hooked.call("POST", "/v1/memories/batch", { memories });
        await hooked.call("DELETE", "/v1/memories", { sessionId: "s" });
        await until("all events have arrived", () => received.length >= 30);
        const ids = body.data.map(({ memory }: { memory: { id: string } }) => `memory.deleted ${memory.id}`);
        expect(received.sort()).toEqual(ids.sort());
      } finally {
        await hooked.stop();
      }
    } finally {
      await receiver.stop(true);
    }
  });

  test("of a user ends with the user, and a deleted user leaves no job", async () => {
    await add(Array.from({ length: 500 }, (_, at) => ({ content: `page ${at}`, userId: "leaver" })));
    const { body } = await remove({ userId: "leaver", filters: { title: "t" } });
    expect((await mneme.call("DELETE", "/v1/users/leaver?cascade=true")).status).toBe(204);
    expectFault(await job(body.id), 404, "job_not_found", "id");
    expect(await left("&userId=leaver")).toEqual([]);
  });
});

describe("a key confined to a user", () => {
  test("deletes only its user's memories, counts only those, and sees only its user's jobs", async () => {
    const authorization = `Bearer ${mneme.addKey(["*"], undefined, { userId: "cora" })}`;
    const [own = "", foreign = "", nobodys = ""] = await add([
      { content: "own", userId: "cora", tags: ["z"] },
      { content: "foreign", userId: "dan", tags: ["z"] },
      { content: "nobody's", tags: ["z"] },
    ]);
    const filters = { tags: "z" };
    expect((await remove({ filters, dryRun: true }, { authorization })).body).toEqual({ matched: 1 });
    expectFault(await remove({ filters, userId: "dan" }, { authorization }), 403, "insufficient_scope", "userId");
    expectFault(await remove({}, { authorization }), 400, "invalid_request");
    const { body } = await remove({ filters }, { authorization });
    expect(body).toMatchObject({ matched: 1, deleted: 1 });
    expect((await job(body.id, { authorization })).body).toEqual(body);
    const remaining = await left();
    expect([own, foreign, nobodys].map((id) => remaining.includes(id))).toEqual([false, true, true]);
    const whole = (await remove({ filters: { tags: "nothing" } })).body;
    expectFault(await job(whole.id, { authorization }), 404, "job_not_found", "id");
    await remove({ filters });
  });
});

describe("refused", () => {
  test("without a condition, so that nobody deletes everything by mistake", async () => {
    const before = await left();
    const nothing = [{}, { filters: {} }, { userId: null }, { dryRun: true }, { filters: { $and: [] } }];
    for (const body of [...nothing, { filters: { $not: { $or: [] } } }, { filters: { $or: [{}, { $and: [{}] }] } }]) {
      expectFault(await remove(body), 400, "invalid_request");
    }
    expectFault(await remove(), 415, "unsupported_media_type");
    expect(await left()).toEqual(before);
  });

  test("if another number matches than the caller expects, and then nothing is deleted", async () => {
    const ids = await add([
      { content: "a", sessionId: "exact" },
      { content: "b", sessionId: "exact" },
    ]);
    for (const matched of [0, 1, 3]) {
      const answer = await remove({ sessionId: "exact", matched });
      expectFault(answer, 409, "invalid_state", "matched");
      expect(answer.body.error.message).toContain("2 memories match now");
    }
    expect(await left("&sessionId=exact")).toEqual([...ids].sort());
    expect((await remove({ sessionId: "exact", matched: 2 })).body.deleted).toBe(2);
  });

  test("with wrong fields, values and filters, by name", async () => {
    const cases: [body: unknown, code: string, param: string | undefined][] = [
      [{ userId: "" }, "invalid_request", "userId"],
      [{ agentId: 7 }, "invalid_request", "agentId"],
      [{ userId: "a", dryRun: "yes" }, "invalid_request", "dryRun"],
      [{ userId: "a", matched: -1 }, "invalid_request", "matched"],
      [{ userId: "a", limit: 3 }, "invalid_request", "limit"],
      [{ user_id: "a" }, "invalid_request", "user_id"],
      [{ filters: { colour: "red" } }, "invalid_filter", "filters.colour"],
      [{ userId: "a", filters: [] }, "invalid_request", "filters"],
    ];
    for (const [body, code, param] of cases) {
      const answer = await remove(body);
      expect([body, answer.status, answer.body.error.param]).toEqual([body, 400, param]);
      if (param !== "filters") expect(answer.body.error.code).toBe(code);
    }
    expectFault(
      await mneme.call("DELETE", "/v1/memories?userId=ada", { userId: "ada" }),
      400,
      "invalid_request",
      "userId",
    );
  });

  test("401 without a key, 403 for a key that cannot write memories, 404 for unknown jobs", async () => {
    const authorization = `Bearer ${mneme.addKey(["memories:read", "query"])}`;
    expectFault(await remove({ userId: "ada" }, { authorization }), 403, "insufficient_scope");
    expectFault(await job(ABSENT, { authorization }), 403, "insufficient_scope");
    expectFault(await job(ABSENT), 404, "job_not_found", "id");
    expectFault(await job("job_x"), 404, "job_not_found", "id");
    const { body } = await remove({ userId: "nobody" });
    const elsewhere = `Bearer ${mneme.addKey(["*"], "prj_another")}`;
    expectFault(await job(body.id, { authorization: elsewhere }), 404, "job_not_found", "id");
  });
});
