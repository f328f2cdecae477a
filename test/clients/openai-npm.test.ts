// The official client of OpenAI for JavaScript, against a real server: models, chat completions, streams, errors.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from "openai";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParams,
} from "openai/resources/chat/completions";
import { systemClock } from "../../src/kit/clock.ts";
import { delta, event, type LlmStub, stalling, startLlm, streamed } from "../support/llm.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { DEFAULT, ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

const FACTS = [
  { content: "The lighthouse of Skarn was built in 1871 by Ida Holm.", title: "Skarn", userId: "ida", tags: ["light"] },
  {
    content: "The lighthouse of Skarn is 41 metres tall and painted red.",
    title: "Height",
    userId: "ida",
    metadata: { url: "https://skarn.test/height" },
  },
  { content: "The lighthouse of Skarn was sold to Bob for one crown.", title: "Sale", userId: "bob" },
];
const QUESTION = "When was the lighthouse of Skarn built?";
const ASKED: ChatCompletionCreateParams["messages"] = [{ role: "user", content: QUESTION }];

/** A project of the server, with a client for its first key. */
interface Tenant {
  readonly id: string;
  readonly client: OpenAI;
  /** Calls the API itself with the project's key. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Json>;
  readonly clientFor: (scopes: readonly string[], more?: object) => Promise<OpenAI>;
}
// biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of any shape, and fail if they differ
type Json = any;
/** What a completion or a chunk has besides OpenAI's fields. */
type WithSources<Answer> = Answer & {
  readonly mneme?: { readonly sources: readonly Json[]; readonly answer_state: string };
};

let server: RunningServer;
let llm: LlmStub;
/** Answers by quoting. */
let quoting: Tenant;
/** Answers with a language model. */
let writing: Tenant;
let calls = 0;

/** @param onResponse gets each response and returns what the client gets instead */
function clientOf(apiKey: string, onResponse = (response: Response) => response): OpenAI {
  return new OpenAI({
    apiKey,
    baseURL: `${server.url}/v1`,
    maxRetries: 0,
    fetch: async (input, init) => {
      calls++;
      return onResponse(await fetch(input, init));
    },
  });
}

async function callWith(key: string, method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${server.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

async function newTenant(settings: object, plan = "enterprise"): Promise<Tenant> {
  const { id, key } = await callWith(server.key, "POST", "/projects", { name: "a test's", plan });
  await callWith(server.key, "PUT", `/projects/${id}`, { smart_ingestion: { enabled: false }, ...settings });
  const call: Tenant["call"] = (method, path, body) => callWith(key, method, path, body);
  const { data } = await call("POST", "/memories/batch", { memories: FACTS });
  for (const { memory } of data) {
    await until("a memory is completed", async () => {
      return (await call("GET", `/memories/${memory.id}`)).status === "completed";
    });
  }
  const clientFor: Tenant["clientFor"] = async (scopes, more = {}) =>
    clientOf((await call("POST", "/keys", { name: "a test's", scopes, ...more })).key);
  return { id, client: clientOf(key), call, clientFor };
}

beforeAll(async () => {
  llm = startLlm(() => streamed(["It was built ", "in 1871 [1]."], { prompt: 300, completion: 9 }));
  server = await startServer();
  quoting = await newTenant({});
  writing = await newTenant({ llm: { base_url: llm.baseUrl, model: "small" } });
});
afterAll(async () => {
  await server.stop();
  await llm.stop();
  process.stdout.write(`openai (npm): ${calls} calls\n`);
});

async function chunksOf(
  stream: AsyncIterable<ChatCompletionChunk>,
): Promise<readonly WithSources<ChatCompletionChunk>[]> {
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

function textOf(chunks: readonly ChatCompletionChunk[]): string {
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
}

/** The error that a call of the client fails with. */
async function failureOf(work: Promise<unknown>): Promise<APIError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error("the call succeeded");
}

describe("models", () => {
  test("lists the chat models, then the installed embedding models", async () => {
    const models = [];
    for await (const model of quoting.client.models.list()) models.push(model);
    const ids = models.map(({ id }) => id);
    expect(ids.slice(0, 5)).toEqual(["mneme", "mneme/fast", "mneme/hybrid", "mneme/balanced", "mneme/precise"]);
    expect(ids).toContain(DEFAULT);
    expect(ids).toContain(ENGLISH);
    expect(ids).toHaveLength(new Set(ids).size);
    for (const model of models) expect(model).toMatchObject({ object: "model", owned_by: "mneme" });
  });

  test("reads a model, whose id may have a slash", async () => {
    for (const id of ["mneme", "mneme/precise", DEFAULT])
      expect((await quoting.client.models.retrieve(id)).id).toBe(id);
    expect((await quoting.call("GET", "/models/mneme/precise")).id).toBe("mneme/precise");
  });

  test("an unknown model is NotFoundError", async () => {
    for (const id of ["gpt-4o", "mneme/slow", "mneme%2Ffast"]) {
      const failure = await failureOf(quoting.client.models.retrieve(id));
      expect(failure).toBeInstanceOf(NotFoundError);
      expect(failure).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
    }
  });
});

describe("a completion", () => {
  test("quotes the memories with marks, annotations and sources", async () => {
    const completion: WithSources<ChatCompletion> = await quoting.client.chat.completions.create({
      model: "mneme",
      messages: ASKED,
      user: "ida",
    });
    const [choice] = completion.choices;
    const content = choice?.message.content ?? "";
    expect(completion).toMatchObject({ object: "chat.completion", model: "mneme" });
    expect(completion.id).toMatch(/^chatcmpl-[0-9a-f-]{36}$/);
    expect(Math.abs(completion.created - systemClock.now() / 1_000)).toBeLessThan(600);
    expect(choice).toMatchObject({ index: 0, finish_reason: "stop", logprobs: null });
    expect(content).toContain("built in 1871 by Ida Holm. [1]");
    expect(completion.usage).toEqual({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
    const [first] = choice?.message.annotations ?? [];
    expect(first?.type).toBe("url_citation");
    const { start_index = 0, end_index = 0, title, url } = first?.url_citation ?? {};
    expect([...content].slice(start_index, end_index).join("")).toBe("[1]");
    expect(completion.mneme?.answer_state).toBe("answered");
    const [source] = completion.mneme?.sources ?? [];
    expect(source).toMatchObject({ cited: true, content: FACTS[0]?.content });
    expect([title, url]).toEqual(["Skarn", `/v1/memories/${source.memory_id}`]);
  });

  test("every annotation is the place of its mark; a memory's own URL is used", async () => {
    const { choices } = await quoting.client.chat.completions.create({
      model: "mneme/precise",
      messages: [{ role: "user", content: "How tall is the lighthouse of Skarn, and when was it built?" }],
      user: "ida",
    });
    const { content = "", annotations = [] } = choices[0]?.message ?? {};
    const marks = [...(content ?? "").matchAll(/\[\d+\]/g)].map(([mark]) => mark);
    const places = annotations.map(({ url_citation: { start_index, end_index } }) =>
      [...(content ?? "")].slice(start_index, end_index).join(""),
    );
    expect(marks.length).toBeGreaterThan(0);
    expect(places).toEqual(marks);
    expect(annotations.map(({ url_citation }) => url_citation.url)).toContain("https://skarn.test/height");
  });

  test("uses the language model, its usage, and the caller's temperature and length", async () => {
    llm.forget();
    const { choices, usage } = await writing.client.chat.completions.create({
      model: "mneme/fast",
      messages: ASKED,
      user: "ida",
      temperature: 0.9,
      max_completion_tokens: 33,
    });
    expect(choices[0]?.message.content).toBe("It was built in 1871 [1].");
    expect(choices[0]?.message.annotations?.[0]?.url_citation).toMatchObject({ start_index: 21, end_index: 24 });
    expect(usage).toEqual({ prompt_tokens: 300, completion_tokens: 9, total_tokens: 309 });
    const { body } = llm.calls[0] ?? {};
    expect(body?.temperature).toBe(0.9);
    expect(body?.max_tokens ?? body?.max_completion_tokens).toBe(33);
  });

  test("a length over the project's limit does not raise it", async () => {
    await writing.call("PUT", "/project", { llm: { base_url: llm.baseUrl, model: "small", max_output_tokens: 64 } });
    llm.forget();
    await writing.client.chat.completions.create({ model: "mneme", messages: ASKED, max_tokens: 4_000 });
    const { body } = llm.calls[0] ?? {};
    expect(body?.max_tokens ?? body?.max_completion_tokens).toBe(64);
  });

  test("an answer that the model cut off has the finish_reason length", async () => {
    const cut = [delta("It was built"), { choices: [{ index: 0, delta: {}, finish_reason: "length" }] }, "[DONE]"];
    llm.answer(() => new Response(cut.map(event).join(""), { headers: { "content-type": "text/event-stream" } }));
    try {
      const { choices } = await writing.client.chat.completions.create({ model: "mneme", messages: ASKED });
      expect(choices[0]).toMatchObject({ finish_reason: "length", message: { content: "It was built…" } });
    } finally {
      llm.answer(() => streamed(["It was built ", "in 1871 [1]."], { prompt: 300, completion: 9 }));
    }
  });

  test("earlier messages are history, instructions reach the model, and parts of text are joined", async () => {
    llm.forget();
    const first = await writing.client.chat.completions.create({ model: "mneme", messages: ASKED, user: "ida" });
    const answer = first.choices[0]?.message;
    if (answer === undefined) throw new Error("there is an answer");
    await writing.client.chat.completions.create({
      model: "mneme",
      user: "ida",
      messages: [
        { role: "system", content: "Answer like a pirate." },
        ...ASKED,
        answer,
        { role: "developer", content: [{ type: "text", text: "Keep it short." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "And how" },
            { type: "text", text: "tall is it?" },
          ],
        },
      ],
    });
    const sent = JSON.stringify(llm.calls.slice(1).map(({ body }) => body.messages));
    for (const part of ["like a pirate", "Keep it short", "And how\\ntall is it?", "It was built in 1871", QUESTION]) {
      expect(sent).toContain(part);
    }
  });

  test("without a language model, history makes a follow-up question self-contained", async () => {
    const { choices } = await quoting.client.chat.completions.create({
      model: "mneme",
      user: "ida",
      messages: [
        ...ASKED,
        { role: "assistant", content: "In 1871 [1]." },
        { role: "user", content: "How tall is it?" },
      ],
    });
    expect(choices[0]?.message.content).toContain("41 metres");
  });
});

describe("options", () => {
  const contents = ({ mneme }: WithSources<ChatCompletion>) => (mneme?.sources ?? []).map(({ content }) => content);

  test("user limits the answer to one user's memories", async () => {
    const ask = (user: string) => quoting.client.chat.completions.create({ model: "mneme", messages: ASKED, user });
    expect(contents(await ask("ida")).join()).not.toContain("Bob");
    expect(contents(await ask("bob"))).toEqual([FACTS[2]?.content]);
    expect(contents(await ask("nobody"))).toEqual([]);
  });

  test("filters can be given as mneme, or as text in metadata", async () => {
    const filters = { tags: "light" };
    const mneme = { filters, maxSources: 1, mode: "fast", includeGraph: true, asOf: "2026-01-01" };
    const typed = { model: "mneme", messages: ASKED, mneme };
    expect(contents(await quoting.client.chat.completions.create(typed))).toEqual([FACTS[0]?.content]);
    const metadata = {
      ...{ filters: JSON.stringify(filters), maxSources: "1", mode: "fast", includeGraph: "true" },
      ...{ asOf: "2026-01-01", userId: "ida" },
    };
    const texts = { model: "mneme", messages: ASKED, metadata };
    expect(contents(await quoting.client.chat.completions.create(texts))).toEqual([FACTS[0]?.content]);
  });

  test("sources_as_text appends the cited sources, and is not taken for history when it comes back", async () => {
    const asked = { model: "mneme", user: "ida", messages: ASKED, mneme: { sources_as_text: true } };
    const { choices, ...whole } = await quoting.client.chat.completions.create(asked);
    const [cited] = ((whole as WithSources<Json>).mneme.sources as Json[]).filter((source) => source.cited);
    const content = choices[0]?.message.content ?? "";
    expect(content).toContain(`\n\n[1] Skarn: /v1/memories/${cited.memory_id}`);
    const chunks = await chunksOf(await quoting.client.chat.completions.create({ ...asked, stream: true }));
    expect(textOf(chunks)).toBe(content);
    llm.forget();
    await writing.client.chat.completions.create({
      model: "mneme",
      messages: [...ASKED, { role: "assistant", content }, { role: "user", content: "How tall is it?" }],
    });
    const sent = JSON.stringify(llm.calls.map(({ body }) => body.messages));
    expect(sent).toContain("built in 1871 by Ida Holm");
    expect(sent).not.toContain("/v1/memories/mem_");
  });

  test("contradictions are refused", async () => {
    const refused: readonly (readonly [more: object, param: string])[] = [
      [{ user: "ida", mneme: { userId: "bob" } }, "user"],
      [{ model: "mneme/fast", mneme: { mode: "precise" } }, "mneme.mode"],
      [{ mneme: { mode: "fast" }, metadata: { mode: "fast" } }, "metadata.mode"],
      [{ metadata: { filters: "{" } }, "metadata.filters"],
      [{ metadata: { filters: '{"nothing": 1}' } }, "metadata.filters.nothing"],
      [{ metadata: { maxSources: "51" } }, "metadata.maxSources"],
      [{ metadata: { maxSources: "x" } }, "metadata.maxSources"],
      [{ metadata: { conversation: "7" } }, "metadata.conversation"],
      [{ mneme: { filters: { nothing: 1 } } }, "mneme.filters.nothing"],
      [{ mneme: { asOf: "yesterday" } }, "mneme.asOf"],
      [{ user_id: "ida" }, "user_id"],
    ];
    for (const [more, param] of refused) {
      const body = { model: "mneme", messages: ASKED, ...more };
      const failure = await failureOf(quoting.client.chat.completions.create(body));
      expect([param, failure.status, failure.param]).toEqual([param, 400, param]);
    }
  });
});

describe("a stream", () => {
  const streamedBody = { model: "mneme", messages: ASKED, user: "ida", stream: true } as const;

  test("has the text in pieces, sources on a chunk with a choice, the end, and the usage if asked for", async () => {
    const stream = await quoting.client.chat.completions.create({
      ...streamedBody,
      stream_options: { include_usage: true },
    });
    const chunks = await chunksOf(stream);
    const whole = await quoting.client.chat.completions.create({ ...streamedBody, stream: false });
    expect(textOf(chunks)).toBe(whole.choices[0]?.message.content ?? "");
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" });
    const withSources = chunks.filter(({ mneme }) => mneme !== undefined);
    expect(withSources).toHaveLength(1);
    expect(withSources[0]?.choices).toHaveLength(1);
    expect(withSources[0]?.mneme?.sources[0]).toMatchObject({ cited: true });
    const delta: Json = withSources[0]?.choices[0]?.delta;
    expect(delta.annotations).toEqual(whole.choices[0]?.message.annotations);
    const [last, beforeLast] = [chunks.at(-1), chunks.at(-2)];
    expect(last).toMatchObject({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } });
    expect(beforeLast?.choices[0]).toMatchObject({ delta: {}, finish_reason: "stop" });
    for (const chunk of chunks.slice(0, -1)) expect(chunk).toMatchObject({ usage: null, choices: [{ index: 0 }] });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test("without include_usage every chunk has a choice, and none has a usage", async () => {
    for (const chunk of await chunksOf(await quoting.client.chat.completions.create(streamedBody))) {
      expect(chunk.choices).toHaveLength(1);
      expect(chunk).not.toHaveProperty("usage");
    }
  });

  test("the client's own stream helper puts the answer together", async () => {
    const stream = writing.client.chat.completions.stream({ model: "mneme", messages: ASKED, user: "ida" });
    const completion: WithSources<Json> = await stream.finalChatCompletion();
    expect(completion.choices[0].message.content).toBe("It was built in 1871 [1].");
    expect(completion.choices[0].message.annotations).toHaveLength(1);
    expect(completion.mneme.sources[0].cited).toBe(true);
  });

  test("has no event names, and ends with [DONE]", async () => {
    const response = await quoting.client.chat.completions.create(streamedBody).asResponse();
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const text = await response.text();
    expect(text).not.toMatch(/^event:/m);
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("aborting it ends the work; what was sent counts as a query", async () => {
    const before = (await writing.call("GET", "/usage")).queries.used;
    llm.answer(stalling(event(delta("It was "))));
    try {
      const stream = await writing.client.chat.completions.create(streamedBody);
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) stream.controller.abort();
      await until("the language model is no longer called", () => llm.underWay() === 0);
      await until("the query is counted", async () => {
        return (await writing.call("GET", "/usage")).queries.used === before + 1;
      });
    } finally {
      llm.answer(() => streamed(["It was built ", "in 1871 [1]."], { prompt: 300, completion: 9 }));
    }
  });

  test("a request that is aborted before its answer is APIUserAbortError", async () => {
    llm.answer(stalling(""));
    try {
      const controller = new AbortController();
      const asked = writing.client.chat.completions.create(
        { model: "mneme", messages: ASKED, user: "ida" },
        { signal: controller.signal },
      );
      await until("the language model is called", () => llm.underWay() > 0);
      controller.abort();
      expect(await failureOf(asked)).toBeInstanceOf(APIUserAbortError);
      await until("the language model is no longer called", () => llm.underWay() === 0);
    } finally {
      llm.answer(() => streamed(["It was built ", "in 1871 [1]."], { prompt: 300, completion: 9 }));
    }
  });

  test("the comments that keep a silent connection open are no chunks", async () => {
    const { promise: kept, resolve: keep } = Promise.withResolvers<void>();
    llm.answer(async () => {
      await kept;
      return streamed(["It was built ", "in 1871 [1]."]);
    });
    const client = clientOf(writing.client.apiKey ?? "", (response) => {
      const [seen, given] = response.body?.tee() ?? [];
      const watch = async () => {
        let text = "";
        for await (const part of seen ?? []) {
          text += new TextDecoder().decode(part);
          if (text.includes(": keep-alive\n\n")) keep();
        }
      };
      void watch();
      return new Response(given ?? null, response);
    });
    try {
      const chunks = await chunksOf(await client.chat.completions.create(streamedBody));
      expect(textOf(chunks)).toBe("It was built in 1871 [1].");
      await kept;
    } finally {
      keep();
      llm.answer(() => streamed(["It was built ", "in 1871 [1]."], { prompt: 300, completion: 9 }));
    }
  });

  test("an error in the middle is raised by the client", async () => {
    llm.answer(() => {
      const broken = `${event(delta("It was built "))}${event({ error: { message: "no more" } })}`;
      return new Response(broken, { headers: { "content-type": "text/event-stream" } });
    });
    try {
      const failure = await failureOf(
        (async () => chunksOf(await writing.client.chat.completions.create(streamedBody)))(),
      );
      expect(failure).toMatchObject({ code: "llm_error", type: "server_error" });
      expect(failure.message).toContain("The language model did not answer");
    } finally {
      llm.answer(() => streamed(["It was built ", "in 1871 [1]."], { prompt: 300, completion: 9 }));
    }
  });
});

describe("embeddings", () => {
  const texts = ["The kettle boils.", "Where is the spare key?", "鍵はどこですか。"];
  const embed = (body: object) =>
    quoting.client.embeddings.create({ model: ENGLISH, input: texts, ...body } as OpenAI.EmbeddingCreateParams);

  test("have unit length, the model's dimensions and a usage", async () => {
    const { data, model, object, usage } = await embed({ encoding_format: "float" });
    expect([object, model, data.length]).toEqual(["list", ENGLISH, 3]);
    for (const [at, { embedding, index, object }] of data.entries()) {
      expect([index, object, embedding.length]).toEqual([at, "embedding", 384]);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 3);
    }
    expect(usage.prompt_tokens).toBeGreaterThan(10);
    expect(usage.total_tokens).toBe(usage.prompt_tokens);
    const [alone] = (await embed({ input: texts[1] })).data;
    expect(alone?.embedding.length).toBe(384);
    expect(cosine(alone?.embedding, data[1]?.embedding)).toBeCloseTo(1, 5);
  });

  test("are the same as base64, which the client asks for by itself", async () => {
    const floats = await embed({ encoding_format: "float" });
    const decoded = await embed({});
    expect(decoded.data.map(({ embedding }) => embedding)).toEqual(floats.data.map(({ embedding }) => embedding));
    const [raw] = (await embed({ encoding_format: "base64" })).data;
    expect(Buffer.from(raw?.embedding as unknown as string, "base64")).toHaveLength(384 * 4);
  });

  test("are those that searches compare: a query finds its passage", async () => {
    const ask = async (model: string, input_type: string, input: string) =>
      (await embed({ model, input_type, input, encoding_format: "float" })).data[0]?.embedding;
    for (const model of [ENGLISH, DEFAULT]) {
      const query = await ask(model, "query", "Where is the key?");
      const near = await ask(model, "passage", "The spare key is under the blue pot.");
      const far = await ask(model, "passage", "The train to Berlin leaves at seven.");
      expect(cosine(query, near)).toBeGreaterThan(cosine(query, far));
    }
    // a model with prefixes has different vectors for both purposes
    const [asQuery, asPassage] = [await ask(DEFAULT, "query", "key"), await ask(DEFAULT, "passage", "key")];
    expect(cosine(asQuery, asPassage)).toBeLessThan(0.9999);
    expect(await ask(DEFAULT, "passage", "key")).toEqual(
      (await embed({ model: DEFAULT, input: "key" })).data[0]?.embedding,
    );
  });

  test("many texts are embedded, in their order", async () => {
    const input = Array.from({ length: 2_048 }, (_, at) => `${at}`);
    const { data } = await embed({ input });
    expect(data.map(({ index }) => index)).toEqual(input.map(Number));
    const [last] = (await embed({ input: "2047" })).data;
    expect(cosine(last?.embedding, data[2_047]?.embedding)).toBeCloseTo(1, 5);
  });

  test("a text that is too long is refused, or cut off if asked for", async () => {
    const long = "key ".repeat(300);
    const failure = await failureOf(embed({ input: ["short", long] }));
    expect(failure).toBeInstanceOf(BadRequestError);
    expect(failure).toMatchObject({ code: "invalid_request", param: "input[1]" });
    expect(failure.message).toContain("302 tokens");
    const fitting = "key ".repeat(254);
    const cut = await embed({ input: [long, fitting], truncate: true });
    expect(cut.usage.prompt_tokens).toBe(512);
    expect(cosine(cut.data[0]?.embedding, cut.data[1]?.embedding)).toBeCloseTo(1, 5);
    expect((await embed({ input: fitting })).usage.prompt_tokens).toBe(256);
    expect(await failureOf(embed({ input: `${fitting}key` }))).toMatchObject({ param: "input" });
  });

  test("other inputs, dimensions and models are refused", async () => {
    const refused: readonly (readonly [param: string, status: number, body: object])[] = [
      ["input", 400, { input: [1, 2, 3] }],
      ["input", 400, { input: [[1, 2], [3]] }],
      ["input", 400, { input: [] }],
      ["input", 400, { input: "" }],
      ["input[1]", 400, { input: ["a", ""] }],
      ["input", 400, { input: Array.from({ length: 2_049 }, () => "a") }],
      ["dimensions", 400, { dimensions: 256 }],
      ["encoding_format", 400, { encoding_format: "int8" }],
      ["input_type", 400, { input_type: "document" }],
      ["model", 404, { model: "text-embedding-3-small" }],
      ["model", 404, { model: "mneme" }],
      ["inputs", 400, { inputs: "a" }],
    ];
    for (const [param, status, body] of refused) {
      const failure = await failureOf(embed(body));
      expect([param, failure.status, failure.param]).toEqual([param, status, param]);
    }
    expect((await failureOf(embed({ input: [1] }))).message).toContain("must be texts");
    expect((await embed({ dimensions: 384 })).data).toHaveLength(3);
  });

  test("need the scope memories:read", async () => {
    const asking = await quoting.clientFor(["query"]);
    const failure = await failureOf(asking.embeddings.create({ model: ENGLISH, input: "a" }));
    expect(failure).toBeInstanceOf(PermissionDeniedError);
    const reading = await quoting.clientFor(["memories:read"], { userId: "ida" });
    expect((await reading.embeddings.create({ model: ENGLISH, input: "a", user: "ida" })).data).toHaveLength(1);
    const other = await failureOf(reading.embeddings.create({ model: ENGLISH, input: "a", user: "bob" }));
    expect(other).toMatchObject({ status: 403, param: "user" });
  });
});

function cosine(left: readonly number[] = [], right: readonly number[] = []): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
}

describe("errors", () => {
  const ask = (client: OpenAI, more: object = {}) =>
    failureOf(client.chat.completions.create({ model: "mneme", messages: ASKED, ...more }));

  test("a wrong key is AuthenticationError", async () => {
    const failure = await ask(clientOf("ctx_wrong"));
    expect(failure).toBeInstanceOf(AuthenticationError);
    expect(failure).toMatchObject({ status: 401, code: "invalid_api_key", type: "invalid_request_error", param: null });
    expect(failure.requestID).toBeString();
    expect(await failureOf(clientOf("sk-of-somebody-else").models.list())).toBeInstanceOf(AuthenticationError);
  });

  test("a missing scope, and another user than that of the key, is PermissionDeniedError", async () => {
    const reader = await quoting.clientFor(["memories:read"]);
    const failure = await ask(reader);
    expect(failure).toBeInstanceOf(PermissionDeniedError);
    expect(failure).toMatchObject({ status: 403, code: "insufficient_scope" });
    const asking = await quoting.clientFor(["query"]);
    expect(await failureOf(asking.models.list())).toBeInstanceOf(PermissionDeniedError);
    const confined = await quoting.clientFor(["*"], { userId: "ida" });
    expect(await ask(confined, { user: "bob" })).toMatchObject({ status: 403, param: "user" });
    const own: WithSources<ChatCompletion> = await confined.chat.completions.create({
      model: "mneme",
      messages: ASKED,
    });
    expect(JSON.stringify(own.mneme)).not.toContain("Bob");
  });

  test("an unknown model is NotFoundError, and names the models", async () => {
    const failure = await ask(quoting.client, { model: "gpt-4o" });
    expect(failure).toBeInstanceOf(NotFoundError);
    expect(failure).toMatchObject({ code: "model_not_found", param: "model" });
    expect(failure.message).toContain("mneme/balanced");
  });

  test("too many requests are RateLimitError with Retry-After, and so is a used-up quota", async () => {
    await using limited = await startServer({ environment: { MNEME_RATE_LIMITS: null } });
    const client = new OpenAI({ apiKey: limited.key, baseURL: `${limited.url}/v1`, maxRetries: 0 });
    let failure: APIError | null = null;
    for (let n = 0; n < 101 && failure === null; n++) {
      const body = { model: "mneme", messages: [] };
      const refusal = await failureOf(client.chat.completions.create(body));
      if (refusal.status === 429) failure = refusal;
      calls++;
    }
    expect(failure).toBeInstanceOf(RateLimitError);
    expect(failure).toMatchObject({ code: "rate_limit_exceeded", type: "rate_limit_error" });
    expect(Number(failure?.headers?.get("retry-after"))).toBeWithin(1, 61);

    const free = await newTenant({}, "free");
    const body = { model: "mneme/fast", messages: ASKED };
    await Promise.all(Array.from({ length: 100 }, () => free.client.chat.completions.create(body)));
    const refusal = await failureOf(free.client.chat.completions.create(body));
    expect(refusal).toBeInstanceOf(RateLimitError);
    expect(refusal).toMatchObject({ code: "query_quota_exceeded", type: "insufficient_quota" });
    expect(Number(refusal.headers?.get("retry-after"))).toBeGreaterThan(0);
  });

  test("an Idempotency-Key gives the same completion again, and another body is ConflictError", async () => {
    const { client } = quoting;
    const options = (key: string) => ({ headers: { "Idempotency-Key": key } });
    const body = { model: "mneme", messages: ASKED, user: "ida" };
    const first = await client.chat.completions.create(body, options("one"));
    expect(await client.chat.completions.create(body, options("one"))).toEqual(first);
    const conflict = await failureOf(client.chat.completions.create({ ...body, user: "bob" }, options("one")));
    expect(conflict).toBeInstanceOf(ConflictError);
    const streaming = { ...body, stream: true } as const;
    const chunks = await chunksOf(await client.chat.completions.create(streaming, options("two")));
    const again = await chunksOf(await client.chat.completions.create(streaming, options("two")));
    expect([textOf(again), again[0]?.id]).toEqual([textOf(chunks), chunks[0]?.id]);
  });

  test("a repetition does not show a memory that was deleted since", async () => {
    const gone = await newTenant({});
    const options = { headers: { "Idempotency-Key": "three" } };
    const body = { model: "mneme", messages: ASKED, user: "ida" };
    const first: WithSources<ChatCompletion> = await gone.client.chat.completions.create(body, options);
    await gone.call("DELETE", `/memories/${first.mneme?.sources[0].memory_id}`);
    const failure = await failureOf(gone.client.chat.completions.create(body, options));
    expect(failure).toBeInstanceOf(ConflictError);
    expect(failure.message).toContain("deleted since");
  });
});

/**
 * What becomes of each parameter of the official client. The type requires every parameter that the client knows.
 */
const PARAMETERS: Readonly<Record<keyof ChatCompletionCreateParams, unknown>> = {
  // with a meaning: tested above
  ...{ model: "mneme", messages: ASKED, stream: false, stream_options: { include_usage: true } },
  ...{ user: "ida", metadata: { userId: "ida" }, temperature: 0.3, max_tokens: 5, max_completion_tokens: 5 },
  // without effect
  ...{ frequency_penalty: 1, logit_bias: { "50256": -100 }, parallel_tool_calls: true, presence_penalty: 1 },
  ...{ prediction: { type: "content", content: "x" }, prompt_cache_key: "k", prompt_cache_options: {} },
  ...{ prompt_cache_retention: "24h", reasoning_effort: "low", safety_identifier: "s", seed: 7, service_tier: "auto" },
  ...{ stop: ["\n"], store: true, top_p: 0.5, verbosity: "low" },
  // accepted with a value that asks for nothing special
  ...{
    n: 1,
    logprobs: false,
    top_logprobs: null,
    response_format: { type: "text" },
    modalities: ["text"],
    audio: null,
  },
  ...{
    tools: [],
    functions: [],
    tool_choice: "none",
    function_call: "none",
    moderation: null,
    web_search_options: null,
  },
};
/** Requests for what is not supported, by the parameter that the error names. */
const REFUSED: readonly (readonly [param: string, more: object])[] = [
  ["tools", { tools: [{ type: "function", function: { name: "f" } }] }],
  ["functions", { functions: [{ name: "f" }] }],
  ["tool_choice", { tool_choice: "required" }],
  ["function_call", { function_call: { name: "f" } }],
  ["n", { n: 2 }],
  ["logprobs", { logprobs: true }],
  ["top_logprobs", { top_logprobs: 3 }],
  ["response_format", { response_format: { type: "json_object" } }],
  ["response_format", { response_format: { type: "json_schema", json_schema: { name: "x", schema: {} } } }],
  ["modalities", { modalities: ["text", "audio"] }],
  ["audio", { audio: { format: "mp3", voice: "x" } }],
  ["web_search_options", { web_search_options: {} }],
  ["moderation", { moderation: {} }],
  ["messages[0].content[0].type", { messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] }],
  ["messages[0].content[0].type", { messages: [{ role: "user", content: [{ type: "input_audio" }] }] }],
  ["messages", { messages: [{ role: "tool", content: "x", tool_call_id: "1" }] }],
  [
    "messages[2].content[1].type",
    {
      messages: [
        ...ASKED,
        ...ASKED,
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image_url", image_url: {} },
          ],
        },
      ],
    },
  ],
  ["messages", { messages: [] }],
  ["messages", { messages: [...ASKED, { role: "assistant", content: "In 1871." }] }],
  ["messages", { messages: [{ role: "system", content: "Answer." }] }],
  ["messages", { messages: [{ role: "system", content: "x".repeat(8_193) }, ...ASKED] }],
  ["messages", { messages: Array.from({ length: 1_001 }, () => ASKED[0]) }],
  ["messages[0].content", { messages: [{ role: "user", content: " \n" }] }],
  ["messages[0].content", { messages: [{ role: "user", content: "x".repeat(32_769) }] }],
  ["temperature", { temperature: 2.1 }],
  ["max_tokens", { max_tokens: 0 }],
  ["model", { model: null }],
];

/** Messages that are read, but for what is skipped. */
const SKIPPED: readonly (readonly [what: string, more: object])[] = [
  [
    "a tool call and its result",
    {
      messages: [
        ...ASKED,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "1", content: "x" },
        ...ASKED,
      ],
    },
  ],
  [
    "a picture in an earlier message",
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            { type: "image_url", image_url: { url: "data:," } },
          ],
        },
        { role: "assistant", content: "Nice." },
        ...ASKED,
      ],
    },
  ],
  [
    "reasoning",
    { messages: [...ASKED, { role: "assistant", content: "In 1871.", reasoning_content: "hm" }, ...ASKED] },
  ],
  [
    "parts of the newer API",
    { messages: [{ role: "user", content: [{ type: "input_text", text: "When was the lighthouse built?" }] }] },
  ],
  ["no limit of tokens", { max_tokens: -1 }],
];

