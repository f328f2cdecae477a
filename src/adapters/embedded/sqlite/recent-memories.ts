// Caches memories that were read since the last change, so that their rows are not read again. Only the process that
// has locked the data directory changes memories, so it is enough to count the changes of this process.

import type { MemoryId, ProjectId } from "../../../domain/ids.ts";
import type { Memory } from "../../../domain/memory.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";

/**
 * Maximum number of cached memories. A memory takes some KB, and more than 10 KB if its metadata is as large as
 * allowed.
 */
const ROWS_MAX = 1_000;

/** Cache of memories, by project and id. Any committed change empties it. */
export class RecentMemories {
  readonly #rows = new Map<MemoryId, { readonly projectId: ProjectId; readonly memory: Memory }>();
  #changesSeen = -1;

  constructor(
    private readonly database: Pick<SqliteDatabase, "changes" | "isInTransaction">,
    private readonly clock: Clock,
  ) {}

  /** Returns null if the memory was not read since the last change, or has expired. */
  get(projectId: ProjectId, id: MemoryId): Memory | null {
    if (this.database.isInTransaction) return null;
    const changes = this.database.changes.value;
    if (changes !== this.#changesSeen) {
      this.#rows.clear();
      this.#changesSeen = changes;
      return null;
    }
    const known = this.#rows.get(id);
    if (known === undefined || known.projectId !== projectId) return null;
    const { memory } = known;
    return memory.expiresAt === null || memory.expiresAt > this.clock.now() ? memory : null;
  }

  /**
   * Adds a memory that was read right after `get` returned null. Does nothing while a transaction is open, because what
   * was read may be rolled back.
   */
  put(projectId: ProjectId, memory: Memory): void {
    if (this.database.isInTransaction) return;
    if (this.#rows.size >= ROWS_MAX) this.#rows.clear();
    this.#rows.set(memory.id, { projectId, memory });
  }
}
