// /v1/chats/{id}/messages: sources of an answer, scope of its search, order of messages, and pages of lists.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QueryQuota } from "../../src/account/query-quota.ts";
import type { AnswerEvent } from "../../src/answer/events.ts";
import type { Message } from "../../src/domain/chat.ts";
import { Fault } from "../../src/domain/fault.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { ChatService } from "../../src/services/chats.ts";
import { openStores } from "../../src/stores/sqlite/stores.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { askerOf } from "../support/asker.ts";
import { type MessageEvent, messageEvents } from "../support/message-events.ts";
import { type Answered, SettableClock, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true, clock });
  const memories = [
    { content: "The ferry to Lund leaves at nine from pier two.", userId: "ada", tags: ["morning crossing"] },
    { content: "The ferry to Lund has a cafe with cinnamon buns.", userId: "ada" },
    { content: "The ferry to Lund leaves at noon from pier five.", userId: "bob" },
    { content: "The ferry to Lund is painted white.", title: "Colour" },
    ...Array.from({ length: 55 }, (_, at) => ({ content: `Timetable row ${at}: bus to Lund.`, userId: "buses" })),
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await mneme.settled(memory.id);
});
afterAll(() => mneme.stop());

const newChat = async (body: object = {}): Promise<string> => (await mneme.call("POST", "/v1/chats", body)).body.id;
const send = (chat: string, body: object, headers?: Record<string, string>) =>
  mneme.call("POST", `/v1/chats/${chat}/messages`, body, headers);
const list = (chat: string, query = "", headers?: Record<string, string>) =>
  mneme.call("GET", `/v1/chats/${chat}/messages${query}`, undefined, headers);
const used = async (): Promise<number> => (await mneme.call("GET", "/v1/usage")).body.queries.used;

interface Source {
  readonly content: string;
  readonly cited: boolean;
  readonly citation?: number;
  readonly memory_id: string;
  readonly metadata: { readonly _memory: { readonly userId: string | null } };
}
const ownersOf = (answer: Answered): Set<string | null> =>
  new Set(answer.body.message.sources.map((source: Source) => source.metadata._memory.userId));

const QUESTION = "When does the ferry to Lund leave?";

