// GET /v1/memories/search: the same search as with POST, and the valid values of its query parameters.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
  const memories = Array.from({ length: 25 }, (_, at) => ({
    content: `Boat ${at} is moored at the ${at % 2 === 0 ? "north" : "south"} quay.`,
    userId: at % 3 === 0 ? "ada & co" : "bob",
    metadata: { berth: at },
    tags: [at % 2 === 0 ? "north" : "south"],
  }));
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await mneme.settled(memory.id);
});
afterAll(() => mneme.stop());

const get = (query: string, headers?: Record<string, string>) =>
  mneme.call("GET", `/v1/memories/search${query}`, undefined, headers);

/** Converts a POST body to the query parameters of the same search. */
function parametersOf(body: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    parameters.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return `?${parameters}`;
}

/** Returns an answer without the durations of its stages and without its time. */
function timeless(body: { explain?: { stages: readonly object[]; asOf: string } }): object {
  if (body.explain === undefined) return body;
  const { stages, asOf: _, ...explain } = body.explain;
  return { ...body, explain: { ...explain, stages: stages.map((stage) => ({ ...stage, ms: 0 })) } };
}

describe("200: the same as POST", () => {
  const questions: Record<string, unknown>[] = [
    { query: "boat at the north quay" },
    { query: "boat", limit: 1 },
    { query: "boat", limit: 100 },
    { query: "boat", userId: "ada & co" },
    { query: "boat", userId: "nobody" },
    { query: "boat", mode: "fast" },
    { query: "boat", mode: "hybrid", explain: true },
    { query: "boat", mode: "balanced", explain: true },
    { query: "boat", mode: "precise", explain: true },
    { query: "boat", includeGraph: true, explain: true },
    { query: "boat", includeGraph: false, explain: false },
    { query: "boat", min_score: 0 },
    { query: "boat", min_score: 1 },
    { query: "boat", min_score: 0.05 },
    { query: "boat", filters: {} },
    { query: "boat", filters: { tags: "north" } },
    { query: "boat", filters: { $or: [{ "metadata.berth": { $gte: 20 } }, { userId: "ada & co" }] }, limit: 100 },
    { query: "Wo liegt das Boot? + 100 % & mehr = ja #1", filters: { "metadata.berth": { $in: [1, 2, 3] } } },
    { query: "船 🚢 \u{1d6c2}" },
  ];
  for (const question of questions) {
    test(JSON.stringify(question).slice(0, 80), async () => {
      const [asked, posted] = [
        await get(parametersOf(question)),
        await mneme.call("POST", "/v1/memories/search", question),
      ];
      expect([asked.status, posted.status]).toEqual([200, 200]);
      expect(timeless(asked.body)).toEqual(timeless(posted.body));
    });
  }

  test("min_score accepts any score from an answer, and the smallest numbers", async () => {
    const { results } = (await get("?query=boat&limit=100")).body;
    for (const [at, { score }] of results.entries()) {
      const { body } = await get(`?query=boat&limit=100&min_score=${score}`);
      expect(body.results.length).toBeGreaterThan(at);
    }
    for (const least of ["1e-7", "1E-300", "0.0000012345678901234567", "0.000"]) {
      expect((await get(`?query=boat&limit=100&min_score=${least}`)).body.total_results).toBe(results.length);
    }
  });

  test("percent-encoding and plus signs mean the same text", async () => {
    const plain = await get(parametersOf({ query: "north quay" }));
    for (const query of ["north+quay", "north%20quay", "%6e%6Frth%20quay"]) {
      expect((await get(`?query=${query}`)).body).toEqual(plain.body);
    }
  });

  test("8,192 characters of query are accepted, one more is refused", async () => {
    expect((await get(`?query=${"k".repeat(8_192)}&limit=1`)).status).toBe(200);
    expectFault(await get(`?query=${"k".repeat(8_193)}`), 400, "invalid_request", "query");
  });
});

