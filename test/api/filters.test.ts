// The filter language in requests: every field and operator, the limits, and errors that name the position in the
// filter. test/domain/filter.test.ts tests unusual values.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
/** Ids of the memories, by their names in `MEMORIES`. */
const ids: Record<string, string> = {};
const createdAt: Record<string, string> = {};

const HOUR_MS = 3_600_000;
const MEMORIES: Record<string, object> = {
  alpha: {
    ...{ type: "note", title: "Alpha report", tags: ["red", "round"], language: "en", externalId: "ext-a" },
    ...{ userId: "ada", metadata: { n: 1, text: "apple pie", list: [1, 2], deep: { er: { x: true } }, nil: null } },
  },
  beta: {
    ...{ type: "note", title: "Beta", tags: ["blue"], language: "de", userId: "ada" },
    metadata: { n: 2, text: "banana", list: ["a"], deep: { er: { x: false } }, at: "2026-01-31" },
  },
  gamma: {
    ...{ type: "mail", title: "Gamma", tags: [], language: "fr", externalId: "ext-c", userId: "bob" },
    metadata: { n: 2.5, text: "Cherry", list: [], "dotted.key": 7, deep: [{ er: { y: 1 } }] },
  },
  delta: { type: "mail", title: "Delta", tags: ["red"], language: "en", userId: "bob", metadata: { n: "2" } },
  epsilon: { type: "log", title: "Epsilon", tags: ["two words"], language: "en" },
};
const ALL = Object.keys(MEMORIES);

beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
  for (const [name, attributes] of Object.entries(MEMORIES)) {
    clock.advance(HOUR_MS);
    const { body } = await mneme.store({ content: `The item ${name}.`, ...attributes });
    [ids[name], createdAt[name]] = [body.id, body.created_at];
  }
});
afterAll(() => mneme.stop());

const search = (filters: unknown, more: object = {}) =>
  mneme.call("POST", "/v1/memories/search", { query: "item", limit: 100, mode: "fast", filters, ...more });
/** Returns the names of the memories that a search with this filter finds, in the order of `ALL`. */
async function admitted(filters: unknown, more: object = {}): Promise<string[]> {
  const { status, body } = await search(filters, more);
  expect(status).toBe(200);
  const found = body.results.map((result: { memory_id: string }) => result.memory_id);
  return ALL.filter((name) => found.includes(ids[name]));
}

/** A filter, and the names of the memories that it admits. */
type Case = readonly [filter: unknown, names: readonly string[]];
const expectCases = (cases: readonly Case[]) => {
  for (const [filter, names] of cases) {
    test(JSON.stringify(filter).slice(0, 100), async () => expect(await admitted(filter)).toEqual([...names]));
  }
};

