// POST /v1/memories/search: results, scope, when memories become searchable, and errors.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { type Answered, SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { withModelsAway } from "../support/unfinished.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";
import { REFUSED_AS_OF } from "./refused-times.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ clock });
  const memories = [
    ...[
      { content: "The spare key lies under the blue flower pot.", userId: "ada", metadata: { room: "porch" } },
      { content: "Ada waters the tomatoes on Tuesdays.", userId: "ada" },
      { content: "The spare key hangs behind the kitchen door.", userId: "bob", tags: ["keys"] },
      { content: "Bob repairs violins in his workshop.", userId: "bob" },
      { content: "The spare key is with the caretaker.", title: "Keys" },
    ],
    ...Array.from({ length: 60 }, (_, at) => ({ content: `Shelf ${at} holds jars of plum jam.`, userId: "pantry" })),
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await mneme.settled(memory.id);
});
afterAll(() => mneme.stop());

const search = (body: unknown) => mneme.call("POST", "/v1/memories/search", body);
const contents = (answer: Answered): string[] => answer.body.results.map((result: Result) => result.content);

interface Explained {
  readonly explain: { readonly signals: Record<string, unknown> };
}

interface Result {
  readonly id: string;
  readonly content: string;
  readonly score: number;
  readonly memory_id: string;
  readonly metadata: { readonly _chunk: { readonly ordinal: number; readonly start: number; readonly end: number } };
}

