// The project setting `vector_index` and `GET /project/vector-index`: what answers searches, and that the answers are
// those of a scan.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { seeded } from "../support/seeded.ts";
import { startService, type TestService } from "../support/service.ts";
import { DEFAULT } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

/** More memories than a walk looks for, so that the graph answers, and not the scan that replaces a short walk. */
const MEMORIES = 1_800;
const USERS = ["ada", "ben"];
const WORDS = Array.from({ length: 400 }, (_, n) => `${"bcdfghklmnprstvz"[n % 16]}${"aeiou"[n % 5]}${n.toString(36)}`);
const random = seeded(Number(process.env.MNEME_TEST_SEED ?? 1));
const words = (count: number) =>
  Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ");

const dataDir = mkdtempSync(join(tmpdir(), "mneme-vector-index-"));
let mneme: TestService;
let project: string;
/** User and tag of each memory. */
const owners = new Map<string, string>();
beforeAll(async () => {
  mneme = await startService({ dataDir, ports: WORD_PORTS });
  project = (await mneme.call("GET", "/v1/project")).body.id;
  for (let first = 0; first < MEMORIES; first += 100) {
    const memories = Array.from({ length: 100 }, (_, at) => ({
      ...{ content: words(12), userId: USERS[(first + at) % 3 === 0 ? 1 : 0], tags: [`t${at % 2}`] },
    }));
    const { status, body } = await mneme.call("POST", "/v1/memories/batch", { memories });
    expect(status).toBe(202);
    for (const [at, { memory }] of body.data.entries()) {
      owners.set(memory.id, `${memories[at]?.userId} ${memories[at]?.tags[0]}`);
    }
  }
  await until("all are completed", async () => {
    const { body } = await mneme.call("GET", "/v1/memories?status=processing&limit=1");
    return body.data.length === 0;
  });
});
afterAll(async () => {
  await mneme.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const set = (vector_index: unknown) => mneme.call("PUT", "/v1/project", { vector_index });
const state = async () => (await mneme.call("GET", "/v1/project/vector-index")).body;
const active = (name: string) =>
  until(`${name} answers`, async () => {
    const now = await state();
    return now.active === name && now.build === null ? now : null;
  });
const graphFile = () => join(dataDir, "projects", project, "vectors", "vectors.hnsw");

const SEARCHES = [
  { query: words(3) },
  { query: words(8) },
  { query: words(4), userId: "ada" },
  { query: words(4), userId: "ben" },
  { query: words(4), userId: "nobody" },
  { query: words(4), filters: { tags: "t1" } },
  { query: words(4), userId: "ben", filters: { tags: "t0" } },
];
interface Found {
  readonly memoryId: string;
  readonly owner: string | undefined;
}
/** The results of each search, which are within its scope. */
async function results(): Promise<readonly (readonly Found[])[]> {
  const found = [];
  for (const search of SEARCHES) {
    const { status, body } = await mneme.call("POST", "/v1/memories/search", { ...search, mode: "fast", limit: 20 });
    expect(status).toBe(200);
    const ofSearch: Found[] = body.results.map((one: { memory_id: string }) => {
      return { memoryId: one.memory_id, owner: owners.get(one.memory_id) };
    });
    for (const { memoryId, owner = "" } of ofSearch) {
      const [userId, tag] = owner.split(" ");
      expect(userId, memoryId).toBe(search.userId ?? userId);
      expect(tag, memoryId).toBe(search.filters?.tags ?? tag);
    }
    found.push(ofSearch);
  }
  return found;
}
/** Checks that searches found as many memories as a scan did, and nearly all of the same. */
function expectAsGood(found: readonly (readonly Found[])[], scanned: readonly (readonly Found[])[]): void {
  expect(found.map(({ length }) => length)).toEqual(scanned.map(({ length }) => length));
  const ids = new Set(found.flat().map(({ memoryId }) => memoryId));
  const missed = scanned.flat().filter(({ memoryId }) => !ids.has(memoryId));
  expect(missed.length).toBeLessThanOrEqual(scanned.flat().length * 0.1);
}
async function graphSearches(): Promise<number> {
  const page = await (await mneme.service.handle(new Request("http://mneme.test/metrics"))).text();
  return Number(/^mneme_vector_graph_searches\{.*\} (\d+)$/m.exec(page)?.[1] ?? 0);
}

test("a project is scanned by default", async () => {
  expect(await state()).toEqual({ setting: "auto", active: "scan", build: null });
  expect((await mneme.call("GET", "/v1/project")).body.vector_index).toBe("auto");
});

test("another value is refused and changes nothing", async () => {
  for (const bad of ["HNSW", "ivf", "", 1, true, ["hnsw"], {}]) {
    expect((await set(bad)).status, JSON.stringify(bad)).toBe(400);
  }
  expect((await state()).setting).toBe("auto");
});

test("the graph answers once it is complete, as the scan did", async () => {
  const scanned = await results();
  expect((await set("hnsw")).body.vector_index).toBe("hnsw");
  expect(await active("hnsw")).toEqual({ setting: "hnsw", active: "hnsw", build: null });
  const before = await graphSearches();
  expectAsGood(await results(), scanned);
  expect(await graphSearches()).toBeGreaterThan(before);
});

test("what is stored, rewritten or deleted afterwards is found, or not found, at once", async () => {
  const search = async (query: string) =>
    (await mneme.call("POST", "/v1/memories/search", { query, mode: "fast", limit: 5 })).body.results;
  const [first, second] = ["The zeppelin hangar has a violet roof.", "The submarine dock has an orange gate."];
  const { body: stored } = await mneme.store({ content: first, userId: "ada" });
  expect((await search(first))[0].memory_id).toBe(stored.id);
  await mneme.call("PUT", `/v1/memories/${stored.id}`, { content: second });
  await mneme.settled(stored.id);
  const [found] = await search(second);
  expect([found.memory_id, found.content]).toEqual([stored.id, second]);
  expect((await mneme.call("DELETE", `/v1/memories/${stored.id}`)).status).toBe(204);
  const ids = (await search(second)).map((one: { memory_id: string }) => one.memory_id);
  expect(ids).not.toContain(stored.id);
});

test("the setting and the graph survive a restart, and `scan` removes the graph", async () => {
  const scanned = await results();
  await mneme.stop();
  expect(existsSync(graphFile())).toBe(true);
  mneme = await startService({ dataDir, ports: WORD_PORTS });
  expect((await active("hnsw")).setting).toBe("hnsw");
  expectAsGood(await results(), scanned);
  expect((await set("scan")).status).toBe(200);
  expect(await state()).toEqual({ setting: "scan", active: "scan", build: null });
  expect(existsSync(graphFile())).toBe(false);
  expectAsGood(scanned, await results());
  expect((await set(null)).body.vector_index).toBe("auto");
});

test("a key without `project`, a confined one and an unknown project are refused", async () => {
  const ask = (secret: string, query = "") =>
    mneme.call("GET", `/v1/project/vector-index${query}`, undefined, { authorization: `Bearer ${secret}` });
  expect((await ask(mneme.addKey(["memories:read"]))).status).toBe(403);
  expect((await ask(mneme.addKey(["project"], undefined, { userId: "ada" }))).status).toBe(403);
  expect((await ask(mneme.addKey(["project"]))).status).toBe(200);
  expect((await ask(mneme.addKey(["project"]), "?projectId=prj_00000000000000000000000000")).status).toBe(403);
  const unknown = await mneme.call("GET", "/v1/project/vector-index?projectId=prj_00000000000000000000000000");
  expect(unknown.status).toBe(404);
});

test("a project that has never been used takes the setting, and searches", async () => {
  // with the index that follows a database of several nodes, if that is what services of tests use
  const service = await startService({ config: { embedder: DEFAULT } });
  const { id, key } = (await service.call("POST", "/v1/projects", { name: "new" })).body;
  const { status } = await service.call("PUT", `/v1/project?projectId=${id}`, { vector_index: "scan" });
  expect(status).toBe(200);
  const own = { authorization: `Bearer ${key}` };
  const found = await service.call("POST", "/v1/memories/search", { query: "anything" }, own);
  expect([found.status, found.body.results]).toEqual([200, []]);
  await service.stop();
});
