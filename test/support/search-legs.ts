// Single search legs of an index (vectors, full text, graph), which tests look at one by one. A search of the product
// uses them together.

import type {
  AdmissibleSet,
  ChunkKeys,
  GraphHits,
  GraphOptions,
  IndexModel,
  Pool,
  SearchIndex,
  Seeds,
} from "../../src/ports/chunk-index.ts";

/** Hits of one leg, best first. Element `i` of each array belongs to hit `i`. */
export interface LegHits extends ChunkKeys {
  readonly scores: Float32Array;
}

/** No start points of a graph search. */
export const NO_SEEDS: Seeds = { chunkKeys: new BigUint64Array(), scores: new Float32Array() };

const EMPTY_POOL: Pool = {
  ...{ chunkKeys: new BigUint64Array(), memoryKeys: new BigUint64Array(), cosines: new Float32Array() },
  ...{ textScores: new Float32Array(), graph: null },
};

/** The chunks whose vectors are most similar to a vector of the live model, with their cosines. */
export async function searchVectors(
  index: Pick<SearchIndex, "recall">,
  fingerprint: string,
  vector: Float32Array,
  within: AdmissibleSet,
  limit: number,
): Promise<LegHits> {
  const legs = { vector: Promise.resolve(vector), vectorLimit: limit, textLimit: null, graph: null };
  const { chunkKeys, memoryKeys, cosines } = await index.recall({ text: "", fingerprint, ...legs }, within);
  return { chunkKeys, memoryKeys, scores: cosines };
}

/** The chunks with the highest BM25 scores, without those that contain no word of the text. */
export async function searchText(
  index: Pick<SearchIndex, "recall" | "models">,
  text: string,
  within: AdmissibleSet,
  limit: number,
): Promise<LegHits> {
  const { live } = await index.models();
  const legs = { vector: Promise.resolve(anyVector(live)), vectorLimit: 1, textLimit: limit, graph: null };
  const pool = await index.recall({ text, fingerprint: live.fingerprint, ...legs }, within);
  const scores = pool.textScores ?? new Float32Array();
  const best = [...scores.keys()].filter((at) => (scores[at] ?? 0) > 0);
  best.sort((one, other) => (scores[other] ?? 0) - (scores[one] ?? 0));
  best.splice(limit);
  return {
    chunkKeys: BigUint64Array.from(best, (at) => pool.chunkKeys[at] ?? 0n),
    memoryKeys: BigUint64Array.from(best, (at) => pool.memoryKeys[at] ?? 0n),
    scores: Float32Array.from(best, (at) => scores[at] ?? 0),
  };
}

/** The passages that a graph search finds. */
export async function searchGraph(
  index: Pick<SearchIndex, "walk" | "models">,
  text: string,
  seeds: Seeds,
  within: AdmissibleSet,
  limit: number,
  options: Partial<GraphOptions> = {},
): Promise<GraphHits> {
  const { live } = await index.models();
  const query = { text, fingerprint: live.fingerprint, vector: anyVector(live) };
  const found = await index.walk(query, seeds, EMPTY_POOL, within, {
    ...{ limit, usesSingleNames: false, certaintyMin: 0 },
    ...options,
  });
  if (found.graph === null) throw new Error("a walk has a result");
  return found.graph;
}

function anyVector({ dimensions }: IndexModel): Float32Array {
  return Float32Array.from({ length: dimensions }, (_, at) => (at === 0 ? 1 : 0));
}
