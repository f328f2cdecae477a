// When a question is not answered: the threshold of the project or of the model, and passages without the kind of thing
// that is asked for. With and without a language model, for questions and chats. The search results are made up.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { QueryQuota } from "../../src/account/query-quota.ts";
import { collectAnswer } from "../../src/answer/events.ts";
import { NO_EVIDENCE_ANSWER } from "../../src/answer/no-evidence.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import type { Viewer } from "../../src/domain/scope.ts";
import { systemClock } from "../../src/kit/clock.ts";
import type { Reranker } from "../../src/ports/models.ts";
import { AnswerService, type Question } from "../../src/services/answers.ts";
import { ChatService } from "../../src/services/chats.ts";
import { openStores, type SqliteStores } from "../../src/stores/sqlite/stores.ts";
import { passage } from "../answer/passages.ts";
import { ScriptedLanguageModel } from "../in-memory/language-model.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { askerOf } from "../support/asker.ts";
import { messageEvents } from "../support/message-events.ts";

const MODEL_DEFAULT = 0.4;
const EXTRACTIVE = { baseUrl: null, model: null, apiKey: null };
const GENERATIVE = { baseUrl: "http://127.0.0.1:9", model: "small", apiKey: null };

let folder: ReturnType<typeof temporaryFolder>;
let stores: SqliteStores;
beforeAll(() => {
  folder = temporaryFolder();
  stores = openStores({
    path: join(folder.path, "mneme.sqlite"),
    clock: systemClock,
    newWebhookSecret: () => "whsec_",
  });
});
afterAll(() => {
  stores.close();
  folder.remove();
});

interface Setup {
  readonly results: readonly RankedPassage[];
  readonly min_evidence?: number | null;
  readonly operator?: typeof EXTRACTIVE | typeof GENERATIVE;
  readonly language?: string;
  readonly rerankerOf?: (projectId: ProjectId) => Promise<Reranker | null>;
}

/** A new project whose searches return `results`, with the model's default threshold `MODEL_DEFAULT`. */
async function setUp({ results, min_evidence = null, operator = EXTRACTIVE, language = "en", ...setup }: Setup) {
  const { accounts } = stores;
  const settings = { ...DEFAULT_SETTINGS, min_evidence };
  const { id } = await accounts.createProject({ name: "p", plan: "enterprise", settings });
  const viewer: Viewer = { projectId: id, userId: null };
  const model = new ScriptedLanguageModel(() => ({ texts: ["It is so [1]."] }));
  const answers = new AnswerService({
    search: {
      search: async () => {
        const found = { mode: "fast", results, stages: [], admissible: results.length, asOf: 0 } as const;
        return { ...found, stages: [], time: null, evidence: results[0]?.score ?? null, evidenceMin: MODEL_DEFAULT };
      },
      admits: async () => true,
      stillShown: async (_viewer, _confined, found) => found,
      rerankerOf: setup.rerankerOf ?? (async () => null),
    },
    accounts,
    quota: new QueryQuota(accounts, systemClock),
    generation: { model, operator, contextTokens: 8_192, clock: systemClock },
    reading: { languageOf: () => language, rerankDeadlineMs: Number.POSITIVE_INFINITY },
  });
  return { viewer, answers, model };
}

async function ask(text: string, setup: Setup) {
  const { viewer, answers, model } = await setUp(setup);
  const run = await answers.ask(viewer, { ...QUESTION, text }, askerOf());
  const answer = await collectAnswer(run.events);
  run.release();
  return { text: answer.answer, sources: answer.sources.length, calls: model.requests.length };
}

const QUESTION: Omit<Question, "text"> = {
  mode: "fast",
  maxSources: 8,
  filter: null,
  includeGraph: false,
  instructions: null,
  model: null,
};
const REFUSED = { text: NO_EVIDENCE_ANSWER, sources: 0, calls: 0 };
const RUIZ = "Dr Ruiz is the dentist of the children.";

test("the reranker of the project reads the sentences, not that of another project", async () => {
  const rerankers = new Map<ProjectId, string[]>();
  const rerankerOf = async (projectId: ProjectId): Promise<Reranker> => {
    const read: string[] = [];
    rerankers.set(projectId, read);
    const score: Reranker["score"] = async (_, sentences) => {
      read.push(...sentences);
      return Float32Array.from(sentences, () => 4);
    };
    return { languages: ["en"], score };
  };
  const { viewer, answers } = await setUp({ results: [passage(RUIZ, 0.9)], rerankerOf });
  const run = await answers.ask(viewer, { ...QUESTION, mode: "balanced", text: "Who is Dr Ruiz?" }, askerOf());
  await collectAnswer(run.events);
  run.release();
  expect([...rerankers]).toEqual([[viewer.projectId, [RUIZ]]]);
});

