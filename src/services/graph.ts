// The knowledge graph around a memory: its entities, the facts that a language model extracted, and the memories
// that share entities with it. Decides which of them a viewer may see.

import { invariant } from "../domain/fault.ts";
import type { ChunkId, ChunkKey, MemoryId, MemoryKey } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory } from "../domain/memory.ts";
import type { Viewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { EntityKind, IndexOf, Neighbourhood, SearchIndex } from "../ports/chunk-index.ts";
import type { Fact, LlmExtractionStore } from "../ports/llm-extraction-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";

/** An entity of a memory. */
export interface GraphEntity {
  readonly name: string;
  readonly kind: EntityKind;
  /** Number of mentions in the memory's passages. */
  readonly mentions: number;
  /** Number of memories with this entity that the viewer may see, this memory included. */
  readonly memories: number;
  readonly chunkIds: readonly ChunkId[];
}

/** A memory that shares entities with the memory that was asked about. */
export interface Neighbour {
  readonly memory: Memory;
  /** Strength of the connection, above 0; the most closely related memory has 1. */
  readonly score: number;
  /** Names of the shared entities. */
  readonly entities: readonly string[];
}

/** The part of the graph around a memory. */
export interface MemoryGraph {
  readonly memory: Memory;
  /** Entities of the memory, rarest first. */
  readonly entities: readonly GraphEntity[];
  readonly facts: readonly Fact[];
  /** Related memories, the most closely related first. */
  readonly neighbours: readonly Neighbour[];
}

/** What the service needs. */
export interface GraphServiceDependencies {
  readonly memories: Pick<MemoryStore, "get" | "getMany" | "userKey">;
  readonly accounts: Pick<AccountStore, "chunkIds">;
  readonly index: IndexOf<SearchIndex>;
  readonly extractions: Pick<LlmExtractionStore, "facts">;
  readonly clock: Clock;
}

/** The graph around single memories. */
export class GraphService {
  readonly #parts: GraphServiceDependencies;

  constructor(parts: GraphServiceDependencies) {
    this.#parts = parts;
  }

  /**
   * The graph around a memory, limited to what the viewer may see. Empty while the memory is not completed. Returns
   * null if the memory does not exist or the viewer may not see it. Shows no memory that was deleted, or given to
   * another user, before this call began.
   * @param limit maximum number of neighbours to return
   */
  async around(viewer: Viewer, id: MemoryId, limit: number): Promise<MemoryGraph | null> {
    const { memories, accounts, index, extractions, clock } = this.#parts;
    const memory = await memories.get(viewer.projectId, id);
    if (!isVisible(viewer, memory)) return null;
    if (memory.state.status !== "completed") return emptyGraph(memory);
    const userKey = viewer.userId === null ? null : await memories.userKey(viewer.projectId, viewer.userId);
    invariant(viewer.userId === null || userKey !== null, "a user who owns a memory has a key");
    using project = await index.current(viewer.projectId);
    const within = await project.admit(userKey, clock.now());
    const found = await project.neighbourhood(memory.key, within, LIMITS.neighbours);

    const chunkIds = await accounts.chunkIds(viewer.projectId);
    if (chunkIds === null) return null;
    // The rows are read after the index, because only the rows tell what the viewer may see now.
    const facts = await extractions.facts(memory.key);
    const neighbourKeys = found.neighbours.map(({ memoryKey }) => memoryKey);
    const rows = await memories.getMany(viewer.projectId, [memory.key, ...neighbourKeys]);
    const now = rows.get(memory.key) ?? null;
    if (!isVisible(viewer, now)) return null;
    if (now.version !== memory.version || now.state.status !== "completed") return emptyGraph(now);
    return {
      memory: now,
      entities: found.entities.map(({ chunkKeys, ...entity }) => {
        return { ...entity, chunkIds: Array.from(chunkKeys, (key) => chunkIds.of(key as ChunkKey)) };
      }),
      facts,
      neighbours: neighboursOf(found.neighbours, rows, viewer).slice(0, limit),
    };
  }
}

function isVisible(viewer: Viewer, memory: Memory | null): memory is Memory {
  return memory !== null && (viewer.userId === null || memory.userId === viewer.userId);
}

function emptyGraph(memory: Memory): MemoryGraph {
  return { memory, entities: [], facts: [], neighbours: [] };
}

function neighboursOf(
  found: Neighbourhood["neighbours"],
  rows: ReadonlyMap<MemoryKey, Memory>,
  viewer: Viewer,
): Neighbour[] {
  const shown = found.flatMap(({ memoryKey, weight, entities }) => {
    const memory = rows.get(memoryKey) ?? null;
    const isShown = isVisible(viewer, memory) && memory.state.status === "completed";
    return isShown ? [{ memory, score: weight, entities }] : [];
  });
  const greatest = shown[0]?.score ?? 1;
  return shown.map((neighbour) => ({ ...neighbour, score: neighbour.score / greatest }));
}
