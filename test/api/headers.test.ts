// Headers of answers: rate-limit window, request id, and headers that only one status has.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { parseOrigins } from "../../src/api/cors.ts";
import { EventReader } from "../support/event-stream.ts";
import { SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";

const clock = new SettableClock();
const ORIGIN = "https://app.example";
let mneme: TestService;
let memory = "";
let projectKey = "";
beforeAll(async () => {
  mneme = await startService({ clock, config: { rateLimits: RATE_LIMITS, corsOrigins: parseOrigins(ORIGIN) } });
  memory = (await mneme.store({ content: "Headers stand on every answer." })).body.id;
  projectKey = (await mneme.call("POST", "/v1/projects", { name: "full", plan: "free" })).body.key;
  const full = { memories: Array.from({ length: 10 }, (_, n) => ({ content: `Number ${n}.` })) };
  await mneme.call("POST", "/v1/memories/batch", full, bearer(projectKey));
});
afterAll(() => mneme.stop());

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const NOTHING = "00000000000000000000000000";

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const json = { "content-type": "application/json" };
const send = async ({ method = "GET", path, headers = {}, body }: Asked): Promise<Response> =>
  mneme.service.handle(
    new Request(`http://mneme.test${path}`, {
      method,
      headers: { ...bearer(TEST_KEY), ...headers },
      ...(body !== undefined && { body }),
    }),
  );

/** One request for each kind of answer. */
const ANSWERS: readonly (readonly [
  what: string,
  status: number,
  limit: number,
  asked: () => Asked | Promise<Asked>,
])[] = [
  ["a read", 200, 300, () => ({ path: `/v1/memories/${memory}` })],
  ["a list", 200, 300, () => ({ path: "/v1/memories" })],
  ["HEAD", 200, 300, () => ({ method: "HEAD", path: "/v1/memories" })],
  ["something made", 201, 60, () => ({ method: "POST", path: "/v1/chats", headers: json, body: "{}" })],
  [
    "something accepted",
    202,
    100,
    () => ({ method: "POST", path: "/v1/memories", headers: json, body: '{"content":"More."}' }),
  ],
  [
    "something deleted",
    204,
    100,
    async () => {
      await mneme.call("POST", "/v1/users", { id: "leaver" });
      return { method: "DELETE", path: "/v1/users/leaver" };
    },
  ],
  ["a wrong field", 400, 100, () => ({ method: "POST", path: "/v1/memories", headers: json, body: '{"text":"x"}' })],
  ["broken JSON", 400, 100, () => ({ method: "POST", path: "/v1/memories", headers: json, body: "{" })],
  ["a wrong query", 400, 300, () => ({ path: "/v1/memories?limit=0" })],
  ["a path that is no UTF-8", 400, 300, () => ({ path: "/v1/memories/%FF" })],
  ["no key", 401, 30, () => ({ path: "/v1/memories", headers: { authorization: "" } })],
  ["a wrong key", 401, 30, () => ({ path: "/v1/memories", headers: bearer("ctx_wrong") })],
  ["no key on an unknown route", 401, 30, () => ({ path: "/v1/nothing", headers: bearer("ctx_wrong") })],
  ["a missing scope", 403, 300, () => ({ path: "/v1/memories", headers: bearer(mneme.addKey(["query"])) })],
  [
    "a confined key",
    403,
    300,
    () => ({ path: "/v1/usage", headers: bearer(mneme.addKey(["*"], undefined, { userId: "x" })) }),
  ],
  ["an unknown route", 404, 300, () => ({ path: "/v1/nothing" })],
  ["the base itself", 404, 300, () => ({ path: "/v1" })],
  ["an unknown thing", 404, 300, () => ({ path: `/v1/memories/mem_${NOTHING}` })],
  ["a wrong method", 405, 100, () => ({ method: "PUT", path: "/v1/memories" })],
  ["a method that no route has", 405, 100, () => ({ method: "OPTIONS", path: "/v1/memories" })],
  ["a conflict", 409, 100, () => ({ method: "POST", path: `/v1/memories/${memory}/retry` })],
  [
    "a body that says it is too large",
    413,
    100,
    () => ({
      method: "POST",
      path: "/v1/memories",
      headers: { ...json, "content-length": String(100 * 1024 * 1024 + 1) },
      body: "{}",
    }),
  ],
  [
    "no JSON",
    415,
    100,
    () => ({ method: "POST", path: "/v1/memories", headers: { "content-type": "text/plain" }, body: "x" }),
  ],
  [
    "a quota",
    429,
    100,
    () => ({
      method: "POST",
      path: "/v1/memories",
      headers: { ...json, ...bearer(projectKey) },
      body: '{"content":"x"}',
    }),
  ],
  [
    "a stream",
    200,
    30,
    () => ({ method: "POST", path: "/v1/memories/query", headers: json, body: '{"query":"headers?","stream":true}' }),
  ],
];

describe("X-RateLimit-Limit, -Remaining and -Reset", () => {
  for (const [what, status, limit, asked] of ANSWERS) {
    test(`are on ${status} (${what})`, async () => {
      const before = clock.now();
      const response = await send(await asked());
      await response.body?.cancel();
      expect(response.status).toBe(status);
      const shown = (name: string) => response.headers.get(`x-ratelimit-${name}`) ?? "";
      for (const name of ["limit", "remaining", "reset"]) expect(shown(name)).toMatch(/^\d+$/);
      expect(Number(shown("limit"))).toBe(limit);
      expect(Number(shown("remaining"))).toBeLessThan(limit);
      const reset = Number(shown("reset"));
      expect(reset).toBeGreaterThanOrEqual(Math.floor(before / 1000));
      expect(reset).toBeLessThanOrEqual(Math.ceil(clock.now() / 1000) + 60);
    });
  }

  test("are on a rate limit's 429, with Retry-After", async () => {
    const headers = bearer(mneme.addKey(["*"]));
    const post = () => send({ method: "POST", path: "/v1/chats", headers: { ...headers, ...json }, body: "{}" });
    for (let n = 0; n < 60; n++) await post();
    const before = clock.now();
    const response = await post();
    expect(response.status).toBe(429);
    expect(response.headers.get("x-ratelimit-limit")).toBe("60");
    expect(response.headers.get("x-ratelimit-remaining")).toBe("0");
    const wait = Number(response.headers.get("retry-after"));
    expect(wait).toBeWithin(1, 61);
    const reset = Number(response.headers.get("x-ratelimit-reset"));
    expect(reset - wait).toBeWithin(Math.floor(before / 1000) - 1, Math.ceil(clock.now() / 1000) + 2);
  });

  test("are on a preflight's answer under /v1", async () => {
    const asked = { origin: ORIGIN, "access-control-request-method": "POST" };
    const response = await send({ method: "OPTIONS", path: "/v1/memories", headers: asked });
    expect(response.status).toBe(204);
    for (const name of ["limit", "remaining", "reset"]) {
      expect(response.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
    }
  });

  test("fall by one with each request of a route", async () => {
    const headers = bearer(mneme.addKey(["*"]));
    for (let n = 1; n <= 5; n++) {
      const response = await send({ path: "/v1/users", headers });
      expect(response.headers.get("x-ratelimit-remaining")).toBe(String(300 - n));
    }
  });
});

describe("Retry-After", () => {
  for (const [what, status, , asked] of ANSWERS) {
    test(`is not on ${status} (${what})`, async () => {
      const response = await send(await asked());
      await response.body?.cancel();
      expect(response.headers.has("retry-after")).toBe(false);
    });
  }
});

describe("X-Request-Id", () => {
  const outside = ["/health", "/ready", "/metrics", "/openapi.json", "/docs", "/nothing"];

  for (const [what, status, , asked] of ANSWERS) {
    test(`is on ${status} (${what}): the caller's own, or a new one`, async () => {
      const { headers, ...rest } = await asked();
      const own = await send({ ...rest, headers: { ...headers, "x-request-id": "trace-1:2.3_4" } });
      await own.body?.cancel();
      expect(own.headers.get("x-request-id")).toBe("trace-1:2.3_4");
      const made = await send(await asked());
      await made.body?.cancel();
      expect(made.headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    });
  }

  test("is on every answer outside of /v1", async () => {
    for (const path of outside) {
      const response = await mneme.service.handle(new Request(`http://mneme.test${path}`));
      expect([path, response.headers.get("x-request-id")?.length]).toEqual([path, 36]);
    }
  });

  test("is the error body's request_id", async () => {
    for (const [, status, , asked] of ANSWERS) {
      const { headers, ...rest } = await asked();
      const response = await send({ ...rest, headers: { ...headers, "x-request-id": "trace-2" } });
      const text = await response.text();
      if (status >= 400) expect(JSON.parse(text).error.request_id).toBe("trace-2");
    }
  });
});

describe("headers of one status", () => {
  test("401 names the scheme, no other status does", async () => {
    for (const [, status, , asked] of ANSWERS) {
      const response = await send(await asked());
      await response.body?.cancel();
      expect([status, response.headers.get("www-authenticate")]).toEqual([status, status === 401 ? "Bearer" : null]);
    }
  });

  test("405 names the supported methods, no other status does", async () => {
    for (const [, status, , asked] of ANSWERS) {
      const response = await send(await asked());
      await response.body?.cancel();
      expect([status, response.headers.has("allow")]).toEqual([status, status === 405]);
    }
  });

  test("bodies are JSON in UTF-8, 204 has none, a stream is an event stream that proxies do not buffer", async () => {
    for (const [what, status, , asked] of ANSWERS) {
      const response = await send(await asked());
      const type = response.headers.get("content-type");
      if (status === 204) {
        expect([type, response.body]).toEqual([null, null]);
      } else if (what === "a stream") {
        expect((await new EventReader(response).rest()).at(-1)?.name).toBe("done");
        expect(response.headers.get("cache-control")).toContain("no-cache");
        expect(response.headers.get("x-accel-buffering")).toBe("no");
      } else {
        expect([what, type]).toEqual([what, "application/json; charset=utf-8"]);
        await response.body?.cancel();
      }
    }
  });
});

describe("HEAD over a socket, where Bun writes its own length for answers without a body", () => {
  let server: ReturnType<typeof Bun.serve>;
  beforeAll(() => {
    server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => mneme.service.handle(request) });
  });
  afterAll(() => server.stop(true));

  const rows: readonly (readonly [what: string, status: number, asked: () => Asked])[] = [
    ["a list", 200, () => ({ path: "/v1/projects" })],
    ["a read", 200, () => ({ path: `/v1/memories/${memory}` })],
    ["a page", 200, () => ({ path: "/docs" })],
    ["a wrong query", 400, () => ({ path: "/v1/memories?limit=0" })],
    ["no key", 401, () => ({ path: "/v1/memories", headers: { authorization: "" } })],
    ["a missing scope", 403, () => ({ path: "/v1/memories", headers: bearer(mneme.addKey(["query"])) })],
    ["an unknown thing", 404, () => ({ path: `/v1/memories/mem_${NOTHING}` })],
    ["an unknown route", 404, () => ({ path: "/v1/nothing" })],
    ["an unknown path outside of /v1", 404, () => ({ path: "/nothing" })],
    ["a wrong method", 405, () => ({ path: "/v1/keys/x/rotate" })],
  ];
  for (const [what, status, asked] of rows) {
    test(`has the length and type of GET, and no body, on ${status} (${what})`, async () => {
      const { path, headers } = asked();
      const ask = (method: string) =>
        fetch(`http://127.0.0.1:${server.port}${path}`, {
          method,
          headers: { ...bearer(TEST_KEY), "x-request-id": "trace-3", ...headers },
        });
      const [get, head] = [await ask("GET"), await ask("HEAD")];
      expect([get.status, head.status]).toEqual([status, status]);
      const length = (await get.arrayBuffer()).byteLength;
      expect(length).toBeGreaterThan(0);
      expect(head.headers.get("content-length")).toBe(String(length));
      expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
      expect(await head.text()).toBe("");
    });
  }
});
