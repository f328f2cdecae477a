// Differences between modes: hybrid, balanced and precise find passages by full text that fast misses, hybrid never
// calls the reranker, and precise reranks more passages than balanced.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Ranking } from "../../src/domain/ranking.ts";
import type { Candidate } from "../../src/retrieval/candidate.ts";
import { calibrationCurve, MODES } from "../../src/retrieval/modes.ts";
import { calibrate } from "../../src/retrieval/results.ts";
import { type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { ENGLISH_TUNING } from "../support/shipped-models.ts";
import { embedMarkedSimilarities, searchIn, storeIn, type TestReranker } from "./search-fixtures.ts";

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const near = (count: number) => Array.from({ length: count }, (_, at) => ({ content: `Filler ${at}, near .5.` }));

test.each(["hybrid", "balanced", "precise"] as const)(
  "%s finds a passage by full text that is too far away for vector search",
  async (mode) => {
    embedMarkedSimilarities(harness);
    await storeIn(harness, ...near(MODES[mode].vectorCandidates + 5), { content: "The red kite, near .3." });
    const fast = await searchIn(harness, { mode: "fast" });
    expect(fast.results.map(({ text }) => text)).not.toContain("The red kite, near .3.");
    const { results } = await searchIn(harness, { mode });
    expect(results[0]?.text).toBe("The red kite, near .3.");
    expect(results[0]?.signals.text?.rank).toBe(1);
    expect(results[0]?.signals.vector?.score).toBeCloseTo(0.3, 2);
    expect(results[0]?.signals.vector?.rank).toBe(MODES[mode].vectorCandidates + 1);
    expect(new Set(results.map(({ chunkId }) => chunkId)).size).toBe(10);
  },
);

describe("hybrid", () => {
  const unused: TestReranker = { score: () => Promise.reject(new Error("hybrid must not call the reranker")) };

  test("never calls the reranker, with and without the graph", async () => {
    await storeIn(harness, ...near(MODES.balanced.rerankDepth + 5), { content: "A red kite." });
    for (const includeGraph of [false, true]) {
      const { results, stages } = await searchIn(harness, { mode: "hybrid", includeGraph, limit: 30 }, unused);
      expect(results).toHaveLength(MODES.balanced.rerankDepth + 6);
      expect(results.some(({ signals }) => signals.rerank !== undefined)).toBe(false);
      expect(stages.map(({ name }) => name)).toEqual(
        ["filter", "queue", "embed", "text", "vector", "graph", "fuse", "hydrate"], // in the order of their end
      );
    }
  });

  test("scores every candidate by vectors and by full text, and orders by their sum", async () => {
    embedMarkedSimilarities(harness);
    await storeIn(
      harness,
      { content: "The red kite, near .3." },
      { content: "Something else, near .9." },
      { content: "A kite, near .5." },
    );
    const { results } = await searchIn(harness, { mode: "hybrid" });
    expect(results).toHaveLength(3);
    const sums = results.map(({ signals: { vector, text } }) => {
      return (vector?.score ?? Number.NaN) + ENGLISH_TUNING.weights.hybrid.textWeight * (text?.score ?? Number.NaN);
    });
    expect(sums).toEqual([...sums].sort((left, right) => right - left));
    const curve = calibrationCurve(new Set(["text"]), ENGLISH_TUNING);
    const candidates = sums.map((finalScore) => ({ finalScore }) as Candidate);
    expect(results.map(({ score }) => score)).toEqual(
      calibrate(candidates, curve, 3).map((score) => expect.closeTo(score)),
    );
  });

  test("weighs full text twice in scripts without spaces", async () => {
    embedMarkedSimilarities(harness, "風箏在哪裡");
    harness.embedder.languages = ["en", "zh"];
    await storeIn(harness, { content: "風箏在閣樓裡, near .3." }, { content: "別的東西, near .5." });
    const { results } = await searchIn(harness, { mode: "hybrid", query: "風箏在哪裡" });
    const sums = results.map(({ signals: { vector, text } }) => {
      return (vector?.score ?? Number.NaN) + 2 * ENGLISH_TUNING.weights.hybrid.textWeight * (text?.score ?? Number.NaN);
    });
    const candidates = sums.map((finalScore) => ({ finalScore }) as Candidate);
    const curve = calibrationCurve(new Set(["text"]), ENGLISH_TUNING);
    expect(results.map(({ score }) => score)).toEqual(
      calibrate(candidates, curve, 2).map((score) => expect.closeTo(score)),
    );
  });

  test("finds what balanced finds, in the order of balanced before its reranker", async () => {
    embedMarkedSimilarities(harness);
    await storeIn(harness, ...near(10), { content: "The red kite, near .3." }, { content: "Two kites, near .7." });
    const [hybrid, balanced] = [
      await searchIn(harness, { mode: "hybrid", limit: 20 }),
      await searchIn(harness, { mode: "balanced", limit: 20 }),
    ];
    const before = [...balanced.results].sort((left, right) => left.fusedRank - right.fusedRank);
    expect(hybrid.results.map(({ text }) => text)).toEqual(before.map(({ text }) => text));
  });
});

describe("precise", () => {
  test("differs from balanced only in scores and neighbours if both have the same few candidates", async () => {
    await storeIn(harness, ...["A red kite.", "A kite.", "Something else."].map((content) => ({ content })));
    const [precise, balanced] = [
      await searchIn(harness, { mode: "precise" }),
      await searchIn(harness, { mode: "balanced" }),
    ];
    const withoutScores = ({ results }: Ranking) =>
      results.map(({ score: _, signals: { neighbours: _gain, ...signals }, ...rest }) => ({ ...rest, signals }));
    expect(withoutScores(precise)).toEqual(withoutScores(balanced));
  });

  test("prefers passages that resemble the best ones, and explains by how much", async () => {
    // "on 1 at .9" has cosine .9 to the query; what remains of its vector points along axis 1
    harness.embedder.vectorOf = (text) => {
      const [, axis = 1, cosine = text === "red kite" ? 1 : 0.1] = (/on (\d) at (\.\d+)/.exec(text) ?? []).map(Number);
      const vector = new Float32Array(harness.embedder.dimensions);
      vector[0] = cosine;
      vector[axis] = Math.sqrt(1 - cosine ** 2);
      return vector;
    };
    const places = ["1 at .9", "1 at .91", "1 at .92", "1 at .6", "2 at .65", "2 at .2", "2 at .21", "2 at .22"];
    await storeIn(harness, ...places.map((place) => ({ content: `passage on ${place}` })));
    const order = ({ results }: Ranking) => results.slice(0, 5).map(({ text }) => text.replace("passage on ", ""));
    const [balanced, precise] = [
      await searchIn(harness, { mode: "balanced" }),
      await searchIn(harness, { mode: "precise" }),
    ];
    expect(order(balanced)).toEqual(["1 at .92", "1 at .91", "1 at .9", "2 at .65", "1 at .6"]);
    expect(order(precise)).toEqual(["1 at .92", "1 at .91", "1 at .9", "1 at .6", "2 at .65"]);
    const gain = MODES.precise.neighbourBoost * (0.91 - 0.6);
    expect(precise.results[3]?.signals.neighbours).toEqual({ rank: 1, score: expect.closeTo(gain) });
    expect(precise.results[0]?.signals).not.toHaveProperty("neighbours");
    expect(balanced.results.some(({ signals }) => signals.neighbours !== undefined)).toBe(false);
  });

  test("reranks as many passages as its depth", async () => {
    await storeIn(harness, ...near(MODES.precise.rerankDepth + 10));
    let read = 0;
    const counting: TestReranker = {
      score: async (_, passages) => {
        read += passages.length;
        return new Float32Array(passages.length);
      },
    };
    const { results } = await searchIn(harness, { mode: "precise", limit: 40 }, counting);
    expect([read, results.length]).toEqual([MODES.precise.rerankDepth, MODES.precise.rerankDepth + 10]);
  });
});

describe("the graph", () => {
  test("is a stage of precise and of any mode that includes it; without entities it changes no result", async () => {
    await storeIn(harness, { content: "A red kite." });
    const stages = async (request: Parameters<typeof searchIn>[1]) => (await searchIn(harness, request)).stages;
    const precise = await stages({ mode: "precise" });
    expect(precise.map(({ name }) => name)).toEqual(
      ["filter", "queue", "embed", "text", "vector", "graph", "fuse", "hydrate", "rerank"], // in the order of their end
    );
    expect(precise.map(({ candidates }) => candidates)).toEqual([1, 1, 1, 1, 1, 0, 1, 1, 1]);
    const names = async (request: Parameters<typeof searchIn>[1]) => (await stages(request)).map(({ name }) => name);
    expect(await names({ mode: "fast", includeGraph: true })).toEqual([
      "filter",
      "queue",
      "embed",
      "vector",
      "graph",
      "fuse",
      "hydrate",
    ]);
    expect(await names({ mode: "fast", includeGraph: false })).not.toContain("graph");
    const [plain, included] = [await searchIn(harness), await searchIn(harness, { includeGraph: true })];
    expect(included.results).toEqual(plain.results);
  });
});
