// POST /v1/memories/batch: each item is judged alone, in order, as createMemory would judge it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

const create = (memories: unknown) => mneme.call("POST", "/v1/memories/batch", { memories });
const notes = (count: number, word: string) => Array.from({ length: count }, (_, at) => ({ content: `${word} ${at}` }));
const newest = async () => (await mneme.call("GET", "/v1/memories?limit=1")).body.data[0]?.id;

describe("202", () => {
  test("answers every item in its place with its memory", async () => {
    const { status, body } = await create(notes(3, "pebble"));
    expect(status).toBe(202);
    expect(Object.keys(body).sort()).toEqual(["accepted", "data", "failed"]);
    expect([body.accepted, body.failed]).toEqual([3, 0]);
    for (const [at, item] of body.data.entries()) {
      expect(Object.keys(item)).toEqual(["index", "memory"]);
      expect(item.index).toBe(at);
      expect(item.memory).toMatchObject({ content: `pebble ${at}`, status: "processing" });
      expect((await mneme.settled(item.memory.id)).body.status).toBe("completed");
    }
  });

  test("a bad item is refused alone, with the error that createMemory would give it", async () => {
    const items = [
      { content: "good 0" },
      { content: " " },
      { content: "x", tags: Array(51).fill("t") },
      { content: "x", metadata: { a: "y".repeat(10_240) } },
      { content: "x", user_id: "ada" },
      null,
      "a text",
      [],
      { content: "good 8", userId: "ada" },
    ];
    const { status, body } = await create(items);
    expect([status, body.accepted, body.failed]).toEqual([202, 2, 7]);
    const outcomes = body.data.map((item: { memory?: { content: string }; error?: object }) =>
      item.error === undefined ? item.memory?.content : item.error,
    );
    const error = (code: string, param: string) => ({ code, param, status: 400, message: expect.any(String) });
    expect(outcomes).toEqual([
      "good 0",
      error("invalid_request", "memories[1].content"),
      error("too_many_tags", "memories[2].tags"),
      error("metadata_too_large", "memories[3].metadata"),
      error("invalid_request", "memories[4].user_id"),
      error("invalid_request", "memories[5]"),
      error("invalid_request", "memories[6]"),
      error("invalid_request", "memories[7]"),
      "good 8",
    ]);
  });

  test("100 items pass", async () => {
    const { status, body } = await create(notes(100, "grain"));
    expect([status, body.accepted, body.data.length]).toEqual([202, 100, 100]);
    const ids: string[] = body.data.map((item: { memory: { id: string } }) => item.memory.id);
    expect(new Set(ids).size).toBe(100);
    await mneme.settled(ids.at(-1) ?? "");
  });

  test("an item can rewrite the one before it: one memory, the last content", async () => {
    const { body } = await create([
      { content: "The first draft speaks of apples.", externalId: "same", title: "Draft" },
      { content: "The second draft speaks of pears.", externalId: "same", tags: ["final"] },
      { content: "Another memory.", externalId: "other" },
    ]);
    const [first, second, third] = body.data.map((item: { memory: { id: string } }) => item.memory.id);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    const settled = await mneme.settled(first);
    expect(settled.body).toMatchObject({
      content: "The second draft speaks of pears.",
      title: "Draft",
      tags: ["final"],
    });
    const found = await mneme.call("POST", "/v1/memories/search", { query: "the first draft speaks of apples" });
    const texts = found.body.results.map((result: { content: string }) => result.content);
    expect(texts.filter((text: string) => text.includes("draft"))).toEqual(["The second draft speaks of pears."]);
  });
});

describe("400", () => {
  test("no item accepted: every item's error stands in error.items", async () => {
    const answer = await create([{ content: "" }, 7, { text: "x" }]);
    expectFault(answer, 400, "invalid_request");
    const { items } = answer.body.error;
    expect(items.map((item: { index: number; error: { code: string } }) => [item.index, item.error.code])).toEqual([
      [0, "invalid_request"],
      [1, "invalid_request"],
      [2, "invalid_request"],
    ]);
  });

  test("101 items are refused whole, and nothing is stored", async () => {
    const before = await newest();
    expectFault(await create(notes(101, "too many")), 400, "batch_too_large", "memories");
    expect(await newest()).toBe(before);
  });

  test("an empty list, none, or something else is refused", async () => {
    for (const memories of [[], null, {}, "x", 7]) {
      expectFault(await create(memories), 400, "invalid_request", "memories");
    }
    expectFault(await mneme.call("POST", "/v1/memories/batch", {}), 400, "invalid_request", "memories");
  });

  test("an unknown field beside the list is refused", async () => {
    const answer = await mneme.call("POST", "/v1/memories/batch", { memories: [{ content: "x" }], userId: "ada" });
    expectFault(answer, 400, "invalid_request", "userId");
  });
});

test("401 without a key, 403 for a key that cannot write", async () => {
  const body = { memories: [{ content: "x" }] };
  const unkeyed = new Request("http://mneme.test/v1/memories/batch", { method: "POST", body: JSON.stringify(body) });
  expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:read", "query"])}`;
  expectFault(await mneme.call("POST", "/v1/memories/batch", body, { authorization }), 403, "insufficient_scope");
});
