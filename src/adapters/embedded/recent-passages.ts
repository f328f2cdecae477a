// Caches recently read passages, so that the best passages of a project are not decompressed for every search.

import type { ProjectId } from "../../domain/ids.ts";
import type { Passage } from "../../ports/chunk-index.ts";

/**
 * Maximum size of a generation in bytes, estimated: about 5,000 passages of 1,000 characters. There are two
 * generations.
 */
const GENERATION_BYTES_MAX = 12 * 1024 * 1024;
/** What a passage takes besides its text and headings, in bytes. */
const PASSAGE_BYTES = 400;
/** Bytes of a character, at most. Texts in Latin letters need one. */
const CHARACTER_BYTES = 2;

/** Passages of one project in one generation. */
interface ProjectPassages {
  readonly passages: Map<bigint, Passage>;
  bytes: number;
}

type Generation = Map<ProjectId, ProjectPassages>;

/**
 * Approximate LRU cache of the passages of all projects. It consists of two generations. When the newer one is full, it
 * replaces the older one. A passage that is read again moves to the newer one.
 */
export class RecentPassages {
  #newer: Generation = new Map();
  #older: Generation = new Map();
  /** Size of the newer generation. */
  #bytes = 0;
  /** Number of calls of `forget`. */
  #forgets = 0;

  /**
   * Returns the passages of chunks, in the order of the keys. Calls `readStored` with the keys that are not cached, and
   * caches the passages that it returns. It caches none if `forget` was called while they were read.
   */
  async read(
    projectId: ProjectId,
    chunkKeys: BigUint64Array,
    readStored: (chunkKeys: BigUint64Array) => Promise<readonly (Passage | null)[]>,
  ): Promise<readonly (Passage | null)[]> {
    const passages: (Passage | null)[] = Array.from(chunkKeys, (key) => this.#get(projectId, key));
    const missing = [...passages.keys()].filter((at) => passages[at] === null);
    if (missing.length === 0) return passages;
    const forgets = this.#forgets;
    const stored = await readStored(BigUint64Array.from(missing, (at) => chunkKeys[at] ?? 0n));
    for (const [position, at] of missing.entries()) {
      const passage = stored[position] ?? null;
      passages[at] = passage;
      if (passage !== null && this.#forgets === forgets) this.#put(projectId, passage);
    }
    return passages;
  }

  /** Forgets the passages of a project, because its index was changed: it may not have their chunks any more. */
  forget(projectId: ProjectId): void {
    this.#forgets += 1;
    this.#bytes -= this.#newer.get(projectId)?.bytes ?? 0;
    this.#newer.delete(projectId);
    this.#older.delete(projectId);
  }

  #get(projectId: ProjectId, key: bigint): Passage | null {
    const newer = this.#newer.get(projectId)?.passages.get(key);
    if (newer !== undefined) return newer;
    const older = this.#older.get(projectId)?.passages.get(key) ?? null;
    if (older !== null) this.#put(projectId, older);
    return older;
  }

  #put(projectId: ProjectId, passage: Passage): void {
    if (this.#bytes >= GENERATION_BYTES_MAX) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#bytes = 0;
    }
    const project = this.#newer.get(projectId) ?? { passages: new Map(), bytes: 0 };
    this.#newer.set(projectId, project);
    if (project.passages.has(passage.chunkKey)) return;
    project.passages.set(passage.chunkKey, passage);
    const bytes = bytesOf(passage);
    project.bytes += bytes;
    this.#bytes += bytes;
  }
}

function bytesOf({ text, place }: Passage): number {
  const characters = place.headings.reduce((sum, heading) => sum + heading.length, text.length);
  return PASSAGE_BYTES + CHARACTER_BYTES * characters;
}
