// Sizes and contents of results: max_tokens, paging, parts of long texts, profiles, waiting, ChatGPT's tools.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { estimatedTokens } from "../../src/domain/language-model.ts";
import { firstFitting, fitted } from "../../src/mcp/budget.ts";
import { connectHttp, listen, type Peer } from "../support/mcp.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { createTenant } from "../support/tenant.ts";

let mneme: TestService;
let server: ReturnType<typeof listen>;
let peer: Peer;

beforeAll(async () => {
  mneme = await startService({ config: { mcpConnector: true } });
  server = listen(mneme);
  peer = await connectHttp("2026-07-28", server.url, TEST_KEY);
});
afterAll(async () => {
  await peer.close();
  await server.stop();
  await mneme.stop();
});

const STORY = Array.from({ length: 400 }, (_, at) => `On day ${at} the lamp 🕯 of the harbour was lit by Maud.`).join(
  " ",
);

describe("max_tokens", () => {
  const userId = "long";
  beforeAll(async () => {
    await mneme.store({ content: STORY, userId, title: "Lamps" });
    for (let at = 0; at < 12; at++) {
      await mneme.store({ content: `Note ${at} about the harbour lamp. ${"It was windy. ".repeat(20)}`, userId });
    }
  });

  test("bounds every result, and the result says what is missing", async () => {
    for (const max_tokens of [250, 400, 1_500, 4_000]) {
      for (const [tool, args] of [
        ["search_memories", { query: "harbour lamp", userId, limit: 50 }],
        ["ask_memories", { query: "who lit the harbour lamp on day 7?", userId }],
        ["list_memories", { userId, limit: 50 }],
        ["get_profile", { userId }],
      ] as const) {
        const { text, data } = await peer.call(tool, { ...args, max_tokens });
        const tokens = estimatedTokens(text);
        expect({ tool, max_tokens, isBounded: tokens <= max_tokens, tokens }).toMatchObject({ isBounded: true });
        if (max_tokens < 4_000) expect(data.note).toMatch(/max_tokens|cut/);
      }
    }
  });

  test("bounds results of memories with large attributes, which are left out", async () => {
    const userId = "laden";
    const metadata = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`k${at}`, "v".repeat(95)]));
    const tags = Array.from({ length: 50 }, (_, at) => `tag ${at} ${"x".repeat(40)}`);
    for (const title of ["First", "Second"]) {
      const laden = { content: `${title}: the harbour lamp is lit by Maud.`, userId, title, tags, metadata };
      await mneme.store(laden);
    }
    const { memories } = await peer.done("list_memories", { userId, max_tokens: 100_000 });
    expect(memories[0]).toMatchObject({ metadata, tags });
    const { memory_id } = memories[0];
    for (const max_tokens of [250, 400, 1_500, 4_000]) {
      for (const [tool, args] of [
        ["search_memories", { query: "harbour lamp", userId }],
        ["ask_memories", { query: "who lit the harbour lamp?", userId }],
        ["list_memories", { userId }],
        ["get_profile", { userId }],
        ["get_memory", { memory_id }],
      ] as const) {
        const { text, data } = await peer.call(tool, { ...args, max_tokens });
        const tokens = estimatedTokens(text);
        const isBounded = tokens <= max_tokens;
        expect({ tool, max_tokens, isBounded, tokens }).toMatchObject({ isBounded: true });
        expect(data.note).toContain("large metadata and tags are left out");
        expect(text).toContain("lit by Maud");
      }
    }
    const whole = await peer.done("get_memory", { memory_id, max_tokens: 100_000 });
    expect(whole).toMatchObject({ metadata, tags });
    expect(whole.note).toBeUndefined();
  });

  test("leaves out nothing that fits, and then there is no note", async () => {
    const all = await peer.done("search_memories", { query: "harbour lamp", userId, limit: 5, max_tokens: 100_000 });
    expect(all.results).toHaveLength(5);
    expect(all.note).toBeUndefined();
  });

  test("lists every memory once, however small the pages are", async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await peer.done("list_memories", { userId, limit: 20, max_tokens: 300, ...(cursor && { cursor }) });
      seen.push(...page.memories.map(({ memory_id }: { memory_id: string }) => memory_id));
      expect(page.has_more).toBe(page.cursor !== undefined);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toHaveLength(13);
    expect(new Set(seen).size).toBe(13);
  });

  test("a long text is read whole in parts", async () => {
    const { memories } = await peer.done("list_memories", { userId, q: "Lamps" });
    const [{ memory_id }] = memories;
    let text = "";
    let offset: number | undefined = 0;
    let parts = 0;
    while (offset !== undefined) {
      const part = await peer.done("get_memory", { memory_id, offset, max_tokens: 500 });
      expect(part.content.isWellFormed()).toBe(true);
      text += part.content;
      expect(part.note === undefined).toBe(part.next_offset === undefined);
      // the blank between two parts belongs to the next one
      offset = part.next_offset;
      parts += 1;
    }
    expect(parts).toBeGreaterThan(5);
    expect(text).toBe(STORY);
    const past = await peer.done("get_memory", { memory_id, offset: 10_000_000 });
    expect(past.content).toBe("");
    for (let at = 20; at < 40; at++) {
      const { content } = await peer.done("get_memory", { memory_id, offset: at, max_tokens: 250 });
      expect(content.isWellFormed()).toBe(true);
    }
  });

  test("cuts between words and never within a character", () => {
    for (let tokensMax = 1; tokensMax < 60; tokensMax++) {
      const { text, isCut } = fitted(STORY, tokensMax);
      expect(isCut).toBe(true);
      expect(text.endsWith("…")).toBe(true);
      expect(STORY.startsWith(text.slice(0, -1))).toBe(true);
      expect(text.isWellFormed()).toBe(true);
    }
    expect(fitted("short", 100)).toEqual({ text: "short", isCut: false });
    expect(fitted("short", -5)).toEqual({ text: "…", isCut: true });
  });

  test("the first item is always there, and the rest is counted", () => {
    const items = Array.from({ length: 4 }, (_, id) => ({ id, content: "some words that take a few tokens each" }));
    const few = firstFitting(items, 1, 1);
    expect(few.items.map(({ id }) => id)).toEqual([0]);
    expect(few).toMatchObject({ leftOut: 3 });
    expect(firstFitting(items, 100_000, 100_000)).toMatchObject({ items, cut: 0, leftOut: 0 });
    expect(firstFitting([], 100, 100)).toEqual({ items: [], tokens: 0, cut: 0, leftOut: 0, lighter: 0 });
  });
});