describe("sendMessage, 200", () => {
  test("is exactly a MessageResponse with the assistant's message, as it is stored", async () => {
    const chat = await newChat({ userId: "ada" });
    const { status, body } = await send(chat, { message: QUESTION });
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["message"]);
    expect(body.message).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-hjkmnp-tv-z]{26}$/),
      role: "assistant",
      content: expect.stringContaining("leaves at nine from pier two. [1]"),
      sources: expect.any(Array),
      answer_state: "answered",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const stored = (await mneme.call("GET", `/v1/chats/${chat}`)).body.messages;
    expect(stored).toEqual([
      {
        id: expect.stringMatching(/^msg_/),
        role: "user",
        content: QUESTION,
        sources: [],
        answer_state: null,
        created_at: expect.any(String),
      },
      body.message,
    ]);
    expect((await list(chat)).body.data).toEqual(stored);
  });

  test("sources are SearchResults, the cited ones first and in the order of their numbers", async () => {
    const { message } = (await send(await newChat({ userId: "ada" }), { message: QUESTION })).body;
    const numbers = new Set([...message.content.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number)));
    expect([...numbers]).toEqual([...numbers].map((_, at) => at + 1));
    for (const [at, source] of message.sources.entries()) {
      const fields = Object.keys(source).filter((name) => name !== "answer_spans"); // some models have none
      const own = ["cited", "content", "id", "memory_id", "metadata", "score"];
      expect(fields.sort()).toEqual(at < numbers.size ? ["citation", ...own] : own);
      expect(source.cited).toBe(at < numbers.size);
      expect(source.citation).toBe(at < numbers.size ? at + 1 : undefined);
    }
  });

  test("a source keeps the number of its citation when another one was deleted", async () => {
    const texts = ["Rosa's dentist is Doctor Lind.", "Rosa lives in Malmö."];
    for (const content of texts) await mneme.store({ content, userId: "rosa" });
    const chat = await newChat({ userId: "rosa" });
    const asked = { message: "Who is Rosa's dentist and where does Rosa live?" };
    const { sources }: { readonly sources: readonly Source[] } = (await send(chat, asked)).body.message;
    const [first, second] = sources.filter(({ cited }) => cited);
    expect([first?.citation, second?.citation]).toEqual([1, 2]);
    await mneme.call("DELETE", `/v1/memories/${first?.memory_id}`);
    const kept: readonly Source[] = (await list(chat)).body.data[1].sources;
    expect(kept.filter(({ cited }) => cited).map(({ citation, content }) => [citation, content])).toEqual([
      [2, second?.content ?? ""],
    ]);
  });

  test("a message is stored unchanged", async () => {
    const message = ` \r\n"𝛂" e\u0301 \u200d \\ \u2028 [1] </s>\n`;
    const chat = await newChat();
    await send(chat, { message, mode: "fast" });
    expect((await list(chat)).body.data[0].content).toBe(message);
  });

  test("mode, instructions, both ends of maxSources, filters and nulls are accepted", async () => {
    const chat = await newChat({ userId: "buses" });
    const ask = async (more: object): Promise<Source[]> =>
      (await send(chat, { message: "bus to Lund", ...more })).body.message.sources;
    for (const mode of MODE_NAMES) expect(await ask({ mode })).toHaveLength(8);
    expect(await ask({ maxSources: 1 })).toHaveLength(1);
    expect(await ask({ maxSources: 50 })).toHaveLength(50);
    expect(await ask({ instructions: "i".repeat(8_192) })).toHaveLength(8);
    expect(await ask({ mode: null, maxSources: null, instructions: null })).toHaveLength(8);
    expect(await ask({ filters: { title: { $contains: "no such title" } } })).toEqual([]);
  });

  test("32,768 characters are accepted, astral ones too", async () => {
    const chat = await newChat({ userId: "nobody" });
    for (const message of ["m".repeat(32_768), "𝛂".repeat(32_768)]) {
      expect((await send(chat, { message })).status).toBe(200);
    }
  });

  test("without evidence the answer says so, has no sources, and is stored", async () => {
    const chat = await newChat({ userId: "nobody" });
    const { message } = (await send(chat, { message: QUESTION })).body;
    expect(message.sources).toEqual([]);
    expect(message.content).not.toMatch(/\[\d/);
    expect((await list(chat)).body.data[1]).toEqual(message);
  });
});

describe("scope", () => {
  test("a chat's messages search its user's memories only", async () => {
    for (const userId of ["ada", "bob"]) {
      const answer = await send(await newChat({ userId }), { message: QUESTION, maxSources: 50 });
      expect(ownersOf(answer)).toEqual(new Set([userId]));
      expect(answer.body.message.content).toContain(userId === "ada" ? "nine" : "noon");
      expect(answer.body.message.content).not.toContain(userId === "ada" ? "noon" : "nine");
    }
  });

  test("a chat without a user searches the whole project", async () => {
    const answer = await send(await newChat(), { message: QUESTION, maxSources: 50 });
    expect([...ownersOf(answer)]).toEqual(expect.arrayContaining(["ada", "bob", null]));
  });

  test("filters restrict further, and never reach other users' memories", async () => {
    const chat = await newChat({ userId: "ada" });
    const answer = await send(chat, { message: QUESTION, filters: { tags: "morning crossing" } });
    expect(answer.body.message.sources).toHaveLength(1);
    expect((await send(chat, { message: QUESTION, filters: { userId: "bob" } })).body.message.sources).toEqual([]);
  });

  test("a confined key can use its user's chats, and finds its user's memories", async () => {
    const headers = {
      authorization: `Bearer ${mneme.addKey(["chats:read", "chats:write"], undefined, { userId: "bob" })}`,
    };
    const chat = (await mneme.call("POST", "/v1/chats", {}, headers)).body;
    expect(chat.userId).toBe("bob");
    expect(ownersOf(await send(chat.id, { message: QUESTION }, headers))).toEqual(new Set(["bob"]));
  });

  test("a source whose memory was moved to another user is no longer shown", async () => {
    const { body: memory } = await mneme.store({ content: "The key of the boathouse is blue.", userId: "cleo" });
    const chat = await newChat({ userId: "cleo" });
    const { message } = (await send(chat, { message: "What colour is the key of the boathouse?" })).body;
    expect(message.sources.map((source: { memory_id: string }) => source.memory_id)).toEqual([memory.id]);
    await mneme.call("PUT", `/v1/memories/${memory.id}`, { userId: "dora" });
    expect((await list(chat)).body.data[1].sources).toEqual([]);
    await mneme.call("PUT", `/v1/memories/${memory.id}`, { userId: "cleo" });
    expect((await list(chat)).body.data[1].sources).toEqual(message.sources);
  });
});

