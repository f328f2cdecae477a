// What holds for every route: keys, request ids, methods, unknown paths, and the two routes that need no key.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Answered, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

const ask = (method: string, path: string, headers: Record<string, string> = {}): Promise<Answered> =>
  mneme.send(new Request(`http://mneme.test${path}`, { method, headers }));

const ID = "mem_00000000000000000000000000";
const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ["POST", "/v1/memories"],
  ["GET", "/v1/memories"],
  ["POST", "/v1/memories/batch"],
  ["POST", "/v1/memories/search"],
  ["GET", `/v1/memories/${ID}`],
  ["DELETE", `/v1/memories/${ID}`],
];

describe("keys", () => {
  const beyond = [["GET", "/v1"] as const, ["GET", "/v1/nothing"] as const, ["PUT", "/v1/memories"] as const];
  for (const [method, path] of [...ROUTES, ...beyond]) {
    test(`${method} ${path} without a key is 401`, async () => {
      const answer = await ask(method, path);
      expectFault(answer, 401, "missing_api_key");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    });
  }

  const wrong = [
    ...["", "Bearer", "Bearer ", TEST_KEY, `Basic ${btoa(`x:${TEST_KEY}`)}`, `Token ${TEST_KEY}`],
    ...[`Bearer ${TEST_KEY}x`, `Bearer ${TEST_KEY.slice(0, -1)}`, `Bearer x${TEST_KEY}`, "Bearer ctx_"],
    ...[`Bearer ${TEST_KEY} ${TEST_KEY}`, `Bearer "${TEST_KEY}"`, `Bearer ctx_${"a".repeat(5_000)}`],
    `Bearer ${TEST_KEY.toUpperCase()}`,
  ];
  for (const authorization of wrong) {
    test(`Authorization: ${authorization.slice(0, 50)} is 401`, async () => {
      const answer = await ask("GET", "/v1/memories", { authorization });
      expectFault(answer, 401, "invalid_api_key");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    });
  }

  test("the scheme is taken in any case (RFC 9110), with one space or more", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER", "Bearer  "]) {
      expect((await ask("GET", "/v1/memories", { authorization: `${scheme} ${TEST_KEY}` })).status).toBe(200);
    }
  });

  test("a key in the query or under another header is no key", async () => {
    expectFault(await ask("GET", `/v1/memories?api_key=${TEST_KEY}`), 401, "missing_api_key");
    expectFault(await ask("GET", "/v1/memories", { "x-api-key": TEST_KEY }), 401, "missing_api_key");
  });

  test("each route asks for its own scope; * holds them all, admin none", async () => {
    const reads = (path: string, method: string) => method === "GET" || path.endsWith("/search");
    const status = async (scope: "memories:read" | "memories:write" | "*" | "admin", method: string, path: string) =>
      (await ask(method, path, { authorization: `Bearer ${keys[scope]}` })).status;
    const keys = {
      "memories:read": mneme.addKey(["memories:read"]),
      "memories:write": mneme.addKey(["memories:write"]),
      "*": mneme.addKey(["*"]),
      admin: mneme.addKey(["admin"]),
    };
    for (const [method, path] of ROUTES) {
      const isRead = reads(path, method);
      expect(await status(isRead ? "memories:write" : "memories:read", method, path)).toBe(403);
      expect(await status("admin", method, path)).toBe(403);
      expect(await status(isRead ? "memories:read" : "memories:write", method, path)).not.toBe(403);
      expect(await status("*", method, path)).not.toBe(403);
    }
  });
});

describe("request ids", () => {
  const authorization = `Bearer ${TEST_KEY}`;

  for (const id of ["a", "trace-01.2_3:4", "A".repeat(128)]) {
    test(`a caller's own ${id.slice(0, 20)} comes back`, async () => {
      for (const path of ["/v1/memories", "/health", "/v1/nothing", "/nothing"]) {
        const answer = await ask("GET", path, { authorization, "x-request-id": id });
        expect(answer.headers.get("x-request-id")).toBe(id);
        if (answer.status >= 400) expect(answer.body.error.request_id).toBe(id);
      }
    });
  }

  for (const id of ["A".repeat(129), "a b", "<script>", "ü", "a,b", "x\ty"]) {
    test(`an unsafe one (${JSON.stringify(id.slice(0, 10))}) is replaced`, async () => {
      const answer = await ask("GET", "/v1/nothing", { authorization, "x-request-id": id });
      expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-z]{26}$/);
      expectFault(answer, 404, "not_found");
    });
  }

  test("every answer has one of its own", async () => {
    const seen = new Set<string | null>();
    for (const [method, path] of ROUTES) {
      for (const headers of [{}, { authorization }]) {
        const answer = await ask(method, path, headers);
        seen.add(answer.headers.get("x-request-id"));
      }
    }
    expect(seen.size).toBe(ROUTES.length * 2);
    expect(seen.has(null)).toBeFalse();
  });
});

