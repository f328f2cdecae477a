// /v1/users: creating, changing, reading and deleting users, with and without their data.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";
import { walk } from "./pages.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  // retry delays are long, so that undelivered events stay pending and can be counted
  const config = { webhookAllow: AllowList.parse("127.0.0.1"), webhookRetriesMs: [3_600_000] };
  mneme = await startService({ countsWords: true, clock, config });
});
afterAll(() => mneme.stop());

const upsert = (body: object, headers?: Record<string, string>) => mneme.call("POST", "/v1/users", body, headers);
const get = (userId: string, headers?: Record<string, string>) =>
  mneme.call("GET", `/v1/users/${encodeURIComponent(userId)}`, undefined, headers);
const remove = (userId: string, query = "", headers?: Record<string, string>) =>
  mneme.call("DELETE", `/v1/users/${encodeURIComponent(userId)}${query}`, undefined, headers);
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/** Creates an object whose compact JSON has exactly this many bytes. */
const objectOf = (bytes: number) => ({ k: "x".repeat(bytes - '{"k":""}'.length) });

describe("upsertUser", () => {
  test("200: the whole user; absent fields are null or empty", async () => {
    const { status, body } = await upsert({ id: "bare" });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: "bare",
      name: null,
      email: null,
      metadata: {},
      time_zone: null,
      created_at: expect.any(String),
    });
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("200: every field is stored unchanged", async () => {
    const given = {
      id: "ada",
      name: "Ada Lovelace",
      email: "ada@example.com",
      metadata: { plan: "gold", n: [1, null] },
      time_zone: "Europe/Zurich",
    };
    const { status, body } = await upsert(given);
    expect([status, body]).toEqual([200, { ...given, created_at: body.created_at }]);
    expect((await get("ada")).body).toEqual(body);
  });

  test("repeating a request changes nothing", async () => {
    const given = { id: "same", name: "Same", metadata: { a: 1 } };
    const first = await upsert(given);
    clock.advance(5_000);
    const second = await upsert(given);
    expect([second.status, second.body]).toEqual([200, first.body]);
  });

  test("absent fields stay, null clears, created_at never changes", async () => {
    const { body: first } = await upsert({ id: "eve", name: "Eve", email: "e@example.com", metadata: { a: 1, b: 2 } });
    clock.advance(60_000);
    const { body: renamed } = await upsert({ id: "eve", name: "Eva" });
    expect(renamed).toEqual({ ...first, name: "Eva" });
    const { body: cleared } = await upsert({ id: "eve", name: null, email: null });
    expect(cleared).toEqual({ ...first, name: null, email: null });
    const { body: emptied } = await upsert({ id: "eve", metadata: null });
    expect(emptied).toEqual({ ...first, name: null, email: null, metadata: {} });
    expect((await get("eve")).body).toEqual(emptied);
  });

  test("metadata is replaced as a whole", async () => {
    await upsert({ id: "meta", metadata: { a: 1, deep: { b: 2, c: 3 } } });
    const { body } = await upsert({ id: "meta", metadata: { deep: { c: 4 } } });
    expect(body.metadata).toEqual({ deep: { c: 4 } });
    expect((await upsert({ id: "meta", metadata: {} })).body.metadata).toEqual({});
  });

  const good: readonly (readonly [what: string, body: object])[] = [
    ["an id of one character", { id: "x" }],
    ["an id of 256 characters", { id: "i".repeat(256) }],
    ["an id of 256 characters outside of the basic plane", { id: "😀".repeat(256) }],
    ["an id with slashes, spaces and signs", { id: "tenant/7 ü?#%&" }],
    ["metadata of 10,240 bytes", { id: "edge", metadata: objectOf(10_240) }],
    ["an empty metadata", { id: "edge", metadata: {} }],
  ];
  for (const [what, body] of good) {
    test(`200: ${what}`, async () => {
      const answer = await upsert(body);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject(body);
      expect((await get(answer.body.id)).body).toEqual(answer.body);
    });
  }

  const bad: readonly (readonly [what: string, body: unknown, code: string, param: string | undefined])[] = [
    ["no id", { name: "x" }, "invalid_request", "id"],
    ["an id of null", { id: null }, "invalid_request", "id"],
    ["an empty id", { id: "" }, "invalid_request", "id"],
    ["an id of 257 characters", { id: "i".repeat(257) }, "invalid_request", "id"],
    ["an id that is a number", { id: 7 }, "invalid_request", "id"],
    ["an id with NUL", { id: "a\0b" }, "invalid_request", "id"],
    ["an id with a lone surrogate", '{"id":"\\ud800"}', "invalid_request", "id"],
    ["a name that is a number", { id: "x", name: 7 }, "invalid_request", "name"],
    ["metadata that is an array", { id: "x", metadata: [] }, "invalid_request", "metadata"],
    ["metadata that is a text", { id: "x", metadata: "{}" }, "invalid_request", "metadata"],
    ["metadata of 10,241 bytes", { id: "x", metadata: objectOf(10_241) }, "metadata_too_large", "metadata"],
    ["an unknown field", { id: "x", userId: "y" }, "invalid_request", "userId"],
    ["created_at", { id: "x", created_at: "2020-01-01T00:00:00Z" }, "invalid_request", "created_at"],
    ["a body that is an array", [], "invalid_request", undefined],
    ["a body that is no JSON", "{", "invalid_request", undefined],
  ];
  for (const [what, body, code, param] of bad) {
    test(`400: ${what}`, async () => {
      expectFault(await mneme.call("POST", "/v1/users", body), 400, code, param);
    });
  }

  test("ids are compared byte for byte: case and normal forms matter", async () => {
    const ids = ["Casé", "casé", "Case\u0301", "Casé "];
    for (const [at, id] of ids.entries()) await upsert({ id, name: String(at) });
    for (const [at, id] of ids.entries()) expect((await get(id)).body).toMatchObject({ id, name: String(at) });
  });

  test("403 for a key with users:read only, and for another user than that of a confined key", async () => {
    expectFault(await upsert({ id: "x" }, bearer(mneme.addKey(["users:read"]))), 403, "insufficient_scope");
    const own = bearer(mneme.addKey(["*"], undefined, { userId: "confined" }));
    expectFault(await upsert({ id: "ada" }, own), 403, "insufficient_scope", "id");
    expect((await upsert({ id: "confined", name: "Own" }, own)).status).toBe(200);
  });
});

