// Rules for every route: keys, request ids, methods, unknown paths, and the two routes that need no key.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { type Answered, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { startWithoutModels } from "../support/unfinished.ts";
import { OPERATIONS } from "./contract.ts";
import { expectFault, expectFaultOf } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

const send = async (request: Request, address = ""): Promise<Answered> => {
  const response = await mneme.service.handle(request, () => address);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
};
const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
  send(new Request(`http://mneme.test${path}`, { method, headers }));
let strangers = 0;
/**
 * Sends a request with an invalid key. Each request has an address of its own, because failures are counted by address.
 */
const askAsStranger = (method: string, path: string, headers: Record<string, string> = {}) => {
  strangers += 1;
  const address = `10.${strangers >> 16}.${(strangers >> 8) & 255}.${strangers & 255}`;
  return send(new Request(`http://mneme.test${path}`, { method, headers }), address);
};

/** Returns the status of a list request with this host name. */
const statusOver = (port: number, host: string) =>
  new Promise<number>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET /v1/memories HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    });
    socket.on("data", (part) => resolve(Number(part.toString("latin1").split(" ")[1])));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the connection was closed without an answer")));
  });

const ID = "mem_00000000000000000000000000";
const authorization = `Bearer ${TEST_KEY}`;
/** Every route, with a value for each parameter. */
const ROUTES = OPERATIONS.map(({ method, path }) => [method, `/v1${path.replaceAll("{}", "x")}`] as const);

describe("keys", () => {
  const beyond = [["GET", "/v1"] as const, ["GET", "/v1/nothing"] as const, ["PATCH", "/v1/memories"] as const];
  for (const [method, path] of [...ROUTES, ...beyond]) {
    test(`${method} ${path} without a key is 401`, async () => {
      const answer = await askAsStranger(method, path);
      expectFaultOf(path, answer, 401, "missing_api_key");
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
      const answer = await askAsStranger("GET", "/v1/memories", { authorization });
      expectFault(answer, 401, "invalid_api_key");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    });
  }

  test("the scheme is case-insensitive (RFC 9110), with one space or more", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER", "Bearer  "]) {
      expect((await ask("GET", "/v1/memories", { authorization: `${scheme} ${TEST_KEY}` })).status).toBe(200);
    }
  });

  test("a key in the query or in another header is ignored", async () => {
    expectFault(await askAsStranger("GET", `/v1/memories?api_key=${TEST_KEY}`), 401, "missing_api_key");
    expectFault(await askAsStranger("GET", "/v1/memories", { "x-api-key": TEST_KEY }), 401, "missing_api_key");
  });
});

describe("request ids", () => {
  for (const id of ["a", "trace-01.2_3:4", "A".repeat(128)]) {
    test(`the caller's id ${id.slice(0, 20)} is returned`, async () => {
      for (const path of ["/v1/memories", "/health", "/v1/nothing", "/nothing"]) {
        const answer = await ask("GET", path, { authorization, "x-request-id": id });
        expect(answer.headers.get("x-request-id")).toBe(id);
        if (answer.status >= 400) expect(answer.body.error.request_id).toBe(id);
      }
    });
  }

  for (const id of ["A".repeat(129), "a b", "<script>", "ü", "a,b", "x\ty"]) {
    test(`an unsafe id (${JSON.stringify(id.slice(0, 10))}) is replaced`, async () => {
      const answer = await ask("GET", "/v1/nothing", { authorization, "x-request-id": id });
      expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      expectFault(answer, 404, "not_found");
    });
  }

  test("every answer has a unique id", async () => {
    const seen = new Set<string | null>();
    for (const [method, path] of ROUTES) {
      for (const headers of [{}, { authorization }]) {
        const answer = await askAsStranger(method, path, headers);
        seen.add(answer.headers.get("x-request-id"));
      }
    }
    expect(seen.size).toBe(ROUTES.length * 2);
    expect(seen.has(null)).toBeFalse();
  });
});

