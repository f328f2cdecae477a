// Models that other servers compute: each API is called in its form, and whatever a server sends, a call returns the
// right vectors or fails with one sentence.

import { afterEach, describe, expect, test } from "bun:test";
import { createRemoteModels } from "../../src/adapters/remote-models/remote-models.ts";
import { Fault } from "../../src/domain/fault.ts";
import { type AddedModel, REMOTE_APIS, type RemoteApi, type RemoteModel } from "../../src/domain/installed-model.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { Metrics } from "../../src/metrics.ts";
import { checkModel } from "../../src/models/checks.ts";
import type { Embedder, ExaminedModel, Reranker } from "../../src/ports/models.ts";
import {
  DIMENSIONS,
  FAULTS,
  type RemoteFault,
  type RemoteStub,
  startRemote,
  vectorOf,
} from "../support/remote-models.ts";
import { seeded } from "../support/seeded.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const SECRET = "sk-remote-0123456789";
const INGEST = { purpose: "passage", priority: "ingest" } as const;
const QUERY = { purpose: "query", priority: "query" } as const;

const stubs: RemoteStub[] = [];
afterEach(async () => {
  for (const stub of stubs.splice(0)) await stub.stop();
});

async function start(api: RemoteApi): Promise<RemoteStub> {
  const stub = await startRemote(api);
  stubs.push(stub);
  return stub;
}

/** Long enough for an answer on a busy machine. */
const ANSWER_MS = 20_000;

/**
 * Waits pass at once, and the circuit of a server that failed closes with them.
 * @param requestMs how long an answer is waited for
 */
function models(requestMs = ANSWER_MS) {
  let aheadMs = 0;
  const clock = {
    now: () => systemClock.now() + aheadMs,
    sleep: async (ms: number) => {
      aheadMs += ms;
    },
  };
  const metrics = new Metrics();
  const limits = { query: requestMs, ingest: requestMs };
  const remote = createRemoteModels({ clock, metrics, random: () => 0.5, requestMs: limits });
  return { remote, metrics, pass: (ms: number) => void clock.sleep(ms) };
}

function address(api: RemoteApi, stub: RemoteStub, api_key: string | null = SECRET): RemoteModel {
  const base = api === "openai" || api === "jina" ? "/v1" : "";
  return { api, base_url: `${stub.origin}${base}`, model: "bge-m3", api_key };
}

function row(remote: RemoteModel, more: Partial<AddedModel>): AddedModel {
  return {
    ...{ key: 1n, id: "bge-m3", task: "embed", kind: "remote", source: null, sha256: null, languages: ["en"] },
    ...{
      licence: null,
      isCalibrated: false,
      calibrationJob: null,
      manifestSha256: null,
      status: "ready",
      progress: null,
      error: null,
    },
    ...{ tunings: {}, createdAt: 0, dimensions: null, tokensMax: 512, fingerprint: null, remote, ...more },
  };
}

async function embedder(
  api: RemoteApi,
  stub: RemoteStub,
  created = models(),
  sending: Partial<RemoteModel> = {},
): Promise<Embedder> {
  const remote = { ...address(api, stub), ...sending };
  return opened(created, api, stub, await created.remote.examine("bge-m3", remote, "embed"), sending);
}

/** The embedder of a model as it was examined. */
function opened(
  { remote: known }: ReturnType<typeof models>,
  api: RemoteApi,
  stub: RemoteStub,
  { probes, ...found }: ExaminedModel,
  sending: Partial<RemoteModel> = {},
): Embedder {
  const remote = { ...address(api, stub), ...sending, ...(probes !== null && { probes }) };
  const model = known.open(row(remote, found));
  if (model.task !== "embed") throw new Error("it is no embedder");
  return model.embedder;
}

const vectorsIn = (values: Float32Array) =>
  Array.from({ length: values.length / DIMENSIONS }, (_, at) => values.slice(at * DIMENSIONS, (at + 1) * DIMENSIONS));
