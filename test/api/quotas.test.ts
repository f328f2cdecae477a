// Plan quotas: which requests each quota refuses and which still work, exactly at the limit, also with parallel
// requests.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fileForm, formRequest } from "../support/forms.ts";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { createTenant, type Tenant } from "../support/tenant.ts";
import { startWithoutModels } from "../support/unfinished.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const MiB = 1024 * 1024;
const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
});
afterAll(() => mneme.stop());

const tenant = (plan: string, of = mneme) => createTenant(of, plan);

const create = ({ call }: Tenant, content: string) => call("POST", "/v1/memories", { content });
const batch = ({ call }: Tenant, contents: readonly string[]) =>
  call("POST", "/v1/memories/batch", { memories: contents.map((content) => ({ content })) });
const upload = ({ of, key }: Tenant, text: string) =>
  of.send(
    formRequest("http://mneme.test/v1/memories/upload", fileForm("notes.txt", text), {
      headers: { authorization: `Bearer ${key}` },
    }),
  );
const notes = (count: number) => Array.from({ length: count }, (_, n) => `Note number ${n}.`);
const statuses = (answers: readonly Answered[]) =>
  Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, all]) => [status, all.length]));

/** Waiting does not lift the two storage quotas, so there is no Retry-After header. */
function expectStoreQuota(answer: Answered, code: "document_quota_exceeded" | "storage_quota_exceeded"): void {
  expectFault(answer, 429, code);
  expect(answer.headers.get("retry-after")).toBeNull();
  expect(answer.body.error.retry_after_seconds).toBeUndefined();
}

