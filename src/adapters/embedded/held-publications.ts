// Keeps track of the publications that the native core of this node has, if several nodes share an index; otherwise it
// stays empty. A publication is what the index stores of one memory at a time. project-index.ts updates this list.

import type { ChunkKey, MemoryKey } from "../../domain/ids.ts";
import type { ArchivedChunkKeys } from "../../ports/text-archive.ts";

/** Identifies a publication. */
export interface PublicationName {
  readonly memoryKey: MemoryKey;
  /** Key of its first chunk; 0 if it has no chunks. */
  readonly firstChunkKey: ChunkKey;
}

/** The publications in the native core, by the keys of their first chunks. A newer publication has larger keys. */
export class HeldPublications {
  readonly #complete = new Map<MemoryKey, ChunkKey>();
  /** Publications that are being written. Another change of the memory removes or replaces its entry. */
  readonly #begun = new Map<MemoryKey, ChunkKey>();

  /** The memories with a complete publication. */
  get memoryKeys(): Iterable<MemoryKey> {
    return this.#complete.keys();
  }

  /** Whether the native core has chunks of a memory, of a complete publication or of one that is being written. */
  isAnyHere(memoryKey: MemoryKey): boolean {
    return [this.#complete, this.#begun].some((known) => (known.get(memoryKey) ?? 0n) !== 0n);
  }

  /** Whether exactly this publication is complete. */
  isComplete({ memoryKey, firstChunkKey }: PublicationName): boolean {
    return this.#complete.get(memoryKey) === firstChunkKey;
  }

  /** Whether exactly this publication is being written, and nothing else has changed the memory since. */
  isBegun({ memoryKey, firstChunkKey }: PublicationName): boolean {
    return this.#begun.get(memoryKey) === firstChunkKey;
  }

  /** Whether exactly this publication is complete or is being written. */
  isHere(name: PublicationName): boolean {
    return this.isComplete(name) || this.isBegun(name);
  }

  /** Whether a newer publication of the memory is complete or is being written. */
  isOvertaken({ memoryKey, firstChunkKey }: PublicationName): boolean {
    return [this.#complete, this.#begun].some((known) => (known.get(memoryKey) ?? 0n) > firstChunkKey);
  }

  /** Notes that a publication is being written. It replaces any other publication of the memory. */
  begin({ memoryKey, firstChunkKey }: PublicationName): void {
    this.#complete.delete(memoryKey);
    this.#begun.set(memoryKey, firstChunkKey);
  }

  /** Notes that a publication is complete, unless something else has changed the memory since it was begun. */
  finish(name: PublicationName): void {
    if (!this.isBegun(name)) return;
    this.#begun.delete(name.memoryKey);
    this.#complete.set(name.memoryKey, name.firstChunkKey);
  }

  /** Notes that the native core no longer has a memory. */
  delete(memoryKey: MemoryKey): void {
    this.#complete.delete(memoryKey);
    this.#begun.delete(memoryKey);
  }

  /**
   * Called after reconciling. Notes as complete each publication of the archive (`memoryKeys`, `chunkKeys`) whose
   * memory `isComplete` accepts. The archive may also have publications that another node has not completed yet; these
   * are left out.
   */
  setCompared({ memoryKeys, chunkKeys }: ArchivedChunkKeys, isComplete: (memoryKey: bigint) => boolean): void {
    for (const [at, key] of memoryKeys.entries()) {
      if (!isComplete(key)) continue;
      const [memoryKey, chunkKey] = [key as MemoryKey, (chunkKeys[at] ?? 0n) as ChunkKey];
      const known = this.#complete.get(memoryKey);
      if (known === undefined || chunkKey < known) this.#complete.set(memoryKey, chunkKey);
    }
  }
}
