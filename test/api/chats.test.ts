// /v1/chats: creating, renaming, listing, reading and deleting chats. messages.test.ts tests their messages.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { seeded } from "../support/seeded.ts";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock, waitsForModels: false });
});
afterAll(() => mneme.stop());

const create = (body?: unknown, headers?: Record<string, string>) => mneme.call("POST", "/v1/chats", body, headers);
const read = (id: string, headers?: Record<string, string>) => mneme.call("GET", `/v1/chats/${id}`, undefined, headers);
const retitle = (id: string, body: unknown) => mneme.call("PUT", `/v1/chats/${id}`, body);
const remove = (id: string, headers?: Record<string, string>) =>
  mneme.call("DELETE", `/v1/chats/${id}`, undefined, headers);
/** No memories are stored, so an answer needs no models. */
const say = (id: string, message: string) => mneme.call("POST", `/v1/chats/${id}/messages`, { message });

const ABSENT = "chat_00000000000000000000000000";
const elsewhere = () => ({ authorization: `Bearer ${mneme.addKey(["*"], "prj_another")}` });

describe("createChat", () => {
  test("201: exactly a Chat, with the given values", async () => {
    const { status, body } = await create({ userId: "ada", agentId: "cook", sessionId: "s-1", title: "Plans" });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^chat_[0-9a-hjkmnp-tv-z]{26}$/),
      userId: "ada",
      agentId: "cook",
      sessionId: "s-1",
      title: "Plans",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  test("201: every field is optional, and so is the body", async () => {
    for (const body of [undefined, {}, { userId: null, title: null }]) {
      const answer = await create(body);
      expect([answer.status, answer.body.userId, answer.body.title]).toEqual([201, null, null]);
    }
  });

  test("201: the longest userId and title, in astral characters", async () => {
    const given = { userId: "𝛂".repeat(256), title: "𝛂".repeat(1_024) };
    expect((await create(given)).body).toMatchObject(given);
  });

  const refused: [name: string, body: unknown, param: string | undefined][] = [
    ["an empty title", { title: "" }, "title"],
    ["1,025 characters of title", { title: "t".repeat(1_025) }, "title"],
    ["a title that is a number", { title: 7 }, "title"],
    ["an empty userId", { userId: "" }, "userId"],
    ["257 characters of userId", { userId: "u".repeat(257) }, "userId"],
    ["a user_id", { user_id: "ada" }, "user_id"],
    ["messages", { messages: [] }, "messages"],
    ["a body that is a list", [], undefined],
    ["a body that is null", null, undefined],
  ];
  for (const [name, body, param] of refused) {
    test(`400: ${name} is refused by name`, async () => expectFault(await create(body), 400, "invalid_request", param));
  }

  test("401 without a key, 403 for a key that cannot write chats", async () => {
    expectFault(
      await mneme.send(new Request("http://mneme.test/v1/chats", { method: "POST" })),
      401,
      "missing_api_key",
    );
    const authorization = `Bearer ${mneme.addKey(["chats:read", "query"])}`;
    expectFault(await create({}, { authorization }), 403, "insufficient_scope");
  });
});

describe("the title", () => {
  test("comes from the first message if none was given, and later messages do not change it", async () => {
    const { id } = (await create({})).body;
    await say(id, "When does the ferry leave?");
    expect((await read(id)).body.title).toBe("When does the ferry leave?");
    await say(id, "And when does it come back?");
    expect((await read(id)).body.title).toBe("When does the ferry leave?");
  });

  test("stays if it was given", async () => {
    const { id } = (await create({ title: "Ferries" })).body;
    await say(id, "When does the ferry leave?");
    expect((await read(id)).body.title).toBe("Ferries");
  });

  test("is the beginning of a very long message, up to the longest title", async () => {
    const { id } = (await create({})).body;
    const message = "wörter über wörter ".repeat(500).trim();
    await say(id, message);
    const { title } = (await read(id)).body;
    expect([...title].length).toBeLessThanOrEqual(1_024);
    expect(message).toStartWith(title.replace(/…$/, ""));
    expect((await mneme.call("GET", "/v1/chats?limit=1")).body.data[0].title).toBe(title);
  });
});

describe("listChats", () => {
  const list = (query = "", headers?: Record<string, string>) =>
    mneme.call("GET", `/v1/chats${query}`, undefined, headers);
  const idsOf = (page: Answered): string[] => page.body.data.map((chat: { id: string }) => chat.id);
  /** Ids of 130 chats, oldest first. Every third chat belongs to the user `third`. */
  let ids: string[] = [];
  beforeAll(async () => {
    for (let at = 0; at < 130; at++) {
      ids.push((await create({ title: `Chat ${at}`, userId: at % 3 === 0 ? "third" : "listed" })).body.id);
    }
  });

  test("200: 20 by default, newest first, whole chats", async () => {
    const page = await list();
    expect(page.status).toBe(200);
    expect(Object.keys(page.body).sort()).toEqual(["cursor", "data", "has_more"]);
    expect(idsOf(page)).toEqual(ids.slice(-20).reverse());
    expect(page.body.data[0]).toEqual({
      ...{ id: ids.at(-1), userId: "third", agentId: null, sessionId: null },
      ...{ title: "Chat 129", created_at: expect.any(String) },
    });
    expect(page.body.has_more).toBeTrue();
  });

  test("200: limit 1 and 100; pages show everything once, and the last one has no cursor", async () => {
    expect(idsOf(await list("?limit=1"))).toEqual(ids.slice(-1));
    expect(idsOf(await list("?limit=100"))).toEqual(ids.slice(-100).reverse());
    const thirds = ids.filter((_, at) => at % 3 === 0).reverse();
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Answered = await list(`?userId=third&limit=11${cursor === null ? "" : `&cursor=${cursor}`}`);
      seen.push(...idsOf(page));
      expect(page.body.has_more).toBe(page.body.cursor !== null);
      cursor = page.body.cursor;
    } while (cursor !== null);
    expect(seen).toEqual(thirds);
  });

  test("200: no chats for an unknown user or in another project", async () => {
    for (const page of [await list("?userId=nobody"), await list("?userId=THIRD"), await list("", elsewhere())]) {
      expect(page.body).toEqual({ data: [], has_more: false, cursor: null });
    }
  });

  test(`200: with creations and deletions between pages, every other chat is shown once and in order (seed ${SEED})`, async () => {
    const chance = seeded(SEED);
    const within = (count: number) => Math.floor(chance() * count);
    const doomed = new Set<string>();
    const seen: string[] = [];
    const start = [...ids].reverse();
    let cursor: string | null = null;
    do {
      const page: Answered = await list(
        `?userId=listed&limit=${1 + within(9)}${cursor === null ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...idsOf(page));
      cursor = page.body.cursor;
      for (let change = within(4); change > 0; change--) {
        const victim = ids[within(ids.length)];
        if (chance() < 0.5 && victim !== undefined) {
          doomed.add(victim);
          await remove(victim);
        } else {
          await create({ userId: "listed" });
        }
      }
    } while (cursor !== null);
    expect(seen).toEqual(start.filter((id) => seen.includes(id)));
    const missing = start.filter((id) => ids.indexOf(id) % 3 !== 0 && !seen.includes(id) && !doomed.has(id));
    expect(missing).toEqual([]);
    ids = ids.filter((id) => !doomed.has(id));
  });

  const refused: [query: string, code: string, param: string][] = [
    ["?limit=0", "invalid_request", "limit"],
    ["?limit=101", "invalid_request", "limit"],
    ["?limit=x", "invalid_request", "limit"],
    ["?userId=", "invalid_request", "userId"],
    [`?userId=${"u".repeat(257)}`, "invalid_request", "userId"],
    ["?user_id=a", "invalid_request", "user_id"],
    ["?status=open", "invalid_request", "status"],
    ["?cursor=", "invalid_cursor", "cursor"],
    ["?cursor=abc", "invalid_cursor", "cursor"],
  ];
  for (const [query, code, param] of refused) {
    test(`400: ${query.slice(0, 30)} is refused by name`, async () => expectFault(await list(query), 400, code, param));
  }

  test("400: a cursor is valid only for its list, user and project, and unchanged", async () => {
    const { cursor } = (await list("?userId=listed&limit=2")).body;
    expect((await list(`?userId=listed&limit=50&cursor=${cursor}`)).status).toBe(200);
    expectFault(await list(`?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await list(`?userId=third&cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await list(`?userId=listed&cursor=${cursor}`, elsewhere()), 400, "invalid_cursor", "cursor");
    expectFault(await mneme.call("GET", `/v1/memories?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    for (let at = 0; at < cursor.length; at++) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
      expectFault(await list(`?userId=listed&cursor=${changed}`), 400, "invalid_cursor", "cursor");
    }
  });

  test("401 with an unknown key, 403 for a key that cannot read chats", async () => {
    expectFault(await list("", { authorization: "Bearer ctx_nobody" }), 401, "invalid_api_key");
    const authorization = `Bearer ${mneme.addKey(["chats:write"])}`;
    expectFault(await list("", { authorization }), 403, "insufficient_scope");
  });
});

describe("getChatHistory", () => {
  test("200: the chat with all its messages, oldest first", async () => {
    const { body: chat } = await create({ userId: "ada", title: "Asked" });
    expect((await read(chat.id)).body).toEqual({ ...chat, messages: [] });
    for (const message of ["First?", "Second?"]) await say(chat.id, message);
    const { status, body } = await read(chat.id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...chat });
    expect(
      body.messages.map(({ role, content }: Record<string, string>) => [role, role === "user" ? content : ""]),
    ).toEqual([
      ["user", "First?"],
      ["assistant", ""],
      ["user", "Second?"],
      ["assistant", ""],
    ]);
    for (const message of body.messages) {
      expect(message.id).toMatch(/^msg_[0-9a-hjkmnp-tv-z]{26}$/);
      expect(Object.keys(message).sort()).toEqual(["answer_state", "content", "created_at", "id", "role", "sources"]);
    }
  });

  test("200: far more messages than fit on a page", async () => {
    const { id } = (await create({})).body;
    for (let at = 0; at < 110; at++) await say(id, `Question ${at}`);
    const asked = (await read(id)).body.messages.filter((message: { role: string }) => message.role === "user");
    expect(asked.map((message: { content: string }) => message.content)).toEqual(
      Array.from({ length: 110 }, (_, at) => `Question ${at}`),
    );
  });
});

describe("updateChat", () => {
  test("200: changes the title only; null clears it", async () => {
    const { body: chat } = await create({ userId: "ada", title: "Old" });
    clock.advance(1_000);
    for (const title of ["New", "t".repeat(1_024), null]) {
      const { status, body } = await retitle(chat.id, { title });
      expect([status, body]).toEqual([200, { ...chat, title }]);
      expect((await read(chat.id)).body).toEqual({ ...chat, title, messages: [] });
    }
  });

  const refused: [name: string, body: unknown, param: string | undefined][] = [
    ["no title", {}, "title"],
    ["an empty title", { title: "" }, "title"],
    ["1,025 characters of title", { title: "t".repeat(1_025) }, "title"],
    ["another user", { title: "x", userId: "bob" }, "userId"],
    ["a body that is null", null, undefined],
  ];
  for (const [name, body, param] of refused) {
    test(`400: ${name} is refused by name`, async () => {
      const { id } = (await create({ title: "Stays" })).body;
      expectFault(await retitle(id, body), 400, "invalid_request", param);
      expect((await read(id)).body.title).toBe("Stays");
    });
  }
});

describe("deleteChat", () => {
  test("204: without a body; the chat and its messages are gone, the user's memories stay", async () => {
    const { body: chat } = await create({ userId: "leaving" });
    await say(chat.id, "Is anybody there?");
    const { body: memory } = await mneme.call("POST", "/v1/memories", { content: "Stays.", userId: "leaving" });
    const { status, body } = await remove(chat.id);
    expect([status, body]).toEqual([204, null]);
    expectFault(await read(chat.id), 404, "chat_not_found", "id");
    expect((await mneme.call("GET", "/v1/chats?userId=leaving")).body.data).toEqual([]);
    expect((await mneme.call("GET", `/v1/memories/${memory.id}`)).status).toBe(200);
    await mneme.call("DELETE", `/v1/memories/${memory.id}`);
  });

  test("400: query parameters are refused", async () => {
    expectFault(await remove(`${ABSENT}?purge=true`), 400, "invalid_request", "purge");
  });
});

describe("404 on every path of a chat", () => {
  const requests: [method: string, rest: string, body: object | undefined][] = [
    ["GET", "", undefined],
    ["PUT", "", { title: "x" }],
    ["DELETE", "", undefined],
    ["GET", "/messages", undefined],
    ["POST", "/messages", { message: "x" }],
    ["POST", "/messages/stream", { message: "x" }],
  ];
  for (const [method, rest, body] of requests) {
    const at = (id: string, headers?: Record<string, string>) =>
      mneme.call(method, `/v1/chats/${id}${rest}`, body, headers);

    test(`${method} /chats/{id}${rest}: an unknown and a deleted chat, and a malformed id`, async () => {
      const deleted = (await create({})).body.id;
      await remove(deleted);
      for (const id of [
        deleted,
        ABSENT,
        "chat_x",
        "x",
        "%00",
        "mem_00000000000000000000000000",
        ABSENT.toUpperCase(),
      ]) {
        expectFault(await at(id), 404, "chat_not_found", "id");
      }
    });

    test(`${method} /chats/{id}${rest}: a chat of another project, and for a confined key a chat of another user or of none`, async () => {
      const ours = (await create({ userId: "ada", title: "Ours" })).body;
      const nobodys = (await create({ title: "Nobody's" })).body;
      expectFault(await at(ours.id, elsewhere()), 404, "chat_not_found", "id");
      const confined = { authorization: `Bearer ${mneme.addKey(["*"], undefined, { userId: "bob" })}` };
      for (const chat of [ours, nobodys]) {
        expectFault(await at(chat.id, confined), 404, "chat_not_found", "id");
        expect((await read(chat.id)).body).toEqual({ ...chat, messages: [] });
      }
    });
  }
});

describe("401 and 403 on every path of a chat", () => {
  const requests: [method: string, rest: string, body: object | undefined, scope: "chats:read" | "chats:write"][] = [
    ["GET", "", undefined, "chats:read"],
    ["PUT", "", { title: "x" }, "chats:write"],
    ["DELETE", "", undefined, "chats:write"],
    ["GET", "/messages", undefined, "chats:read"],
    ["POST", "/messages", { message: "x" }, "chats:write"],
    ["POST", "/messages/stream", { message: "x" }, "chats:write"],
  ];
  for (const [method, rest, body, scope] of requests) {
    test(`${method} /chats/{id}${rest} needs ${scope}`, async () => {
      const { id } = (await create({ title: "Stays" })).body;
      const at = (authorization: string) => mneme.call(method, `/v1/chats/${id}${rest}`, body, { authorization });
      expectFault(await at("Bearer ctx_nobody"), 401, "invalid_api_key");
      const other = scope === "chats:read" ? "chats:write" : "chats:read";
      expectFault(await at(`Bearer ${mneme.addKey([other, "query", "memories:read"])}`), 403, "insufficient_scope");
      expect((await read(id)).body).toMatchObject({ title: "Stays", messages: [] });
    });
  }
});
