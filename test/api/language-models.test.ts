// Language models of a project through the whole server: providers, fallbacks, the monthly limit, and the test of a
// model.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { LLM_PROVIDERS } from "../../src/domain/project.ts";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { WIRES, wireAnswer } from "../llm/wires.ts";
import { DESCRIPTION, type LlmAnswering, type LlmStub, startLlm, status, streamed } from "../support/llm.ts";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const ANSWER = "The kettle is red [1].";
const QUESTION = { query: "What colour is the kettle?" };
const MONTH_MS = 32 * 24 * 60 * 60 * 1_000;

const clock = new SettableClock();
let mneme: TestService;
let first: LlmStub;
let second: LlmStub;
const good: LlmAnswering = () => streamed([ANSWER], { prompt: 40, completion: 2 });
beforeAll(async () => {
  [first, second] = [startLlm(good), startLlm(good)];
  mneme = await startService({ clock, ports: WORD_PORTS });
});
beforeEach(() => {
  for (const llm of [first, second]) {
    llm.answer(good);
    llm.forget();
  }
});
afterAll(async () => {
  await mneme.stop();
  await Promise.all([first.stop(), second.stop()]);
});

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
/** A project with these settings and a memory about a kettle. */
async function project(llm: object): Promise<{ readonly id: string; readonly key: Record<string, string> }> {
  const settings = { name: "p", llm, smart_ingestion: { enabled: false }, min_evidence: 0 };
  const { status, body } = await mneme.call("POST", "/v1/projects", settings);
  expect(status).toBe(201);
  const key = bearer(body.key);
  const memory = await mneme.call("POST", "/v1/memories", { content: "The kettle in the kitchen is red." }, key);
  await settled(memory.body.id, key);
  return { id: body.id, key };
}
async function settled(id: string, key: Record<string, string>) {
  let memory = await mneme.call("GET", `/v1/memories/${id}`, undefined, key);
  await until("the memory is processed", async () => {
    memory = await mneme.call("GET", `/v1/memories/${id}`, undefined, key);
    return memory.body.status !== "processing";
  });
  return memory.body;
}
const ask = (key: Record<string, string>) => mneme.call("POST", "/v1/memories/query", QUESTION, key);
const tested = (key: Record<string, string>, query = "", body?: object) =>
  mneme.call("POST", `/v1/project/llm/test${query}`, body, key);
const tokensOf = async (key: Record<string, string>) =>
  (await mneme.call("GET", "/v1/usage", undefined, key)).body.tokens;

describe("a question", () => {
  for (const provider of LLM_PROVIDERS) {
    test(`is answered by ${provider}, as a whole and as a stream, and its tokens are counted`, async () => {
      const wire = WIRES[provider];
      first.answer(
        () =>
          new Response(wireAnswer(wire, ["The kettle ", "is red [1]."], { usage: { prompt: 40, completion: 2 } }), {
            headers: { "content-type": wire.contentType },
          }),
      );
      const { key } = await project({ provider, base_url: `${first.origin}${wire.basePath}`, model: "small" });
      const { status, body } = await ask(key);
      expect([status, body.answer, body.usage]).toEqual([200, ANSWER, { tokens_used: 42 }]);
      expect(first.calls.at(-1)?.path).toBe(wire.path);
      expect(await tokensOf(key)).toEqual({ prompt: 40, completion: 2 });
    });
  }

  test("of a chat keeps why it got no answer, whole or as a stream", async () => {
    const { key } = await project({ base_url: first.baseUrl, model: "one" });
    const { id } = (await mneme.call("POST", "/v1/chats", {}, key)).body;
    const body = { message: QUESTION.query };
    const send = () => mneme.call("POST", `/v1/chats/${id}/messages`, body, key);
    first.answer(status(401));
    expectFault(await send(), 502, "llm_error");
    const streamed = new Request(`http://test/v1/chats/${id}/messages/stream`, {
      ...{ method: "POST", body: JSON.stringify(body) },
      headers: { ...key, "content-type": "application/json" },
    });
    expect(await (await mneme.service.handle(streamed)).text()).toMatch(/event: error\n.*llm_error/);
    first.answer(good);
    expect((await send()).status).toBe(200);
    const { messages } = (await mneme.call("GET", `/v1/chats/${id}`, undefined, key)).body;
    const why = expect.stringContaining("check the API key");
    expect(messages.map(({ role, failure }: { role: string; failure?: string }) => [role, failure])).toEqual([
      ["user", why],
      ["user", why],
      ["user", undefined],
      ["assistant", undefined],
    ]);
  });

  test("is answered by the next model if the first one fails, and by the first one again when it works", async () => {
    const { key } = await project({
      ...{ base_url: first.baseUrl, model: "one", api_key: "sk-one" },
      fallbacks: [{ base_url: second.baseUrl, model: "two", api_key: "sk-two" }],
    });
    first.answer(status(500));
    expect((await ask(key)).body.answer).toBe(ANSWER);
    expect(second.calls[0]?.headers.get("authorization")).toBe("Bearer sk-two");
    second.answer(status(503));
    const failed = await ask(key);
    expectFault(failed, 502, "llm_error");
    expect(failed.body.error.message).toContain("status 500; fallback 1: the endpoint failed with status 503");
    first.answer(good);
    second.forget();
    expect((await ask(key)).status).toBe(200);
    expect(second.calls).toEqual([]);
  });

  test("fails with llm_error once the month's tokens are used, until the next month", async () => {
    const { key } = await project({ base_url: first.baseUrl, model: "one", monthly_token_limit: 42 });
    expect((await ask(key)).status).toBe(200);
    const calls = first.calls.length;
    const refused = await ask(key);
    expectFault(refused, 502, "llm_error");
    expect(refused.body.error.message).toContain("limit of 42 tokens per month is reached until");
    expect(first.calls.length).toBe(calls);
    const asked = { method: "POST", headers: { ...key, "content-type": "application/json" } };
    const body = JSON.stringify({ ...QUESTION, stream: true });
    const stream = await mneme.service.handle(new Request("http://test/v1/memories/query", { ...asked, body }));
    expect(await stream.text()).toMatch(/event: error\n.*llm_error/);
    clock.advance(MONTH_MS);
    expect((await ask(key)).status).toBe(200);
  });

  test("that is asked with others at the same time does not pass the month's limit together with them", async () => {
    const { key } = await project({ base_url: first.baseUrl, model: "one", monthly_token_limit: 100 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(key)));
    // 42 tokens each: the third begins at 84, as it would if they had come one after another
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    for (const refused of answers.filter(({ status }) => status !== 200)) expectFault(refused, 502, "llm_error");
    expect(await tokensOf(key)).toEqual({ prompt: 120, completion: 6 });
  });

  test("goes on with a fallback whose own limit is not reached, and not with one whose limit is", async () => {
    const limited = { base_url: second.baseUrl, model: "two", monthly_token_limit: 0 };
    const free = { base_url: second.baseUrl, model: "three" };
    const { key } = await project({ base_url: first.baseUrl, model: "one", fallbacks: [limited, free] });
    first.answer(status(500));
    expect((await ask(key)).status).toBe(200);
    expect(second.calls.map(({ body }) => body.model)).toEqual(["three"]);
  });
});