describe("parameters", () => {
  test.each(SKIPPED)("what is not needed is skipped: %s", async (_, more) => {
    const body = { model: "mneme/fast", messages: ASKED, ...more } as ChatCompletionCreateParams;
    const answer: Json = await quoting.client.chat.completions.create(body);
    expect(answer.choices[0].message.content).not.toBe("");
  });

  test("every parameter of the client is accepted with a harmless value", async () => {
    for (const [name, value] of Object.entries(PARAMETERS)) {
      const body = { model: "mneme/fast", messages: ASKED, [name]: value };
      const answer: Json = await quoting.client.chat.completions.create(body);
      expect([name, answer.choices.length]).toEqual([name, 1]);
    }
  });

  test("what is not supported is BadRequestError, which names the parameter", async () => {
    for (const [param, more] of REFUSED) {
      const body = { model: "mneme", messages: ASKED, ...more } as ChatCompletionCreateParams;
      const failure = await failureOf(quoting.client.chat.completions.create(body));
      expect(failure).toBeInstanceOf(BadRequestError);
      expect([param, failure.param, failure.type]).toEqual([param, param, "invalid_request_error"]);
      expect(failure.message.length).toBeGreaterThan(20);
    }
  });

  test("the limits hold at their edges", async () => {
    const messages = Array.from({ length: 1_000 }, () => ({ role: "user", content: "x" }) as const);
    const longest = [{ role: "user", content: `kettle ${"x".repeat(32_761)}` }] as const;
    const instructed = [{ role: "system", content: "x".repeat(8_192) } as const, ...ASKED];
    for (const accepted of [messages, [...longest], instructed]) {
      const { choices } = await quoting.client.chat.completions.create({ model: "mneme/fast", messages: accepted });
      expect(choices).toHaveLength(1);
    }
  });
});
