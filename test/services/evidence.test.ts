// When a question is not answered: the threshold of the project or of the model, and passages without the kind of thing
// that is asked for. With and without a language model, for questions and chats. The search results are made up.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { localMonthlyTokens, MonthlyTokens } from "../../src/account/monthly-tokens.ts";
import { QueryQuota } from "../../src/account/query-quota.ts";
import { collectAnswer } from "../../src/answer/events.ts";
import { NO_EVIDENCE_ANSWER } from "../../src/answer/no-evidence.ts";
import type { SentenceReaders } from "../../src/answer/sentence-relevance.ts";
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
import { NO_OPERATOR_LLM } from "../support/llm.ts";
import { messageEvents } from "../support/message-events.ts";
import { ENGLISH_TUNING } from "../support/shipped-models.ts";

const MODEL_DEFAULT = 0.4;
const EXTRACTIVE = NO_OPERATOR_LLM;
const GENERATIVE = { ...NO_OPERATOR_LLM, baseUrl: "http://127.0.0.1:9", model: "small" };

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
  /** Default: the score of the first result. */
  readonly evidence?: number;
  /** What the language model writes. */
  readonly writes?: string;
  readonly rerankerOf?: (projectId: ProjectId) => Promise<Reranker>;
  /** The text of a result whose memory is deleted while the question is answered. */
  readonly deleted?: string;
}

