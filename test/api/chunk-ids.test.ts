// Ids of chunks: the same everywhere and for ever, and opaque.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { expectWholeAnswer, openStream } from "../support/event-stream.ts";
import { startService, type TestService } from "../support/service.ts";
import { ENGLISH, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

interface Result {
  readonly id: string;
  readonly memory_id: string;
  readonly explain?: { readonly signals: { readonly graph?: { readonly path: readonly string[] } } };
}

const COUNT = 16;
/** Number of memories that are stored with one request. */
const BATCH = 4;
const QUESTION = "Where does Mabel Thorne keep the lantern?";

const folder = temporaryFolder();
let mneme: TestService;
let own: Record<string, string> = {};
let foreign: Record<string, string> = {};
/** Ids of the memories in the order in which they were stored, by project. */
const stored: { readonly own: string[]; readonly foreign: string[] } = { own: [], foreign: [] };
const start = () => startService({ dataDir: folder.path, config: { embedder: ENGLISH } });

beforeAll(async () => {
  mneme = await start();
  const create = async (name: string) => {
    const { body } = await mneme.call("POST", "/v1/projects", { name, plan: "enterprise" });
    return { authorization: `Bearer ${body.key}` };
  };
  [own, foreign] = [await create("own"), await create("foreign")];
  // in turn, so that the keys of both projects alternate
  for (let first = 0; first < COUNT; first += BATCH) {
    const memories = Array.from({ length: BATCH }, (_, more) => {
      const at = first + more;
      return { title: `Lantern ${at}`, content: `Mabel Thorne keeps lantern ${at} under bench ${at}.` };
    });
    for (const [headers, ids] of [[own, stored.own] as const, [foreign, stored.foreign] as const]) {
      const { body } = await mneme.call("POST", "/v1/memories/batch", { memories }, headers);
      for (const { memory } of body.data) ids.push(memory.id);
    }
  }
  await allCompleted();
  await mneme.call("PUT", "/v1/project", { min_evidence: 0 }, own);
});
afterAll(async () => {
  await mneme.stop();
  folder.remove();
});

function allCompleted(): Promise<unknown> {
  return until("all memories are completed", async () => {
    for (const headers of [own, foreign]) {
      const { body } = await mneme.call("GET", "/v1/memories?status=processing&limit=1", undefined, headers);
      if (body.data.length > 0) return null;
    }
    return true;
  });
}

/** Ids of the chunks of a project by the id of their memory, each of which has one chunk. */
async function idsBySearch(headers: Record<string, string>, more: object = {}): Promise<Map<string, string>> {
  const request = { query: QUESTION, limit: 100, ...more };
  const { body } = await mneme.call("POST", "/v1/memories/search", request, headers);
  expect(body.results).toHaveLength(COUNT);
  return new Map(body.results.map(({ memory_id, id }: Result) => [memory_id, id]));
}

function expectSame(ids: ReadonlyMap<string, string>, results: readonly Result[]): void {
  expect(results.length).toBeGreaterThan(0);
  for (const { id, memory_id } of results) expect(id).toBe(ids.get(memory_id) ?? "unknown");
}

test("they reveal neither order nor number of the chunks of a server", async () => {
  const [ids, others] = [await idsBySearch(own), await idsBySearch(foreign)];
  const inOrder = stored.own.map((id) => ids.get(id) ?? "");
  expect(inOrder.toSorted()).not.toEqual(inOrder);
  expect(new Set([...ids.values(), ...others.values()]).size).toBe(2 * COUNT);
  for (const id of [...ids.values(), ...others.values()]) expect(id).toMatch(/^chunk_(?!0000)[0-9a-hjkmnp-tv-z]{26}$/);
  // successive ids of a counter differ by little; these share no beginning, within a project or between both
  expect(new Set([...ids.values(), ...others.values()].map((id) => id.slice(0, 11))).size).toBe(2 * COUNT);
});

test("search, query, chat, stored messages and graph show the same id of a chunk", async () => {
  const ids = await idsBySearch(own);
  for (const mode of ["fast", "hybrid", "precise"]) expect(await idsBySearch(own, { mode })).toEqual(ids);
  const byUrl = `/v1/memories/search?limit=100&query=${encodeURIComponent(QUESTION)}`;
  expectSame(ids, (await mneme.call("GET", byUrl, undefined, own)).body.results);

  const question = { query: QUESTION, mode: "fast" };
  expectSame(ids, (await mneme.call("POST", "/v1/memories/query", question, own)).body.sources);

  const chat = (await mneme.call("POST", "/v1/chats", {}, own)).body.id;
  const message = { message: QUESTION, mode: "fast" };
  const sent = await mneme.call("POST", `/v1/chats/${chat}/messages`, message, own);
  expectSame(ids, sent.body.message.sources);
  const { body: messages } = await mneme.call("GET", `/v1/chats/${chat}/messages`, undefined, own);
  expectSame(ids, messages.data.at(-1).sources);

  const known = new Set(ids.values());
  const around = (await mneme.call("GET", `/v1/memories/${stored.own[3]}/graph`, undefined, own)).body;
  for (const { chunk_ids } of around.entities) expect(chunk_ids).toEqual([ids.get(stored.own[3] ?? "") ?? ""]);
  const explained = { query: "Who keeps Lantern 3?", mode: "precise", explain: true, limit: 100 };
  const { results }: { results: Result[] } = (await mneme.call("POST", "/v1/memories/search", explained, own)).body;
  const paths = results.flatMap(({ id, explain }) => {
    const path = explain?.signals.graph?.path;
    return path === undefined ? [] : [{ id, path }];
  });
  expect(paths.length).toBeGreaterThan(0);
  for (const { id, path } of paths) {
    expect(path.at(-1)).toBe(id);
    for (const step of path) if (step.startsWith("chunk_")) expect(known).toContain(step);
  }
});

test("streams show the same id", async () => {
  const ids = await idsBySearch(own);
  const asked = { query: QUESTION, mode: "fast", stream: true };
  const answer = await openStream(mneme, "/v1/memories/query", asked, own);
  expectSame(ids, expectWholeAnswer(await answer.rest()).sources);
  const chat = (await mneme.call("POST", "/v1/chats", {}, own)).body.id;
  const message = { message: QUESTION, mode: "fast" };
  const reply = await openStream(mneme, `/v1/chats/${chat}/messages/stream`, message, own);
  expectSame(ids, expectWholeAnswer(await reply.rest()).sources);
});

test("they survive a change of the embedding model and a restart", async () => {
  const [ids, others] = [await idsBySearch(own), await idsBySearch(foreign)];
  const { id } = (await mneme.call("GET", "/v1/project", undefined, own)).body;
  expect((await mneme.call("PUT", `/v1/projects/${id}/embedder`, { model: MULTILINGUAL })).status).toBe(202);
  await until(
    "the model was changed",
    async () => (await mneme.call("GET", "/v1/project/embedder", undefined, own)).body.change.state === "done" || null,
  );
  expect(await idsBySearch(own)).toEqual(ids);
  await mneme.stop();
  mneme = await start();
  expect([await idsBySearch(own), await idsBySearch(foreign)]).toEqual([ids, others]);
});
