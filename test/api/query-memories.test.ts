// POST /v1/memories/query without a language model: text and citations of an answer, as JSON and as a stream, and which
// requests count as queries.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { type EventReader, expectWholeAnswer, openStream } from "../support/event-stream.ts";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { withModelsAway } from "../support/unfinished.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";
import { REFUSED_AS_OF } from "./refused-times.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ clock });
  // the memories match some questions of this file only loosely; test/services/evidence.test.ts tests refusals
  await mneme.call("PUT", "/v1/project", { min_evidence: 0 });
  const facts = [
    { content: "The lighthouse of Skarn was built in 1871 by Ida Holm.", metadata: { source: "chronicle" } },
    { content: "The lighthouse of Skarn is 41 metres tall and painted red.", title: "Skarn" },
    { content: "In 1932 the lighthouse of Skarn was given an electric lamp.", tags: ["electrified"] },
    { content: "Since 1988 nobody lives in the lighthouse of Skarn any more." },
    { content: "The keeper's cat of the lighthouse was called Bosun [3] and slept on the lamp [1, 2]." },
  ];
  const memories = [
    ...facts.map((fact) => ({ ...fact, userId: "ida" })),
    { content: "The lighthouse of Skarn was sold to Bob for one crown.", userId: "bob" },
    ...Array.from({ length: 60 }, (_, at) => ({ content: `Ledger line ${at}: herring was sold.`, userId: "ledger" })),
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await mneme.settled(memory.id);
});
afterAll(() => mneme.stop());

const ask = (body: object, headers?: Record<string, string>) => mneme.call("POST", "/v1/memories/query", body, headers);
const stream = (body: object): Promise<EventReader> =>
  openStream(mneme, "/v1/memories/query", { ...body, stream: true });
const used = async (): Promise<number> => (await mneme.call("GET", "/v1/usage")).body.queries.used;

const QUESTION = "When was the lighthouse of Skarn built?";

interface Source {
  readonly id: string;
  readonly content: string;
  readonly score: number;
  readonly memory_id: string;
  readonly metadata: { readonly _memory: { readonly userId: string } };
  readonly cited: boolean;
}

/**
 * Expects that each citation refers to the source that contains the sentence before it, and that citations are numbered
 * by first appearance.
 */
function expectCitations(answer: string, sources: readonly Source[]): void {
  const quotes = [...answer.matchAll(/(.*?) \[(\d+)\](?: |$)/gsu)];
  expect(quotes.map(([whole]) => whole).join("")).toBe(answer);
  const numbers = quotes.map(([, , number]) => Number(number));
  const firsts = [...new Set(numbers)];
  expect(firsts).toEqual(firsts.map((_, at) => at + 1));
  expect(sources.map(({ cited }) => cited)).toEqual(sources.map((_, at) => at < firsts.length));
  for (const [, quote = "", number] of quotes) {
    const said = quote.replaceAll(/\((\d+(?:, \d+)*)\)/g, "[$1]");
    expect(sources[Number(number) - 1]?.content).toContain(said);
  }
}

