// The judged samples that ship with the program, and the stores in which their questions are asked.

import { describe, expect, test } from "bun:test";
import { askingsOf, spread } from "../../src/calibration/askings.ts";
import { ABSTRACTS, judgedSamples } from "../../src/calibration/judged-samples.ts";

describe("judgedSamples", () => {
  test("has all texts for any model, and the questions that its languages allow", () => {
    const any = judgedSamples([]);
    const english = judgedSamples(["en"]);
    const german = judgedSamples(["de"]);
    expect(english.texts).toEqual(any.texts);
    expect(any.questions.length).toBeGreaterThan(700);
    expect(english.questions.length).toBeGreaterThan(150);
    expect(english.questions.length).toBeLessThan(any.questions.length);
    expect(english.questions.filter(({ owner }) => owner === ABSTRACTS)).toHaveLength(60);
    expect(german.questions.every(({ owner }) => owner !== ABSTRACTS)).toBe(true);
    expect(judgedSamples(["xx"]).questions).toEqual([]);
  });

  test("names only texts of the owner as answers, and each text once", () => {
    const { texts, questions } = judgedSamples([]);
    const ownerOf = new Map(texts.map(({ id, owner }) => [id, owner]));
    expect(ownerOf.size).toBe(texts.length);
    for (const { owner, answers } of questions) {
      expect(answers.map((id) => ownerOf.get(id))).toEqual(answers.map(() => owner));
    }
    const unanswerable = questions.filter(({ answers }) => answers.length === 0);
    expect(new Set(unanswerable.map(({ kind }) => kind))).toEqual(new Set(["off", "near"]));
  });
});

describe("askingsOf", () => {
  const samples = judgedSamples([]);
  const askings = askingsOf(samples);
  const of = (store: string) => askings.filter((asking) => asking.store === store);
  const share = (store: string) => of(store).filter(({ relevant }) => relevant.size > 0).length / of(store).length;

  test("asks every kind of store, each with answers and without", () => {
    expect(share("one text")).toBeCloseTo(1 / 6, 1);
    expect(share("few texts")).toBeCloseTo(1 / 2, 1);
    expect(share("other person")).toBe(0);
    expect(share("abstracts")).toBe(1);
    for (const store of ["all texts", "with others"]) {
      expect(share(store)).toBeGreaterThan(0.4);
      expect(share(store)).toBeLessThan(0.8);
    }
  });

  test("asks another person's store for what only its own has", () => {
    for (const { question, scope } of of("other person")) expect(scope.values).not.toContain(question.owner);
  });
});

describe("spread", () => {
  test.each([
    [0, 3],
    [2, 3],
    [3, 3],
    [10, 3],
    [10, 1],
  ])("of %i items at most %i, in their order, without repetition", (count, countMax) => {
    const items = Array.from({ length: count }, (_, at) => at);
    const taken = spread(items, countMax);
    expect(taken).toHaveLength(Math.min(count, countMax));
    expect(taken).toEqual([...new Set(taken)].sort((a, b) => a - b));
  });
});
