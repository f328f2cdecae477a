// /v1/users/{userId}/events: logging events of a user, and reading them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";
import { walk } from "./pages.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock, waitsForModels: false });
});
afterAll(() => mneme.stop());

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const pathOf = (userId: string) => `/v1/users/${encodeURIComponent(userId)}/events`;
const log = (userId: string, body: unknown, headers?: Record<string, string>) =>
  mneme.call("POST", pathOf(userId), body, headers);
const list = (userId: string, query = "", headers?: Record<string, string>) =>
  mneme.call("GET", `${pathOf(userId)}${query}`, undefined, headers);

/** Creates an object whose compact JSON has exactly this many bytes. */
const objectOf = (bytes: number) => ({ k: "x".repeat(bytes - '{"k":""}'.length) });

describe("createEvent", () => {
  test("201: the whole event, the same as in the list", async () => {
    const data = { page: "/pricing", seconds: 12.5, nested: { list: [1, "two", null] } };
    const { status, body } = await log("ada", { type: "page_view", data });
    expect(status).toBe(201);
    expect(body).toEqual({ id: body.id, userId: "ada", type: "page_view", data, created_at: body.created_at });
    expect(body.id).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await list("ada")).body.data).toEqual([body]);
  });

  test("201: without data it has an empty object", async () => {
    for (const body of [{ type: "seen" }, { type: "seen", data: {} }, { type: "seen", data: null }]) {
      const answer = await log("plain", body);
      expect([answer.status, answer.body.data]).toEqual([201, {}]);
    }
  });

  test("the same event twice is two events", async () => {
    const first = await log("twice", { type: "purchase" });
    const second = await log("twice", { type: "purchase" });
    expect(second.body.id).not.toBe(first.body.id);
    expect((await list("twice")).body.data).toHaveLength(2);
  });

  const good: readonly (readonly [what: string, userId: string, body: object])[] = [
    ["data of 10,240 bytes", "edge", { type: "x", data: objectOf(10_240) }],
    ["data whose keys begin with _", "edge", { type: "x", data: { _private: 1 } }],
    ["a type of 128 characters", "edge", { type: "t".repeat(128) }],
    ["a type in any script", "edge", { type: "購入 🌍" }],
    ["a user of 256 characters", "u".repeat(256), { type: "x" }],
    ["a user with a slash", "tenant/7", { type: "x" }],
  ];
  for (const [what, userId, body] of good) {
    test(`201: ${what}`, async () => {
      const answer = await log(userId, body);
      expect(answer.status).toBe(201);
      expect(answer.body).toMatchObject({ userId, ...body });
    });
  }

  const bad: readonly (readonly [what: string, body: unknown, code: string, param: string | undefined])[] = [
    ["no type", { data: {} }, "invalid_request", "type"],
    ["an empty type", { type: "" }, "invalid_request", "type"],
    ["a type of 129 characters", { type: "t".repeat(129) }, "invalid_request", "type"],
    ["a type of null", { type: null }, "invalid_request", "type"],
    ["data that is an array", { type: "x", data: [1] }, "invalid_request", "data"],
    ["data that is a text", { type: "x", data: "{}" }, "invalid_request", "data"],
    ["data of 10,241 bytes", { type: "x", data: objectOf(10_241) }, "metadata_too_large", "data"],
    [
      "data that is large in bytes, not in characters",
      { type: "x", data: { k: "ü".repeat(6_000) } },
      "metadata_too_large",
      "data",
    ],
    ["the user in the body", { type: "x", userId: "ada" }, "invalid_request", "userId"],
    ["no JSON", "type=x", "invalid_request", undefined],
  ];
  for (const [what, body, code, param] of bad) {
    test(`400: ${what}, and the user stays unknown`, async () => {
      expectFault(await log("refused", body), 400, code, param);
      expect((await mneme.call("GET", "/v1/users/refused")).status).toBe(404);
    });
  }

  test("400: a user id that is too long or not valid text", async () => {
    expectFault(await log("u".repeat(257), { type: "x" }), 400, "invalid_request", "userId");
    expectFault(await mneme.call("POST", "/v1/users/%FF/events", { type: "x" }), 400, "invalid_request", "userId");
    expectFault(await mneme.call("POST", "/v1/users/a%00b/events", { type: "x" }), 400, "invalid_request", "userId");
  });

  test("401 and 403: without a key, with one that reads only, and with one confined to another user", async () => {
    const bare = new Request(`http://mneme.test${pathOf("ada")}`, { method: "POST" });
    expectFault(await mneme.send(bare), 401, "missing_api_key");
    expectFault(await log("ada", { type: "x" }, bearer(mneme.addKey(["users:read"]))), 403, "insufficient_scope");
    const own = bearer(mneme.addKey(["*"], undefined, { userId: "own" }));
    expectFault(await log("ada", { type: "x" }, own), 403, "insufficient_scope", "userId");
    expect((await log("own", { type: "x" }, own)).status).toBe(201);
  });
});

