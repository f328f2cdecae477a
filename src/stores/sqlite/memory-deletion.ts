// Soft deletion. No method returns a deleted memory, but its row stays until its index entries and texts are removed
// (retirement-store.ts).

import type { MemoryId, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";
import { KEYS, keyList } from "./memory-row.ts";
import { USER_KEY } from "./user-rows.ts";

/** Maximum number of memories of a user that one statement deletes. Their rows together take a few megabytes. */
const STEP_MEMORIES = 1_000;

const REMOVE = `UPDATE memories SET deleted_at = $now, lease = NULL, is_purge_asked = $isPurgeAsked
  WHERE id = $id AND project_key = ${OPEN_PROJECT} AND ${LIVE} RETURNING ${MEMORY_COLUMNS}`;

const KEYS_OF_USER = `SELECT memory_key FROM memories INDEXED BY memories_by_user
  WHERE user_key = ${USER_KEY} AND project_key = ${OPEN_PROJECT} AND ${LIVE} ORDER BY memory_key`;

// the unary plus keeps SQLite from using an index on project_key instead of the keys
const REMOVE_MANY = `UPDATE memories SET deleted_at = $now, lease = NULL
  WHERE memory_key IN ${KEYS} AND +project_key = ${OPEN_PROJECT} AND ${LIVE} RETURNING ${MEMORY_COLUMNS}`;

/** Deletes memories softly and records an event for each. */
export class MemoryDeletion {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly outbox: MemoryOutbox,
  ) {}

  /** See MemoryStore.remove. */
  remove(projectId: ProjectId, id: MemoryId, { purges }: { readonly purges: boolean }): Memory | null {
    return this.database.transaction(() => {
      const row = this.database
        .prepare<MemoryRow, { project: string; id: string; now: number; isPurgeAsked: number }>(REMOVE)
        .get({ project: projectId, id, now: this.clock.now(), isPurgeAsked: Number(purges) });
      return row === null ? null : this.#record(row);
    });
  }

  /** See MemoryStore.removeAllOf. Cost: 20 to 100 µs per memory. */
  removeAllOf(projectId: ProjectId, userId: string): readonly MemoryKey[] {
    return this.database.transaction(() => {
      const now = this.clock.now();
      const keys = this.database
        .prepare<{ memory_key: bigint }, { project: string; userId: string; now: number }>(KEYS_OF_USER)
        .all({ project: projectId, userId, now })
        .map((row) => row.memory_key as MemoryKey);
      return this.#removeMany(projectId, keys, now);
    });
  }

  /** See MemoryStore.removeMany. */
  removeMany(projectId: ProjectId, keys: readonly MemoryKey[]): readonly MemoryKey[] {
    return this.database.transaction(() => this.#removeMany(projectId, keys, this.clock.now()));
  }

  #removeMany(projectId: ProjectId, keys: readonly MemoryKey[], now: number): readonly MemoryKey[] {
    const removed: MemoryKey[] = [];
    for (let first = 0; first < keys.length; first += STEP_MEMORIES) {
      const step = keyList(keys.slice(first, first + STEP_MEMORIES));
      const rows = this.database
        .prepare<MemoryRow, { project: string; keys: string; now: number }>(REMOVE_MANY)
        .all({ project: projectId, keys: step, now });
      for (const row of rows) removed.push(this.#record(row).key);
    }
    return removed;
  }

  #record(row: MemoryRow): Memory {
    const memory = toMemory(row);
    this.outbox.record(row.project_key, "memory.deleted", memory);
    return memory;
  }
}