describe("order", () => {
  test("messages sent at once are answered one after the other", async () => {
    const chat = await newChat({ userId: "ada" });
    const questions = ["Where is the ferry?", "Is there a cafe?", "What about buns?", "And Lund?"];
    const answers = await Promise.all(questions.map((message) => send(chat, { message })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const stored: Message[] = (await mneme.call("GET", `/v1/chats/${chat}`)).body.messages;
    expect(stored.map(({ role }) => role)).toEqual(Array(4).fill(["user", "assistant"]).flat());
    expect(stored.flatMap(({ role, content }) => (role === "user" ? [content] : [])).sort()).toEqual(
      questions.toSorted(),
    );
    for (const [at, question] of questions.entries()) {
      const answer = stored[stored.findIndex(({ content }) => content === question) + 1];
      expect(answer).toEqual(answers[at]?.body.message);
    }
    const times = stored.map((message) => (message as unknown as { created_at: string }).created_at);
    expect([...times].sort()).toEqual(times);
  });

  test("messages in different chats do not wait for each other, and none is lost", async () => {
    const chats = await Promise.all(Array.from({ length: 8 }, () => newChat({ userId: "ada" })));
    await Promise.all(chats.map((chat) => send(chat, { message: QUESTION })));
    for (const chat of chats) expect((await list(chat)).body.data).toHaveLength(2);
  });
});

test("each answer counts as a query, and refused messages do not", async () => {
  const chat = await newChat({ userId: "ada" });
  const before = await used();
  await send(chat, { message: QUESTION });
  await send(chat, { message: "" });
  await send(chat, { message: QUESTION, filters: [] });
  await send("chat_00000000000000000000000000", { message: QUESTION });
  expect(await used()).toBe(before + 1);
});

describe("sendMessage, 400", () => {
  const refused: [name: string, body: unknown, code: string, param: string | undefined][] = [
    ["no message", {}, "invalid_request", "message"],
    ["a message of null", { message: null }, "invalid_request", "message"],
    ["an empty message", { message: "" }, "invalid_request", "message"],
    ["a blank message", { message: " \n\u3000" }, "invalid_request", "message"],
    ["a message of punctuation and invisible characters", { message: "?!\u200b" }, "invalid_request", "message"],
    ["32,769 characters of message", { message: "m".repeat(32_769) }, "invalid_request", "message"],
    ["an unknown mode", { message: "x", mode: "deep" }, "invalid_request", "mode"],
    ["a maxSources of 0", { message: "x", maxSources: 0 }, "invalid_request", "maxSources"],
    ["a maxSources of 51", { message: "x", maxSources: 51 }, "invalid_request", "maxSources"],
    ["empty instructions", { message: "x", instructions: "" }, "invalid_request", "instructions"],
    [
      "8,193 characters of instructions",
      { message: "x", instructions: "i".repeat(8_193) },
      "invalid_request",
      "instructions",
    ],
    ["filters that are a list", { message: "x", filters: [] }, "invalid_filter", "filters"],
    ["an unknown filter field", { message: "x", filters: { colour: 1 } }, "invalid_filter", "filters.colour"],
    ["an asOf that is no time", { message: "x", asOf: "yesterday" }, "invalid_request", "asOf"],
    ["an asOf on 31 June", { message: "x", asOf: "2026-06-31" }, "invalid_request", "asOf"],
    ["an asOf without a zone", { message: "x", asOf: "2026-06-30T12:00" }, "invalid_request", "asOf"],
    [
      "an asOf after the year 9999 in UTC",
      { message: "x", asOf: "9999-12-31T23:59:59-01:00" },
      "invalid_request",
      "asOf",
    ],
    ["an asOf that is a number", { message: "x", asOf: 1714694400000 }, "invalid_request", "asOf"],
    ["another user", { message: "x", userId: "bob" }, "invalid_request", "userId"],
    ["a query", { query: "x" }, "invalid_request", "query"],
    ["stream", { message: "x", stream: true }, "invalid_request", "stream"],
    ["a body that is a list", [], "invalid_request", undefined],
  ];
  for (const [name, body, code, param] of refused) {
    test(`${name} is refused by name, and nothing is stored`, async () => {
      const chat = await newChat();
      expectFault(await send(chat, body as object), 400, code, param);
      expect((await list(chat)).body.data).toEqual([]);
    });
  }
});

describe("listMessages", () => {
  let chat = "";
  /** All 210 messages, oldest first. */
  let all: { readonly id: string }[] = [];
  beforeAll(async () => {
    chat = await newChat({ userId: "nobody" });
    for (let at = 0; at < 105; at++) await send(chat, { message: `Question ${at}` });
    all = (await mneme.call("GET", `/v1/chats/${chat}`)).body.messages;
  });

  test("200: 50 by default, oldest first, with a cursor if there are more", async () => {
    const { status, body } = await list(chat);
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["cursor", "data", "has_more"]);
    expect(body.data).toEqual(all.slice(0, 50));
    expect(body.has_more).toBeTrue();
  });

  test("200: both ends of the range of limit, and pages of any size show everything once", async () => {
    expect((await list(chat, "?limit=200")).body.data).toEqual(all.slice(0, 200));
    for (const limit of [1, 7, 70, 200]) {
      const seen: unknown[] = [];
      let cursor: string | null = null;
      do {
        const page: Answered = await list(chat, `?limit=${limit}${cursor === null ? "" : `&cursor=${cursor}`}`);
        expect(page.body.has_more).toBe(page.body.cursor !== null);
        seen.push(...page.body.data);
        cursor = page.body.cursor;
      } while (cursor !== null);
      expect(seen).toEqual(all);
    }
  });

  test("200: messages between two pages come at the end, and neither repeat nor hide others", async () => {
    const first = await list(chat, "?limit=200");
    const { message } = (await send(chat, { message: "Said between two pages." })).body;
    const rest = await list(chat, `?limit=200&cursor=${first.body.cursor}`);
    expect(rest.body.data.slice(0, -2)).toEqual(all.slice(200));
    expect(rest.body.data.at(-1)).toEqual(message);
    expect([rest.body.has_more, rest.body.cursor]).toEqual([false, null]);
  });

  test("200: a chat without messages", async () => {
    expect((await list(await newChat())).body).toEqual({ data: [], has_more: false, cursor: null });
  });

  const refused: [query: string, code: string, param: string][] = [
    ["?limit=0", "invalid_request", "limit"],
    ["?limit=201", "invalid_request", "limit"],
    ["?limit=1.5", "invalid_request", "limit"],
    ["?role=user", "invalid_request", "role"],
    ["?cursor=", "invalid_cursor", "cursor"],
    ["?cursor=abc", "invalid_cursor", "cursor"],
  ];
  for (const [query, code, param] of refused) {
    test(`400: ${query} is refused by name`, async () => expectFault(await list(chat, query), 400, code, param));
  }

  test("400: a cursor is valid only for its chat, and unchanged", async () => {
    const { cursor } = (await list(chat, "?limit=2")).body;
    const other = await newChat();
    expectFault(await list(other, `?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await mneme.call("GET", `/v1/chats?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    for (let at = 0; at < cursor.length; at++) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
      expectFault(await list(chat, `?cursor=${changed}`), 400, "invalid_cursor", "cursor");
    }
  });
});

describe("a slow answer", () => {
  /** What the answer does next when a test tells it to: send a fragment, end, or fail. */
  type Cue = { readonly say: string } | "end" | Error;

  /** Creates a chat service on a real store, with answers that a test controls step by step. */
  async function openChats() {
    const folder = mkdtempSync(join(tmpdir(), "mneme-test-"));
    const time = new ManualClock();
    const path = join(folder, "mneme.sqlite");
    const stores = openStores({ path, clock: time, newWebhookSecret: () => "whsec_" });
    const { accounts, chats } = stores;
    const viewer = { projectId: await accounts.defaultProject(), userId: null };
    const asked: string[] = [];
    const cues = new Map<string, PromiseWithResolvers<Cue>>();
    const cueOf = (text: string) => {
      const cue = cues.get(text) ?? Promise.withResolvers<Cue>();
      cues.set(text, cue);
      return cue;
    };
    async function* say(text: string, signal: AbortSignal): AsyncGenerator<AnswerEvent> {
      asked.push(text);
      signal.throwIfAborted();
      const hungUp = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => hungUp.reject(signal.reason), { once: true });
      for (;;) {
        const cue = await Promise.race([cueOf(text).promise, hungUp.promise]);
        cues.delete(text);
        if (cue instanceof Error) throw cue;
        if (cue === "end") break;
        yield { type: "text", content: cue.say };
      }
      yield { type: "sources", sources: [] };
      yield { type: "usage", tokensUsed: 0, state: "not_found" };
    }
    const quota = new QueryQuota(stores.accounts, time);
    const service = new ChatService({
      chats: stores.chats,
      answers: {
        check: async () => ({ generation: null, evidenceMin: 0, mode: "fast" }),
        reserveQuery: ({ projectId }) => quota.reserve(projectId),
        answer: async (_viewer, { text }, { signal, reservation }) => ({
          events: say(text, signal),
          context: () => [],
          spent: () => ({ prompt: 0, completion: 0 }),
          count: (tx) => reservation.count(tx, { prompt: 0, completion: 0 }),
          release: () => reservation.release(),
        }),
      },
      transactions: stores.transactions,
      describeSource: () => ({}),
    });
    const chat = await chats.create(viewer.projectId, { userId: null, title: null });
    return {
      asked,
      cue: (text: string, cue: Cue) => cueOf(text).resolve(cue),
      send: (text: string, signal = new AbortController().signal) =>
        messageEvents(
          service.send(
            viewer,
            chat.id,
            { text, mode: "fast", maxSources: 8, filter: null, instructions: null },
            askerOf(signal),
          ),
          stores.transactions,
        ),
      remove: () => stores.transactions.run((tx) => service.remove(tx, viewer, chat.id)),
      stored: async () =>
        (await chats.history(viewer.projectId, chat.id)).map(({ role, content, isInterrupted }) => [
          role,
          content,
          ...(isInterrupted ? ["interrupted"] : []),
        ]),
      queries: async () => (await accounts.usage(viewer.projectId)).queries,
      [Symbol.dispose]: () => {
        stores.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  }

  const all = (events: AsyncIterable<MessageEvent>) => Array.fromAsync(events);

  test("the user's message is stored before the answer begins, the assistant's when it is complete", async () => {
    using chats = await openChats();
    const answered = all(chats.send("Why?"));
    await until("the answer begins", () => chats.asked.length === 1);
    expect(await chats.stored()).toEqual([["user", "Why?"]]);
    chats.cue("Why?", { say: "Because." });
    expect(await chats.stored()).toEqual([["user", "Why?"]]);
    await until("the fragment is said", async () => {
      chats.cue("Why?", "end");
      return (await chats.stored()).length === 2;
    });
    expect((await chats.stored())[1]).toEqual(["assistant", "Because."]);
    expect((await answered).map(({ type }) => type)).toEqual(["text", "message"]);
    expect(await chats.queries()).toBe(1);
  });

  test("the second message's answer does not begin before the first one's has ended", async () => {
    using chats = await openChats();
    const both = [all(chats.send("first")), all(chats.send("second"))];
    await until("the first answer begins", () => chats.asked.length === 1);
    chats.cue("second", { say: "2" });
    await new Promise(setImmediate);
    expect([chats.asked, await chats.stored()]).toEqual([["first"], [["user", "first"]]]);
    chats.cue("first", { say: "1" });
    await until("the first answer ends", () => {
      chats.cue("first", "end");
      return chats.asked.length === 2;
    });
    await until("the second answer ends", async () => {
      chats.cue("second", "end");
      return (await chats.stored()).length === 4;
    });
    await Promise.all(both);
    expect(await chats.stored()).toEqual([
      ["user", "first"],
      ["assistant", "1"],
      ["user", "second"],
      ["assistant", "2"],
    ]);
  });

  test("hanging up in the middle of an answer stores the partial answer, marked as interrupted, and counts as a query", async () => {
    using chats = await openChats();
    const hangUp = new AbortController();
    const events = chats.send("Tell me all.", hangUp.signal);
    chats.cue("Tell me all.", { say: "It began" });
    expect(await events.next()).toEqual({ done: false, value: { type: "text", content: "It began" } });
    const next = events.next();
    hangUp.abort(new Error("hung up"));
    await expect(next).rejects.toThrow("hung up");
    expect(await chats.stored()).toEqual([
      ["user", "Tell me all."],
      ["assistant", "It began", "interrupted"],
    ]);
    expect(await chats.queries()).toBe(1);
  });

  test("hanging up before the first text stores the user's message only, and does not count as a query", async () => {
    using chats = await openChats();
    const hangUp = new AbortController();
    const next = chats.send("Well?", hangUp.signal).next();
    await until("the answer begins", () => chats.asked.length === 1);
    hangUp.abort(new Error("hung up"));
    await expect(next).rejects.toThrow("hung up");
    expect([await chats.stored(), await chats.queries()]).toEqual([[["user", "Well?"]], 0]);
  });

  test("a message that is cancelled while it waits lets the next one proceed, in order", async () => {
    using chats = await openChats();
    const first = all(chats.send("first"));
    const second = chats.send("second");
    const third = all(chats.send("third"));
    await until("the first answer begins", () => chats.asked.length === 1);
    await second.return(undefined);
    expect(chats.asked).toEqual(["first"]);
    chats.cue("first", "end");
    await first;
    await until("the third answer begins", () => chats.asked.length === 2);
    chats.cue("third", "end");
    await third;
    expect((await chats.stored()).map(([role, content]) => [role, content])).toEqual([
      ["user", "first"],
      ["assistant", ""],
      ["user", "third"],
      ["assistant", ""],
    ]);
  });

  test("hanging up while an earlier message is answered stores nothing", async () => {
    using chats = await openChats();
    const first = all(chats.send("first"));
    const hangUp = new AbortController();
    const second = all(chats.send("never asked", hangUp.signal));
    await until("the first answer begins", () => chats.asked.length === 1);
    hangUp.abort(new Error("hung up"));
    chats.cue("first", "end");
    await first;
    await expect(second).rejects.toThrow("hung up");
    expect(chats.asked).toEqual(["first"]);
    expect((await chats.stored()).map(([, content]) => content)).toEqual(["first", ""]);
    expect(await chats.queries()).toBe(1);
  });

  test("an answer that fails is not stored, does not count, and does not delay the next", async () => {
    using chats = await openChats();
    const failing = chats.send("fails");
    chats.cue("fails", { say: "Half an" });
    await failing.next();
    chats.cue("fails", new Fault("llm_error", "The model answered with an error."));
    await expect(failing.next()).rejects.toMatchObject({ code: "llm_error" });
    expect([await chats.stored(), await chats.queries()]).toEqual([[["user", "fails"]], 0]);
    chats.cue("works", "end");
    await all(chats.send("works"));
    expect(await chats.stored()).toHaveLength(3);
  });

  test("a chat that is deleted during an answer stores no answer, and nothing is counted", async () => {
    using chats = await openChats();
    const answered = all(chats.send("gone"));
    await until("the answer begins", () => chats.asked.length === 1);
    await chats.remove();
    chats.cue("gone", "end");
    await expect(answered).rejects.toMatchObject({ code: "chat_not_found" });
    expect([await chats.stored(), await chats.queries()]).toEqual([[], 0]);
  });

  test("16 messages may wait, one more is refused as overloaded until one is answered", async () => {
    using chats = await openChats();
    const waiting = Array.from({ length: LIMITS.messagesWaitingPerChat + 1 }, (_, at) => all(chats.send(`m${at}`)));
    const refused = expect.objectContaining({ code: "overloaded", retryAfterSeconds: expect.any(Number) });
    await expect(chats.send("too many").next()).rejects.toEqual(refused);
    chats.cue("m0", "end");
    await waiting[0];
    const oneMore = all(chats.send("one more"));
    await expect(chats.send("too many").next()).rejects.toEqual(refused);
    for (const text of [...waiting.slice(1).map((_, at) => `m${at + 1}`), "one more"]) chats.cue(text, "end");
    await Promise.all([...waiting, oneMore]);
    expect(await chats.stored()).toHaveLength(2 * (LIMITS.messagesWaitingPerChat + 2));
  });
});
