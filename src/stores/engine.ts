// Operations that databases do with different statements, not only different expressions (dialect.ts): storing many
// rows, finding jobs, and caching memories. sqlite/engine.ts and postgres/engine.ts implement it.

import type { Clock } from "../kit/clock.ts";
import type { Sql } from "./dialect.ts";
import type { MemoryReads } from "./memories/reads.ts";
import type { ClaimedRow, CompletedColumns } from "./rows/job.ts";
import type { MemoryRow } from "./rows/memory.ts";
import type { GivenColumns } from "./rows/memory-columns.ts";
import type { ContentFingerprint } from "./rows/memory-file.ts";
import type { Session } from "./session.ts";

/** A memory to insert. */
export interface NewMemory {
  readonly id: string;
  readonly content: string;
  readonly fingerprint: ContentFingerprint;
  /** The column `source`. */
  readonly source: string | null;
  /** The column `original_file`. */
  readonly originalFile: string | null;
  readonly columns: GivenColumns;
}

/** A row after a change, and the value of its column `tags` before it. */
export interface RetaggedRow {
  readonly row: Pick<MemoryRow, "project_key" | "memory_key" | "tags">;
  readonly before: string | null;
}

/** A memory to complete: its current row, and the columns to set. */
export interface CompletedRow {
  readonly row: MemoryRow;
  readonly columns: CompletedColumns;
}

/** The row of a memory whose job was leased. */
export type LeasedRow = ClaimedRow & { readonly lease: bigint };

/** One database. */
export interface StoreEngine {
  /** Reads of memories by id and key, with a cache of unchanged ones. */
  memoryReads(session: Session, clock: Clock): MemoryReads;
  /** Inserts memories in status `processing` with their contents and tags. Keys and results are in their order. */
  insertMemories(
    session: Session,
    memories: readonly NewMemory[],
    to: { readonly projectKey: bigint; readonly now: number },
  ): Promise<readonly MemoryRow[]>;
  /** Makes the rows of the tags of memories follow their column `tags`, unless triggers do. */
  replaceTags(session: Session, memories: readonly RetaggedRow[]): Promise<void>;
  /** Sets the columns of completed memories, and removes waiting contents and imported vectors. */
  completeMemories(session: Session, memories: readonly CompletedRow[]): Promise<readonly MemoryRow[]>;
  /**
   * Selects the next jobs (`project_key`, `memory_key`, `content_bytes`) in the order of the projects `$projectKeys`:
   * of each at most `$share`, the longest waiting first, without the memories `$chosen`. No other transaction changes
   * the selected jobs until this one ends. The other parameters are those of `CLAIMABLE`.
   */
  readonly nextJobs: Sql;
  /** Gives the jobs of these memories new leases, which grow in their order. Leaves out memories that were removed. */
  leaseJobs(
    session: Session,
    keys: readonly bigint[],
    lease: { readonly claimableAt: number; readonly node: string },
  ): Promise<readonly LeasedRow[]>;
  /**
   * Records the newest leases of projects, which decide whose turn is next. Parameters: the lists `$project_key` and
   * `$lease`.
   */
  readonly serveProjects: Sql;
  /** Takes `$count` chunk keys and returns the `first`. */
  readonly reserveChunkKeys: Sql;
  /** See RetirementStore.eraseTraces. */
  eraseTraces(): Promise<boolean>;
}
