// The files of memory benchmarks, the positions of turns, and the guards against figures that are good by construction.

import { describe, expect, test } from "bun:test";
import { parseConversations } from "../../src/bench/conversation-files.ts";
import {
  conversationWorkload,
  figuresOf,
  randomFigures,
  storedSession,
  turnAt,
} from "../../src/bench/memory-benchmarks.ts";

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
      { question: "Q0", evidence: ["D1:1; D2:1", "D9:9"], category: 1 },
      { question: "Q1", evidence: ["nonsense"], category: 2 },
      { question: "Q2", evidence: ["D1:2"], category: 5 },
    ],
  },
];

const LONG_MEM_EVAL = [
  {
    question_id: "q1",
    question_type: "multi-session",
    question: "When?",
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
  { question_id: "q2_abs", haystack_session_ids: [], haystack_sessions: [], answer_session_ids: ["s"] },
];

describe("a file of LoCoMo", () => {
  const { name, users, questions, leftOut } = parseConversations(JSON.stringify(LOCOMO), "a.json");
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
      },
    ]);
    expect(leftOut).toEqual({ "without evidence": 1, "adversarial, has no answer": 1 });
  });
});

test("a file of LongMemEval gives each question its own sessions", () => {
  const conversations = parseConversations(JSON.stringify(LONG_MEM_EVAL), "a.json");
  expect(conversations.questions).toEqual([
    {
      ...{ id: "q1", userId: "q1", text: "When?", category: "multi-session", asOf: "2023-05-30T23:40:00Z" },
      turns: new Set(["q1/s2:0"]),
      sessions: new Set(["q1/s2"]),
    },
  ]);
  expect(conversations.leftOut).toEqual({ "abstention, has no answer": 1 });
  const { passages, questions } = conversationWorkload(conversations, 10);
  expect(passages.map(({ id, content, type, userId }) => [id, content, type, userId])).toEqual([
    ["q1/s1", "[2023/05/20 (Sat) 02:21]\nuser: Hello\n", "conversation", "q1"],
    ["q1/s2", "[2023/05/21 (Sun) 03:00]\nuser: It was noon.\nassistant: Good.\n", "conversation", "q1"],
  ]);
  expect(questions[0]?.asOf).toBe("2023-05-30T23:40:00Z");
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
  expect(conversations.questions).toHaveLength(2);
  expect(conversationWorkload(conversations, 1).passages.map(({ userId }) => userId)).toEqual(["c1", "c1"]);
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
      turn_recall_5: 0.25,
      turn_recall_10: 0.5,
    });
  });
});
