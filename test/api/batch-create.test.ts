// POST /v1/memories/batch: each item is checked on its own, in order, like a createMemory request.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { startWithoutModels } from "../support/unfinished.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
});
afterAll(() => mneme.stop());

const create = (memories: unknown) => mneme.call("POST", "/v1/memories/batch", { memories });
const notes = (count: number, word: string) => Array.from({ length: count }, (_, at) => ({ content: `${word} ${at}` }));
const newest = async () => (await mneme.call("GET", "/v1/memories?limit=1")).body.data[0]?.id;

describe("202", () => {
  test("answers every item with its memory, in order", async () => {
    const { status, body } = await create(notes(3, "pebble"));
    expect(status).toBe(202);
    expect(Object.keys(body).sort()).toEqual(["accepted", "data", "failed"]);
    expect([body.accepted, body.failed]).toEqual([3, 0]);
    for (const [at, item] of body.data.entries()) {
      expect(Object.keys(item)).toEqual(["index", "outcome", "memory"]);
      expect([item.index, item.outcome]).toEqual([at, "created"]);
      expect(item.memory).toMatchObject({ content: `pebble ${at}`, status: "processing" });
      expect((await mneme.settled(item.memory.id)).body.status).toBe("completed");
    }
  });

  test("items with a known externalId say what became of them, and what is the same stays untouched", async () => {
    const item = { content: "a flat pebble", externalId: "flat", title: "Flat", metadata: { grams: 12 } };
    const first = (await create([item])).body.data[0];
    const { body: stored } = await mneme.settled(first.memory.id);
    const outcomes: string[] = [];
    const times: string[] = [];
    for (const next of [item, { ...item, title: "Flatter" }, { ...item, content: "a round pebble" }]) {
      const { outcome, memory } = (await create([next])).body.data[0];
      outcomes.push(outcome);
      times.push(memory.updated_at);
      expect(memory.id).toBe(first.memory.id);
    }
    expect(outcomes).toEqual(["unchanged", "updated", "rewritten"]);
    expect(times[0]).toBe(stored.updated_at);
    expect(times[1]).not.toBe(stored.updated_at);
  });

  test("an invalid item is refused alone, with the error of createMemory", async () => {
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

  test("100 items are accepted", async () => {
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
  test("no item accepted: error.items has the error of each item", async () => {
    const answer = await create([{ content: "" }, 7, { text: "x" }]);
    expectFault(answer, 400, "invalid_request");
    const { items } = answer.body.error;
    expect(items.map((item: { index: number; error: { code: string } }) => [item.index, item.error.code])).toEqual([
      [0, "invalid_request"],
      [1, "invalid_request"],
      [2, "invalid_request"],
    ]);
  });

  test("101 items are refused as a whole, and nothing is stored", async () => {
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

test("items of a confined key belong to its user; an item that names another user is refused alone", async () => {
  const headers = { authorization: `Bearer ${mneme.addKey(["memories:write"], undefined, { userId: "ada" })}` };
  const memories = [
    { content: "Implied." },
    { content: "Named.", userId: "ada" },
    { content: "Not mine.", userId: "bob" },
  ];
  const { status, body } = await mneme.call("POST", "/v1/memories/batch", { memories }, headers);
  expect([status, body.accepted, body.failed]).toEqual([202, 2, 1]);
  expect(body.data.slice(0, 2).map((item: { memory: { userId: string } }) => item.memory.userId)).toEqual([
    "ada",
    "ada",
  ]);
  expect(body.data[2]).toMatchObject({
    index: 2,
    error: { code: "insufficient_scope", status: 403, param: "memories[2].userId" },
  });
});

describe("quotas", () => {
  const MiB = 1024 * 1024;
  /** A text with 5 MiB in UTF-8, and half as many characters. */
  const fiveMiB = "é".repeat(2.5 * MiB);
  let bare: TestService;
  beforeAll(async () => {
    bare = await startWithoutModels(); // nobody has to embed 50 MiB
  });
  afterAll(() => bare.stop());

  /** Creates a project of the plan `free`. Returns functions that send requests with its key. */
  async function freeProject() {
    const { body } = await bare.call("POST", "/v1/projects", { name: "free", plan: "free" });
    const headers = { authorization: `Bearer ${body.key}` };
    const on = (method: string, path: string, content?: unknown) => bare.call(method, `/v1${path}`, content, headers);
    return { on, batch: (memories: unknown) => on("POST", "/memories/batch", { memories }) };
  }

  interface Item {
    readonly index: number;
    readonly error?: { readonly code: string; readonly status: number };
  }
  const refusals = (items: readonly Item[]) =>
    items.flatMap(({ index, error }) => (error === undefined ? [] : [[index, error.code, error.status]]));

  test("202: items are accepted in order up to the tenth, the others are refused one by one", async () => {
    const { batch, on } = await freeProject();
    const { status, body, headers } = await batch([...notes(4, "a"), { content: "" }, ...notes(8, "b")]);
    expect([status, body.accepted, body.failed]).toEqual([202, 10, 3]);
    expect(refusals(body.data)).toEqual([
      [4, "invalid_request", 400],
      [11, "document_quota_exceeded", 429],
      [12, "document_quota_exceeded", 429],
    ]);
    expect(headers.has("retry-after")).toBeFalse();
    expect((await on("GET", "/memories")).body.data).toHaveLength(10);
  });

  test("429 if quotas are the only reason, 400 if there is another one", async () => {
    const { batch } = await freeProject();
    expect((await batch(notes(10, "full"))).status).toBe(202);
    const refused = await batch(notes(2, "more"));
    expectFault(refused, 429, "document_quota_exceeded");
    expect(refusals(refused.body.error.items)).toEqual([
      [0, "document_quota_exceeded", 429],
      [1, "document_quota_exceeded", 429],
    ]);
    expect(refused.headers.has("retry-after")).toBeFalse();
    expect(refused.body.error.retry_after_seconds).toBeUndefined();

    const mixed = await batch([...notes(1, "more"), { content: "" }]);
    expectFault(mixed, 400, "invalid_request");
    expect(refusals(mixed.body.error.items)).toEqual([
      [0, "document_quota_exceeded", 429],
      [1, "invalid_request", 400],
    ]);
  });

  test("a full project still accepts updates, and new memories after a deletion", async () => {
    const { batch, on } = await freeProject();
    const named = notes(10, "first").map((note, at) => ({ ...note, externalId: `e${at}` }));
    const { body } = await batch(named);
    const again = await batch(named.map((note) => ({ ...note, content: `${note.content}, again` })));
    expect([again.status, again.body.accepted]).toEqual([202, 10]);
    expect((await on("DELETE", `/memories/${body.data[3].memory.id}`)).status).toBe(204);
    expect((await batch(notes(2, "new"))).body).toMatchObject({ accepted: 1, failed: 1 });
  });

  test("storage counts UTF-8 bytes: exactly 50 MiB are accepted, one byte more is refused", async () => {
    const { batch, on } = await freeProject();
    const fives = Array.from({ length: 9 }, () => ({ content: fiveMiB }));
    const { body } = await batch([...fives, { content: `${fiveMiB}x` }, { content: fiveMiB }]);
    expect([body.accepted, body.failed]).toEqual([10, 1]);
    expect(refusals(body.data)).toEqual([[9, "storage_quota_exceeded", 429]]);
    expect((await on("GET", "/usage")).body.storage_bytes).toEqual({ used: 50 * MiB, limit: 50 * MiB, remaining: 0 });

    expect((await on("DELETE", `/memories/${body.data[0].memory.id}`)).status).toBe(204);
    expect((await on("GET", "/usage")).body.storage_bytes.remaining).toBe(5 * MiB);
    const refused = await batch([{ content: `${fiveMiB}x` }]);
    expectFault(refused, 429, "storage_quota_exceeded");
    expect(refused.headers.has("retry-after")).toBeFalse();
    expect((await batch([{ content: fiveMiB }])).status).toBe(202);
  });
});

test("401 without a key, 403 for a key that cannot write", async () => {
  const body = { memories: [{ content: "x" }] };
  const unkeyed = new Request("http://mneme.test/v1/memories/batch", { method: "POST", body: JSON.stringify(body) });
  expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:read", "query"])}`;
  expectFault(await mneme.call("POST", "/v1/memories/batch", body, { authorization }), 403, "insufficient_scope");
});
