// Rate limits: exactly the number of requests per minute in the table is admitted, per key and route, in a sliding
// window.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { isResource, singular } from "../../src/api/examples.ts";
import { parseConfig } from "../../src/config.ts";
import { ID_PREFIXES } from "../../src/domain/ids.ts";
import { isOpenAiPath } from "../support/openapi.ts";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { OPERATIONS } from "./contract.ts";
import { expectFault, expectOpenAiError } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ clock, config: { rateLimits: RATE_LIMITS }, waitsForModels: false });
});
afterAll(() => mneme.stop());

const NOTHING = "00000000000000000000000000";
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
/** Creates a key with every scope and returns its headers: only its rate limits can refuse a request. */
const fresh = (of: TestService = mneme) => bearer(of.addKey(["*", "admin"]));

/**
 * The limits of all routes in requests per minute, each with a request without a body and about nothing that exists, so
 * that the server answers quickly.
 */
const TABLE: readonly (readonly [limit: number, method: string, path: string])[] = [
  ...OPERATIONS.map(({ perMinute, method, path }) => [perMinute, method, `/v1${aboutNothing(path)}`] as const),
  [300, "GET", "/v1/models/mneme%2Ffast"],
];

function aboutNothing(path: string): string {
  return path
    .replace(/(\w+)\/\{\}/g, (_, collection: string) => {
      const resource = singular(collection);
      return `${collection}/${isResource(resource) ? `${ID_PREFIXES[resource]}_${NOTHING}` : "nobody"}`;
    })
    .replaceAll("{}", "nobody");
}

const ask = (method: string, path: string, headers: Record<string, string>, of: TestService = mneme) =>
  of.send(new Request(`http://mneme.test${path}`, { method, headers }));
const times = (count: number, send: () => Promise<Answered>) => Promise.all(Array.from({ length: count }, send));
const isLimited = ({ status }: Answered) => status === 429;
const admitted = (answers: readonly Answered[]) => answers.filter((answer) => !isLimited(answer)).length;
const numberIn = ({ headers }: Answered, name: string) => Number(headers.get(name) ?? Number.NaN);
const windowOf = (answer: Answered) =>
  ["x-ratelimit-limit", "x-ratelimit-remaining"].map((name) => numberIn(answer, name));

describe("the table", () => {
  for (const [limit, method, path] of TABLE) {
    test(`${method} ${path.replaceAll(/_0+/g, "_…")}: ${limit} per minute`, async () => {
      const headers = fresh();
      const answers: Answered[] = [];
      for (let n = 0; n < limit + 3; n++) answers.push(await ask(method, path, headers));
      expect(answers.map(isLimited)).toEqual([...Array(limit).fill(false), true, true, true]);
      expect(windowOf(answers[0] as Answered)).toEqual([limit, limit - 1]);
      expect(windowOf(answers[limit - 1] as Answered)).toEqual([limit, 0]);
      const expectLimit = isOpenAiPath(path) ? expectOpenAiError : expectFault;
      expectLimit(answers[limit] as Answered, 429, "rate_limit_exceeded");
      expect(windowOf(answers[limit] as Answered)).toEqual([limit, 0]);
    });
  }
});

describe("many at once", () => {
  test("200 parallel requests with a limit of 100: exactly 100 are admitted and executed", async () => {
    const headers = bearer(mneme.addKey(["*"], "prj_parallel"));
    let n = 0;
    const answers = await times(200, () => mneme.call("POST", "/v1/users", { id: `parallel-${n++}` }, headers));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(answers.filter(isLimited)).toHaveLength(100);
    const users = await mneme.call("GET", "/v1/users?limit=100", undefined, headers);
    expect([users.body.data.length, users.body.has_more]).toEqual([100, false]);
  });

  test("each of them gets a different number of remaining requests", async () => {
    const headers = fresh();
    const answers = await times(60, () => ask("POST", "/v1/chats", headers));
    expect(new Set(answers.map((answer) => numberIn(answer, "x-ratelimit-remaining"))).size).toBe(60);
  });
});