describe("get_profile", () => {
  test("shows the newest memories, and older ones that are linked with many of them", async () => {
    const userId = "profiled";
    await mneme.store({ content: "Lighthouse keeper Maud Greenwood taught Ada in Port Ellery.", userId });
    await mneme.store({ content: "Maud Greenwood of another user lives in Port Ellery.", userId: "someone else" });
    for (let at = 0; at < 30; at++) {
      const who = at % 5 === 4 ? "Ada met Maud Greenwood in Port Ellery" : "Ada bought bread";
      await mneme.store({ content: `${who}, note number ${at}.`, userId });
    }
    const profile = await peer.done("get_profile", { userId, max_tokens: 20_000 });
    const of = (chosen: string) =>
      profile.memories.filter((memory: { chosen: string }) => memory.chosen === chosen) as { content: string }[];
    expect(of("newest")).toHaveLength(30);
    expect(of("newest")[0]?.content).toContain("note number 29");
    expect(of("linked").map(({ content }) => content)).toEqual([
      "Lighthouse keeper Maud Greenwood taught Ada in Port Ellery.",
    ]);
    expect(profile).toMatchObject({ userId, has_more: true });
    expect(profile.topics.join(" ").toLowerCase()).toContain("maud greenwood");
    expect(JSON.stringify(profile)).not.toContain("another user");

    const small = await peer.done("get_profile", { userId, max_tokens: 400 });
    expect(small.memories.length).toBeLessThan(30);
    expect(small.memories.some(({ chosen }: { chosen: string }) => chosen === "linked")).toBe(true);
  });

  test("of an unknown user is empty and says so", async () => {
    expect(await peer.done("get_profile", { userId: "nobody at all" })).toEqual({
      userId: "nobody at all",
      memories: [],
      topics: [],
      has_more: false,
      note: "Nothing is stored yet.",
      ...{ facts: [], preferences: [], people: [], events: [], text: "", tokens: 0, omitted: 0 },
      generated_at: expect.stringMatching(/^\d{4}-/),
    });
  });

  test("has the facts, preferences, people and events of the profile, also without a user", async () => {
    const userId = "known";
    for (const content of ["I live in Bergen.", "I prefer tea.", "My sister Greta works at the harbour."]) {
      await mneme.store({ content, userId });
    }
    const shown = { facts: [{ text: "I live in Bergen." }], preferences: [{ text: "I prefer tea." }] };
    const profile = await peer.done("get_profile", { userId, time_zone: "Asia/Tokyo" });
    expect(profile).toMatchObject({ ...shown, people: [{ name: "Greta" }], events: [] });
    expect(profile.text).toContain("## People\n\n- My sister Greta works at the harbour.");
    const all = await peer.done("get_profile", { max_tokens: 50_000 });
    expect(all.preferences).toMatchObject([...profile.preferences, ...all.preferences.slice(1)]);
    const refused = await peer.call("get_profile", { userId, time_zone: "Mars/Base" });
    expect(refused.text).toContain("'time_zone'");
    expect(await peer.done("get_profile", { userId, max_tokens: 599 })).not.toHaveProperty("facts");
  });
});

