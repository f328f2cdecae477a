// Generated answers and chat messages when the connection to the language model is cut after any byte. The text is then
// a prefix of the answer, only a complete answer ends like one, and a chat keeps its question. The client and its
// connections are real; the search results are made up.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { localMonthlyTokens, MonthlyTokens } from "../../src/account/monthly-tokens.ts";
import { QueryQuota } from "../../src/account/query-quota.ts";
import { countCalls } from "../../src/adapters/llm/call-metrics.ts";
import { limitConcurrency } from "../../src/adapters/llm/concurrency-limit.ts";
import type { AnswerEvent } from "../../src/answer/events.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import type { Viewer } from "../../src/domain/scope.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { Metrics } from "../../src/metrics.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import type { LanguageModel } from "../../src/ports/language-model.ts";
import { AnswerService, type Question } from "../../src/services/answers.ts";
import { type ChatQuestion, ChatService } from "../../src/services/chats.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores, openStores, type SqliteStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { passage } from "../answer/passages.ts";
import { model, PATIENT } from "../llm/client-helpers.ts";
import { CUT_NAMES, type Cut, cuttingEndpoint, finishOf, runConcurrently, STREAMS } from "../llm/recorded.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { askerOf } from "../support/asker.ts";
import { representatives } from "../support/extent.ts";
import { NO_OPERATOR_LLM } from "../support/llm.ts";
import { type MessageEvent, messageEvents } from "../support/message-events.ts";

/** The passages that every search returns. */
const PASSAGES: readonly RankedPassage[] = [
  passage("The bridge over the Weser has stood since 1913.", 0.9),
  passage("Ferries cross the river further down.", 0.8),
  passage("In that year the ironworks of Nordenham delivered the girders.", 0.7),
];

/** A recorded stream and its answer. */
interface AnswerStream {
  readonly name: string;
  readonly bytes: Buffer;
  readonly answer: string;
  /** Position of the first cut, in bytes. */
  readonly from: number;
}

/**
 * Each recorded stream, and a variant of it with a citation that is split into two events and is renumbered: `[3, 1]`
 * becomes `[1][2]`.
 */
const ANSWER_STREAMS: readonly AnswerStream[] = STREAMS.flatMap(({ name, bytes, text }) => {
  const split = withSplitCitation(bytes);
  return [
    { name, bytes, answer: text, from: 0 },
    {
      name: `${name}, its citation in two events`,
      bytes: split,
      answer: text.replace("[1]", "[1][2]"),
      from: split.indexOf("[3"),
    },
  ];
});

let folder: ReturnType<typeof temporaryFolder>;
let stores: SqliteStores;
/** A second connection to the same file, with which the test reads rows. */
let database: SqliteDatabase;
let accounts: AccountStore;
let viewer: Viewer;
let endpoint: Awaited<ReturnType<typeof cuttingEndpoint>>;
let languageModel: LanguageModel;
const metrics = new Metrics();
beforeAll(async () => {
  folder = temporaryFolder();
  const path = join(folder.path, "mneme.sqlite");
  stores = openStores({ path, clock: systemClock, newWebhookSecret: () => "whsec_" });
  database = openDatabase(path);
  accounts = connectStores(database, database, { clock: systemClock, newWebhookSecret }).accounts;
  viewer = { projectId: await accounts.defaultProject(), userId: null };
  endpoint = await cuttingEndpoint(ANSWER_STREAMS.map(({ bytes }) => bytes));
  const client = countCalls(model({ timeouts: PATIENT, clock: systemClock }), metrics);
  languageModel = limitConcurrency(client, { concurrency: 32, metrics });
});
afterAll(() => {
  endpoint.close();
  stores.close();
  database.close();
  folder.remove();
});

