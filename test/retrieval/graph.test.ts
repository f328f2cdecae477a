// What the graph adds to a search: passages that names lead to, over one passage and over two, and how that is told.
// How the walk goes is tested in the native core.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chunkIdOf, type MemoryId } from "../../src/domain/ids.ts";
import { MODE_NAMES, type RankedPassage, type StageRecord } from "../../src/domain/ranking.ts";
import { type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { askIn, chooseNearness, ofUser, storeIn } from "./asking.ts";

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

describe("a question of two steps", () => {
  test("reaches, in any mode with the graph, the passage that says nothing of what was asked for by name", async () => {
    chooseNearness(harness); // all alike
    await storeIn(harness, DAUGHTER, FATHER, ...fillers(40));
    for (const mode of MODE_NAMES) {
      const { results } = await askIn(harness, { query: QUESTION, mode, includeGraph: true, limit: 2 });
      expect(byTitle(results).sort()).toEqual(["Edmund Vale", "Mabel Thorne"]);
    }
  });

  test("is told by the way that leads there: name, passage, name, passage", async () => {
    await storeIn(harness, DAUGHTER, FATHER, ...fillers(40));
    const { results, stages } = await askIn(harness, { query: QUESTION, mode: "precise" });
    const of = (title: string) => results.find(({ memory }) => memory.title === title) as RankedPassage;
    const [daughter, father] = [of("Mabel Thorne"), of("Edmund Vale")];
    expect(daughter.signals.graph?.path).toEqual(["Mabel Thorne", chunkIdOf(daughter.chunkKey)]);
    expect(father.signals.graph?.path).toEqual([
      "Mabel Thorne",
      chunkIdOf(daughter.chunkKey),
      "Edmund Vale",
      chunkIdOf(father.chunkKey),
    ]);
    expect(father.signals.graph?.score).toBeGreaterThan(0);
    expect(stages.find(({ name }) => name === "graph")?.candidates).toBeGreaterThanOrEqual(2);
  });

  test("does not lead through a passage outside of the scope, nor to one", async () => {
    await storeIn(harness, { ...DAUGHTER, userId: "eve" }, { ...FATHER, userId: "ada" }, ...fillers(12, "ada"));
    const { results } = await askIn(harness, {
      query: QUESTION,
      mode: "precise",
      scope: ofUser(harness, "ada"),
      limit: 100,
    });
    expect(results).toHaveLength(13);
    for (const { signals } of results) expect(signals.graph?.path ?? []).not.toContain("Mabel Thorne");
  });

  test("does not name a passage that goes, or goes to somebody else, while the reranker works", async () => {
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
      const request = { query: QUESTION, mode: "precise", scope: ofUser(harness, "ada"), limit: 20 } as const;
      const { results } = await askIn(harness, request, {
        score: async (_, passages) => {
          change(daughter?.id as MemoryId);
          return new Float32Array(passages.length);
        },
      });
      expect(byTitle(results)).not.toContain("Mabel Thorne");
      const father = results.find(({ memory }) => memory.title === "Edmund Vale") as RankedPassage;
      expect(father.signals.graph?.path).toEqual([chunkIdOf(father.chunkKey)]);
      harness.memories.change(harness.projectId, daughter?.id as MemoryId, { userId: "ada" });
    }
  });

  test("does not lead through what was deleted", async () => {
    const [daughter] = await storeIn(harness, DAUGHTER, FATHER, ...fillers(12));
    harness.memories.remove(harness.projectId, daughter?.id as never);
    const index = await harness.index.project(harness.projectId);
    index.hide([daughter?.key as never]);
    const { results } = await askIn(harness, { query: QUESTION, mode: "precise", limit: 100 });
    expect(results).toHaveLength(13);
    for (const { signals } of results) expect(signals.graph?.path ?? []).not.toContain("Mabel Thorne");
  });
});

describe("the languages that the models do not read", () => {
  const words: StageRecord["name"][] = ["filter", "queue", "embed", "vector", "text", "fuse", "hydrate"];

  test("full text takes part in every mode, and the record shows it", async () => {
    await storeIn(harness, { content: "红色的风筝在天上飞。" }, ...fillers(40));
    for (const mode of ["fast", "balanced"] as const) {
      const { results, stages } = await askIn(harness, { query: "红色的风筝", mode, limit: 1 });
      expect(results.map(({ text }) => text)).toEqual(["红色的风筝在天上飞。"]);
      expect(stages.map(({ name }) => name)).toEqual(words);
    }
  });
});
