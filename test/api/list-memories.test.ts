// GET /v1/memories: order, consistent pages during writes, filters, and access.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { seeded } from "../support/seeded.ts";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { markFailed, startWithoutModels } from "../support/unfinished.ts";
import { expectFault } from "./faults.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);

const clock = new SettableClock();
let mneme: TestService;
/**
 * Ids of 180 memories, oldest first. Their user is `even` or `odd`, their type `a`, `b` or `c` in turn, and every
 * fourth has a tag.
 */
let ids: string[] = [];
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
  for (const first of [0, 60, 120]) {
    const memories = Array.from({ length: 60 }, (_, at) => ({
      content: `note ${first + at}`,
      userId: at % 2 === 0 ? "even" : "odd",
      type: ["a", "b", "c"][at % 3],
      title: `Shelf ${first + at}`,
      tags: at % 4 === 0 ? ["Fourth", "any"] : ["any"],
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
  test("gives 20 by default, newest first, with a cursor if there are more", async () => {
    const page = await list();
    expect(Object.keys(page.body).sort()).toEqual(["cursor", "data", "has_more"]);
    expect(idsOf(page)).toEqual(ids.slice(-20).reverse());
    expect(page.body.has_more).toBeTrue();
    expect(page.body.data[0]).toMatchObject({ content: "note 179", status: "completed", userId: "odd", type: "c" });
  });

  test("pages of any size show everything once", async () => {
    const all = [...ids].reverse();
    for (const limit of [1, 7, 60, 100]) expect(await walk(`limit=${limit}`)).toEqual(all);
  });

  test("order=oldest shows the same from the other end, with cursors of its own", async () => {
    for (const limit of [7, 100]) expect(await walk(`order=oldest&limit=${limit}`)).toEqual(ids);
    expect(await walk("order=newest&limit=100")).toEqual([...ids].reverse());
    const fourths = ids.filter((_, at) => (at % 60) % 4 === 0);
    expect(await walk("order=oldest&tag=Fourth&limit=7")).toEqual(fourths);
    expect(await walk("order=oldest&userId=odd&type=b&limit=9")).toEqual(ids.filter((_, at) => (at % 60) % 6 === 1));
    const { cursor } = (await list("?order=oldest&limit=2")).body;
    expectFault(await list(`?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await list(`?order=random`), 400, "invalid_request", "order");
  });

  test("a page that ends exactly at the end has no cursor", async () => {
    const page = await list("?limit=90");
    const last = await list(`?limit=90&cursor=${page.body.cursor}`);
    expect(last.body.data).toHaveLength(90);
    expect([last.body.has_more, last.body.cursor]).toEqual([false, null]);
  });

  test("a cursor can be used with another limit", async () => {
    const first = await list("?limit=5");
    const next = await list(`?limit=3&cursor=${first.body.cursor}`);
    expect(idsOf(next)).toEqual([...ids].reverse().slice(5, 8));
  });

  test("filters by user, type and status, alone and combined", async () => {
    const where = (keep: (at: number) => boolean) => ids.filter((_, at) => keep(at % 60)).reverse();
    expect(await walk("userId=odd&limit=50")).toEqual(where((at) => at % 2 === 1));
    expect(await walk("type=b&limit=50")).toEqual(where((at) => at % 3 === 1));
    expect(await walk("type=b&userId=odd&status=completed&limit=9")).toEqual(where((at) => at % 6 === 1));
    expect(await walk("status=failed")).toEqual([]);
  });

  test("tag matches one whole tag, case-sensitive", async () => {
    const fourths = ids.filter((_, at) => (at % 60) % 4 === 0).reverse();
    expect(await walk("tag=Fourth&limit=7")).toEqual(fourths);
    expect(await walk("tag=any&limit=100")).toEqual([...ids].reverse());
    expect(await walk("tag=Fourth&userId=odd")).toEqual([]);
    for (const tag of ["fourth", "Four", "Fourth%20", "any%2CFourth", "%25"]) {
      expect((await list(`?tag=${tag}`)).body.data).toEqual([]);
    }
  });

  test("q is a part of the title, case-insensitive, and not a pattern", async () => {
    expect(await walk("q=shelf&limit=50")).toEqual([...ids].reverse());
    expect(await walk("q=SHELF%2011&limit=3")).toEqual(ids.filter((_, at) => /^11/.test(String(at))).reverse());
    expect(await walk("q=elf%207&type=b")).toEqual(
      ids.filter((_, at) => /^7/.test(String(at)) && (at % 60) % 3 === 1).reverse(),
    );
    for (const q of ["sh%25f", "shel_", "shelf.*", "note", "shelf%20%2011"]) {
      expect((await list(`?q=${q}`)).body.data).toEqual([]);
    }
  });

  test("q ignores the case of non-ASCII letters", async () => {
    const { body } = await mneme.store({ content: "x", title: "ÉCOLE Άλφας Straße", userId: "letters" });
    for (const q of ["école", "École", "άλφας", "ΆΛΦΑΣ", "straße"]) {
      expect(idsOf(await list(`?userId=letters&q=${encodeURIComponent(q)}`))).toEqual([body.id]);
    }
    await mneme.call("DELETE", `/v1/memories/${body.id}`);
  });

  test("status separates processing, completed and failed", async () => {
    const bare = await startWithoutModels();
    try {
      const made: string[] = [];
      for (const content of ["one", "two", "three", "four"]) {
        made.push((await bare.call("POST", "/v1/memories", { content, userId: "ada" })).body.id);
      }
      const [one = "", two = "", three = "", four = ""] = made;
      await markFailed(bare, two);
      await markFailed(bare, four);
      const listed = async (query: string) => idsOf(await bare.call("GET", `/v1/memories?${query}`));
      expect(await listed("status=processing")).toEqual([three, one]);
      expect(await listed("status=failed")).toEqual([four, two]);
      expect(await listed("status=completed")).toEqual([]);
      expect(await listed("status=failed&userId=bob")).toEqual([]);
      const first = await bare.call("GET", "/v1/memories?status=failed&limit=1");
      expect(idsOf(first)).toEqual([four]);
      expect(await listed(`status=failed&limit=1&cursor=${first.body.cursor}`)).toEqual([two]);
      const foreign = await bare.call("GET", `/v1/memories?status=processing&cursor=${first.body.cursor}`);
      expectFault(foreign, 400, "invalid_cursor", "cursor");
    } finally {
      await bare.stop();
    }
  });

  test("an unknown user or type has an empty list", async () => {
    for (const query of ["?userId=nobody", "?type=nothing", "?userId=EVEN"]) {
      const { body } = await list(query);
      expect(body).toEqual({ data: [], has_more: false, cursor: null });
    }
  });
});

describe("paging while others write", () => {
  test("creations and deletions between pages neither repeat nor hide other items", async () => {
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

  test(`with random creations and deletions, every other item is shown once and in order (seed ${SEED})`, async () => {
    const chance = seeded(SEED);
    const within = (count: number) => Math.floor(chance() * count);
    const doomed = new Set<string>();
    const made: string[] = [];
    const conditions = ["", "userId=odd&", "tag=any&", "q=shelf&", "type=a&"];
    for (const condition of conditions) {
      const start = await walk(`${condition}limit=100`);
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Answered = await list(
          `?${condition}limit=${1 + within(30)}${cursor === null ? "" : `&cursor=${cursor}`}`,
        );
        seen.push(...idsOf(page));
        cursor = page.body.cursor;
        for (let change = within(3); change > 0; change--) {
          const victim = ids[within(ids.length)];
          if (chance() < 0.5 && victim !== undefined) {
            doomed.add(victim);
            await mneme.call("DELETE", `/v1/memories/${victim}`);
          } else {
            const more = { userId: "odd", type: "a", title: "Shelf", tags: ["any"] };
            made.push((await mneme.call("POST", "/v1/memories", { content: "came meanwhile", ...more })).body.id);
          }
        }
      } while (cursor !== null);
      expect(seen).toEqual(start.filter((id) => seen.includes(id)));
      expect(start.filter((id) => !seen.includes(id) && !doomed.has(id))).toEqual([]);
      for (const id of made.splice(0)) await mneme.call("DELETE", `/v1/memories/${id}`);
      ids = ids.filter((id) => !doomed.has(id));
    }
    expect(await walk("limit=100")).toEqual([...ids].reverse());
  });

  test("a cursor whose memory was deleted still works", async () => {
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
    [`?type=${"t".repeat(129)}`, "invalid_request", "type"],
    ["?tag=", "invalid_request", "tag"],
    [`?tag=${"t".repeat(257)}`, "invalid_request", "tag"],
    ["?q=", "invalid_request", "q"],
    [`?q=${"q".repeat(1_025)}`, "invalid_request", "q"],
    ["?tags=any", "invalid_request", "tags"],
    ["?user_id=a", "invalid_request", "user_id"],
    ["?page=2", "invalid_request", "page"],
    ["?__proto__=x", "invalid_request", "__proto__"],
    ["?constructor=x", "invalid_request", "constructor"],
    ["?cursor=", "invalid_cursor", "cursor"],
    ["?cursor=abc", "invalid_cursor", "cursor"],
    ["?cursor=%F0%9F%93%9A", "invalid_cursor", "cursor"],
    [`?cursor=${"A".repeat(513)}`, "invalid_cursor", "cursor"],
    [`?cursor=${"MS5h".repeat(2_000)}`, "invalid_cursor", "cursor"],
    ["?cursor=%00", "invalid_request", "cursor"],
    ["?userId=a%00b", "invalid_request", "userId"],
    ["?userId=%FF", "invalid_request", "userId"],
  ];
  for (const [query, code, param] of refused) {
    test(`${query.slice(0, 30)} is refused by name`, async () => expectFault(await list(query), 400, code, param));
  }

  test("the longest tag, q, type and userId are accepted", async () => {
    const longest = `?tag=${"t".repeat(256)}&q=${"q".repeat(1_024)}&type=${"t".repeat(128)}&userId=${"u".repeat(256)}`;
    expect((await list(longest)).body).toEqual({ data: [], has_more: false, cursor: null });
  });

  test("both ends of the range of limit are accepted", async () => {
    expect((await list("?limit=1")).body.data).toHaveLength(1);
    expect((await list("?limit=100")).body.data).toHaveLength(100);
  });

  test("errors suggest the nearest parameter and list the valid statuses", async () => {
    expect((await list("?user_id=a")).body.error.message).toContain("'userId'");
    expect((await list("?status=done")).body.error.message).toContain('"processing", "completed", "failed"');
  });

  test("a cursor is valid only for its filters and project, and unchanged", async () => {
    const { cursor } = (await list("?limit=2&userId=odd")).body;
    for (const other of [
      "",
      "userId=even&",
      ...["type=a", "tag=any", "q=shelf"].map((more) => `userId=odd&${more}&`),
    ]) {
      expectFault(await list(`?${other}cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    }
    expectFault(await mneme.call("GET", `/v1/chats?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    for (let at = 0; at < cursor.length; at++) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
      expectFault(await list(`?userId=odd&cursor=${changed}`), 400, "invalid_cursor", "cursor");
    }
    const authorization = `Bearer ${mneme.addKey(["*"], "prj_another")}`;
    const elsewhere = await mneme.call("GET", `/v1/memories?userId=odd&cursor=${cursor}`, undefined, { authorization });
    expectFault(elsewhere, 400, "invalid_cursor", "cursor");
  });
});

describe("GET /v1/memories/count", () => {
  const count = async (query = "") => (await mneme.call("GET", `/v1/memories/count${query}`)).body;
  const filtered = (filters: object) => `filters=${encodeURIComponent(JSON.stringify(filters))}`;

  test("counts what the list lists, with each of its conditions", async () => {
    const queries = [
      "userId=odd",
      "type=b&userId=odd",
      "tag=Fourth",
      "q=SHELF%2011",
      "status=failed",
      "status=completed",
    ];
    for (const query of [...queries, "superseded=true", "superseded=false&tag=Fourth", "agentId=x", "sessionId=x"]) {
      expect([query, await count(`?${query}`)]).toEqual([query, { count: (await walk(`${query}&limit=100`)).length }]);
    }
    const all = (await walk("limit=100")).length;
    expect(await count()).toEqual({ count: all });
    const then = encodeURIComponent(new Date(clock.now()).toISOString());
    expect(await count(`?knownAt=${then}`)).toEqual({ count: all });
  });

  test("filters limit it", async () => {
    const listed = async (query: string) => ({ count: (await walk(`${query}&limit=100`)).length });
    expect(await count(`?${filtered({ tags: "Fourth" })}`)).toEqual(await listed("tag=Fourth"));
    const ofEven = [await listed("userId=even&type=a"), await listed("userId=even&type=b")] as const;
    const sum = { count: ofEven[0].count + ofEven[1].count };
    expect(await count(`?userId=even&${filtered({ type: { $in: ["a", "b"] } })}`)).toEqual(sum);
    expect(await count(`?${filtered({})}`)).toEqual(await listed(""));
  });

  test("a confined key counts its user's, and what the list refuses is refused", async () => {
    const { key } = (await mneme.call("POST", "/v1/keys", { name: "odd", scopes: ["*"], userId: "odd" })).body;
    const confined = (query: string) =>
      mneme.call("GET", `/v1/memories/count${query}`, undefined, { authorization: `Bearer ${key}` });
    expect((await confined("")).body).toEqual({ count: (await walk("userId=odd&limit=100")).length });
    expect((await confined(`?${filtered({ userId: "even" })}`)).body).toEqual({ count: 0 });
    expectFault(await confined("?userId=even"), 403, "insufficient_scope", "userId");
    const refused = [
      ["?limit=5", "invalid_request", "limit"],
      ["?cursor=x", "invalid_request", "cursor"],
      ["?status=done", "invalid_request", "status"],
      ["?filters={", "invalid_filter", "filters"],
      [`?${filtered({ colour: 1 })}`, "invalid_filter", "filters.colour"],
      ["?knownAt=2999-01-01", "invalid_request", "knownAt"],
    ] as const;
    for (const [query, code, param] of refused) {
      expectFault(await mneme.call("GET", `/v1/memories/count${query}`), 400, code, param);
    }
  });
});

test("401 with an unknown key, 403 for a key that cannot read; another project's list is its own", async () => {
  const withKey = (secret: string) =>
    mneme.call("GET", "/v1/memories", undefined, { authorization: `Bearer ${secret}` });
  expectFault(await withKey("ctx_nobody"), 401, "invalid_api_key");
  expectFault(await withKey(mneme.addKey(["memories:write"])), 403, "insufficient_scope");
  expect((await withKey(mneme.addKey(["memories:read"], "prj_another"))).body.data).toEqual([]);
});
