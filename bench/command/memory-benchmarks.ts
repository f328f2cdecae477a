// `mneme bench memory-benchmarks`: finding the evidence for questions about long conversations, by session and by turn.
// Figures by session leave out questions for which any order is right. The figures of a random order stand beside them.
// memory-answers.ts measures the answers.

import type { ModeName } from "../../src/domain/ranking.ts";
import type { Hit } from "../lib/ask.ts";
import { barChart } from "../lib/chart.ts";
import { mean, ndcgAt, recallAt } from "../lib/metrics.ts";
import type { Passage, Question, Workload } from "../lib/passages.ts";
import {
  byAspect,
  type ConversationQuestion,
  type Conversations,
  isUnanswerable,
  type Session,
} from "./conversations.ts";
import { type AnswerModels, benchAnswers, SOURCES } from "./memory-answers.ts";
import { type Cell, type Findings, figure, figureColumn, keyColumn, numeric } from "./result.ts";
import { percentiles, type Run } from "./run.ts";

/** Results per search: enough that ten different turns, and usually ten different sessions, are among them. */
const RESULTS = 100;
const DEPTHS = [5, 10] as const;
const NDCG_DEPTH = 10;
/** Row of the figures that a random order is expected to have. */
const RANDOM = "random order";

type Row = Readonly<Record<string, Cell>>;

/** A session as a memory, with the positions of its turns. */
export interface StoredSession {
  readonly passage: Passage;
  /** Ids of the turns with the code point at which each begins, ascending. */
  readonly turns: readonly { readonly id: string; readonly start: number }[];
}

/** The results for one question. */
interface Answer {
  readonly question: ConversationQuestion;
  /** Different sessions and turns, best first. */
  readonly sessions: readonly string[];
  readonly turns: readonly string[];
  readonly contextTokens: number;
  readonly ms: number;
}

/** Number of sessions and turns that a user has. */
interface UserSize {
  readonly sessions: number;
  readonly turns: number;
}

/** Conversations, questions and models. */
export interface MemoryBenchmark {
  readonly conversations: Conversations;
  /** The questions that are asked. */
  readonly questions: readonly ConversationQuestion[];
  /**
   * The language models that answer and judge; null for extractive answers; `none` if only the evidence is measured.
   */
  readonly answers: AnswerModels | null | "none";
}

/** The sessions of the users whom the questions are about, as memories, and the questions. */
export function conversationWorkload({ conversations, questions }: MemoryBenchmark): Workload {
  const needed = new Set(questions.map(({ userId }) => userId));
  const stored = [...conversations.users].flatMap(([userId, sessions]) =>
    needed.has(userId) ? sessions.map((session) => storedSession(userId, session).passage) : [],
  );
  return {
    name: conversations.name,
    passages: stored.filter(({ content }) => content.trim() !== ""),
    questions: questions.map(searchFor),
  };
}

/** Measures all modes of a server that is filled with the sessions. */
export async function benchConversations(run: Run, benchmark: MemoryBenchmark): Promise<Findings> {
  const { conversations, questions, answers } = benchmark;
  const evidence = await benchEvidence(run, conversations, questions);
  if (answers === "none") return evidence;
  const answered = await benchAnswers(run, questions, answers);
  return {
    ...evidence,
    tables: [...evidence.tables, ...answered.tables],
    notes: [...evidence.notes, ...answered.notes],
    ...(answered.prompts !== undefined && { prompts: answered.prompts }),
  };
}

async function benchEvidence(
  run: Run,
  conversations: Conversations,
  asked: readonly ConversationQuestion[],
): Promise<Findings> {
  const questions = withEvidence(asked);
  const sizes = new Map(
    [...conversations.users].map(([user, sessions]) => [
      user,
      { sessions: sessions.length, turns: sessions.reduce((sum, { turns }) => sum + turns.length, 0) },
    ]),
  );
  const overall: Row[] = [{ mode: RANDOM, ...randomFigures(questions, sizes) }];
  const byCategory: Row[] = [];
  const aspects: Row[] = [];
  for (const mode of run.modes) {
    const answers = await askAll(run, mode, questions, turnsOfSessions(conversations));
    overall.push({ mode, ...figuresOf(answers, sizes), ...costsOf(answers) });
    for (const [category, group] of Map.groupBy(answers, ({ question }) => question.category)) {
      byCategory.push({ mode, category, ...figuresOf(group, sizes) });
    }
    for (const [aspect, group] of byAspect(answers)) aspects.push({ mode, aspect, ...figuresOf(group, sizes) });
    run.progress(mode, 1, `turn R@10 ${overall.at(-1)?.turn_recall_10}`);
  }
  return {
    tables: evidenceTables({ overall, byCategory, aspects }),
    chart: barChart({
      title: `Evidence found in ${conversations.name}`,
      unit: "",
      bars: overall.flatMap(({ mode, turn_recall_10, turn_ndcg }) => [
        { name: String(mode), series: "turn R@10", value: numeric(turn_recall_10) },
        { name: String(mode), series: "turn nDCG@10", value: numeric(turn_ndcg) },
      ]),
    }),
    notes: notesOf(conversations, questions, sizes),
  };
}

