// Many callers hang up during answers of a language model: at any point, by closing the stream or by aborting the
// request. No resource is leaked, and no chat loses or duplicates a question.

import { heapStats } from "bun:jsc";
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import { monthOf } from "../../src/domain/project.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { EventReader } from "../support/event-stream.ts";
import { type LlmCall, type LlmStub, startLlm, streamed, trickling } from "../support/llm.ts";
import { seeded } from "../support/seeded.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { changeRows } from "../support/stored-rows.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_124);
const CHATS = 25;
/** Number of concurrent callers. */
const CALLERS = 50;
/** Number of callers before the heap is measured for the first time. */
const WARM_UP = 200;
const HANG_UPS = process.env.MNEME_TEST_STORE === "postgres" ? 200 : 1_000;
/** Maximum number of concurrent calls of the model. Most callers wait for a slot, and some hang up while they wait. */
const CONCURRENCY = 8;
const QUESTION = "When was the windmill of Ostra built?";
const PARTS = ["It was ", "built in ", "1788 ", "[", "1", "], ", "and is ", "still ", "turning ", "[2", ", 1]."];
const ANSWER = "It was built in 1788 [1], and is still turning [2][1].";
/** Maximum number of text events that a caller reads before it hangs up. */
const TEXTS = 5;
const WAIT_MS = 30;

let mneme: TestService;
let llm: LlmStub;
beforeAll(async () => {
  llm = startLlm();
  mneme = await startService({
    countsWords: true,
    config: { llmBaseUrl: llm.baseUrl, llmModel: "small", llmConcurrency: CONCURRENCY },
  });
  // the memories match some questions of this file only loosely; test/services/evidence.test.ts tests refusals
  await mneme.call("PUT", "/v1/project", { smart_ingestion: { enabled: false }, min_evidence: 0 });
  const memories = [
    { content: "The windmill of Ostra was built in 1788 by Per Lund.", userId: "ida" },
    { content: "The windmill of Ostra still turns on windy days.", userId: "ida" },
  ];
  const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
  for (const { memory } of body.data) await mneme.settled(memory.id);
});
afterAll(async () => {
  await mneme.stop();
  await llm.stop();
});

test(`${HANG_UPS} hang-ups leave nothing behind (seed ${SEED})`, async () => {
  const random = seeded(SEED);
  let answers = 0;
  // one in three answers ends by itself if the caller reads on; the others stay open
  llm.answer((call) =>
    isRewriting(call) ? streamed([QUESTION]) : trickling(PARTS, { stays: answers++ % 3 > 0 })(call),
  );
  const chats = await Promise.all(Array.from({ length: CHATS }, newChat));
  /** For each question text: the chat in which it was asked, and whether the caller received part of the answer. */
  const asked = new Map<string, { readonly chat: string; hasHeard: boolean }>();
  let underWayMost = 0;

  const hangUpOnce = async (at: number) => {
    const stop = new AbortController();
    const chat = at % 2 === 0 ? chats[(at / 2) % CHATS] : undefined;
    const text = `${QUESTION} (${at})`;
    const question = { chat: chat ?? "", hasHeard: false };
    if (chat !== undefined) asked.set(text, question);
    const [point, cancels, texts, ms] = [random(), random() < 0.5, random() * TEXTS, random() * WAIT_MS];
    const answering = mneme.service.handle(streaming(text, chat, stop.signal));
    if (point < 0.15) stop.abort();
    const response = await answering;
    if (point < 0.15) return;
    expect(response.status).toBe(200);
    const reader = new EventReader(response);
    const hangUp = async () => (cancels ? reader.hangUp() : stop.abort());
    if (point < 0.5) {
      // hang up while the server waits: for an earlier answer in the chat, the search, a call slot or the first text
      await Promise.all([reader.next(), systemClock.sleep(ms).then(hangUp)]);
      return;
    }
    for (let read = 0; read < texts; read++) {
      expect((await reader.next())?.name).toBe("text");
      question.hasHeard = true;
    }
    underWayMost = Math.max(underWayMost, llm.underWay());
    await hangUp();
  };
  let number = 0;
  const round = async (count: number): Promise<number> => {
    const end = number + count;
    const worker = async () => {
      while (number < end) await hangUpOnce(number++);
    };
    await Promise.all(Array.from({ length: CALLERS }, worker));
    await until("no call of the model is under way", () => llm.underWay() === 0);
    await until("no call slot is taken", async () => (await gauge("mneme_llm_running")) === 0);
    expect(await gauge("mneme_llm_waiting")).toBe(0);
    llm.forget();
    Bun.gc(true);
    return heapStats().heapSize;
  };
  const before = await round(WARM_UP);
  const after = await round(HANG_UPS);
  expect(underWayMost).toBeLessThanOrEqual(CONCURRENCY);
  // on a busy machine, requests spend most of their time before the call, so that few of the slots are taken at once
  expect(underWayMost).toBeGreaterThan(1);
  // an answer that is not released keeps its prompt, passages and messages: about 20 KB
  expect(after - before).toBeLessThan(10 * 1024 * 1024);

  for (const chat of chats) {
    const said = await messages(chat);
    const questions = said.filter(({ role }) => role === "user").map(({ content }) => content);
    // the question of a caller who hung up while waiting may be missing
    const mine = asked.entries().filter(([, question]) => question.chat === chat);
    for (const [text, { hasHeard }] of mine) {
      const times = questions.filter((content) => content === text).length;
      expect(times).toBeWithin(hasHeard ? 1 : 0, 2);
    }
    expect(questions.every((text) => asked.get(text)?.chat === chat)).toBeTrue();
    for (const [at, { role, content }] of said.entries()) {
      if (role !== "assistant") continue;
      expect(said[at - 1]?.role).toBe("user");
      expect(ANSWER).toStartWith(content);
    }
  }

  // the quota admits exactly the number of queries that it reports, and all call slots are free again
  await leaveQueries(CONCURRENCY);
  const { promise: allAsked, resolve: answerAll } = Promise.withResolvers<void>();
  llm.answer(async (call) => {
    if (!isRewriting(call)) await allAsked;
    return streamed([isRewriting(call) ? QUESTION : ANSWER]);
  });
  const last = Array.from({ length: CONCURRENCY }, (_, at) =>
    at % 2 === 0 ? query(QUESTION) : mneme.call("POST", `/v1/chats/${chats[at]}/messages`, { message: QUESTION }),
  );
  await until("all are with the model at once", () => llm.underWay() === CONCURRENCY);
  expectFault(await query(QUESTION), 429, "query_quota_exceeded");
  answerAll();
  for (const { status } of await Promise.all(last)) expect(status).toBe(200);
});

