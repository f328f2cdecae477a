// Recall: collects candidates by vector search, full-text search and graph search, and orders them by their hybrid
// score.

import type { Hits } from "../ports/chunk-index.ts";
import type { Embedder } from "../ports/models.ts";
import { type GraphWalk, walkGraph } from "./graph-walk.ts";
import { NEIGHBOUR_CANDIDATES, SURE_GRAPH_CANDIDATES, SURE_GRAPH_CERTAINTY } from "./modes.ts";
import { TURN_CANDIDATES } from "./prefer-turns.ts";
import type { Pool } from "./rank.ts";
import {
  type Candidate,
  comparedCandidates,
  hitsOutsidePool,
  mergePools,
  NO_GRAPH,
  preferNeighbours,
  rankByHybridScore,
  withNeighbours,
} from "./rank.ts";
import type { Search, SearchRequest } from "./request.ts";
import { TIMED_CANDIDATES } from "./time/prefer-time.ts";

/** Number of candidates beyond the requested limit, because some may be deleted or changed while the search runs. */
const SPARE_CANDIDATES = 10;

/** Minimum number of best candidates: as many as any later step compares. */
const CANDIDATES_MIN = Math.max(NEIGHBOUR_CANDIDATES, TIMED_CANDIDATES, TURN_CANDIDATES);

const NO_HITS: Hits = {
  chunkKeys: new BigUint64Array(),
  memoryKeys: new BigUint64Array(),
  scores: new Float32Array(),
};

/** The result of recall. */
export interface Recalled {
  /** The best candidates, highest hybrid score with neighbour boost first. */
  readonly candidates: readonly Candidate[];
  /**
   * The other candidates, highest hybrid score first. They are needed only if very many of the best were deleted or
   * changed while the search ran, so they are ranked when they are asked for.
   */
  readonly rest: () => readonly Candidate[];
  /** Result of graph search; null if graph search was not used. */
  readonly walk: GraphWalk | null;
  /** Whether full-text scores are part of the hybrid score. */
  readonly usesText: boolean;
}

/** A query that is being embedded. Disposal stops that, if the vector is not needed. */
export interface StartedEmbedding extends Disposable {
  /** Resolves when a lane begins to compute. */
  readonly begun: Promise<void>;
  readonly vector: Deferred<Float32Array>;
}

/** Starts to embed the query. */
export function startEmbedding(embedder: Embedder, { query, signal }: SearchRequest): StartedEmbedding {
  const { promise: begun, resolve: onBegin } = Promise.withResolvers<void>();
  const disposal = new AbortController();
  const signals = AbortSignal.any([disposal.signal, ...(signal === undefined ? [] : [signal])]);
  const vector = embedder.embed([query], { purpose: "query", priority: "query", signal: signals, onBegin });
  return { begun, vector: deferError(vector), [Symbol.dispose]: () => disposal.abort() };
}

/** A full-text search that was started before its hits are needed. */
interface TextSearch {
  readonly hits: Deferred<Hits>;
  /** Whether the search has ended. */
  readonly isDone: () => boolean;
}

function startTextSearch({ request, index, within }: Search, limit: number): TextSearch {
  let isDone = false;
  const hits = deferError(index.searchText(request.query, within, limit)).finally(() => {
    isDone = true;
  });
  return { hits, isDone: () => isDone };
}