function evidenceTables(rows: {
  readonly overall: readonly Row[];
  readonly byCategory: readonly Row[];
  readonly aspects: readonly Row[];
}): Findings["tables"] {
  const scoreColumns = [
    figureColumn("questions", "questions", "", null),
    ...DEPTHS.map((depth) => figureColumn(`session_recall_${depth}`, `session R@${depth}`, "", "higher")),
    figureColumn("session_ndcg", `session nDCG@${NDCG_DEPTH}`, "", "higher"),
    ...DEPTHS.map((depth) => figureColumn(`turn_recall_${depth}`, `turn R@${depth}`, "", "higher")),
    figureColumn("turn_ndcg", `turn nDCG@${NDCG_DEPTH}`, "", "higher"),
  ];
  return [
    {
      name: "evidence",
      title: "Evidence found",
      columns: [
        ...[keyColumn("mode"), ...scoreColumns],
        figureColumn("context_tokens", "tokens per context", "", "lower"),
        figureColumn("p50", "p50", "ms", "lower"),
        figureColumn("p95", "p95", "ms", "lower"),
      ],
      rows: rows.overall,
    },
    {
      name: "categories",
      title: "Evidence found by kind of question",
      columns: [keyColumn("mode"), keyColumn("category"), ...scoreColumns],
      rows: rows.byCategory,
    },
    ...(rows.aspects.length === 0
      ? []
      : [
          {
            name: "aspects",
            title: "Evidence found for knowledge updates and times",
            columns: [keyColumn("mode"), keyColumn("aspect"), ...scoreColumns],
            rows: rows.aspects,
          },
        ]),
  ];
}

/**
 * Recall and nDCG of answers. Session figures at a depth leave the questions out whose user has no more sessions than
 * that, because there every order would have a full recall; null if no question is left. Turn figures leave out the
 * questions for which the file names only sessions.
 */
export function figuresOf(answers: readonly Answer[], sizes: ReadonlyMap<string, UserSize>): Row {
  const withTurns = answers.filter(({ question }) => question.turns.size > 0);
  const turnFigure = (score: (answer: Answer) => number) => averaged(withTurns.map(score));
  const sessionFigure = (depth: number, score: typeof recallAt) =>
    averaged(
      answers
        .filter(({ question }) => isSessionDepthFair(question, depth, sizes))
        .map(({ question, sessions }) => score(depth, sessions, judgementsOf(question.sessions))),
    );
  return {
    questions: answers.length,
    ...Object.fromEntries(DEPTHS.map((depth) => [`session_recall_${depth}`, sessionFigure(depth, recallAt)])),
    session_ndcg: sessionFigure(NDCG_DEPTH, ndcgAt),
    ...Object.fromEntries(
      DEPTHS.map((depth) => [
        `turn_recall_${depth}`,
        turnFigure(({ question, turns }) => recallAt(depth, turns, judgementsOf(question.turns))),
      ]),
    ),
    turn_ndcg: turnFigure(({ question, turns }) => ndcgAt(NDCG_DEPTH, turns, judgementsOf(question.turns))),
  };
}

/** The expected figures of a random order, by the same rules. */
export function randomFigures(questions: readonly ConversationQuestion[], sizes: ReadonlyMap<string, UserSize>): Row {
  const sizeOf = ({ userId }: ConversationQuestion) => sizes.get(userId) ?? { sessions: 1, turns: 1 };
  const fairAt = (depth: number) => questions.filter((question) => isSessionDepthFair(question, depth, sizes));
  const withTurns = questions.filter(({ turns }) => turns.size > 0);
  return {
    questions: questions.length,
    ...Object.fromEntries(
      DEPTHS.flatMap((depth) => [
        [`session_recall_${depth}`, averaged(fairAt(depth).map((each) => Math.min(1, depth / sizeOf(each).sessions)))],
        [`turn_recall_${depth}`, averaged(withTurns.map((each) => Math.min(1, depth / sizeOf(each).turns)))],
      ]),
    ),
    session_ndcg: averaged(fairAt(NDCG_DEPTH).map((each) => expectedNdcg(each.sessions.size, sizeOf(each).sessions))),
    turn_ndcg: averaged(withTurns.map((each) => expectedNdcg(each.turns.size, sizeOf(each).turns))),
  };
}

/** nDCG that a random order is expected to have: at each rank, the share of relevant items is the expected gain. */
function expectedNdcg(relevant: number, all: number): number {
  const discounts = (count: number) =>
    Array.from({ length: count }, (_, rank) => 1 / Math.log2(rank + 2)).reduce((sum, discount) => sum + discount, 0);
  return ((relevant / all) * discounts(Math.min(NDCG_DEPTH, all))) / discounts(Math.min(NDCG_DEPTH, relevant));
}