describe("shared windows", () => {
  test("both forms of search share 60", async () => {
    const headers = fresh();
    for (let n = 0; n < 30; n++) {
      expect((await ask("GET", "/v1/memories/search", headers)).status).toBe(400);
      expect((await ask("POST", "/v1/memories/search", headers)).status).toBe(415);
    }
    expectFault(await ask("GET", "/v1/memories/search", headers), 429, "rate_limit_exceeded");
    expectFault(await ask("POST", "/v1/memories/search", headers), 429, "rate_limit_exceeded");
    expect((await ask("GET", "/v1/memories", headers)).status).toBe(200);
  });

  test("a route with any ids and queries; other routes of the same method are separate", async () => {
    const headers = fresh();
    for (let n = 0; n < 100; n++) await ask("DELETE", `/v1/memories/mem_${String(n).padStart(26, "0")}`, headers);
    expectFault(await ask("DELETE", `/v1/memories/mem_${NOTHING}?purge=true`, headers), 429, "rate_limit_exceeded");
    expectFault(await ask("DELETE", "/v1/memories/whatever", headers), 429, "rate_limit_exceeded");
    expect((await ask("DELETE", `/v1/chats/chat_${NOTHING}`, headers)).status).toBe(404);
    expect((await ask("GET", `/v1/memories/mem_${NOTHING}`, headers)).status).toBe(404);
  });

  test("each key has its own windows, in the same project too", async () => {
    const [one, other] = [fresh(), fresh()];
    await times(60, () => ask("POST", "/v1/chats", one));
    expect(isLimited(await ask("POST", "/v1/chats", one))).toBe(true);
    expect(windowOf(await ask("POST", "/v1/chats", other))).toEqual([60, 59]);
  });

  test("a rotated key keeps its windows", async () => {
    const made = await mneme.call("POST", "/v1/keys", { name: "rotated", scopes: ["*"] }, fresh());
    await times(60, () => ask("POST", "/v1/chats", bearer(made.body.key)));
    const rotated = await mneme.call("POST", `/v1/keys/${made.body.id}/rotate`, {}, fresh());
    expect(isLimited(await ask("POST", "/v1/chats", bearer(rotated.body.key)))).toBe(true);
  });

  test("HEAD counts as GET", async () => {
    const headers = fresh();
    expect(windowOf(await ask("HEAD", "/v1/usage", headers))).toEqual([300, 299]);
    expect(windowOf(await ask("GET", "/v1/usage", headers))).toEqual([300, 298]);
  });

  test("unknown routes and wrong methods count in the window of their method", async () => {
    const headers = fresh();
    expect(windowOf(await ask("GET", "/v1/nothing", headers))).toEqual([300, 299]);
    expect(windowOf(await ask("GET", "/v1/nothing/else", headers))).toEqual([300, 298]);
    expect(windowOf(await ask("DELETE", "/v1/chats", headers))).toEqual([100, 99]);
    expect(windowOf(await ask("PATCH", "/v1/memories", headers))).toEqual([100, 99]);
    await times(98, () => ask("DELETE", "/v1/anything", headers));
    expect((await ask("DELETE", "/v1/users", headers)).status).toBe(405);
    expectFault(await ask("DELETE", "/v1/users", headers), 429, "rate_limit_exceeded");
    expect((await ask("DELETE", `/v1/memories/mem_${NOTHING}`, headers)).status).toBe(404);
  });
});