describe("fields", () => {
  expectCases([
    [{}, ALL],
    [{ type: "note" }, ["alpha", "beta"]],
    [{ title: "Beta" }, ["beta"]],
    [{ tags: "red" }, ["alpha", "delta"]],
    [{ language: "en" }, ["alpha", "delta", "epsilon"]],
    [{ externalId: "ext-c" }, ["gamma"]],
    [{ userId: "bob" }, ["gamma", "delta"]],
    [{ "metadata.n": 2 }, ["beta"]],
    [{ "metadata.deep.er.x": true }, ["alpha"]],
    [{ "metadata.dotted.key": 7 }, ["gamma"]],
    [{ "source.media_type": null }, ALL],
    [{ "source.media_type": "text/plain" }, []],
    [{ type: "note", tags: "red" }, ["alpha"]],
    [{ type: "note", "metadata.n": 1, userId: "bob" }, []],
  ]);

  test("memory_id", async () => {
    expect(await admitted({ memory_id: ids.gamma })).toEqual(["gamma"]);
    expect(await admitted({ memory_id: { $in: [ids.alpha, ids.epsilon] } })).toEqual(["alpha", "epsilon"]);
    expect(await admitted({ memory_id: { $ne: ids.alpha } })).toEqual(["beta", "gamma", "delta", "epsilon"]);
  });

  test("created_at and updated_at compare as instants, whatever their zone", async () => {
    const at = createdAt.gamma ?? "";
    const inTokyo = new Date(Date.parse(at) + 9 * HOUR_MS).toISOString().replace("Z", "+09:00");
    for (const instant of [at, inTokyo]) {
      expect(await admitted({ created_at: instant })).toEqual(["gamma"]);
      expect(await admitted({ created_at: { $gt: instant } })).toEqual(["delta", "epsilon"]);
      expect(await admitted({ created_at: { $gte: instant } })).toEqual(["gamma", "delta", "epsilon"]);
      expect(await admitted({ created_at: { $lt: instant } })).toEqual(["alpha", "beta"]);
      expect(await admitted({ created_at: { $lte: instant } })).toEqual(["alpha", "beta", "gamma"]);
      expect(await admitted({ created_at: { $in: [instant, createdAt.beta] } })).toEqual(["beta", "gamma"]);
      expect(await admitted({ updated_at: { $gte: instant } })).toEqual(["gamma", "delta", "epsilon"]);
    }
  });

  test("occurred_at compares as instants, and is absent where it was not given", async () => {
    await mneme.call("PUT", `/v1/memories/${ids.alpha}`, { occurred_at: "1969-07-20T20:17:00Z" });
    await mneme.call("PUT", `/v1/memories/${ids.delta}`, { occurred_at: "2024-05-03" });
    expect(await admitted({ occurred_at: "2024-05-03T02:00:00+02:00" })).toEqual(["delta"]);
    expect(await admitted({ occurred_at: { $lt: "2024-05-03" } })).toEqual(["alpha"]);
    expect(await admitted({ occurred_at: { $gte: "1969-07-20", $lte: "2024-05-03" } })).toEqual(["alpha", "delta"]);
    expect(await admitted({ occurred_at: { $exists: false } })).toEqual(["beta", "gamma", "epsilon"]);
    expect(await admitted({ occurred_at: null })).toEqual(["beta", "gamma", "epsilon"]);
    expect(await admitted({ occurred_at: { $ne: "2024-05-03" } })).toEqual(["alpha", "beta", "gamma", "epsilon"]);
    for (const id of [ids.alpha, ids.delta]) await mneme.call("PUT", `/v1/memories/${id}`, { occurred_at: null });
    expect(await admitted({ occurred_at: { $exists: true } })).toEqual([]);
  });

  test("source.media_type is that of the uploaded file", async () => {
    const form = new FormData();
    form.set("file", new File(["An item that came as a file."], "item.txt"));
    const { body } = await mneme.send(
      new Request("http://mneme.test/v1/memories/upload", {
        method: "POST",
        headers: { authorization: `Bearer ${TEST_KEY}` },
        body: form,
      }),
    );
    await mneme.settled(body.id);
    for (const filter of [
      { "source.media_type": body.source.media_type },
      { "source.media_type": { $contains: "text" } },
      { "source.media_type": { $exists: true } },
    ]) {
      const { results } = (await search(filter)).body;
      expect(results.map((result: { memory_id: string }) => result.memory_id)).toEqual([body.id]);
    }
    expect(await admitted({ "source.media_type": { $exists: false } })).toEqual(ALL);
    await mneme.call("DELETE", `/v1/memories/${body.id}`);
  });

  test("a change updates updated_at only, and a change to the same values does not", async () => {
    clock.advance(HOUR_MS);
    const since = new Date(clock.now()).toISOString();
    await mneme.call("PUT", `/v1/memories/${ids.beta}`, { title: "Beta" }); // as it was
    expect(await admitted({ updated_at: { $gte: since } })).toEqual([]);
    await mneme.call("PUT", `/v1/memories/${ids.beta}`, { title: "Beta", expires_at: "2199-01-01T00:00:00Z" });
    expect(await admitted({ updated_at: { $gte: since } })).toEqual(["beta"]);
    expect(await admitted({ created_at: { $gte: since } })).toEqual([]);
  });
});