describe("404 and 405", () => {
  for (const path of [
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/v1/memories/",
    "/v1//memories",
    `/v1/memories/${ID}/`,
    `/v1/memories/${ID}/x`,
  ]) {
    test(`${path} is not a route: 404 with a key, 401 without`, async () => {
      for (const method of ["GET", "POST", "DELETE"]) {
        expectFault(await ask(method, path, { authorization }), 404, "not_found");
        expectFault(await askAsStranger(method, path), 401, "missing_api_key");
      }
    });
  }

  test("routes match exactly: no trailing slash, no capitals", async () => {
    for (const [method, path] of ROUTES) {
      for (const other of [`${path}/`, path.toUpperCase(), path.replace("/v1/", "/v1//"), path.replace("/v1", "/V1")]) {
        expect([other, (await ask(method, other, { authorization })).status]).toEqual([other, 404]);
      }
    }
  });

  for (const path of [
    "/v2/memories",
    "//v1/memories",
    "/V1/memories",
    "/%761/memories",
    "/v1memories",
    "/x/../nothing",
  ]) {
    test(`${path} is outside of /v1: 404, with or without a key`, async () => {
      for (const headers of [{}, { authorization }]) expectFault(await ask("GET", path, headers), 404, "not_found");
    });
  }

  test("a long unknown path is shortened in the message", async () => {
    const answer = await ask("GET", `/v1/${"x".repeat(10_000)}`, { authorization });
    expectFault(answer, 404, "not_found");
    expect(answer.body.error.message.length).toBeLessThan(200);
  });

  // some of these paths also match /v1/memories/{id}, but have none of its methods
  const promised = [...Map.groupBy(ROUTES, ([, path]) => path)].map(([path, routes]) => {
    const methods: string[] = routes.map(([method]) => method);
    return [path, [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].sort().join(", ")] as const;
  });
  const open = ["/", "/health", "/ready", "/metrics", "/openapi.json", "/docs"].map(
    (path) => [path, "GET, HEAD"] as const,
  );
  for (const [path, allow] of [...promised, ...open]) {
    test(`${path} names its methods, and supports no other`, async () => {
      const others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter(
        (method) => !allow.split(", ").includes(method),
      );
      for (const method of others) {
        const answer = await ask(method, path, { authorization });
        expect([method, answer.status]).toEqual([method, 405]);
        if (method !== "HEAD") expectFaultOf(path, answer, 405, "method_not_allowed");
        expect(answer.headers.get("allow")?.split(", ").sort().join(", ")).toBe(allow);
      }
    });
  }

  test("HEAD is GET without a body", async () => {
    const gets = ROUTES.filter(([method]) => method === "GET").map(([, path]) => path);
    for (const path of [...gets, "/health", "/ready"]) {
      const { status } = await ask("GET", path, { authorization });
      const answer = await ask("HEAD", path, { authorization });
      expect([path, answer.status, answer.body]).toEqual([path, status, null]);
      expect(answer.headers.get("x-request-id")).toBeString();
    }
    expect((await askAsStranger("HEAD", "/v1/memories")).status).toBe(401);
  });
});

describe("host names", () => {
  test("400 for an empty one, also in the first request of a server", async () => {
    const fresh = await startWithoutModels();
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => fresh.service.handle(request) });
    try {
      for (const host of ["", "a b", ""]) expect(await statusOver(server.port ?? 0, host)).toBe(400);
    } finally {
      await server.stop(true);
      await fresh.stop();
    }
  });

  test("400 for a malformed one, before and after a valid one, and without a key", async () => {
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => mneme.service.handle(request) });
    try {
      const good = ["mneme.example", 401] as const;
      const wanted = [["[::1", 400], good, ["a b", 400], good, ["a:99999", 400], ["a@mneme.example", 400]] as const;
      for (const [host, status] of wanted) {
        expect([host, await statusOver(server.port ?? 0, host)]).toEqual([host, status]);
      }
    } finally {
      await server.stop(true);
    }
  });

  test("400 for two Host headers, with one value or two, with a key and without", async () => {
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => mneme.service.handle(request) });
    try {
      for (const second of ["mneme.example", "other.example", ""]) {
        for (const name of ["host", "Host"]) {
          const hosts = `mneme.example\r\n${name}: ${second}`;
          expect([second, await statusOver(server.port ?? 0, hosts)]).toEqual([second, 400]);
          const withKey = `${hosts}\r\nauthorization: ${authorization}`;
          expect([second, await statusOver(server.port ?? 0, withKey)]).toEqual([second, 400]);
        }
      }
    } finally {
      await server.stop(true);
    }
  });

  for (const host of ["a", "ab", "api", "db:80", "[::1]", "mneme.example:8383"]) {
    test(`with the host ${host} the routes are the same`, async () => {
      const list = new Request(`http://${host}/v1/memories?limit=1`, {
        headers: { authorization: `Bearer ${TEST_KEY}` },
      });
      expect((await mneme.send(list)).status).toBe(200);
      expect((await mneme.send(new Request(`http://${host}/health`))).status).toBe(200);
    });
  }
});

describe("routes without a key", () => {
  test("/health is 200 while the process runs", async () => {
    const { status, body } = await ask("GET", "/health");
    expect([status, body]).toEqual([200, { status: "ok" }]);
  });

  test("/ready is 503 until the models answer, then 200", async () => {
    const loading = await startService({ waitsForModels: false });
    try {
      const ready = () => loading.send(new Request("http://mneme.test/ready"));
      let areReady = false;
      const models = Promise.resolve(loading.service.ready).then(() => {
        areReady = true;
      });
      const before = await ready();
      // on a busy machine the models may be ready before the first question
      if (!areReady) expect([before.status, before.body.status]).toEqual([503, "waiting for the models"]);
      await models;
      const after = await ready();
      expect([after.status, after.body.status]).toEqual([200, "ready"]);
      expect(JSON.stringify(after.body)).not.toContain("/"); // no path of a model
    } finally {
      await loading.stop();
    }
  });
});
