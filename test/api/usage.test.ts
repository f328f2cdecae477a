// GET /v1/usage: what counts, what does not, and when the monthly counts begin at 0 again.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { createTenant, type Tenant } from "../support/tenant.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const MiB = 1024 * 1024;
const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
});
afterAll(() => mneme.stop());

interface Usage {
  readonly plan: string;
  readonly period: { readonly start: string; readonly end: string };
  readonly queries: Quota;
  readonly documents: Quota;
  readonly storage_bytes: Quota;
  readonly tokens: { readonly prompt: number; readonly completion: number };
}

interface Quota {
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
}

async function tenant(plan: string): Promise<Tenant & { usage(): Promise<Usage> }> {
  const created = await createTenant(mneme, plan);
  return { ...created, usage: async () => (await created.call("GET", "/v1/usage")).body };
}

async function stored({ call }: Tenant, body: object): Promise<string> {
  const sent = await call("POST", "/v1/memories", body);
  expect(sent.status).toBe(202);
  const { id } = sent.body;
  await until("it is completed", async () => (await call("GET", `/v1/memories/${id}`)).body.status === "completed");
  return id;
}

describe("the answer", () => {
  const plans: readonly (readonly [
    plan: string,
    queries: number | null,
    documents: number | null,
    bytes: number | null,
  ])[] = [
    ["free", 100, 10, 50 * MiB],
    ["starter", 5_000, 500, 500 * MiB],
    ["pro", 50_000, 5_000, 5 * 1024 * MiB],
    ["enterprise", null, null, null],
  ];
  for (const [plan, queries, documents, bytes] of plans) {
    test(`200: a new project of the plan ${plan} has used nothing of ${queries}, ${documents} and ${bytes}`, async () => {
      const { call } = await tenant(plan);
      const { status, body } = await call("GET", "/v1/usage");
      const quota = (limit: number | null) => ({ used: 0, limit, remaining: limit });
      expect(status).toBe(200);
      expect(body).toEqual({
        plan,
        period: body.period,
        queries: quota(queries),
        documents: quota(documents),
        storage_bytes: quota(bytes),
        tokens: { prompt: 0, completion: 0 },
      });
    });
  }

  test("the period is this month in UTC; its end is the first instant of the next", async () => {
    const { period } = await (await tenant("free")).usage();
    for (const instant of [period.start, period.end]) expect(instant).toMatch(/^\d{4}-\d\d-01T00:00:00\.000Z$/);
    expect(Date.parse(period.start)).toBeLessThanOrEqual(clock.now());
    expect(Date.parse(period.end)).toBeGreaterThan(clock.now());
    expect((Date.parse(period.end) - Date.parse(period.start)) / 86_400_000).toBeWithin(28, 32);
  });

  test("403 without the scope, and for a confined key; 401 without a key; 400 for a parameter", async () => {
    const { id } = await tenant("free");
    const ask = (secret: string) => mneme.call("GET", "/v1/usage", undefined, { authorization: `Bearer ${secret}` });
    expectFault(await ask(mneme.addKey(["memories:read", "query", "keys"], id)), 403, "insufficient_scope");
    expectFault(await ask(mneme.addKey(["admin"], id)), 403, "insufficient_scope");
    expectFault(await ask(mneme.addKey(["*"], id, { userId: "ada" })), 403, "insufficient_scope");
    expect((await ask(mneme.addKey(["usage"], id))).status).toBe(200);
    expectFault(await mneme.send(new Request("http://mneme.test/v1/usage")), 401, "missing_api_key");
    expectFault(await mneme.call("GET", "/v1/usage?month=1"), 400, "invalid_request", "month");
  });
});