test("a memory is extracted locally once the month's tokens are used, and says so", async () => {
  first.answer(() => streamed([JSON.stringify(DESCRIPTION)], { prompt: 100, completion: 20 }));
  const { id, key } = await project({ base_url: first.baseUrl, model: "one", monthly_token_limit: 120 });
  await mneme.call("PUT", `/v1/projects/${id}`, { smart_ingestion: { enabled: true } });
  const extraction = async (content: string) => {
    const { body } = await mneme.call("POST", "/v1/memories", { content }, key);
    return (await settled(body.id, key)).extraction;
  };
  expect(await extraction("A first text about harbours.")).toBe("llm");
  const calls = first.calls.length;
  expect(await extraction("A second text about harbours.")).toBe("local");
  expect(first.calls.length).toBe(calls);
});

describe("settings", () => {
  test("of fallbacks come back without their keys, and are checked like those of the first model", async () => {
    const fallback = { provider: "ollama", base_url: "http://10.0.0.1:11434", model: "m", temperature: 0.5 };
    const { id, key } = await project({ fallbacks: [{ ...fallback, api_key: "sk-fallback" }] });
    const shown = await mneme.call("GET", "/v1/project", undefined, key);
    expect(shown.body.llm.fallbacks).toEqual([{ ...fallback, max_output_tokens: null, monthly_token_limit: null }]);
    expect(JSON.stringify(shown.body)).not.toContain("sk-");
    const change = (fallbacks: unknown, headers?: Record<string, string>) =>
      mneme.call("PUT", headers === undefined ? `/v1/projects/${id}` : "/v1/project", { llm: { fallbacks } }, headers);
    expect((await change([fallback], key)).status).toBe(200);
    const inner = { base_url: "http://169.254.169.254/" };
    expectFault(await change([fallback, inner], key), 400, "unsafe_url", "llm.fallbacks[1].base_url");
    expectFault(await change([{ base_url: "file:///etc/passwd" }]), 400, "unsafe_url", "llm.fallbacks[0].base_url");
    expect((await change([{}, {}, {}])).status).toBe(200);
    expectFault(await change([{}, {}, {}, {}]), 400, "invalid_request", "llm.fallbacks");
    expectFault(await change([{ fallbacks: [] }]), 400, "invalid_request", "llm.fallbacks[0].fallbacks");
    expectFault(await change([{ provider: "mistral" }]), 400, "invalid_request", "llm.fallbacks[0].provider");
  });

  test("of the monthly limit: each edge is accepted, one past it is 400", async () => {
    const { id } = await project({});
    const set = (monthly_token_limit: unknown) =>
      mneme.call("PUT", `/v1/projects/${id}`, { llm: { monthly_token_limit } });
    for (const edge of [0, Number.MAX_SAFE_INTEGER, null]) {
      expect((await set(edge)).body.llm.monthly_token_limit).toBe(edge);
    }
    for (const past of [-1, 1.5, "7"]) expectFault(await set(past), 400, "invalid_request", "llm.monthly_token_limit");
  });
});