describe("200", () => {
  test("a result has exactly the specified shape", async () => {
    const { status, body } = await search({ query: "where is the spare key under the pot", userId: "ada" });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["results", "total_results"]);
    const [best] = body.results;
    expect(best).toEqual({
      id: expect.stringMatching(/^chunk_[0-9a-hjkmnp-tv-z]{26}$/),
      content: "The spare key lies under the blue flower pot.",
      score: expect.any(Number),
      memory_id: expect.stringMatching(/^mem_/),
      metadata: {
        room: "porch",
        _memory: {
          title: expect.any(String),
          type: expect.any(String),
          tags: expect.any(Array),
          userId: "ada",
          language: "en",
          created_at: expect.stringMatching(/Z$/),
          updated_at: expect.stringMatching(/Z$/),
          occurred_at: null,
          agentId: null,
          sessionId: null,
          superseded_by: null,
        },
        _chunk: { ordinal: 0, start: 0, end: 45 },
      },
    });
  });

  for (const mode of MODE_NAMES) {
    test(`${mode}: scores are in 0..1 and descending, every chunk appears once, total_results counts them`, async () => {
      const { body } = await search({ query: "spare key in a jar of plum jam", mode, limit: 100 });
      const results: Result[] = body.results;
      expect(body.total_results).toBe(results.length);
      expect(results).toHaveLength(65);
      expect(new Set(results.map((result) => result.id)).size).toBe(results.length);
      for (const [at, { score }] of results.entries()) {
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(at === 0 ? 1 : (results[at - 1]?.score ?? 0));
      }
    });
  }

  test("balanced is the default mode", async () => {
    const { body } = await search({ query: "violins", explain: true });
    expect(body.explain.mode).toBe("balanced");
  });

  test("10 results are the default, and both ends of the range of limit are accepted", async () => {
    for (const [limit, count] of [
      [undefined, 10],
      [1, 1],
      [100, 65],
    ]) {
      expect((await search({ query: "plum jam", limit })).body.results).toHaveLength(count ?? 0);
    }
  });

  test("_chunk locates the passage in the memory's content, in code points", async () => {
    const paragraph = (at: number) =>
      `Section ${at} 𝛂𝛃𝛄: the lighthouse number ${at} 🏮 was painted in the spring. `.repeat(12).trim();
    const content = `  \n${Array.from({ length: 12 }, (_, at) => paragraph(at)).join("\n\n")}\n `;
    const { body: memory } = await mneme.store({ content, userId: "keeper" });
    expect(memory.chunk_count).toBeGreaterThan(3);
    const { body } = await search({ query: "lighthouse painted in spring", userId: "keeper", limit: 100 });
    const results: Result[] = body.results;
    expect(results).toHaveLength(memory.chunk_count);
    const points = [...content];
    for (const result of results) {
      const { start, end } = result.metadata._chunk;
      expect(points.slice(start, end).join("").trim()).toBe(result.content);
    }
    const ordinals = results.map((result) => result.metadata._chunk.ordinal).sort((left, right) => left - right);
    expect(ordinals).toEqual(results.map((_, at) => at));
  });

  test("_chunk has the headings above a passage", async () => {
    const content = "# Boats\n\nAll boats are wood.\n\n## Ferries\n\nThe ferry has two decks and a bell.";
    await mneme.store({ content, userId: "harbour", title: "Harbour" });
    const { body } = await search({ query: "ferry with two decks", userId: "harbour", limit: 1 });
    expect(body.results[0].metadata._chunk.headings).toEqual(expect.arrayContaining(["Boats"]));
  });

  test("min_score leaves out exactly the results with a lower score", async () => {
    const all = (await search({ query: "spare key", limit: 100 })).body.results as Result[];
    const bound = all[3]?.score ?? 0;
    const kept = (await search({ query: "spare key", limit: 100, min_score: bound })).body.results as Result[];
    expect(kept.map((result) => result.id)).toEqual(all.filter(({ score }) => score >= bound).map(({ id }) => id));
    expect((await search({ query: "spare key", min_score: 1 })).body).toEqual({ results: [], total_results: 0 });
    expect((await search({ query: "spare key", min_score: 0 })).body.results).toHaveLength(10);
  });

  test("null counts as absent for every optional field, an empty filter restricts nothing", async () => {
    const nulls = { mode: null, limit: null, userId: null, includeGraph: null, explain: null, min_score: null };
    const plain = await search({ query: "spare key" });
    expect((await search({ query: "spare key", ...nulls })).body).toEqual(plain.body);
    expect((await search({ query: "spare key", filters: {}, includeGraph: false })).body).toEqual(plain.body);
  });

  test("8,192 characters of query are accepted, astral ones too", async () => {
    for (const query of ["k".repeat(8_192), "𝛂".repeat(8_192), "key ".repeat(2_048)]) {
      expect((await search({ query, limit: 1 })).status).toBe(200);
    }
  });

  for (const query of [
    "?",
    "“”",
    "AND OR NOT (",
    "title:*",
    '"',
    "\\",
    "🔑",
    "的",
    "\u200b",
    "'; DROP TABLE memories;--",
    "a".repeat(300),
  ]) {
    test(`the query ${JSON.stringify(query.slice(0, 20))} is plain text, not syntax`, async () => {
      for (const mode of MODE_NAMES) expect((await search({ query, mode })).status).toBe(200);
    });
  }
});

/** The stages but that of the reader, which some models do not have. readers.test.ts looks at it. */
function withoutReading(stages: readonly { readonly name: string }[]) {
  return stages.filter(({ name }) => name !== "read");
}