/** Id of the turn that contains code point `start`, where a passage begins; null before the first turn. */
export function turnAt(turns: StoredSession["turns"], start: number): string | null {
  return turns.findLast((turn) => turn.start <= start)?.id ?? null;
}

/** A session as one memory of type `conversation`: its date, then a line for each turn. */
export function storedSession(userId: string, { id, date, turns }: Session): StoredSession {
  const heading = date === "" ? "" : `[${date}]\n`;
  let content = heading;
  let points = [...heading].length;
  const places = turns.map(({ id: turn, speaker, text }) => {
    const line = `${speaker}: ${text.replace(/\s+/g, " ").trim()}\n`;
    const place = { id: turn, start: points };
    content += line;
    points += [...line].length;
    return place;
  });
  const passage = { id, title: null, content: turns.length === 0 ? "" : content, userId, metadata: {} };
  return { passage: { ...passage, type: "conversation" }, turns: places };
}

async function askAll(
  run: Run,
  mode: ModeName,
  questions: readonly ConversationQuestion[],
  turnsOf: ReadonlyMap<string, StoredSession["turns"]>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const [at, question] of questions.entries()) {
    const { hits, ms, status } = await run.target.ask(searchFor(question), { mode, limit: RESULTS });
    if (status !== 200) throw new Error(`The server answered ${status} to question ${question.id}.`);
    const turns = hits.map(({ document: passage, start }) => turnAt(turnsOf.get(passage) ?? [], start) ?? "");
    answers.push({
      ...{ question, ms, sessions: [...new Set(hits.map(({ document }) => document))], turns: [...new Set(turns)] },
      contextTokens: contextTokens(run, hits),
    });
    run.progress(mode, at / questions.length, `${at} of ${questions.length} questions`);
  }
  return answers;
}

function contextTokens({ bare }: Run, hits: readonly Hit[]): number {
  return hits.slice(0, SOURCES).reduce((sum, { content }) => sum + bare.tokensOf(content), 0);
}

function turnsOfSessions({ users }: Conversations): ReadonlyMap<string, StoredSession["turns"]> {
  return new Map(
    [...users].flatMap(([userId, sessions]) =>
      sessions.map((session) => [session.id, storedSession(userId, session).turns] as const),
    ),
  );
}

function costsOf(answers: readonly Answer[]): Row {
  const { p50, p95 } = percentiles(answers.map(({ ms }) => ms));
  return { context_tokens: averaged(answers.map((answer) => answer.contextTokens)), p50, p95 };
}

function notesOf(
  { questions: all }: Conversations,
  questions: readonly ConversationQuestion[],
  sizes: ReadonlyMap<string, UserSize>,
): readonly string[] {
  const unfair = DEPTHS.flatMap((depth) => {
    const count = questions.filter((question) => !isSessionDepthFair(question, depth, sizes)).length;
    return count === 0
      ? []
      : [
          `Warning: ${count} of ${questions.length} questions are about users with at most ${depth} sessions. Session figures at ${depth} leave them out, because any order would find everything there.`,
        ];
  });
  const without = questions.filter(({ turns }) => turns.size === 0).length;
  const unanswerable = all.filter(isUnanswerable).length;
  const leftOut = {
    "without an answer": unanswerable,
    "without evidence": all.length - unanswerable - withEvidence(all).length,
  };
  return [
    "Each question is asked among the sessions of its own user. Recall is the share of the evidence that is found, not whether any of it is found (`recall_any`), which is easier.",
    `\`${RANDOM}\` is what a random order is expected to find: figures near it mean nothing.`,
    `Latency is that of a search for ${RESULTS} results. A context has the ${SOURCES} best passages; its tokens are counted by the embedder's tokeniser.`,
    ...unfair,
    ...(without === 0 ? [] : [`${without} questions name sessions but no turns; the turn figures leave them out.`]),
    ...Object.entries(leftOut).flatMap(([reason, count]) =>
      count === 0 ? [] : [`Left out of the evidence: ${count} questions of the file ${reason}.`],
    ),
  ];
}

/** The questions whose evidence the file names. */
export function withEvidence(questions: readonly ConversationQuestion[]): readonly ConversationQuestion[] {
  return questions.filter(({ sessions }) => sessions.size > 0);
}

function searchFor({ id, text, userId, asOf, turns }: ConversationQuestion): Question {
  return { id, text, userId, asOf, judgements: new Map([...turns].map((turn) => [turn, 1])) };
}

function isSessionDepthFair(
  { userId }: ConversationQuestion,
  depth: number,
  sizes: ReadonlyMap<string, UserSize>,
): boolean {
  return (sizes.get(userId)?.sessions ?? 0) > depth;
}

function judgementsOf(ids: ReadonlySet<string>): ReadonlyMap<string, number> {
  return new Map([...ids].map((id) => [id, 1]));
}

function averaged(values: readonly number[]): number | null {
  return values.length === 0 ? null : figure(mean(values));
}
