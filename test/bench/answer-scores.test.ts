// Scores of answers: what counts as correct, found, cited and abstained.

import { expect, test } from "bun:test";
import {
  type Answered,
  type AnswerSource,
  abstentionAt,
  answersRow,
  type JudgedAnswer,
} from "../../bench/lib/answer-scores.ts";

const source = (document: string, text: string, isCited: boolean, score = 0.5): AnswerSource => ({
  document,
  text,
  score,
  isCited,
});
const answered = (answer: string, sources: readonly AnswerSource[], wholeMs = 10): Answered => ({
  answer,
  sources,
  tokensUsed: 0,
  wholeMs,
});
const judged = (gold: string, documents: readonly string[], rest: Answered): JudgedAnswer => ({
  ...rest,
  gold,
  query: { id: gold, text: gold, userId: null, judgements: new Map(documents.map((document) => [document, 1])) },
});

const SAID = judged(
  "Rush",
  ["a", "b"],
  answered("Rush did [1]. Rain fell [2].", [source("a", "Rush did.", true), source("b", "Rain fell.", true)]),
);
const SECOND = judged(
  "Oslo",
  ["a", "b"],
  answered("Rain fell [1]. In Oslo [2].", [source("b", "Rain fell.", true), source("x", "In Oslo.", true)]),
);
const MISSED = judged(
  "1974",
  ["c"],
  answered("Rain fell [1].", [source("b", "Rain fell.", true), source("c", "It was 1974.", false)], 30),
);
const VERDICT = judged(
  "yes",
  ["a", "b"],
  answered("A is [1].", [source("a", "A is.", true), source("b", "B.", false)]),
);

test("span golds and yes/no golds are counted separately, and each share has its own denominator", () => {
  const row = answersRow({
    set: "some",
    mode: "balanced",
    answerable: [SAID, SECOND, MISSED, VERDICT],
    unanswerable: [answered("Nothing.", []), answered("Rain [1].", [source("b", "Rain.", true)])],
  });
  expect(row).toMatchObject({
    questions: 3,
    contained: 0.6667,
    first: 0.3333,
    withEvidence: 2, // of SECOND only one judged passage was found
    containedWithEvidence: 0.5,
    holding: 2, // Oslo stands in a passage that is not judged
    containedHolding: 0.5,
    citedSayGold: 0.4,
    citedJudged: 0.6,
    verdicts: 1,
    verdictsCiteAll: 0,
    abstained: 0,
    unanswerable: 2,
    abstainedUnanswerable: 0.5,
    p50Ms: 10,
    p95Ms: 30,
  });
});

test("a share without any question is left out", () => {
  const row = answersRow({ set: "some", mode: "fast", answerable: [SAID], unanswerable: [] });
  expect(row).not.toHaveProperty("abstainedUnanswerable");
  expect(row).not.toHaveProperty("verdictsCiteAll");
});

test("an answer without citations is an abstention; with min_evidence, so is one whose best score is lower", () => {
  const answers = [answered("Nothing.", []), answered("A [1].", [source("a", "A", true, 0.2)]), SAID];
  expect([0, 0.3, 0.6].map((evidenceMin) => abstentionAt(evidenceMin, answers))).toEqual([1 / 3, 2 / 3, 1]);
});
