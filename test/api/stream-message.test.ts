// POST /v1/chats/{id}/messages/stream: the streamed answer, what is stored, and what remains after a hang-up.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { type EventReader, expectWholeAnswer, openStream } from "../support/event-stream.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { withModelsAway } from "../support/unfinished.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
  // the memories match some questions of this file only loosely; test/services/evidence.test.ts tests refusals
  await mneme.call("PUT", "/v1/project", { min_evidence: 0 });
  const memories = [
    { content: "The observatory on Mount Kell was opened in 1924 by Nora Lind.", userId: "ada" },
    { content: "The telescope of the observatory weighs four tonnes and is turned by hand.", userId: "ada" },
    { content: "Visitors reach the observatory by a cable car from the village of Torp.", userId: "ada" },
    { content: "The observatory on Mount Kell is haunted.", userId: "bob" },
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await mneme.settled(memory.id);
});
afterAll(() => mneme.stop());

const newChat = async (userId = "ada"): Promise<string> => (await mneme.call("POST", "/v1/chats", { userId })).body.id;
const stream = (chat: string, body: object): Promise<EventReader> =>
  openStream(mneme, `/v1/chats/${chat}/messages/stream`, body);
const messages = async (chat: string) => (await mneme.call("GET", `/v1/chats/${chat}`)).body.messages;
const used = async (): Promise<number> => (await mneme.call("GET", "/v1/usage")).body.queries.used;

const QUESTION = "When was the observatory opened, how heavy is its telescope, and how do visitors reach it?";

describe("200", () => {
  test("texts, then sources, usage and done; stored as it was streamed", async () => {
    for (const mode of MODE_NAMES) {
      const chat = await newChat();
      const whole = expectWholeAnswer(await (await stream(chat, { message: QUESTION, mode })).rest());
      expect([whole.usage, whole.answer_state]).toEqual([{ tokens_used: 0 }, "answered"]);
      const [asked, answered] = await messages(chat);
      expect([asked.role, asked.content, asked.answer_state]).toEqual(["user", QUESTION, null]);
      expect(answered).toMatchObject({ role: "assistant", content: whole.answer, sources: whole.sources });
      expect(answered.answer_state).toBe("answered");
      expect(answered).not.toHaveProperty("interrupted");
    }
  });

  test("is the same answer as that of sendMessage", async () => {
    const whole = expectWholeAnswer(await (await stream(await newChat(), { message: QUESTION })).rest());
    const sent = await mneme.call("POST", `/v1/chats/${await newChat()}/messages`, { message: QUESTION });
    expect(sent.body.message).toMatchObject({ content: whole.answer, sources: whole.sources });
  });

  test("arrives sentence by sentence, each with its citation, numbered by first appearance", async () => {
    const events = await (await stream(await newChat(), { message: QUESTION })).rest();
    const texts = events.filter(({ name }) => name === "text").map(({ data }) => data.content);
    expect(texts.length).toBeGreaterThan(1);
    for (const text of texts) expect(text).toMatch(/ \[\d\]$/);
    const numbers = new Set([...texts.join("").matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number)));
    expect([...numbers]).toEqual([...numbers].map((_, at) => at + 1));
  });

  test("has the headers of every answer", async () => {
    const reader = await stream(await newChat(), { message: QUESTION });
    const { response } = reader;
    expect(response.status).toBe(200);
    for (const name of ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]) {
      expect(response.headers.get(name)).toBeString();
    }
    await reader.hangUp();
  });

  test("searches the memories of the chat's user, and applies filters and maxSources", async () => {
    const whole = async (chat: string, more: object) =>
      expectWholeAnswer(await (await stream(chat, { message: QUESTION, ...more })).rest());
    expect((await whole(await newChat("bob"), {})).sources).toHaveLength(1);
    expect((await whole(await newChat(), { maxSources: 2 })).sources).toHaveLength(2);
    expect((await whole(await newChat(), { filters: { userId: "bob" } })).sources).toEqual([]);
    expect((await whole(await newChat("nobody"), {})).sources).toEqual([]);
  });

  test("the user's message is stored before the first event, the assistant's not yet", async () => {
    const chat = await newChat();
    const reader = await stream(chat, { message: QUESTION });
    expect((await reader.next())?.name).toBe("text");
    expect((await messages(chat)).map(({ role }: { role: string }) => role)).toEqual(["user"]);
    await reader.rest();
    expect((await messages(chat)).map(({ role }: { role: string }) => role)).toEqual(["user", "assistant"]);
  });

  test("counts as a query when it is complete", async () => {
    const before = await used();
    const reader = await stream(await newChat(), { message: QUESTION });
    await reader.next();
    expect(await used()).toBe(before);
    await reader.rest();
    expect(await used()).toBe(before + 1);
  });
});

