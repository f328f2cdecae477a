// Result of a graph search: the signals for ranking, and the paths that `explain` shows.

import type { ChunkIds } from "../domain/chunk-ids.ts";
import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Signal } from "../domain/signals.ts";
import type { GraphHits } from "../ports/chunk-index.ts";
import type { Candidate } from "./candidate.ts";
import type { Mode } from "./modes.ts";

/** The part of a graph search that ranking uses. */
export interface GraphScores {
  /** The graph signals, by chunk key. */
  readonly signals: ReadonlyMap<bigint, Signal>;
  /** Graph certainty, 0..1: how sure the graph is that the query names an entity, and that it is a rare one. */
  readonly certainty: number;
}

/** Factor, 0..1, for the weights of full text, reranker and neighbour boost at this graph certainty. */
export function graphDamping({ certainty }: GraphScores, { graphCertaintyDamping }: Mode): number {
  return 1 - graphCertaintyDamping * certainty;
}

/** Maximum number of passages with an entity that makes a path certain: those that name it, or are reached by it. */
const RARE_PASSAGES_MAX = 3;

/** A passage that a certain path leads to, from an entity of the query through another passage. */
export interface CertainLink {
  readonly chunkKey: ChunkKey;
  /** The passage on the path: it names the entity of the query. */
  readonly via: ChunkKey;
}

/** The passages that the graph contributes by certain paths, whose entities are rare. */
export interface CertainLinks {
  /** Passages that name a rare entity of the query. */
  readonly named: ReadonlySet<bigint>;
  /** The surest first. */
  readonly links: readonly CertainLink[];
}

const NOTHING_FOUND: GraphHits = {
  ...{ chunkKeys: new BigUint64Array(), memoryKeys: new BigUint64Array(), scores: new Float32Array(), certainty: 0 },
  pathTo: () => ({ from: null, via: null, through: null }),
};

/** Result of a walk through the graph of entities and passages; empty if graph search did not take part. */
export class GraphWalk implements GraphScores {
  readonly signals: ReadonlyMap<bigint, Signal>;
  readonly #found: GraphHits;

  /** @param found null if graph search did not take part */
  constructor(found: GraphHits | null) {
    this.#found = found ?? NOTHING_FOUND;
    this.signals = new Map(
      Array.from(this.#found.chunkKeys, (key, at) => [key, { rank: at + 1, score: this.#found.scores[at] ?? 0 }]),
    );
  }

  get certainty(): number {
    return this.#found.certainty;
  }

  /** The passages that name rare entities of the query, and those that share rare entities with them. */
  certainLinks(): CertainLinks {
    const paths = Array.from(this.#found.chunkKeys, (key, at) => ({
      chunkKey: key as ChunkKey,
      ...this.#found.pathTo(at),
    }));
    const counts = new Map<string, number>();
    const nameOf = (kind: "from" | "through", name: string | null) => `${kind} ${name}`;
    for (const { from, via, through } of paths) {
      if (from === null) continue;
      const name = via === null ? nameOf("from", from) : nameOf("through", through);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const isRare = (name: string) => (counts.get(name) ?? 0) <= RARE_PASSAGES_MAX;
    const named = new Set<bigint>();
    const links: CertainLink[] = [];
    for (const { chunkKey, from, via, through } of paths) {
      if (from === null || !isRare(nameOf("from", from))) continue;
      if (via === null) named.add(chunkKey);
      else if (isRare(nameOf("through", through))) links.push({ chunkKey, via });
    }
    return { named, links };
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
   * own chunk id. If the memory of the intermediate passage may not be shown, the path is only the passage's own id.
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

/** Graph scores of a search in which graph search did not take part or found nothing. */
export const NO_GRAPH: GraphScores = new GraphWalk(null);
