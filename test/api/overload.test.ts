// More searches than the server answers in time, over the whole path of a request: they wait for their turn, and are
// refused with a time to try again. The models of these tests answer when a test lets them.

import { expect, test } from "bun:test";
import { connectLanguageModel } from "../../src/compose/language-model.ts";
import { openStorage } from "../../src/compose/postgres-storage.ts";
import { inMemoryPorts } from "../in-memory/ports.ts";
import { EventReader } from "../support/event-stream.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const SEARCH = { query: "when does the tide turn?", mode: "precise" };
const CLIENTS = 48;

test("with a budget, searches beyond it are refused at once, counted, and answered again when the load is gone", async () => {
  const server = await startService({ config: { searchBudget: 0.1 } });
  try {
    await server.store({ content: "The tide turns twice a day." });
    const refusals: Awaited<ReturnType<typeof server.call>>[] = [];
    const client = async () => {
      while (refusals.length === 0) {
        const answer = await server.call("POST", "/v1/memories/search", SEARCH);
        if (answer.status !== 200) refusals.push(answer);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    for (const { status, body, headers } of refusals) {
      expect(status).toBe(503);
      expect(body.error).toMatchObject({ code: "overloaded", status: 503 });
      expect(body.error.retry_after_seconds).toBeGreaterThanOrEqual(1);
      expect(headers.get("retry-after")).toBeNull(); // the contract keeps this header to 429
    }
    const metrics = await (await server.service.handle(new Request("http://localhost/metrics"))).text();
    expect(metrics).toContain(`mneme_searches_refused_total{task="precise"} ${refusals.length}`);
    expect(metrics).toContain("mneme_searches_in_progress 0");
    const again = await server.call("POST", "/v1/memories/search", SEARCH);
    expect([again.status, again.body.total_results]).toEqual([200, 1]);
  } finally {
    await server.stop();
  }
});

/** Searches in fast that fill the capacity of a server whose lanes are not up. */
const CAPACITY = 32;
const FAST = { query: "when does the tide turn?", mode: "fast" };

/** A server with one memory, whose models answer queries only while they are let. */
async function startHeld(searchPatienceMs: number) {
  let held: PromiseWithResolvers<void> | null = null;
  const delays = { next: async (call = "") => (call.endsWith(".query") ? held?.promise : undefined) };
  const { startModels } = inMemoryPorts(() => ({ texts: [] }), delays);
  const ports = { openStorage, connectLanguageModel, startModels };
  const server = await startService({ config: { searchPatienceMs }, ports });
  await server.store({ content: "The tide turns twice a day." });
  const metric = async (name: string) => {
    const text = await (await server.service.handle(new Request("http://localhost/metrics"))).text();
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  };
  return {
    server,
    metric,
    /** Holds the models and fills the server; returns those searches, and what lets the models answer. */
    fill: async (signal?: AbortSignal) => {
      held = Promise.withResolvers();
      const filling = Array.from({ length: CAPACITY }, () =>
        server.send(post("/v1/memories/search", FAST, signal === undefined ? {} : { signal })),
      );
      await until("the server is full", async () => (await metric("mneme_searches_in_progress")) === CAPACITY);
      return { filling, letGo: () => held?.resolve() };
    },
    waiting: (count: number) => until(`${count} wait`, async () => (await metric("mneme_searches_waiting")) === count),
  };
}

const post = (path: string, body: object, { key = TEST_KEY, signal }: { key?: string; signal?: AbortSignal } = {}) =>
  new Request(`http://localhost${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  });

/** Every route that waits for a turn, with a body. */
async function routesOf(server: TestService) {
  const newChat = async () => (await server.call("POST", "/v1/chats", {})).body.id;
  // one for each message, because a chat takes one at a time
  const [chat, otherChat] = [await newChat(), await newChat()];
  const messages = [{ role: "user", content: FAST.query }];
  return {
    whole: [
      ["/v1/memories/search", FAST],
      ["/v1/memories/query", FAST],
      [`/v1/chats/${chat}/messages`, { message: FAST.query, mode: "fast" }],
      ["/v1/chat/completions", { model: "mneme/fast", messages }],
      ["/v1/embeddings", { model: "hashed-words", input: "tide" }],
    ],
    streams: [
      ["/v1/memories/query", { ...FAST, stream: true }],
      [`/v1/chats/${otherChat}/messages/stream`, { message: FAST.query, mode: "fast" }],
      ["/v1/chat/completions", { model: "mneme/fast", messages, stream: true }],
    ],
  } as const;
}

test("beyond the patience, every route refuses in its own form: 503, or an error as the only event of a stream", async () => {
  const { server, fill, metric } = await startHeld(0);
  try {
    const { whole, streams } = await routesOf(server);
    const { filling, letGo } = await fill();
    for (const [path, body] of whole) {
      const refused = await server.call("POST", path, body);
      expect([path, refused.status]).toEqual([path, 503]);
      expect(refused.body.error).toMatchObject({ code: "overloaded" });
      expect(refused.body.error.retry_after_seconds).toBeGreaterThanOrEqual(1);
      expect(refused.headers.get("retry-after")).toBeNull(); // the contract keeps this header to 429
    }
    expect((await server.call("GET", "/v1/memories/search?query=tide&mode=fast")).status).toBe(503);
    for (const [path, body] of streams) {
      const response = await server.service.handle(post(path, body));
      expect(response.status).toBe(200);
      const [name, data, ...rest] = (await response.text()).replace(/^event: /, "").split(/\ndata: |^data: /m);
      const error = JSON.parse(path === "/v1/chat/completions" ? (data ?? name ?? "") : (data ?? ""));
      expect([path, error.error.code, rest]).toEqual([path, "overloaded", []]);
    }
    expect(await metric('mneme_searches_refused_total{task="fast"}')).toBe(whole.length - 1 + 1 + streams.length);
    expect(await metric('mneme_searches_refused_total{task="embedding"}')).toBe(1);
    letGo();
    expect((await Promise.all(filling)).map(({ status }) => status)).toEqual(Array(CAPACITY).fill(200));
    for (const [path, body] of whole) expect((await server.call("POST", path, body)).status).toBe(200);
  } finally {
    await server.stop();
  }
});

test("within the patience, all wait and are answered, and explain shows for how long", async () => {
  const { server, fill, waiting, metric } = await startHeld(120_000);
  try {
    const { whole, streams } = await routesOf(server);
    const { filling, letGo } = await fill();
    const explained = server.call("POST", "/v1/memories/search", { ...FAST, explain: true });
    await waiting(1);
    const answers = whole.map(([path, body]) => server.call("POST", path, body));
    const opened = await Promise.all(streams.map(([path, body]) => server.service.handle(post(path, body))));
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200]); // before their turn
    const texts = opened.map((response) => response.text());
    await waiting(1 + whole.length + streams.length);
    letGo();
    const { body } = await explained;
    expect(body.explain.stages[0]).toMatchObject({ name: "queue", candidates: 1 });
    expect(body.explain.stages[0].ms).toBeGreaterThan(0);
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(whole.map(() => 200));
    for (const text of await Promise.all(texts)) expect(text).not.toContain("error");
    await Promise.all(filling);
    await waiting(0);
    expect(await metric("mneme_searches_in_progress")).toBe(0);
    expect(await metric('mneme_search_wait_seconds_count{task="fast"}')).toBe(1 + whole.length - 1 + streams.length);
  } finally {
    await server.stop();
  }
});

test("a caller who hangs up while waiting leaves the queue at once", async () => {
  const { server, fill, waiting } = await startHeld(120_000);
  try {
    const { whole, streams } = await routesOf(server);
    const { filling, letGo } = await fill();
    const caller = new AbortController();
    const calls = [whole[0], whole[1], whole[4]].map(([path, body]) =>
      server.service.handle(post(path, body, { signal: caller.signal })),
    );
    const reader = new AbortController();
    const stream = await server.service.handle(post(...streams[0], { signal: reader.signal }));
    const text = stream.text();
    await waiting(4);
    caller.abort();
    await waiting(1);
    reader.abort();
    await waiting(0);
    expect(await text).toBe("");
    letGo();
    await Promise.all([...calls, ...filling]);
  } finally {
    await server.stop();
  }
});

test("a key that is revoked, or whose project is deleted, while its caller waits gets nothing", async () => {
  const { server, fill, waiting } = await startHeld(120_000);
  try {
    const revoked = await server.call("POST", "/v1/keys", { name: "revoked", scopes: ["*"] });
    const project = await server.call("POST", "/v1/projects", { name: "deleted" });
    const ofDeleted = { name: "deleted", scopes: ["*"], projectId: project.body.id };
    const orphaned = await server.call("POST", "/v1/keys", ofDeleted);
    const { whole, streams } = await routesOf(server);
    const { filling, letGo } = await fill();
    // chats belong to the default project
    const open = whole.filter(([path]) => !path.includes("/chats/"));
    const calls = [revoked, orphaned].flatMap(({ body: { key } }) =>
      open.map(([path, body]) => server.send(post(path, body, { key }))),
    );
    const stream = await server.service.handle(post(...streams[0], { key: revoked.body.key }));
    const event = new EventReader(stream).next();
    await waiting(calls.length + 1);
    expect((await server.call("DELETE", `/v1/keys/${revoked.body.id}`)).status).toBe(204);
    expect((await server.call("DELETE", `/v1/projects/${project.body.id}`)).status).toBe(204);
    letGo();
    for (const { status, body } of await Promise.all(calls)) {
      expect([status, body.error?.code]).toEqual([401, "invalid_api_key"]);
    }
    expect(await event).toMatchObject({ name: "error", data: { error: { code: "invalid_api_key" } } });
    await Promise.all(filling);
  } finally {
    await server.stop();
  }
});

test("a stop refuses those who wait", async () => {
  const { server, fill, waiting } = await startHeld(120_000);
  const callers = new AbortController();
  const { filling, letGo } = await fill(callers.signal);
  const late = server.call("POST", "/v1/memories/search", FAST);
  await waiting(1);
  const stopped = server.stop();
  const { status, body } = await late;
  expect([status, body.error.code]).toEqual([503, "unavailable"]);
  callers.abort();
  letGo();
  await Promise.all([...filling, stopped]);
});
