// CORS over HTTP: what web pages of configured origins and of other origins may do, and that every request still needs
// a key.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { parseOrigins } from "../../src/api/cors.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";

const APP = "https://app.example";
const OTHER = "https://other.example";
const ID = "mem_00000000000000000000000000";
let open: TestService;
let closed: TestService;
beforeAll(async () => {
  open = await startService({
    config: { corsOrigins: parseOrigins(`${APP},http://localhost:5173`) },
    waitsForModels: false,
  });
  closed = await startService({ waitsForModels: false });
});
afterAll(async () => {
  await open.stop();
  await closed.stop();
});

const ask = (of: TestService, method: string, path: string, headers: Record<string, string> = {}) =>
  of.service.handle(new Request(`http://mneme.test${path}`, { method, headers }));
const key = { authorization: `Bearer ${TEST_KEY}` };
const corsHeaders = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith("access-control-"));
const preflight = (origin: string, method = "POST") => ({ origin, "access-control-request-method": method });

/** One request for each kind of answer. */
const REQUESTS: readonly (readonly [status: number, method: string, path: string, headers: Record<string, string>])[] =
  [
    [200, "GET", "/v1/memories", key],
    [404, "GET", `/v1/memories/${ID}`, key],
    [404, "GET", "/v1/nothing", key],
    [405, "PATCH", "/v1/memories", key],
    [415, "POST", "/v1/memories", key],
    [401, "GET", "/v1/memories", {}],
    [200, "GET", "/health", {}],
  ];

describe("with origins", () => {
  for (const [status, method, path, headers] of REQUESTS) {
    test(`${status} on ${method} ${path}: a configured origin may read it and its headers, others may not`, async () => {
      const own = await ask(open, method, path, { ...headers, origin: APP });
      expect(own.status).toBe(status);
      expect(own.headers.get("access-control-allow-origin")).toBe(APP);
      expect(own.headers.get("vary")).toContain("Origin");
      const exposed = own.headers.get("access-control-expose-headers")?.toLowerCase().split(", ") ?? [];
      for (const name of ["x-request-id", "x-ratelimit-remaining", "retry-after", "idempotent-replayed"]) {
        expect(exposed).toContain(name);
      }
      for (const origin of [OTHER, `${APP}.evil.example`, "null"]) {
        const foreign = await ask(open, method, path, { ...headers, origin });
        expect([foreign.status, corsHeaders(foreign)]).toEqual([status, []]);
        expect(foreign.headers.get("vary")).toContain("Origin");
      }
    });
  }

  for (const path of ["/v1/memories", `/v1/memories/${ID}`, "/v1/users/ada/events", "/v1/nothing", "/openapi.json"]) {
    test(`a preflight of ${path} is 204 without a key and without a body`, async () => {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
        const asked = { ...preflight(APP, method), "access-control-request-headers": "authorization,content-type" };
        const response = await ask(open, "OPTIONS", path, asked);
        expect([response.status, await response.text()]).toEqual([204, ""]);
        expect(response.headers.get("access-control-allow-origin")).toBe(APP);
        expect(response.headers.get("access-control-allow-methods")?.split(", ")).toContain(method);
        const allowed = response.headers.get("access-control-allow-headers")?.toLowerCase() ?? "";
        for (const name of ["authorization", "content-type", "idempotency-key"]) expect(allowed).toContain(name);
        expect(response.headers.has("access-control-allow-credentials")).toBe(false);
        expect(response.headers.get("x-request-id")).toBeString();
      }
    });
  }

  test("a preflight of another origin gets no permission", async () => {
    for (const origin of [OTHER, "null", "https://APP.example"]) {
      const response = await ask(open, "OPTIONS", "/v1/memories", preflight(origin));
      expect([response.status, corsHeaders(response)]).toEqual([204, []]);
    }
  });

  test("preflights never count as failed authentications", async () => {
    for (let n = 0; n < 50; n++) {
      expect((await ask(open, "OPTIONS", "/v1/memories", preflight(APP))).status).toBe(204);
    }
    expect((await ask(open, "GET", "/v1/memories")).status).toBe(401);
  });

  test("OPTIONS without preflight headers is an unsupported method", async () => {
    expect((await ask(open, "OPTIONS", "/v1/memories", { ...key, origin: APP })).status).toBe(405);
    expect((await ask(open, "OPTIONS", "/v1/memories", { origin: APP })).status).toBe(401);
  });

  test("an allowed origin does not replace a key", async () => {
    const response = await ask(open, "GET", "/v1/memories", { origin: APP });
    expect(response.status).toBe(401);
  });
});

describe("without origins", () => {
  test("no answer has CORS headers, and a preflight is an ordinary OPTIONS request", async () => {
    for (const [status, method, path, headers] of REQUESTS) {
      const response = await ask(closed, method, path, { ...headers, origin: APP });
      expect([response.status, corsHeaders(response), response.headers.get("vary")]).toEqual([status, [], null]);
    }
    const asked = await ask(closed, "OPTIONS", "/v1/memories", preflight(APP));
    expect([asked.status, corsHeaders(asked)]).toEqual([401, []]);
    const withKey = await ask(closed, "OPTIONS", "/v1/memories", { ...preflight(APP), ...key });
    expect([withKey.status, corsHeaders(withKey)]).toEqual([405, []]);
  });
});