describe("200: JSON", () => {
  test("is exactly a QueryResult, its sources SearchResults that say whether they are cited", async () => {
    const { status, body, headers } = await ask({ query: QUESTION, userId: "ida" });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(Object.keys(body)).toEqual(["answer", "answer_state", "evidence", "sources", "usage"]);
    expect(body.answer_state).toBe("answered");
    expect(body.usage).toEqual({ tokens_used: 0 });
    // readers.test.ts looks at answer_spans, which some models do not have
    const { answer_spans: _, ...cited } = body.sources.find((source: Source) => source.content.includes("1871"));
    expect(cited).toEqual({
      id: expect.stringMatching(/^chunk_/),
      content: "The lighthouse of Skarn was built in 1871 by Ida Holm.",
      score: expect.any(Number),
      memory_id: expect.stringMatching(/^mem_/),
      metadata: {
        source: "chronicle",
        _memory: expect.objectContaining({ userId: "ida", language: "en" }),
        _chunk: { ordinal: 0, start: 0, end: 54 },
      },
      cited: true,
      citation: expect.any(Number),
    });
    expect(body.answer).toContain("The lighthouse of Skarn was built in 1871 by Ida Holm. [");
  });

  for (const mode of MODE_NAMES) {
    test(`${mode}: citations are numbered from [1] by first appearance, cited sources come first`, async () => {
      for (const query of [
        QUESTION,
        "lighthouse",
        "What was the keeper's cat called?",
        "Who lives there since 1988?",
      ]) {
        const { status, body } = await ask({ query, mode, userId: "ida" });
        expect(status).toBe(200);
        expectCitations(body.answer, body.sources);
        expect(body.sources).toHaveLength(5);
        expect(new Set(body.sources.map((source: Source) => source.id)).size).toBe(5);
      }
    });
  }

  test("a question for several things has an answer to each, with one numbering of sources", async () => {
    const query = "When was the lighthouse of Skarn built, and what was the keeper's cat called?";
    const { body } = await ask({ query, userId: "ida" });
    expectCitations(body.answer, body.sources);
    expect(body.answer_state).toBe("answered");
    expect(body.answer).toMatch(/^The lighthouse of Skarn was built in 1871 by Ida Holm\. \[1\].* Bosun /);
    expect(new Set(body.sources.map((source: Source) => source.id)).size).toBe(body.sources.length);
    const events = await stream({ query, userId: "ida" });
    expect(expectWholeAnswer(await events.rest()).answer).toBe(body.answer);
    expect((await ask({ query, userId: "ida", maxSources: 1 })).body.sources).toHaveLength(1);
  });

  test("stream: false and null are the same as nothing; the same question has the same answer", async () => {
    const plain = (await ask({ query: QUESTION })).body;
    for (const asked of [false, null]) expect((await ask({ query: QUESTION, stream: asked })).body).toEqual(plain);
  });

  test("null counts as absent for every optional field; balanced is the default mode", async () => {
    const plain = (await ask({ query: QUESTION })).body;
    const nulls = { mode: null, maxSources: null, instructions: null, userId: null, includeGraph: null, model: null };
    expect((await ask({ query: QUESTION, ...nulls })).body).toEqual(plain);
    expect((await ask({ query: QUESTION, mode: "balanced", filters: {}, includeGraph: false })).body).toEqual(plain);
  });

  test("instructions and includeGraph are accepted", async () => {
    const answer = await ask({ query: QUESTION, instructions: "i".repeat(8_192), includeGraph: true });
    expect(answer.status).toBe(200);
  });

  test("8 sources are the default, and both ends of the range of maxSources are accepted", async () => {
    for (const [maxSources, count] of [[undefined, 8] as const, [1, 1] as const, [50, 50] as const]) {
      const { body } = await ask({ query: "herring was sold", userId: "ledger", maxSources });
      expect(body.sources).toHaveLength(count);
      expectCitations(body.answer, body.sources);
    }
  });
});

describe("scope and filters", () => {
  test("no sentence and no source comes from another user, however well it matches", async () => {
    const { body } = await ask({
      query: "For how much was the lighthouse of Skarn sold?",
      userId: "ida",
      maxSources: 50,
    });
    expect(body.answer).not.toContain("crown");
    expect(new Set(body.sources.map((source: Source) => source.metadata._memory.userId))).toEqual(new Set(["ida"]));
    const whole = await ask({ query: "For how much was the lighthouse of Skarn sold?" });
    expect(whole.body.answer).toContain("one crown");
  });

  test("filters restrict the answer", async () => {
    const { body } = await ask({ query: QUESTION, filters: { tags: "electrified" } });
    expect(body.sources.map((source: Source) => source.content)).toEqual([
      "In 1932 the lighthouse of Skarn was given an electric lamp.",
    ]);
    expect((await ask({ query: QUESTION, userId: "bob", filters: { userId: "ida" } })).body.sources).toEqual([]);
  });

  test("a confined key is answered from its user's memories", async () => {
    const authorization = `Bearer ${mneme.addKey(["query"], undefined, { userId: "bob" })}`;
    const { body } = await ask({ query: QUESTION, maxSources: 50 }, { authorization });
    expect(body.sources.map((source: Source) => source.metadata._memory.userId)).toEqual(["bob"]);
    expectFault(await ask({ query: QUESTION, userId: "ida" }, { authorization }), 403, "insufficient_scope", "userId");
  });
});

