// Recall: asks the index for candidates, by the search legs that the mode uses. Fusion orders them.

import type { Pool, Seeds } from "../ports/chunk-index.ts";
import type { Embedder } from "../ports/models.ts";
import type { Candidate } from "./candidate.ts";
import { GRAPH_SEEDS_MAX, SURE_GRAPH_CANDIDATES, SURE_GRAPH_CERTAINTY } from "./modes.ts";
import type { Search, SearchRequest } from "./request.ts";

/** Number of candidates beyond the requested limit, because some may be deleted or changed while the search runs. */
export const SPARE_CANDIDATES = 10;

/** A query that is being embedded. Disposing of it cancels the embedding. */
export interface StartedEmbedding extends Disposable {
  /** Resolves when a lane begins to compute. */
  readonly begun: Promise<void>;
  readonly vector: Promise<Float32Array>;
}

/** Starts to embed the query. */
export function startEmbedding(embedder: Embedder, { query, signal }: SearchRequest): StartedEmbedding {
  const { promise: begun, resolve: onBegin } = Promise.withResolvers<void>();
  const disposal = new AbortController();
  const signals = AbortSignal.any([disposal.signal, ...(signal === undefined ? [] : [signal])]);
  const vector = embedder.embed([query], { purpose: "query", priority: "query", signal: signals, onBegin });
  void Promise.allSettled([vector]); // a search that ends early must not leave an unhandled rejection
  return { begun, vector, [Symbol.dispose]: () => disposal.abort() };
}

/** A placeholder for a vector that cannot be computed. Its cosines are not used. */
export function withoutVector({ dimensions }: Pick<Embedder, "dimensions">): StartedEmbedding {
  const vector = new Float32Array(dimensions);
  vector[0] = 1;
  return { begun: Promise.resolve(), vector: Promise.resolve(vector), [Symbol.dispose]: () => undefined };
}

/** The passages of a pool that full text found, without cosines. */
function byWords(pool: Pool): Pool {
  const kept = Array.from(pool.chunkKeys.keys()).filter((at) => (pool.textScores?.[at] ?? 0) > 0);
  return {
    ...pool,
    chunkKeys: BigUint64Array.from(kept, (at) => pool.chunkKeys[at] ?? 0n),
    memoryKeys: BigUint64Array.from(kept, (at) => pool.memoryKeys[at] ?? 0n),
    cosines: new Float32Array(kept.length).fill(Number.NaN),
    textScores: Float32Array.from(kept, (at) => pool.textScores?.[at] ?? 0),
  };
}

/**
 * Whether a walk from the best candidates adds candidates. If not, a graph search from the query's entities may run
 * while the query is embedded (`usesSureGraph`).
 */
export function walksGraph({ mode, request }: Pick<Search, "mode" | "request">): boolean {
  return mode.usesGraph || request.includeGraph;
}

/** Collects candidates by vectors, by full text and, if the graph is sure enough, by a graph search without seeds. */
export async function recall(running: Search, { vector }: StartedEmbedding): Promise<Pool> {
  const { request, mode, index, embedder, within, watch, hasVectors } = running;
  const limit = request.limit + SPARE_CANDIDATES;
  const textLimit = mode.textCandidates === 0 ? 0 : Math.max(mode.textCandidates, limit);
  const embedded = vector.then((done) => {
    if (hasVectors) watch.lap("embed", 1);
    return done;
  });
  void Promise.allSettled([embedded]); // the index throws its error
  const pool = await index.recall(
    {
      text: request.query,
      fingerprint: embedder.fingerprint,
      vector: embedded,
      vectorLimit: hasVectors ? Math.max(mode.vectorCandidates, limit) : 1,
      textLimit: mode.textWeight > 0 ? textLimit : null,
      graph:
        mode.usesSureGraph && !walksGraph(running)
          ? { limit: SURE_GRAPH_CANDIDATES, usesSingleNames: false, certaintyMin: SURE_GRAPH_CERTAINTY }
          : null,
      onLeg: (leg, hits) => {
        if (hasVectors || leg !== "vector") watch.lap(leg, hits);
      },
    },
    within,
  );
  return hasVectors ? pool : byWords(pool);
}

/**
 * Adds the passages that a walk through the graph finds. It begins at the entities of the query and at the best
 * candidates. If the request asks for the graph, it also begins at names that only one passage contains.
 * @param best candidates, best first
 */
export async function walkGraph(
  { request, mode, index, embedder, within, hasVectors }: Search,
  { vector }: StartedEmbedding,
  pool: Pool,
  best: readonly Candidate[],
): Promise<Pool> {
  const starts = best.slice(0, GRAPH_SEEDS_MAX);
  const seeds: Seeds = {
    chunkKeys: BigUint64Array.from(starts, ({ chunkKey }) => chunkKey),
    scores: Float32Array.from(starts, ({ hybridScore }) => hybridScore),
  };
  const query = { text: request.query, fingerprint: embedder.fingerprint, vector: await vector };
  const walked = await index.walk(query, seeds, pool, within, {
    limit: Math.max(mode.graphCandidates, request.limit + SPARE_CANDIDATES),
    usesSingleNames: request.includeGraph,
    certaintyMin: 0,
  });
  if (hasVectors) return walked;
  return { ...walked, cosines: new Float32Array(walked.cosines.length).fill(Number.NaN) };
}
