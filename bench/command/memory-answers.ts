// Answers to the questions of a memory benchmark: the server answers them in each mode, with a language model or
// extractively, and the model alone answers them without memories. judge.ts decides which answers are right.

import type { LlmEndpoint } from "../../src/domain/language-model.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { isRecord, recordsIn } from "../../src/kit/record.ts";
import { type LanguageModel, LlmError } from "../../src/ports/language-model.ts";
import { contains, isVerdict, normalised, withoutCitations } from "../lib/gold-text.ts";
import { meanInterval } from "../lib/intervals.ts";
import { mean } from "../lib/metrics.ts";
import type { Target } from "../lib/target.ts";
import { byAspect, type Condition, type ConversationQuestion, isUnanswerable } from "./conversations.ts";
import { BENCH_PROJECT, JUDGE_PROMPT, Judge, type Verdict } from "./judge.ts";
import { type Cell, type Findings, figure, figureColumn, keyColumn } from "./result.ts";
import { percentiles, type Run } from "./run.ts";

/** The language models of a run. */
export interface AnswerModels {
  readonly client: LanguageModel;
  /** Answers the questions. */
  readonly llm: LlmEndpoint;
  /** Judges the answers. */
  readonly judge: LlmEndpoint;
  /** Time after which the server has given up on a model, in milliseconds. */
  readonly answerMsMax: number;
}

/** An answer that was given, and whether it is right. */
export interface GivenAnswer {
  readonly question: ConversationQuestion;
  /** null if there was none. */
  readonly text: string | null;
  /** Whether the answer says that nothing is known: it cites no source, or without memories it is `UNKNOWN`. */
  readonly isRefusal: boolean;
  /** Tokens that the model read and wrote. */
  readonly tokens: number;
  readonly ms: number;
  /** Why there is no text: a code, or such as `no connection` or `status 500`; null if there is one. */
  readonly failure: string | null;
  /** One per condition; empty if there is no text. */
  readonly verdicts: readonly Verdict[];
}

type Unjudged = Omit<GivenAnswer, "verdicts">;
type Row = Readonly<Record<string, Cell>>;

/** Maximum number of sources of an answer. The context whose tokens the table `evidence` shows has as many passages. */
export const SOURCES = 10;
/** Name of the row for the model without memories. */
const NO_MEMORY = "no memory";
/** Number of questions that a language model answers at the same time. */
const QUESTIONS_AT_ONCE = 4;
const OUTPUT_TOKENS_MAX = 1_024;
/** Maximum time of a search before the model is called, in milliseconds. */
const SEARCH_MS_MAX = 60_000;
const BUSY_TRIES_MAX = 20;
const BUSY_WAIT_MS = 500;

const UNKNOWN = "I do not know.";
const NO_MEMORY_RULES = `You answer a question about conversations that you cannot see. Answer briefly from what you know already. If you do not know the answer, reply exactly: ${UNKNOWN}`;

/** Upper bounds for the number of calls that a run makes. */
export function callsOf(questions: readonly ConversationQuestion[], modes: number) {
  const asked = judgeable(questions, true);
  const conditions = asked.reduce((sum, question) => sum + question.conditions.length, 0);
  const ways = modes + 1;
  return { questions: asked.length, answers: ways * asked.length, verdicts: ways * conditions };
}

/**
 * Checks that both models answer. Called before memories are stored, so that a wrong address or key stops the benchmark
 * at once and not after minutes.
 * @throws Error if one cannot be called, or if the judge fails `Judge.check`
 */
export async function checkModels({ client, llm, judge }: AnswerModels): Promise<void> {
  try {
    await new Judge(client, judge).check();
    if (llm.baseUrl !== judge.baseUrl || llm.model !== judge.model)
      await replyWithoutMemory(client, llm, "Who is Ada?");
  } catch (error) {
    if (!(error instanceof LlmError)) throw error;
    throw new Error(`A language model cannot be called: ${error.message}.`, { cause: error });
  }
}