describe("404 and 405", () => {
  const authorization = `Bearer ${TEST_KEY}`;

  for (const path of [
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/v1/memories/",
    "/v1//memories",
    `/v1/memories/${ID}/`,
    `/v1/memories/${ID}/x`,
  ]) {
    test(`${path} is no route: 404 with a key, 401 without`, async () => {
      for (const method of ["GET", "POST", "DELETE"]) {
        expectFault(await ask(method, path, { authorization }), 404, "not_found");
        expectFault(await ask(method, path), 401, "missing_api_key");
      }
    });
  }

  for (const path of [
    "/",
    "/v2/memories",
    "//v1/memories",
    "/V1/memories",
    "/%761/memories",
    "/v1memories",
    "/x/../nothing",
  ]) {
    test(`${path} lies outside /v1: 404, with a key or without, and nothing is served`, async () => {
      for (const headers of [{}, { authorization }]) expectFault(await ask("GET", path, headers), 404, "not_found");
    });
  }

  test("an unknown path is shown cut, never whole", async () => {
    const answer = await ask("GET", `/v1/${"x".repeat(10_000)}`, { authorization });
    expectFault(answer, 404, "not_found");
    expect(answer.body.error.message.length).toBeLessThan(200);
  });

  const methods: [path: string, allow: string][] = [
    ["/v1/memories", "GET, HEAD, POST"],
    ["/v1/memories/batch", "DELETE, GET, HEAD, POST"],
    ["/v1/memories/search", "DELETE, GET, HEAD, POST"],
    [`/v1/memories/${ID}`, "DELETE, GET, HEAD"],
    ["/health", "GET, HEAD"],
    ["/ready", "GET, HEAD"],
  ];
  for (const [path, allow] of methods) {
    test(`${path} names the methods that it takes`, async () => {
      for (const method of ["PUT", "PATCH", "OPTIONS"]) {
        const answer = await ask(method, path, { authorization });
        expectFault(answer, 405, "method_not_allowed");
        expect(answer.headers.get("allow")?.split(", ").sort().join(", ")).toBe(allow);
      }
    });
  }

  test("HEAD is GET without a body", async () => {
    for (const path of ["/v1/memories", "/health"]) {
      const answer = await ask("HEAD", path, { authorization });
      expect([answer.status, answer.body]).toEqual([200, null]);
      expect(answer.headers.get("x-request-id")).toBeString();
    }
    expect((await ask("HEAD", "/v1/memories")).status).toBe(401);
  });
});

describe("host names", () => {
  for (const host of ["a", "ab", "api", "db:80", "[::1]", "mneme.example:8383"]) {
    test(`behind ${host} the routes are the same`, async () => {
      const list = new Request(`http://${host}/v1/memories?limit=1`, {
        headers: { authorization: `Bearer ${TEST_KEY}` },
      });
      expect((await mneme.send(list)).status).toBe(200);
      expect((await mneme.send(new Request(`http://${host}/health`))).status).toBe(200);
    });
  }
});

describe("routes without a key", () => {
  test("/health says that the process is up", async () => {
    const { status, body } = await ask("GET", "/health");
    expect([status, body]).toEqual([200, { status: "ok" }]);
  });

  test("/ready is 503 until the models answer, then 200", async () => {
    const loading = await startService({ waitsForModels: false });
    try {
      const ready = () => loading.send(new Request("http://mneme.test/ready"));
      const before = await ready();
      expect([before.status, before.body.status]).toEqual([503, "waiting for the models"]);
      await loading.service.ready;
      const after = await ready();
      expect([after.status, after.body.status]).toEqual([200, "ready"]);
      expect(JSON.stringify(after.body)).not.toContain("/"); // no path of a model
    } finally {
      await loading.stop();
    }
  });
});
