// What commands that keep data need of the stores of record: exports, imports, copies, checks and repairs. Implemented
// by adapters/embedded/keeping and stores/postgres/keeping.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { ExportRecord } from "../domain/project-export.ts";
import type { FilledPart, StoreSummary } from "../domain/store-copy.ts";
import type { OnVerifyProgress, Repair, Verification } from "../domain/verification.ts";

/** What was repaired, and the memories that became `failed`: they have to leave the index. */
export interface Mended {
  readonly repairs: readonly Repair[];
  readonly failed: ReadonlyMap<ProjectId, readonly MemoryKey[]>;
}

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

/** Copies data out of the stores and back into them. */
export interface StoreKeeper {
  /**
   * The lines of an export, each with its line end. All of them show the project at one moment.
   * @param projectId id or name; null: the default project
   * @param vectors null: the export has no vectors
   * @throws Fault `project_not_found`; ExportError if the text of a memory is missing
   */
  export(projectId: string | null, vectors: VectorReader | null): AsyncGenerator<string>;
  /**
   * A copy of all stores at one moment: what it contains, and its parts. The parts have to be read to their end, or
   * returned.
   * @param withIndex whether the copy contains the index, so that a restore need not compute it again
   * @throws Fault `invalid_state` if the index cannot be part of it
   */
  copy(withIndex: boolean): Promise<{ readonly summary: StoreSummary; readonly parts: AsyncGenerator<FilledPart> }>;
  /** Compares rows, texts and uploaded files at one moment. Changes nothing. */
  verify(onProgress: OnVerifyProgress): Promise<Verification>;
  /**
   * Repairs what `verify` finds in rows, texts and uploaded files. What cannot be computed again goes to the
   * quarantine.
   */
  repair(onProgress: OnVerifyProgress): Promise<Mended>;
  /**
   * Stores the records of an export as a new project, completely or not at all.
   * @throws ExportError if the records cannot be stored, with the number of the record
   */
  import(records: AsyncIterable<ExportRecord>): Promise<{ readonly projectId: ProjectId; readonly records: number }>;
}
