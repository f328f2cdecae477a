// kill -9 and SIGTERM while a language model answers: the question survives, an incomplete answer only if the server
// had time to store it, and the chat continues after the next start.

import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventReader, expectWholeAnswer, type StreamedEvent } from "../support/event-stream.ts";
import {
  delta,
  event,
  hanging,
  type LlmAnswering,
  type LlmCall,
  stalling,
  startLlm,
  streamed,
} from "../support/llm.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

const dataDir = mkdtempSync(join(tmpdir(), "mneme-crash-generation-"));
const llm = startLlm();
let running: RunningServer | null = null;
const start = async (): Promise<RunningServer> => {
  running = await startServer({
    dataDir,
    environment: { MNEME_LLM_BASE_URL: llm.baseUrl, MNEME_LLM_MODEL: "small", MNEME_EMBEDDER: ENGLISH },
  });
  return running;
};
beforeAll(async () => {
  llm.answer(() => streamed(["nothing"]));
  const server = await start();
  await server.call("PUT", "/v1/project", { smart_ingestion: { enabled: false } });
  const { body } = await server.call("POST", "/v1/memories", { content: "The ferry to Lunde leaves at six." });
  const { id } = body as { readonly id: string };
  await until("it is completed", async () => {
    return ((await server.call("GET", `/v1/memories/${id}`)).body as { status: string }).status === "completed";
  });
  await server.stop();
});
afterEach(async () => {
  await running?.kill();
});
afterAll(async () => {
  await llm.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const QUESTION = "When does the ferry to Lunde leave?";
const ANSWER = "It leaves at six [1].";

/** A stored message. */
interface Stored {
  readonly role: string;
  readonly content: string;
  readonly interrupted?: boolean;
  readonly sources?: readonly unknown[];
}

const isRewriting = ({ body }: LlmCall): boolean => !JSON.stringify(body.messages).includes("<source id=");
const answering = (how: LlmAnswering): void =>
  llm.answer((call) => (isRewriting(call) ? streamed([QUESTION]) : how(call)));

async function newChat(server: RunningServer): Promise<string> {
  return ((await server.call("POST", "/v1/chats", {})).body as { readonly id: string }).id;
}

async function messages(server: RunningServer, chat: string): Promise<readonly Stored[]> {
  return ((await server.call("GET", `/v1/chats/${chat}`)).body as { readonly messages: readonly Stored[] }).messages;
}

/** Asks a question and reads the whole answer. Returns null if the connection broke before the end. */
async function ask(
  server: RunningServer,
  chat: string,
  onText: (text: string) => void,
): Promise<readonly StreamedEvent[] | null> {
  const events: StreamedEvent[] = [];
  try {
    const reader = new EventReader(
      await fetch(`${server.url}/v1/chats/${chat}/messages/stream`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
        body: JSON.stringify({ message: QUESTION, mode: "fast" }),
      }),
    );
    for (let event = await reader.next(); event !== null; event = await reader.next()) {
      events.push(event);
      if (event.name === "text") onText(event.data.content);
    }
    return events;
  } catch {
    return null; // the server is gone
  }
}

/** Asks another question in the chat. Expects an answer, and the earlier messages in the prompt. */
async function expectGoesOn(server: RunningServer, chat: string, before: readonly string[]): Promise<void> {
  answering(() => streamed([ANSWER]));
  const { status, body } = await server.call("POST", `/v1/chats/${chat}/messages`, { message: "And when?" });
  expect([status, (body as { readonly message: Stored }).message.content]).toEqual([200, ANSWER]);
  const prompt = llm.calls.at(-1)?.body.messages.slice(1, -1);
  expect(prompt?.map(({ content }) => content)).toEqual([QUESTION, ...before]);
}

const points: readonly [name: string, how: LlmAnswering, said: string][] = [
  ["before the model says anything", hanging, ""],
  ["in the middle of its answer", stalling(event(delta("It leaves ")) + event(delta("at"))), "It leaves at"],
];
for (const [name, how, said] of points) {
  test(`killed ${name}: the question is stored, no answer is, and the chat continues`, async () => {
    const server = await start();
    const chat = await newChat(server);
    answering(how);
    const calls = llm.calls.length;
    let heard = "";
    const gone = ask(server, chat, (text) => {
      heard += text;
    });
    await until("the model is asked", () => llm.calls.length > calls);
    await until("what it said is heard", () => heard === said);
    await server.kill();
    await gone;

    const again = await start();
    const asked = { role: "user", content: QUESTION };
    expect(await messages(again, chat)).toMatchObject([asked]);
    await expectGoesOn(again, chat, ["(This was not answered.)"]);
    expect((await messages(again, chat)).map(({ role }) => role)).toEqual(["user", "user", "assistant"]);
  });
}

test("stopped while an answer is about to end: it is completed and stored", async () => {
  const server = await start();
  const chat = await newChat(server);
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  answering(() => {
    const pull = async (stream: ReadableStreamDefaultController) => {
      await goesOn;
      stream.enqueue(Buffer.from(await streamed([" at six [1]."]).text()));
      stream.close();
    };
    const head = (stream: ReadableStreamDefaultController) => stream.enqueue(Buffer.from(event(delta("It leaves"))));
    return new Response(new ReadableStream({ start: head, pull }), {
      headers: { "content-type": "text/event-stream" },
    });
  });
  let heard = "";
  const events = ask(server, chat, (text) => {
    heard += text;
  });
  await until("it has begun", () => heard !== "");
  const stopped = server.stop();
  await until("it stops", () => server.stdout().includes("stopping"));
  goOn();
  expect(expectWholeAnswer((await events) ?? []).answer).toBe(ANSWER);
  expect(await stopped).toBe(0);

  const again = await start();
  expect(await messages(again, chat)).toMatchObject([{ role: "user" }, { role: "assistant", content: ANSWER }]);
  await expectGoesOn(again, chat, ["It leaves at six."]);
});

test("stopped while an answer takes too long: the text so far is stored as interrupted", async () => {
  const server = await start();
  const chat = await newChat(server);
  answering(stalling(event(delta("It leaves at six [1] "))));
  let heard = "";
  const gone = ask(server, chat, (text) => {
    heard += text;
  });
  await until("it has begun", () => heard === "It leaves at six [1]");
  expect(await server.stop()).toBe(0);
  expect(await gone).toBeNull();
  await until("no call of the model is under way", () => llm.underWay() === 0);

  const again = await start();
  const [asked, said] = await messages(again, chat);
  expect(asked?.content).toBe(QUESTION);
  expect(said).toMatchObject({ role: "assistant", content: "It leaves at six [1]", interrupted: true });
  expect(said?.sources).toHaveLength(1);
  await expectGoesOn(again, chat, ["It leaves at six"]);
});