describe("explain", () => {
  test("balanced: signals of every leg per result, and a record of each stage", async () => {
    // these memories are short, so that the reranker reads as many as its depth
    const { body } = await search({ query: "spare key", explain: true, limit: 30, userId: "pantry" });
    expect({ ...body.explain, stages: withoutReading(body.explain.stages) }).toEqual({
      mode: "balanced",
      admissible: expect.any(Number),
      asOf: expect.any(String),
      evidence: expect.any(Number),
      calibration: "shipped",
      stages: ["filter", "queue", "embed", "text", "vector", "graph", "fuse", "hydrate", "rerank"].map((name) => ({
        name,
        ms: expect.any(Number),
        candidates: expect.any(Number),
      })),
    });
    const sinceMs = clock.now() - Date.parse(body.explain.asOf);
    expect(sinceMs >= 0 && sinceMs < 60_000).toBeTrue();
    for (const [asOf, shown] of [
      ["2024-05-03", "2024-05-03T00:00:00.000Z"],
      ["2024-05-03T09:30:00+02:00", "2024-05-03T07:30:00.000Z"],
      ["0001-01-01", "0001-01-01T00:00:00.000Z"],
      ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ]) {
      const byPost = await search({ query: "spare key", explain: true, asOf });
      const url = `/v1/memories/search?query=spare+key&explain=true&asOf=${encodeURIComponent(asOf ?? "")}`;
      for (const { body: dated } of [byPost, await mneme.call("GET", url)]) expect(dated.explain.asOf).toBe(shown);
    }
    const signal = { rank: expect.any(Number), score: expect.any(Number) };
    for (const [at, result] of body.results.entries()) {
      const read = { vector: signal, text: signal, rerank: signal };
      expect(Object.keys(result.explain).sort()).toEqual(["fused_rank", "signals"]);
      expect(result.explain.signals).toEqual(at < 20 ? read : { vector: signal, text: signal });
    }
    const fused: number[] = body.results.map(
      (result: { explain: { fused_rank: number } }) => result.explain.fused_rank,
    );
    expect([...fused].sort((left, right) => left - right)).toEqual(fused.map((_, at) => at + 1));
  });

  test("precise: the same signals and that of neighbours, a graph stage, and more candidates for the reranker", async () => {
    const { body } = await search({ query: "spare key", explain: true, mode: "precise", limit: 40 });
    expect(body.explain.mode).toBe("precise");
    const names = withoutReading(body.explain.stages).map(({ name }) => name);
    expect(names).toEqual(["filter", "queue", "embed", "text", "vector", "graph", "fuse", "hydrate", "rerank"]);
    expect(body.results.length).toBe(40);
    const read = body.results.filter((result: Explained) => result.explain.signals.rerank !== undefined);
    expect(read).toHaveLength(30);
    for (const [at, result] of (body.results as Explained[]).entries()) {
      for (const name of Object.keys(result.explain.signals)) {
        expect(["vector", "text", "graph", "rerank", "neighbours"]).toContain(name);
      }
      expect(result.explain.signals.rerank !== undefined).toBe(at < 30);
    }
  });

  test("hybrid: signals of vectors and full text per result, no reranker, and no graph if it is unsure", async () => {
    const { status, body } = await search({ query: "spare key", explain: true, mode: "hybrid", limit: 40 });
    expect([status, body.explain.mode, body.results.length]).toEqual([200, "hybrid", 40]);
    const stages = body.explain.stages.map((stage: { name: string }) => stage.name);
    expect(stages.sort()).toEqual(["embed", "filter", "fuse", "graph", "hydrate", "queue", "text", "vector"]);
    for (const result of body.results) {
      expect(Object.keys(result.explain.signals).sort()).toEqual(["text", "vector"]);
    }
  });

  test("includeGraph adds the graph stage in any mode; without it, fast has none", async () => {
    for (const mode of ["fast", "hybrid", "balanced"]) {
      for (const includeGraph of [true, false, undefined]) {
        const { body } = await search({ query: "spare key", explain: true, mode, includeGraph });
        const names: string[] = body.explain.stages.map((stage: { name: string }) => stage.name);
        expect(names.includes("graph")).toBe(includeGraph === true || mode !== "fast");
        expect(body.results).toHaveLength(10);
      }
    }
  });

  test("stages have only the specified names, durations from 0 on and integer numbers of candidates", async () => {
    const known = ["queue", "embed", "filter", "vector", "text", "graph", "fuse", "rerank", "hydrate", "read"];
    for (const mode of MODE_NAMES) {
      const { body } = await search({ query: "plum jam", explain: true, mode, filters: { userId: "pantry" } });
      for (const stage of body.explain.stages) {
        expect(Object.keys(stage).sort()).toEqual(["candidates", "ms", "name"]);
        expect(known).toContain(stage.name);
        expect(stage.ms).toBeGreaterThanOrEqual(0);
        expect(Number.isInteger(stage.candidates)).toBeTrue();
      }
      const names = body.explain.stages.map((stage: { name: string }) => stage.name);
      expect(names).toContain("queue");
      expect(new Set(names).size).toBe(names.length);
      expect(body.explain.admissible).toBe(60);
    }
  });

  test("false or absent: neither the answer nor a result has it", async () => {
    for (const explain of [false, null, undefined]) {
      const { body } = await search({ query: "spare key", explain });
      expect(Object.keys(body).sort()).toEqual(["results", "total_results"]);
      for (const result of body.results) expect(result).not.toHaveProperty("explain");
    }
  });

  test("fast: vector search only", async () => {
    const { body } = await search({ query: "spare key", explain: true, mode: "fast", limit: 3 });
    expect(body.explain.stages.map((stage: { name: string }) => stage.name)).not.toContain("rerank");
    for (const [at, result] of body.results.entries()) {
      expect(result.explain).toEqual({
        fused_rank: at + 1,
        signals: { vector: { rank: at + 1, score: expect.any(Number) } },
      });
    }
  });

  test("admissible counts the memories in scope, not the whole project", async () => {
    expect((await search({ query: "key", userId: "bob", explain: true })).body.explain.admissible).toBe(2);
    expect((await search({ query: "key", userId: "nobody", explain: true })).body.explain.admissible).toBe(0);
  });
});

