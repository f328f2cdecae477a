// Smart ingestion through the whole server: memories get the attributes that a language model extracts, and are
// completed whatever the endpoint does.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listen } from "../outbound/receiver.ts";
import {
  DESCRIPTION,
  delta,
  describing,
  endless,
  event,
  hanging,
  type LlmAnswering,
  type LlmStub,
  SHORT_LIMITS,
  stalling,
  startLlm,
  status,
  streamed,
} from "../support/llm.ts";
import { SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";

const { title, type, tags, language } = DESCRIPTION;
const HOUR_MS = 60 * 60 * 1000;
const SECRET = "sk-of-the-operator";

const clock = new SettableClock();
let llm: LlmStub;
let mneme: TestService;
beforeAll(async () => {
  llm = startLlm();
  mneme = await startService({
    clock,
    config: { llmBaseUrl: llm.baseUrl, llmModel: "small", llmApiKey: SECRET },
  });
});
afterAll(async () => {
  await mneme.stop();
  await llm.stop();
});

const CONTENT = "# Kettles\n\nA kettle boils water, and does it every single day of the week.";
const extractionOf = async (body: object = {}) => (await mneme.store({ content: CONTENT, ...body })).body.extraction;

describe("a working endpoint", () => {
  test("is called once, with the operator's key, and its result becomes the memory's attributes", async () => {
    const before = llm.calls.length;
    const { body } = await mneme.store({ content: CONTENT });
    expect(body).toMatchObject({ status: "completed", extraction: "llm", title, type, tags, language });
    expect(llm.calls.length).toBe(before + 1);
    expect(llm.calls.at(-1)?.headers.get("authorization")).toBe(`Bearer ${SECRET}`);
    expect(llm.calls.at(-1)?.body.messages[1]?.content).toContain(CONTENT);
  });

  test("gives tags that lists filter by, and a title that search finds", async () => {
    const { body } = await mneme.store({ content: "Something without a name." });
    const list = await mneme.call("GET", `/v1/memories?tag=${encodeURIComponent("first tag")}`);
    expect(list.body.data.map(({ id }: { id: string }) => id)).toContain(body.id);
  });

  test("is not asked for attributes that a file has itself", async () => {
    const form = new FormData();
    const page = "<html><head><title>The page's own</title></head><body><p>Some text.</p></body></html>";
    form.set("file", new File([page], "page.html", { type: "text/html" }));
    const authorization = `Bearer ${TEST_KEY}`;
    const sent = await mneme.send(
      new Request("http://mneme.test/v1/memories/upload", { method: "POST", headers: { authorization }, body: form }),
    );
    expect((await mneme.settled(sent.body.id)).body).toMatchObject({
      title: "The page's own",
      extraction: "llm",
      type,
    });
    const asked = llm.calls.at(-1)?.body.response_format?.json_schema.schema.required;
    expect(asked).not.toContain("title");
  });

  test("extraction is 'caller' after the caller has set every attribute later", async () => {
    const { body } = await mneme.store({ content: CONTENT });
    const given = { title: "T", type: "t", tags: [], language: "en" };
    const changed = await mneme.call("PUT", `/v1/memories/${body.id}`, given);
    expect(changed.body).toMatchObject({ ...given, extraction: "caller" });
  });

  test("its tokens are in the usage and in the metrics", async () => {
    const tokens = async () => (await mneme.call("GET", "/v1/usage")).body.tokens;
    const before = await tokens();
    await mneme.store({ content: CONTENT });
    expect(await tokens()).toEqual({ prompt: before.prompt + 100, completion: before.completion + 20 });
    const page = await (await mneme.service.handle(new Request("http://mneme.test/metrics"))).text();
    expect(page).toMatch(/^mneme_llm_calls_total\{outcome="answered"\} [1-9]/m);
    expect(page).toMatch(/^mneme_llm_tokens_total\{kind="prompt"\} [1-9]/m);
  });
});

describe("a project's settings", () => {
  test("disable it, and set a daily limit", async () => {
    const before = llm.calls.length;
    await mneme.call("PUT", "/v1/project", { smart_ingestion: { enabled: false } });
    expect(await extractionOf()).toBe("local");
    await mneme.call("PUT", "/v1/project", { smart_ingestion: { enabled: true, daily_token_limit: 0 } });
    expect(await extractionOf()).toBe("local");
    expect(llm.calls.length).toBe(before);
    await mneme.call("PUT", "/v1/project", { smart_ingestion: { daily_token_limit: null } });
    expect(await extractionOf()).toBe("llm");
  });

  test("name another model, at another address, with another key", async () => {
    const other = startLlm();
    await mneme.call("PUT", "/v1/project", { llm: { base_url: other.baseUrl, model: "large", api_key: "sk-own" } });
    expect(await extractionOf()).toBe("llm");
    expect(other.calls[0]?.body.model).toBe("large");
    expect(other.calls[0]?.headers.get("authorization")).toBe("Bearer sk-own");
    await mneme.call("PUT", "/v1/project", { llm: null });
    await other.stop();
  });
});

describe("a broken endpoint never makes a memory fail", () => {
  const half = JSON.stringify(DESCRIPTION).slice(0, 40);
  const cases: readonly (readonly [name: string, how: LlmAnswering])[] = [
    ["garbage", () => streamed(["lorem ipsum"])],
    ["half of an object", () => streamed([half])],
    ["values that do not hold", () => streamed(['{"title":7,"type":"poem","tags":{},"language":"klingon!"}'])],
    ["a page", () => new Response("<html>Welcome</html>")],
    ["a gigantic answer", endless(`{"choices":[${" ".repeat(60_000)}`)],
    ["status 429, come back at once", status(429, { "retry-after": "0" })],
    ["status 429, come back in an hour", status(429, { "retry-after": "3600" })],
    ["status 429", status(429)],
    ["status 500", status(500)],
    ["status 401", status(401)],
    ["a redirect", () => Response.redirect("http://127.0.0.1:1/", 308)],
  ];
  for (const [name, how] of cases) {
    test(name, async () => {
      llm.answer(how);
      const { body } = await mneme.store({ content: CONTENT });
      expect(body).toMatchObject({ status: "completed", extraction: "local", title: "Kettles", language: "en" });
      expect(await extractionOf()).toBe("local");
      llm.answer(describing());
      clock.advance(2 * HOUR_MS);
      expect(await extractionOf()).toBe("llm");
    });
  }

  describe("one that takes too long:", () => {
    let impatient: TestService;
    beforeAll(async () => {
      const config = { llmBaseUrl: llm.baseUrl, llmModel: "small", ...SHORT_LIMITS };
      impatient = await startService({ clock, config });
    });
    afterAll(() => impatient.stop());
    const endlessly: readonly (readonly [name: string, how: LlmAnswering])[] = [
      ["silence", hanging],
      ["silence in the middle", stalling(event(delta(half)))],
      ["a stream without an end", endless(event(delta("more ")))],
      ["comments without an end", endless(": wait\n\n")],
    ];
    for (const [name, how] of endlessly) {
      test(name, async () => {
        llm.answer(how);
        const { body } = await impatient.store({ content: CONTENT });
        expect(body).toMatchObject({ status: "completed", extraction: "local", title: "Kettles", language: "en" });
        llm.answer(describing());
        clock.advance(2 * HOUR_MS);
      });
    }

    test("many memories at once", async () => {
      llm.answer(hanging);
      const memories = Array.from({ length: 30 }, (_, at) => ({ content: `${CONTENT} And this is number ${at}.` }));
      const batch = await impatient.call("POST", "/v1/memories/batch", { memories });
      const ids: string[] = batch.body.data.map(({ memory }: { memory: { id: string } }) => memory.id);
      const done = await Promise.all(ids.map((id) => impatient.settled(id)));
      const results = new Set(done.map(({ body }) => `${body.status} ${body.extraction}`));
      expect(results).toEqual(new Set(["completed local"]));
      llm.answer(describing());
    });
  });

  test("a connection that is lost, and one that is refused", async () => {
    const half = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n";
    const receiver = await listen((socket) => socket.end(half));
    await mneme.call("PUT", "/v1/project", { llm: { base_url: `http://127.0.0.1:${receiver.port}` } });
    expect(await extractionOf()).toBe("local");
    expect(receiver.connections()).toBe(1);
    receiver.close();
    expect(await extractionOf()).toBe("local");
    await mneme.call("PUT", "/v1/project", { llm: null });
    expect(await extractionOf()).toBe("llm");
  });

  test("an endpoint without schema support gets the request as text", async () => {
    llm.answer(({ body, ...call }) =>
      body.response_format === undefined ? describing()({ body, ...call }) : Response.json({}, { status: 400 }),
    );
    const before = llm.calls.length;
    expect(await extractionOf()).toBe("llm");
    expect(await extractionOf()).toBe("llm");
    expect(llm.calls.length).toBe(before + 3);
    expect(llm.calls.at(-1)?.body.messages[0]?.content).toContain('"title"');
    llm.answer(describing());
  });
});