describe("operators", () => {
  expectCases([
    [{ type: { $eq: "mail" } }, ["gamma", "delta"]],
    [{ type: { $ne: "mail" } }, ["alpha", "beta", "epsilon"]],
    [{ "metadata.n": { $gt: 1 } }, ["beta", "gamma"]],
    [{ "metadata.n": { $gte: 1 } }, ["alpha", "beta", "gamma"]],
    [{ "metadata.n": { $lt: 2.5 } }, ["alpha", "beta"]],
    [{ "metadata.n": { $lte: 2.5, $gt: 1 } }, ["beta", "gamma"]],
    [{ "metadata.n": { $gte: "1" } }, ["delta"]],
    [{ "metadata.text": { $gt: "apple pie", $lt: "c" } }, ["beta"]],
    [{ "metadata.at": { $gte: "2026-01-01", $lt: "2026-02-01" } }, ["beta"]],
    [{ title: { $gte: "D" } }, ["gamma", "delta", "epsilon"]],
    [{ type: { $in: ["log", "mail", "none"] } }, ["gamma", "delta", "epsilon"]],
    [{ tags: { $in: ["blue", "round"] } }, ["alpha", "beta"]],
    [{ type: { $nin: ["log", "mail"] } }, ["alpha", "beta"]],
    [{ tags: { $nin: ["red"] } }, ["beta", "gamma", "epsilon"]],
    [{ externalId: { $exists: true } }, ["alpha", "gamma"]],
    [{ "metadata.list": { $exists: false } }, ["delta", "epsilon"]],
    [{ tags: { $contains: "two words" } }, ["epsilon"]],
    [{ tags: { $contains: "two" } }, []],
    [{ "metadata.list": { $contains: 2 } }, ["alpha"]],
    [{ "metadata.text": { $contains: "an" } }, ["beta"]],
    [{ "metadata.text": { $contains: "cherry" } }, []],
    [{ title: { $contains: "eta" } }, ["beta"]],
    [{ $and: [{ type: "note" }, { tags: "red" }] }, ["alpha"]],
    [{ $or: [{ type: "log" }, { tags: "blue" }] }, ["beta", "epsilon"]],
    [{ $not: { type: "note" } }, ["gamma", "delta", "epsilon"]],
    [{ $not: { $or: [{ type: "note" }, { userId: "bob" }] } }, ["epsilon"]],
    [{ type: "mail", $or: [{ tags: "red" }, { "metadata.n": 2.5 }] }, ["gamma", "delta"]],
  ]);
});

describe("types, nulls and absent fields", () => {
  expectCases([
    [{ "metadata.n": "2" }, ["delta"]],
    [{ "metadata.n": { $in: [1, "2"] } }, ["alpha", "delta"]],
    [{ "metadata.list": 1 }, ["alpha"]],
    [{ "metadata.list": "1" }, []],
    [{ "metadata.nil": null }, ALL],
    [{ externalId: null }, ["beta", "delta", "epsilon"]],
    [{ userId: { $eq: null } }, ["epsilon"]],
    [{ userId: { $ne: null } }, ["alpha", "beta", "gamma", "delta"]],
    [{ "metadata.nil": { $ne: null } }, []],
    [{ "metadata.nil": { $exists: true } }, ["alpha"]],
    [{ "metadata.nil": { $exists: false } }, ["beta", "gamma", "delta", "epsilon"]],
    [{ "metadata.text": { $ne: "banana" } }, ["alpha", "gamma", "delta", "epsilon"]],
    [{ "metadata.text": { $nin: ["banana"] } }, ["alpha", "gamma", "delta", "epsilon"]],
    [{ $not: { "metadata.text": "banana" } }, ["alpha", "gamma", "delta", "epsilon"]],
    [{ $not: { "metadata.n": { $gt: 1 } } }, ["alpha", "delta", "epsilon"]],
    [{ "metadata.unknown.path": { $gt: 0 } }, []],
    [{ type: { $nin: [] } }, ALL],
    [{ type: { $in: [] } }, []],
    [{ $and: [] }, ALL],
    [{ $or: [] }, []],
  ]);

  test("1 equals 1.0, as it was sent and as it was stored", async () => {
    const body = '{"query":"item","mode":"fast","filters":{"metadata.n":1.0}}';
    const { results } = (await mneme.call("POST", "/v1/memories/search", body)).body;
    expect(results.map((result: { memory_id: string }) => result.memory_id)).toEqual([ids.alpha]);
  });
});

