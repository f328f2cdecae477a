// The TypeScript client against servers that fail: repetitions, time limits, streams that break off, wrong answers,
// webhook messages. typescript-calls.test.ts calls a real server.

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import packageOfServer from "../../package.json" with { type: "json" };
import packageOfClient from "../../sdk/typescript/package.json" with { type: "json" };
import {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  InvalidAnswerError,
  InvalidRequestError,
  Mneme,
  MnemeError,
  NotFoundError,
  PermissionError,
  ProcessingError,
  RateLimitError,
  ServerError,
  StreamError,
  TimeoutError,
  VERSION,
  verifyWebhook,
  WaitTimeoutError,
  WebhookVerificationError,
} from "../../sdk/typescript/src/index.ts";
import { fault, json, memory, startFaultServer, startVanishingServer, stream } from "./faults.ts";

const server = startFaultServer();
afterAll(() => server.stop());
const mneme = new Mneme({ baseUrl: server.url, apiKey: "ctx_test" });
const once = new Mneme({ baseUrl: server.url, apiKey: "ctx_test", retriesMax: 0 });
beforeEach(() => server.answer(json(memory("mem_1"))));

/** What a promise rejects with. */
async function failure<T extends Error>(work: Promise<unknown>, kind: new (...args: never[]) => T): Promise<T> {
  const error = await work.then(
    () => new Error("it succeeded"),
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(kind);
  return error;
}

const TEXT = 'event: text\ndata: {"content":"Under the "}\n\n';
const REST =
  'event: text\ndata: {"content":"pot [1]."}\n\nevent: sources\ndata: []\n\nevent: usage\ndata: {"tokens_used":7,"answer_state":"not_found"}\n\n';
const DONE = "event: done\ndata: {}\n\n";

describe("settings", () => {
  test("the version is the server's", () => {
    expect([VERSION, packageOfClient.version]).toEqual([packageOfServer.version, packageOfServer.version]);
  });

  test("an address has http, no password, and /v1 once", async () => {
    for (const baseUrl of ["ftp://a", "nonsense", "http://a:b@c", "http://a/?b=c"]) {
      expect(() => new Mneme({ baseUrl, apiKey: "ctx_a" })).toThrow(MnemeError);
    }
    for (const end of ["", "/", "/v1", "/v1/"]) {
      await new Mneme({ baseUrl: server.url + end, apiKey: "ctx_a" }).memories.get("mem_1");
      expect(server.received.at(-1)?.target).toBe("/v1/memories/mem_1");
    }
    await new Mneme({ baseUrl: `${server.url}/mneme`, apiKey: "ctx_a" }).memories.get("mem_1");
    expect(server.received.at(-1)?.target).toBe("/mneme/v1/memories/mem_1");
  });

  test("a key is required, checked, and never shown", () => {
    const { MNEME_API_KEY } = process.env;
    delete process.env.MNEME_API_KEY;
    expect(() => new Mneme()).toThrow("MNEME_API_KEY");
    process.env.MNEME_API_KEY = "ctx_from-the-environment";
    expect(() => new Mneme()).not.toThrow();
    if (MNEME_API_KEY === undefined) delete process.env.MNEME_API_KEY;
    else process.env.MNEME_API_KEY = MNEME_API_KEY;
    expect(() => new Mneme({ apiKey: "ctx_a\nb" })).toThrow("characters");
    const shown = Bun.inspect(new Mneme({ apiKey: "ctx_secret" }), { depth: 10 });
    expect(shown).not.toContain("ctx_secret");
  });

  test("limits are checked", () => {
    for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31]) {
      expect(() => new Mneme({ apiKey: "ctx_a", timeoutMs })).toThrow("timeoutMs");
    }
    for (const retriesMax of [-1, 1.5]) {
      expect(() => new Mneme({ apiKey: "ctx_a", retriesMax })).toThrow("retriesMax");
    }
  });

  test("a request has the key, the version and the given id", async () => {
    await mneme.memories.get("mem/1 é", { requestId: "mine" });
    const { target, headers } = server.received[0] ?? { target: "", headers: new Headers() };
    expect(target).toBe("/v1/memories/mem%2F1%20%C3%A9");
    expect(headers.get("authorization")).toBe("Bearer ctx_test");
    expect(headers.get("user-agent")).toBe(`mneme-client-typescript/${VERSION}`);
    expect(headers.get("x-request-id")).toBe("mine");
  });
});

