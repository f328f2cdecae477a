// The files of memory benchmarks, the positions of turns, and the guards against figures that are good by construction.

import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConversations, readConversations } from "../../bench/command/conversation-files.ts";
import { aspectOf, byAspect, type ConversationQuestion } from "../../bench/command/conversations.ts";
import {
  conversationWorkload,
  figuresOf,
  randomFigures,
  storedSession,
  turnAt,
} from "../../bench/command/memory-benchmarks.ts";
import { sampleEvenly } from "../../bench/command/question-sample.ts";

const LOCOMO = [
  {
    sample_id: "c1",
    conversation: {
      speaker_a: "Ada",
      session_2_date_time: "2 May, 2023",
      session_2: [{ speaker: "Bo", dia_id: "D2:1", text: "Second" }],
      session_1_date_time: "1 May, 2023",
      session_1: [
        { speaker: "Ada", dia_id: "D1:1", text: "First 😀\n line" },
        { speaker: "Bo", dia_id: "D1:2", text: "Reply" },
      ],
    },
    qa: [
      { question: "Q0", answer: 1999, evidence: ["D1:1; D2:1", "D9:9"], category: 1 },
      { question: "Q1", evidence: ["nonsense"], category: 2 },
      { question: "Q2", adversarial_answer: "Tea", evidence: ["D1:2"], category: 5 },
    ],
  },
];

const LONG_MEM_EVAL = [
  {
    question_id: "q1",
    question_type: "multi-session",
    question: "When?",
    answer: "At noon",
    question_date: "2023/05/30 (Tue) 23:40",
    haystack_dates: ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 03:00"],
    haystack_session_ids: ["s1", "s2"],
    haystack_sessions: [
      [{ role: "user", content: "Hello" }],
      [
        { role: "user", content: "It was noon.", has_answer: true },
        { role: "assistant", content: "Good.", has_answer: false },
      ],
    ],
    answer_session_ids: ["s2"],
  },
  {
    ...{ question_id: "q2_abs", question_type: "multi-session", question: "Who?", answer: "Nobody was named." },
    ...{ haystack_session_ids: ["s"], haystack_sessions: [[{ role: "user", content: "Hm", has_answer: true }]] },
    answer_session_ids: ["s"],
  },
  {
    ...{
      question_id: "q3",
      question_type: "single-session-preference",
      question: "Which tea?",
      answer: "Likes green.",
    },
    ...{ haystack_session_ids: ["s"], haystack_sessions: [[{ role: "user", content: "Hm" }]] },
    answer_session_ids: ["s"],
  },
];

describe("a file of LoCoMo", () => {
  const { name, users, questions } = parseConversations(JSON.stringify(LOCOMO), "a.json");
  test("gives sessions in order, and questions with the evidence that exists", () => {
    expect(name).toBe("LoCoMo");
    expect(users.get("c1")?.map(({ id, date, turns }) => [id, date, turns.map((turn) => turn.id)])).toEqual([
      ["c1/session 1", "1 May, 2023", ["c1/D1:1", "c1/D1:2"]],
      ["c1/session 2", "2 May, 2023", ["c1/D2:1"]],
    ]);
    expect(questions).toEqual([
      {
        ...{ id: "c1/q0", userId: "c1", text: "Q0", category: "multi-hop", asOf: null },
        turns: new Set(["c1/D1:1", "c1/D2:1"]),
        sessions: new Set(["c1/session 1", "c1/session 2"]),
        conditions: [{ kind: "gold", text: "1999" }],
      },
      {
        ...{ id: "c1/q1", userId: "c1", text: "Q1", category: "temporal", asOf: null },
        ...{ turns: new Set(), sessions: new Set(), conditions: [] },
      },
      {
        ...{ id: "c1/q2", userId: "c1", text: "Q2", category: "adversarial", asOf: null },
        ...{ turns: new Set(), sessions: new Set(), conditions: [{ kind: "refusal" }] },
      },
    ]);
  });
});

