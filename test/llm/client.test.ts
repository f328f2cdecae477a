// A language model call ends with an answer or an error in bounded time and memory, whatever the endpoint does.

import { afterEach, describe, expect, test } from "bun:test";
import { countCalls } from "../../src/adapters/llm/call-metrics.ts";
import { requestHeaders } from "../../src/adapters/llm/client.ts";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { Metrics } from "../../src/metrics.ts";
import type { LlmAnswer, LlmRequest } from "../../src/ports/language-model.ts";
import { answering, listen, type Respond } from "../outbound/receiver.ts";
import {
  delta,
  endless,
  event,
  hanging,
  type LlmAnswering,
  type LlmStub,
  stalling,
  startLlm,
  status,
  streamed,
} from "../support/llm.ts";
import { until } from "../support/until.ts";
import { failureOf, model, NEVER, PATIENT, QUICK, rawEndpoint, request, SECRET, STALLED } from "./client-helpers.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const SCHEMA = { name: "memory", schema: { type: "object", properties: { title: { type: "string" } } } };

function stub(how?: LlmAnswering): LlmStub {
  const llm = startLlm(how);
  cleanups.push(() => llm.stop());
  return llm;
}

async function receive(respond: Respond) {
  const receiver = await rawEndpoint(respond);
  cleanups.push(() => receiver.close());
  return receiver;
}

const ask = (how: LlmAnswering, more: Partial<LlmRequest> = {}, timeouts = PATIENT): Promise<LlmAnswer> =>
  model({ timeouts }).complete(request(stub(how).baseUrl, more), NEVER);

describe("a request", () => {
  test("is a chat completion at the base address, with model, messages, limits and key", async () => {
    const llm = stub();
    await model().complete(request(`${llm.baseUrl}/?api-version=2#here`, { schema: SCHEMA }), NEVER);
    const [call] = llm.calls;
    expect(call?.path).toBe("/v1/chat/completions?api-version=2");
    expect(call?.headers.get("authorization")).toBe(`Bearer ${SECRET}`);
    expect(call?.body).toEqual({
      model: "small",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello?" },
      ],
      max_tokens: 100,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
      response_format: { type: "json_schema", json_schema: { ...SCHEMA, strict: true } },
    } as never);
  });

  test("sends the key in the header that the endpoint expects: Azure's own one, except for directory tokens", () => {
    const headers = (host: string, apiKey: string) => {
      const { endpoint } = request(`https://${host}/v1`, {}, { apiKey });
      const { authorization, "api-key": key } = requestHeaders(endpoint, new URL(endpoint.baseUrl));
      return { authorization, key };
    };
    const token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln";
    for (const host of ["a.openai.azure.com", "a.cognitiveservices.azure.com", "A.Services.AI.Azure.com"]) {
      expect(headers(host, SECRET)).toEqual({ authorization: undefined, key: SECRET });
      expect(headers(host, token)).toEqual({ authorization: `Bearer ${token}`, key: undefined });
    }
    for (const host of ["api.openai.com", "openai.azure.com.example", "openai.azure.com", "127.0.0.1:11434"]) {
      expect(headers(host, SECRET)).toEqual({ authorization: `Bearer ${SECRET}`, key: undefined });
    }
  });

  test("has no authorisation header without a key", async () => {
    const llm = stub();
    await model().complete(request(llm.baseUrl, {}, { apiKey: null }), NEVER);
    expect(llm.calls[0]?.headers.has("authorization")).toBe(false);
  });
});

