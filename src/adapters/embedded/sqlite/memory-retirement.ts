// How a memory goes for good: deleted or expired, then out of the index, then (after the retention) out of the file.

import type { MemoryId, MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { Memory } from "../../../domain/memory.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";
import { KEYS, keyList, LIVE, MEMORY_COLUMNS, type MemoryRow, PROJECT_KEY, toMemory } from "./memory-row.ts";

/** Moves memories out, step by step. */
export class MemoryRetirement {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
  ) {}

  /** See MemoryStore.remove. */
  remove(projectId: ProjectId, id: MemoryId): Memory | null {
    const row = this.database
      .prepare<MemoryRow, { project: string; id: string; now: number }>(
        `UPDATE memories SET deleted_at = $now, lease = NULL
         WHERE id = $id AND project_key = ${PROJECT_KEY} AND ${LIVE} RETURNING ${MEMORY_COLUMNS}`,
      )
      .get({ project: projectId, id, now: this.clock.now() });
    return row === null ? null : toMemory(row);
  }

  /** See MemoryStore.retired. Also where expiry is written down: an expired memory counts as deleted when it expired. */
  retired(limit: number): readonly { readonly projectId: ProjectId; readonly memoryKey: MemoryKey }[] {
    return this.database.transaction(() => {
      this.database
        .prepare<never, { now: number; limit: number }>(
          `UPDATE memories SET deleted_at = expires_at, lease = NULL WHERE memory_key IN (
             SELECT memory_key FROM memories WHERE expires_at <= $now AND expires_at IS NOT NULL AND deleted_at IS NULL
             ORDER BY expires_at LIMIT $limit)`,
        )
        .run({ now: this.clock.now(), limit });
      return this.database
        .prepare<{ id: string; memory_key: bigint }, { limit: number }>(
          `SELECT projects.id, memories.memory_key FROM memories JOIN projects USING (project_key)
           WHERE memories.is_retracted = 0 AND memories.deleted_at IS NOT NULL ORDER BY memories.deleted_at LIMIT $limit`,
        )
        .all({ limit })
        .map((row) => ({ projectId: row.id as ProjectId, memoryKey: row.memory_key as MemoryKey }));
    });
  }

  /** See MemoryStore.markRetracted; keys of memories that are not deleted are passed over. */
  markRetracted(keys: readonly MemoryKey[]): void {
    this.database
      .prepare<never, { keys: string }>(
        `UPDATE memories SET is_retracted = 1 WHERE memory_key IN ${KEYS} AND deleted_at IS NOT NULL`,
      )
      .run({ keys: keyList(keys) });
  }

  /** See MemoryStore.purgeable. */
  purgeable(beforeMs: number, limit: number): readonly MemoryKey[] {
    return this.database
      .prepare<{ memory_key: bigint }, { beforeMs: number; limit: number }>(
        `SELECT memory_key FROM memories WHERE is_retracted = 1 AND deleted_at IS NOT NULL AND deleted_at < $beforeMs
         ORDER BY deleted_at LIMIT $limit`,
      )
      .all({ beforeMs, limit })
      .map((row) => row.memory_key as MemoryKey);
  }

  /** See MemoryStore.erase; only memories that were retracted go. Waiting contents go with their rows. */
  erase(keys: readonly MemoryKey[]): void {
    this.database
      .prepare<never, { keys: string }>(
        `DELETE FROM memories WHERE memory_key IN ${KEYS} AND is_retracted = 1 AND deleted_at IS NOT NULL`,
      )
      .run({ keys: keyList(keys) });
  }
}
