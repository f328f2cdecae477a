// GET /v1/memories: order, pages that stay whole while others write, filters, and who may see what.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
/** Ids of 120 memories, oldest first: user `even` or `odd`, type `a`, `b` or `c` in turn. */
let ids: string[] = [];
beforeAll(async () => {
  mneme = await startService({ clock });
  for (const first of [0, 60]) {
    const memories = Array.from({ length: 60 }, (_, at) => ({
      content: `note ${first + at}`,
      userId: at % 2 === 0 ? "even" : "odd",
      type: ["a", "b", "c"][at % 3],
    }));
    const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
    ids.push(...body.data.map((item: { memory: { id: string } }) => item.memory.id));
  }
  for (const id of ids) await mneme.settled(id);
});
afterAll(() => mneme.stop());

const list = (query = "") => mneme.call("GET", `/v1/memories${query}`);
const idsOf = (page: Answered): string[] => page.body.data.map((memory: { id: string }) => memory.id);

/** Walks a list to its end; `between` runs after each page. */
async function walk(query: string, between: () => Promise<unknown> = async () => null): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Answered = await list(`?${query}${cursor === null ? "" : `&cursor=${cursor}`}`);
    expect(page.status).toBe(200);
    expect(page.body.has_more).toBe(page.body.cursor !== null);
    seen.push(...idsOf(page));
    cursor = page.body.cursor;
    await between();
  } while (cursor !== null);
  return seen;
}

describe("200", () => {
  test("gives 20 by default, newest first, with a cursor while there is more", async () => {
    const page = await list();
    expect(Object.keys(page.body).sort()).toEqual(["cursor", "data", "has_more"]);
    expect(idsOf(page)).toEqual(ids.slice(-20).reverse());
    expect(page.body.has_more).toBeTrue();
    expect(page.body.data[0]).toMatchObject({ content: "note 119", status: "completed", userId: "odd", type: "c" });
  });

  test("pages of any size show everything once", async () => {
    const all = [...ids].reverse();
    for (const limit of [1, 7, 60, 100]) expect(await walk(`limit=${limit}`)).toEqual(all);
  });

  test("a page that ends exactly at the end has no cursor", async () => {
    const page = await list("?limit=60");
    const last = await list(`?limit=60&cursor=${page.body.cursor}`);
    expect(last.body.data).toHaveLength(60);
    expect([last.body.has_more, last.body.cursor]).toEqual([false, null]);
  });

  test("a cursor goes on under another limit", async () => {
    const first = await list("?limit=5");
    const next = await list(`?limit=3&cursor=${first.body.cursor}`);
    expect(idsOf(next)).toEqual([...ids].reverse().slice(5, 8));
  });

  test("filters by user, type and status, together and apart", async () => {
    const where = (keep: (at: number) => boolean) => ids.filter((_, at) => keep(at % 60)).reverse();
    expect(await walk("userId=odd&limit=50")).toEqual(where((at) => at % 2 === 1));
    expect(await walk("type=b&limit=50")).toEqual(where((at) => at % 3 === 1));
    expect(await walk("type=b&userId=odd&status=completed&limit=9")).toEqual(where((at) => at % 6 === 1));
    expect(await walk("status=failed")).toEqual([]);
  });

  test("an unknown user or type has an empty list", async () => {
    for (const query of ["?userId=nobody", "?type=nothing", "?userId=EVEN"]) {
      const { body } = await list(query);
      expect(body).toEqual({ data: [], has_more: false, cursor: null });
    }
  });
});

describe("paging while others write", () => {
  test("what is made or deleted between two pages makes nothing else appear twice or go missing", async () => {
    const made: string[] = [];
    const doomed = ids.filter((_, at) => at % 10 === 3);
    const stays = ids.filter((id) => !doomed.includes(id));
    const victims = doomed.values();
    const seen = await walk("limit=9", async () => {
      made.push((await mneme.call("POST", "/v1/memories", { content: "made between two pages" })).body.id);
      const { value, done } = victims.next();
      if (done !== true) await mneme.call("DELETE", `/v1/memories/${value}`);
    });
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => stays.includes(id))).toEqual([...stays].reverse());
    expect(seen.filter((id) => made.includes(id))).toEqual([]);
    for (const id of [...made, ...victims]) await mneme.call("DELETE", `/v1/memories/${id}`);
    ids = stays;
    expect(await walk("limit=100")).toEqual([...ids].reverse());
  });

  test("a cursor whose memory was deleted still goes on after it", async () => {
    const page = await list("?limit=4");
    const last = idsOf(page).at(-1) ?? "";
    await mneme.call("DELETE", `/v1/memories/${last}`);
    ids = ids.filter((id) => id !== last);
    const next = await list(`?limit=4&cursor=${page.body.cursor}`);
    expect(idsOf(next)).toEqual([...ids].reverse().slice(3, 7));
  });

  test("an expired memory is in no list", async () => {
    const expires_at = new Date(clock.now() + 60_000).toISOString();
    const { body } = await mneme.store({ content: "gone in a minute", userId: "passing", expires_at });
    expect(idsOf(await list("?userId=passing"))).toEqual([body.id]);
    clock.advance(60_000);
    expect(idsOf(await list("?userId=passing"))).toEqual([]);
  });
});