/**
 * Answers the questions in all modes of a server that has the sessions, and with the language model without memories.
 * @param models null for extractive answers, which are compared with the golds word for word
 */
export async function benchAnswers(
  run: Run,
  questions: readonly ConversationQuestion[],
  models: AnswerModels | null,
): Promise<Pick<Findings, "tables" | "notes" | "prompts">> {
  const asked = judgeable(questions, models !== null);
  const judge = models === null ? null : new Judge(models.client, models.judge);
  if (models !== null) await useModel(run.target, models.llm);
  const ways = [
    ...(models === null ? [] : [{ way: NO_MEMORY, ask: withoutMemory(models) }]),
    ...run.modes.map((mode) => ({ way: mode as string, ask: withMemory(run.target, mode, models) })),
  ];
  const given = new Map<string, readonly GivenAnswer[]>();
  for (const { way, ask } of ways) {
    const step = `answers, ${way}`;
    const answers = await eachOf(asked, judge === null ? 1 : QUESTIONS_AT_ONCE, async (question, done) => {
      run.progress(step, done / asked.length, `${done} of ${asked.length} questions`);
      const answer = await ask(question);
      return { ...answer, verdicts: await verdictsOf(answer, judge) };
    });
    given.set(way, answers);
    run.progress(step, 1, `accuracy ${answerFigures(answers).accuracy ?? "unknown"}`);
  }
  return {
    tables: tablesOf(given),
    notes: notesOf([...given.values()].flat(), questions.length - asked.length, models, judge),
    ...(models !== null && { prompts: { judge: JUDGE_PROMPT, "no memory": NO_MEMORY_RULES } }),
  };
}

/** Share of the conditions that an answer meets, 0..1; a judge's failure counts as not met. */
export function scoreOf({ question, verdicts }: Pick<GivenAnswer, "question" | "verdicts">): number {
  return verdicts.filter((verdict) => verdict === "yes").length / question.conditions.length;
}

/**
 * The figures of answers. Accuracy covers the answerable questions, also those that got no answer. Refusals of
 * unanswerable ones are counted separately.
 */
export function answerFigures(answers: readonly GivenAnswer[]): Row {
  const answerable = answers.filter(({ question }) => !isUnanswerable(question));
  const unanswerable = answers.filter(({ question }) => isUnanswerable(question));
  const scores = answerable.map(scoreOf);
  const { low, high } = meanInterval(scores);
  const given = answers.filter(({ text }) => text !== null);
  const { p50, p95 } = percentiles(given.map(({ ms }) => ms));
  return {
    ...{ questions: answerable.length, accuracy: figure(mean(scores)), low: figure(low), high: figure(high) },
    refused: answerable.filter(({ isRefusal }) => isRefusal).length,
    unanswerable: unanswerable.length,
    rightly_refused: figure(mean(unanswerable.map(scoreOf))),
    judge_failures: answers.filter(({ verdicts }) => verdicts.includes("none")).length,
    failed: answers.length - given.length,
    tokens: figure(mean(given.map(({ tokens }) => tokens))),
    ...{ p50, p95 },
  };
}

/** Whether an extractive answer meets a condition: a gold must be in its text, and a refusal must cite nothing. */
export function extractiveVerdict({ text, isRefusal }: Unjudged, condition: Condition): Verdict {
  if (condition.kind === "refusal") return isRefusal ? "yes" : "no";
  return !isRefusal && contains(withoutCitations(text ?? ""), condition.text) ? "yes" : "no";
}

/**
 * The questions whose answers can be judged: those with conditions. Without a judge, each condition must be a refusal,
 * or a gold other than yes and no.
 */
export function judgeable(
  questions: readonly ConversationQuestion[],
  hasJudge: boolean,
): readonly ConversationQuestion[] {
  const isLiteral = (condition: Condition) =>
    condition.kind === "refusal" || (condition.kind === "gold" && !isVerdict(condition.text));
  return questions.filter(({ conditions }) => conditions.length > 0 && (hasJudge || conditions.every(isLiteral)));
}

