// Recall: collects candidates by vector search, full-text search and graph search, and orders them by their hybrid
// score.

import type { Hits } from "../ports/chunk-index.ts";
import type { Embedder } from "../ports/models.ts";
import { type GraphWalk, walkGraph } from "./graph-walk.ts";
import { SURE_GRAPH_CANDIDATES, SURE_GRAPH_CERTAINTY } from "./modes.ts";
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

/** Number of candidates beyond the requested limit, because some may be deleted or changed while the search runs. */
const SPARE_CANDIDATES = 10;

const NO_HITS: Hits = {
  chunkKeys: new BigUint64Array(),
  memoryKeys: new BigUint64Array(),
  scores: new Float32Array(),
};

/** The result of recall. */
export interface Recalled {
  /** Candidates, highest hybrid score with neighbour boost first. */
  readonly candidates: readonly Candidate[];
  /** Result of graph search; null if graph search was not used. */
  readonly walk: GraphWalk | null;
  /** Whether full-text scores are part of the hybrid score. */
  readonly usesText: boolean;
}

/** A query that is being embedded. */
export interface StartedEmbedding {
  /** Resolves when a lane begins to compute. */
  readonly begun: Promise<void>;
  readonly vector: Deferred<Float32Array>;
}

/** Starts to embed the query. */
export function startEmbedding(embedder: Embedder, { query, signal }: SearchRequest): StartedEmbedding {
  const { promise: begun, resolve: onBegin } = Promise.withResolvers<void>();
  const vector = embedder.embed([query], { purpose: "query", priority: "query", signal, onBegin });
  return { begun, vector: deferError(vector) };
}

/** Collects candidates from all searches that the mode uses. */
export async function recall(running: Search, embedding: StartedEmbedding): Promise<Recalled> {
  const { request, mode, index, embedder, within, watch } = running;
  const limit = request.limit + SPARE_CANDIDATES;
  const usesText = mode.textWeight > 0;
  const usesGraph = mode.usesGraph || request.includeGraph;
  // full-text search and a graph search without seeds run while the query is embedded
  const textSearch =
    mode.textCandidates > 0
      ? deferError(index.searchText(request.query, within, Math.max(mode.textCandidates, limit)))
      : null;
  const earlyWalk =
    mode.usesSureGraph && !usesGraph
      ? deferError(walkGraph(running, [], SURE_GRAPH_CANDIDATES, SURE_GRAPH_CERTAINTY))
      : null;
  const vector = (await embedding.vector)();
  watch.lap("embed", 1);

  const near = await index.searchVectors(embedder.fingerprint, vector, within, Math.max(mode.vectorCandidates, limit));
  let pool: Pool = { chunkKeys: near.chunkKeys, memoryKeys: near.memoryKeys, cosines: near.scores };
  watch.lap("vector", near.chunkKeys.length);

  let sureWalk: GraphWalk | null = null;
  if (earlyWalk !== null) {
    const walk = (await earlyWalk)();
    if (walk.certainty >= SURE_GRAPH_CERTAINTY) {
      sureWalk = walk;
      pool = await withHits(running, vector, pool, walk.hits);
    }
    watch.lap("graph", sureWalk?.signals.size ?? 0);
  }
  let textScores: Float32Array | null = null;
  if (usesText) {
    const hits = textSearch === null ? NO_HITS : (await textSearch)();
    [pool, textScores] = await withTextScores(running, vector, pool, hits);
    watch.lap("text", textScores.length);
  }
  let candidates: readonly Candidate[] = rankByHybridScore(pool, textScores, mode, sureWalk ?? NO_GRAPH);
  let walk = sureWalk;
  if (usesGraph) {
    walk = await walkGraph(running, candidates, Math.max(mode.graphCandidates, limit));
    candidates = await withGraph(running, { vector, pool, textScores, candidates }, walk);
  }
  candidates = await compareCandidates(running, candidates, walk);
  watch.lap("fuse", candidates.length);
  return { candidates, walk, usesText };
}

/**
 * Adds the hits of full-text search to the pool. Returns it with the text score of each of its passages. Hits have
 * their scores already, so only the other passages are scored, while the cosine similarities of the hits are computed.
 */
async function withTextScores(
  running: Search,
  vector: Float32Array,
  pool: Pool,
  hits: Hits,
): Promise<readonly [Pool, Float32Array]> {
  const known = new Map<bigint, number>(hits.chunkKeys.entries().map(([at, key]) => [key, hits.scores[at] ?? 0]));
  const others = pool.chunkKeys.filter((key) => !known.has(key));
  const [merged, scores] = await Promise.all([
    withHits(running, vector, pool, hits),
    others.length === 0 ? new Float32Array() : running.index.scoreText(running.request.query, others),
  ]);
  let scored = 0;
  // the others are in the order of the pool
  return [merged, Float32Array.from(merged.chunkKeys, (key) => known.get(key) ?? scores[scored++] ?? 0)];
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

/** Adds the passages that graph search found to the candidates, and orders them again with the graph scores. */
async function withGraph(
  running: Search,
  found: {
    readonly vector: Float32Array;
    readonly pool: Pool;
    readonly textScores: Float32Array | null;
    readonly candidates: readonly Candidate[];
  },
  walk: GraphWalk,
): Promise<readonly Candidate[]> {
  const { request, mode, index, watch } = running;
  const pool = await withHits(running, found.vector, found.pool, walk.hits);
  let { textScores, candidates } = found;
  if (walk.certainty > 0) {
    if (textScores !== null && pool !== found.pool) {
      const added = await index.scoreText(request.query, pool.chunkKeys.subarray(found.pool.chunkKeys.length));
      textScores = Float32Array.of(...textScores, ...added);
    }
    candidates = rankByHybridScore(pool, textScores, mode, walk);
  }
  watch.lap("graph", walk.signals.size);
  return candidates;
}

/**
 * Adds the hits of another search leg to the pool, each with its cosine similarity. Returns the same pool if it already
 * contains all hits.
 */
async function withHits(
  { index, embedder }: Search,
  vector: Float32Array,
  pool: Pool,
  hits: Pick<Pool, "chunkKeys" | "memoryKeys">,
): Promise<Pool> {
  const added = hitsOutsidePool(pool, hits);
  if (added.chunkKeys.length === 0) return pool;
  return mergePools(pool, { ...added, cosines: await index.scoreVectors(embedder.fingerprint, vector, added) });
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
