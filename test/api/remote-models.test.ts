// Remote models through the whole server: adding them, using them in a project, and what happens while their server is
// away, makes mistakes, or computes another model.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Clock, systemClock } from "../../src/kit/clock.ts";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { DIMENSIONS, FAULTS, type RemoteStub, startRemote } from "../support/remote-models.ts";
import { seeded } from "../support/seeded.ts";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const SECRET = "sk-remote-0123456789";
/** Time passes twenty times as fast, so that waits before retries are short. */
const FAST = 20;
const startedAt = systemClock.now();
const clock: Clock = {
  now: () => startedAt + (systemClock.now() - startedAt) * FAST,
  sleep: (ms, signal) => systemClock.sleep(ms / FAST, signal),
};

let mneme: TestService;
let remote: RemoteStub;
beforeAll(async () => {
  remote = await startRemote("tei");
  mneme = await startService({ clock, ports: WORD_PORTS });
});
beforeEach(() => remote.behave(() => null));
afterAll(async () => {
  await mneme.stop();
  await remote.stop();
});

const tei = (more: object = {}) => ({
  ...{ api: "tei", base_url: remote.origin, model: "bge-m3", task: "embed", api_key: SECRET, ...more },
});
const add = (body: object, headers?: Record<string, string>) =>
  mneme.call("POST", "/v1/installed-models", body, headers);
const read = async (id: string) => (await mneme.call("GET", `/v1/installed-models/${id}`)).body;
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/** A project whose memories have vectors of the model `id`. */
async function projectWith(id: string) {
  const { body } = await mneme.call("POST", "/v1/projects", { name: id });
  const key = bearer(body.key);
  await mneme.call("PUT", `/v1/projects/${body.id}/embedder`, { model: id });
  await until("the project has the model", async () => {
    const { change, model } = (await mneme.call("GET", "/v1/project/embedder", undefined, key)).body;
    if (change?.state === "failed") throw new Error(change.error);
    return model === id;
  });
  const store = async (content: string) =>
    (await mneme.call("POST", "/v1/memories", { content }, key)).body.id as string;
  const statusOf = async (memory: string) =>
    (await mneme.call("GET", `/v1/memories/${memory}`, undefined, key)).body.status;
  const search = (query: string, mode = "balanced") =>
    mneme.call("POST", "/v1/memories/search", { query, mode, explain: true }, key);
  return { id: body.id as string, key, store, statusOf, search };
}

describe("a remote model", () => {
  test("201: is ready when it answers, and its key appears in no answer", async () => {
    const { status, body } = await add({ remote: tei(), id: "added" });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ id: "added", task: "embed", kind: "remote", dimensions: DIMENSIONS, status: "ready", error: null },
      ...{ remote: { api: "tei", base_url: remote.origin, model: "bge-m3" }, calibration: "none", used_by: [] },
    });
    const list = await mneme.call("GET", "/v1/installed-models?task=embed");
    expect(JSON.stringify([body, list.body, await read("added")])).not.toMatch(/sk-remote|api_key|probes/);
    expect((await mneme.call("POST", "/v1/installed-models/added/test")).body.ok).toBe(true);
    expectFault(await add({ remote: tei(), id: "added" }), 409, "invalid_state", "id");
    expect((await mneme.call("DELETE", "/v1/installed-models/added")).status).toBe(204);
    expect((await mneme.call("GET", "/v1/installed-models/added")).status).toBe(404);
  });

  test("201: is failed while its server is away, and ready soon after that has come", async () => {
    const { status, body } = await add({ remote: tei({ base_url: "http://127.0.0.1:1" }), id: "away" });
    expect([status, body.status, body.dimensions]).toEqual([201, "failed", null]);
    expect(body.error).toContain("cannot be reached");
    remote.behave(() => "broken");
    expect((await add({ remote: tei(), id: "late" })).body).toMatchObject({ status: "failed" });
    remote.behave(() => null);
    await until("it is ready", async () => (await read("late")).status === "ready");
    expect(await read("late")).toMatchObject({ dimensions: DIMENSIONS, error: null });
  });

  test("400, 403: what cannot be added", async () => {
    expectFault(await add({}), 400, "invalid_request", "source");
    expectFault(await add({ source: "folder", remote: tei() }), 400, "invalid_request", "source");
    expectFault(await add({ remote: tei({ api: "openai", task: "rerank" }) }), 400, "invalid_request", "remote.api");
    expectFault(await add({ remote: tei({ base_url: "file:///etc" }) }), 400, "invalid_request", "remote.base_url");
    expectFault(await add({ remote: tei({ api: "voyage" }) }), 400, "invalid_request", "remote.api");
    expectFault(await add({ remote: tei() }, bearer(mneme.addKey(["*"]))), 403, "insufficient_scope");
  });

  test("that reranks can be chosen for a project, whose searches go on while it is away", async () => {
    expect((await add({ remote: tei({ task: "rerank" }), id: "judge" })).body).toMatchObject({ status: "ready" });
    const { id, store, statusOf, search } = await projectWith("late");
    const memory = await store("The kettle in the kitchen is red.");
    await until("it is completed", async () => (await statusOf(memory)) === "completed");
    expect((await mneme.call("PUT", `/v1/projects/${id}/reranker`, { model: "judge" })).body.reranker).toBe("judge");
    const before = remote.requests.filter(({ path }) => path === "/rerank").length;
    expect((await search("Where is the red kettle?")).body.results[0].signals?.rerank ?? 0).toBeNumber();
    expect(remote.requests.filter(({ path }) => path === "/rerank").length).toBeGreaterThan(before);
    remote.behave(() => (remote.requests.at(-1)?.path === "/rerank" ? "broken" : null));
    const { status, body } = await search("Where is the red kettle?");
    expect([status, body.results.length, body.explain.degraded]).toEqual([200, 1, undefined]);
  });
});

