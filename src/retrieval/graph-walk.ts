// Graph search: chooses the passages where the walk starts, and turns the index's result into signals and into the
// paths that `explain` shows. The index does the walk itself; rank.ts weighs its scores.

import type { ChunkIds } from "../domain/chunk-ids.ts";
import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Signal } from "../domain/ranking.ts";
import type { GraphHits, Seeds } from "../ports/chunk-index.ts";
import { GRAPH_SEEDS_MAX } from "./modes.ts";
import type { Candidate, GraphScores } from "./rank.ts";
import type { Search } from "./request.ts";

/** Result of a walk through the graph of entities and passages. */
export class GraphWalk implements GraphScores {
  readonly signals: ReadonlyMap<bigint, Signal>;
  readonly #found: GraphHits;

  /** Call `walkGraph` instead. */
  constructor(found: GraphHits) {
    this.#found = found;
    this.signals = new Map(
      Array.from(found.chunkKeys, (key, at) => [key, { rank: at + 1, score: found.scores[at] ?? 0 }]),
    );
  }

  /** How sure the graph is of the query's entities, 0..1. */
  get certainty(): number {
    return this.#found.certainty;
  }

  /** Passages found, best first. */
  get hits(): Pick<GraphHits, "chunkKeys" | "memoryKeys"> {
    return this.#found;
  }

  /** Memories of the intermediate passages on the paths to these candidates. */
  memoriesOnPaths(candidates: readonly Candidate[]): readonly MemoryKey[] {
    return candidates.flatMap(({ signals: { graph } }) => {
      const via = graph === undefined ? null : this.#found.pathTo(graph.rank - 1).via;
      return via === null ? [] : (this.#memoryOf(via) ?? []);
    });
  }

  /**
   * The strongest path to the passage with this rank: alternating entity names and chunk ids, ending with the passage's
   * own chunk id. If the memory of the intermediate passage must not be shown (any more), the path is only the
   * passage's own id.
   */
  path({ rank }: Signal, chunkIds: ChunkIds, isShown: (memoryKey: MemoryKey) => boolean): readonly string[] {
    const position = rank - 1;
    const own = chunkIds.of((this.#found.chunkKeys[position] ?? 0n) as ChunkKey);
    const { from, via, through } = this.#found.pathTo(position);
    if (via !== null) {
      const memoryKey = this.#memoryOf(via);
      if (memoryKey === undefined || !isShown(memoryKey)) return [own];
    }
    const steps = [from, via === null ? null : chunkIds.of(via), through];
    return [...steps.filter((step) => step !== null), own];
  }

  #memoryOf(chunkKey: ChunkKey): MemoryKey | undefined {
    const { chunkKeys, memoryKeys } = this.#found;
    return memoryKeys[chunkKeys.indexOf(chunkKey)] as MemoryKey | undefined;
  }
}

/**
 * Walks the graph from the entities of the query and from the best candidates found so far. If the request asks for the
 * graph, also from names that a single passage contains.
 * @param best candidates, best first; may be empty
 * @param certaintyMin below this graph certainty there is no walk, and the result is empty
 */
export async function walkGraph(
  { request, index, within }: Search,
  best: readonly Candidate[],
  limit: number,
  certaintyMin = 0,
): Promise<GraphWalk> {
  const starts = best.slice(0, GRAPH_SEEDS_MAX);
  const seeds: Seeds = {
    chunkKeys: BigUint64Array.from(starts, ({ chunkKey }) => chunkKey),
    scores: Float32Array.from(starts, ({ hybridScore }) => hybridScore),
  };
  const { query, includeGraph } = request;
  const options = { usesSingleNames: includeGraph, certaintyMin };
  return new GraphWalk(await index.searchGraph(query, seeds, within, limit, options));
}