describe("includeGraph", () => {
  test("stays inside limit and scope, in one ranking, in every mode", async () => {
    for (const mode of MODE_NAMES) {
      const { body } = await search({ query: "spare key", mode, includeGraph: true, limit: 3, userId: "ada" });
      const results: (Result & { metadata: { _memory: { userId: string } } })[] = body.results;
      expect(results.map((result) => result.metadata._memory.userId)).toEqual(["ada", "ada"]);
      expect(results.map((result) => result.score)).toEqual(
        results.map((result) => result.score).sort((left, right) => right - left),
      );
      expect((await search({ query: "plum jam", mode, includeGraph: true, limit: 7 })).body.results).toHaveLength(7);
    }
  });
});

describe("filters", () => {
  test("filters apply before ranking: the one matching memory is found behind sixty better ones, in every mode", async () => {
    for (const mode of MODE_NAMES) {
      const found = await search({ query: "shelf with jars of plum jam", mode, limit: 1, filters: { tags: "keys" } });
      expect(contents(found)).toEqual(["The spare key hangs behind the kitchen door."]);
    }
  });

  test("and scope both apply", async () => {
    expect(contents(await search({ query: "key", userId: "ada", filters: { userId: "bob" } }))).toEqual([]);
    expect(contents(await search({ query: "key", userId: "ada", filters: { $not: { userId: "ada" } } }))).toEqual([]);
    const both = await search({ query: "key", userId: "ada", filters: { "metadata.room": "porch" }, explain: true });
    expect(contents(both)).toEqual(["The spare key lies under the blue flower pot."]);
    expect(both.body.explain.admissible).toBe(1);
  });

  test("and min_score both apply", async () => {
    const all = (await search({ query: "spare key", filters: { userId: { $in: ["ada", "bob"] } } })).body.results;
    expect(all).toHaveLength(4);
    const bound = all[1].score;
    const some = await search({ query: "spare key", filters: { userId: { $in: ["ada", "bob"] } }, min_score: bound });
    expect(some.body.results).toEqual(all.filter((result: Result) => result.score >= bound));
  });
});