describe("while the server of a project's embedder", () => {
  test("is away, searches find words in every mode and say so, memories wait, and nothing is lost", async () => {
    await add({ remote: tei(), id: "going" });
    const { key, store, statusOf, search } = await projectWith("going");
    const first = await store("The kettle in the kitchen is red.");
    await until("it is completed", async () => (await statusOf(first)) === "completed");
    expect((await search("red kettle")).body.explain.degraded).toBeUndefined();
    remote.behave(() => "reset");
    for (const mode of ["fast", "hybrid", "balanced", "precise"]) {
      const { status, body } = await search("kettle", mode);
      expect([status, body.explain?.degraded, body.results.length]).toEqual([200, "embedder_unavailable", 1]);
      expect(body.results[0].explain.signals.vector).toBeUndefined();
      expect((await search("harbour", mode)).body.results).toEqual([]);
    }
    const answer = await mneme.call("POST", "/v1/memories/query", { query: "What colour is the kettle?" }, key);
    expect(answer.status).toBe(200);
    const second = await store("Trains to the harbour leave at noon.");
    await until("the server says why", async () => (await read("going")).status === "failed");
    expect((await read("going")).error).toContain("The endpoint closed the connection without an answer");
    expect(await statusOf(second)).toBe("processing");
    remote.behave(() => null);
    await until("the memory is completed", async () => (await statusOf(second)) === "completed");
    const { body } = await search("When do trains leave?");
    expect([body.results[0].memory_id, body.explain.degraded]).toEqual([second, undefined]);
    await until("the model is ready again", async () => (await read("going")).status === "ready");
  });

  test("computes another model, no vector of it is stored or searched with", async () => {
    await add({ remote: tei(), id: "changing" });
    const { store, statusOf, search } = await projectWith("changing");
    const before = await store("Trains to the harbour leave at noon.");
    await until("it is completed", async () => (await statusOf(before)) === "completed");
    remote.behave(() => "other model");
    const memory = await store("The kettle in the kitchen is red.");
    await until("it is noticed", async () => (await read("changing")).status === "failed");
    expect((await read("changing")).error).toContain("computes other vectors than when the model was added");
    expect(await statusOf(memory)).toBe("processing");
    expect((await search("harbour")).body.explain.degraded).toBe("embedder_unavailable");
    remote.behave(() => null);
    await until("the memory is completed", async () => (await statusOf(memory)) === "completed");
  });

  test(`makes a hundred mistakes, no memory is lost and no wrong vector is stored (seed ${SEED})`, async () => {
    const chance = seeded(SEED);
    await add({ remote: tei(), id: "faulty" });
    const { store, statusOf, search } = await projectWith("faulty");
    const before = remote.faults();
    // a slow answer is waited for in real time: test/models/remote-models.test.ts has one
    const faults = FAULTS.filter((fault) => fault !== "slow");
    remote.behave(() => (chance() < 0.7 ? (faults[Math.floor(chance() * faults.length)] ?? null) : null));
    const names = Array.from(
      { length: 30 },
      (_, at) => `keeper${String.fromCharCode(97 + (at % 26))}${at > 25 ? "two" : ""}`,
    );
    const memories: { readonly id: string; readonly text: string }[] = [];
    for (const name of names) {
      const text = `${name} looks after a lighthouse.`; // statements that contradict nothing
      memories.push({ id: await store(text), text });
    }
    await until("there were a hundred mistakes", () => remote.faults() - before >= 100);
    remote.behave(() => null);
    for (const { id } of memories) await until("it is completed", async () => (await statusOf(id)) === "completed");
    await until("the model is ready again", async () => (await read("faulty")).status === "ready");
    for (const { id, text } of memories) {
      const { body } = await search(text, "fast");
      expect([body.explain.degraded, body.results[0].memory_id]).toEqual([undefined, id]);
      expect(body.results[0].explain.signals.vector.score).toBeGreaterThan(0.98);
    }
  });
});