test("a file of LongMemEval gives each question its own sessions", () => {
  const conversations = parseConversations(JSON.stringify(LONG_MEM_EVAL), "a.json");
  expect(conversations.questions).toEqual([
    {
      ...{ id: "q1", userId: "q1", text: "When?", category: "multi-session", asOf: "2023-05-30T23:40:00Z" },
      turns: new Set(["q1/s2:0"]),
      sessions: new Set(["q1/s2"]),
      conditions: [{ kind: "gold", text: "At noon" }],
    },
    {
      ...{ id: "q2_abs", userId: "q2_abs", text: "Who?", category: "abstention", asOf: null },
      ...{ turns: new Set(), sessions: new Set(), conditions: [{ kind: "refusal" }] },
    },
    {
      ...{ id: "q3", userId: "q3", text: "Which tea?", category: "single-session-preference", asOf: null },
      ...{ turns: new Set(), sessions: new Set(["q3/s"]) },
      // the gold describes an answer
      conditions: [{ kind: "requirement", text: "Likes green." }],
    },
  ]);
  const asked = conversations.questions.slice(0, 1);
  const { passages, questions } = conversationWorkload({ conversations, questions: asked, answers: "none" });
  expect(passages.map(({ id, content, type, userId }) => [id, content, type, userId])).toEqual([
    ["q1/s1", "[2023/05/20 (Sat) 02:21]\nuser: Hello\n", "conversation", "q1"],
    ["q1/s2", "[2023/05/21 (Sun) 03:00]\nuser: It was noon.\nassistant: Good.\n", "conversation", "q1"],
  ]);
  expect(questions[0]?.asOf).toBe("2023-05-30T23:40:00Z");
});

test("knowledge updates, times and what is unknown are told apart, whatever a file calls them", () => {
  const [first] = LONG_MEM_EVAL;
  const file = ["knowledge-update", "temporal-reasoning", "multi-session", "knowledge-update"].map((type, at) => {
    return { ...first, question_type: type, question_id: at === 3 ? "last_abs" : `q${at}` };
  });
  const { questions } = parseConversations(JSON.stringify(file), "mine.json");
  expect(questions.map(aspectOf)).toEqual(["knowledge-update", "temporal", null, "abstention"]);
  const groups = byAspect(questions.toReversed().map((question) => ({ question })));
  expect(groups.map(([aspect, { length }]) => [aspect, length])).toEqual([
    ["knowledge-update", 1],
    ["temporal", 1],
    ["abstention", 1],
  ]);
  const locomo = parseConversations(JSON.stringify(LOCOMO), "a.json").questions;
  expect(locomo.map(aspectOf)).toEqual([null, "temporal", "abstention"]);
  const [question] = locomo as [ConversationQuestion];
  expect(aspectOf({ ...question, category: "knowledge_update" })).toBe("knowledge-update"); // BEAM
});

/** A chat in the shape of BEAM's repository: batches of turns, each with messages. */
const BEAM_CHAT = [
  {
    batch_number: 1,
    turns: [
      [
        { role: "user", id: 0, time_anchor: "May-07-2025", content: "We keep bees on the roof. ->-> 1,1" },
        { role: "assistant", id: 1, content: "How many hives?" },
      ],
      [{ role: "user", id: 2, content: "Two hives. ->-> 1,2" }],
    ],
  },
  { batch_number: 2, turns: [[{ role: "user", id: 3, content: "Now there are three hives." }]] },
];
const BEAM_QUESTIONS = {
  abstention: [{ question: "Who built the hives?", ideal_response: "Not said.", rubric: ["Not said"] }],
  knowledge_update: [
    {
      ...{ question: "How many hives are there?", answer: "Three", rubric: ["LLM response should state: three"] },
      source_chat_ids: { original_info: [2], updated_info: [3] },
    },
  ],
  event_ordering: [
    { question: "In which order?", answer: "…", source_chat_ids: [0, 2, 2], rubric: ["Bees", "Two hives"] },
    { question: "In which other order?", answer: "…", source_chat_ids: [0, 99], rubric: ["Bees", "Honey"] },
  ],
};

