// Rate limit tables: which requests share a window, and the limit of each window, in the default table and in
// operators' tables.

import { describe, expect, test } from "bun:test";
import { type Bucket, parseRateLimits, RATE_LIMITS, RateBuckets } from "../../src/account/rate-limits.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { UNLIMITED } from "../../src/ports/coordination.ts";

const ROUTES = [
  "POST /v1/memories",
  "GET /v1/memories",
  "POST /v1/memories/batch",
  "POST /v1/memories/upload",
  "POST /v1/memories/search",
  "GET /v1/memories/search",
  "POST /v1/memories/query",
  "GET /v1/memories/:id",
  "PUT /v1/memories/:id",
  "DELETE /v1/memories/:id",
  "POST /v1/memories/:id/retry",
  "POST /v1/chats",
  "DELETE /v1/chats/:id",
  "POST /v1/chats/:id/messages",
  "POST /v1/chats/:id/messages/stream",
  "POST /v1/users",
  "POST /v1/users/:userId/events",
  "PATCH /v1/keys/:id",
  "POST /v1/webhooks/:id/deliveries/:deliveryId/redeliver",
].map((route) => {
  const [method = "", path = ""] = route.split(" ");
  return { method, path };
});

function bucketOf(route: string, file?: object | "off"): Bucket {
  const [method = "", path = ""] = route.split(" ");
  return new RateBuckets(tableOf(file), ROUTES).bucketOf(method, path === "" ? null : path);
}

function tableOf(file: object | "off" | undefined) {
  if (file === undefined) return RATE_LIMITS;
  return file === "off" ? parseRateLimits("off", unread) : parseRateLimits("limits.json", () => JSON.stringify(file));
}

function unread(): never {
  throw new Error("no file should be read");
}

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error("no UsageError was thrown");
}

describe("the default table", () => {
  const rows: readonly (readonly [string, number, string])[] = [
    ["POST /v1/memories/query", 30, "POST /memories/query"],
    ["POST /v1/memories/search", 60, "POST /memories/search"],
    ["GET /v1/memories/search", 60, "POST /memories/search"],
    ["HEAD /v1/memories/search", 60, "POST /memories/search"],
    ["POST /v1/memories", 100, "POST /memories"],
    ["POST /v1/memories/upload", 100, "POST /memories/upload"],
    ["POST /v1/memories/batch", 100, "POST /memories/batch"],
    ["POST /v1/chats", 60, "POST /chats"],
    ["POST /v1/chats/:id/messages", 30, "POST /chats/{id}/messages"],
    ["POST /v1/chats/:id/messages/stream", 30, "POST /chats/{id}/messages/stream"],
    ["POST /v1/users/:userId/events", 100, "POST /users/{id}/events"],
    ["POST /v1/users", 100, "POST /users"],
    ["POST /v1/memories/:id/retry", 100, "POST /memories/{id}/retry"],
    ["POST /v1/webhooks/:id/deliveries/:deliveryId/redeliver", 100, "POST /webhooks/{id}/deliveries/{id}/redeliver"],
    ["GET /v1/memories", 300, "GET /memories"],
    ["HEAD /v1/memories", 300, "GET /memories"],
    ["GET /v1/memories/:id", 300, "GET /memories/{id}"],
    ["DELETE /v1/memories/:id", 100, "DELETE /memories/{id}"],
    ["DELETE /v1/chats/:id", 100, "DELETE /chats/{id}"],
    ["PUT /v1/memories/:id", 100, "PUT /memories/{id}"],
    ["PATCH /v1/keys/:id", 100, "PATCH /keys/{id}"],
  ];
  for (const [route, limit, name] of rows) {
    test(`allows ${limit} ${route} a minute in the window ${name}`, () => {
      expect(bucketOf(route)).toEqual({ name, limit });
    });
  }

  test("has one window per method for unknown routes", () => {
    const limits = { GET: 300, HEAD: 300, POST: 100, PUT: 100, PATCH: 100, DELETE: 100 };
    for (const [method, limit] of Object.entries(limits)) {
      const name = `${method === "HEAD" ? "GET" : method} *`;
      expect(bucketOf(method)).toEqual({ name, limit });
      expect(bucketOf(`${method} /v1/never/declared`)).toEqual({ name, limit });
    }
  });

  test("has one window for all methods that no route has", () => {
    for (const method of ["OPTIONS", "TRACE", "PROPFIND", "get", "__proto__"]) {
      expect(bucketOf(method)).toEqual({ name: "* *", limit: 100 });
      expect(bucketOf(`${method} /v1/memories`)).toEqual({ name: "* *", limit: 100 });
    }
  });
});

