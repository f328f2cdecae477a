// Each provider is called in its documented form, and its answers are read whatever the endpoint does.

import { afterEach, describe, expect, test } from "bun:test";
import { Completion } from "../../src/adapters/llm/completion.ts";
import { PROTOCOLS } from "../../src/adapters/llm/protocols.ts";
import { LLM_PROVIDERS, type LlmProvider } from "../../src/domain/project.ts";
import { LlmError, type LlmRequest } from "../../src/ports/language-model.ts";
import { endless, hanging, type LlmAnswering, type LlmStub, stalling, startLlm, status } from "../support/llm.ts";
import { failureOf, model, NEVER, PATIENT, QUICK, request, SECRET, streamed } from "./client-helpers.ts";
import { WIRES, wireAnswer } from "./wires.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

function stub(how?: LlmAnswering): LlmStub {
  const llm = startLlm(how);
  cleanups.push(() => llm.stop());
  return llm;
}

const SCHEMA = { type: "object", properties: { title: { type: "string" } }, additionalProperties: false };
const USAGE = { prompt: 7, completion: 3 };

for (const provider of LLM_PROVIDERS) {
  const wire = WIRES[provider];
  const answer = (texts: readonly string[], body = wireAnswer(wire, texts, { usage: USAGE })) =>
    new Response(body, { headers: { "content-type": wire.contentType } });
  const asked = (llm: LlmStub, more: Partial<LlmRequest> = {}, base = wire.basePath) =>
    request(`${llm.origin}${base}`, more, { provider });

  describe(provider, () => {
    test("gets the documented request", async () => {
      const llm = stub(() => answer(["fine"]));
      await model().complete(asked(llm, { schema: { name: "memory", schema: SCHEMA } }), NEVER);
      const [call] = llm.calls;
      expect(call?.path).toBe(wire.path);
      const [name, value] = wire.keyHeader(SECRET);
      expect(call?.headers.get(name)).toBe(value);
      expect(JSON.stringify(call?.path)).not.toContain(SECRET);
      expect(call?.body).toEqual(wire.requestBody(SCHEMA) as never);
    });

    test("gets no schema and no key if there is none", async () => {
      const llm = stub(() => answer(["fine"]));
      const plain = asked(llm);
      await model().complete({ ...plain, endpoint: { ...plain.endpoint, apiKey: null } }, NEVER);
      expect(llm.calls[0]?.headers.has(wire.keyHeader("")[0])).toBe(false);
      expect(JSON.stringify(llm.calls[0]?.body)).not.toMatch(/schema|"format"/i);
    });

    test("gets a request without the schema or the temperature if it refuses them", async () => {
      const refused = (body: unknown) => /"format"|schema|temperature/i.exec(JSON.stringify(body));
      const llm = stub(({ body }) => {
        const [field] = refused(body) ?? [];
        return field === undefined
          ? answer(["fine"])
          : Response.json(wire.refusal("invalid_argument", `${field} is not supported`), { status: 400 });
      });
      const client = model();
      const withSchema = asked(llm, { schema: { name: "memory", schema: SCHEMA } });
      expect((await client.complete(withSchema, NEVER)).text).toBe("fine");
      const before = llm.calls.length;
      await client.complete(withSchema, NEVER);
      expect(llm.calls.length).toBe(before + 1);
    });

    test("gives its answer without the reasoning, and the tokens that it reports", async () => {
      const body = [
        ...wire.begin(USAGE),
        wire.reasoning("I think"),
        wire.text("Grüß "),
        wire.text("dich 😀"),
        ...wire.end({ usage: USAGE }),
      ].join("");
      expect(await model().complete(asked(stub(() => answer([], body))), NEVER)).toEqual({
        text: "Grüß dich 😀",
        usage: USAGE,
      });
    });

    test("is read in parts of any size, and never reported as complete if it is cut off", () => {
      const bytes = Buffer.from(wireAnswer(wire, ["Grüß ", "dich 😀"], { usage: USAGE }));
      const text = "Grüß dich 😀";
      const read = (parts: readonly Uint8Array[]) => {
        const completion = new Completion(request("http://127.0.0.1"), PROTOCOLS[provider]);
        const texts = parts.flatMap((part) => [...completion.push(part)]);
        return { completion, received: texts.join("") };
      };
      const whole = read(Array.from(bytes, (byte) => Uint8Array.of(byte)));
      expect([whole.received + [...whole.completion.end()].join(""), whole.completion.usage]).toEqual([text, USAGE]);
      for (let at = 0; at < bytes.length; at++) {
        const { completion, received } = read([bytes.subarray(0, at)]);
        expect(text.startsWith(received)).toBe(true);
        try {
          const rest = [...completion.end()].join("");
          expect([completion.hasFinished, received + rest]).toEqual([true, text]);
        } catch (error) {
          if (!(error instanceof LlmError)) throw error;
          expect(["failed", "malformed"]).toContain(error.reason);
        }
      }
    });

    const begun = [...wire.begin(USAGE), wire.text("half an ans")].join("");
    const failures: readonly (readonly [name: string, how: LlmAnswering, reason: string, isTransient: boolean])[] = [
      ["silence", hanging, "timed_out", true],
      ["silence in the middle", stalling(begun), "timed_out", true],
      ["a stream that is cut off", () => answer([], begun), "failed", true],
      ["an error in the middle", () => answer([], begun + wire.error), "failed", true],
      ["a stream without an end", endless(wire.text("and so on ")), "too_long", false],
      ["a line without an end", endless("x".repeat(60_000)), "too_long", false],
      ["an HTML page", () => new Response("<html><body>Welcome</body></html>"), "malformed", false],
      ["broken JSON", () => answer([], `${wire.text("a").slice(0, -9)}\n\n`), "malformed", false],
      ["an empty body", () => new Response(""), "malformed", false],
      ["JSON of another kind", () => Response.json({ data: [] }), "malformed", false],
      ["a redirect", status(307, { location: "http://169.254.169.254/latest/meta-data" }), "refused", false],
      ["status 429", status(429, { "retry-after": "7" }), "rate_limited", true],
      ["status 500", status(500), "failed", true],
      ["status 529", status(529, {}, wire.refusal("overloaded_error", "Overloaded")), "failed", true],
      ["status 401", status(401, {}, wire.refusal("invalid_api_key", `bad key ${SECRET}`)), "refused", false],
    ];
    for (const [name, how, reason, isTransient] of failures) {
      test(`${name}: ${reason}, in one sentence without the key`, async () => {
        const llm = stub(how);
        const timeouts = reason === "timed_out" ? QUICK : PATIENT;
        const failure = await failureOf(model({ timeouts }).complete(asked(llm), NEVER));
        expect(failure).toMatchObject({ reason, isTransient });
        expect(failure.message).toMatch(/^[a-z][^\n]{5,200}[^.\n]$/);
        expect(llm.calls.length).toBe(1);
      });
    }

    test("that is too busy is called again for a user who waits, after the time that it asks for", async () => {
      let calls = 0;
      const busy = status(429, { "retry-after": "1" });
      const llm = stub((call) => (calls++ === 0 ? busy(call) : answer(["fine"])));
      const waits: number[] = [];
      const clock = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
      const { text } = await model({ clock }).complete(asked(llm, { purpose: "query" }), NEVER);
      expect([text, waits, calls]).toEqual(["fine", [1_000], 2]);
    });
  });
}

