// The figures of `mneme bench quality`, against a brute-force oracle.

import { expect, test } from "bun:test";
import { rankingFigures } from "../../bench/command/quality.ts";
import { significant } from "../../bench/command/result.ts";
import { seeded } from "../../bench/lib/seeded.ts";

test("nDCG@10, recall and MRR are those of an oracle that tries all orders", () => {
  const chance = seeded(20_261_124);
  const documents = ["a", "b", "c", "d", "e", "f"];
  const gain = (order: readonly string[], grades: ReadonlyMap<string, number>) =>
    order.reduce((sum, id, at) => sum + (grades.get(id) ?? 0) / Math.log2(at + 2), 0);
  const cases = Array.from({ length: 25 }, (_, at) => {
    const judgements = new Map(documents.map((id) => [id, Math.floor(chance() * 3)]));
    judgements.set("a", 1); // at least one is relevant
    const ranking = [...documents].sort(() => chance() - 0.5).slice(0, 1 + Math.floor(chance() * 6));
    return { question: { id: `q${at}`, text: "", userId: null, asOf: null, judgements }, ranking };
  });
  const expected = cases.map(({ question: { judgements }, ranking }) => {
    const relevant = documents.filter((id) => (judgements.get(id) ?? 0) > 0);
    const first = ranking.findIndex((id) => relevant.includes(id));
    return {
      ndcg: gain(ranking, judgements) / Math.max(...orders(documents).map((order) => gain(order, judgements))),
      recall: relevant.filter((id) => ranking.slice(0, 5).includes(id)).length / relevant.length,
      mrr: first < 0 ? 0 : 1 / (first + 1),
    };
  });
  const meanOf = (values: readonly number[]) =>
    significant(values.reduce((sum, value) => sum + value, 0) / values.length);
  const found = rankingFigures(
    cases.map(({ question }) => question),
    cases.map(({ ranking }) => ranking),
  );
  expect(found.ndcg).toBeCloseTo(meanOf(expected.map(({ ndcg }) => ndcg)), 6);
  expect(found.recall_5).toBeCloseTo(meanOf(expected.map(({ recall }) => recall)), 6);
  expect(found.mrr).toBeCloseTo(meanOf(expected.map(({ mrr }) => mrr)), 6);
  expect(Number(found.low)).toBeLessThan(Number(found.ndcg));
  expect(Number(found.high)).toBeGreaterThan(Number(found.ndcg));
});

function orders(items: readonly string[]): readonly (readonly string[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first) => orders(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}