describe("documents", () => {
  test("200 parallel creates at a quota of 10: exactly 10 are stored", async () => {
    const project = await tenant("free");
    const answers = await Promise.all(notes(200).map((content) => create(project, content)));
    expect(statuses(answers)).toEqual({ 202: 10, 429: 190 });
    for (const answer of answers) if (answer.status === 429) expectStoreQuota(answer, "document_quota_exceeded");
    expect((await project.call("GET", "/v1/memories?limit=100")).body.data).toHaveLength(10);
    expect((await project.call("GET", "/v1/usage")).body.documents).toEqual({ used: 10, limit: 10, remaining: 0 });
  });

  test("parallel batches and creates share the quota: exactly 10 are stored", async () => {
    const project = await tenant("free");
    const answers = await Promise.all([
      ...Array.from({ length: 8 }, () => batch(project, notes(3))),
      ...notes(8).map((content) => create(project, content)),
    ]);
    const accepted = answers.reduce((sum, { status, body }) => sum + (status === 202 ? (body.accepted ?? 1) : 0), 0);
    expect(accepted).toBe(10);
    expect((await project.call("GET", "/v1/memories?limit=100")).body.data).toHaveLength(10);
  });

  test("a batch over the limit: items are accepted in order, the others fail one by one", async () => {
    const project = await tenant("free");
    await batch(project, notes(8));
    const { status, body } = await batch(project, notes(4));
    expect([status, body.accepted, body.failed]).toEqual([202, 2, 2]);
    expect(body.data.map((item: { error?: { code: string; status: number } }) => item.error?.code ?? "stored")).toEqual(
      ["stored", "stored", "document_quota_exceeded", "document_quota_exceeded"],
    );
    expect(body.data[3].error.status).toBe(429);
  });

  test("429 for a file as well", async () => {
    const project = await tenant("free");
    await batch(project, notes(9));
    expect((await upload(project, "The tenth.")).status).toBe(202);
    expectStoreQuota(await upload(project, "The eleventh."), "document_quota_exceeded");
  });

  test("429 with 'items' for a batch that does not fit at all; 400 if anything else was wrong too", async () => {
    const project = await tenant("free");
    await batch(project, notes(10));
    const full = await batch(project, notes(2));
    expectStoreQuota(full, "document_quota_exceeded");
    expect(
      full.body.error.items.map(({ index, error }: { index: number; error: { code: string } }) => [index, error.code]),
    ).toEqual([
      [0, "document_quota_exceeded"],
      [1, "document_quota_exceeded"],
    ]);
    expectFault(await batch(project, ["fine", " "]), 400, "invalid_request");
  });

  test("existing memories stay searchable and changeable, and an externalId still updates", async () => {
    const project = await tenant("free");
    const known = await project.call("POST", "/v1/memories", { content: "The first.", externalId: "known" });
    await batch(project, notes(9));
    expectStoreQuota(await create(project, "The eleventh."), "document_quota_exceeded");
    await until("all are completed", async () => {
      return (await project.call("GET", "/v1/memories?status=completed")).body.data.length === 10;
    });
    expect((await project.call("POST", "/v1/memories/search", { query: "note" })).body.results.length).toBe(10);
    expect((await project.call("PUT", `/v1/memories/${known.body.id}`, { title: "Renamed" })).status).toBe(200);
    const updated = await project.call("POST", "/v1/memories", { content: "Another first.", externalId: "known" });
    expect([updated.status, updated.body.id]).toEqual([202, known.body.id]);
    const fresh = await project.call("POST", "/v1/memories", { content: "New.", externalId: "unknown" });
    expectStoreQuota(fresh, "document_quota_exceeded");
  });

  test("deleting makes room at once, a soft delete too", async () => {
    const project = await tenant("free");
    const { body } = await batch(project, notes(10));
    for (const { memory } of body.data.slice(0, 2)) await project.call("DELETE", `/v1/memories/${memory.id}`);
    expect((await create(project, "one")).status).toBe(202);
    expect((await create(project, "two")).status).toBe(202);
    expectStoreQuota(await create(project, "three"), "document_quota_exceeded");
  });

  test("expiry makes room too", async () => {
    const project = await tenant("free");
    const expires_at = new Date(clock.now() + 30_000).toISOString();
    await project.call("POST", "/v1/memories", { content: "ephemeral", expires_at });
    await batch(project, notes(9));
    expectStoreQuota(await create(project, "early"), "document_quota_exceeded");
    clock.advance(30_000);
    expect((await create(project, "late")).status).toBe(202);
  });

  test("a larger plan raises the quota at once, a smaller one deletes nothing", async () => {
    const project = await tenant("free");
    await batch(project, notes(10));
    await mneme.call("PUT", `/v1/projects/${project.id}`, { plan: "starter" });
    expect((await create(project, "the eleventh")).status).toBe(202);
    await mneme.call("PUT", `/v1/projects/${project.id}`, { plan: "free" });
    expectStoreQuota(await create(project, "the twelfth"), "document_quota_exceeded");
    expect((await project.call("GET", "/v1/memories?limit=100")).body.data).toHaveLength(11);
  });

  test("another project's documents do not count", async () => {
    const [full, empty] = [await tenant("free"), await tenant("free")];
    await batch(full, notes(10));
    expect((await create(empty, "first")).status).toBe(202);
  });

  test("a plan without a limit accepts more than any other", async () => {
    const project = await tenant("enterprise");
    expect((await batch(project, notes(100))).body.accepted).toBe(100);
  });
});

describe("storage", () => {
  /** A service without models, because embedding these texts would take minutes. */
  let bare: TestService;
  beforeAll(async () => {
    bare = await startWithoutModels();
  });
  afterAll(() => bare.stop());
  /** Creates a text with this many bytes. */
  const text = (bytes: number) => "a ".repeat(bytes / 2).padEnd(bytes, "b");

  test("exactly 50 MB are accepted, one byte more is 429, and deleting frees space", async () => {
    const project = await tenant("free", bare);
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) {
      const answer = await create(project, text(12 * MiB));
      expect(answer.status).toBe(202);
      ids.push(answer.body.id);
    }
    expectStoreQuota(await create(project, text(2 * MiB + 1)), "storage_quota_exceeded");
    expectStoreQuota(await upload(project, text(2 * MiB + 1)), "storage_quota_exceeded");
    const exact = await create(project, text(2 * MiB));
    expect(exact.status).toBe(202);
    const { storage_bytes } = (await project.call("GET", "/v1/usage")).body;
    expect(storage_bytes).toEqual({ used: 50 * MiB, limit: 50 * MiB, remaining: 0 });
    expectStoreQuota(await create(project, "x"), "storage_quota_exceeded");
    expectStoreQuota(await batch(project, ["x", "y"]), "storage_quota_exceeded");

    // a change must not exceed the quota either; one that makes the content smaller is accepted
    const grown = await project.call("PUT", `/v1/memories/${exact.body.id}`, { content: text(2 * MiB + 2) });
    expectStoreQuota(grown, "storage_quota_exceeded");
    expect((await project.call("PUT", `/v1/memories/${exact.body.id}`, { content: "small" })).status).toBe(202);
    expect((await create(project, "fits again")).status).toBe(202);
    for (const id of [...ids, exact.body.id])
      expect((await project.call("DELETE", `/v1/memories/${id}`)).status).toBe(204);
    expect((await project.call("GET", "/v1/usage")).body.storage_bytes.used).toBe("fits again".length);
  });

  test("bytes are counted in UTF-8, not characters", async () => {
    const project = await tenant("free", bare);
    const { body } = await create(project, "é".repeat(1_000));
    expect((await project.call("GET", "/v1/usage")).body.storage_bytes.used).toBe(2_000);
    await project.call("DELETE", `/v1/memories/${body.id}`);
  });
});

