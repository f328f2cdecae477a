// A time in the query of a search: passages of that time come first, and `explain` says so.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { startService, type TestService } from "../support/service.ts";

interface Result {
  readonly content: string;
  readonly score: number;
}

let mneme: TestService;
afterAll(() => mneme.stop());

const search = (body: object) => mneme.call("POST", "/v1/memories/search", body);

describe("a time in the query", () => {
  const told = (body: { results: readonly Result[] }) => body.results.map(({ content }) => content);
  const asked = async (query: string, more: object = {}) =>
    (await search({ query, userId: "diary", explain: true, ...more })).body;

  beforeAll(async () => {
    const memories = [
      { content: "Saw a heron at the pond.", occurred_at: "2024-05-01" },
      { content: "Saw a heron at the river.", occurred_at: "2024-05-08" },
      { content: "Saw a heron at the lake.", occurred_at: "2023-05-08" },
      { content: "Bought new tyres for the van.", occurred_at: "2024-05-08" },
      { content: "The van failed its inspection.", occurred_at: "2022-01-08" },
    ].map((memory) => ({ ...memory, userId: "diary" }));
    mneme = await startService({});
    const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
    for (const { memory } of body.data) await mneme.settled(memory.id);
  });

  for (const mode of MODE_NAMES) {
    test(`${mode}: passages of that time come first, and none is left out`, async () => {
      const lastWeek = await asked("Where did I see a heron last week?", { mode, asOf: "2024-05-14" });
      expect(told(lastWeek)[0]).toBe("Saw a heron at the river.");
      expect(lastWeek.results).toHaveLength(5);
      expect(lastWeek.explain.time).toEqual({
        ...{ from: "2024-05-06T00:00:00.000Z", to: "2024-05-13T00:00:00.000Z" },
        expression: "last week",
      });
      expect(lastWeek.results[0].explain.signals.time).toEqual({ rank: 1, score: 1 });
      const inMay = await asked("where did I see a heron in May 2023", { mode });
      expect(told(inMay)[0]).toBe("Saw a heron at the lake.");
      const scores = inMay.results.map(({ score }: Result) => score);
      expect(scores).toEqual(scores.toSorted((left: number, right: number) => right - left));
    });
  }

  test("is counted from asOf, and is absent where the query names none", async () => {
    const { explain } = await asked("Where did I see a heron last week?", { asOf: "2024-05-07T01:00:00+02:00" });
    expect(explain.time).toMatchObject({ from: "2024-04-28T22:00:00.000Z", to: "2024-05-05T22:00:00.000Z" });
    const before = await asked("Which bird did I see before 2024?");
    expect(before.explain.time).toEqual({ from: null, to: "2024-01-01T00:00:00.000Z", expression: "before 2024" });
    const plain = await asked("heron at the lake");
    expect(plain.explain.time).toBeUndefined();
    expect(plain.results[0].explain.signals.time).toBeUndefined();
  });
});

describe("contradicting memories", () => {
  const asked = async (query: string, more: object = {}) =>
    (await search({ query, userId: "patient", explain: true, ...more })).body.results;

  beforeAll(async () => {
    const memories = [
      { content: "Ramipril dose: 5 mg at breakfast.", occurred_at: "2021-05-05" },
      { content: "Ramipril dose changed to 10 mg.", occurred_at: "2023-08-22" },
      { content: "The cat is called Bertie.", occurred_at: "2019-10-10" },
      { content: "Jar of heather honey costs nine euros.", occurred_at: "2022-04-18" },
    ].map((memory) => ({ ...memory, userId: "patient" }));
    const { body } = await mneme.call("POST", "/v1/memories/batch", { memories });
    for (const { memory } of body.data) await mneme.settled(memory.id);
  });

  for (const mode of MODE_NAMES) {
    test(`${mode}: the newer one ranks first for the present, the older one for the past`, async () => {
      const now = await asked("What is my ramipril dose at breakfast now?", { mode });
      expect(now[0].content).toBe("Ramipril dose changed to 10 mg.");
      const before = await asked("What was my ramipril dose previously?", { mode });
      expect(before[0].content).toBe("Ramipril dose: 5 mg at breakfast.");
      const older = [...now, ...before].filter(({ explain }) => explain.superseded_by !== undefined);
      for (const { content, explain } of older) {
        expect(content).toBe("Ramipril dose: 5 mg at breakfast.");
        expect(explain.superseded_by).toBe(now[0].memory_id);
      }
      for (const results of [now, before]) {
        const scores = results.map(({ score }: Result) => score);
        expect(scores).toEqual(scores.toSorted((left: number, right: number) => right - left));
        expect(results).toHaveLength(4);
      }
    });
  }
});