async function verdictsOf(answer: Unjudged, judge: Judge | null): Promise<readonly Verdict[]> {
  const { question, text } = answer;
  if (text === null) return [];
  if (judge === null) return question.conditions.map((condition) => extractiveVerdict(answer, condition));
  const judged = { question: question.text, answer: withoutCitations(text) };
  const verdicts: Verdict[] = [];
  for (const condition of question.conditions) verdicts.push(await judge.verdict(judged, condition));
  return verdicts;
}

// The model is set after the memories were stored, so that ingestion never calls it.
async function useModel(target: Target, { baseUrl, model, apiKey }: LlmEndpoint): Promise<void> {
  const llm = { base_url: baseUrl, model, temperature: 0, ...(apiKey !== null && { api_key: apiKey }) };
  const { status, body } = await target.call("PUT", "/v1/project", { llm, smart_ingestion: { enabled: false } });
  if (status !== 200) throw new Error(`The server refused the language model: ${failureIn(status, body)}.`);
}

function withMemory(target: Target, mode: string, models: AnswerModels | null) {
  const timeoutMs = SEARCH_MS_MAX + (models?.answerMsMax ?? 0);
  return async (question: ConversationQuestion): Promise<Unjudged> => {
    const { text: query, userId, asOf } = question;
    const request = { query, mode, userId, maxSources: SOURCES, ...(asOf !== null && { asOf }) };
    let reply = await target.call("POST", "/v1/memories/query", request, timeoutMs);
    for (let tries = 1; reply.status === 503 && tries < BUSY_TRIES_MAX; tries++) {
      await systemClock.sleep(BUSY_WAIT_MS);
      reply = await target.call("POST", "/v1/memories/query", request, timeoutMs);
    }
    const { status, body, ms } = reply;
    if (status !== 200) return { question, ms, ...NO_ANSWER, failure: failureIn(status, body) };
    const sources = recordsIn(body.sources);
    const tokens = isRecord(body.usage) ? Number(body.usage.tokens_used) : 0;
    const isRefusal = !sources.some(({ cited }) => cited === true);
    return { question, ms, text: String(body.answer), isRefusal, tokens, failure: null };
  };
}

function withoutMemory({ client, llm }: AnswerModels) {
  return async (question: ConversationQuestion): Promise<Unjudged> => {
    const startedAt = performance.now();
    try {
      const { text, usage } = await replyWithoutMemory(client, llm, question.text);
      const ms = performance.now() - startedAt;
      const isRefusal = normalised(text) === normalised(UNKNOWN);
      return { question, ms, text, isRefusal, tokens: usage.prompt + usage.completion, failure: null };
    } catch (error) {
      if (!(error instanceof LlmError)) throw error;
      return { question, ms: performance.now() - startedAt, ...NO_ANSWER, failure: error.reason };
    }
  };
}

const NO_ANSWER = { text: null, isRefusal: false, tokens: 0 } as const;

function replyWithoutMemory(client: LanguageModel, endpoint: LlmEndpoint, question: string) {
  const messages = [
    { role: "system", content: NO_MEMORY_RULES },
    { role: "user", content: question },
  ] as const;
  return client.complete(
    {
      ...{ endpoint, projectId: BENCH_PROJECT, purpose: "query", messages },
      ...{ temperature: 0, outputTokensMax: OUTPUT_TOKENS_MAX },
    },
    new AbortController().signal,
  );
}

function failureIn(status: number, body: Readonly<Record<string, unknown>>): string {
  const code = isRecord(body.error) ? body.error.code : undefined;
  return typeof code === "string" ? code : status === 0 ? "no connection" : `status ${status}`;
}

