// Joins the answers to the parts of a question: citations, repeated sentences, parts without an answer, evidence.

import { expect, test } from "bun:test";
import { type Answer, collectAnswer } from "../../src/answer/events.ts";
import { joinedAnswer } from "../../src/answer/joined-answer.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { passage } from "./passages.ts";

const [dentist, rent, other] = [passage("The dentist is Kern."), passage("The rent is 860."), passage("Figs.")];

function answer(text: string, cited: readonly RankedPassage[], changes: Partial<Answer> = {}): Answer {
  const sources = [...cited.map((each) => ({ passage: each, isCited: true })), { passage: other, isCited: false }];
  return { answer: text, sources, tokensUsed: 0, state: "answered", evidence: 0.9, ...changes };
}

async function joined(answers: readonly Answer[], maxSources = 8) {
  const parts = answers.map((each, at) => ({ text: `part ${at}`, answer: each }));
  async function* events() {
    yield* joinedAnswer(parts, maxSources, (part) => `Nothing: “${part}”`);
  }
  const { sources, ...rest } = await collectAnswer(events());
  return { ...rest, sources: sources.map(({ passage: { text }, isCited }) => [text, isCited]) };
}

test("sources are numbered once, and each is listed once", async () => {
  const found = await joined([
    answer("The dentist is Kern. [1]", [dentist]),
    answer("The rent is 860. [1] The dentist is Kern. [2]", [rent, dentist], { evidence: 0.4 }),
  ]);
  expect(found).toMatchObject({ answer: "The dentist is Kern. [1] The rent is 860. [2]", state: "answered" });
  expect(found.evidence).toBe(0.4);
  expect(found.sources).toEqual([
    ["The dentist is Kern.", true],
    ["The rent is 860.", true],
    ["Figs.", false],
  ]);
});

test("a part that nothing answers is named; what is stored instead is cited", async () => {
  const lacking = { state: "not_found", evidence: 0.1 } as const;
  const unknown = { ...answer("Nothing.", [], lacking), sources: [] };
  const found = await joined([unknown, answer("The rent is 860. [1]", [rent])]);
  expect([found.answer, found.state, found.evidence]).toEqual([
    "Nothing: “part 0” The rent is 860. [1]",
    "partial",
    0.9,
  ]);
  const gap = answer("Nothing for cabin 9. There is something about Kern [1].", [dentist], lacking);
  const named = await joined([answer("The rent is 860. [1]", [rent]), gap]);
  expect(named.answer).toBe("The rent is 860. [1] Nothing for cabin 9. There is something about Kern [2].");
});

test("unknown evidence of an answered part is unknown for all", async () => {
  const unknown = answer("The rent is 860. [1]", [rent], { evidence: null });
  expect((await joined([answer("The dentist is Kern. [1]", [dentist]), unknown])).evidence).toBeNull();
});
