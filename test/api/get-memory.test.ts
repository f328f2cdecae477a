// GET /v1/memories/{id}: one memory, while it exists and for keys that may see it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { markFailed, startWithoutModels } from "../support/unfinished.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
let id = "";
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
  id = (await mneme.store({ content: "The ferry leaves at noon.", userId: "ada", metadata: { pier: 4 } })).body.id;
});
afterAll(() => mneme.stop());

const get = (path: string, headers?: Record<string, string>) =>
  mneme.call("GET", `/v1/memories/${path}`, undefined, headers);

test("200: the whole memory, the same as in the list", async () => {
  const { status, body } = await get(id);
  expect(status).toBe(200);
  expect(Object.keys(body).sort()).toEqual(
    [
      ...["chunk_count", "content", "created_at", "expires_at", "externalId", "extraction", "id", "language"],
      ...[
        "metadata",
        "source",
        "occurred_at",
        "occurred_at_given",
        "status",
        "tags",
        "title",
        "type",
        "updated_at",
        "userId",
      ],
      ...["agentId", "sessionId", "superseded_by", "relations"],
    ].sort(),
  );
  expect(body).toMatchObject({ id, status: "completed", content: "The ferry leaves at noon.", metadata: { pier: 4 } });
  const { relations, ...listed } = body;
  expect(relations).toEqual([]);
  expect((await mneme.call("GET", "/v1/memories?userId=ada")).body.data).toEqual([listed]);
});

test("200: a second read shows every change since the first, whoever made it", async () => {
  const { body: stored } = await mneme.store({ content: "The kiosk opens at nine.", userId: "ida", tags: ["kiosk"] });
  const shown = async () => (await get(stored.id)).body;
  expect(await shown()).toEqual(await shown());
  await mneme.call("PUT", `/v1/memories/${stored.id}`, { title: "Opening hours" });
  expect(await shown()).toMatchObject({ title: "Opening hours", tags: ["kiosk"], content: "The kiosk opens at nine." });
  const rewritten = await mneme.call("PUT", `/v1/memories/${stored.id}`, { content: "The kiosk opens at ten." });
  expect(rewritten.status).toBe(202);
  expect(await shown()).toMatchObject({ title: "Opening hours", content: "The kiosk opens at ten." });
  expect((await mneme.call("DELETE", "/v1/users/ida?cascade=true")).status).toBe(204);
  expectFault(await get(stored.id), 404, "memory_not_found", "id");
});

test("200: a processing memory has its progress, and no field of a completed one", async () => {
  const bare = await startWithoutModels();
  try {
    const { body } = await bare.call("POST", "/v1/memories", { content: "Waits for the models." });
    const { status, body: waiting } = await bare.call("GET", `/v1/memories/${body.id}`);
    expect([status, waiting.status]).toEqual([200, "processing"]);
    expect(waiting.progress).toEqual({
      stage: expect.stringMatching(/^(queued|preparing|embedding|publishing)$/),
      chunks_done: expect.any(Number),
      chunks_total: waiting.progress.chunks_total === null ? null : expect.any(Number),
    });
    for (const field of ["chunk_count", "extraction", "error"]) expect(waiting).not.toHaveProperty(field);
  } finally {
    await bare.stop();
  }
});

test("200: a failed memory has its reason and its content", async () => {
  const { body } = await mneme.call("POST", "/v1/memories", { content: "Too much for the reader.", userId: "eve" });
  await markFailed(mneme, body.id, "The text could not be prepared.");
  const { body: failed } = await get(body.id);
  expect(failed).toMatchObject({
    status: "failed",
    content: "Too much for the reader.",
    error: { code: "processing_error", message: "The text could not be prepared." },
  });
  for (const field of ["chunk_count", "extraction", "progress"]) expect(failed).not.toHaveProperty(field);
});

test("200: a percent-encoded id is the same id", async () => {
  expect((await get(id.replace("_", "%5F"))).body.id).toBe(id);
});

test("a polled memory never changes back from completed", async () => {
  for (let round = 0; round < 10; round++) {
    const { body } = await mneme.call("POST", "/v1/memories", { content: `Polled note number ${round}.` });
    const seen: string[] = [];
    await mneme.settled(body.id);
    for (let look = 0; look < 5; look++) seen.push((await get(body.id)).body.status);
    expect(new Set(seen)).toEqual(new Set(["completed"]));
  }
});

describe("404", () => {
  const absent = [
    ...["mem_00000000000000000000000000", "mem_x", "x", "MEM_01m7xygsx5eab84ws2hc66ym7d", "a%2Fb", "%00", "%20"],
    ...["chunk_00000000000000000000000001", `mem_${"0".repeat(5_000)}`, "%F0%9D%9B%82", "..%2F..%2Fetc"],
  ];
  for (const path of absent) {
    test(`${path.slice(0, 40)} is not found`, async () => {
      const answer = await get(path);
      expectFault(answer, 404, "memory_not_found", "id");
      expect(answer.body.error.message.length).toBeLessThan(200);
    });
  }

  test("another project's memory is absent", async () => {
    const authorization = `Bearer ${mneme.addKey(["*"], "prj_another")}`;
    expectFault(await get(id, { authorization }), 404, "memory_not_found", "id");
  });

  test("a memory is absent from its expiry on", async () => {
    const at = clock.now() + 60_000;
    const { body } = await mneme.store({ content: "gone", expires_at: new Date(at).toISOString() });
    expect((await get(body.id)).status).toBe(200);
    clock.advance(60_000);
    expectFault(await get(body.id), 404, "memory_not_found", "id");
    expectFault(await mneme.call("DELETE", `/v1/memories/${body.id}`), 404, "memory_not_found", "id");
  });
});

describe("400", () => {
  for (const path of ["%ZZ", "%", "%ED%A0%80", "%FF"]) {
    test(`${path} is not percent-encoded UTF-8`, async () =>
      expectFault(await get(path), 400, "invalid_request", "id"));
  }

  test("query parameters are refused", async () => {
    expectFault(await get(`${id}?userId=bob`), 400, "invalid_request", "userId");
  });
});

test("401 without a key, 403 for a key that cannot read", async () => {
  expectFault(await mneme.send(new Request(`http://mneme.test/v1/memories/${id}`)), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:write", "query"])}`;
  expectFault(await get(id, { authorization }), 403, "insufficient_scope");
});