describe("documents and storage", () => {
  test("count memories that are not deleted, in UTF-8 bytes of content, as soon as they are accepted", async () => {
    const project = await tenant("free");
    const shown = async () => {
      const { documents, storage_bytes } = await project.usage();
      return [documents.used, documents.remaining, storage_bytes.used, storage_bytes.remaining];
    };
    const first = await project.call("POST", "/v1/memories", { content: "Grüße 🌍", title: "not counted" });
    const bytes = Buffer.byteLength("Grüße 🌍");
    expect(await shown()).toEqual([1, 9, bytes, 50 * MiB - bytes]);

    await project.call("POST", "/v1/memories/batch", { memories: [{ content: "12345" }, { content: "" }, {}] });
    expect(await shown()).toEqual([2, 8, bytes + 5, 50 * MiB - bytes - 5]);

    expect((await project.call("PUT", `/v1/memories/${first.body.id}`, { content: "short" })).status).toBe(202);
    expect(await shown()).toEqual([2, 8, 10, 50 * MiB - 10]);
    expect((await project.call("PUT", `/v1/memories/${first.body.id}`, { title: "longer than it was" })).status).toBe(
      200,
    );
    expect(await shown()).toEqual([2, 8, 10, 50 * MiB - 10]);

    expect((await project.call("DELETE", `/v1/memories/${first.body.id}`)).status).toBe(204);
    expect(await shown()).toEqual([1, 9, 5, 50 * MiB - 5]);
  });

  test("an update by externalId is not another document", async () => {
    const project = await tenant("free");
    for (const content of ["one", "two and more", "two and more"]) {
      await project.call("POST", "/v1/memories", { content, externalId: "same" });
    }
    const { documents, storage_bytes } = await project.usage();
    expect([documents.used, storage_bytes.used]).toEqual([1, "two and more".length]);
  });

  test("a memory does not count from its expiry on", async () => {
    const project = await tenant("free");
    const expires_at = new Date(clock.now() + 60_000).toISOString();
    await stored(project, { content: "ephemeral", expires_at });
    expect((await project.usage()).documents.used).toBe(1);
    clock.advance(60_000);
    const { documents, storage_bytes } = await project.usage();
    expect([documents.used, storage_bytes.used]).toEqual([0, 0]);
  });

  test("memories deleted with their user no longer count; others do", async () => {
    const project = await tenant("free");
    await project.call("POST", "/v1/memories", { content: "ada's", userId: "ada" });
    await project.call("POST", "/v1/memories", { content: "bob's", userId: "bob" });
    await project.call("DELETE", "/v1/users/bob");
    expect((await project.usage()).documents.used).toBe(2);
    await project.call("DELETE", "/v1/users/ada?cascade=true");
    expect((await project.usage()).documents.used).toBe(1);
  });

  test("refused requests and other projects' memories do not count", async () => {
    const [one, two] = [await tenant("free"), await tenant("free")];
    expect((await one.call("POST", "/v1/memories", { content: " " })).status).toBe(400);
    expect((await one.call("POST", "/v1/memories", { content: "x", tags: 7 })).status).toBe(400);
    await two.call("POST", "/v1/memories", { content: "two's" });
    expect((await one.usage()).documents.used).toBe(0);
    expect((await two.usage()).documents.used).toBe(1);
  });

  test("after a change to a smaller plan more is used than allowed, and 0 remains", async () => {
    const project = await tenant("enterprise");
    const memories = Array.from({ length: 12 }, (_, n) => ({ content: `Number ${n}.` }));
    await project.call("POST", "/v1/memories/batch", { memories });
    await mneme.call("PUT", `/v1/projects/${project.id}`, { plan: "free" });
    expect((await project.usage()).documents).toEqual({ used: 12, limit: 10, remaining: 0 });
  });
});