describe("400", () => {
  const refused: [query: string, code: string, param: string][] = [
    ["?limit=0", "invalid_request", "limit"],
    ["?limit=101", "invalid_request", "limit"],
    ["?limit=-1", "invalid_request", "limit"],
    ["?limit=2.5", "invalid_request", "limit"],
    ["?limit=1e1", "invalid_request", "limit"],
    ["?limit=ten", "invalid_request", "limit"],
    ["?limit=", "invalid_request", "limit"],
    ["?limit=99999999999999999999", "invalid_request", "limit"],
    ["?limit=5&limit=5", "invalid_request", "limit"],
    ["?userId=", "invalid_request", "userId"],
    ["?userId=a&userId=b", "invalid_request", "userId"],
    [`?userId=${"u".repeat(257)}`, "invalid_request", "userId"],
    ["?status=done", "invalid_request", "status"],
    ["?status=COMPLETED", "invalid_request", "status"],
    ["?type=", "invalid_request", "type"],
    ["?user_id=a", "invalid_request", "user_id"],
    ["?page=2", "invalid_request", "page"],
    ["?__proto__=x", "invalid_request", "__proto__"],
    ["?constructor=x", "invalid_request", "constructor"],
    ["?cursor=", "invalid_request", "cursor"],
    ["?cursor=abc", "invalid_cursor", "cursor"],
    ["?cursor=%00", "invalid_request", "cursor"],
    ["?userId=a%00b", "invalid_request", "userId"],
    ["?userId=%FF", "invalid_request", "userId"],
  ];
  for (const [query, code, param] of refused) {
    test(`${query.slice(0, 30)} is refused by name`, async () => expectFault(await list(query), 400, code, param));
  }

  test("limit is taken at both ends of its range", async () => {
    expect((await list("?limit=1")).body.data).toHaveLength(1);
    expect((await list("?limit=100")).body.data).toHaveLength(100);
  });

  test("an unknown parameter names the one that was meant, a wrong status names the right ones", async () => {
    expect((await list("?user_id=a")).body.error.message).toContain("'userId'");
    expect((await list("?status=done")).body.error.message).toContain('"processing", "completed", "failed"');
  });

  test("a cursor belongs to its filters and its project, and no byte of it can be changed", async () => {
    const { cursor } = (await list("?limit=2&userId=odd")).body;
    for (const query of [`?cursor=${cursor}`, `?userId=even&cursor=${cursor}`, `?userId=odd&type=a&cursor=${cursor}`]) {
      expectFault(await list(query), 400, "invalid_cursor", "cursor");
    }
    for (let at = 0; at < cursor.length; at++) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
      expectFault(await list(`?userId=odd&cursor=${changed}`), 400, "invalid_cursor", "cursor");
    }
    const authorization = `Bearer ${mneme.addKey(["*"], "prj_another")}`;
    const elsewhere = await mneme.call("GET", `/v1/memories?userId=odd&cursor=${cursor}`, undefined, { authorization });
    expectFault(elsewhere, 400, "invalid_cursor", "cursor");
  });
});

test("401 with an unknown key, 403 for a key that cannot read; another project's list is its own", async () => {
  const withKey = (secret: string) =>
    mneme.call("GET", "/v1/memories", undefined, { authorization: `Bearer ${secret}` });
  expectFault(await withKey("ctx_nobody"), 401, "invalid_api_key");
  expectFault(await withKey(mneme.addKey(["memories:write"])), 403, "insufficient_scope");
  expect((await withKey(mneme.addKey(["memories:read"], "prj_another"))).body.data).toEqual([]);
});