describe("bounds", () => {
  const leaves = (count: number) => ({ $or: Array.from({ length: count }, () => ({ type: "log" })) });
  const values = (count: number) => [...Array.from({ length: count - 1 }, (_, at) => `v${at}`), "log"];
  const deep = (depth: number): object => (depth === 0 ? { type: "log" } : { $and: [deep(depth - 1)] });

  test("200 conditions are accepted, 201 are refused with the path of the last one", async () => {
    expect(await admitted(leaves(200))).toEqual(["epsilon"]);
    expectFault(await search(leaves(201)), 400, "invalid_filter", "filters.$or[200].type");
  });

  test("200 conditions are counted over the whole filter", async () => {
    const halves = (second: number) => ({ $and: [leaves(100), leaves(second)] });
    expect(await admitted(halves(100))).toEqual(["epsilon"]);
    expectFault(await search(halves(101)), 400, "invalid_filter", "filters.$and[1].$or[100].type");
  });

  for (const operator of ["$in", "$nin"]) {
    test(`1,000 values of ${operator} are accepted, 1,001 are refused`, async () => {
      const expected = operator === "$in" ? ["epsilon"] : ["alpha", "beta", "gamma", "delta"];
      expect(await admitted({ type: { [operator]: values(1_000) } })).toEqual(expected);
      expectFault(
        await search({ type: { [operator]: values(1_001) } }),
        400,
        "invalid_filter",
        `filters.type.${operator}`,
      );
    });
  }

  test("eight levels of combinators are accepted, nine are refused", async () => {
    expect(await admitted(deep(8))).toEqual(["epsilon"]);
    expectFault(await search(deep(9)), 400, "invalid_filter", `filters${".$and[0]".repeat(8)}.$and`);
  });
});

describe("400: invalid filters, with the path of the error", () => {
  const refused: [filter: unknown, param: string][] = [
    [[], "filters"],
    ["type=note", "filters"],
    [7, "filters"],
    [{ colour: "red" }, "filters.colour"],
    [{ Type: "note" }, "filters.Type"],
    [{ tag: "red" }, "filters.tag"],
    [{ metadata: { n: 1 } }, "filters.metadata"],
    [{ content: "x" }, "filters.content"],
    [{ id: "mem_x" }, "filters.id"],
    [{ constructor: 1 }, "filters.constructor"],
    [{ type: { $like: "x" } }, "filters.type.$like"],
    [{ type: { eq: "x" } }, "filters.type.eq"],
    [{ type: {} }, "filters.type"],
    [{ type: ["a", "b"] }, "filters.type"],
    [{ $eq: "x" }, "filters.$eq"],
    [{ $nor: [] }, "filters.$nor"],
    [{ $and: { type: "note" } }, "filters.$and"],
    [{ $or: "x" }, "filters.$or"],
    [{ $not: [] }, "filters.$not"],
    [{ $and: [{ type: "note" }, 7] }, "filters.$and[1]"],
    [{ $or: [{ type: "note" }, { $not: { colour: 1 } }] }, "filters.$or[1].$not.colour"],
    [{ type: { $and: [] } }, "filters.type.$and"],
    [{ type: { $in: "note" } }, "filters.type.$in"],
    [{ type: { $nin: { a: 1 } } }, "filters.type.$nin"],
    [{ "metadata.n": { $gt: true } }, "filters.metadata.n.$gt"],
    [{ "metadata.n": { $lte: null } }, "filters.metadata.n.$lte"],
    [{ "metadata.n": { $exists: 1 } }, "filters.metadata.n.$exists"],
    [{ "metadata.list": { $contains: [1] } }, "filters.metadata.list.$contains"],
    [{ created_at: "yesterday" }, "filters.created_at"],
    [{ created_at: { $gte: "2026-02-31" } }, "filters.created_at.$gte"],
    [{ updated_at: { $lt: 1_700_000_000 } }, "filters.updated_at.$lt"],
    [{ occurred_at: "May 2024" }, "filters.occurred_at"],
    [{ occurred_at: { $contains: "2024" } }, "filters.occurred_at.$contains"],
    [{ created_at: { $in: ["2026-01-01T00:00:00Z", "soon"] } }, "filters.created_at.$in[1]"],
  ];
  for (const [filter, param] of refused) {
    test(JSON.stringify(filter), async () => expectFault(await search(filter), 400, "invalid_filter", param));
  }

  test("a message suggests the nearest name, or lists the known ones", async () => {
    const messageOf = async (filter: unknown): Promise<string> => (await search(filter)).body.error.message;
    expect(await messageOf({ tag: "red" })).toContain("'tags'");
    expect(await messageOf({ user_id: "ada" })).toContain("'userId'");
    expect(await messageOf({ type: { $equals: "x" } })).toContain("$eq");
    expect(await messageOf({ colour: "red" })).toContain("metadata.colour");
  });

  test("every operation with filters refuses invalid ones and applies valid ones", async () => {
    const chat = (await mneme.call("POST", "/v1/chats", {})).body.id;
    const askers: [path: string, word: string][] = [
      ["/v1/memories/search", "query"],
      ["/v1/memories/query", "query"],
      [`/v1/chats/${chat}/messages`, "message"],
      [`/v1/chats/${chat}/messages/stream`, "message"],
    ];
    for (const [path, word] of askers) {
      const ask = (filters: unknown) => mneme.call("POST", path, { [word]: "item", filters });
      expectFault(await ask({ type: { $like: "x" } }), 400, "invalid_filter", "filters.type.$like");
      expectFault(await ask([]), 400, "invalid_filter", "filters");
      if (path.endsWith("stream")) continue;
      const { body } = await ask({ type: "log" });
      const found = body.results ?? body.sources ?? body.message.sources;
      expect(found.map((source: { memory_id: string }) => source.memory_id)).toEqual([ids.epsilon]);
    }
  });
});