describe("an operator's table", () => {
  test("of `off` limits nothing, in any window", () => {
    for (const { method, path } of ROUTES) expect(bucketOf(`${method} ${path}`, "off").limit).toBe(UNLIMITED);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"]) {
      expect(bucketOf(method, "off").limit).toBe(UNLIMITED);
    }
  });

  test("overrides the entries that it names and keeps the others", () => {
    const file = { "POST /memories/query": 60, "GET *": 1000, "GET /memories/{id}": 50, "POST *": null };
    expect(bucketOf("POST /v1/memories/query", file).limit).toBe(60);
    expect(bucketOf("GET /v1/memories", file).limit).toBe(1000);
    expect(bucketOf("GET", file).limit).toBe(1000);
    expect(bucketOf("GET /v1/memories/:id", file).limit).toBe(50);
    expect(bucketOf("POST /v1/memories/:id/retry", file).limit).toBe(UNLIMITED);
    expect(bucketOf("POST /v1/memories", file).limit).toBe(100);
    expect(bucketOf("GET /v1/memories/search", file).limit).toBe(60);
    expect(bucketOf("DELETE /v1/memories/:id", file).limit).toBe(100);
  });

  test("without entries changes nothing", () => {
    expect([...tableOf({})]).toEqual([...RATE_LIMITS]);
  });

  test("accepts a path with any parameter name, and with the version prefix", () => {
    for (const entry of ["POST /users/{userId}/events", "POST /users/{id}/events", "POST /v1/users/:userId/events"]) {
      expect(bucketOf("POST /v1/users/:userId/events", { [entry]: 7 })).toEqual({
        name: "POST /users/{id}/events",
        limit: 7,
      });
    }
  });

  test("sets both forms of search by either name", () => {
    for (const entry of ["GET /memories/search", "POST /memories/search"]) {
      for (const method of ["GET", "POST"]) {
        expect(bucketOf(`${method} /v1/memories/search`, { [entry]: 9 })).toEqual({
          name: "POST /memories/search",
          limit: 9,
        });
      }
    }
  });

  test("accepts limits from 1 to 1,000,000", () => {
    expect(bucketOf("PUT /v1/memories/:id", { "PUT *": 1 }).limit).toBe(1);
    expect(bucketOf("PUT /v1/memories/:id", { "PUT *": 1_000_000 }).limit).toBe(1_000_000);
  });

  for (const limit of [0, -1, 1.5, 1_000_001, "60", true, [], {}]) {
    test(`refuses a limit of ${JSON.stringify(limit)}`, () => {
      expect(refusal(() => tableOf({ "GET *": 5, "PUT *": limit }))).toBe(
        `"PUT *" in limits.json must be an integer from 1 to 1000000, or null for no limit, not ${JSON.stringify(limit)}.`,
      );
    });
  }

  const entries = [
    "",
    "GET",
    "*",
    "get *",
    "HEAD *",
    "OPTIONS *",
    "GET  *",
    "GET memories",
    "GET /a b",
    "GET /memories/*",
  ];
  for (const entry of [...entries, "GET *\n", " GET *", "* /memories", "__proto__"]) {
    test(`refuses the entry ${JSON.stringify(entry)}`, () => {
      const file = `{${JSON.stringify(entry)}: 5}`;
      const message = refusal(() => parseRateLimits("limits.json", () => file));
      expect(message).toStartWith(
        `${JSON.stringify(entry)} in limits.json is not a valid entry: write one of GET, POST`,
      );
      expect(message).not.toContain("\n");
    });
  }

  test("refuses an entry that names no route, and suggests the nearest one", () => {
    expect(refusal(() => bucketOf("GET", { "POST /memorys/query": 5 }))).toBe(
      "The rate limits name POST /memorys/query, which is not a route. Did you mean POST /memories/query?",
    );
    expect(refusal(() => bucketOf("GET", { "PATCH /memories": 5 }))).toContain(
      "PATCH /memories, which is not a route.",
    );
  });

  test("refuses two entries for one window", () => {
    expect(refusal(() => tableOf({ "GET /memories/search": 5, "POST /memories/search": 6 }))).toBe(
      'limits.json sets POST /memories/search twice, the second time as "POST /memories/search".',
    );
    expect(refusal(() => tableOf({ "GET /users/{id}": 5, "GET /users/{userId}": 6 }))).toContain("twice");
  });

  for (const text of ["", "[]", "null", "5", '"off"', "{", '{"GET *": 5,}']) {
    test(`refuses a file with the content ${JSON.stringify(text)}`, () => {
      const message = refusal(() => parseRateLimits("limits.json", () => text));
      expect(message).toContain("limits.json");
      expect(message).not.toContain("\n");
    });
  }

  test("refuses a file that cannot be read, with the reason", () => {
    const message = refusal(() =>
      parseRateLimits("Off", () => {
        throw new Error("ENOENT: no such file");
      }),
    );
    expect(message).toBe("Off (off, or a file of rate limits) cannot be read: ENOENT: no such file");
  });
});
