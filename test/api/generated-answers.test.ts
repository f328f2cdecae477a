// POST /v1/memories/query with a language model: its prompt, its answer as JSON and as a stream, its failures, and
// hang-ups.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { isoTime, systemClock } from "../../src/kit/clock.ts";
import { type EventReader, expectWholeAnswer, openStream } from "../support/event-stream.ts";
import {
  delta,
  event,
  hanging,
  type LlmCall,
  type LlmStub,
  SHORT_LIMITS,
  stalling,
  startLlm,
  status,
  streamed,
} from "../support/llm.ts";
import { type Answered, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const SECRET = "sk-answers-0123456789";
const QUESTION = "When was the lighthouse of Skarn built?";

let mneme: TestService;
let llm: LlmStub;
beforeAll(async () => {
  llm = startLlm();
  mneme = await serviceOfSkarn();
});
beforeEach(() => llm.answer(() => streamed(["It was built in 1871 [1]."], { prompt: 300, completion: 9 })));
afterAll(async () => {
  await mneme.stop();
  await llm.stop();
});

/** Starts a service that knows the lighthouse, with these time limits of the model instead of the default ones. */
async function serviceOfSkarn(limits: Partial<typeof SHORT_LIMITS> = {}): Promise<TestService> {
  const service = await startService({
    config: { llmBaseUrl: llm.baseUrl, llmModel: "small", llmApiKey: SECRET, ...limits },
  });
  await service.call("PUT", "/v1/project", { smart_ingestion: { enabled: false } });
  const facts = [
    { content: "The lighthouse of Skarn was built in 1871 by Ida Holm.", title: "Skarn", userId: "ida" },
    { content: "The lighthouse of Skarn is 41 metres tall and painted red.", userId: "ida" },
    { content: "In 1932 the lighthouse of Skarn was given an electric lamp.", userId: "ida" },
    { content: "The lighthouse of Skarn was sold to Bob for one crown.", userId: "bob" },
  ];
  const { body } = await service.call("POST", "/v1/memories/batch", { memories: facts });
  for (const { memory } of body.data) await service.settled(memory.id);
  return service;
}

const ask = (body: object, headers?: Record<string, string>): Promise<Answered> =>
  mneme.call("POST", "/v1/memories/query", { userId: "ida", ...body }, headers);
const stream = (body: object, service = mneme): Promise<EventReader> =>
  openStream(service, "/v1/memories/query", { userId: "ida", ...body, stream: true });
const usage = async (service = mneme) => (await service.call("GET", "/v1/usage")).body;
const lastCall = (): LlmCall => {
  const call = llm.calls.at(-1);
  if (call === undefined) throw new Error("the language model was not called");
  return call;
};
const prompt = (): string => lastCall().body.messages.at(-1)?.content ?? "";
/** Returns the number of the prompt's source that contains these words. */
const numberOf = (words: string): string =>
  [...prompt().matchAll(/<source id="(\d+)"[^>]*>(.*?)<\/source>/gs)].find(([, , text]) =>
    text?.includes(words),
  )?.[1] ?? "none";

/** Creates a project with a memory that answers when the gate opens. Returns headers with the project's key. */
async function openProject(name: string): Promise<Record<string, string>> {
  const project = (await mneme.call("POST", "/v1/projects", { name })).body;
  const headers = { authorization: `Bearer ${project.key}` };
  const { id } = (await mneme.call("POST", "/v1/memories", { content: "The gate opens at nine." }, headers)).body;
  await until("the memory is completed", async () => {
    return (await mneme.call("GET", `/v1/memories/${id}`, undefined, headers)).body.status === "completed";
  });
  return headers;
}

describe("the request to the model", () => {
  test("the project's model and key, rules, the sources and the question; streamed, with a bounded output", async () => {
    await ask({ query: QUESTION });
    const { path, headers, body } = lastCall();
    expect([path, headers.get("authorization")]).toEqual(["/v1/chat/completions", `Bearer ${SECRET}`]);
    expect(body).toMatchObject({ model: "small", stream: true, max_tokens: 1_024 });
    expect(body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(body.messages[1]?.content).toContain(QUESTION);
    for (const words of ["1871", "41 metres", "1932"]) expect(numberOf(words)).toMatch(/^[123]$/);
    expect(body.messages[1]?.content).not.toContain("one crown");
  });

  test("has the project's temperature, length and model; the caller's model has precedence", async () => {
    const headers = await openProject("own");
    const llmSettings = { model: "large", temperature: 1.5, max_output_tokens: 77 };
    await mneme.call("PUT", "/v1/project", { llm: llmSettings }, headers);
    const asked = { query: "When does the gate open?", userId: null };
    expect((await ask(asked, headers)).status).toBe(200);
    expect(lastCall().body).toMatchObject({ model: "large", temperature: 1.5, max_tokens: 77 });
    expect((await ask({ ...asked, model: "chosen" }, headers)).status).toBe(200);
    expect(lastCall().body.model).toBe("chosen");
  });

  test("has the caller's instructions, separate from the sources", async () => {
    await ask({ query: QUESTION, instructions: "Answer like a pirate." });
    expect(lastCall().body.messages[0]?.content).toContain("Answer like a pirate.");
    expect(prompt()).not.toContain("pirate");
    expect((await ask({ query: QUESTION, instructions: "i".repeat(8_192) })).status).toBe(200);
  });

  test("says which day it is: the day of asOf, by default today", async () => {
    await ask({ query: QUESTION, asOf: "2024-05-04T01:00:00+02:00" });
    expect(lastCall().body.messages[0]?.content).toContain("Today is Saturday, 2024-05-04 (+02:00)");
    await ask({ query: QUESTION });
    expect(lastCall().body.messages[0]?.content).toContain(`, ${isoTime(systemClock.now()).slice(0, 10)} (UTC)`);
  });

  test("has at most maxSources sources", async () => {
    await ask({ query: QUESTION, maxSources: 2 });
    expect([...prompt().matchAll(/<source id=/g)]).toHaveLength(2);
  });

  test("is not sent if the passages contain no sentence", async () => {
    await mneme.store({ content: "---\n\n***\n\n---", userId: "silent" });
    const before = llm.calls.length;
    const { body } = await ask({ query: "--- $", userId: "silent" });
    expect(body).toMatchObject({ answer: expect.stringContaining("Nothing"), sources: [], usage: { tokens_used: 0 } });
    expect(llm.calls.length).toBe(before);
  });

  test("fits the model's context together with the answer", async () => {
    const headers = await openProject("wide");
    await mneme.call("PUT", "/v1/project", { llm: { max_output_tokens: 32_000 } }, headers);
    expect((await ask({ query: "When does the gate open?", userId: null }, headers)).status).toBe(200);
    expect(lastCall().body.max_tokens).toBeLessThan(8_192);
  });

  test("is not sent without evidence", async () => {
    const before = llm.calls.length;
    const { body } = await ask({ query: QUESTION, userId: "nobody" });
    expect(body).toMatchObject({ answer: expect.stringContaining("Nothing"), sources: [], usage: { tokens_used: 0 } });
    const german = await ask({ query: "Wann wurde der Leuchtturm von Skarn gebaut?", userId: "nobody" });
    expect(german.body.answer).toContain("Nichts");
    expect(llm.calls.length).toBe(before);
  });
});

describe("the answer of the model", () => {
  test("citations are numbered by first appearance, cited sources come first, tokens are counted", async () => {
    await ask({ query: QUESTION });
    const [built, tall] = [numberOf("1871"), numberOf("41 metres")];
    llm.answer(() =>
      streamed([`It is tall [${tall}], and was`, ` built in 1871 [${built}`, `, ${tall}]. Bob [9] knows.`], {
        prompt: 300,
        completion: 9,
      }),
    );
    const before = await usage();
    const { status: code, body } = await ask({ query: QUESTION });
    expect(code).toBe(200);
    expect(body.answer).toBe("It is tall [1], and was built in 1871 [2][1]. Bob knows.");
    expect(body.sources.map((source: { content: string }) => source.content.slice(0, 32))).toEqual([
      ...["The lighthouse of Skarn is 41 me", "The lighthouse of Skarn was buil", "In 1932 the lighthouse of Skarn "],
    ]);
    expect(body.sources.map((source: { cited: boolean }) => source.cited)).toEqual([true, true, false]);
    expect(body.usage).toEqual({ tokens_used: 309 });
    const after = await usage();
    expect(after.queries.used).toBe(before.queries.used + 1);
    expect(after.tokens).toEqual({
      ...{ prompt: before.tokens.prompt + 300, completion: before.tokens.completion + 9 },
    });
  });

  test("a stream has the same text as JSON, however it is split", async () => {
    const text = "Built [2] in 1871 [2, 1], not [77] later [1-2].";
    llm.answer(() => streamed([text]));
    const { body } = await ask({ query: QUESTION });
    for (const size of [1, 2, 3, 5, 100]) {
      llm.answer(() => streamed(text.match(new RegExp(`.{1,${size}}`, "gs")) ?? []));
      expect(expectWholeAnswer(await (await stream({ query: QUESTION })).rest())).toEqual(body);
    }
  });

  test("is passed on at once, before the model has ended", async () => {
    const { promise: asked, resolve: goOn } = Promise.withResolvers<void>();
    llm.answer(
      () =>
        new Response(
          new ReadableStream({
            async start(controller) {
              controller.enqueue(Buffer.from(event(delta("It was built"))));
              await asked;
              controller.enqueue(
                Buffer.from(
                  event(delta(" in 1871 [1].")) +
                    event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
                    event("[DONE]"),
                ),
              );
              controller.close();
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
    );
    const reader = await stream({ query: QUESTION });
    expect(await reader.next()).toEqual({ name: "text", data: { content: "It was built" } });
    goOn();
    expect((await reader.rest()).map(({ name }) => name)).toEqual(["text", "sources", "usage", "done"]);
  });

  test("an answer cut off at its maximum length ends in …; an empty one is an error", async () => {
    const cut = (text: string) => () =>
      new Response(
        event(delta(text)) + event({ choices: [{ index: 0, delta: {}, finish_reason: "length" }] }) + event("[DONE]"),
        { headers: { "content-type": "text/event-stream" } },
      );
    llm.answer(cut("It was built in 1871 [1] by"));
    expect((await ask({ query: QUESTION })).body.answer).toBe("It was built in 1871 [1] by…");
    llm.answer(cut(""));
    const refused = await ask({ query: QUESTION });
    expectFault(refused, 502, "llm_error");
    expect(refused.body.error.message).toContain("max_output_tokens");
  });

  test("tokens are estimated if the endpoint does not report them", async () => {
    llm.answer(() => streamed(["It was built in 1871 [1]."]));
    const { body } = await ask({ query: QUESTION });
    expect(body.usage.tokens_used).toBeGreaterThan(200);
  });

  test("reasoning is not part of the answer", async () => {
    llm.answer(() => streamed(["<thi", "nk>The user wants [3]</th", "ink>\n\nIn 1871 [1]."]));
    expect((await ask({ query: QUESTION })).body.answer).toBe("In 1871 [1].");
  });
});

test("a memory that is deleted while the model answers is not among the sources", async () => {
  const { id } = (await mneme.store({ content: "The lighthouse of Skarn has a cellar of sand.", userId: "ida" })).body;
  llm.answer(async () => {
    expect((await mneme.call("DELETE", `/v1/memories/${id}?purge=true`)).status).toBe(204);
    return streamed(["It was built in 1871."]);
  });
  const { body } = await ask({ query: "When was the lighthouse of Skarn built, and what is its cellar like?" });
  expect(prompt()).toContain("cellar of sand");
  expect(JSON.stringify(body)).not.toContain("cellar of sand");
  expect(body.sources).toHaveLength(3);
});

describe("failures: an error, no invented answer, and nothing is counted", () => {
  const failures: [name: string, how: (call: LlmCall) => Response | Promise<Response>, status: number, code: string][] =
    [
      [
        "401",
        status(401, {}, { error: { code: "invalid_api_key", message: `wrong key ${SECRET}` } }),
        502,
        "llm_error",
      ],
      ["404 for the model", status(404, {}, { error: { code: "model_not_found" } }), 502, "llm_error"],
      ["429 for longer than anybody waits", status(429, { "retry-after": "3600" }), 502, "llm_error"],
      ["500", status(500), 502, "llm_error"],
      [
        "garbage",
        () => new Response("data: {what}\n\n", { headers: { "content-type": "text/event-stream" } }),
        502,
        "llm_error",
      ],
      ["a page", () => new Response("<html>Welcome</html>"), 502, "llm_error"],
      ["an end in the middle", () => new Response(event(delta("It was"))), 502, "llm_error"],
      [
        "an error in the middle",
        () => new Response(event(delta("It was")) + event({ error: { type: "server_error" } })),
        502,
        "llm_error",
      ],
      ["an answer of nothing", () => streamed(["", "  \n"]), 502, "llm_error"],
      ["an answer of unknown numbers", () => streamed(["[88]"]), 502, "llm_error"],
    ];
  for (const [name, how, code, fault] of failures) {
    test(`${name}: ${code} ${fault}, and in a stream an error instead of the rest`, async () => {
      llm.answer(how);
      await expectFailure(mneme, code, fault);
    });
  }

  describe("after the time limit, with", () => {
    let impatient: TestService;
    beforeAll(async () => {
      impatient = await serviceOfSkarn(SHORT_LIMITS);
    });
    afterAll(() => impatient.stop());
    const silences: [name: string, how: (call: LlmCall) => Response | Promise<Response>][] = [
      ["nothing before the first byte", hanging],
      ["nothing more in the middle", stalling(event(delta("It was")))],
    ];
    for (const [name, how] of silences) {
      test(`${name}: 504 llm_timeout, and in a stream an error instead of the rest`, async () => {
        llm.answer(how);
        await expectFailure(impatient, 504, "llm_timeout");
      });
    }
  });

  async function expectFailure(service: TestService, code: number, fault: string): Promise<void> {
    const before = await usage(service);
    const refused = await service.call("POST", "/v1/memories/query", { userId: "ida", query: QUESTION });
    expectFault(refused, code, fault);
    expect(JSON.stringify(refused.body)).not.toContain(SECRET);
    const reader = await stream({ query: QUESTION }, service);
    expect(reader.response.status).toBe(200);
    const events = await reader.rest();
    const last = events.at(-1);
    expect(events.slice(0, -1).every((each) => each.name === "text")).toBeTrue();
    expect([last?.name, last?.data.error.code]).toEqual(["error", fault]);
    expect(await usage(service)).toEqual(before);
  }

  test("429, 502 and 503 before the first byte are tried again", async () => {
    for (const code of [429, 502, 503]) {
      const begun = llm.calls.length;
      llm.answer((call) =>
        llm.calls.length === begun + 1 ? status(code, { "retry-after": "0" })(call) : streamed(["In 1871 [1]."]),
      );
      expect((await ask({ query: QUESTION })).body.answer).toBe("In 1871 [1].");
      expect(llm.calls.length).toBe(begun + 2);
    }
  });

  test("an error before the first event is a status, without a call of the model", async () => {
    const before = llm.calls.length;
    expectFault(await ask({ query: " ", stream: true }), 400, "invalid_request", "query");
    expectFault(await ask({ query: "x", model: "" }), 400, "invalid_request", "model");
    const long = { query: "x", instructions: "指".repeat(8_192) };
    expectFault(await ask(long), 400, "invalid_request", "instructions");
    expectFault(await ask({ ...long, stream: true }), 400, "invalid_request", "instructions");
    expect(llm.calls.length).toBe(before);
  });
});

describe("a caller who hangs up", () => {
  test("ends the call of the model, and counts with the tokens until then", async () => {
    let hasEnded = false;
    llm.answer(({ signal }) => {
      signal.addEventListener("abort", () => {
        hasEnded = true;
      });
      return stalling(event(delta("It was built in")))({ signal } as LlmCall);
    });
    const before = await usage();
    const reader = await stream({ query: QUESTION });
    expect((await reader.next())?.name).toBe("text");
    await reader.hangUp();
    await until("the model's connection is closed", () => hasEnded);
    const after = await usage();
    expect(after.queries.used).toBe(before.queries.used + 1);
    expect(after.tokens.prompt).toBeGreaterThan(before.tokens.prompt);
  });
});