test("whole numbers beyond 2^53 are kept, given back and compared with all their digits", async () => {
  const numbers = ["9007199254740991", "9007199254740993", "-9007199254740993", "12345678901234567890"];
  numbers.push("-123456789012345678901234567890", "123456789012345678901234567891");
  const metadata = (number: string) => `{"n":${number},"in":{"list":[1,${number},0.1,1e3]}}`;
  const back = (number: string) => metadata(number).replace("1e3", "1000");
  const stored: string[] = [];
  for (const number of numbers) {
    const body = `{"content":"An item with a number.","type":"numbered","metadata":${metadata(number)}}`;
    const key = { "content-type": "application/json", "Idempotency-Key": `number${number}` };
    const [first, second] = [
      await mneme.call("POST", "/v1/memories", body, key),
      await mneme.call("POST", "/v1/memories", body, key),
    ];
    expect([first.status, JSON.stringify(first.body.metadata)]).toEqual([202, back(number)]);
    expect(second.body).toEqual(first.body);
    stored.push(first.body.id);
    expect(JSON.stringify((await mneme.settled(first.body.id)).body.metadata)).toBe(back(number));
  }
  const found = async (condition: string, path = "metadata.n") => {
    const body = `{"query":"item","limit":100,"mode":"fast","filters":{"type":"numbered","${path}":${condition}}}`;
    const { body: answer } = await mneme.call("POST", "/v1/memories/search", body, {
      "content-type": "application/json",
    });
    const ids: string[] = answer.results.map((result: { memory_id: string }) => result.memory_id);
    return numbers.filter((_, at) => ids.includes(stored[at] ?? ""));
  };
  for (const number of numbers) {
    expect(await found(number)).toEqual([number]);
    expect(await found(`{"$in":["x",${number}]}`)).toEqual([number]);
    expect(await found(number, "metadata.in.list")).toEqual([number]);
    const value = BigInt(number);
    expect(await found(`{"$gt":${number}}`)).toEqual(numbers.filter((other) => BigInt(other) > value));
    expect(await found(`{"$lte":${number}}`)).toEqual(numbers.filter((other) => BigInt(other) <= value));
  }
  expect(await found("9007199254740992")).toEqual([]);
  const filters = encodeURIComponent(`{"metadata.n":${numbers[3]}}`);
  const { body: listed } = await mneme.call("GET", `/v1/memories/search?query=item&mode=fast&filters=${filters}`);
  expect(JSON.stringify(listed.results[0].metadata.n)).toBe(`${numbers[3]}`);
  const changed = `{"metadata":{"n":9007199254740994}}`;
  const put = await mneme.call("PUT", `/v1/memories/${stored[1]}`, changed, { "content-type": "application/json" });
  expect(JSON.stringify(put.body.metadata)).toBe('{"n":9007199254740994}');
  expectFault(
    await mneme.call("POST", "/v1/memories", '{"content":"x","metadata":12345678901234567890}'),
    400,
    "invalid_request",
    "metadata",
  );
  for (const id of stored) await mneme.call("DELETE", `/v1/memories/${id}`);
});

describe("scope", () => {
  test("no filter reaches another user's memories", async () => {
    const reaching = [
      { userId: "bob" },
      { $or: [{ userId: "bob" }, { userId: null }] },
      { $not: { userId: "ada" } },
      {},
    ];
    for (const filter of reaching) {
      const found = await admitted(filter, { userId: "ada" });
      expect(found.filter((name) => !["alpha", "beta"].includes(name))).toEqual([]);
    }
  });
});