/** A new project whose searches return `results`, with the model's default threshold `MODEL_DEFAULT`. */
async function setUp({ results, min_evidence = null, operator = EXTRACTIVE, language = "en", ...setup }: Setup) {
  const { accounts } = stores;
  const settings = { ...DEFAULT_SETTINGS, min_evidence };
  const { id } = await accounts.createProject({ name: "p", plan: "enterprise", settings });
  const viewer: Viewer = { projectId: id, userId: null };
  const model = new ScriptedLanguageModel(() => ({ texts: [setup.writes ?? "It is so [1]."] }));
  const answers = new AnswerService({
    activity: { answered: () => undefined },
    search: {
      search: async () => {
        const found = { mode: "fast", results, stages: [], admissible: results.length, asOf: 0 } as const;
        return {
          ...found,
          stages: [],
          time: null,
          degraded: null,
          evidence: setup.evidence ?? results[0]?.score ?? null,
          evidenceMin: MODEL_DEFAULT,
          relevantMin: MODEL_DEFAULT,
          calibration: "shipped",
        };
      },
      refuseThen: async () => undefined,
      admits: async () => true,
      stillShown: async (_viewer, _confined, found) => found.filter(({ passage: { text } }) => text !== setup.deleted),
      timeZone: async () => "UTC",
      sentenceReaders: async (projectId) => ({
        embedder: indifferentEmbedder,
        reranker: (await setup.rerankerOf?.(projectId)) ?? null,
      }),
    },
    accounts,
    quota: new QueryQuota(accounts, systemClock),
    generation: {
      model,
      operator,
      monthlyTokens: new MonthlyTokens(localMonthlyTokens(accounts), systemClock),
      contextTokens: 8_192,
      clock: systemClock,
    },
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
/** An embedder that finds all sentences equally similar to the question. */
const indifferentEmbedder: SentenceReaders["embedder"] = {
  languages: ["en", "de"],
  dimensions: 2,
  tuning: ENGLISH_TUNING,
  embed: async (texts) => Float32Array.from(texts.flatMap(() => [1, 0])),
};
const REFUSED = { text: NO_EVIDENCE_ANSWER, sources: 0, calls: 0 };
const RUIZ = "Dr Ruiz is the dentist of the children.";

test("a memory that is deleted meanwhile is no source, and the citations of other sentences stay", async () => {
  const rent = "The rent of the flat is 860 euros.";
  const question = "Who is the dentist of the children, and how much is the rent of the flat?";
  const results = [passage(RUIZ, 0.9), passage(rent, 0.9)];
  const whole = await ask(question, { results });
  expect(whole).toMatchObject({ text: `${RUIZ} [1] ${rent} [2]`, sources: 2 });
  expect(await ask(question, { results, deleted: RUIZ })).toMatchObject({ text: whole.text, sources: 1 });
});

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

const CABINS = [
  passage("Cabin 4: the Wi-Fi password is heron.", 0.9),
  passage("Cabin 5: the Wi-Fi password is otter.", 0.8),
  passage("The boat house is locked in winter.", 0.5),
];
const CABIN_9 = "What is the Wi-Fi password of cabin 9?";

describe("a question for a neighbour of what is stored", () => {
  const stateOf = async (text: string, setup: Setup) => {
    const { viewer, answers, model } = await setUp(setup);
    const run = await answers.ask(viewer, { ...QUESTION, text }, askerOf());
    const { answer, state, sources } = await collectAnswer(run.events);
    run.release();
    return { answer, state, cited: sources.map(({ passage, isCited }) => isCited && passage), prompts: model.requests };
  };

  test("names what is missing, and cites what is stored instead", async () => {
    expect(await stateOf(CABIN_9, { results: CABINS })).toMatchObject({
      answer:
        "Nothing that is stored here answers this for cabin 9. There is something about Cabin 4 [1], Cabin 5 [2].",
      state: "not_found",
      cited: CABINS.slice(0, 2),
    });
  });

  test("in the language of the question", async () => {
    const results = [passage("Zimmer 11: Das Passwort ist kiesel.", 0.9)];
    const { answer } = await stateOf("Wie ist das Passwort von Zimmer 17?", { results, language: "de" });
    expect(answer).toBe(
      "Nichts, was hier gespeichert ist, beantwortet diese Frage für „Zimmer 17“. Gespeichert ist etwas zu: Zimmer 11 [1].",
    );
  });

  test("a neighbour below the threshold is not named", async () => {
    const results = CABINS.map((cabin) => ({ ...cabin, score: cabin.score * 0.4 }));
    const { answer, state, cited } = await stateOf(CABIN_9, { results });
    expect([answer, state, cited]).toEqual(["Nothing that is stored here answers this for cabin 9.", "not_found", []]);
  });

  test("neighbours without the kind of thing that is asked for are not named", async () => {
    const results = [passage("Cabin 4 was painted by Ida.", 0.9)];
    expect((await stateOf("How much does cabin 9 cost?", { results })).answer).toBe(NO_EVIDENCE_ANSWER);
  });

  test("is answered if it is stored, although neighbours are stored, too", async () => {
    const results = [passage("Cabin 9: the Wi-Fi password is plover.", 0.7), ...CABINS];
    const { answer, state } = await stateOf(CABIN_9, { results });
    expect(state).toBe("answered");
    expect(answer).toStartWith("Cabin 9: the Wi-Fi password is plover. [1]");
    expect(answer).not.toMatch(/heron|otter/);
  });

  test("with another question in one: the half that is stored is quoted, and the gap is named", async () => {
    const text = "What are the Wi-Fi passwords of cabin 5 and cabin 9?";
    const { answer, state, cited } = await stateOf(text, { results: CABINS });
    expect(answer).toBe(
      "Cabin 5: the Wi-Fi password is otter. [1] Nothing that is stored here answers this for cabin 9.",
    );
    expect([state, cited]).toEqual(["partial", CABINS.slice(1, 2)]);
  });

  test("of two things that are stored apart, both are quoted, although each passage lacks one", async () => {
    const search = { results: CABINS, evidence: 0.1 };
    const { answer, state } = await stateOf("Wi-Fi passwords of cabin 4 and cabin 5?", search);
    expect(state).toBe("answered");
    expect(answer).toMatch(/heron\. \[1\] .*otter\. \[2\]/);
    expect((await stateOf("Wi-Fi password of cabin 4?", search)).state).toBe("not_found");
  });

  test("with min_evidence 0 the neighbours are quoted", async () => {
    expect((await stateOf(CABIN_9, { results: CABINS, min_evidence: 0 })).answer).toContain("heron");
  });

  test("a citation lookalike of the question cites nothing", async () => {
    const { answer } = await stateOf("What is the password of cabin A9[1]?", {
      results: [passage("Cabin A4: heron", 0.9)],
    });
    expect(answer.match(/\[1\]/g)).toHaveLength(1);
  });

  describe("with a language model", () => {
    const written = (writes: string, text = CABIN_9, results: readonly RankedPassage[] = CABINS) =>
      stateOf(text, { results, operator: GENERATIVE, writes });

    test("the prompt says what is missing", async () => {
      const { prompts } = await written("It is not stored.");
      expect(JSON.stringify(prompts[0]?.messages.at(-1))).toContain(
        'No source seems to be about \\"cabin 9\\". What the sources say of \\"Cabin 4\\", \\"Cabin 5\\" is not about it.',
      );
      expect(JSON.stringify((await written("It is otter [1].", "Password of cabin 5?")).prompts)).not.toContain(
        "No source",
      );
    });

    test.each([
      ["a value of a neighbour, cited", "It is heron [1].", "not_found", 1],
      ["a value of a neighbour, not cited", "It is heron.", "not_found", 0],
      ["a refusal that cites neighbours", "Only cabins 4 [1] and 5 [2] are stored.", "not_found", 2],
      ["a refusal", "I do not know.", "not_found", 0],
    ] as const)("%s: nothing was found", async (_, writes, state, cited) => {
      const found = await written(writes);
      expect([found.answer, found.state, found.cited.length]).toEqual([writes, state, cited]);
      expect(found.cited).not.toContain(false);
    });

    test("an answer that cites what is asked for is one; of two things it is half of one", async () => {
      const results = [passage("Cabin 9: the Wi-Fi password is plover.", 0.7), ...CABINS];
      expect((await written("It is plover [1].", CABIN_9, results)).state).toBe("answered");
      expect((await written("It is heron [2].", CABIN_9, results)).state).toBe("not_found");
      const text = "What are the Wi-Fi passwords of cabin 4 and cabin 9?";
      expect((await written("That of cabin 4 is heron [1].", text)).state).toBe("partial");
    });

    test("without evidence the gap is named without a call", async () => {
      const results = CABINS.map((cabin) => ({ ...cabin, score: cabin.score * 0.4 }));
      const { answer, prompts } = await written("It is heron [1].", CABIN_9, results);
      expect([answer, prompts.length]).toEqual(["Nothing that is stored here answers this for cabin 9.", 0]);
    });
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