describe("scope", () => {
  test("a userId finds its own memories only, however well others match", async () => {
    for (const [userId, count] of [["ada", 2] as const, ["bob", 2] as const]) {
      for (const mode of MODE_NAMES) {
        const { body } = await search({ query: "the spare key is with the caretaker", userId, mode, limit: 100 });
        const owners: string[] = body.results.map(
          (r: { metadata: { _memory: { userId: string } } }) => r.metadata._memory.userId,
        );
        expect(owners).toEqual(Array(count).fill(userId));
      }
    }
  });

  test("an unknown user, or a known one in another spelling, finds nothing", async () => {
    for (const userId of ["nobody", "Ada", "ada ", "a", "%", "*", "ada'--"]) {
      expect((await search({ query: "spare key", userId })).body).toEqual({ results: [], total_results: 0 });
    }
  });

  test("without a userId the whole project is searched, and another project sees none of it", async () => {
    expect(
      contents(await search({ query: "spare key", limit: 3 })).every((text) => text.includes("spare key")),
    ).toBeTrue();
    const headers = { authorization: `Bearer ${mneme.addKey(["*"], "prj_another")}` };
    const elsewhere = await mneme.call("POST", "/v1/memories/search", { query: "spare key", limit: 100 }, headers);
    expect(elsewhere.body).toEqual({ results: [], total_results: 0 });
    await mneme.call("POST", "/v1/memories", { content: "The spare key of project two.", userId: "ada" }, headers);
    expect(contents(await search({ query: "spare key of project two", limit: 100 }))).not.toContain(
      "The spare key of project two.",
    );
  });
});

describe("when a memory is searchable", () => {
  test("it is found as soon as its status is completed, and not before: twenty times", async () => {
    for (let round = 0; round < 20; round++) {
      const content = `The password of round ${round} is marmalade.`;
      const { body } = await mneme.call("POST", "/v1/memories", { content, userId: "round" });
      const find = async () => contents(await search({ query: content, userId: "round", limit: 100 }));
      await until("the memory is completed", async () => {
        const found = await find();
        const { status } = (await mneme.call("GET", `/v1/memories/${body.id}`)).body;
        // the status was read after the search, so a memory that was found must be completed by now
        if (found.includes(content)) expect(status).toBe("completed");
        return status === "completed";
      });
      expect(await find()).toContain(content);
    }
  });

  test("a rewritten memory is not found until its new content is completed, then only by that", async () => {
    const first = await mneme.store({ content: "The meeting is on Monday.", externalId: "m", userId: "diary" });
    const find = async () => contents(await search({ query: "when is the meeting", userId: "diary" }));
    expect(await find()).toEqual(["The meeting is on Monday."]);
    await mneme.call("POST", "/v1/memories", {
      content: "The meeting is on Friday.",
      externalId: "m",
      userId: "diary",
    });
    expect(await find()).not.toContain("The meeting is on Monday.");
    await mneme.settled(first.body.id);
    expect(await find()).toEqual(["The meeting is on Friday."]);
  });

  test("changed attributes appear at once, and the memory stays searchable", async () => {
    const body = { content: "The lift is out of order.", externalId: "l", userId: "house" };
    await mneme.store({ ...body, title: "Lift", metadata: { floor: 1 } });
    await mneme.call("POST", "/v1/memories", { ...body, title: "Elevator", metadata: { floor: 2 } });
    const { results } = (await search({ query: "is the lift working", userId: "house" })).body;
    expect(results[0].metadata).toMatchObject({ floor: 2, _memory: { title: "Elevator" } });
  });

  test("a memory is not found from its expiry on", async () => {
    const expires_at = new Date(clock.now() + 60_000).toISOString();
    await mneme.store({ content: "The code is 4711.", userId: "guest", expires_at });
    expect(contents(await search({ query: "code", userId: "guest" }))).toEqual(["The code is 4711."]);
    clock.advance(60_000);
    expect(contents(await search({ query: "code", userId: "guest" }))).toEqual([]);
  });
});

