// Chats with a language model: which earlier turns are used for the next answer.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { expectWholeAnswer, openStream } from "../support/event-stream.ts";
import {
  delta,
  event,
  hanging,
  type LlmCall,
  type LlmStub,
  SHORT_LIMITS,
  stalling,
  startLlm,
  status,
  streamed,
} from "../support/llm.ts";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

let mneme: TestService;
/** A service whose model has little time. */
let impatient: TestService;
let llm: LlmStub;
beforeAll(async () => {
  llm = startLlm();
  mneme = await serviceOfKell();
  impatient = await serviceOfKell(SHORT_LIMITS);
});
afterAll(async () => {
  await mneme.stop();
  await impatient.stop();
  await llm.stop();
});

async function serviceOfKell(limits: Partial<typeof SHORT_LIMITS> = {}): Promise<TestService> {
  const service = await startService({
    countsWords: true,
    config: { llmBaseUrl: llm.baseUrl, llmModel: "small", ...limits },
  });
  // the memories match some questions of this file only loosely; test/services/evidence.test.ts tests refusals
  await service.call("PUT", "/v1/project", { smart_ingestion: { enabled: false }, min_evidence: 0 });
  const memories = [
    { content: "The observatory on Mount Kell was opened in 1924 by Nora Lind.", userId: "ada" },
    { content: "The telescope of the observatory weighs four tonnes and is turned by hand.", userId: "ada" },
    { content: "The observatory on Mount Kell is haunted.", userId: "bob" },
  ];
  const { body } = await service.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await service.settled(memory.id);
  return service;
}

/** Whether a call asks for question rewriting instead of an answer. */
const isRewriting = ({ body }: LlmCall): boolean => !JSON.stringify(body.messages).includes("<source id=");
const answering =
  (answer: string, standalone = "When was the observatory on Mount Kell opened?") =>
  (call: LlmCall) =>
    streamed([isRewriting(call) ? standalone : answer], { prompt: 100, completion: 10 });
beforeEach(() => llm.answer(answering("In 1924 [1].")));

const newChat = async (userId = "ada", service = mneme): Promise<string> =>
  (await service.call("POST", "/v1/chats", { userId })).body.id;
const send = (chat: string, message: string, more: object = {}, service = mneme) =>
  service.call("POST", `/v1/chats/${chat}/messages`, { message, ...more });
const messages = async (chat: string, service = mneme) =>
  (await service.call("GET", `/v1/chats/${chat}`)).body.messages;
const roles = async (chat: string, service = mneme) =>
  (await messages(chat, service)).map(({ role }: { role: string }) => role);
const callsSince = (count: number) => llm.calls.slice(count);