describe("a user is created", () => {
  const named: readonly (readonly [by: string, userId: string, act: (userId: string) => Promise<Answered>])[] = [
    ["a memory", "by-memory", (userId) => mneme.call("POST", "/v1/memories", { content: "Hello.", userId })],
    [
      "a memory of a batch",
      "by-batch",
      (userId) => mneme.call("POST", "/v1/memories/batch", { memories: [{ content: "Hello.", userId }] }),
    ],
    ["a chat", "by-chat", (userId) => mneme.call("POST", "/v1/chats", { userId })],
    ["an event", "by-event", (userId) => mneme.call("POST", `/v1/users/${userId}/events`, { type: "seen" })],
    [
      "a PUT of a memory",
      "by-put",
      async (userId) => {
        const { body } = await mneme.store({ content: "Nobody's yet." });
        return mneme.call("PUT", `/v1/memories/${body.id}`, { userId });
      },
    ],
  ];
  for (const [by, userId, act] of named) {
    test(`by ${by}`, async () => {
      expectFault(await get(userId), 404, "user_not_found", "userId");
      expect((await act(userId)).status).toBeLessThan(300);
      const { status, body } = await get(userId);
      expect([status, body]).toEqual([
        200,
        { id: userId, name: null, email: null, metadata: {}, time_zone: null, created_at: expect.any(String) },
      ]);
      const all = await walk(mneme, "/v1/users");
      expect(all.filter(({ id }) => id === userId)).toEqual([body]);
    });
  }

  test("not by a search, a list or a refused request that names one", async () => {
    await mneme.call("POST", "/v1/memories/search", { query: "hello", userId: "asked-for" });
    await mneme.call("GET", "/v1/memories?userId=asked-for");
    await mneme.call("GET", "/v1/chats?userId=asked-for");
    expect((await mneme.call("POST", "/v1/memories", { content: " ", userId: "asked-for" })).status).toBe(400);
    expect((await mneme.call("POST", "/v1/users/asked-for/events", { data: {} })).status).toBe(400);
    expectFault(await get("asked-for"), 404, "user_not_found", "userId");
  });

  test("naming an existing user keeps its profile", async () => {
    const { body } = await upsert({ id: "kept", name: "Kept", metadata: { a: 1 } });
    clock.advance(1_000);
    await mneme.call("POST", "/v1/memories", { content: "Kept's.", userId: "kept" });
    await mneme.call("POST", "/v1/chats", { userId: "kept" });
    await mneme.call("POST", "/v1/users/kept/events", { type: "seen" });
    expect((await get("kept")).body).toEqual(body);
  });
});