describe("the threshold", () => {
  const cases: readonly (readonly [name: string, min: number | null, score: number, isAnswered: boolean])[] = [
    ["null: the model's default, reached", null, MODEL_DEFAULT, true],
    ["null: the model's default, missed", null, MODEL_DEFAULT - 1e-6, false],
    ["a number of the project, reached", 0.7, 0.7, true],
    ["a number of the project, missed, although the default is reached", 0.7, 0.69, false],
    ["a number below the default", 0.1, 0.1, true],
    ["0: never", 0, 0, true],
    ["1: nearly always", 1, 0.999, false],
  ];
  for (const [name, min_evidence, score, isAnswered] of cases) {
    test(`${name}: ${isAnswered ? "answered" : "refused"}`, async () => {
      const results = [passage(RUIZ, score)];
      const extractive = await ask("Who is Dr Ruiz?", { results, min_evidence });
      expect(extractive).toEqual(isAnswered ? { text: `${RUIZ} [1]`, sources: 1, calls: 0 } : REFUSED);
      const generated = await ask("Who is Dr Ruiz?", { results, min_evidence, operator: GENERATIVE });
      expect(generated).toEqual(isAnswered ? { text: "It is so [1].", sources: 1, calls: 1 } : REFUSED);
    });
  }

  test("the refusal is in the language of the question", async () => {
    const { text } = await ask("wer ist Ida?", { results: [passage(RUIZ, 0)], language: "und" });
    expect(text).toBe("Nichts, was hier gespeichert ist, beantwortet diese Frage.");
  });
});

describe("the kind of thing that is asked for", () => {
  const NUMBER = "What is Dr Ruiz's phone number?";

  test("missing in the best passages: refused", async () => {
    expect(await ask(NUMBER, { results: [passage(RUIZ, 0.9)] })).toEqual(REFUSED);
  });

  test("in one of the four best passages: answered; in the fifth: refused", async () => {
    const found = (rank: number) =>
      [1, 2, 3, 4, 5].map((at) => passage(at === rank ? "Dr Ruiz: 030 12345" : `Dr Ruiz, note ${at}`, 1 - at / 10));
    expect((await ask(NUMBER, { results: found(4) })).text).toContain("030 12345");
    expect(await ask(NUMBER, { results: found(5) })).toEqual(REFUSED);
  });

  test("with a language model nothing is refused", async () => {
    expect(await ask(NUMBER, { results: [passage(RUIZ, 0.9)], operator: GENERATIVE })).toMatchObject({ calls: 1 });
  });

  test("with min_evidence 0 nothing is refused", async () => {
    expect(await ask(NUMBER, { results: [passage(RUIZ, 0.9)], min_evidence: 0 })).toMatchObject({ sources: 1 });
  });
});

describe("a chat", () => {
  async function send(texts: readonly string[], setup: Setup): Promise<readonly string[]> {
    const { viewer, answers } = await setUp(setup);
    const service = new ChatService({
      chats: stores.chats,
      answers,
      transactions: stores.transactions,
      describeSource: () => ({}),
    });
    const { id } = await stores.transactions.run((tx) => service.create(tx, viewer, {}));
    for (const text of texts) {
      const question = { text, mode: "fast", maxSources: 8, filter: null, instructions: null } as const;
      const sending = service.send(viewer, id, question, askerOf());
      for await (const _ of messageEvents(sending, stores.transactions));
    }
    const { messages } = await service.history(viewer, id);
    return messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  }

  test("refuses below the model's default, and answers from it on", async () => {
    expect(await send(["Who is Dr Ruiz?"], { results: [passage(RUIZ, 0.39)] })).toEqual([NO_EVIDENCE_ANSWER]);
    expect(await send(["Who is Dr Ruiz?"], { results: [passage(RUIZ, 0.4)] })).toEqual([`${RUIZ} [1]`]);
  });

  test("refuses a follow-up question for a kind of thing that is missing", async () => {
    const results = [passage(RUIZ, 0.9), passage("Ben: 030 12345", 0.8)];
    const [first, second] = await send(["Who is Dr Ruiz?", "And what is her phone number?"], { results });
    expect(first).toContain(RUIZ);
    expect(second).toBe(NO_EVIDENCE_ANSWER);
  });
});
