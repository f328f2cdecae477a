// What balanced and precise have beyond fast: passages that only their words find. And what precise has beyond
// balanced: a deeper look by the reranker.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Ranking } from "../../src/domain/ranking.ts";
import type { Reranker } from "../../src/ports/models.ts";
import { MODES } from "../../src/retrieval/modes.ts";
import { type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { askIn, chooseNearness, storeIn } from "./asking.ts";

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const near = (count: number) => Array.from({ length: count }, (_, at) => ({ content: `Filler ${at}, near .5.` }));

test.each(["balanced", "precise"] as const)(
  "%s finds by its words a passage that more nearer ones than it has candidates hide from fast",
  async (mode) => {
    chooseNearness(harness);
    await storeIn(harness, ...near(MODES[mode].vectorCandidates + 5), { content: "The red kite, near .3." });
    const hidden = await askIn(harness, { mode: "fast" });
    expect(hidden.results.map(({ text }) => text)).not.toContain("The red kite, near .3.");
    const { results } = await askIn(harness, { mode });
    expect(results[0]?.text).toBe("The red kite, near .3.");
    expect(results[0]?.signals.text?.rank).toBe(1);
    expect(results[0]?.signals.vector?.score).toBeCloseTo(0.3, 2);
    expect(results[0]?.signals.vector?.rank).toBe(MODES[mode].vectorCandidates + 1);
    expect(new Set(results.map(({ chunkKey }) => chunkKey)).size).toBe(10);
  },
);

describe("precise", () => {
  test("agrees with balanced on everything but what a score means where both see the same passages", async () => {
    await storeIn(harness, ...["A red kite.", "A kite.", "Something else."].map((content) => ({ content })));
    const [precise, balanced] = [await askIn(harness, { mode: "precise" }), await askIn(harness, { mode: "balanced" })];
    const withoutScores = ({ results }: Ranking) => results.map(({ score: _, ...rest }) => rest);
    expect(withoutScores(precise)).toEqual(withoutScores(balanced));
  });

  test("lets the reranker read the best of its depth", async () => {
    await storeIn(harness, ...near(MODES.precise.rerankDepth + 10));
    let read = 0;
    const counting: Reranker = {
      score: async (_, passages) => {
        read += passages.length;
        return new Float32Array(passages.length);
      },
    };
    const { results } = await askIn(harness, { mode: "precise", limit: 40 }, counting);
    expect([read, results.length]).toEqual([MODES.precise.rerankDepth, MODES.precise.rerankDepth + 10]);
  });
});

describe("the graph", () => {
  test("stands in the record of precise, and of any mode that is asked to include it; without names it changes nothing", async () => {
    await storeIn(harness, { content: "A red kite." });
    const stages = async (request: Parameters<typeof askIn>[1]) => (await askIn(harness, request)).stages;
    const precise = await stages({ mode: "precise" });
    expect(precise.map(({ name }) => name)).toEqual(
      ["filter", "queue", "embed", "vector", "text", "graph", "fuse", "hydrate", "rerank"], // as they ran
    );
    expect(precise.map(({ candidates }) => candidates)).toEqual([1, 1, 1, 1, 1, 0, 1, 1, 1]);
    const names = async (request: Parameters<typeof askIn>[1]) => (await stages(request)).map(({ name }) => name);
    expect(await names({ mode: "fast", includeGraph: true })).toEqual([
      "filter",
      "queue",
      "embed",
      "vector",
      "graph",
      "fuse",
      "hydrate",
    ]);
    expect(await names({ mode: "balanced", includeGraph: false })).not.toContain("graph");
    const [plain, included] = [await askIn(harness), await askIn(harness, { includeGraph: true })];
    expect(included.results).toEqual(plain.results);
  });
});