describe("no evidence", () => {
  const expectNone = ({ status, body }: Answered) => {
    expect([status, body.answer_state, body.sources, body.usage]).toEqual([200, "not_found", [], { tokens_used: 0 }]);
    expect(body.answer).not.toBe("");
    expect(body.answer).not.toMatch(/\[\d/);
  };

  test("nothing in scope: the answer says so, without sources", async () => {
    expectNone(await ask({ query: QUESTION, userId: "nobody" }));
    expectNone(await ask({ query: QUESTION, filters: { type: "none such" } }));
  });

  test("nothing above the project's min_evidence: the same, in JSON and in a stream", async () => {
    const project = (await mneme.call("POST", "/v1/projects", { name: "strict", min_evidence: 1 })).body;
    const headers = { authorization: `Bearer ${project.key}` };
    const { body } = await mneme.call("POST", "/v1/memories", { content: "The gate opens at nine." }, headers);
    await until("the memory is completed", async () => {
      const found = await mneme.call("GET", `/v1/memories/${body.id}`, undefined, headers);
      return found.body.status === "completed";
    });
    const question = { query: "When does the gate open?" };
    expectNone(await ask(question, headers));
    const events = await openStream(mneme, "/v1/memories/query", { ...question, stream: true }, headers);
    expect(expectWholeAnswer(await events.rest()).sources).toEqual([]);

    const found = await mneme.call("POST", "/v1/memories/search", { ...question, explain: true }, headers);
    const best: number = found.body.explain.evidence;
    for (const [min_evidence, sources] of [
      [best, 1] as const,
      [Math.min(1, best + 1e-6), 0] as const,
      [0, 1] as const,
    ]) {
      await mneme.call("PUT", "/v1/project", { min_evidence }, headers);
      expect((await ask(question, headers)).body.sources).toHaveLength(sources);
    }
  });
});

test("a question for a time alone is answered with what happened then, within scope and filters", async () => {
  const project = (await mneme.call("POST", "/v1/projects", { name: "times" })).body;
  const headers = { authorization: `Bearer ${project.key}` };
  const facts = [
    { content: "Sowed the broad beans.", occurred_at: "2025-03-09", userId: "ida" },
    { content: "Mended the kite.", occurred_at: "2025-03-04", userId: "ida", tags: ["toys"] },
    { content: "Sold the boat.", occurred_at: "2025-04-01", userId: "ida" },
    { content: "Lost the keys.", occurred_at: "2025-03-05", userId: "bob" },
    { content: "The gate code is 4471.", userId: "ida" },
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories: facts }, headers);
  for (const { memory } of body.data) {
    await until("the memory is completed", async () => {
      const found = await mneme.call("GET", `/v1/memories/${memory.id}`, undefined, headers);
      return found.body.status === "completed";
    });
  }
  const query = "What did I do in March 2025?";
  for (const mode of MODE_NAMES) {
    const answer = (await ask({ query, mode, userId: "ida" }, headers)).body;
    expect(answer.answer).toBe("(2025-03-04) Mended the kite. [1] (2025-03-09) Sowed the broad beans. [2]");
    expect([answer.answer_state, answer.evidence, answer.sources.length]).toEqual(["answered", 1, 2]);
  }
  const filters = { tags: "toys" };
  const filtered = (await ask({ query, userId: "ida", filters }, headers)).body;
  expect(filtered.answer).toBe("(2025-03-04) Mended the kite. [1]");
  expect((await ask({ query, userId: "ida", maxSources: 1 }, headers)).body.sources).toHaveLength(1);
  const none = (await ask({ query: "What did I do in March 2019?", userId: "ida" }, headers)).body;
  expect([none.answer_state, none.sources]).toEqual(["not_found", []]);
});

test("of a question for several things, the answer names what nothing answers", async () => {
  const project = (await mneme.call("POST", "/v1/projects", { name: "parts" })).body;
  const headers = { authorization: `Bearer ${project.key}` };
  const { body } = await mneme.call("POST", "/v1/memories", { content: "The gate opens at nine." }, headers);
  await until("the memory is completed", async () => {
    const found = await mneme.call("GET", `/v1/memories/${body.id}`, undefined, headers);
    return found.body.status === "completed";
  });
  const partial = (await ask({ query: "When does the gate open and who is Ben's doctor?" }, headers)).body;
  expect(partial.answer_state).toBe("partial");
  expect(partial.answer).toBe(
    "The gate opens at nine. [1] Nothing that is stored here answers this question: “who is Ben's doctor?”",
  );
  const none = (await ask({ query: "Who is Ben's doctor and where does Greta work?" }, headers)).body;
  expect([none.answer_state, none.sources]).toEqual(["not_found", []]);
});