describe("add_memory", () => {
  test("says so if it did not wait until the text is searchable", async () => {
    const added = await peer.done("add_memory", { content: "not waited for", wait_seconds: 0 });
    expect(added).toMatchObject({ status: "processing", searchable: false });
    expect(added.note).toContain("not searchable yet");
    await mneme.settled(added.memory_id);
  });

  test("with an idempotency_key stores once, and refuses another text under it", async () => {
    const args = { content: "once only", userId: "once", idempotency_key: "k-1" };
    const first = await peer.done("add_memory", args);
    const second = await peer.done("add_memory", args);
    expect(second.memory_id).toBe(first.memory_id);
    expect((await peer.done("list_memories", { userId: "once" })).memories).toHaveLength(1);
    const other = await peer.call("add_memory", { ...args, content: "another" });
    expect(other).toMatchObject({ isError: true, error: { code: "idempotency_conflict", status: 409 } });
  });

  test("with a known externalId replaces the earlier text", async () => {
    const first = await peer.done("add_memory", { content: "tea at four", userId: "ext", externalId: "tea" });
    const second = await peer.done("add_memory", { content: "tea at five", userId: "ext", externalId: "tea" });
    expect(second).toMatchObject({ memory_id: first.memory_id, searchable: true });
    expect((await peer.done("get_memory", { memory_id: first.memory_id })).content).toBe("tea at five");
  });
});

test("update_memory clears a field with null and keeps what is left out", async () => {
  const { memory_id } = await peer.done("add_memory", {
    content: "A note with attributes.",
    title: "Kept",
    tags: ["cleared"],
    metadata: { a: 1 },
    userId: "cleared",
  });
  await peer.done("update_memory", { memory_id, metadata: null, userId: null });
  const read = await peer.done("get_memory", { memory_id });
  expect(read).toMatchObject({ title: "Kept", tags: ["cleared"] });
  expect(read.metadata).toBeUndefined();
  expect(read.userId).toBeUndefined();
});

