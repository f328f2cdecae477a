// TextArchive in memory, for indexes whose texts need not survive the process.

import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { StoredMemory } from "../../ports/chunk-index.ts";
import type { ArchivedChunkKeys, ArchivedMemory, TextArchive } from "../../ports/text-archive.ts";

/** Texts of one process. */
export class ArchiveInMemory implements TextArchive {
  readonly #memories = new Map<MemoryKey, { readonly projectId: ProjectId; readonly stored: StoredMemory }>();

  async replace(memories: readonly ArchivedMemory[]): Promise<void> {
    for (const { memoryKey, projectId, version, content, chunks } of memories) {
      this.#memories.set(memoryKey, { projectId, stored: { version, content: content.slice(0), chunks } });
    }
  }

  async remove(memoryKeys: readonly MemoryKey[]): Promise<void> {
    for (const key of memoryKeys) this.#memories.delete(key);
  }

  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredMemory>> {
    return this.stored(memoryKeys);
  }

  async stored(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredMemory>> {
    return new Map(
      memoryKeys.flatMap((key) => {
        const found = this.#memories.get(key);
        return found === undefined ? [] : [[key, found.stored] as const];
      }),
    );
  }

  async chunkKeys(projectId: ProjectId): Promise<ArchivedChunkKeys> {
    const all = [...this.#memories].filter(([, memory]) => memory.projectId === projectId);
    const chunks = all.flatMap(([key, { stored }]) => stored.chunks.map(({ chunkKey }) => [key, chunkKey] as const));
    return {
      memoryKeys: BigUint64Array.from(chunks, ([key]) => key),
      chunkKeys: BigUint64Array.from(chunks, ([, key]) => key),
    };
  }

  async noteReplaced(): Promise<void> {
    // a text that was replaced leaves nothing to erase
  }

  async eraseRemoved(): Promise<boolean> {
    return true;
  }
}