describe("addresses", () => {
  const cases: readonly (readonly [LlmProvider, base: string, model: string, url: string])[] = [
    ["openai", "https://a.example/v1/", "m", "https://a.example/v1/chat/completions"],
    ["ollama", "http://a.example:11434", "m", "http://a.example:11434/api/chat"],
    ["ollama", "http://a.example:11434/v1", "m", "http://a.example:11434/api/chat"],
    ["ollama", "https://a.example/ollama/", "m", "https://a.example/ollama/api/chat"],
    ["anthropic", "https://api.anthropic.com", "m", "https://api.anthropic.com/v1/messages"],
    ["anthropic", "https://a.example/claude/v1/", "m", "https://a.example/claude/v1/messages"],
    ["gemini", "https://a.example", "m 1", "https://a.example/v1beta/models/m%201:streamGenerateContent?alt=sse"],
    ["gemini", "https://a.example/v1", "models/m", "https://a.example/v1/models/m:streamGenerateContent?alt=sse"],
    [
      "gemini",
      "https://a.example/?k=1",
      "tunedModels/m",
      "https://a.example/v1beta/tunedModels/m:streamGenerateContent?k=1&alt=sse",
    ],
  ];
  for (const [provider, base, name, url] of cases) {
    test(`${provider} ${base} ${name}`, () => {
      expect(PROTOCOLS[provider].url(new URL(base), name).href).toBe(url);
    });
  }

  test("cannot be left by a model's name", async () => {
    const llm = stub();
    for (const name of ["../files", "a/../../b", "..", "/", "models/"]) {
      const failure = await failureOf(
        model().complete(request(llm.origin, {}, { provider: "gemini", model: name }), NEVER),
      );
      expect(failure.reason).toBe("refused");
    }
    expect(llm.calls).toEqual([]);
  });
});

describe("details of a provider", () => {
  const read = async (provider: LlmProvider, body: string | object, more: Partial<LlmRequest> = {}) => {
    const llm = stub(() => new Response(typeof body === "string" ? body : JSON.stringify(body)));
    return streamed(model().stream(request(llm.origin, more, { provider }), NEVER));
  };

  test("Anthropic gets temperatures up to 1, and its cached tokens count", async () => {
    const llm = stub(() =>
      Response.json({
        type: "message",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "fine" },
        ],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, cache_creation_input_tokens: 2, cache_read_input_tokens: 4, output_tokens: 8 },
      }),
    );
    const hot = request(llm.origin, { temperature: 1.7 }, { provider: "anthropic" });
    expect(await model().complete(hot, NEVER)).toEqual({ text: "fine", usage: { prompt: 7, completion: 8 } });
    expect(llm.calls[0]?.body.temperature).toBe(1);
    expect(llm.calls[0]?.headers.get("anthropic-version")).toBe("2023-06-01");
  });

  test("Gemini's reasoning is counted, and a blocked prompt is a withheld answer", async () => {
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 1, thoughtsTokenCount: 30 };
    const said = { candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }], usageMetadata };
    expect(await read("gemini", said)).toMatchObject({ texts: ["ok"], end: { usage: { prompt: 5, completion: 31 } } });
    const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 5 } };
    expect(await read("gemini", blocked)).toMatchObject({ texts: [], end: { ending: "withheld" } });
  });

  test("Gemini's wait is in the body of its refusal", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
    const llm = stub(status(429, {}, { error: { code: 429, status: "RESOURCE_EXHAUSTED", details } }));
    const failure = await failureOf(model().complete(request(llm.origin, {}, { provider: "gemini" }), NEVER));
    expect(failure).toMatchObject({ reason: "rate_limited", retryAfterMs: 34_500 });
  });

  test("Ollama's missing model is explained", async () => {
    const llm = stub(status(404, {}, { error: 'model "small" not found, try pulling it first' }));
    const failure = await failureOf(model().complete(request(llm.origin, {}, { provider: "ollama" }), NEVER));
    expect(failure.message).toBe(
      "the endpoint refused the request with status 404: check the address, the provider and the model's name",
    );
  });
});