describe("an answer is parsed", () => {
  const whole = (content: unknown, more: object = {}) => ({ choices: [{ index: 0, message: { content } }], ...more });
  const usage = { prompt_tokens: 7, completion_tokens: 3 };
  const text = (body: string) => () => new Response(body, { headers: { "content-type": "text/plain" } });
  const ended = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] });
  const cases: readonly (readonly [name: string, how: LlmAnswering])[] = [
    ["as a stream", () => streamed(["Grüß", " dich 😀"], { prompt: 7, completion: 3 })],
    ["as one JSON object", () => Response.json(whole("Grüß dich 😀", { usage }))],
    ["as one JSON object under another type", text(JSON.stringify(whole("Grüß dich 😀", { usage })))],
    ["in parts of content", () => Response.json(whole([{ text: "Grüß " }, { text: "dich 😀" }], { usage }))],
    [
      "with comments, CRLF, other fields, no space after data, and usage in every event",
      text(
        [
          ": wait\r\n\r\n",
          `event: x\r\nid: 1\r\ndata:${JSON.stringify({ ...delta("Grüß "), usage })}\r\n\r\n`,
          `data: ${JSON.stringify({ ...delta("dich 😀"), usage })}\r\n\r\n`,
          "data: [DONE]\r\n\r\n",
        ].join(""),
      ),
    ],
    ["without [DONE]", text([event(ended("Grüß dich 😀")), event({ usage, choices: [] })].join(""))],
    ["without an end to its last event", text(event({ ...ended("Grüß dich 😀"), usage }).trimEnd())],
    [
      "over a connection that stays open after [DONE]",
      stalling([event({ ...delta("Grüß dich 😀"), usage }), event("[DONE]")].join("")),
    ],
    ["over a connection that stalls after the finish reason", stalling(event({ ...ended("Grüß dich 😀"), usage }))],
  ];
  for (const [name, how] of cases) {
    test(name, async () => {
      expect(await ask(how)).toEqual({ text: "Grüß dich 😀", usage: { prompt: 7, completion: 3 } });
    });
  }

  test("byte by byte", async () => {
    const bytes = Buffer.from([event(delta("Grüß ")), event({ ...delta("dich 😀"), usage }), event("[DONE]")].join(""));
    const { baseUrl } = await receive((socket) => {
      socket.setNoDelay(true);
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
      for (const byte of bytes) socket.write(Uint8Array.of(byte));
      socket.end();
    });
    expect((await model().complete(request(baseUrl), NEVER)).text).toBe("Grüß dich 😀");
  });

  test("and its tokens are estimated if the endpoint reports none or implausible ones", async () => {
    const estimated = { prompt: 6, completion: 2 };
    expect((await ask(() => streamed(["eight by"]))).usage).toEqual(estimated);
    for (const count of [-1, 1.5, 1e300, "7", null]) {
      const counts = { prompt_tokens: count, completion_tokens: 1 };
      const how = () => Response.json({ choices: [{ message: { content: "eight by" } }], usage: counts });
      expect((await ask(how)).usage).toEqual(estimated);
    }
  });
});

describe("an endpoint that refuses a field", () => {
  /** Answers with an error for requests for which `refuses` returns a reason. */
  const refusing = (refuses: (body: Readonly<Record<string, unknown>>) => string | null, code = 400): LlmAnswering => {
    return ({ body }) => {
      const message = refuses(body);
      return message === null ? streamed(["fine"]) : Response.json({ error: { message } }, { status: code });
    };
  };
  const cases: readonly (readonly [name: string, how: LlmAnswering])[] = [
    ["a schema", refusing((body) => (body.response_format === undefined ? null : "response_format?"))],
    ["a schema, by 422", refusing((body) => (body.response_format === undefined ? null : "no"), 422)],
    ["a schema, with an empty error body", refusing((body) => (body.response_format === undefined ? null : ""))],
    ["stream options", refusing((body) => (body.stream_options === undefined ? null : "stream_options"))],
    ["a temperature", refusing((body) => (body.temperature === undefined ? null : "temperature is fixed"))],
    ["max_tokens", refusing((body) => (body.max_tokens === undefined ? null : "use max_completion_tokens"))],
    [
      "all of them",
      refusing((body) =>
        "response_format" in body || "stream_options" in body || "temperature" in body || "max_tokens" in body
          ? `temperature ${"max_tokens" in body ? "max_completion_tokens" : ""}`
          : null,
      ),
    ],
  ];
  for (const [name, how] of cases) {
    test(`${name}: is called again without it, and without it the next time`, async () => {
      const llm = stub(how);
      const client = model();
      const asked = request(llm.baseUrl, { schema: SCHEMA });
      expect((await client.complete(asked, NEVER)).text).toBe("fine");
      const before = llm.calls.length;
      expect(before).toBeGreaterThan(1);
      expect((await client.complete(asked, NEVER)).text).toBe("fine");
      expect(llm.calls.length).toBe(before + 1);
    });
  }

  test("that refuses every request is tried a few times only, and the next call has all fields again", async () => {
    const llm = stub(status(400, {}, { error: { message: "no", code: "content_filter" } }));
    const client = model();
    const failure = await failureOf(client.complete(request(llm.baseUrl, { schema: SCHEMA }), NEVER));
    expect(failure).toMatchObject({ reason: "refused", status: 400, isTransient: false });
    expect(failure.message).toContain("content_filter");
    expect(llm.calls.length).toBeLessThan(6);
    llm.answer(() => streamed(["fine"]));
    await client.complete(request(llm.baseUrl, { schema: SCHEMA }), NEVER);
    expect(llm.calls.at(-1)?.body.response_format).toBeDefined();
  });
});

