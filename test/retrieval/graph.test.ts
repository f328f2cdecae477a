// Graph search: passages that are reached via entities in one or two hops, and their paths in `explain`. The walk
// itself is tested in the native core.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { MemoryId } from "../../src/domain/ids.ts";
import { MODE_NAMES, type RankedPassage, type StageRecord } from "../../src/domain/ranking.ts";
import { type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { embedMarkedSimilarities, searchIn, storeIn, userScope } from "./search-fixtures.ts";

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const QUESTION = "Where was the father of Mabel Thorne born?";
const DAUGHTER = {
  title: "Mabel Thorne",
  content: "Mabel Thorne was a botanist. She was the daughter of Edmund Vale.",
};
const FATHER = { title: "Edmund Vale", content: "Edmund Vale kept bees. He came to the world in Kirkwall." };
const fillers = (count: number, userId?: string) =>
  Array.from({ length: count }, (_, at) => ({
    title: `Shelf ${at}`,
    content: `Shelf ${at} holds jars of plum jam that were born of a bad harvest.`,
    ...(userId !== undefined && { userId }),
  }));
const byTitle = (results: readonly RankedPassage[]) => results.map(({ memory }) => memory.title);

describe("a question that needs two hops", () => {
  test("finds a passage that contains no entity of the question, in any mode with the graph", async () => {
    embedMarkedSimilarities(harness); // the same similarity for all
    await storeIn(harness, DAUGHTER, FATHER, ...fillers(40));
    for (const mode of MODE_NAMES) {
      const { results } = await searchIn(harness, { query: QUESTION, mode, includeGraph: true, limit: 2 });
      expect(byTitle(results).sort()).toEqual(["Edmund Vale", "Mabel Thorne"]);
    }
  });

  test("shows the path to the passage: entity, passage, entity, passage", async () => {
    await storeIn(harness, DAUGHTER, FATHER, ...fillers(40));
    const { results, stages } = await searchIn(harness, { query: QUESTION, mode: "precise" });
    const of = (title: string) => results.find(({ memory }) => memory.title === title) as RankedPassage;
    const [daughter, father] = [of("Mabel Thorne"), of("Edmund Vale")];
    expect(daughter.signals.graph?.path).toEqual(["Mabel Thorne", daughter.chunkId]);
    expect(father.signals.graph?.path).toEqual(["Mabel Thorne", daughter.chunkId, "Edmund Vale", father.chunkId]);
    expect(father.signals.graph?.score).toBeGreaterThan(0);
    expect(stages.find(({ name }) => name === "graph")?.candidates).toBeGreaterThanOrEqual(2);
  });

  test("has no path through or to a passage outside the scope", async () => {
    await storeIn(harness, { ...DAUGHTER, userId: "eve" }, { ...FATHER, userId: "ada" }, ...fillers(12, "ada"));
    const { results } = await searchIn(harness, {
      query: QUESTION,
      mode: "precise",
      scope: await userScope(harness, "ada"),
      limit: 100,
    });
    expect(results).toHaveLength(13);
    for (const { signals } of results) expect(signals.graph?.path ?? []).not.toContain("Mabel Thorne");
  });

  test("does not show a passage in a path after it was deleted or given to another user during reranking", async () => {
    const changes: readonly ((id: MemoryId) => unknown)[] = [
      (id) => harness.memories.change(harness.projectId, id, { userId: "eve" }),
      (id) => harness.memories.remove(harness.projectId, id),
    ];
    const [daughter] = await storeIn(
      harness,
      { ...DAUGHTER, userId: "ada" },
      { ...FATHER, userId: "ada" },
      ...fillers(12, "ada"),
    );
    for (const change of changes) {
      const request = { query: QUESTION, mode: "precise", scope: await userScope(harness, "ada"), limit: 20 } as const;
      const { results } = await searchIn(harness, request, {
        score: async (_, passages) => {
          await change(daughter?.id as MemoryId);
          return new Float32Array(passages.length);
        },
      });
      expect(byTitle(results)).not.toContain("Mabel Thorne");
      const father = results.find(({ memory }) => memory.title === "Edmund Vale") as RankedPassage;
      expect(father.signals.graph?.path).toEqual([father.chunkId]);
      await harness.memories.change(harness.projectId, daughter?.id as MemoryId, { userId: "ada" });
    }
  });

  test("has no path through a deleted memory", async () => {
    const [daughter] = await storeIn(harness, DAUGHTER, FATHER, ...fillers(12));
    await harness.memories.remove(harness.projectId, daughter?.id as never);
    const index = await harness.index.project(harness.projectId);
    index.hide([daughter?.key as never]);
    const { results } = await searchIn(harness, { query: QUESTION, mode: "precise", limit: 100 });
    expect(results).toHaveLength(13);
    for (const { signals } of results) expect(signals.graph?.path ?? []).not.toContain("Mabel Thorne");
  });
});

describe("hybrid", () => {
  // The more passages lack an entity, the surer the graph is that the question means it.
  const MANY = 400;

  test("uses the graph, without being asked, if the question contains the title of a passage", async () => {
    embedMarkedSimilarities(harness);
    await storeIn(harness, DAUGHTER, FATHER, ...fillers(MANY));
    const { results, stages } = await searchIn(harness, { query: QUESTION, mode: "hybrid", limit: 2 });
    expect(byTitle(results).sort()).toEqual(["Edmund Vale", "Mabel Thorne"]);
    expect(stages.find(({ name }) => name === "graph")?.candidates).toBeGreaterThanOrEqual(2);
    const father = results.find(({ memory }) => memory.title === "Edmund Vale") as RankedPassage;
    expect(father.signals.graph?.path.at(0)).toBe("Mabel Thorne");
    const { results: fast } = await searchIn(harness, { query: QUESTION, mode: "fast", limit: 2 });
    expect(fast.some(({ signals }) => signals.graph !== undefined)).toBe(false);
  });

  test("scores without the graph if the graph is less sure", async () => {
    await storeIn(harness, DAUGHTER, FATHER, ...fillers(12));
    const { results, stages } = await searchIn(harness, { query: QUESTION, mode: "hybrid", limit: 20 });
    expect(results).toHaveLength(14);
    expect(results.some(({ signals }) => signals.graph !== undefined)).toBe(false);
    expect(stages.find(({ name }) => name === "graph")?.candidates).toBe(0);
    const { results: asked } = await searchIn(harness, { query: QUESTION, mode: "hybrid", includeGraph: true });
    expect(asked.some(({ signals }) => signals.graph !== undefined)).toBe(true);
  });
});

describe("languages that the models do not support", () => {
  const withoutGraph: StageRecord["name"][] = ["filter", "queue", "embed", "text", "vector", "fuse", "hydrate"];
  const expected = { fast: withoutGraph, balanced: withoutGraph.toSpliced(5, 0, "graph") };

  test("use full text in every mode, and `explain` shows it", async () => {
    await storeIn(harness, { content: "红色的风筝在天上飞。" }, ...fillers(40));
    for (const mode of ["fast", "balanced"] as const) {
      const { results, stages } = await searchIn(harness, { query: "红色的风筝", mode, limit: 1 });
      expect(results.map(({ text }) => text)).toEqual(["红色的风筝在天上飞。"]);
      expect(stages.map(({ name }) => name)).toEqual(expected[mode]);
    }
  });
});

describe("a question with a rare name and ordinary words", () => {
  const GREEN = "The dome of the Calder Vale Observatory was painted green.";
  const others = (word: string) =>
    Array.from({ length: 18 }, (_, at) => ({ content: `${word}: report ${at} of the yearly meeting, ${word}.` }));

  test.each([
    ["Zephyrine Okonkwo", "chief engineer", "Calder Vale Observatory"],
    ["Bartholomew Quine", "head gardener", "Saltmarsh Pavilion"],
    ["Wilhelmine Osterkamp", "leitende Ingenieurin", "Sternwarte Hohenlinden"],
    ["Ekkehard Tannhuber", "Hausmeister", "Kurhaus Bad Selzen"],
    ["Clotilde Vasseur", "ingénieure en chef", "Observatoire Montclar"],
    ["Remedios Aldana", "jefa de ingeniería", "Observatorio Sierra Alba"],
    ["Ludovica Ferrantini", "capo ingegnere", "Villa Serpieri"],
    ["Casimiro Boaventura", "engenheiro chefe", "Quinta Monforte"],
    ["Aleida Roosenburg", "hoofdingenieur", "Sterrenwacht Oudeland"],
    ["Пелагея Вяземская", "главный инженер", "Обсерватория Каменка"],
  ])("%s, %s: what shares %s with her is placed behind her", async (name, words, place) => {
    embedMarkedSimilarities(harness); // the same similarity for all
    await storeIn(
      harness,
      { content: `${name} is ${words} at the ${place}.` },
      { content: `The dome of the ${place} was painted green.` },
      ...others(words),
    );
    const query = `${name}, ${words}`;
    for (const mode of ["fast", "hybrid", "balanced", "precise"] as const) {
      const { results } = await searchIn(harness, { query, mode, includeGraph: true, limit: 5 });
      const texts = results.map(({ text }) => text);
      expect(texts).toHaveLength(5);
      const ranks = [name, "painted green"].map((part) => texts.findIndex((text) => text.includes(part)) + 1);
      expect({ mode, ranks }).toEqual({ mode, ranks: [1, 2] });
      const scores = results.map(({ score }) => score);
      expect(scores).toEqual(scores.toSorted((left, right) => right - left));
    }
  });

  test("nothing is placed without a name in the question, or without the graph", async () => {
    embedMarkedSimilarities(harness);
    await storeIn(
      harness,
      { content: "Zephyrine Okonkwo is chief engineer at the Calder Vale Observatory." },
      { content: GREEN },
      ...others("chief engineer"),
    );
    const rankOf = async (query: string, includeGraph: boolean) => {
      const { results } = await searchIn(harness, { query, mode: "hybrid", includeGraph, limit: 25 });
      return results.map(({ text }) => text);
    };
    expect(await rankOf("chief engineer", true)).toEqual(await rankOf("chief engineer", false));
    expect((await rankOf("Zephyrine Okonkwo, chief engineer", false)).indexOf(GREEN)).toBeGreaterThan(2);
  });
});