/** An answer service whose language model sends this stream, cut at position `at`. */
function answersOf(stream: number, cut: Cut, at: number): AnswerService {
  const operator = { ...NO_OPERATOR_LLM, baseUrl: endpoint.baseUrl(stream, cut, at), model: "small" };
  return new AnswerService({
    activity: { answered: () => undefined },
    search: {
      search: async () => ({
        mode: "fast",
        results: PASSAGES,
        stages: [],
        evidence: 1,
        admissible: PASSAGES.length,
        asOf: 0,
        time: null,
        degraded: null,
        evidenceMin: 0,
        relevantMin: 0,
        calibration: "shipped",
      }),
      refuseThen: async () => undefined,
      admits: async () => true,
      stillShown: async (_viewer, _confined, found) => found,
      timeZone: async () => "UTC",
      sentenceReaders: () => Promise.reject(new Error("a generated answer needs no sentence selection")),
    },
    accounts: stores.accounts,
    quota: new QueryQuota(stores.accounts, systemClock),
    generation: {
      model: languageModel,
      operator,
      monthlyTokens: new MonthlyTokens(localMonthlyTokens(stores.accounts), systemClock),
      contextTokens: 8_192,
      clock: systemClock,
    },
    reading: { languageOf: () => "en", rerankDeadlineMs: Number.POSITIVE_INFINITY },
  });
}

for (const [stream, { name, bytes, answer, from }] of ANSWER_STREAMS.entries()) {
  for (const cut of representatives(CUT_NAMES, () => "any")) {
    test(`${name}, cut after each byte, ${cut}: gives a prefix and a fault, or the whole answer`, async () => {
      const finishAt = finishOf(bytes);
      const problems = await runConcurrently(bytes.length + 1 - from, async (step) => {
        const at = from + step;
        const { events, release } = await answersOf(stream, cut, at).ask(viewer, QUESTION, askerOf());
        const problem = problemOf(await collect(events), answer, at >= finishAt);
        release();
        return problem === null ? [] : [`${at}: ${problem}`];
      });
      expect(problems.flat()).toEqual([]);
      expect(await running()).toBe(0);
    }); // about 2,000 connections
  }
}

describe("a chat", () => {
  const chats = (answers: AnswerService) =>
    new ChatService({
      ...{ chats: stores.chats, answers, transactions: stores.transactions },
      describeSource: ({ isCited }) => ({ cited: isCited }),
    });
  const queries = async () => (await accounts.usage(viewer.projectId)).queries;
  const opened = async (stream: number, cut: Cut, at: number) => {
    const service = chats(answersOf(stream, cut, at));
    const { id } = await stores.transactions.run((tx) => service.create(tx, viewer, {}));
    const stop = new AbortController();
    const events = messageEvents(service.send(viewer, id, QUESTION, askerOf(stop.signal)), stores.transactions);
    const stored = async () => {
      const { messages } = await service.history(viewer, id);
      return messages.map(({ role, content, isInterrupted }) => ({ role, content, isInterrupted }));
    };
    return { events, stored, disconnect: () => stop.abort() };
  };
  const question = { role: "user", content: "Since when?", isInterrupted: false } as const;

  for (const [stream, { name, bytes, answer }] of ANSWER_STREAMS.entries()) {
    test(`keeps its question when ${name} is cut, and the answer if that is complete`, async () => {
      const before = await queries();
      let whole = 0;
      const problems = await runConcurrently(Math.ceil(bytes.length / STEP) + 1, async (step) => {
        const at = Math.min(bytes.length, step * STEP);
        const { events, stored } = await opened(stream, CUT_NAMES[step % CUT_NAMES.length] ?? "reset", at);
        const { text, last, fault } = await collectMessage(events);
        const isWhole = last === "message";
        if (isWhole) whole++;
        const expected = isWhole
          ? [question, { role: "assistant", content: answer, isInterrupted: false }]
          : [question];
        const isRight = answer.startsWith(text) && (isWhole ? text === answer : fault === "llm_error");
        const found = await stored();
        return isRight && Bun.deepEquals(found, expected) ? [] : [{ at, text, fault, stored: found }];
      });
      expect(problems.flat()).toEqual([]);
      expect(whole).toBeGreaterThan(0);
      expect(await queries()).toBe(before + whole);
    });
  }

  test("stores the text sent so far once, marked as interrupted, when the caller disconnects after any event", async () => {
    for (const [stream, { bytes, answer }] of ANSWER_STREAMS.entries()) {
      const texts = (await collectMessage((await opened(stream, "reset", bytes.length)).events)).texts;
      for (let after = 1; after <= texts.length; after++) {
        for (const how of ["return", "signal"]) {
          const { events, stored, disconnect } = await opened(stream, "reset", bytes.length);
          let received = "";
          for (let count = 0; count < after; count++) {
            const { value } = await events.next();
            if (value?.type === "text") received += value.content;
          }
          if (how === "signal") {
            disconnect();
            await events.next().catch((error: unknown) => expect(error).toBeInstanceOf(Error));
          }
          await events.return(undefined);
          expect(answer).toStartWith(received);
          expect(await stored()).toEqual([question, { role: "assistant", content: received, isInterrupted: true }]);
        }
      }
    }
    expect(await running()).toBe(0);
  });
});