describe("BEAM", () => {
  const folder = mkdtempSync(join(tmpdir(), "mneme-beam-"));
  const chatFolder = join(folder, "7");
  mkdirSync(join(chatFolder, "probing_questions"), { recursive: true });
  writeFileSync(join(chatFolder, "chat.json"), JSON.stringify(BEAM_CHAT));
  writeFileSync(join(chatFolder, "probing_questions/probing_questions.json"), JSON.stringify(BEAM_QUESTIONS));
  const conversations = readConversations(folder);
  rmSync(folder, { recursive: true });

  test("is read from a folder of its repository: batches are sessions, messages are turns", () => {
    expect(conversations.name).toBe("BEAM");
    expect(conversations.users.get("7")).toEqual([
      {
        ...{ id: "7/session 1", date: "May 07, 2025" },
        turns: [
          { id: "7/session 1:0", speaker: "user", text: "We keep bees on the roof." },
          { id: "7/session 1:1", speaker: "assistant", text: "How many hives?" },
          { id: "7/session 1:2", speaker: "user", text: "Two hives." },
        ],
      },
      {
        ...{ id: "7/session 2", date: "" },
        turns: [{ id: "7/session 2:0", speaker: "user", text: "Now there are three hives." }],
      },
    ]);
  });

  test("gives questions with evidence and conditions from the rubric", () => {
    const base = { userId: "7", asOf: null };
    expect(conversations.questions).toEqual([
      {
        ...{ ...base, id: "7/abstention 1", text: "Who built the hives?", category: "abstention" },
        ...{ turns: new Set(), sessions: new Set(), conditions: [{ kind: "refusal" }] },
      },
      {
        ...{ ...base, id: "7/knowledge_update 1", text: "How many hives are there?", category: "knowledge_update" },
        turns: new Set(["7/session 1:2", "7/session 2:0"]),
        sessions: new Set(["7/session 1", "7/session 2"]),
        conditions: [{ kind: "requirement", text: "LLM response should state: three" }],
      },
      {
        ...{ ...base, id: "7/event_ordering 1", text: "In which order?", category: "event_ordering" },
        turns: new Set(["7/session 1:0", "7/session 1:2"]),
        sessions: new Set(["7/session 1"]),
        conditions: [
          {
            kind: "requirement",
            text: "The response lists these events, in exactly this order: 1. Bees; 2. Two hives",
          },
        ],
      },
      {
        ...{ ...base, id: "7/event_ordering 2", text: "In which other order?", category: "event_ordering" },
        // message 99 does not exist, so the share of the evidence that is found cannot be known
        ...{ turns: new Set(), sessions: new Set() },
        conditions: [
          { kind: "requirement", text: "The response lists these events, in exactly this order: 1. Bees; 2. Honey" },
        ],
      },
    ]);
  });

  test("is the same from the rows of its dataset, which list the messages of a batch", () => {
    const chat = BEAM_CHAT.map(({ turns }) => turns.flat());
    const rows = [{ conversation_id: "7", chat, probing_questions: JSON.stringify(BEAM_QUESTIONS) }];
    expect(parseConversations(JSON.stringify(rows), "a.json")).toEqual(conversations);
  });

  test("with several plans has sessions in order, and no evidence in messages whose id is repeated", () => {
    const batch = (content: string) => [{ batch_number: 1, turns: [[{ role: "user", id: 3, content }]] }];
    const chat = [{ "plan-10": null, "plan-2": null, "plan-1": batch("First") }, { "plan-2": batch("Second") }];
    const rows = [{ conversation_id: "9", chat, probing_questions: { a: [{ question: "Q", source_chat_ids: [3] }] } }];
    const { users, questions } = parseConversations(JSON.stringify(rows), "a.json");
    expect(users.get("9")?.map(({ turns }) => turns[0]?.text)).toEqual(["First", "Second"]);
    expect(questions[0]?.sessions.size).toBe(0);
  });

  test("is refused if something is missing", () => {
    const rows = (row: object) => JSON.stringify([{ conversation_id: "9", chat: BEAM_CHAT, ...row }]);
    expect(() => parseConversations(rows({ probing_questions: "{'a': []}" }), "a.json")).toThrow(
      "a.json: the probing_questions of 9 are no JSON object. In the dataset they are a literal of Python",
    );
    expect(() => parseConversations(rows({ chat: [], probing_questions: {} }), "a.json")).toThrow(
      "a.json: the chat of 9 has no messages.",
    );
    expect(() => readConversations(import.meta.dir)).toThrow("has no chats of BEAM");
    expect(() => readConversations(join(folder, "none"))).toThrow("none does not exist.");
  });
});

describe("a sample of questions", () => {
  const sizes = { large: 50, medium: 10, small: 2 };
  const all = Object.entries(sizes).flatMap(([category, count]) =>
    Array.from(
      { length: count },
      (_, at): ConversationQuestion => ({
        ...{ id: `${category} ${at}`, userId: "u", text: "", category, asOf: null },
        ...{ turns: new Set<string>(), sessions: new Set<string>(), conditions: [] },
      }),
    ),
  );
  const idsOf = (count: number, seed: number) => sampleEvenly(all, count, seed).map(({ id }) => id);
  const countsOf = (count: number) =>
    Object.keys(sizes).map((category) => idsOf(count, 1).filter((id) => id.startsWith(category)).length);

  test("has as many of each category, or all that there are", () => {
    expect([countsOf(3), countsOf(12), countsOf(30), countsOf(1_000)]).toEqual([
      [1, 1, 1],
      [5, 5, 2],
      [18, 10, 2],
      [50, 10, 2],
    ]);
  });
  test("keeps the order, and depends on the seed only", () => {
    const ids = all.map(({ id }) => id);
    expect(idsOf(20, 7)).toEqual(idsOf(20, 7));
    expect(idsOf(20, 7)).not.toEqual(idsOf(20, 8));
    expect(idsOf(20, 7)).toEqual(ids.filter((id) => idsOf(20, 7).includes(id)));
  });
});