/** Collects candidates from all searches that the mode uses. */
export async function recall(running: Search, embedding: StartedEmbedding): Promise<Recalled> {
  const { request, mode, watch } = running;
  const limit = request.limit + SPARE_CANDIDATES;
  const usesText = mode.textWeight > 0;
  const usesGraph = mode.usesGraph || request.includeGraph;
  // full-text search and a graph search without seeds run while the query is embedded
  const textSearch = mode.textCandidates > 0 ? startTextSearch(running, Math.max(mode.textCandidates, limit)) : null;
  const earlyWalk =
    mode.usesSureGraph && !usesGraph
      ? deferError(walkGraph(running, [], SURE_GRAPH_CANDIDATES, SURE_GRAPH_CERTAINTY))
      : null;
  const vector = (await embedding.vector)();
  watch.lap("embed", 1);

  const vectorLimit = Math.max(mode.vectorCandidates, limit);
  let pool = usesText
    ? await searchHybrid(running, vector, textSearch, vectorLimit)
    : await searchVectors(running, vector, vectorLimit);
  watch.lap("vector", pool.chunkKeys.length);

  let walk: GraphWalk | null = null;
  if (earlyWalk !== null) {
    const early = (await earlyWalk)();
    if (early.certainty >= SURE_GRAPH_CERTAINTY) {
      walk = early;
      pool = await withGraphHits(running, vector, pool, walk);
    }
    watch.lap("graph", walk?.signals.size ?? 0);
  }
  const count = Math.max(CANDIDATES_MIN, limit);
  let candidates: readonly Candidate[] = rankByHybridScore(pool, mode, walk ?? NO_GRAPH, count);
  if (usesGraph) {
    walk = await walkGraph(running, candidates, Math.max(mode.graphCandidates, limit));
    if (walk.certainty > 0) {
      pool = await withGraphHits(running, vector, pool, walk);
      candidates = rankByHybridScore(pool, mode, walk, count);
    }
    watch.lap("graph", walk.signals.size);
  }
  candidates = await compareCandidates(running, candidates, walk);
  watch.lap("fuse", candidates.length);
  const rest = () =>
    count < pool.chunkKeys.length ? rankByHybridScore(pool, mode, walk ?? NO_GRAPH).slice(count) : [];
  return { candidates, rest, walk, usesText };
}

/**
 * The hits of vector search and of full-text search, with both scores. If full-text search has not ended yet, vectors
 * are searched meanwhile.
 */
async function searchHybrid(
  { request, index, embedder, within, watch }: Search,
  vector: Float32Array,
  textSearch: TextSearch | null,
  limit: number,
): Promise<Pool> {
  const { fingerprint } = embedder;
  const isRunning = textSearch !== null && !textSearch.isDone();
  const early = isRunning ? deferError(index.searchVectors(fingerprint, vector, within, limit)) : null;
  const textHits = textSearch === null ? NO_HITS : (await textSearch.hits)();
  watch.lap("text", textHits.chunkKeys.length);
  const nearHits = early === null ? undefined : (await early)();
  return index.searchHybrid({ text: request.query, fingerprint, vector }, textHits, within, limit, nearHits);
}

/** The hits of vector search. */
async function searchVectors({ index, embedder, within }: Search, vector: Float32Array, limit: number): Promise<Pool> {
  const { scores: cosines, ...keys } = await index.searchVectors(embedder.fingerprint, vector, within, limit);
  return { ...keys, cosines, textScores: null };
}

/** Adds the passages that graph search found to the pool, with the same kinds of scores as the other passages. */
async function withGraphHits(
  { request, index, embedder }: Search,
  vector: Float32Array,
  pool: Pool,
  { hits }: GraphWalk,
): Promise<Pool> {
  const added = hitsOutsidePool(pool, hits);
  if (added.chunkKeys.length === 0) return pool;
  const [cosines, textScores] = await Promise.all([
    index.scoreVectors(embedder.fingerprint, vector, added),
    pool.textScores === null ? null : index.scoreText(request.query, added.chunkKeys),
  ]);
  return mergePools(pool, { ...added, cosines, textScores });
}

/** Finds the neighbours of the best candidates and applies the neighbour boost, if the mode uses it. */
async function compareCandidates(
  { index, mode }: Search,
  candidates: readonly Candidate[],
  walk: GraphWalk | null,
): Promise<readonly Candidate[]> {
  const compared = comparedCandidates(candidates, mode);
  if (compared.length === 0) return candidates;
  const similarities = await index.compareVectors({
    chunkKeys: BigUint64Array.from(compared, ({ chunkKey }) => chunkKey),
    memoryKeys: BigUint64Array.from(compared, ({ memoryKey }) => memoryKey),
  });
  return preferNeighbours(withNeighbours(candidates, similarities, mode), mode, walk ?? NO_GRAPH);
}

/**
 * The result of work that was started before its result is needed. Calling the function returns the value or throws the
 * error.
 */
type Deferred<Result> = Promise<() => Result>;

// The error is thrown where the result is used. If the search ends before that, the error must not become an unhandled
// rejection.
function deferError<Result>(work: Promise<Result>): Deferred<Result> {
  return work.then(
    (result) => () => result,
    (error: unknown) => () => {
      throw error;
    },
  );
}
