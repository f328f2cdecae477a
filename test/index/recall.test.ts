// How the search legs of the native core overlap: which of them begin before another one has ended.

import { expect, test } from "bun:test";
import { recall } from "../../src/adapters/embedded/recall.ts";
import type { GraphHits, Hits, NativeAdmissible, NativeIndex } from "../../src/adapters/native/addon-types.ts";

const HITS: Hits = {
  chunkKeys: BigUint64Array.of(1n),
  memoryKeys: BigUint64Array.of(2n),
  scores: Float32Array.of(0.5),
};
const SURE = {
  ...HITS,
  certainty: 0.9,
  from: Uint32Array.of(1),
  via: BigUint64Array.of(0n),
  through: Uint32Array.of(0),
};
const ASKED = { text: "kite", fingerprint: "model", vectorLimit: 5, textLimit: 5 };
const GRAPH = { limit: 5, usesSingleNames: false, certaintyMin: 0.5 };
const WITHIN: NativeAdmissible = { memories: 1 };

/** A native core that answers with `HITS`, and notes what is called. */
function core(calls: string[], changes: Partial<NativeIndex> = {}): NativeIndex {
  const answers: Partial<NativeIndex> = {
    searchText: async () => HITS,
    searchVectors: async () => HITS,
    searchHybrid: async () => ({ ...HITS, cosines: HITS.scores, textScores: HITS.scores }),
    searchGraph: async (): Promise<GraphHits> => SURE,
    ...changes,
  };
  const noted = Object.entries(answers).map(([name, call]) => [
    name,
    (...given: never[]) => {
      calls.push(name);
      return (call as (...each: never[]) => unknown)(...given);
    },
  ]);
  return Object.fromEntries(noted);
}

test("full text and graph search begin before the question is embedded", async () => {
  const calls: string[] = [];
  const { promise: vector, resolve } = Promise.withResolvers<Float32Array>();
  const recalling = recall(core(calls), { ...ASKED, vector, graph: GRAPH }, WITHIN);
  expect(calls).toEqual(["searchText", "searchGraph"]);
  resolve(Float32Array.of(1));
  expect((await recalling).graph?.certainty).toBe(0.9);
  // full text had ended, so one call searches vectors and joins both
  expect(calls).toEqual(["searchText", "searchGraph", "searchHybrid"]);
});

test("vectors are searched while full text is still running, and joined with its hits", async () => {
  const calls: string[] = [];
  const { promise: vectorsBegun, resolve: markVectorsBegun } = Promise.withResolvers<void>();
  const native = core(calls, {
    searchText: async () => {
      await vectorsBegun; // if vector search waited for full text, the search would never end
      return HITS;
    },
    searchVectors: async () => {
      markVectorsBegun();
      return HITS;
    },
    searchHybrid: async (_query, textHits, _within, _limit, nearHits) => {
      expect([textHits, nearHits]).toEqual([HITS, HITS]);
      return { ...HITS, cosines: HITS.scores, textScores: HITS.scores };
    },
  });
  const pool = await recall(native, { ...ASKED, vector: Promise.resolve(Float32Array.of(1)), graph: null }, WITHIN);
  expect([...pool.chunkKeys]).toEqual([1n]);
  expect(calls).toEqual(["searchText", "searchVectors", "searchHybrid"]);
});

test("a leg that fails early makes the search fail when its hits are needed", async () => {
  const broken = () => Promise.reject(new Error("the leg is broken"));
  for (const changes of [{ searchText: broken }, { searchGraph: broken }, { searchHybrid: broken }]) {
    const vector = new Promise<Float32Array>((resolve) => setImmediate(() => resolve(Float32Array.of(1))));
    const recalling = recall(core([], changes), { ...ASKED, vector, graph: GRAPH }, WITHIN);
    await expect(recalling).rejects.toThrow("the leg is broken");
  }
});