/** Results in the order of the items; `work` gets the number of items that are done. */
async function eachOf<Item, Done>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, done: number) => Promise<Done>,
): Promise<readonly Done[]> {
  const results: Done[] = [];
  let [next, done] = [0, 0];
  const worker = async () => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at] as Item, done);
      done++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

function tablesOf(given: ReadonlyMap<string, readonly GivenAnswer[]>): Findings["tables"] {
  const byCategory = [...given].flatMap(([mode, answers]) =>
    [...Map.groupBy(answers, ({ question }) => question.category)].map(([category, group]) => {
      return { mode, category, ...answerFigures(group) };
    }),
  );
  const aspects = [...given].flatMap(([mode, answers]) =>
    byAspect(answers).map(([aspect, group]) => ({ mode, aspect, ...answerFigures(group) })),
  );
  const scores = [
    figureColumn("questions", "questions", "", null),
    figureColumn("accuracy", "accuracy", "", "higher"),
    figureColumn("low", "from", "", null),
    figureColumn("high", "to", "", null),
    figureColumn("refused", "refused", "", null),
    figureColumn("unanswerable", "unanswerable", "", null),
    figureColumn("rightly_refused", "rightly refused", "", "higher"),
    figureColumn("judge_failures", "judge failures", "", null),
    figureColumn("failed", "failed", "", null),
  ];
  const costs = [
    figureColumn("tokens", "tokens per answer", "", "lower"),
    figureColumn("p50", "p50", "ms", "lower"),
    figureColumn("p95", "p95", "ms", "lower"),
  ];
  return [
    {
      ...{ name: "answers", title: "Answers", columns: [keyColumn("mode"), ...scores, ...costs] },
      rows: [...given].map(([mode, answers]) => ({ mode, ...answerFigures(answers) })),
    },
    {
      ...{ name: "answer_categories", title: "Answers by kind of question", rows: byCategory },
      columns: [keyColumn("mode"), keyColumn("category"), ...scores],
    },
    ...(aspects.length === 0
      ? []
      : [
          {
            ...{
              name: "answer_aspects",
              title: "Answers about knowledge updates, times, and what is unknown",
              rows: aspects,
            },
            columns: [keyColumn("mode"), keyColumn("aspect"), ...scores],
          },
        ]),
  ];
}

function notesOf(
  answers: readonly GivenAnswer[],
  leftOut: number,
  models: AnswerModels | null,
  judge: Judge | null,
): readonly string[] {
  const failures = Map.groupBy(
    answers.flatMap(({ failure }) => failure ?? []),
    (failure) => failure,
  );
  return [
    "Accuracy is the mean share of the conditions of a right answer that an answer meets, over the questions that have an answer; `from` and `to` are its 95 % bootstrap interval. For unanswerable questions, refusing is right. Failed answers and judge failures count as wrong.",
    ...(models === null || judge === null
      ? [
          "The answers are extractive: sentences of the sources, without a language model. An answer is right if it contains the gold word for word, which is stricter than a judge for lists and paraphrases, and more lenient for long answers.",
        ]
      : [
          `\`${NO_MEMORY}\` is ${models.llm.model} without any memories: what it knows or guesses anyway. A mode is worth what it adds to that.`,
          `${models.judge.model} judged all rows with the same prompt, at temperature 0 if it has one: ${judge.calls} calls, ${judge.tokens} tokens. It sees question, answer and one condition, not the row. The result's \`prompts\` have the wording. Other judges and prompts give other figures.`,
          `${QUESTIONS_AT_ONCE} questions were asked at the same time. An answer counts as refused if it cites no source, or in \`${NO_MEMORY}\` if it says so.`,
        ]),
    ...(leftOut === 0
      ? []
      : [
          `${leftOut} questions were not asked for answers, because ${judge === null ? "without a judge only golds other than yes and no can be compared" : "the file has no answer to them"}.`,
        ]),
    ...[...failures].map(([failure, all]) => `Failed answers: ${all.length} (${failure}).`),
  ];
}