describe("errors", () => {
  test.each([
    [400, "invalid_request", InvalidRequestError],
    [401, "invalid_api_key", AuthenticationError],
    [403, "insufficient_scope", PermissionError],
    [404, "memory_not_found", NotFoundError],
    [409, "external_id_conflict", ConflictError],
    [413, "payload_too_large", InvalidRequestError],
    [415, "unsupported_media_type", InvalidRequestError],
    [422, "something_new", InvalidRequestError],
    [429, "document_quota_exceeded", RateLimitError],
    [418, "teapot", ApiError],
    [502, "llm_error", ServerError],
  ] as const)("%i %s is of its class, and is not repeated", async (status, code, kind) => {
    server.answer(fault(status, code, { param: "content" }));
    const error = await failure(mneme.memories.add("a text"), kind as typeof ApiError);
    expect(error).toMatchObject({ status, code, requestId: "req-1", param: "content", retryAfterSeconds: null });
    expect(error.message).toContain(`planned ${code}`);
    expect(server.received).toHaveLength(1);
  });

  test("an error of OpenAI's form has its code, too", async () => {
    const error = { message: "no such model", type: "invalid_request_error", param: "model", code: "model_not_found" };
    server.answer(() => Response.json({ error }, { status: 404, headers: { "x-request-id": "req-2" } }));
    const found = await failure(mneme.models.get("gpt"), NotFoundError);
    expect(found).toMatchObject({ status: 404, code: "model_not_found", param: "model", requestId: "req-2" });
  });

  test("a proxy's error page is quoted in part", async () => {
    server.answer(() => new Response(`<h1>Bad gateway</h1>${"x".repeat(10_000)}`, { status: 502 }));
    const error = await failure(once.memories.get("mem_1"), ServerError);
    expect(error).toMatchObject({ status: 502, code: "unknown", requestId: null });
    expect(error.message).toContain("Bad gateway");
    expect(error.message.length).toBeLessThan(400);
  });

  test("an answer that is not JSON, or a redirect, is an error", async () => {
    server.answer(() => new Response("<html>", { headers: { "content-type": "application/json" } }));
    await failure(mneme.memories.get("mem_1"), InvalidAnswerError);
    server.answer(() => Response.redirect("http://127.0.0.1:1/", 302));
    await failure(once.memories.get("mem_1"), ConnectionError);
  });

  test("a server that is not there is named", async () => {
    const gone = startFaultServer();
    await gone.stop();
    const error = await failure(
      new Mneme({ baseUrl: gone.url, apiKey: "ctx_a", retriesMax: 1 }).memories.get("mem_1"),
      ConnectionError,
    );
    expect(error.message).toContain(gone.url);
  });
});

