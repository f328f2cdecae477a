// Caches passages that were read, so that the best passages of a project are not decompressed for every search. A chunk
// key is never used for another passage, so a cached passage is never outdated. Rows decide what a search shows, so it
// does not matter that a passage may stay here for a while after its memory was deleted.

import type { ProjectId } from "../../domain/ids.ts";
import type { Passage } from "../../ports/chunk-index.ts";

/**
 * Maximum size of the passages of a generation in bytes, estimated: about 5,000 passages of 1,000 characters. There are
 * two generations.
 */
const GENERATION_BYTES_MAX = 12 * 1024 * 1024;
/** What a passage takes besides its text, in bytes. */
const PASSAGE_BYTES = 400;
/** Bytes of a character, at most. Texts in Latin letters need one. */
const CHARACTER_BYTES = 2;

interface Known {
  readonly projectId: ProjectId;
  readonly passage: Passage;
}

/**
 * Cache of passages of all projects, by chunk key. A new generation begins when the newer one is full: then those that
 * were not read since the last change of generation are forgotten.
 */
export class RecentPassages {
  #newer = new Map<bigint, Known>();
  #older = new Map<bigint, Known>();
  /** Size of the newer generation. */
  #bytes = 0;

  /**
   * Returns the passages of chunks, in the order of the keys. Passages that are not cached are read with `readStored`,
   * which gets their keys, and are cached unless they are null.
   */
  async read(
    projectId: ProjectId,
    chunkKeys: BigUint64Array,
    readStored: (chunkKeys: BigUint64Array) => Promise<readonly (Passage | null)[]>,
  ): Promise<readonly (Passage | null)[]> {
    const passages: (Passage | null)[] = Array.from(chunkKeys, (key) => this.#get(projectId, key));
    const missing = [...passages.keys()].filter((at) => passages[at] === null);
    if (missing.length === 0) return passages;
    const stored = await readStored(BigUint64Array.from(missing, (at) => chunkKeys[at] ?? 0n));
    for (const [position, at] of missing.entries()) {
      const passage = stored[position] ?? null;
      passages[at] = passage;
      if (passage !== null) this.#put({ projectId, passage });
    }
    return passages;
  }

  /** Forgets the passages of a project. */
  forget(projectId: ProjectId): void {
    for (const generation of [this.#newer, this.#older]) {
      for (const [key, known] of generation) if (known.projectId === projectId) generation.delete(key);
    }
  }

  #get(projectId: ProjectId, key: bigint): Passage | null {
    const newer = this.#newer.get(key);
    const known = newer ?? this.#older.get(key);
    if (known?.projectId !== projectId) return null;
    if (newer === undefined) this.#put(known);
    return known.passage;
  }

  #put(known: Known): void {
    if (this.#bytes >= GENERATION_BYTES_MAX) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#bytes = 0;
    }
    const { chunkKey, text } = known.passage;
    this.#bytes += PASSAGE_BYTES + CHARACTER_BYTES * text.length;
    this.#newer.set(chunkKey, known);
  }
}
