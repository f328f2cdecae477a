// Reads vectors for the export of a project. Implemented by ingest/imported-vectors.ts.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";

/** Vectors of consecutive chunks of a published memory, by the live model of its project. */
export interface ReadVectors {
  readonly memoryKey: MemoryKey;
  readonly fingerprint: string;
  readonly dimensions: number;
  /** SHA-256 of the texts that the model read of all chunks of the memory, in hexadecimal digits. */
  readonly inputsSha256: string;
  /** Position of the first of these chunks in the memory. */
  readonly first: number;
  /** Row-major, `[chunks, dimensions]`. */
  readonly vectors: Float32Array;
}

/**
 * Reads the vectors of memories of a project, in the order of their keys, which are ascending. Memories whose vectors
 * could not be computed again from their text are left out.
 */
export type VectorReader = (projectId: ProjectId, keys: readonly MemoryKey[]) => AsyncGenerator<ReadVectors>;