describe("a failure has a reason", () => {
  const nested = `{"choices":${"[".repeat(100_000)}`;
  const cases: readonly (readonly [name: string, how: LlmAnswering, reason: string, isTransient: boolean])[] = [
    ["silence before the first byte", hanging, "timed_out", true],
    ["silence after the headers", stalling(""), "timed_out", true],
    ["silence in the middle", stalling(event(delta("half an ans"))), "timed_out", true],
    ["a stream without an end", endless(event(delta("and so on "))), "too_long", false],
    ["a comment without an end", endless(`:${"x".repeat(60_000)}\n`), "too_long", false],
    ["a line without an end", endless("x".repeat(60_000)), "too_long", false],
    ["a huge object", endless(`{"choices":[],${" ".repeat(60_000)}`), "too_long", false],
    ["an answer longer than requested", () => streamed(["long ".repeat(200)]), "too_long", false],
    [
      "an error in the middle",
      () => new Response(event(delta("a")) + event({ error: { type: "boom" } })),
      "failed",
      true,
    ],
    ["an HTML page", () => new Response("<html><body>Welcome</body></html>"), "malformed", false],
    ["nothing", () => new Response(""), "malformed", false],
    ["a list", () => Response.json([1, 2]), "malformed", false],
    ["half an object", () => new Response('{"choices":[{"message":'), "malformed", false],
    ["an object of another kind", () => Response.json({ data: [] }), "malformed", false],
    ["deep nesting", () => new Response(nested), "malformed", false],
    ["deep nesting in an event", () => new Response(`data: ${nested}\n\n`), "malformed", false],
    ["events that are not JSON", () => new Response(event("{oops")), "malformed", false],
    ["a compressed answer", () => compressed(), "malformed", false],
    ["status 500", status(500), "failed", true],
    ["status 503 with an HTML page", () => new Response("<html>", { status: 503 }), "failed", true],
    ["status 401", status(401, {}, { error: { message: `bad key ${SECRET}`, code: SECRET } }), "refused", false],
    ["status 404", status(404, {}, { error: { code: "model_not_found" } }), "refused", false],
    ["status 204", () => new Response(null, { status: 204 }), "refused", false],
    ["status 429", status(429, { "retry-after": "7" }), "rate_limited", true],
  ];
  for (const [name, how, reason, isTransient] of cases) {
    test(`${name}: ${reason}`, async () => {
      const client = model({ timeouts: reason === "timed_out" ? QUICK : PATIENT });
      const failure = await failureOf(client.complete(request(stub(how).baseUrl), NEVER));
      expect(failure).toMatchObject({ reason, isTransient });
    });
  }

  test("a key that no header can contain: refused, and nothing is sent", async () => {
    const llm = stub();
    for (const apiKey of ["line\nbreak", "nul\0", "ключ", "\ud800"]) {
      expect((await failureOf(model().complete(request(llm.baseUrl, {}, { apiKey }), NEVER))).reason).toBe("refused");
    }
    expect(llm.calls).toEqual([]);
  });

  test("a wait that the endpoint requests, in seconds or as a date", async () => {
    const clock = { ...systemClock, now: () => Date.parse("2026-11-21T12:00:00Z") };
    const asked = async (header: string) => {
      const llm = stub(status(429, { "retry-after": header }));
      return (await failureOf(model({ clock }).complete(request(llm.baseUrl), NEVER))).retryAfterMs;
    };
    expect(await asked("7")).toBe(7_000);
    expect(await asked("Sat, 21 Nov 2026 12:01:00 GMT")).toBe(60_000);
    for (const nonsense of ["soon", "-1", "Sat, 21 Nov 2020 12:01:00 GMT"]) expect(await asked(nonsense)).toBeNull();
  });

  test("an endless slow stream: the timeout for the whole call ends it", async () => {
    const { baseUrl } = await receive((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const timer = setInterval(() => socket.write(": still here\n\n"), 20);
      socket.on("close", () => clearInterval(timer));
    });
    const timeouts = { ...PATIENT, totalMs: 600 };
    const failure = await failureOf(model({ timeouts }).complete(request(baseUrl), NEVER));
    expect(failure).toMatchObject({ reason: "timed_out", message: "the answer was not complete within 0.6 s" });
  });

  test("a redirect is not followed", async () => {
    const other = stub();
    const llm = stub(() => Response.redirect(`${other.baseUrl}/chat/completions`, 307));
    expect(await failureOf(model().complete(request(llm.baseUrl), NEVER))).toMatchObject({
      reason: "refused",
      status: 307,
    });
    expect(other.calls).toEqual([]);
  });

  test("no listener, a connection that closes before or within the answer, another protocol", async () => {
    const closed = await listen(answering(200));
    closed.close();
    const half = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const failures = await Promise.all(
      [
        `http://127.0.0.1:${closed.port}`,
        (await receive((socket) => socket.destroy())).baseUrl,
        (await receive((socket) => socket.end(half))).baseUrl,
        (await receive((socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n"))).baseUrl,
      ].map((baseUrl) => failureOf(model().complete(request(baseUrl), NEVER))),
    );
    expect(failures.map(({ reason }) => reason)).toEqual(["unreachable", "unreachable", "failed", "unreachable"]);
  });

  test("the caller's signal ends a call at once, and an aborted signal starts none", async () => {
    const llm = stub(hanging);
    const stop = new AbortController();
    const asked = failureOf(model().complete(request(llm.baseUrl), stop.signal));
    await until("the endpoint is asked", () => llm.calls.length === 1);
    stop.abort();
    expect((await asked).reason).toBe("stopped");
    expect((await failureOf(model().complete(request(llm.baseUrl), stop.signal))).reason).toBe("stopped");
    expect(llm.calls.length).toBe(1);
  });

  test("the tokens of an aborted answer are estimated; a refusal costs none", async () => {
    const broken = await failureOf(ask(stalling(event(delta("twelve bytes"))), {}, STALLED));
    expect(broken.usage).toEqual({ prompt: 6, completion: 3 });
    expect((await failureOf(ask(status(500)))).usage).toEqual({ prompt: 0, completion: 0 });
    expect((await failureOf(ask(hanging, {}, QUICK))).usage).toEqual({ prompt: 0, completion: 0 });
  });
});

describe("an untrusted endpoint", () => {
  const untrusted = { isTrusted: false };
  test("is called only at public addresses, under any name", async () => {
    const llm = stub();
    const port = new URL(llm.baseUrl).port;
    const resolve = async () => ["127.0.0.1"];
    for (const baseUrl of [
      llm.baseUrl,
      `http://127.1:${port}/v1`,
      `http://[::1]:${port}`,
      `http://a.example:${port}`,
    ]) {
      const failure = await failureOf(model({ resolve }).complete(request(baseUrl, {}, untrusted), NEVER));
      expect(failure.reason).toBe("unsafe_address");
    }
    for (const baseUrl of ["file:///etc/passwd", "http://user:pass@example.com", "nonsense"]) {
      const failure = await failureOf(model({ resolve }).complete(request(baseUrl, {}, untrusted), NEVER));
      expect(failure.reason).toBe("unsafe_address");
    }
    expect(llm.calls).toEqual([]);
  });

  test("may be an address that the operator allows", async () => {
    const llm = stub(() => streamed(["fine"]));
    const baseUrl = `http://llm.example:${new URL(llm.baseUrl).port}/v1`;
    const options = { allow: AllowList.parse("127.0.0.1"), resolve: async () => ["127.0.0.1"] };
    expect((await model(options).complete(request(baseUrl, {}, untrusted), NEVER)).text).toBe("fine");
  });
});

test("calls and tokens are counted by outcome", async () => {
  const metrics = new Metrics();
  const counted = countCalls(model(), metrics);
  const llm = stub(() => streamed(["fine"], { prompt: 40, completion: 2 }));
  await counted.complete(request(llm.baseUrl), NEVER);
  llm.answer(status(500));
  await failureOf(counted.complete(request(llm.baseUrl), NEVER));
  const lines = (await metrics.text()).split("\n");
  expect(lines).toContain('mneme_llm_calls_total{outcome="answered"} 1');
  expect(lines).toContain('mneme_llm_calls_total{outcome="failed"} 1');
  expect(lines).toContain('mneme_llm_tokens_total{kind="prompt"} 40');
  expect(lines).toContain('mneme_llm_tokens_total{kind="completion"} 2');
});

function compressed(): Response {
  const body = Bun.gzipSync(Buffer.from(event(delta("x"))));
  return new Response(body, { headers: { "content-encoding": "gzip" } });
}
