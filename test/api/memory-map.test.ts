// GET /v1/memories/map: places by meaning that stay, what it shows to whom, and its limits.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

interface Point {
  readonly memory_id: string;
  readonly x: number;
  readonly y: number;
  readonly is_superseded: boolean;
}

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
});
afterAll(() => mneme.stop());

const map = async (query = "", headers = {}) =>
  (await mneme.call("GET", `/v1/memories/map${query}`, undefined, headers)).body;
async function store(userId: string, contents: readonly string[]): Promise<string[]> {
  const memories = contents.map((content) => ({ content, userId, type: userId }));
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  const ids = body.data.map(({ memory }: { memory: { id: string } }) => memory.id);
  for (const id of ids) await mneme.settled(id);
  return ids;
}
/** The map when all of its memories have a place. */
async function whole(query = ""): Promise<readonly Point[]> {
  let points: readonly Point[] = [];
  await until("all memories have a place", async () => {
    clock.advance(3_000); // a computation waits for the one before
    const { state, total, points: found } = await map(query);
    points = found;
    return state === "ready" && found.length === total;
  });
  return points;
}

test("is ready and empty without memories", async () => {
  expect(await map()).toEqual({ state: "ready", computed_at: null, total: 0, points: [] });
});

test("has all completed memories, newest first, within the plane; known places stay when others come", async () => {
  const cooking = await store("ada", [
    "Boil the pasta in salted water.",
    "Bake the bread at 220 degrees.",
    "Fry onions.",
  ]);
  const first = await map();
  expect([first.state, first.points, first.total]).toEqual(["building", [], 3]);
  const before = await whole();
  expect(before.map(({ memory_id }) => memory_id)).toEqual(cooking.toReversed());
  const more = await store("ben", ["The train to Bern leaves at nine.", "The night train has sleeping cars."]);
  const after = await whole();
  expect(after.slice(2)).toEqual(before as Point[]);
  expect(after.slice(0, 2).map(({ memory_id }) => memory_id)).toEqual(more.toReversed());
  for (const { x, y } of after) expect([Math.abs(x) <= 1, Math.abs(y) <= 1]).toEqual([true, true]);
  expect(after[0]).toMatchObject({ type: "ben", userId: "ben", created_at: expect.any(String), is_superseded: false });
});

test("userId, filters and limit limit it; a confined key sees its user's memories", async () => {
  expect((await whole("?userId=ada")).length).toBe(3);
  const filters = encodeURIComponent(JSON.stringify({ type: "ben" }));
  expect((await whole(`?filters=${filters}`)).length).toBe(2);
  expect(await map("?limit=1")).toMatchObject({ total: 5, points: [expect.any(Object)] });
  expect((await map("?limit=20000")).points).toHaveLength(5);
  const { key } = (await mneme.call("POST", "/v1/keys", { name: "ben", scopes: ["*"], userId: "ben" })).body;
  const confined = { authorization: `Bearer ${key}` };
  expect((await map("", confined)).total).toBe(2);
  const of = (query: string, headers = {}) => mneme.call("GET", `/v1/memories/map${query}`, undefined, headers);
  expectFault(await of("?userId=ada", confined), 403, "insufficient_scope", "userId");
  for (const limit of [0, 20_001]) expectFault(await of(`?limit=${limit}`), 400, "invalid_request", "limit");
  expectFault(await of("?filters=x"), 400, "invalid_filter", "filters");
});

test("a deleted memory has no place", async () => {
  const [newest] = await whole();
  await mneme.call("DELETE", `/v1/memories/${newest?.memory_id}`);
  expect((await map()).points.map((point: Point) => point.memory_id)).not.toContain(newest?.memory_id);
});