describe("400", () => {
  const refused: [name: string, body: unknown, code: string, param: string | undefined][] = [
    ["no query", {}, "invalid_request", "query"],
    ["a query of null", { query: null }, "invalid_request", "query"],
    ["an empty query", { query: "" }, "invalid_request", "query"],
    ["a blank query", { query: " \n\t\u3000" }, "invalid_request", "query"],
    ["8,193 characters of query", { query: "k".repeat(8_193) }, "invalid_request", "query"],
    ["8,193 astral characters of query", { query: "𝛂".repeat(8_193) }, "invalid_request", "query"],
    ["a limit of 0", { query: "x", limit: 0 }, "invalid_request", "limit"],
    ["a limit of 101", { query: "x", limit: 101 }, "invalid_request", "limit"],
    ["a limit of 1.5", { query: "x", limit: 1.5 }, "invalid_request", "limit"],
    ["a limit that is a text", { query: "x", limit: "5" }, "invalid_request", "limit"],
    ["an unknown mode", { query: "x", mode: "best" }, "invalid_request", "mode"],
    ["a min_score below 0", { query: "x", min_score: -0.01 }, "invalid_request", "min_score"],
    ["a min_score above 1", { query: "x", min_score: 1.01 }, "invalid_request", "min_score"],
    ["explain as a text", { query: "x", explain: "true" }, "invalid_request", "explain"],
    ["an empty userId", { query: "x", userId: "" }, "invalid_request", "userId"],
    ["257 characters of userId", { query: "x", userId: "u".repeat(257) }, "invalid_request", "userId"],
    ["a graph that is a text", { query: "x", includeGraph: "yes" }, "invalid_request", "includeGraph"],
    ["a min_score that is a text", { query: "x", min_score: "0.5" }, "invalid_request", "min_score"],
    ["filters of null", { query: "x", filters: null }, "invalid_filter", "filters"],
    ["filters that are a list", { query: "x", filters: [] }, "invalid_filter", "filters"],
    ["filters that are a text", { query: "x", filters: "type=note" }, "invalid_filter", "filters"],
    ...REFUSED_AS_OF,
    ["an unknown field", { query: "x", top_k: 5 }, "invalid_request", "top_k"],
    ["a body that is a list", [{ query: "x" }], "invalid_request", undefined],
  ];
  for (const [name, body, code, param] of refused) {
    test(`${name} is refused by name`, async () => expectFault(await search(body), 400, code, param));
  }

  test("errors list the valid modes, and suggest the nearest field", async () => {
    expect((await search({ query: "x", mode: "best" })).body.error.message).toContain(
      '"fast", "hybrid", "balanced", "precise"',
    );
    expect((await search({ query: "x", user_id: "ada" })).body.error.message).toContain("'userId'");
  });
});

test("401 without a key, 403 for a key that cannot read", async () => {
  const unkeyed = new Request("http://mneme.test/v1/memories/search", { method: "POST", body: "{}" });
  expectFault(await mneme.send(unkeyed), 401, "missing_api_key");
  const headers = { authorization: `Bearer ${mneme.addKey(["memories:write"])}` };
  expectFault(await mneme.call("POST", "/v1/memories/search", { query: "x" }, headers), 403, "insufficient_scope");
});

describe("503", () => {
  test("while the models are unavailable: the body has the seconds to wait, without Retry-After", async () =>
    withModelsAway(async (bare) => {
      const answer = await bare.call("POST", "/v1/memories/search", { query: "models" });
      expectFault(answer, 503, "model_unavailable");
      expect(answer.body.error.retry_after_seconds).toBeGreaterThan(0);
      expect(answer.headers.has("retry-after")).toBeFalse();
    }));
});

test("a caller who hangs up does not affect the service", async () => {
  const requests = Array.from({ length: 10 }, () => {
    const hangUp = new AbortController();
    const answer = mneme.service.handle(
      new Request("http://mneme.test/v1/memories/search", {
        method: "POST",
        headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ query: "spare key" }),
        signal: hangUp.signal,
      }),
    );
    hangUp.abort();
    return answer;
  });
  for (const request of requests) expect(await request).toBeInstanceOf(Response);
  expect((await search({ query: "spare key" })).status).toBe(200);
});