const QUESTION: Question & ChatQuestion = {
  text: "Since when?",
  mode: "fast",
  maxSources: 3,
  filter: null,
  includeGraph: false,
  instructions: null,
  model: null,
};
/** Number of bytes between two cuts of chat streams. Not every byte is tested, because each chat writes to the disk. */
const STEP = 11;

/** The events of an answer, and the error that it threw; null if it threw none. */
interface CollectedAnswer {
  readonly events: readonly AnswerEvent[];
  readonly error: unknown;
}

async function collect(stream: AsyncIterable<AnswerEvent>): Promise<CollectedAnswer> {
  const events: AnswerEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    return { events, error };
  }
  return { events, error: null };
}

function problemOf({ events, error }: CollectedAnswer, answer: string, hasModelEnded: boolean): string | null {
  const text = textOf(events);
  const kinds = events.map(({ type }) => type).filter((type) => type !== "text");
  if (!answer.startsWith(text) || !text.isWellFormed()) return `${text} is not a prefix of the answer`;
  if (error !== null) {
    if (!(error instanceof Fault) || error.code !== "llm_error") return `it failed with ${error}`;
    if (kinds.length > 0) return `${kinds} came before the fault`;
    return /\[[^\]]*$/.test(text) ? `the text ends with half a citation: ${text}` : null;
  }
  if (!hasModelEnded || text !== answer) return "an incomplete answer was reported as complete";
  if (kinds.join() !== "sources,usage" || events.at(-1)?.type !== "usage") return `it ends with ${kinds}`;
  const cited = answer.match(/\[\d\]/g)?.length;
  const sources = events.flatMap((event) => (event.type === "sources" ? event.sources : []));
  const isRight = sources.length === 3 && sources.every(({ isCited }, at) => isCited === at < Number(cited));
  return isRight ? null : "its sources are wrong";
}

/** Collects the texts, the last event and the fault of a chat message. */
async function collectMessage(events: AsyncIterable<MessageEvent>) {
  const texts: string[] = [];
  let last: string | null = null;
  let fault: unknown = null;
  try {
    for await (const event of events) {
      last = event.type;
      if (event.type === "text") texts.push(event.content);
    }
  } catch (error) {
    fault = error instanceof Fault ? error.code : error;
  }
  return { texts, text: texts.join(""), last, fault };
}

function textOf(events: readonly AnswerEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.content : "")).join("");
}

/** Number of language model calls in progress. */
async function running(): Promise<number> {
  const line = /^mneme_llm_running\{purpose="query"\} (\d+)$/m.exec(await metrics.text());
  return Number(line?.[1]);
}

// Splits the event with the citation into two, in the middle of the citation.
function withSplitCitation(bytes: Buffer): Buffer {
  const lines = bytes.toString("utf8").split("\n");
  const split = lines.flatMap((line) => {
    if (!line.includes("[1]")) return [line];
    const [before = "", behind = ""] = line.split("[1]");
    const opened = /^(?<head>.*"content":")(?<text>[^"]*)$/s.exec(before)?.groups;
    const closed = /^(?<text>[^"]*)(?<tail>".*)$/s.exec(behind)?.groups;
    const end = line.endsWith("\r") ? "\r" : "";
    return [`${before}[3${closed?.tail}`, end, `${opened?.head}, 1]${behind}`];
  });
  return Buffer.from(split.join("\n"));
}