describe("queries", () => {
  const question = { query: "Where is the kettle?", mode: "fast" };
  const ask = ({ call }: Tenant) => call("POST", "/v1/memories/query", question);

  /** Expects a refusal whose header and body give the seconds until the end of the month. */
  function expectQueryQuota(answer: Answered): void {
    expectFault(answer, 429, "query_quota_exceeded");
    const now = clock.now();
    const end = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() + 1, 1);
    const seconds = Number(answer.headers.get("retry-after"));
    expect(Math.abs(seconds - (end - now) / 1000)).toBeLessThan(60);
    expect(answer.body.error.retry_after_seconds).toBe(seconds);
    expect(answer.body.error.message).toContain("100");
  }

  test("200 parallel queries at 100 a month: exactly 100 are answered, search goes on, the next month opens again", async () => {
    const project = await tenant("free");
    const sent = await create(project, "The kettle stands beside the sink.");
    await until("it is completed", async () => {
      return (await project.call("GET", `/v1/memories/${sent.body.id}`)).body.status === "completed";
    });
    const chat: string = (await project.call("POST", "/v1/chats", {})).body.id;
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(project)));
    expect(statuses(answers)).toEqual({ 200: 100, 429: 100 });
    for (const answer of answers) if (answer.status === 429) expectQueryQuota(answer);
    expect((await project.call("GET", "/v1/usage")).body.queries).toEqual({ used: 100, limit: 100, remaining: 0 });

    // queries are refused before any work begins, so a request for a stream gets a status, too
    expectQueryQuota(await project.call("POST", "/v1/memories/query", { ...question, stream: true }));
    expectQueryQuota(await project.call("POST", `/v1/chats/${chat}/messages`, { message: "And now?" }));
    expectQueryQuota(await project.call("POST", `/v1/chats/${chat}/messages/stream`, { message: "And now?" }));
    expect((await project.call("GET", `/v1/chats/${chat}/messages`)).body.data).toEqual([]);

    const found = await project.call("POST", "/v1/memories/search", { query: question.query });
    expect([found.status, found.body.total_results]).toEqual([200, 1]);
    expect((await project.call("GET", "/v1/memories/search?query=kettle")).status).toBe(200);
    expect((await create(project, "Storing goes on as well.")).status).toBe(202);

    const { end } = (await project.call("GET", "/v1/usage")).body.period;
    clock.advance(Date.parse(end) - clock.now());
    expect((await ask(project)).status).toBe(200);
    expect((await project.call("GET", "/v1/usage")).body.queries.used).toBe(1);
  });

  test("refused and failed queries do not count: all 100 are still available", async () => {
    const project = await tenant("free");
    for (let round = 0; round < 30; round++) {
      expect((await project.call("POST", "/v1/memories/query", { ...question, filters: { unknown: 1 } })).status).toBe(
        400,
      );
    }
    const answers = await Promise.all(Array.from({ length: 101 }, () => ask(project)));
    expect(statuses(answers)).toEqual({ 200: 100, 429: 1 });
  });
});
