// The evidence of an answer: what it depends on, and what an answer does with it when the value of a neighbour is
// stored, but not what is asked for.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EvidenceCurve } from "../../src/domain/retrieval-tuning.ts";
import { evidenceIn } from "../../src/retrieval/evidence.ts";
import { passage } from "../answer/passages.ts";
import { startService, type TestService } from "../support/service.ts";

const CURVE: EvidenceCurve = { scoreSlope: 1, codesSlope: 4, namesSlope: 1, offset: 0 };
const evidence = (question: string, ...found: readonly (readonly [text: string, score: number])[]) =>
  evidenceIn(
    question,
    "en",
    found.map(([text, score]) => passage(text, score)),
    CURVE,
  );

describe("evidence", () => {
  test("is null without passages", () => {
    expect(evidence("wifi password?")).toBeNull();
  });

  test("is the score where nothing is missing, as far as the curve says so", () => {
    expect(evidence("wifi password?", ["The wifi password is heron.", 0.8])).toBeCloseTo(0.8, 6);
  });

  test("is lower if all passages lack a number of the question", () => {
    expect(evidence("wifi of cabin 9?", ["Cabin 4: heron", 0.8], ["Cabin 5: gull", 0.7])).toBeLessThan(0.1);
  });

  test("is that of the best passage that has the number", () => {
    expect(evidence("wifi of cabin 9?", ["Cabin 4: heron", 0.8], ["Cabin 9: gull", 0.6])).toBeCloseTo(0.6, 6);
  });

  test("ignores passages behind the fifth", () => {
    const others = Array.from({ length: 5 }, (_, at) => [`Cabin ${at}: heron`, 0.8] as const);
    expect(evidence("wifi of cabin 9?", ...others, ["Cabin 9: gull", 0.6])).toBeLessThan(0.1);
  });

  test("is between 0 and 1 for all scores", () => {
    for (const score of [0, 1]) expect(evidence("wifi of cabin 9?", ["Cabin 4: heron", score])).toBeWithin(0, 1);
  });
});

describe("a question for what is not stored beside something alike", () => {
  let mneme: TestService;
  const NOTES = [
    "Wifi: cabin 3 network CurlewCroft, password tawny-ladder-58",
    "Wifi: cabin 4 network HeronHide, password amber-spade-12",
    "Invoice BL-2317 from Blakelaw: 412.60 euros, paid in May",
    "Fehler E133 an der Heizung in Hütte 4: der Gasregler war vereist",
    "Tabletas de 5 mg de enalapril, una por la mañana con el desayuno",
    "佐藤さんの内線は 4471 です",
    "Номер рейса в Осло: SK 4727, вылет в 7:10",
    "Le casier 12 de la salle de sport est celui d'Inès, code 8841",
  ];
  beforeAll(async () => {
    mneme = await startService();
    for (const content of NOTES) {
      const { body } = await mneme.call("POST", "/v1/memories", { content, userId: "ada" });
      await mneme.settled(body.id);
    }
  });
  afterAll(() => mneme.stop());
  const ask = async (query: string, mode: string) =>
    (await mneme.call("POST", "/v1/memories/query", { query, userId: "ada", mode })).body;

  const CASES = [
    ["What is the wifi password of cabin 4?", "amber-spade-12", "What is the wifi password of cabin 9?"],
    ["How much was invoice BL-2317?", "412.60", "How much was invoice BL-2318?"],
    ["Was bedeutet Fehler E133 an der Heizung?", "Gasregler", "Was bedeutet Fehler E119 an der Heizung?"],
    ["¿Cuándo tomo las tabletas de 5 mg?", "mañana", "¿Cuándo tomo las tabletas de 20 mg?"],
    ["佐藤さんの内線 4471 は誰ですか?", "佐藤", "内線 9902 は誰ですか?"],
    ["Когда вылетает рейс SK 4727?", "7:10", "Когда вылетает рейс SK 8811?"],
    ["Quel est le code du casier 12 ?", "8841", "Quel est le code du casier 31 ?"],
  ] as const;
  for (const mode of ["fast", "hybrid"]) {
    test.each(CASES)(`${mode}: %s is answered with %s, but not: %s`, async (stored, value, missing) => {
      const answered = await ask(stored, mode);
      expect(answered.answer).toContain(value);
      expect(answered.answer_state).toBe("answered");
      const refused = await ask(missing, mode);
      expect(refused.answer_state).toBe("not_found");
      expect(refused.answer).not.toContain(value);
      expect(refused.sources.every(({ cited }: { cited: boolean }) => cited)).toBeTrue();
      expect(refused.evidence).toBeLessThan(answered.evidence);
    });
  }

  test("an answer quotes no neighbour beside what is asked for", async () => {
    const { answer, sources } = await ask("What is the wifi password of cabin 4?", "fast");
    expect(answer).toContain("amber-spade-12");
    expect(answer).not.toContain("tawny-ladder-58");
    expect(sources.some(({ content }: { content: string }) => content.includes("cabin 3"))).toBeFalse();
  });

  test("an explained search shows the evidence", async () => {
    const search = { query: "What is the wifi password of cabin 9?", userId: "ada", explain: true };
    const { body } = await mneme.call("POST", "/v1/memories/search", search);
    expect(body.explain.evidence).toBeWithin(0, 0.2);
    expect(body.results.length).toBeGreaterThan(0);
    const without = await mneme.call("POST", "/v1/memories/search", { ...search, userId: "nobody" });
    expect(without.body.explain.evidence).toBeNull();
  });
});