describe("what counts", () => {
  test("every admitted request, whatever its answer", async () => {
    const headers = bearer(mneme.addKey(["chats:write"]));
    const statuses = [
      await mneme.call("POST", "/v1/chats", {}, headers),
      await mneme.call("POST", "/v1/chats", { wrong: 1 }, headers),
      await mneme.call("POST", "/v1/chats", "{", headers),
      await mneme.call("POST", "/v1/chats", {}, { ...headers, "content-type": "text/plain" }),
      await mneme.call("POST", "/v1/chats", {}, { ...headers, "idempotency-key": "counts" }),
      await mneme.call("POST", "/v1/chats", {}, { ...headers, "idempotency-key": "counts" }),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([201, 400, 400, 415, 201, 201]);
    expect(statuses.map((answer) => windowOf(answer)[1])).toEqual([59, 58, 57, 56, 55, 54]);
    const weak = bearer(mneme.addKey(["query"]));
    expect((await ask("GET", "/v1/memories", weak)).status).toBe(403);
    expect(windowOf(await ask("GET", "/v1/memories", weak))).toEqual([300, 298]);
  });

  test("a 429 does not count: retries do not delay the window", async () => {
    const headers = fresh();
    await times(60, () => ask("POST", "/v1/chats", headers));
    for (let round = 0; round < 5; round++) {
      clock.advance(10_000);
      expect(admitted(await times(50, () => ask("POST", "/v1/chats", headers)))).toBe(0);
    }
    clock.advance(10_500);
    expect(admitted(await times(70, () => ask("POST", "/v1/chats", headers)))).toBe(60);
  });

  test("a request with a 429 is not executed", async () => {
    const headers = bearer(mneme.addKey(["*"], "prj_not_done"));
    for (let n = 0; n < 60; n++) await mneme.call("POST", "/v1/chats", {}, headers);
    expect((await mneme.call("POST", "/v1/chats", { title: "too many" }, headers)).status).toBe(429);
    const { body } = await mneme.call("GET", "/v1/chats?limit=100", undefined, headers);
    expect(body.data).toHaveLength(60);
  });
});

describe("the window slides", () => {
  test("admitted requests leave the window after 60 seconds each, not all at a full minute", async () => {
    const headers = fresh();
    const send = () => ask("POST", "/v1/chats", headers);
    expect(admitted(await times(20, send))).toBe(20);
    clock.advance(30_000);
    expect(admitted(await times(50, send))).toBe(40);
    clock.advance(20_000);
    expect(admitted(await times(5, send))).toBe(0);
    clock.advance(10_500);
    expect(admitted(await times(50, send))).toBe(20);
    clock.advance(30_000);
    expect(admitted(await times(80, send))).toBe(40);
  });

  test("X-RateLimit-Reset is when the oldest request leaves, Retry-After when one more is admitted", async () => {
    const headers = fresh();
    const send = () => ask("POST", "/v1/chats", headers);
    const startedAt = clock.now();
    const first = await send();
    clock.advance(20_000);
    const rest = await times(59, send);
    const inSeconds = (ms: number) => Math.ceil(ms / 1000);
    for (const answer of [first, ...rest]) {
      expect(numberIn(answer, "x-ratelimit-reset")).toBeWithin(
        inSeconds(startedAt + 60_000),
        inSeconds(startedAt + 60_000) + 2,
      );
    }
    const refused = await send();
    expectFault(refused, 429, "rate_limit_exceeded");
    const wait = numberIn(refused, "retry-after");
    expect(wait).toBeWithin(38, 41);
    expect(refused.body.error.retry_after_seconds).toBe(wait);
    expect(refused.body.error.message).toContain("60");
    clock.advance(wait * 1000);
    expect((await send()).status).not.toBe(429);
    expect(isLimited(await send())).toBe(true);
  });
});

describe("an operator's own limits", () => {
  const folder = mkdtempSync(join(tmpdir(), "mneme-limits-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const tableOf = (text: string) =>
    parseConfig([], { MNEME_RATE_LIMITS: text }, { workingDirectory: folder, shippedModelsDirectory: () => folder })
      .rateLimits;

  test("off: nothing is refused, and the headers are still sent", async () => {
    const open = await startService({ config: { rateLimits: tableOf("off") }, waitsForModels: false });
    try {
      const headers = fresh(open);
      const answers = await times(400, () => ask("POST", "/v1/chats", headers, open));
      expect(admitted(answers)).toBe(400);
      for (const answer of answers) {
        expect(numberIn(answer, "x-ratelimit-limit")).toBeGreaterThan(1_000_000);
        expect(numberIn(answer, "x-ratelimit-remaining")).toBeGreaterThan(1_000_000);
        expect(numberIn(answer, "x-ratelimit-reset")).toBeGreaterThan(0);
      }
    } finally {
      await open.stop();
    }
  });

  test("a file: its entries replace the defaults, the others stay", async () => {
    const entries = { "POST /chats": 3, "GET *": 5, "GET /usage": null, "DELETE /memories/{id}": 2 };
    writeFileSync(join(folder, "limits.json"), JSON.stringify(entries));
    const own = await startService({ config: { rateLimits: tableOf("limits.json") }, waitsForModels: false });
    try {
      const headers = fresh(own);
      const limitOf = async (method: string, path: string) => {
        const answers: Answered[] = [];
        for (let n = 0; n < 110; n++) answers.push(await ask(method, path, headers, own));
        return admitted(answers);
      };
      expect(await limitOf("POST", "/v1/chats")).toBe(3);
      expect(await limitOf("GET", "/v1/memories")).toBe(5);
      expect(await limitOf("GET", "/v1/chats")).toBe(5);
      expect(await limitOf("GET", "/v1/usage")).toBe(110);
      expect(await limitOf("GET", "/v1/memories/search")).toBe(60);
      expect(await limitOf("DELETE", `/v1/memories/mem_${NOTHING}`)).toBe(2);
      expect(await limitOf("DELETE", `/v1/chats/chat_${NOTHING}`)).toBe(100);
      expect(await limitOf("POST", "/v1/users")).toBe(100);
    } finally {
      await own.stop();
    }
  });

  test("an entry without a route prevents the start", async () => {
    writeFileSync(join(folder, "wrong.json"), JSON.stringify({ "POST /memory": 3 }));
    const options = { dataDir: join(folder, "store"), config: { rateLimits: tableOf("wrong.json") } };
    await expect(startService({ ...options, waitsForModels: false })).rejects.toThrow("POST /memory");
  });
});
