// Runs the three search legs (vector search, full text, graph search) in the native core concurrently, and gives each
// candidate the scores of all.

import type { ChunkKey } from "../../domain/ids.ts";
import type {
  AdmissibleSet,
  GraphHits,
  GraphOptions,
  IndexQuery,
  Pool,
  Recall,
  Seeds,
} from "../../ports/chunk-index.ts";
import type { Hits, NativeIndex } from "../native/addon-types.ts";
import { concatenate, withOtherModel } from "./model-vectors.ts";

const NO_HITS: Hits = {
  chunkKeys: new BigUint64Array(),
  memoryKeys: new BigUint64Array(),
  scores: new Float32Array(),
};

/** See `SearchIndex.recall`. */
export async function recall(
  native: NativeIndex,
  { text, fingerprint, vector: embedding, vectorLimit, textLimit, graph: options, onLeg = () => undefined }: Recall,
  within: AdmissibleSet,
): Promise<Pool> {
  const textSearch = textLimit === null || textLimit === 0 ? null : started(native.searchText(text, within, textLimit));
  const walking = options === null ? null : started(searchGraph(native, text, NO_HITS, within, options));
  const query = { text, fingerprint, vector: await embedding };
  const searchVectors = async () => native.searchVectors(fingerprint, query.vector, within, vectorLimit);
  let pool: Pool;
  if (textLimit === null) {
    const { scores: cosines, ...chunks } = await withOtherModel(searchVectors);
    pool = { ...chunks, cosines, textScores: null, graph: null };
  } else {
    // if full text has not ended yet, vectors are searched meanwhile
    const early = textSearch === null || textSearch.isDone ? null : started(withOtherModel(searchVectors));
    const textHits = (await textSearch?.result) ?? NO_HITS;
    onLeg("text", textHits.chunkKeys.length);
    const near = await early?.result;
    const joined = await withOtherModel(() => native.searchHybrid(query, textHits, within, vectorLimit, near));
    pool = { ...joined, graph: null };
  }
  onLeg("vector", pool.chunkKeys.length);
  if (walking === null || options === null) return pool;
  const graph = await walking.result;
  const isSure = graph.certainty > 0 && graph.certainty >= options.certaintyMin;
  if (isSure) pool = await withGraph(native, query, pool, graph);
  onLeg("graph", isSure ? graph.chunkKeys.length : 0);
  return pool;
}

/** See `SearchIndex.walk`. */
export async function walk(
  native: NativeIndex,
  query: IndexQuery,
  seeds: Seeds,
  pool: Pool,
  within: AdmissibleSet,
  options: GraphOptions,
): Promise<Pool> {
  return withGraph(native, query, pool, await searchGraph(native, query.text, seeds, within, options));
}

async function searchGraph(
  native: NativeIndex,
  text: string,
  seeds: Seeds,
  within: AdmissibleSet,
  options: GraphOptions,
): Promise<GraphHits> {
  const found = await native.searchGraph(text, seeds.chunkKeys, seeds.scores, within, options);
  const { chunkKeys, memoryKeys, scores, certainty, from, via, through } = found;
  return {
    ...{ chunkKeys, memoryKeys, scores, certainty },
    // names of entities are looked up only for the few hits that are shown
    pathTo: (position) => {
      const ids = Uint32Array.of(from[position] ?? 0, through[position] ?? 0);
      const [first = null, second = null] = native.entityNames(ids);
      const viaKey = via[position] ?? 0n;
      return { from: first, via: viaKey === 0n ? null : (viaKey as ChunkKey), through: second };
    },
  };
}

/** Adds new hits of a graph search to a pool, with the kinds of score that it has. */
async function withGraph(
  native: NativeIndex,
  { text, fingerprint, vector }: IndexQuery,
  pool: Pool,
  graph: GraphHits,
): Promise<Pool> {
  const known = new Set(pool.chunkKeys);
  const isNew = (_: bigint, position: number) => !known.has(graph.chunkKeys[position] ?? 0n);
  const chunkKeys = graph.chunkKeys.filter(isNew);
  if (chunkKeys.length === 0) return { ...pool, graph };
  const memoryKeys = graph.memoryKeys.filter(isNew);
  const [cosines, textScores] = await Promise.all([
    withOtherModel(() => native.scoreVectors(fingerprint, vector, chunkKeys, memoryKeys)),
    pool.textScores === null ? null : native.scoreText(text, chunkKeys),
  ]);
  return {
    chunkKeys: joinedKeys(pool.chunkKeys, chunkKeys),
    memoryKeys: joinedKeys(pool.memoryKeys, memoryKeys),
    cosines: concatenate([pool.cosines, cosines]),
    textScores: pool.textScores === null || textScores === null ? null : concatenate([pool.textScores, textScores]),
    graph,
  };
}

function joinedKeys(first: BigUint64Array, second: BigUint64Array): BigUint64Array {
  const joined = new BigUint64Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

/** Work that was started before its result is needed. If it fails, whoever awaits `result` gets the error. */
function started<Result>(work: Promise<Result>): { readonly result: Promise<Result>; readonly isDone: boolean } {
  const search = { result: work, isDone: false };
  const end = () => {
    search.isDone = true;
  };
  work.then(end, end);
  return search;
}