describe("testLanguageModel", () => {
  test("200: each model that answers, with its provider and duration; its tokens count", async () => {
    const { key } = await project({
      ...{ base_url: first.baseUrl, model: "one" },
      fallbacks: [{ provider: "ollama", base_url: second.origin, model: "two" }],
    });
    second.answer(() => new Response(wireAnswer(WIRES.ollama, ["ready"], { usage: { prompt: 5, completion: 1 } })));
    const { status, body } = await tested(key);
    expect([status, body.ok, body.provider, body.model, body.message]).toEqual([
      ...[200, true, "openai", "one", "The language model answered."],
    ]);
    expect(body.ms).toBeGreaterThanOrEqual(0);
    expect(body.fallbacks).toMatchObject([{ ok: true, provider: "ollama", model: "two" }]);
    expect(await tokensOf(key)).toEqual({ prompt: 45, completion: 3 });
    expect((await mneme.call("GET", "/v1/usage", undefined, key)).body.queries.used).toBe(0);
  });

  test("200: why a model does not answer, in one sentence without its key", async () => {
    const { key } = await project({ provider: "anthropic", base_url: first.origin, model: "m", api_key: "sk-wrong" });
    first.answer(status(401, {}, WIRES.anthropic.refusal("authentication_error", "invalid x-api-key sk-wrong")));
    const { status: code, body } = await tested(key);
    expect([code, body.ok, body.provider]).toEqual([200, false, "anthropic"]);
    expect(body.message).toBe(
      "The language model did not answer: the endpoint refused the request with status 401 (authentication_error): check the API key.",
    );
    first.answer(() => new Response(wireAnswer(WIRES.anthropic, [], {})));
    expect((await tested(key)).body).toMatchObject({ ok: false, message: "The language model gave an empty answer." });
  });

  test("200: nothing is configured, and nothing is called beyond the monthly limit", async () => {
    const none = await project({});
    expect((await tested(none.key)).body).toMatchObject({ ok: false, provider: "openai", model: null, ms: 0 });
    const spent = await project({ base_url: first.baseUrl, model: "one", monthly_token_limit: 0 });
    expect((await tested(spent.key)).body.message).toContain("limit of 0 tokens per month");
    expect(first.calls).toEqual([]);
  });

  test("an operator tests any project; others only their own, with the scope project", async () => {
    const { id, key } = await project({ base_url: first.baseUrl, model: "one" });
    expect((await mneme.call("POST", `/v1/project/llm/test?projectId=${id}`)).body.model).toBe("one");
    const other = await project({});
    expectFault(await tested(other.key, `?projectId=${id}`), 403, "insufficient_scope", "projectId");
    expectFault(await tested(bearer(mneme.addKey(["memories:read"], id))), 403, "insufficient_scope");
    expectFault(await tested(bearer(mneme.addKey(["project"], id, { userId: "ada" }))), 403, "insufficient_scope");
    expect((await tested(key)).status).toBe(200);
  });

  test("200: settings in the body are tested and not stored, and a stored key goes to its own address only", async () => {
    const { id, key } = await project({ base_url: first.baseUrl, model: "one", api_key: "sk-first" });
    const body = { llm: { model: "two", fallbacks: [{ base_url: first.baseUrl, model: "three" }] } };
    const same = await tested(key, "", body);
    expect([same.body.model, same.body.fallbacks.map(({ model }: { model: string }) => model)]).toEqual([
      ...["two", ["three"]],
    ]);
    expect((await mneme.call("GET", "/v1/project", undefined, key)).body.llm).toMatchObject({
      ...{ model: "one", fallbacks: [] },
    });
    const elsewhere = { llm: { base_url: second.baseUrl, model: "two" } };
    second.answer(() => new Response(wireAnswer(WIRES.openai, ["ready"], { usage: { prompt: 5, completion: 1 } })));
    await mneme.call("POST", `/v1/project/llm/test?projectId=${id}`, elsewhere);
    expect(second.calls.length).toBe(1);
    expect(JSON.stringify(second.calls)).not.toContain("sk-first");
    expect(JSON.stringify(first.calls)).toContain("sk-first");
  });

  test("400: an address in the body that only an operator may choose is not called", async () => {
    const { key } = await project({ base_url: first.baseUrl, model: "one" });
    const inner = { llm: { base_url: "http://10.0.0.1/v1", model: "m" } };
    expectFault(await tested(key, "", inner), 400, "unsafe_url", "llm.base_url");
    const fallback = { llm: { fallbacks: [{ base_url: "http://10.0.0.1/v1", model: "m" }] } };
    expectFault(await tested(key, "", fallback), 400, "unsafe_url", "llm.fallbacks[0].base_url");
    expect(first.calls).toEqual([]);
  });

  test("follows no redirect", async () => {
    const redirecting = await project({ base_url: first.baseUrl, model: "m" });
    first.answer(status(302, { location: `${second.baseUrl}/chat/completions` }));
    expect((await tested(redirecting.key)).body.message).toContain("redirects are not followed");
    expect(second.calls).toEqual([]);
  });
});