test("search and fetch have the form that ChatGPT's connectors require", async () => {
  const { memory_id } = await peer.done("add_memory", { content: "The kettle is blue. ".repeat(3), title: "Kettle" });
  const { text, data } = await peer.call("search", { query: "colour of the kettle" });
  expect(JSON.parse(text)).toEqual(data);
  expect(data.results[0]).toEqual({
    id: memory_id,
    title: "Kettle",
    url: `${server.url}/v1/memories/${memory_id}`,
  });
  expect(await peer.done("fetch", { id: memory_id })).toEqual({
    id: memory_id,
    title: "Kettle",
    text: "The kettle is blue. ".repeat(3),
    url: `${server.url}/v1/memories/${memory_id}`,
  });
});

test("fetch says so if it shows only the beginning of a text", async () => {
  const { body } = await mneme.store({ content: "The log of the lighthouse goes on. ".repeat(4_000), title: "Log" });
  const fetched = await peer.done("fetch", { id: body.id });
  expect(estimatedTokens(fetched.text)).toBeWithin(19_000, 20_001);
  expect(fetched.note).toBe("Only the first 20000 tokens are shown; get_memory reads the rest.");
});

test("a place in a conversation is shown with its passage", async () => {
  await mneme.store({
    type: "conversation",
    userId: "talk",
    content: "[8 May 2023]\nAda: I started pottery lessons.\nBen: Oh, where?\nAda: At the harbour, every Tuesday.",
  });
  const { results } = await peer.done("search_memories", { query: "pottery lessons", userId: "talk" });
  expect(results[0].place).toMatchObject({ speaker: "Ada" });
});

test("an answer has the turn that says it, although its own words lack those of the question", async () => {
  await mneme.store({
    type: "conversation",
    userId: "lessons",
    content: "[8 May 2023]\nAda: I started pottery lessons.\nBen: Oh, where?\nAda: At the harbour, every Tuesday.",
  });
  const { answer } = await peer.done("ask_memories", { query: "where does Ada do pottery?", userId: "lessons" });
  expect(answer).toBe("Ada: I started pottery lessons. [1] Ada: At the harbour, every Tuesday. [2]");
});

describe("quotas", () => {
  test("of memories refuse add_memory in words, and exactly those beyond the plan", async () => {
    const { key } = await createTenant(mneme, "free");
    const tenant = await connectHttp("2026-07-28", server.url, key);
    const added = await Promise.all(
      Array.from({ length: 15 }, (_, at) => tenant.call("add_memory", { content: `Note ${at}.`, wait_seconds: 0 })),
    );
    expect(added.filter(({ isError }) => !isError)).toHaveLength(10);
    for (const { error, text } of added.filter(({ isError }) => isError)) {
      expect(error).toMatchObject({ code: "document_quota_exceeded", status: 429 });
      expect(text).toContain("10");
    }
    await tenant.close();
  });

  test("of queries count ask_memories, and neither searches nor refused questions", async () => {
    const { key, call } = await createTenant(mneme, "free");
    const tenant = await connectHttp("2025-11-25", server.url, key);
    const used = async () => (await call("GET", "/v1/usage")).body.queries.used;
    await tenant.done("search_memories", { query: "anything" });
    await tenant.call("ask_memories", { query: " " });
    expect(await used()).toBe(0);
    for (let at = 0; at < 100; at++) await tenant.done("ask_memories", { query: "anything?" });
    expect(await used()).toBe(100);
    const refused = await tenant.call("ask_memories", { query: "one more?" });
    expect(refused).toMatchObject({ isError: true, error: { code: "query_quota_exceeded", status: 429 } });
    expect(refused.error.retry_after_seconds).toBeGreaterThan(0);
    await tenant.done("search_memories", { query: "still works" });
    await tenant.close();
  });
});
