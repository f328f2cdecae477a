// Memories that were read since anything last changed: between two changes the same rows need not be read again. The process
// that holds the data directory is the only one that changes memories, so its own count of writes tells.

import type { MemoryId, ProjectId } from "../../../domain/ids.ts";
import type { Memory } from "../../../domain/memory.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";

/** Rows that are kept at most; some KB each, with metadata of 10 KB. */
const ROWS_MAX = 1_000;

/** Rows by project and id, void with the next change of anything. */
export class RecentMemories {
  readonly #rows = new Map<MemoryId, { readonly projectId: ProjectId; readonly memory: Memory }>();
  #writes = -1;

  constructor(
    private readonly database: Pick<SqliteDatabase, "writes" | "isInTransaction">,
    private readonly clock: Clock,
  ) {}

  /** null: it was not read since the last change, or has expired meanwhile. */
  get(projectId: ProjectId, id: MemoryId): Memory | null {
    if (this.database.isInTransaction) return null;
    const { writes } = this.database;
    if (writes !== this.#writes) {
      this.#rows.clear();
      this.#writes = writes;
      return null;
    }
    const known = this.#rows.get(id);
    if (known === undefined || known.projectId !== projectId) return null;
    const { memory } = known;
    return memory.expiresAt === null || memory.expiresAt > this.clock.now() ? memory : null;
  }

  /** Keeps a row that was read right after `get` gave null; not one of a transaction, which may be undone. */
  put(projectId: ProjectId, memory: Memory): void {
    if (this.database.isInTransaction) return;
    if (this.#rows.size >= ROWS_MAX) this.#rows.clear();
    this.#rows.set(memory.id, { projectId, memory });
  }
}