/** Whether a call asks for question rewriting instead of an answer. */
function isRewriting({ body }: LlmCall): boolean {
  return !JSON.stringify(body.messages).includes("<source id=");
}

async function newChat(): Promise<string> {
  return (await mneme.call("POST", "/v1/chats", { userId: "ida" })).body.id;
}

async function messages(chat: string): Promise<readonly { readonly role: string; readonly content: string }[]> {
  return (await mneme.call("GET", `/v1/chats/${chat}`)).body.messages;
}

function query(text: string) {
  return mneme.call("POST", "/v1/memories/query", { query: text, mode: "fast", userId: "ida" });
}

/** Creates a request for a streamed answer: a message in `chat`, or a query if there is no chat. */
function streaming(text: string, chat: string | undefined, signal: AbortSignal): Request {
  const path = chat === undefined ? "/v1/memories/query" : `/v1/chats/${chat}/messages/stream`;
  const body = chat === undefined ? { query: text, stream: true, userId: "ida" } : { message: text };
  return new Request(`http://mneme.test${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, mode: "fast" }),
    signal,
  });
}

/** Returns the value of a gauge, summed over all its labels. */
async function gauge(name: string): Promise<number> {
  const response = await mneme.service.handle(new Request("http://mneme.test/metrics"));
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** Gives the project the plan `starter`, and counts so many queries that `left` of them remain this month. */
async function leaveQueries(left: number): Promise<void> {
  const project = (await mneme.call("GET", "/v1/project")).body.id as ProjectId;
  await mneme.call("PUT", `/v1/projects/${project}`, { plan: "starter" });
  // what callers who hung up had heard may still be about to be stored, and counts then
  let [seen, looks] = [-1, 0];
  const { limit, used } = await until("no query is counted any more", async () => {
    const { queries } = (await mneme.call("GET", "/v1/usage")).body;
    looks = queries.used === seen ? looks + 1 : 0;
    seen = queries.used;
    return looks >= 25 ? queries : null;
  });
  const queries = limit - used - left;
  await changeRows(
    mneme,
    `INSERT INTO monthly_usage (project_key, month_start, queries)
     SELECT project_key, ${monthOf(systemClock.now()).start}, ${queries} FROM projects WHERE id = '${project}'
     ON CONFLICT (project_key, month_start) DO UPDATE SET queries = monthly_usage.queries + excluded.queries`,
  );
}
