// What does the graph lead to? Says where the walk begins, and turns what the index found into signals and, for what is shown,
// into the way that leads there. How the walk goes is the index's affair; what its scores are worth beside others is rank.ts.

import { type ChunkKey, chunkIdOf, type MemoryKey } from "../domain/ids.ts";
import type { Signal } from "../domain/ranking.ts";
import type { AdmissibleSet, ProjectIndex, Related, Seeds } from "../ports/chunk-index.ts";
import { SEEDS } from "./modes.ts";
import type { Candidate, GraphScores } from "./rank.ts";

/** What a walk found. */
export class GraphWalk implements GraphScores {
  readonly signals: ReadonlyMap<bigint, Signal>;
  readonly #index: ProjectIndex;
  readonly #related: Related;

  /** Use `walkGraph`. */
  constructor(index: ProjectIndex, related: Related) {
    this.#index = index;
    this.#related = related;
    this.signals = new Map(
      Array.from(related.chunkKeys, (key, at) => [key, { rank: at + 1, score: related.scores[at] ?? 0 }]),
    );
  }

  /** How sure the graph is of the question's names, 0..1. */
  get certainty(): number {
    return this.#related.certainty;
  }

  /** The passages found, best first. */
  get hits(): Pick<Related, "chunkKeys" | "memoryKeys"> {
    return this.#related;
  }

  /**
   * The strongest way to the passage of that rank: names and ids of passages by turns, its own id last. That alone where the way leads
   * through a passage whose memory is not to be shown (any more).
   */
  path({ rank }: Signal, isShown: (memoryKey: MemoryKey) => boolean): readonly string[] {
    const { chunkKeys, memoryKeys, from, via, through } = this.#related;
    const at = rank - 1;
    const own = chunkIdOf((chunkKeys[at] ?? 0n) as ChunkKey);
    const passed = via[at] ?? 0n;
    if (passed !== 0n) {
      const memoryKey = memoryKeys[chunkKeys.indexOf(passed)];
      if (memoryKey === undefined || !isShown(memoryKey as MemoryKey)) return [own];
    }
    const [first, second] = this.#index.nameTexts(Uint32Array.of(from[at] ?? 0, through[at] ?? 0));
    const way = [first, passed === 0n ? null : chunkIdOf(passed as ChunkKey), second];
    return [...way.filter((step) => typeof step === "string"), own];
  }
}

/**
 * Walks the graph from the names of a query and from its best passages so far.
 * @param best candidates in falling order.
 */
export async function walkGraph(
  index: ProjectIndex,
  query: string,
  best: readonly Candidate[],
  within: AdmissibleSet,
  limit: number,
): Promise<GraphWalk> {
  const seeds = best.slice(0, SEEDS);
  const starts: Seeds = {
    chunkKeys: BigUint64Array.from(seeds, ({ chunkKey }) => chunkKey),
    scores: Float32Array.from(seeds, ({ firstStage }) => firstStage),
  };
  return new GraphWalk(index, await index.related(query, starts, within, limit));
}