test.each(["🚲", "€", "→", "7", "鍵"])("a query of one symbol is none of punctuation: %s", async (query) => {
  expect((await ask({ query, userId: "ida" })).status).toBe(200);
});

describe("200: a stream", () => {
  test("texts, then sources, usage and done; together the same as the JSON answer", async () => {
    for (const mode of MODE_NAMES) {
      for (const question of [
        { query: QUESTION, userId: "ida", mode },
        { query: "nothing", userId: "nobody", mode },
      ]) {
        const whole = expectWholeAnswer(await (await stream(question)).rest());
        expect(whole).toEqual((await ask(question)).body);
      }
    }
  });

  test("has the headers of every answer, and those that stop proxies from buffering it", async () => {
    const reader = await stream({ query: QUESTION });
    const { response } = reader;
    expect(response.status).toBe(200);
    for (const name of ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]) {
      expect(response.headers.get(name)).toBeString();
    }
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    await reader.hangUp();
  });

  test("both ends of the range of maxSources apply", async () => {
    for (const maxSources of [1, 50]) {
      const { answer, sources } = expectWholeAnswer(
        await (await stream({ query: "herring was sold", userId: "ledger", maxSources })).rest(),
      );
      expect(sources).toHaveLength(maxSources);
      expectCitations(answer, sources);
    }
  });

  test("an error before the first event is an HTTP status", async () => {
    const refused = await ask({ query: " ", stream: true });
    expectFault(refused, 400, "invalid_request", "query");
    expectFault(await ask({ query: "x", stream: true, filters: [] }), 400, "invalid_filter", "filters");
  });
});

describe("what counts as a query", () => {
  test("an answer, as JSON or as a stream; also one without evidence", async () => {
    const before = await used();
    await ask({ query: QUESTION });
    await ask({ query: QUESTION, userId: "nobody" });
    await (await stream({ query: QUESTION })).rest();
    expect(await used()).toBe(before + 3);
  });

  test("not a refused query, and no search", async () => {
    const before = await used();
    await ask({ query: "" });
    await ask({ query: "x", maxSources: 51 });
    await ask({ query: "x", stream: true, filters: { colour: 1 } });
    await mneme.call("POST", "/v1/memories/search", { query: "x" });
    await mneme.call("GET", "/v1/memories/search?query=x");
    await ask({ query: "x" }, { authorization: `Bearer ${mneme.addKey(["memories:read"])}` });
    expect(await used()).toBe(before);
  });

  test("a stream that was cancelled after it began, and not one before", async () => {
    const before = await used();
    const begun = await stream({ query: QUESTION, userId: "ida" });
    expect((await begun.next())?.name).toBe("text");
    await begun.hangUp();
    expect(await used()).toBe(before + 1);
    await (await stream({ query: QUESTION })).hangUp();
    expect(await used()).toBe(before + 1);
  });
});

describe("429: the month's queries are used", () => {
  test("query, stream and messages are refused until the month ends, search still works", async () => {
    const project = (await mneme.call("POST", "/v1/projects", { name: "small", plan: "free" })).body;
    const headers = { authorization: `Bearer ${project.key}` };
    for (let at = 0; at < 100; at++) expect((await ask({ query: "x" }, headers)).status).toBe(200);
    const chat = (await mneme.call("POST", "/v1/chats", {}, headers)).body.id;

    const { period } = (await mneme.call("GET", "/v1/usage", undefined, headers)).body;
    const seconds = (Date.parse(period.end) - clock.now()) / 1000;
    const refused = [
      await ask({ query: "x" }, headers),
      await ask({ query: "x", stream: true }, headers),
      await mneme.call("POST", `/v1/chats/${chat}/messages`, { message: "x" }, headers),
      await mneme.call("POST", `/v1/chats/${chat}/messages/stream`, { message: "x" }, headers),
    ];
    for (const answer of refused) {
      expectFault(answer, 429, "query_quota_exceeded");
      const waiting = Number(answer.headers.get("retry-after"));
      expect(Math.abs(waiting - seconds)).toBeLessThan(60);
      expect(answer.body.error.retry_after_seconds).toBe(waiting);
    }
    expect((await mneme.call("GET", `/v1/chats/${chat}`, undefined, headers)).body.messages).toEqual([]);
    expect((await mneme.call("POST", "/v1/memories/search", { query: "x" }, headers)).status).toBe(200);
    expect((await mneme.call("GET", "/v1/usage", undefined, headers)).body.queries).toEqual({
      ...{ used: 100, limit: 100, remaining: 0 },
    });
  });
});