describe("two at once", () => {
  test("a message during another stream is answered after it", async () => {
    const chat = await newChat();
    const first = await stream(chat, { message: QUESTION });
    await first.next();
    let isAnswered = false;
    const second = mneme.call("POST", `/v1/chats/${chat}/messages`, { message: "Is it haunted?" }).then((answer) => {
      isAnswered = true;
      return answer;
    });
    await first.next();
    expect([isAnswered, (await messages(chat)).length]).toEqual([false, 1]);
    await first.rest();
    expect((await second).status).toBe(200);
    expect(
      (await messages(chat)).map(({ role, content }: Record<string, string>) => (role === "user" ? content : role)),
    ).toEqual([QUESTION, "assistant", "Is it haunted?", "assistant"]);
  });

  test("after a hang-up the next one proceeds", async () => {
    const chat = await newChat();
    const [first, second] = [await stream(chat, { message: QUESTION }), await stream(chat, { message: "How heavy?" })];
    await first.next();
    await first.hangUp();
    expectWholeAnswer(await second.rest());
    expect((await messages(chat)).map(({ interrupted = false }) => interrupted)).toEqual([false, true, false, false]);
  });

  test("a hang-up while waiting leaves nothing", async () => {
    const chat = await newChat();
    const before = await used();
    const [first, second] = [
      await stream(chat, { message: QUESTION }),
      await stream(chat, { message: "Never asked." }),
    ];
    await first.next();
    await second.hangUp();
    await first.rest();
    const third = await stream(chat, { message: "How heavy?" });
    expectWholeAnswer(await third.rest());
    expect(JSON.stringify(await messages(chat))).not.toContain("Never asked.");
    expect(await used()).toBe(before + 2);
  });
});

describe("a caller who hangs up", () => {
  test("leaves the partial answer, marked as interrupted, with its citations and sources; it counts as a query", async () => {
    const whole = expectWholeAnswer(await (await stream(await newChat(), { message: QUESTION })).rest());
    for (const heard of [1, 2]) {
      const chat = await newChat();
      const before = await used();
      const reader = await stream(chat, { message: QUESTION });
      let said = "";
      for (let at = 0; at < heard; at++) said += (await reader.next())?.data.content;
      await reader.hangUp();
      const [, stored] = await until("what was said is stored", async () => {
        const found = await messages(chat);
        return found.length === 2 && found;
      });
      expect(whole.answer).toStartWith(said);
      expect(stored).toMatchObject({ role: "assistant", content: said, interrupted: true });
      const cited = new Set([...said.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number))).size;
      expect(stored.sources).toEqual(whole.sources.slice(0, cited));
      expect((await mneme.call("GET", `/v1/chats/${chat}/messages`)).body.data[1]).toEqual(stored);
      expect(await used()).toBe(before + 1);
    }
  });

  test("by closing the connection leaves the same", async () => {
    const chat = await newChat();
    const connection = new AbortController();
    const response = await mneme.service.handle(
      new Request(`http://mneme.test/v1/chats/${chat}/messages/stream`, {
        method: "POST",
        headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ message: QUESTION }),
        signal: connection.signal,
      }),
    );
    const reader = response.body?.getReader();
    await reader?.read();
    connection.abort();
    const [, stored] = await until("what was said is stored", async () => {
      const found = await messages(chat);
      return found.length === 2 && found;
    });
    expect(stored).toMatchObject({ interrupted: true, content: expect.stringMatching(/ \[1\]$/) });
    expect(stored.sources).toHaveLength(1);
  });

  test("before the first event leaves the chat as it was", async () => {
    const chat = await newChat();
    const before = await used();
    await (await stream(chat, { message: QUESTION })).hangUp();
    expect([await messages(chat), await used()]).toEqual([[], before]);
  });

  test("after the last text leaves the complete answer", async () => {
    const chat = await newChat();
    const reader = await stream(chat, { message: QUESTION });
    for (let event = await reader.next(); event?.name !== "sources"; event = await reader.next());
    await reader.hangUp();
    const [, stored] = await messages(chat);
    expect(stored).not.toHaveProperty("interrupted");
    expect(stored.sources.length).toBeGreaterThan(0);
  });
});