describe("queries", () => {
  test("queries and chat messages count, as JSON and as streams; nothing else does", async () => {
    const project = await tenant("free");
    await stored(project, { content: "The kettle in the office is blue." });
    const used = async () => (await project.usage()).queries.used;
    const question = { query: "What colour is the kettle?", mode: "fast" };

    expect((await project.call("POST", "/v1/memories/query", question)).status).toBe(200);
    expect(await used()).toBe(1);
    await streamed(project, "/v1/memories/query", { ...question, stream: true });
    expect(await used()).toBe(2);
    const chat: string = (await project.call("POST", "/v1/chats", {})).body.id;
    const message = { message: "What colour is it?", mode: "fast" };
    expect((await project.call("POST", `/v1/chats/${chat}/messages`, message)).status).toBe(200);
    expect(await used()).toBe(3);
    await streamed(project, `/v1/chats/${chat}/messages/stream`, message);
    expect(await used()).toBe(4);
    expect((await project.usage()).queries).toEqual({ used: 4, limit: 100, remaining: 96 });

    await project.call("POST", "/v1/memories/search", { query: "kettle" });
    await project.call("GET", "/v1/memories/search?query=kettle");
    await project.call("GET", "/v1/memories");
    await project.call("GET", `/v1/chats/${chat}`);
    expect(await used()).toBe(4);
  });

  test("a question without evidence is answered, and counts", async () => {
    const project = await tenant("free");
    expect((await project.call("POST", "/v1/memories/query", { query: "anything?" })).body.sources).toEqual([]);
    expect((await project.usage()).queries.used).toBe(1);
  });

  test("refused ones do not count", async () => {
    const project = await tenant("free");
    const chat: string = (await project.call("POST", "/v1/chats", {})).body.id;
    const refused: readonly (readonly [path: string, body: object, status: number])[] = [
      ["/v1/memories/query", { query: " " }, 400],
      ["/v1/memories/query", { query: "x", mode: "slow" }, 400],
      ["/v1/memories/query", { query: "x", filters: { unknown: 1 } }, 400],
      ["/v1/memories/query", { query: "x", model: "any" }, 400],
      [`/v1/chats/${chat}/messages`, { message: "" }, 400],
      [`/v1/chats/${chat}/messages/stream`, { message: " " }, 400],
      ["/v1/chats/chat_00000000000000000000000000/messages", { message: "x" }, 404],
    ];
    for (const [path, body, status] of refused) {
      expect([path, (await project.call("POST", path, body)).status]).toEqual([path, status]);
    }
    expect((await project.usage()).queries.used).toBe(0);
  });

  test("a repeated message gets the remembered answer and does not count", async () => {
    const project = await tenant("free");
    const chat: string = (await project.call("POST", "/v1/chats", {})).body.id;
    for (let round = 0; round < 3; round++) {
      const headers = { "idempotency-key": "the-same" };
      const { status } = await project.call("POST", `/v1/chats/${chat}/messages`, { message: "Hello?" }, headers);
      expect(status).toBe(200);
    }
    expect((await project.usage()).queries.used).toBe(1);
  });

  test("without a language model no tokens are used", async () => {
    const project = await tenant("free");
    await project.call("POST", "/v1/memories/query", { query: "anything?" });
    expect((await project.usage()).tokens).toEqual({ prompt: 0, completion: 0 });
  });
});

// this group is the last one, because it moves the clock to another year
describe("the month", () => {
  const to = (instant: string) => clock.advance(Date.parse(instant) - clock.now());
  const year = new Date(clock.now()).getUTCFullYear() + 1;
  const leap = year + ((4 - (year % 4)) % 4);
  const borders: readonly (readonly [last: string, start: string, end: string, next: string])[] = [
    [`${year}-01-31T23:59:50.000Z`, `${year}-01-01`, `${year}-02-01`, `${year}-03-01`],
    [`${leap}-02-29T23:59:50.000Z`, `${leap}-02-01`, `${leap}-03-01`, `${leap}-04-01`],
    [`${leap}-12-31T23:59:50.000Z`, `${leap}-12-01`, `${leap + 1}-01-01`, `${leap + 1}-02-01`],
  ];
  for (const [last, start, end, next] of borders) {
    test(`ends after ${last}: queries begin at 0 again, documents and storage stay`, async () => {
      to(last);
      const project = await tenant("free");
      await project.call("POST", "/v1/memories", { content: "stays" });
      for (let n = 0; n < 3; n++) {
        expect((await project.call("POST", "/v1/memories/query", { query: "x", mode: "fast" })).status).toBe(200);
      }
      const before = await project.usage();
      expect(before.period).toEqual({ start: `${start}T00:00:00.000Z`, end: `${end}T00:00:00.000Z` });
      expect(before.queries).toEqual({ used: 3, limit: 100, remaining: 97 });

      to(`${end}T00:00:00.000Z`);
      const after = await project.usage();
      expect(after.period).toEqual({ start: `${end}T00:00:00.000Z`, end: `${next}T00:00:00.000Z` });
      expect(after.queries).toEqual({ used: 0, limit: 100, remaining: 100 });
      expect([after.documents.used, after.storage_bytes.used]).toEqual([1, 5]);
    });
  }
});

/** Reads a stream to its end. */
async function streamed({ key }: Tenant, path: string, body: object): Promise<void> {
  const response = await mneme.service.handle(
    new Request(`http://mneme.test${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  expect(await response.text()).toContain("event: done");
}