describe("400", () => {
  const refused: [query: string, code: string, param: string][] = [
    ["", "invalid_request", "query"],
    ["?limit=5", "invalid_request", "query"],
    ["?query=", "invalid_request", "query"],
    ["?query=+%09%E3%80%80", "invalid_request", "query"],
    ["?query=a&query=b", "invalid_request", "query"],
    ["?query=%FF", "invalid_request", "query"],
    ["?query=a%00", "invalid_request", "query"],
    ["?query=x&limit=0", "invalid_request", "limit"],
    ["?query=x&limit=101", "invalid_request", "limit"],
    ["?query=x&limit=1.5", "invalid_request", "limit"],
    ["?query=x&limit=ten", "invalid_request", "limit"],
    ["?query=x&limit=", "invalid_request", "limit"],
    ["?query=x&userId=", "invalid_request", "userId"],
    [`?query=x&userId=${"u".repeat(257)}`, "invalid_request", "userId"],
    ["?query=x&userId=a&userId=b", "invalid_request", "userId"],
    ["?query=x&user_id=a", "invalid_request", "user_id"],
    ["?query=x&mode=best", "invalid_request", "mode"],
    ["?query=x&mode=", "invalid_request", "mode"],
    ["?query=x&includeGraph=1", "invalid_request", "includeGraph"],
    ["?query=x&includeGraph=", "invalid_request", "includeGraph"],
    ["?query=x&explain=TRUE", "invalid_request", "explain"],
    ["?query=x&min_score=-0.1", "invalid_request", "min_score"],
    ["?query=x&min_score=1.01", "invalid_request", "min_score"],
    ["?query=x&min_score=high", "invalid_request", "min_score"],
    ["?query=x&min_score=1e", "invalid_request", "min_score"],
    ["?query=x&min_score=.5", "invalid_request", "min_score"],
    ["?query=x&min_score=NaN", "invalid_request", "min_score"],
    ["?query=x&min_score=1e999", "invalid_request", "min_score"],
    ["?query=x&min_score=", "invalid_request", "min_score"],
    ["?query=x&limit=1e1", "invalid_request", "limit"],
    ["?query=x&asOf=", "invalid_request", "asOf"],
    ["?query=x&asOf=today", "invalid_request", "asOf"],
    ["?query=x&asOf=0000-01-01", "invalid_request", "asOf"],
    ["?query=x&as_of=2026-01-31", "invalid_request", "as_of"],
    ["?q=x", "invalid_request", "q"],
    ["?query=x&cursor=abc", "invalid_request", "cursor"],
    ["?query=x&filters=", "invalid_filter", "filters"],
    ["?query=x&filters", "invalid_filter", "filters"],
    ["?query=x&filters=%7B%22type%22", "invalid_filter", "filters"],
    ["?query=x&filters=type", "invalid_filter", "filters"],
    ["?query=x&filters=%5B%5D", "invalid_filter", "filters"],
    ["?query=x&filters=null", "invalid_filter", "filters"],
    ["?query=x&filters=%22type%22", "invalid_filter", "filters"],
    [`?query=x&filters=${encodeURIComponent('{"colour":"red"}')}`, "invalid_filter", "filters.colour"],
    [`?query=x&filters=${encodeURIComponent('{"type":{"$like":"x"}}')}`, "invalid_filter", "filters.type.$like"],
  ];
  for (const [query, code, param] of refused) {
    test(`${query.slice(0, 50) || "no parameter at all"} is refused by name`, async () => {
      expectFault(await get(query), 400, code, param);
    });
  }

  test("texts that are refused in a body are refused in filters too", async () => {
    const filters: [text: string, param: string][] = [
      ['{"type":"a\\u0000"}', "filters.type"],
      ['{"$and":[{"type":"\\ud800"}]}', "filters.$and[0].type"],
      ['{"metadata.n":1e999}', "filters.metadata.n"],
      [`${'{"$not":'.repeat(5_000)}{}${"}".repeat(5_000)}`, "filters"],
    ];
    for (const [text, param] of filters) {
      expectFault(await get(`?query=boat&filters=${encodeURIComponent(text)}`), 400, "invalid_request", param);
    }
  });
});

test("401 without a key, 403 for a key that cannot read", async () => {
  expectFault(await mneme.send(new Request("http://mneme.test/v1/memories/search?query=x")), 401, "missing_api_key");
  const authorization = `Bearer ${mneme.addKey(["memories:write", "query"])}`;
  expectFault(await get("?query=x", { authorization }), 403, "insufficient_scope");
});

test("a confined key searches its user's memories only", async () => {
  const authorization = `Bearer ${mneme.addKey(["memories:read"], undefined, { userId: "bob" })}`;
  const { body } = await get("?query=boat&limit=100", { authorization });
  const owners = new Set(
    body.results.map((result: { metadata: { _memory: { userId: string } } }) => result.metadata._memory.userId),
  );
  expect([...owners]).toEqual(["bob"]);
  expect((await get("?query=boat&limit=100&userId=bob", { authorization })).body).toEqual(body);
  expectFault(await get("?query=boat&userId=ada%20%26%20co", { authorization }), 403, "insufficient_scope", "userId");
});