describe("errors before the stream are HTTP statuses", () => {
  const refused: [name: string, body: unknown, code: string, param: string | undefined][] = [
    ["no message", {}, "invalid_request", "message"],
    ["a blank message", { message: " " }, "invalid_request", "message"],
    ["32,769 characters of message", { message: "m".repeat(32_769) }, "invalid_request", "message"],
    ["an unknown mode", { message: "x", mode: "deep" }, "invalid_request", "mode"],
    ["a maxSources of 0", { message: "x", maxSources: 0 }, "invalid_request", "maxSources"],
    ["a maxSources of 51", { message: "x", maxSources: 51 }, "invalid_request", "maxSources"],
    ["filters that are a text", { message: "x", filters: "type" }, "invalid_filter", "filters"],
    ["stream, which it always does", { message: "x", stream: true }, "invalid_request", "stream"],
  ];
  for (const [name, body, code, param] of refused) {
    test(`400: ${name}`, async () => {
      const chat = await newChat();
      expectFault(await mneme.call("POST", `/v1/chats/${chat}/messages/stream`, body), 400, code, param);
      expect(await messages(chat)).toEqual([]);
    });
  }

  test("32,768 characters of message are accepted", async () => {
    expectWholeAnswer(await (await stream(await newChat("nobody"), { message: "m".repeat(32_768) })).rest());
  });

  test("404: an unknown chat", async () => {
    const path = "/v1/chats/chat_00000000000000000000000000/messages/stream";
    expectFault(await mneme.call("POST", path, { message: "x" }), 404, "chat_not_found", "id");
  });
});

describe("later errors are events", () => {
  test("error: a chat that is deleted while it is answered", async () => {
    const chat = await newChat();
    const before = await used();
    const reader = await stream(chat, { message: QUESTION });
    await reader.next();
    expect((await mneme.call("DELETE", `/v1/chats/${chat}`)).status).toBe(204);
    const last = (await reader.rest()).at(-1);
    expect(last).toMatchObject({ name: "error", data: { error: { code: "chat_not_found", status: 404 } } });
    expect(await used()).toBe(before);
  });

  test("error: the models are unavailable; the user's message is stored, no answer is, and it does not count", async () =>
    withModelsAway(async (bare) => {
      const { id } = (await bare.call("POST", "/v1/chats", {})).body;
      const reader = await openStream(bare, `/v1/chats/${id}/messages/stream`, { message: "models?" });
      const events = await reader.rest();
      expect(events.map(({ name }) => name)).toEqual(["error"]);
      expect(events[0]?.data.error).toMatchObject({
        ...{ code: "model_unavailable", status: 503 },
        request_id: reader.response.headers.get("x-request-id"),
      });
      expectFault(await bare.call("POST", `/v1/chats/${id}/messages`, { message: "and?" }), 503, "model_unavailable");
      const stored = (await bare.call("GET", `/v1/chats/${id}`)).body.messages;
      expect(stored.map(({ role, content }: Record<string, string>) => [role, content])).toEqual([
        ["user", "models?"],
        ["user", "and?"],
      ]);
      expect((await bare.call("GET", "/v1/usage")).body.queries.used).toBe(0);
    }));
});
