// Caches memories that were read by id, with a stamp of their row. Whoever reads one again asks the database only for
// the stamp, so a memory that any node has changed or deleted is never returned from here.

import type { MemoryId, ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";

/**
 * Identifies the stored state of a row: every change writes a new version of the row, with the number of its
 * transaction and another place. Version and time of the memory are part of it for the case that a server was restored
 * to an earlier moment, and gives out the same numbers and places again.
 */
export const STAMP = "concat_ws(' ', memories.xmin, memories.ctid, memories.version, memories.updated_at) AS stamp";

/**
 * Maximum number of cached memories. A memory takes some KB, and more than 10 KB if its metadata is as large as
 * allowed.
 */
const ROWS_MAX = 1_000;

/** A memory as it was read. */
export interface StampedMemory {
  readonly projectId: ProjectId;
  readonly stamp: string;
  readonly memory: Memory;
}

/** Memories by id. */
export class RecentMemories {
  readonly #known = new Map<MemoryId, StampedMemory>();

  /** The memory as it was read last; null if that is not known. It may have been changed since. */
  get(id: MemoryId): StampedMemory | null {
    return this.#known.get(id) ?? null;
  }

  put(read: StampedMemory): void {
    if (this.#known.size >= ROWS_MAX && !this.#known.has(read.memory.id)) this.#known.clear();
    this.#known.set(read.memory.id, read);
  }

  forget(id: MemoryId): void {
    this.#known.delete(id);
  }
}