test("other files are refused with their name", () => {
  expect(() => parseConversations("{", "a.json")).toThrow("a.json is not valid JSON.");
  for (const text of ["{}", "[]", '[{"a":1}]']) {
    expect(() => parseConversations(text, "a.json")).toThrow("a.json is neither LoCoMo");
  }
  expect(() => parseConversations('[{"haystack_sessions":[]}]', "a.json")).toThrow(
    "a.json: a question has no question_id",
  );
});

test("only the sessions of the asked users are stored", () => {
  const two = [...LOCOMO, { ...LOCOMO[0], sample_id: "c2" }];
  const conversations = parseConversations(JSON.stringify(two), "a.json");
  const questions = conversations.questions.filter(({ userId }) => userId === "c2");
  const { passages } = conversationWorkload({ conversations, questions, answers: "none" });
  expect(passages.map(({ userId }) => userId)).toEqual(["c2", "c2"]);
});

test("a passage belongs to the turn in which its first code point is", () => {
  const [session] = parseConversations(JSON.stringify(LOCOMO), "a.json").users.get("c1") ?? [];
  if (session === undefined) throw new Error("no session");
  const { passage, turns } = storedSession("c1", session);
  expect(passage.content).toBe("[1 May, 2023]\nAda: First 😀 line\nBo: Reply\n");
  const points = [...passage.content];
  expect(turns.map(({ start }) => points.slice(start, start + 3).join(""))).toEqual(["Ada", "Bo:"]);
  const second = turns[1]?.start ?? 0;
  expect([0, 14, second - 1, second, 999].map((start) => turnAt(turns, start))).toEqual([
    ...[null, "c1/D1:1", "c1/D1:1", "c1/D1:2", "c1/D1:2"],
  ]);
});

describe("the figures", () => {
  const question = (id: string, userId: string, turns: readonly string[], sessions: readonly string[]) => ({
    ...{ id, userId, text: "", category: "", asOf: null, turns: new Set(turns), sessions: new Set(sessions) },
    conditions: [],
  });
  const sizes = new Map([
    ["small", { sessions: 5, turns: 20 }],
    ["large", { sessions: 20, turns: 200 }],
  ]);
  const small = question("a", "small", ["t1", "t2"], ["s1"]);
  const large = question("b", "large", [], ["s1", "s2"]);
  const answer = (of: typeof small, sessions: readonly string[], turns: readonly string[]) => ({
    ...{ question: of, sessions, turns, contextTokens: 1, ms: 1 },
  });

  test("leave out what a user with few sessions would get for free, and turns that the file does not name", () => {
    const answers = [answer(small, ["s1"], ["t1", "x", "t2"]), answer(large, ["s9", "s2"], ["y"])];
    expect(figuresOf(answers, sizes)).toEqual({
      questions: 2,
      session_recall_5: 0.5, // of the large user only: one of two sessions
      session_recall_10: 0.5,
      session_ndcg: 0.3869, // 1 / log2(3) / (1 + 1 / log2(3))
      turn_recall_5: 1,
      turn_recall_10: 1,
      turn_ndcg: 0.9197, // (1 + 1 / log2(4)) / (1 + 1 / log2(3))
    });
    expect(figuresOf(answers.slice(0, 1), sizes).session_recall_5).toBeNull();
  });
  test("of a random order are the share that is shown", () => {
    expect(randomFigures([small, large], sizes)).toEqual({
      questions: 2,
      session_recall_5: 0.25,
      session_recall_10: 0.5,
      // two of 20 sessions: each of ten ranks has a tenth of a gain
      session_ndcg: 0.2786,
      turn_recall_5: 0.25,
      turn_recall_10: 0.5,
      turn_ndcg: 0.2786,
    });
  });
  test("of nDCG in a random order are the mean over all orders", () => {
    const tiny = new Map([["tiny", { sessions: 11, turns: 3 }]]);
    const asked = question("c", "tiny", ["t1"], ["s1"]);
    // the turn is first, second or third in a third of the orders
    const expected = (1 + 1 / Math.log2(3) + 1 / 2) / 3;
    expect(Number(randomFigures([asked], tiny).turn_ndcg)).toBeCloseTo(expected, 4);
  });
});
