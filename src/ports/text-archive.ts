// The texts of published memories and the places of their chunks. The indexes are derived from them. Implemented by
// adapters/embedded on DuckDB and by stores/postgres.
//
// Obligations of an implementation: each method is atomic and durable when it resolves. Writes take effect in the order
// of their calls, even if none is awaited. A read sees complete writes only. Keys are below 2^63.

import type { ChunkKey, MemoryKey, ProjectId } from "../domain/ids.ts";
import type { AnyText } from "../kit/pieced-text.ts";
import type { StoredMemory, StoredText } from "./chunk-index.ts";

/** A memory in the archive. */
export interface ArchivedMemory {
  readonly projectId: ProjectId;
  readonly memoryKey: MemoryKey;
  readonly version: number;
  readonly content: AnyText;
  readonly chunks: readonly ArchivedChunk[];
}

/**
 * The place of a chunk: a range of its memory's content in Unicode code points, end exclusive, and the headings above
 * it.
 */
export interface ArchivedChunk {
  readonly chunkKey: ChunkKey;
  readonly ordinal: number;
  readonly start: number;
  readonly end: number;
  readonly headings: readonly string[];
}

/** Keys of chunks, and the key of each chunk's memory, in two parallel arrays. */
export interface ArchivedChunkKeys {
  readonly memoryKeys: BigUint64Array;
  readonly chunkKeys: BigUint64Array;
}

/** Texts and chunk places of all projects. */
export interface TextArchive {
  /** Replaces what is stored for these memories. If it rejects, nothing was changed. The call can be repeated. */
  replace(memories: readonly ArchivedMemory[]): Promise<void>;
  /** Removes memories for good. Ignores keys that are not stored. */
  remove(memoryKeys: readonly MemoryKey[]): Promise<void>;
  /** Returns texts by memory key, without keys that are not stored. */
  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredText>>;
  /**
   * Contents and chunks of memories, by memory key, without keys that are not stored. Both always belong together.
   * Chunks are in the order of their ordinals.
   */
  stored(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredMemory>>;
  /** Keys of all chunks of a project, in no particular order. */
  chunkKeys(projectId: ProjectId): Promise<ArchivedChunkKeys>;
  /** Makes the next `eraseRemoved` also erase what earlier calls of `replace` replaced. */
  noteReplaced(): Promise<void>;
  /**
   * Erases what `remove` left, if it was called since. Returns whether nothing is left; false if that was not possible
   * at this moment.
   */
  eraseRemoved(): Promise<boolean>;
}
