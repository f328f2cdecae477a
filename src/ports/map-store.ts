// Places of memories on the map of their project. Derived: they can be computed again from the vectors. Implemented by
// stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction. A place is erased with its memory. Several nodes
// may compute places of a project at the same time; what the first one stores counts, and the others store nothing.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";

/** A place in −1..1. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

/** A memory with its place. */
export interface PlacedMemory extends Place {
  readonly key: MemoryKey;
}

/** The map of a project. */
export interface MapState {
  /** Number of times that places were stored. */
  readonly version: number;
  /** Number of memories when all places were last computed together. */
  readonly laidOut: number;
  /** Unix milliseconds. */
  readonly computedAt: number;
}

/** Places of memories. */
export interface MapStore {
  /** Returns null if no places were computed yet. */
  state(projectId: ProjectId): Promise<MapState | null>;
  /** Places of those of these memories that have one. */
  places(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Place>>;
  /** All places of a project, at most `limit`. */
  all(projectId: ProjectId, limit: number): Promise<readonly PlacedMemory[]>;
  /** The newest completed memories without a place, at most `limit`. */
  unplaced(projectId: ProjectId, limit: number): Promise<readonly MemoryKey[]>;
  /**
   * Stores places of memories that have none, or all places again if `laidOut` is given. Stores nothing and returns
   * false if the version is not `version` (0: no places yet) any more.
   */
  place(
    projectId: ProjectId,
    placed: readonly PlacedMemory[],
    from: { readonly version: number; readonly laidOut: number | null },
  ): Promise<boolean>;
}