describe("getUser", () => {
  test("404 for an unknown user, and for another project's", async () => {
    expectFault(await get("nobody"), 404, "user_not_found", "userId");
    await upsert({ id: "ours" });
    const other = bearer(mneme.addKey(["*"], "prj_users_elsewhere"));
    expectFault(await get("ours", other), 404, "user_not_found", "userId");
    await upsert({ id: "ours", name: "Theirs" }, other);
    expect((await get("ours")).body.name).toBeNull();
  });

  test("403: a key confined to one user asks for another, known or not", async () => {
    const own = bearer(mneme.addKey(["*"], undefined, { userId: "looker" }));
    await upsert({ id: "looker" });
    expect((await get("looker", own)).status).toBe(200);
    expectFault(await get("ada", own), 403, "insufficient_scope", "userId");
    expectFault(await get("nobody", own), 403, "insufficient_scope", "userId");
  });

  test("403 for a key that writes users only; 400 for a query parameter and for an id that is too long", async () => {
    expectFault(await get("ada", bearer(mneme.addKey(["users:write"]))), 403, "insufficient_scope");
    expectFault(await mneme.call("GET", "/v1/users/ada?cascade=true"), 400, "invalid_request", "cascade");
    expectFault(await get("i".repeat(257)), 400, "invalid_request", "userId");
    expectFault(await mneme.call("GET", "/v1/users/%FF"), 400, "invalid_request", "userId");
  });
});

describe("listUsers", () => {
  const project = "prj_users_listed";
  let headers: Record<string, string>;
  beforeAll(async () => {
    headers = bearer(mneme.addKey(["*"], project));
    for (let n = 0; n < 25; n++) {
      clock.advance(10);
      await upsert({ id: `user-${n}` }, headers);
    }
  });
  const list = (query: string) => mneme.call("GET", `/v1/users${query}`, undefined, headers);

  test("200: newest first, 20 by default, each once over all pages", async () => {
    const { status, body } = await list("");
    expect([status, body.data.length, body.has_more]).toEqual([200, 20, true]);
    const ids = (await walk(mneme, "/v1/users", { limit: 7, headers })).map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 25 }, (_, at) => `user-${24 - at}`));
  });

  test("200: limits of 1 and 100", async () => {
    expect((await list("?limit=1")).body.data).toHaveLength(1);
    const { body } = await list("?limit=100");
    expect([body.data.length, body.has_more, body.cursor]).toEqual([25, false, null]);
  });

  test("creations and deletions between pages neither repeat nor hide other users", async () => {
    const { body: first } = await list("?limit=5");
    await upsert({ id: "late" }, headers);
    expect((await remove("user-15", "", headers)).status).toBe(204);
    const { body: second } = await list(`?limit=100&cursor=${first.cursor}`);
    const ids = [...first.data, ...second.data].map(({ id }) => id);
    const expected = Array.from({ length: 25 }, (_, at) => `user-${24 - at}`).filter((id) => id !== "user-15");
    expect(ids).toEqual(expected);
    await remove("late", "", headers);
    await upsert({ id: "user-15" }, headers);
  });

  for (const limit of ["0", "101", "-1", "1.5", "ten", ""]) {
    test(`400: limit=${limit} is refused, not clamped`, async () => {
      expectFault(await list(`?limit=${limit}`), 400, "invalid_request", "limit");
    });
  }

  test("400: a cursor that is damaged, or of another list or project", async () => {
    const { body } = await list("?limit=1");
    const others = await walkedCursor("/v1/projects?limit=1");
    const elsewhere = await mneme.call("GET", "/v1/users?limit=1");
    for (const cursor of ["x", `${body.cursor}x`, body.cursor.slice(1), others, elsewhere.body.cursor]) {
      expectFault(await list(`?cursor=${encodeURIComponent(cursor)}`), 400, "invalid_cursor", "cursor");
    }
  });

  test("a confined key sees its user only, and none before it exists", async () => {
    await upsert({ id: "only" });
    const only = bearer(mneme.addKey(["*"], undefined, { userId: "only" }));
    const { body } = await mneme.call("GET", "/v1/users", undefined, only);
    expect([body.data.map(({ id }: { id: string }) => id), body.has_more, body.cursor]).toEqual([
      ["only"],
      false,
      null,
    ]);
    const unknown = bearer(mneme.addKey(["*"], undefined, { userId: "not-yet" }));
    expect((await mneme.call("GET", "/v1/users", undefined, unknown)).body.data).toEqual([]);
  });
});