describe("400", () => {
  const refused: [name: string, body: unknown, code: string, param: string | undefined][] = [
    ["no query", {}, "invalid_request", "query"],
    ["a query of null", { query: null }, "invalid_request", "query"],
    ["a blank query", { query: " \n\u3000" }, "invalid_request", "query"],
    ["a query of punctuation", { query: "?! … —。" }, "invalid_request", "query"],
    ["a query of invisible characters", { query: "\u200b\u2060\ufe0f" }, "invalid_request", "query"],
    ["8,193 characters of query", { query: "k".repeat(8_193) }, "invalid_request", "query"],
    ["a maxSources of 0", { query: "x", maxSources: 0 }, "invalid_request", "maxSources"],
    ["a maxSources of 51", { query: "x", maxSources: 51 }, "invalid_request", "maxSources"],
    ["a maxSources of 1.5", { query: "x", maxSources: 1.5 }, "invalid_request", "maxSources"],
    ["a maxSources that is a text", { query: "x", maxSources: "8" }, "invalid_request", "maxSources"],
    ["an unknown mode", { query: "x", mode: "deep" }, "invalid_request", "mode"],
    ["stream as a text", { query: "x", stream: "true" }, "invalid_request", "stream"],
    ["empty instructions", { query: "x", instructions: "" }, "invalid_request", "instructions"],
    [
      "8,193 characters of instructions",
      { query: "x", instructions: "i".repeat(8_193) },
      "invalid_request",
      "instructions",
    ],
    ["an empty userId", { query: "x", userId: "" }, "invalid_request", "userId"],
    ["257 characters of userId", { query: "x", userId: "u".repeat(257) }, "invalid_request", "userId"],
    ["filters that are a list", { query: "x", filters: [] }, "invalid_filter", "filters"],
    ["an unknown filter field", { query: "x", filters: { colour: 1 } }, "invalid_filter", "filters.colour"],
    ["a model, where none is configured", { query: "x", model: "gpt" }, "invalid_request", "model"],
    ...REFUSED_AS_OF,
    ["a limit", { query: "x", limit: 5 }, "invalid_request", "limit"],
    ["a user_id", { query: "x", user_id: "ida" }, "invalid_request", "user_id"],
    ["a body that is a list", [], "invalid_request", undefined],
  ];
  for (const [name, body, code, param] of refused) {
    test(`${name} is refused by name`, async () => expectFault(await ask(body as object), 400, code, param));
  }

  test("8,192 characters of query are accepted", async () => {
    expect((await ask({ query: "k".repeat(8_192), userId: "ida", mode: "fast" })).status).toBe(200);
  });

  test("query parameters are refused", async () => {
    const answer = await mneme.call("POST", "/v1/memories/query?stream=true", { query: "x" });
    expectFault(answer, 400, "invalid_request", "stream");
  });
});

test("401 without a key, 403 for a key that may search but not query", async () => {
  const unkeyed = new Request("http://mneme.test/v1/memories/query", { method: "POST", body: "{}" });
  expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:read", "memories:write", "chats:write"])}`;
  expectFault(await ask({ query: "x" }, { authorization }), 403, "insufficient_scope");
});

describe("503: the models are away", () => {
  test("a JSON answer is refused, a stream ends in an error event with the same body; neither counts", async () =>
    withModelsAway(async (bare) => {
      const refused = await bare.call("POST", "/v1/memories/query", { query: "models" });
      expectFault(refused, 503, "model_unavailable");
      expect(refused.headers.has("retry-after")).toBeFalse();

      const reader = await openStream(bare, "/v1/memories/query", { query: "models", stream: true });
      expect(reader.response.status).toBe(200);
      const { request_id: _, ...error } = refused.body.error;
      expect(await reader.rest()).toEqual([
        { name: "error", data: { error: { ...error, request_id: reader.response.headers.get("x-request-id") } } },
      ]);
      expect((await bare.call("GET", "/v1/usage")).body.queries.used).toBe(0);
    }));
});