describe("earlier turns", () => {
  test("a first message has none: one call, no rewriting", async () => {
    const before = llm.calls.length;
    const { status: code, body } = await send(await newChat(), "When was the observatory opened?");
    expect([code, body.message.content]).toEqual([200, "In 1924 [1]."]);
    expect(callsSince(before).map(isRewriting)).toEqual([false]);
  });

  test("make the next question self-contained, and are in the prompt without citation numbers", async () => {
    const chat = await newChat();
    await send(chat, "Who opened the observatory on Mount Kell?");
    const before = llm.calls.length;
    const { body } = await send(chat, "And when?", { mode: "fast" });
    const [rewriting, answer] = callsSince(before);
    expect(callsSince(before).map(isRewriting)).toEqual([true, false]);
    expect(JSON.stringify(rewriting?.body.messages)).toContain("And when?");
    expect(answer?.body.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(answer?.body.messages[2]?.content).toBe("In 1924.");
    expect(answer?.body.messages[3]?.content).toContain("And when?");
    // without question rewriting, "And when?" would not find the observatory
    expect(body.message.sources[0].content).toContain("opened in 1924");
  });

  test("are used by local rules if the model cannot make the question self-contained", async () => {
    for (const how of [status(500), () => streamed([""])]) {
      const chat = await newChat();
      llm.answer(answering("In 1924 [1]."));
      await send(chat, "Who opened the observatory on Mount Kell?");
      llm.answer((call) => (isRewriting(call) ? how(call) : streamed(["In 1924 [1]."])));
      const { status: code, body } = await send(chat, "And when was it opened?");
      expect([code, body.message.content]).toEqual([200, "In 1924 [1]."]);
      expect(body.message.sources[0].content).toContain("Mount Kell");
    }
  });

  test("are used by local rules if the model is silent when it should make the question self-contained", async () => {
    const chat = await newChat("ada", impatient);
    const sent = (message: string) => async () => (await send(chat, message, {}, impatient)).status === 200;
    // on a busy machine, the short time limit can also end the call for the answer
    await until("the first message is answered", sent("Who opened the observatory on Mount Kell?"));
    llm.answer((call) => (isRewriting(call) ? hanging(call) : streamed(["In 1924 [1]."])));
    await until("the next message is answered", sent("And when was it opened?"));
    const last = (await messages(chat, impatient)).at(-1);
    expect(last.content).toBe("In 1924 [1].");
    expect(last.sources[0].content).toContain("Mount Kell");
  });

  test("that quote a deleted memory are left out", async () => {
    const { id } = (await mneme.store({ content: "The safe of the observatory opens with 4711.", userId: "eve" })).body;
    await mneme.store({ content: "The door of the observatory is green.", userId: "eve" });
    const chat = await newChat("eve");
    llm.answer((call) => {
      const number = /<source id="(\d+)"[^>]*>[^<]*4711/.exec(call.body.messages.at(-1)?.content ?? "")?.[1];
      return streamed([number === undefined ? "Nobody says." : `With 4711 [${number}].`]);
    });
    expect((await send(chat, "How does the safe open?")).body.message.content).toBe("With 4711 [1].");
    expect((await mneme.call("DELETE", `/v1/memories/${id}`)).status).toBe(204);
    const before = llm.calls.length;
    expect((await send(chat, "Say that again?")).body.message.content).toBe("Nobody says.");
    expect(JSON.stringify(callsSince(before).map(({ body }) => body.messages))).not.toContain("4711");
  });

  test("that had a deleted memory as a source are left out, cited or not, and turns that repeat them", async () => {
    const { id } = (await mneme.store({ content: "The vault opens with 5822.", userId: "finn" })).body;
    await mneme.store({ content: "The door of the vault is green.", userId: "finn" });
    const chat = await newChat("finn");
    llm.answer(answering("With 5822.", "How does the vault open?"));
    await send(chat, "How does the vault open?");
    llm.answer(answering("As I said, 5822, and the door is green.", "What of the door of the vault?"));
    await send(chat, "And the door?");
    expect((await mneme.call("DELETE", `/v1/memories/${id}?purge=true`)).status).toBe(204);
    const before = llm.calls.length;
    await send(chat, "Once more?");
    expect(JSON.stringify(callsSince(before).map(({ body }) => body.messages))).not.toContain("5822");
  });

  test("cost no call if there is nothing to find", async () => {
    const chat = await newChat();
    await send(chat, "Who opened the observatory on Mount Kell?");
    const before = llm.calls.length;
    const { body } = await send(chat, "And when?", { filters: { type: "none such" } });
    expect([body.message.sources, callsSince(before)]).toEqual([[], []]);
  });

  test("keep code in brackets", async () => {
    const chat = await newChat();
    llm.answer(answering("Use `args[0]` for it [1]."));
    await send(chat, "Who opened the observatory on Mount Kell?");
    const before = llm.calls.length;
    await send(chat, "And when?");
    expect(callsSince(before).at(-1)?.body.messages[2]?.content).toMatch(/^Use `args.*` for it\.$/);
  });

  test("of another chat are not used", async () => {
    await send(await newChat(), "Who opened the observatory? My word is xylophone.");
    const before = llm.calls.length;
    await send(await newChat(), "And when?");
    expect(JSON.stringify(callsSince(before).map(({ body }) => body.messages))).not.toContain("xylophone");
  });
});

describe("what is stored", () => {
  test("a repeated stream is the same, including the tokens", async () => {
    const chat = await newChat();
    const once = async () => {
      const headers = { "idempotency-key": "again" };
      const path = `/v1/chats/${chat}/messages/stream`;
      return expectWholeAnswer(
        await (await openStream(mneme, path, { message: "When was it opened?" }, headers)).rest(),
      );
    };
    const first = await once();
    expect(first.usage).toEqual({ tokens_used: 110 });
    expect(await once()).toEqual(first);
  });

  test("the user's message is stored before the model is called; instructions, filters, maxSources and asOf apply", async () => {
    const chat = await newChat();
    let stored: unknown;
    llm.answer(async () => {
      stored = (await messages(chat)).map(({ content }: { content: string }) => content);
      return streamed(["In 1924 [1]."]);
    });
    await send(chat, "When was it opened?", {
      ...{ instructions: "Be rude.", maxSources: 1, filters: { userId: "ada" }, asOf: "2024-05-03" },
    });
    expect(stored).toEqual(["When was it opened?"]);
    const call = llm.calls.at(-1);
    expect(call?.body.messages[0]?.content).toContain("Be rude.");
    expect(call?.body.messages[0]?.content).toContain("Today is Friday, 2024-05-03 (UTC)");
    expect([...(call?.body.messages.at(-1)?.content ?? "").matchAll(/<source id=/g)]).toHaveLength(1);
  });

  test("nothing of a request that is refused early", async () => {
    const chat = await newChat();
    const refused = await send(chat, "When was it opened?", { instructions: "指".repeat(8_192) });
    expectFault(refused, 400, "invalid_request", "instructions");
    expect(await messages(chat)).toEqual([]);
  });

  test("only the question after a failure; the next one is answered", async () => {
    const chat = await newChat();
    llm.answer(status(500));
    expectFault(await send(chat, "When was it opened?"), 502, "llm_error");
    llm.answer(answering("In 1924 [1]."));
    expect((await send(chat, "Now?")).status).toBe(200);
    expect(await roles(chat)).toEqual(["user", "user", "assistant"]);
  });

  test("only the question after a time limit", async () => {
    const chat = await newChat("ada", impatient);
    llm.answer(hanging);
    expectFault(await send(chat, "When was it opened, please?", {}, impatient), 504, "llm_timeout");
    expect(await roles(chat, impatient)).toEqual(["user"]);
  });

  test("a stream as it was sent; after a hang-up the partial answer, marked as interrupted, with its sources", async () => {
    const chat = await newChat();
    const whole = expectWholeAnswer(
      await (
        await openStream(mneme, `/v1/chats/${chat}/messages/stream`, { message: "When was the observatory opened?" })
      ).rest(),
    );
    expect((await messages(chat))[1]).toMatchObject({ content: whole.answer, sources: whole.sources });
    expect(whole.usage).toEqual({ tokens_used: 110 });

    let hasEnded = false;
    llm.answer((call) => {
      if (isRewriting(call)) return streamed(["When was the observatory opened?"]);
      call.signal.addEventListener("abort", () => {
        hasEnded = true;
      });
      return stalling(event(delta("In 1924 [1] it")))(call);
    });
    const reader = await openStream(mneme, `/v1/chats/${chat}/messages/stream`, { message: "Again?" });
    expect((await reader.next())?.data.content).toBe("In 1924 [1] it");
    await reader.hangUp();
    await until("the model's connection is closed", () => hasEnded);
    await until("what was said is stored", async () => (await messages(chat)).length === 4);
    const last = (await messages(chat)).at(-1);
    expect(last).toMatchObject({ content: "In 1924 [1] it", interrupted: true });
    // the message also lists the source that it has not cited yet: its text may contain words of this source, and must
    // disappear when the source's memory is deleted
    expect(last.sources.map(({ cited }: { cited: boolean }) => cited)).toEqual([true, false]);
  });
});

test("two chats of 50 messages each in parallel keep their order, and none is lost", async () => {
  llm.answer((call) => {
    const asked = /number (\d+)/.exec(call.body.messages.at(-1)?.content.split("<question>").at(-1) ?? "")?.[1];
    return streamed([isRewriting(call) ? `What of number ${asked}?` : `Number ${asked} it is [1].`]);
  });
  const chats = [await newChat(), await newChat()];
  // ten messages at a time in each chat; 16 may wait
  for (let first = 0; first < 50; first += 10) {
    const sent = chats.flatMap((chat) =>
      Array.from({ length: 10 }, (_, at) => send(chat, `Tell me of number ${first + at}.`, { mode: "fast" })),
    );
    for (const { status: code } of await Promise.all(sent)) expect(code).toBe(200);
  }
  for (const chat of chats) {
    const said = (await messages(chat)).map(({ content }: { content: string }) => content);
    for (let first = 0; first < 50; first += 10) {
      const batch = said.slice(2 * first, 2 * first + 20);
      const pairs = Array.from({ length: 10 }, (_, at) => batch.slice(2 * at, 2 * at + 2));
      // requests that are sent at once arrive in any order if their keys are looked up in a database
      const inOrder = mneme.database === null ? pairs : pairs.toSorted();
      expect(inOrder).toEqual(
        Array.from({ length: 10 }, (_, at) => [`Tell me of number ${first + at}.`, `Number ${first + at} it is [1].`]),
      );
    }
  }
});