describe("repetitions", () => {
  const RATE = fault(429, "rate_limit_exceeded", {}, { "retry-after": "0" });
  const BUSY = fault(503, "overloaded", { retry_after_seconds: 0 });

  test("a write is repeated under one Idempotency-Key of its own", async () => {
    server.answer(fault(500, "internal_error"), BUSY, json(memory("mem_1"), 202));
    expect((await mneme.memories.add("a text")).id).toBe("mem_1");
    const keys = server.received.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    await mneme.memories.add("a text");
    expect(server.received.at(-1)?.headers.get("idempotency-key")).not.toBe(keys[0] ?? "");
    await mneme.memories.add("a text", { idempotencyKey: "mine" });
    expect(server.received.at(-1)?.headers.get("idempotency-key")).toBe("mine");
  });

  test("Retry-After is waited for, and no longer than it says plus a quarter", async () => {
    server.answer(fault(429, "rate_limit_exceeded", {}, { "retry-after": "1" }), json(memory("mem_1")));
    const begun = performance.now();
    await mneme.memories.get("mem_1");
    expect(performance.now() - begun).toBeGreaterThanOrEqual(1_000);
    expect(server.received).toHaveLength(2);
  });

  test("an hour of Retry-After, or a quota without it, is an error at once", async () => {
    server.answer(fault(429, "query_quota_exceeded", {}, { "retry-after": "3600" }));
    const error = await failure(mneme.memories.query("where?"), RateLimitError);
    expect(error.retryAfterSeconds).toBe(3_600);
    expect(server.received).toHaveLength(1);
    server.answer(fault(429, "storage_quota_exceeded"));
    await failure(mneme.memories.add("a text"), RateLimitError);
    expect(server.received).toHaveLength(1);
  });

  test("at most retriesMax times", async () => {
    server.answer(RATE);
    await failure(mneme.memories.get("mem_1"), RateLimitError);
    expect(server.received).toHaveLength(3);
    server.answer(RATE);
    await failure(mneme.memories.get("mem_1", { retriesMax: 4 }), RateLimitError);
    expect(server.received).toHaveLength(5);
  });

  test("a query is repeated only if the server did nothing", async () => {
    server.answer(BUSY, RATE, json({ answer: "a", sources: [], usage: { tokens_used: 0 } }));
    expect((await mneme.memories.query("where?")).answer).toBe("a");
    server.answer(fault(500, "internal_error"));
    await failure(mneme.memories.query("where?"), ServerError);
    expect(server.received).toHaveLength(1);
    server.answer(fault(504, "llm_timeout"));
    await failure(mneme.memories.add("a text"), ServerError);
    expect(server.received).toHaveLength(1);
  });

  test("a first attempt that still runs is waited for", async () => {
    server.answer(fault(500, "internal_error"), fault(409, "idempotency_conflict"), json(memory("mem_1"), 202));
    expect((await mneme.memories.add("a text")).id).toBe("mem_1");
    server.answer(fault(409, "idempotency_conflict"));
    await failure(mneme.memories.add("another", { idempotencyKey: "mine" }), ConflictError);
    expect(server.received).toHaveLength(1);
  });

  test("a deletion that a lost answer hid is a success, a deletion of nothing is not", async () => {
    server.answer(fault(500, "internal_error"), fault(404, "memory_not_found"));
    await mneme.memories.delete("mem_1");
    server.answer(fault(404, "memory_not_found"));
    await failure(mneme.memories.delete("mem_1"), NotFoundError);
  });

  test("an attempt that takes too long is ended, and a signal ends the call", async () => {
    const never = () => new Promise<Response>(() => undefined);
    server.answer(never, json(memory("mem_1")));
    expect((await mneme.memories.get("mem_1", { timeoutMs: 2_000 })).id).toBe("mem_1");
    server.answer(never);
    await failure(once.memories.get("mem_1", { timeoutMs: 50 }), TimeoutError);
    const controller = new AbortController();
    const call = mneme.memories.get("mem_1", { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    expect(server.received.length).toBeLessThanOrEqual(2);
  });
});

describe("waiting", () => {
  test("looks until the memory is searchable", async () => {
    const processing = json(memory("mem_1", "processing"), 202);
    server.answer(processing, processing, processing, json(memory("mem_1")));
    expect((await mneme.memories.add("a text", { wait: true })).status).toBe("completed");
    expect(server.received.map(({ method }) => method)).toEqual(["POST", "GET", "GET", "GET"]);
  });

  test("ends with the memory's error, or after waitTimeoutMs", async () => {
    server.answer(json(memory("mem_1", "processing"), 202), json(memory("mem_1", "failed")));
    const failed = await failure(mneme.memories.add("a text", { wait: true }), ProcessingError);
    expect(failed.message).toContain("The file is damaged.");
    expect(failed.memory.status).toBe("failed");
    server.answer(json(memory("mem_1", "processing"), 202));
    const late = await failure(mneme.memories.add("a text", { wait: true, waitTimeoutMs: 100 }), WaitTimeoutError);
    expect(late.memory.id).toBe("mem_1");
  });
});

describe("lists", () => {
  const page = (from: number, cursor: string | null) =>
    json({ data: [memory(`mem_${from}`), memory(`mem_${from + 1}`)], has_more: cursor !== null, cursor });

  test("are read page by page, no further than the loop goes", async () => {
    server.answer(page(0, "c1"), page(2, "c2"), page(4, null));
    const ids: string[] = [];
    for await (const { id } of mneme.memories.list({ limit: 2, tag: "a b" })) ids.push(id);
    expect(ids).toEqual(["mem_0", "mem_1", "mem_2", "mem_3", "mem_4", "mem_5"]);
    expect(server.received.map(({ target }) => target)).toEqual([
      "/v1/memories?limit=2&tag=a%20b",
      "/v1/memories?limit=2&tag=a%20b&cursor=c1",
      "/v1/memories?limit=2&tag=a%20b&cursor=c2",
    ]);
    server.answer(page(0, "c1"), page(2, null));
    expect(await mneme.memories.list().take(1)).toHaveLength(1);
    expect(server.received).toHaveLength(1);
    expect(await mneme.memories.list().take(0)).toEqual([]);
    expect((await mneme.memories.list().page("c1")).data).toHaveLength(2);
  });

  test("that never end are refused", async () => {
    server.answer(page(0, "c1"));
    await failure(mneme.memories.list().take(100), InvalidAnswerError);
  });

  test("of huge pages arrive whole", async () => {
    const large = { ...memory("mem_1"), content: "ü".repeat(2_000_000) };
    server.answer(json({ data: Array.from({ length: 10 }, () => large), has_more: false, cursor: null }));
    const found = await mneme.memories.list().take(100);
    expect(found).toHaveLength(10);
    expect(found[9]?.content).toHaveLength(2_000_000);
  });
});

describe("streams", () => {
  test("give events as they come, in any framing, without comments and unknown events", async () => {
    const framed = `: keep-alive\n\n${TEXT}event: thinking\ndata: {}\n\n${REST}${DONE}`.replaceAll("\n", "\r\n");
    server.answer(stream(framed));
    const events = [];
    const answer = await mneme.memories.queryStream("where?");
    expect(answer.requestId).toBe("req-1");
    for await (const { event } of answer) events.push(event);
    expect(events).toEqual(["text", "text", "sources", "usage", "done"]);
    await expect(answer.result()).rejects.toThrow("once");
    expect(JSON.parse(server.received[0]?.body ?? "")).toEqual({ query: "where?", stream: true });
    server.answer(stream(TEXT + REST + DONE));
    const whole = await (await mneme.chats.stream("chat_1", "where?")).result();
    const state = { answer_state: "not_found" } as const;
    expect(whole).toEqual({ answer: "Under the pot [1].", ...state, sources: [], usage: { tokens_used: 7 } });
    expect(server.received[0]?.headers.get("idempotency-key")).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    ["closes early", TEXT + REST],
    ["ends within an event", `${TEXT}event: text\ndata: {"con`],
    ["has a damaged event", `${TEXT}event: text\ndata: {"con\n\n${DONE}`],
    ["has an event without its fields", `${TEXT}event: text\ndata: {}\n\n${DONE}`],
    ["has null as data", `${TEXT}event: usage\ndata: null\n\n${DONE}`],
  ] as const)("an answer that %s is an error with the text so far", async (_, text) => {
    server.answer(stream(text));
    const error = await failure((await mneme.memories.queryStream("where?")).result(), StreamError);
    expect(error.textSoFar).toStartWith("Under the ");
    expect(server.received).toHaveLength(1);
  });

  test("a server that goes away leaves the text so far", async () => {
    const vanishing = startVanishingServer(TEXT);
    const client = new Mneme({ baseUrl: vanishing.url, apiKey: "ctx_a" });
    const read = async () => {
      for await (const { event } of await client.memories.queryStream("where?")) {
        expect(event).toBe("text");
        vanishing.vanish();
      }
    };
    expect((await failure(read(), StreamError)).textSoFar).toBe("Under the ");
  });

  test("a failure that the server reports is that error", async () => {
    const error = { code: "llm_timeout", message: "too slow", status: 504, request_id: "req-9" };
    server.answer(stream(`${TEXT}event: error\ndata: ${JSON.stringify({ error })}\n\n`));
    const found = await failure((await mneme.memories.queryStream("where?")).result(), ServerError);
    expect(found).toMatchObject({ code: "llm_timeout", status: 504 });
  });

  test("a refusal before the first event is an ordinary error, and JSON is no stream", async () => {
    server.answer(fault(400, "invalid_filter", { param: "filters" }));
    await failure(mneme.memories.queryStream("where?", { filters: { a: 1 } }), InvalidRequestError);
    server.answer(json({}));
    await failure(mneme.memories.queryStream("where?"), InvalidAnswerError);
  });

  test("completions give chunks until [DONE]", async () => {
    const chunk = (delta: object) => `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta }] })}\n\n`;
    const completion = { model: "mneme" as const, messages: [{ role: "user" as const, content: "where?" }] };
    server.answer(stream(`${chunk({ content: "Under" })}${chunk({ content: " it" })}data: [DONE]\n\n`));
    let text = "";
    for await (const { choices } of await mneme.completions.stream(completion)) text += choices[0]?.delta.content;
    expect(text).toBe("Under it");
    const read = async () => {
      for await (const each of await mneme.completions.stream(completion)) expect(each.id).toBe("c");
    };
    for (const broken of [chunk({ content: "a" }), `${chunk({ content: "a" })}data: {"id": 3}\n\n`]) {
      server.answer(stream(broken));
      expect((await failure(read(), StreamError)).textSoFar).toBe("a");
    }
    server.answer(stream(`data: {"error":{"message":"no","type":"server_error","code":"llm_error","param":null}}\n\n`));
    expect((await failure(read(), ServerError)).code).toBe("llm_error");
  });

  test("leaving the loop, or a signal, ends the connection", async () => {
    let hasEnded = Promise.withResolvers<void>();
    const endless = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(TEXT)),
        cancel: () => hasEnded.resolve(),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    server.answer(endless);
    for await (const { event } of await mneme.memories.queryStream("where?")) {
      expect(event).toBe("text");
      break;
    }
    await hasEnded.promise;
    hasEnded = Promise.withResolvers<void>();
    const controller = new AbortController();
    const answer = await mneme.memories.queryStream("where?", {}, { signal: controller.signal });
    const rest = answer.result();
    controller.abort();
    await expect(rest).rejects.toThrow();
    await hasEnded.promise;
  });
});

describe("uploads", () => {
  test("send attributes in the server's form, and report their progress", async () => {
    server.answer(json(memory("mem_1"), 202));
    const steps: number[] = [];
    let total = 0;
    const file = new Blob(["x".repeat(3_000_000)], { type: "text/plain" });
    const attributes = { tags: ["a", "b"], metadata: { n: 1 }, title: null, userId: "ada" };
    await mneme.memories.upload(file, attributes, {
      filename: "x.txt",
      onProgress: ({ sentBytes, totalBytes }) => {
        steps.push(sentBytes);
        total = totalBytes;
      },
    });
    const { body, headers } = server.received[0] ?? { body: "", headers: new Headers() };
    expect(headers.get("content-type")).toStartWith("multipart/form-data; boundary=");
    for (const part of ['name="tags"\r\n\r\n["a","b"]', 'name="metadata"\r\n\r\n{"n":1}', 'filename="x.txt"']) {
      expect(body).toContain(part);
    }
    expect(body).not.toContain('name="title"');
    expect(steps[0]).toBe(0);
    expect(steps.at(-1)).toBe(total);
    expect(steps.length).toBeGreaterThan(2);
    expect(total).toBeGreaterThan(3_000_000);
  });

  test("are repeated whole", async () => {
    server.answer(fault(503, "overloaded", { retry_after_seconds: 0 }), json(memory("mem_1"), 202));
    await mneme.memories.upload(new File(["hello"], "a.txt"), {}, { onProgress: () => undefined });
    expect(server.received.map(({ body }) => body.includes("hello"))).toEqual([true, true]);
  });
});

/** XMLHttpRequest as the client uses it, on `fetch`. */
class BrowserRequest {
  readonly upload: { onprogress?: (event: { loaded: number; total: number }) => void } = {};
  onload?: () => void;
  onerror?: () => void;
  onabort?: () => void;
  onloadend?: () => void;
  responseType = "";
  response: unknown = null;
  status = 0;
  readonly #headers = new Headers();
  #answerHeaders = "";
  #target: [method: string, url: string] = ["", ""];
  #isAborted = false;

  open(method: string, url: string): void {
    this.#target = [method, url];
  }
  setRequestHeader(name: string, value: string): void {
    this.#headers.set(name, value);
  }
  getAllResponseHeaders(): string {
    return this.#answerHeaders;
  }
  abort(): void {
    this.#isAborted = true;
    this.onabort?.();
    this.onloadend?.();
  }
  send(body: Blob): void {
    const [method, url] = this.#target;
    this.upload.onprogress?.({ loaded: body.size, total: body.size });
    fetch(url, { method, headers: this.#headers, body }).then(
      async (answer) => {
        this.#answerHeaders = [...answer.headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
        this.response = await answer.arrayBuffer();
        this.status = answer.status;
        if (this.#isAborted) return;
        this.onload?.();
        this.onloadend?.();
      },
      () => {
        this.onerror?.();
        this.onloadend?.();
      },
    );
  }
}

describe("uploads in a browser", () => {
  const names = globalThis as { XMLHttpRequest?: unknown };
  beforeEach(() => {
    names.XMLHttpRequest = BrowserRequest;
  });
  afterEach(() => {
    delete names.XMLHttpRequest;
  });
  const upload = (client: Mneme, steps: number[], signal?: AbortSignal) =>
    client.memories.upload(
      new File(["hello"], "a.txt"),
      {},
      { onProgress: ({ sentBytes }) => steps.push(sentBytes), signal },
    );

  test("report the progress of XMLHttpRequest, and their failures are those of other calls", async () => {
    const steps: number[] = [];
    server.answer(fault(503, "overloaded", { retry_after_seconds: 0 }), json(memory("mem_1"), 202));
    expect((await upload(mneme, steps)).id).toBe("mem_1");
    expect(steps.map((step) => step > 0)).toEqual([false, true, false, true]);
    expect(server.received[0]?.headers.get("authorization")).toBe("Bearer ctx_test");
    server.answer(fault(415, "unsupported_media_type"));
    expect((await failure(upload(mneme, []), InvalidRequestError)).requestId).toBe("req-1");
    const gone = startFaultServer();
    await gone.stop();
    await failure(upload(new Mneme({ baseUrl: gone.url, apiKey: "ctx_a", retriesMax: 0 }), []), ConnectionError);
  });

  test("can be ended", async () => {
    const controller = new AbortController();
    server.answer(() => {
      controller.abort(new Error("enough"));
      return new Promise<Response>(() => undefined);
    });
    await expect(upload(mneme, [], controller.signal)).rejects.toThrow("enough");
  });
});

describe("webhook messages", () => {
  const secret = `whsec_${Buffer.from("a secret of some length").toString("base64")}`;
  const body = JSON.stringify({
    type: "webhook.test",
    timestamp: "2026-11-23T10:00:00Z",
    data: { webhook_id: "wh_1" },
  });
  const sentAt = new Date("2026-11-23T10:00:00Z");
  const now = sentAt.getTime() + 20_000;
  const headers = {
    "webhook-id": "dlv_1",
    "webhook-timestamp": String(sentAt.getTime() / 1_000),
    "webhook-signature": new Webhook(secret).sign("dlv_1", sentAt, body),
  };

  test("of the server are read, in every form of headers and body", async () => {
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const given of [headers, new Headers(headers), upper]) {
      const message = await verifyWebhook(new TextEncoder().encode(body), given, secret, { now });
      expect(message).toEqual(JSON.parse(body));
    }
    const two = { ...headers, "webhook-signature": `v1,AAAA v1a,x ${headers["webhook-signature"]}` };
    const other = `whsec_${Buffer.from("another").toString("base64")}`;
    expect((await verifyWebhook(body, two, [other, secret], { now })).type).toBe("webhook.test");
  });

  test("that are changed, foreign, old or incomplete are refused", async () => {
    const other = `whsec_${Buffer.from("another").toString("base64")}`;
    const refused = (given: Record<string, string>, text = body, key = secret, at = now) =>
      failure(verifyWebhook(text, given, key, { now: at }), WebhookVerificationError);
    await refused(headers, `${body} `);
    await refused(headers, body, other);
    await refused({ ...headers, "webhook-id": "dlv_2" });
    await refused({ ...headers, "webhook-signature": "v1,***" });
    await refused({ ...headers, "webhook-signature": "" });
    await refused({ ...headers, "webhook-timestamp": "soon" });
    expect((await refused(headers, body, secret, now + 300_000)).message).toContain("s old");
    await refused(headers, body, secret, now - 600_000);
    await refused(headers, body, "whsec_");
    expect(
      (await verifyWebhook(body, headers, secret, { now: now + 300_000, toleranceSeconds: 400 })).type,
    ).toBeString();
  });
});
