// Entities of the graph, and what a person said of them: a name, and that one is the same as another.

/** Identifies an entity in its project: the hash of its words, u64. It stays when the index is rebuilt. */
export type EntityHash = bigint;

/** What a person said of an entity. */
export interface EntityNote {
  readonly entity: EntityHash;
  /** The name to show; null: as texts write it. */
  readonly name: string | null;
  /** The entity that it is the same as; null: none. */
  readonly mergedInto: EntityHash | null;
}

/** A change of what a person said. A field that is absent stays unchanged; null takes it back. */
export interface EntityChange {
  readonly name?: string | null;
  readonly mergedInto?: EntityHash | null;
}

/** The entity at the end of a chain of merges. */
export function targetOf(notes: ReadonlyMap<EntityHash, EntityNote>, entity: EntityHash): EntityHash {
  let target = entity;
  // an import may contain a circle, which no change makes
  for (let steps = 0; steps <= notes.size; steps++) {
    const next = notes.get(target)?.mergedInto ?? null;
    if (next === null) return target;
    target = next;
  }
  return entity;
}