const cosine = (left: ArrayLike<number>, right: ArrayLike<number>) =>
  Array.from(left).reduce((sum, number, at) => sum + number * (right[at] ?? Number.NaN), 0);
const messageOf = async (call: Promise<unknown>) => {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "model_unavailable") throw error;
    return error.message;
  }
  throw new Error("the call did not fail");
};

describe("an embedder", () => {
  const PATHS: Readonly<Record<RemoteApi, string>> = {
    ...{ openai: "/v1/embeddings", jina: "/v1/embeddings", tei: "/embed", ollama: "/api/embed", cohere: "/v2/embed" },
  };
  for (const api of REMOTE_APIS) {
    test(`with the API ${api} is found out, and computes each text`, async () => {
      const stub = await start(api);
      const model = await embedder(api, stub);
      expect(model).toMatchObject({ id: "bge-m3", dimensions: DIMENSIONS, isRemote: true });
      const texts = Array.from({ length: 70 }, (_, at) => `The text ${"abcdefg"[at % 7]}x ${"hijklmnopq"[at % 10]}y`);
      const vectors = vectorsIn(await model.embed(texts, INGEST));
      expect(vectors).toHaveLength(70);
      for (const [at, text] of texts.entries()) expect(cosine(vectors[at] ?? [], vectorOf(text))).toBeCloseTo(1, 4);
      expect(new Set(stub.requests.map(({ path }) => path))).toEqual(new Set([PATHS[api]]));
      expect(stub.requests.every(({ headers }) => headers.get("authorization") === `Bearer ${SECRET}`)).toBe(true);
      const sizes = stub.requests.map(({ body }) => (body.input ?? body.inputs ?? body.texts).length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(32);
    });
  }

  test("of Cohere says what a text is for", async () => {
    const stub = await start("cohere");
    const model = await embedder("cohere", stub);
    await model.embed(["a"], QUERY);
    expect(stub.requests.at(-1)?.body).toMatchObject({ model: "bge-m3", input_type: "search_query" });
    await model.embed(["a"], INGEST);
    expect(stub.requests.at(-1)?.body).toMatchObject({ input_type: "search_document", embedding_types: ["float"] });
  });

  test.each([
    ["jina", { task: "retrieval.query" }, { task: "retrieval.passage" }],
    ["openai", { input_type: "query" }, { input_type: "passage" }],
    ["tei", { prompt_name: "query" }, { prompt_name: "passage" }],
  ] as const)("of %s says what a text is for only if it was asked to", async (api, query, passage) => {
    const stub = await start(api);
    const plain = await embedder(api, stub);
    await plain.embed(["a"], QUERY);
    for (const field of Object.keys(query)) expect(stub.requests.at(-1)?.body).not.toHaveProperty(field);
    const model = await embedder(api, stub, models(), { says_purpose: true });
    await model.embed(["a"], QUERY);
    expect(stub.requests.at(-1)?.body).toMatchObject(query);
    await model.embed(["a"], INGEST);
    expect(stub.requests.at(-1)?.body).toMatchObject(passage);
    expect(model.fingerprint).not.toBe(plain.fingerprint);
  });

  test("puts its prefixes before all texts, and sends as much of a text as it was told", async () => {
    const stub = await start("tei");
    const plain = await embedder("tei", stub);
    const prefixes = { query: "query: ", passage: "passage: " };
    const model = await embedder("tei", stub, models(), { prefixes, tokens_max: 16 });
    const long = "word ".repeat(600);
    await model.embed(["a", long], QUERY);
    const sent: readonly string[] = stub.requests.at(-1)?.body.inputs;
    expect(sent.every((text) => text.startsWith("query: "))).toBe(true);
    expect(sent[1]).toBe("query: a");
    expect(sent[2]?.length).toBeLessThan(120);
    await model.embed(["a"], INGEST);
    expect(stub.requests.at(-1)?.body.inputs[1]).toBe("passage: a");
    await plain.embed([long], QUERY);
    expect(stub.requests.at(-1)?.body.inputs[1].length).toBeGreaterThan(1_000);
    expect([model.tokensMax, plain.tokensMax]).toEqual([16, 512]);
    expect(model.fingerprint).not.toBe(plain.fingerprint);
  });

  /** What the sentence about each fault says, so that a person knows what to do. */
  const SAID: Readonly<Record<RemoteFault, string>> = {
    dimension: "sent vectors of 63 dimensions instead of 64: add what it serves under another id",
    nan: "sent a vector with something that is not a number: the model may overflow in half precision",
    null: "sent a vector with something that is not a number: the model may overflow in half precision",
    zero: "sent a vector without a direction",
    shuffled: "sent its vectors in another order than the texts",
    half: "sent 2 results for 5 texts: see its limit of texts per request",
    busy: "is asked too often (status 429): wait, or raise the limit of that server",
    broken: "failed with status 500: see the log of that server",
    reset: "closed the connection without an answer: see the log of that server",
    redirect: "redirects (status 307), which is not followed: use the address that it redirects to",
    page: "sent a web page instead of JSON: check the address",
    cut: "sent an answer that is not JSON: check the address",
    "broken off": "broke off its answer: see the log of that server",
    "not gzip": "sent an answer that cannot be decompressed: check what lies between the servers",
    endless: "sent an answer of more than 32 MiB: check the address",
    slow: "did not answer within 0.1 s",
    "other model": "computes other vectors than when the model was added: add what it serves under another id",
  };

  for (const fault of FAULTS) {
    test(`whose server does this each time fails with one sentence, without its key: ${fault}`, async () => {
      for (const api of ["openai", "tei"] as const) {
        const stub = await start(api);
        const created = models();
        const added = await created.remote.examine("bge-m3", address(api, stub), "embed");
        const failing = fault === "slow" ? models(100) : created;
        const model = opened(failing, api, stub, added);
        stub.behave(() => fault);
        const message = await messageOf(model.embed(["one kettle", "two trains", "three"], INGEST));
        expect(message).toBe(`The model bge-m3 cannot be used at the moment. The endpoint ${SAID[fault]}.`);
        expect(message).not.toContain(SECRET);
        expect(failing.remote.problem(row(address(api, stub), {}))).not.toBeNull();
        if (fault === "slow") continue; // a server on a busy machine is as slow, even if it behaves
        stub.behave(() => null);
        created.pass(60_000);
        expect(await model.embed(["one kettle"], QUERY)).toHaveLength(DIMENSIONS);
        expect(created.remote.problem(row(address(api, stub), {}))).toBeNull();
      }
    });
  }

  test(`whose server makes a hundred mistakes never gives a wrong vector (seed ${SEED})`, async () => {
    const chance = seeded(SEED);
    const stub = await start("tei");
    const created = models(1_000);
    const model = await embedder("tei", stub, created);
    const pick = (): RemoteFault | null =>
      chance() < 0.6 ? (FAULTS[Math.floor(chance() * FAULTS.length)] ?? null) : null;
    stub.behave(pick);
    let answered = 0;
    // a slow server is waited for in real time
    while (stub.faults() < 100 || answered < 10) {
      const texts = Array.from(
        { length: 1 + Math.floor(chance() * 5) },
        (_, at) => `word${"abc"[at % 3]} kettle ${at}`,
      );
      try {
        const vectors = vectorsIn(await model.embed(texts, INGEST));
        answered++;
        for (const [at, text] of texts.entries()) expect(cosine(vectors[at] ?? [], vectorOf(text))).toBeCloseTo(1, 4);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        created.pass(60_000);
      }
    }
    expect(answered).toBeGreaterThanOrEqual(10);
  });

  test("whose server fails fails one check, which says why", async () => {
    const stub = await start("tei");
    const found = { task: "embed", embedder: await embedder("tei", stub), reranker: null, references: [] } as const;
    const namesOf = async () => (await checkModel(found, systemClock)).checks.map(({ name, ok }) => [name, ok]);
    const all = ["vectors", "differences", "batches", "references"];
    expect(await namesOf()).toEqual(all.map((name) => [name, true]));
    stub.behave(() => "broken");
    expect(await namesOf()).toEqual([["vectors", false]]);
  });

  test("that is called again and again while its server is away is not called for a while", async () => {
    const stub = await start("tei");
    const created = models();
    const model = await embedder("tei", stub, created);
    stub.behave(() => "broken");
    for (let call = 0; call < 3; call++) await messageOf(model.embed(["a"], QUERY));
    const before = stub.requests.length;
    await messageOf(model.embed(["a"], QUERY));
    expect(stub.requests.length).toBe(before);
    stub.behave(() => null);
    created.pass(11_000);
    expect(await model.embed(["a"], QUERY)).toHaveLength(DIMENSIONS);
  });

  test("has another fingerprint if it computes other vectors", async () => {
    const [one, other] = [await start("tei"), await start("tei")];
    other.behave(() => "other model");
    const { remote } = models();
    const fingerprintOf = async (stub: RemoteStub) =>
      (await remote.examine("bge-m3", address("tei", stub), "embed")).fingerprint;
    const [first, again, third] = [await fingerprintOf(one), await fingerprintOf(one), await fingerprintOf(other)];
    expect([first === again, first === third]).toEqual([true, false]);
  });

  test("is counted by outcome, with its tokens", async () => {
    const stub = await start("ollama");
    const created = models();
    const model = await embedder("ollama", stub, created);
    stub.behave(() => "broken");
    await messageOf(model.embed(["a"], QUERY));
    const text = await created.metrics.text();
    expect(text).toContain('mneme_remote_model_requests_total{model="bge-m3",outcome="answered"} 2');
    expect(text).toContain('mneme_remote_model_requests_total{model="bge-m3",outcome="failed"} 2');
    expect(text).toContain('mneme_remote_model_tokens_total{model="bge-m3"} 18');
  });
});

describe("a reranker", () => {
  const open = async (api: RemoteApi, stub: RemoteStub, created = models()): Promise<Reranker> => {
    const remote = address(api, stub);
    const { probes: _, ...found } = await created.remote.examine("bge-m3", remote, "rerank");
    const opened = created.remote.open(row(remote, { ...found, task: "rerank" }));
    if (opened.task !== "rerank") throw new Error("it is no reranker");
    return opened.reranker;
  };
  const PASSAGES = ["Trains leave at noon.", "The kettle is red.", "A red kettle stands here."];

  for (const api of ["tei", "cohere", "jina"] as const) {
    test(`with the API ${api} gives a logit per passage, in their order`, async () => {
      const scores = Array.from(await (await open(api, await start(api))).score("The kettle is red.", PASSAGES));
      expect(scores.every(Number.isFinite)).toBe(true);
      expect(scores.indexOf(Math.max(...scores))).toBe(1);
      expect(scores.indexOf(Math.min(...scores))).toBe(0);
    });

    for (const fault of ["half", "broken", "page", "redirect"] as const) {
      test(`with the API ${api} whose server does this fails with one sentence: ${fault}`, async () => {
        const stub = await start(api);
        const reranker = await open(api, stub);
        stub.behave(() => fault);
        expect(await messageOf(reranker.score("a", PASSAGES))).toMatch(/The endpoint [^\n]+\.$/);
      });
    }
  }

  test("is none of OpenAI's and Ollama's", () => {
    const { remote } = models();
    for (const api of REMOTE_APIS) {
      expect(remote.refusal({ api }, "rerank") === null).toBe(["tei", "cohere", "jina"].includes(api));
      expect(remote.refusal({ api }, "embed")).toBeNull();
      expect(remote.refusal({ api, says_purpose: true }, "embed") === null).toBe(api !== "ollama");
    }
  });
});
