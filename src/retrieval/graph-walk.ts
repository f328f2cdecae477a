// Graph search: chooses the passages where the walk starts, and turns the index's result into signals and into the
// paths that `explain` shows. The index does the walk itself; rank.ts weighs its scores.

import { type ChunkKey, chunkIdOf, type MemoryKey } from "../domain/ids.ts";
import type { Signal } from "../domain/ranking.ts";
import type { AdmissibleSet, ProjectIndex, Related, Seeds } from "../ports/chunk-index.ts";
import { GRAPH_SEEDS_MAX } from "./modes.ts";
import type { Candidate, GraphScores } from "./rank.ts";

/** Result of a walk through the graph of entities and passages. */
export class GraphWalk implements GraphScores {
  readonly signals: ReadonlyMap<bigint, Signal>;
  readonly #index: ProjectIndex;
  readonly #related: Related;

  /** Call `walkGraph` instead. */
  constructor(index: ProjectIndex, related: Related) {
    this.#index = index;
    this.#related = related;
    this.signals = new Map(
      Array.from(related.chunkKeys, (key, at) => [key, { rank: at + 1, score: related.scores[at] ?? 0 }]),
    );
  }

  /** How sure the graph is of the question's entities, 0..1. */
  get certainty(): number {
    return this.#related.certainty;
  }

  /** Passages found, best first. */
  get hits(): Pick<Related, "chunkKeys" | "memoryKeys"> {
    return this.#related;
  }

  /**
   * The strongest path to the passage with this rank: entity names and chunk ids in turn, its own id last. If the path
   * leads through a passage whose memory must not be shown (any more), only its own id.
   */
  path({ rank }: Signal, isShown: (memoryKey: MemoryKey) => boolean): readonly string[] {
    const { chunkKeys, memoryKeys, from, via, through } = this.#related;
    const at = rank - 1;
    const own = chunkIdOf((chunkKeys[at] ?? 0n) as ChunkKey);
    const viaChunk = via[at] ?? 0n;
    if (viaChunk !== 0n) {
      const memoryKey = memoryKeys[chunkKeys.indexOf(viaChunk)];
      if (memoryKey === undefined || !isShown(memoryKey as MemoryKey)) return [own];
    }
    const [first, second] = this.#index.nameTexts(Uint32Array.of(from[at] ?? 0, through[at] ?? 0));
    const steps = [first, viaChunk === 0n ? null : chunkIdOf(viaChunk as ChunkKey), second];
    return [...steps.filter((step) => typeof step === "string"), own];
  }
}

/**
 * Walks the graph from the entities of a query and from its best passages so far.
 * @param best candidates, best first
 */
export async function walkGraph(
  index: ProjectIndex,
  query: string,
  best: readonly Candidate[],
  within: AdmissibleSet,
  limit: number,
): Promise<GraphWalk> {
  const seeds = best.slice(0, GRAPH_SEEDS_MAX);
  const starts: Seeds = {
    chunkKeys: BigUint64Array.from(seeds, ({ chunkKey }) => chunkKey),
    scores: Float32Array.from(seeds, ({ hybridScore }) => hybridScore),
  };
  return new GraphWalk(index, await index.related(query, starts, within, limit));
}
