// What several nodes share of an index: publications (texts, chunks and vectors, so that one node computes them and all
// others load them) and the sequence of changes of each project. Implemented by stores/postgres.
//
// Obligations of an implementation:
// - A project has a sequence number. Every transaction that completes, rewrites, deletes or changes a memory raises it
//   by one and notes the memory under the new number; so does `announce`. Numbers grow in the order of the commits.
// - `sequence` returns a number that includes every transaction that was committed before the call.
// - `publish` replaces publications only for jobs that are held, and that stay held until it has committed. So a node
//   that lost its lease cannot replace what a later one published. After the row of a memory is completed, its
//   publication does not change until the memory is processed again.
// - `states` and `publications` read committed data.

import type { ChunkKey, MemoryKey, ProjectId } from "../domain/ids.ts";
import type { KnownEntities, ModelVectors, VisibleMemory } from "./chunk-index.ts";
import type { ArchivedMemory } from "./text-archive.ts";

/**
 * Number of chunks of one part of a publication. The texts and vectors of a part are stored and loaded together. The
 * node that publishes a large memory also adds it to its index in such parts: each is about 100 ms of work, and other
 * changes of the project wait for one part at most.
 */
export const PART_CHUNKS = 256;

/** The texts of a chunk, as the index stores them. */
export interface SharedChunkTexts {
  readonly own: string;
  readonly context: string | null;
  readonly passage: string;
  readonly place: string;
}

/** A memory to publish for all nodes. Its chunks have consecutive keys. */
export interface SharedMemory extends ArchivedMemory {
  /** Fencing token of the job. */
  readonly lease: number;
  readonly language: string;
  readonly entities: KnownEntities;
  readonly vectors: readonly ModelVectors[];
  /** Builds the texts of the chunks with these ordinals, end exclusive. */
  texts(first: number, end: number): readonly SharedChunkTexts[];
}

/** What replaces the publication of a completed memory whose text stays the same. */
export interface ReplacingMemory extends Omit<SharedMemory, "version" | "lease" | "content"> {
  /** Key of the first chunk of the publication that is replaced. */
  readonly replaces: ChunkKey;
}

/** A publication that a node loads. */
export interface LoadedPublication extends WantedPublication {
  readonly language: string;
  readonly entities: KnownEntities;
  /** Vectors of those models that were asked for and are stored. */
  readonly vectors: readonly ModelVectors[];
  /** The texts of the chunks of one part. All parts except the first are unpacked at each call. */
  part(number: number): readonly SharedChunkTexts[];
}

/** The committed state of a memory. Memories without a row have none. */
export interface SharedState {
  readonly memoryKey: MemoryKey;
  /** What searches may see of it; null unless it is completed and not deleted. */
  readonly visible: VisibleMemory | null;
  readonly isDeleted: boolean;
  readonly chunkCount: number;
  /** Key of the first chunk of its publication; null if it has no chunks, or no publication that can be loaded. */
  readonly firstChunkKey: ChunkKey | null;
  /**
   * The publication that is stored of the current version of a memory in status `processing`; null if there is none, or
   * it has no chunks. It may still be replaced.
   */
  readonly coming: WantedPublication | null;
}

/** A publication to load: the one of this memory whose first chunk has this key. */
export interface WantedPublication {
  readonly memoryKey: MemoryKey;
  readonly firstChunkKey: ChunkKey;
  readonly chunkCount: number;
}

/** Changes of a project after a sequence number. */
export interface SharedChanges {
  /** The memories that changed, without repetitions. */
  readonly memoryKeys: readonly MemoryKey[];
  /** The last sequence number that these changes include. */
  readonly sequence: number;
  /** Whether some of the changes are no longer known, so that every memory may have changed. */
  readonly isIncomplete: boolean;
}

/** The shared part of the indexes of all projects. */
export interface SharedIndex {
  /** The committed sequence number of a project; null if the project does not exist or was removed. */
  sequence(projectId: ProjectId): Promise<number | null>;
  /** The sequence numbers of these projects, without those that do not exist or were removed. */
  sequences(projectIds: readonly ProjectId[]): Promise<ReadonlyMap<ProjectId, number>>;
  /** The changes after `sequence`. */
  changesAfter(projectId: ProjectId, sequence: number): Promise<SharedChanges>;
  /** The memories of a project that are completed and not deleted, in pages. */
  completed(projectId: ProjectId): AsyncIterable<readonly MemoryKey[]>;
  /** The states of these memories. */
  states(projectId: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<readonly SharedState[]>;
  /** Stores publications durably. Returns the memories whose jobs are still held; the others were not stored. */
  publish(memories: readonly SharedMemory[]): Promise<ReadonlySet<MemoryKey>>;
  /**
   * Notes a memory as changed after its publication was stored, so that other nodes can load the publication before the
   * memory is completed. Does nothing if the memory or its project was removed.
   */
  announce(projectId: ProjectId, memoryKey: MemoryKey): Promise<void>;
  /**
   * Replaces the publications of memories that are completed and still have these publications, and notes the change,
   * so that every node loads them again. Returns the memories whose publications were replaced.
   */
  replace(projectId: ProjectId, memories: readonly ReplacingMemory[]): Promise<ReadonlySet<MemoryKey>>;
  /**
   * Those wanted publications that are stored, with their vectors of these models. What was replaced or removed
   * meanwhile is left out. The packed texts, the first parts and the vectors of all of them are in RAM together.
   */
  publications(wanted: readonly WantedPublication[], models: readonly string[]): Promise<readonly LoadedPublication[]>;
  /** Adds vectors of another model to publications that still have these first chunks; the others are skipped. */
  addVectors(added: readonly (WantedPublication & { readonly vectors: ModelVectors })[]): Promise<void>;
  /** Removes the vectors of all models of a project except these. */
  keepModels(projectId: ProjectId, models: readonly string[]): Promise<void>;
  /** Removes notes of changes that are older than a day, a limited number per call. */
  prune(): Promise<void>;
}
