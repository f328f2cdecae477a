// What a memory is linked to: the names in it, the facts that a language model read in it, and the memories that name the
// same. Decides who may see which of them.

import { invariant } from "../domain/fault.ts";
import type { ChunkKey, MemoryId, MemoryKey } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory } from "../domain/memory.ts";
import type { Viewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { ChunkIndex, NameKind } from "../ports/chunk-index.ts";
import type { FindingStore, Relation } from "../ports/finding-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";

/** A name in a memory. */
export interface MemoryName {
  readonly name: string;
  readonly kind: NameKind;
  /** How often it stands in the memory's passages. */
  readonly mentions: number;
  /** Memories with it that the viewer may see, this one included. */
  readonly memories: number;
  readonly chunkKeys: readonly ChunkKey[];
}

/** A memory that names the same. */
export interface Neighbour {
  readonly memory: Memory;
  /** Above 0, the nearest 1. */
  readonly score: number;
  readonly names: readonly string[];
}

/** A memory's place in the graph. */
export interface MemoryGraph {
  readonly memory: Memory;
  /** Most telling first. */
  readonly names: readonly MemoryName[];
  readonly relations: readonly Relation[];
  /** Nearest first. */
  readonly neighbours: readonly Neighbour[];
}

/** What the service stands on. */
export interface GraphServiceParts {
  readonly memories: Pick<MemoryStore, "get" | "getMany" | "userKey">;
  readonly index: ChunkIndex;
  readonly findings: Pick<FindingStore, "relations">;
  readonly clock: Clock;
}

/** The graph around single memories. */
export class GraphService {
  readonly #parts: GraphServiceParts;

  constructor(parts: GraphServiceParts) {
    this.#parts = parts;
  }

  /**
   * The graph around a memory, as far as the viewer may see it; nothing of it while the memory is not completed. null: the
   * memory is not there, or not the viewer's.
   * @param limit of neighbours.
   */
  async around(viewer: Viewer, id: MemoryId, limit: number): Promise<MemoryGraph | null> {
    const { memories, index, findings, clock } = this.#parts;
    const memory = memories.get(viewer.projectId, id);
    if (memory === null || (viewer.userId !== null && memory.userId !== viewer.userId)) return null;
    if (memory.state.status !== "completed") return nothingAround(memory);
    const userKey = viewer.userId === null ? null : memories.userKey(viewer.projectId, viewer.userId);
    invariant(viewer.userId === null || userKey !== null, "whose memory was found has a key");
    const project = await index.project(viewer.projectId);
    const within = project.admit(userKey, clock.now());
    const found = await project.neighbourhood(memory.key, within, LIMITS.neighbours);

    // no await from here on: the rows have the last word on what is there and whose it is
    const now = memories.get(viewer.projectId, id);
    if (now === null || (viewer.userId !== null && now.userId !== viewer.userId)) return null;
    if (now.version !== memory.version || now.state.status !== "completed") return nothingAround(now);
    const rows = memories.getMany(
      viewer.projectId,
      found.neighbours.map(({ memoryKey }) => memoryKey),
    );
    return {
      memory: now,
      names: found.names.map((name) => ({ ...name, chunkKeys: Array.from(name.chunkKeys, (key) => key as ChunkKey) })),
      relations: findings.relations(now.key),
      neighbours: neighboursOf(found.neighbours, rows, viewer).slice(0, limit),
    };
  }
}

function nothingAround(memory: Memory): MemoryGraph {
  return { memory, names: [], relations: [], neighbours: [] };
}

function neighboursOf(
  found: readonly { readonly memoryKey: MemoryKey; readonly weight: number; readonly names: readonly string[] }[],
  rows: ReadonlyMap<MemoryKey, Memory>,
  viewer: Viewer,
): Neighbour[] {
  const shown = found.flatMap(({ memoryKey, weight, names }) => {
    const memory = rows.get(memoryKey);
    const isShown = memory?.state.status === "completed" && (viewer.userId === null || memory.userId === viewer.userId);
    return isShown ? [{ memory, score: weight, names }] : [];
  });
  const greatest = shown[0]?.score ?? 1;
  return shown.map((neighbour) => ({ ...neighbour, score: neighbour.score / greatest }));
}