describe("listEvents", () => {
  beforeAll(async () => {
    for (let n = 0; n < 45; n++) {
      clock.advance(5);
      await log("busy", { type: n % 3 === 0 ? "purchase" : "page_view", data: { n } });
    }
  });
  const numbers = (events: readonly Record<string, unknown>[]) =>
    events.map(({ data }) => (data as { readonly n: number }).n);

  test("200: newest first, 20 by default, each once over all pages", async () => {
    const { body } = await list("busy");
    expect([body.data.length, body.has_more]).toEqual([20, true]);
    for (const limit of [1, 7, 20, 100]) {
      expect(numbers(await walk(mneme, pathOf("busy"), { limit }))).toEqual(
        Array.from({ length: 45 }, (_, n) => 44 - n),
      );
    }
  });

  test("200: a type filters exactly, over all pages", async () => {
    const purchases = await walk(mneme, `${pathOf("busy")}?type=purchase`, { limit: 4 });
    expect(numbers(purchases)).toEqual(Array.from({ length: 15 }, (_, n) => 42 - 3 * n));
    expect((await list("busy", "?type=Purchase")).body.data).toEqual([]);
    expect((await list("busy", "?type=purch")).body.data).toEqual([]);
  });

  test("200: only events of the named user and of this project", async () => {
    await log("quiet", { type: "seen" });
    expect((await list("quiet")).body.data).toHaveLength(1);
    const other = bearer(mneme.addKey(["*"], "prj_events_elsewhere"));
    await log("busy", { type: "theirs" }, other);
    expect((await list("busy", "", other)).body.data.map(({ type }: { type: string }) => type)).toEqual(["theirs"]);
  });

  test("200: a known user without events has an empty list", async () => {
    await mneme.call("POST", "/v1/users", { id: "silent" });
    expect((await list("silent")).body).toEqual({ data: [], has_more: false, cursor: null });
  });

  test("an event that is logged between two pages neither repeats nor hides another", async () => {
    const { body: first } = await list("busy", "?limit=10");
    await log("busy", { type: "late", data: { n: 99 } });
    const { body: second } = await list("busy", `?limit=100&cursor=${first.cursor}`);
    expect(numbers([...first.data, ...second.data])).toEqual(Array.from({ length: 45 }, (_, n) => 44 - n));
  });

  test("a cursor is valid for any limit, but only for its user, type, list and project", async () => {
    const { cursor } = (await list("busy", "?limit=3")).body;
    expect((await list("busy", `?limit=9&cursor=${cursor}`)).body.data).toHaveLength(9);
    await log("quiet", { type: "seen" });
    expectFault(await list("quiet", `?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await list("busy", `?type=purchase&cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await mneme.call("GET", `/v1/users?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    const other = bearer(mneme.addKey(["*"], "prj_events_cursor"));
    await log("busy", { type: "x" }, other);
    expectFault(await list("busy", `?cursor=${cursor}`, other), 400, "invalid_cursor", "cursor");
    for (const damaged of ["x", `${cursor}A`, "%00", cursor.slice(0, -2)]) {
      expect((await list("busy", `?cursor=${damaged}`)).status).toBe(400);
    }
  });

  for (const query of ["?limit=0", "?limit=101", "?limit=x", "?limit=2.5"]) {
    test(`400: ${query}`, async () => expectFault(await list("busy", query), 400, "invalid_request", "limit"));
  }
  test("400: an empty type, an unknown parameter, a repeated one", async () => {
    expectFault(await list("busy", "?type="), 400, "invalid_request", "type");
    expectFault(await list("busy", "?userId=busy"), 400, "invalid_request", "userId");
    expectFault(await list("busy", "?type=a&type=b"), 400, "invalid_request", "type");
  });

  test("404: an unknown user", async () => {
    expectFault(await list("nobody"), 404, "user_not_found", "userId");
  });

  test("403: a key that writes only, and one confined to another user", async () => {
    expectFault(await list("busy", "", bearer(mneme.addKey(["users:write"]))), 403, "insufficient_scope");
    const own = bearer(mneme.addKey(["*"], undefined, { userId: "reader" }));
    expectFault(await list("busy", "", own), 403, "insufficient_scope", "userId");
    await log("reader", { type: "own" }, own);
    expect((await list("reader", "", own)).body.data).toHaveLength(1);
  });
});

describe("retention", () => {
  test("events are kept: they still exist after a year", async () => {
    await log("archived", { type: "old" });
    clock.advance(366 * 24 * 60 * 60 * 1000);
    expect((await list("archived")).body.data).toHaveLength(1);
  });
});