describe("deleteUser", () => {
  /** Creates a user with two searchable memories, a chat and an event. */
  const settle = async (userId: string) => {
    await upsert({ id: userId, name: "Settled", metadata: { a: 1 } });
    const memories = [
      await mneme.store({ content: `The lighthouse of ${userId} blinks twice.`, userId }),
      await mneme.store({ content: `The harbour of ${userId} has a red crane.`, userId }),
    ].map(({ body }) => body.id as string);
    const chat: string = (await mneme.call("POST", "/v1/chats", { userId, title: "Ports" })).body.id;
    const asked = await mneme.call("POST", `/v1/chats/${chat}/messages`, { message: "What blinks?" });
    expect(asked.status).toBe(200);
    await mneme.call("POST", `/v1/users/${userId}/events`, { type: "visit", data: { page: "/" } });
    return { memories, chat };
  };
  const found = async (userId: string) =>
    (await mneme.call("POST", "/v1/memories/search", { query: `lighthouse of ${userId}`, userId })).body.results.length;

  test("without cascade: 204, the profile is deleted, everything else stays", async () => {
    const { memories, chat } = await settle("leaver");
    const { status, body } = await remove("leaver");
    expect([status, body]).toEqual([204, null]);
    expectFault(await get("leaver"), 404, "user_not_found", "userId");
    expectFault(await mneme.call("GET", "/v1/users/leaver/events"), 404, "user_not_found", "userId");
    expect((await walk(mneme, "/v1/users")).some(({ id }) => id === "leaver")).toBe(false);

    for (const id of memories) {
      expect((await mneme.call("GET", `/v1/memories/${id}`)).body.userId).toBe("leaver");
    }
    expect(await found("leaver")).toBe(2);
    expect((await mneme.call("GET", `/v1/chats/${chat}`)).body.messages).toHaveLength(2);
  });

  test("a repeated request does not return the deleted profile, with and without cascade", async () => {
    for (const cascade of ["false", "true"]) {
      const body = { id: `repeated-${cascade}`, name: "Ada", email: "ada@example.org" };
      const headers = { "idempotency-key": `profile-${cascade}` };
      expect((await mneme.call("POST", "/v1/users", body, headers)).status).toBe(200);
      expect((await remove(body.id, `?cascade=${cascade}`)).status).toBe(204);
      expectFault(await mneme.call("POST", "/v1/users", body, headers), 409, "idempotency_conflict", "Idempotency-Key");
    }
  });

  test("without cascade: when it is named again, it exists without its profile and with its events", async () => {
    await upsert({ id: "returner", name: "Old", email: "old@example.com" });
    await mneme.call("POST", "/v1/users/returner/events", { type: "first" });
    expect((await remove("returner", "?cascade=false")).status).toBe(204);
    await mneme.call("POST", "/v1/users/returner/events", { type: "second" });
    expect((await get("returner")).body).toMatchObject({ name: null, email: null, metadata: {} });
    const { body } = await mneme.call("GET", "/v1/users/returner/events");
    expect(body.data.map(({ type }: { type: string }) => type)).toEqual(["second", "first"]);
  });

  test("with cascade: 204, and memories, chats and events disappear from all answers at once", async () => {
    const { memories, chat } = await settle("gone");
    const bystander = await mneme.store({ content: "The lighthouse of somebody else stays.", userId: "bystander" });
    const mixed: string = (await mneme.call("POST", "/v1/chats", {})).body.id;
    const quoted = await mneme.call("POST", `/v1/chats/${mixed}/messages`, { message: "lighthouse of gone" });
    expect(JSON.stringify(quoted.body)).toContain(memories[0] ?? "no memory");

    const { status, body } = await remove("gone", "?cascade=true");
    expect([status, body]).toEqual([204, null]);

    expectFault(await get("gone"), 404, "user_not_found", "userId");
    expectFault(await mneme.call("GET", "/v1/users/gone/events"), 404, "user_not_found", "userId");
    for (const id of memories) {
      expectFault(await mneme.call("GET", `/v1/memories/${id}`), 404, "memory_not_found", "id");
      expectFault(await mneme.call("PUT", `/v1/memories/${id}`, { title: "x" }), 404, "memory_not_found", "id");
    }
    expect((await mneme.call("GET", "/v1/memories?userId=gone")).body.data).toEqual([]);
    expect((await walk(mneme, "/v1/memories")).some(({ userId }) => userId === "gone")).toBe(false);
    expect(await found("gone")).toBe(0);
    const everywhere = await mneme.call("POST", "/v1/memories/search", { query: "lighthouse of gone", limit: 100 });
    const hits = everywhere.body.results.map(({ memory_id }: { memory_id: string }) => memory_id);
    expect(hits.filter((id: string) => memories.includes(id))).toEqual([]);
    expect(hits).toContain(bystander.body.id);
    expectFault(await mneme.call("GET", `/v1/chats/${chat}`), 404, "chat_not_found", "id");
    expectFault(await mneme.call("GET", `/v1/chats/${chat}/messages`), 404, "chat_not_found", "id");
    expect((await mneme.call("GET", "/v1/chats?userId=gone")).body.data).toEqual([]);

    // messages of chats without a user no longer show the deleted memories as sources
    const history = await mneme.call("GET", `/v1/chats/${mixed}`);
    const sources = history.body.messages.flatMap((message: { sources: { memory_id: string }[] }) =>
      message.sources.map(({ memory_id }) => memory_id),
    );
    expect(sources.filter((id: string) => memories.includes(id))).toEqual([]);

    // a later request that names the user creates it as a new one
    await mneme.call("POST", "/v1/users/gone/events", { type: "again" });
    const { body: events } = await mneme.call("GET", "/v1/users/gone/events");
    expect(events.data.map(({ type }: { type: string }) => type)).toEqual(["again"]);
    expect((await get("gone")).body).toMatchObject({ name: null, metadata: {} });
  });

  test("with cascade: processing memories are deleted too, and stay deleted", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { body } = await mneme.call("POST", "/v1/memories", { content: `Hurried note ${n}.`, userId: "hurried" });
      ids.push(body.id);
    }
    expect((await remove("hurried", "?cascade=true")).status).toBe(204);
    const marker = await mneme.store({ content: "What comes after the hurried notes." });
    expect(marker.body.status).toBe("completed");
    for (const id of ids) expect((await mneme.call("GET", `/v1/memories/${id}`)).status).toBe(404);
    const { body } = await mneme.call("POST", "/v1/memories/search", { query: "Hurried note", limit: 100 });
    const hits = body.results.map(({ memory_id }: { memory_id: string }) => memory_id);
    expect(hits.filter((id: string) => ids.includes(id))).toEqual([]);
  });

  test("with cascade: memory.deleted is sent once for each memory", async () => {
    const project = "prj_users_told";
    const headers = bearer(mneme.addKey(["*"], project));
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { body } = await mneme.call("POST", "/v1/memories", { content: `Told ${n}.`, userId: "told" }, headers);
      ids.push(body.id);
    }
    await mneme.call("POST", "/v1/memories", { content: "Another's.", userId: "other" }, headers);
    const webhook = await mneme.call(
      "POST",
      "/v1/webhooks",
      { url: "http://127.0.0.1:9/", events: ["memory.deleted"] },
      headers,
    );
    expect((await mneme.call("DELETE", "/v1/users/told?cascade=true", undefined, headers)).status).toBe(204);
    const deliveries = await until("the deletions are written down", async () => {
      const all = await walk(mneme, `/v1/webhooks/${webhook.body.id}/deliveries`, { headers });
      return all.length >= ids.length ? all : null;
    });
    expect(deliveries.map(({ event }) => event)).toEqual(ids.map(() => "memory.deleted"));
  });

  test("404 for an unknown user, and the second time", async () => {
    expectFault(await remove("never-named"), 404, "user_not_found", "userId");
    expectFault(await remove("never-named", "?cascade=true"), 404, "user_not_found", "userId");
    await upsert({ id: "twice" });
    expect((await remove("twice")).status).toBe(204);
    expectFault(await remove("twice"), 404, "user_not_found", "userId");
  });

  test("another project's user of the same name is untouched", async () => {
    const other = bearer(mneme.addKey(["*"], "prj_users_namesake"));
    await upsert({ id: "namesake" });
    await mneme.call("POST", "/v1/users/namesake/events", { type: "theirs" }, other);
    expect((await remove("namesake", "?cascade=true")).status).toBe(204);
    expect((await mneme.call("GET", "/v1/users/namesake/events", undefined, other)).body.data).toHaveLength(1);
  });

  test("400: cascade is true or false and nothing else", async () => {
    await upsert({ id: "careful" });
    for (const cascade of ["", "1", "yes", "TRUE"]) {
      expectFault(await remove("careful", `?cascade=${cascade}`), 400, "invalid_request", "cascade");
    }
    expectFault(await remove("careful", "?cascade=true&cascade=true"), 400, "invalid_request", "cascade");
    expectFault(await remove("careful", "?purge=true"), 400, "invalid_request", "purge");
    expect((await get("careful")).status).toBe(200);
  });

  test("403: a key with users:read only, and a confined key for another user; its own it may delete", async () => {
    await upsert({ id: "guarded" });
    expectFault(await remove("guarded", "", bearer(mneme.addKey(["users:read"]))), 403, "insufficient_scope");
    const own = bearer(mneme.addKey(["*"], undefined, { userId: "selfish" }));
    expectFault(await remove("guarded", "?cascade=true", own), 403, "insufficient_scope", "userId");
    await upsert({ id: "selfish" });
    expect((await remove("selfish", "?cascade=true", own)).status).toBe(204);
    expect((await get("guarded")).status).toBe(200);
  });
});

async function walkedCursor(path: string): Promise<string> {
  const { body } = await mneme.call("GET", path);
  expect(body.cursor).toBeString();
  return body.cursor;
}

test("a user id that no path can contain is refused everywhere", async () => {
  for (const id of [".", ".."]) {
    expectFault(await mneme.call("POST", "/v1/users", { id }), 400, "invalid_request", "id");
    expectFault(
      await mneme.call("POST", "/v1/memories", { content: "x", userId: id }),
      400,
      "invalid_request",
      "userId",
    );
    expectFault(await mneme.call("POST", "/v1/chats", { userId: id }), 400, "invalid_request", "userId");
    expectFault(
      await mneme.call("POST", "/v1/keys", { name: "k", scopes: ["*"], userId: id }),
      400,
      "invalid_request",
      "userId",
    );
  }
});
