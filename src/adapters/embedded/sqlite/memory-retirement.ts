// How a memory goes for good: deleted or expired, then out of the index, then (after the retention) out of the file. Expiry
// itself is memory-expiry.ts.

import type { MemoryId, MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { Memory } from "../../../domain/memory.ts";
import { DEFAULT_SETTINGS } from "../../../domain/project.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";
import type { MemoryFiles } from "./memory-files.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";
import { KEYS, keyList, LIVE, MEMORY_COLUMNS, type MemoryRow, OPEN_PROJECT, toMemory } from "./memory-row.ts";
import { USER_KEY } from "./user-rows.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Memories of a user that are deleted by one statement; together their rows take a few megabytes. */
const STEP_MEMORIES = 1_000;

const REMOVE = `UPDATE memories SET deleted_at = $now, lease = NULL, is_purge_asked = $isPurgeAsked
  WHERE id = $id AND project_key = ${OPEN_PROJECT} AND ${LIVE} RETURNING ${MEMORY_COLUMNS}`;

const KEYS_OF_USER = `SELECT memory_key FROM memories INDEXED BY memories_by_user
  WHERE user_key = ${USER_KEY} AND project_key = ${OPEN_PROJECT} AND ${LIVE} ORDER BY memory_key`;

const REMOVE_MANY = `UPDATE memories SET deleted_at = $now, lease = NULL WHERE memory_key IN ${KEYS}
  RETURNING ${MEMORY_COLUMNS}`;

// what is left of removed projects goes as a whole
const RETIRED = `SELECT projects.id, memories.memory_key FROM memories JOIN projects USING (project_key)
  WHERE memories.is_retracted = 0 AND memories.deleted_at IS NOT NULL AND projects.deleted_at IS NULL
    AND projects.id NOT IN (SELECT value FROM json_each($except))
  ORDER BY memories.deleted_at LIMIT $limit`;

const RETENTION_MS = `${DAY_MS} * ifnull(json_extract(projects.settings, '$.retention_days'), ${DEFAULT_SETTINGS.retention_days})`;

// the shortest retention of all is a bound that the index knows
const PURGEABLE = `SELECT memory_key FROM memories
    WHERE is_purge_asked = 1 AND is_retracted = 1 AND deleted_at IS NOT NULL
  UNION ALL
  SELECT memories.memory_key FROM memories JOIN projects USING (project_key)
    WHERE memories.is_purge_asked = 0 AND memories.is_retracted = 1
      AND memories.deleted_at < $now - (SELECT min(${RETENTION_MS}) FROM projects)
      AND memories.deleted_at < $now - ${RETENTION_MS}
  LIMIT $limit`;

/** Moves memories out, step by step. */
export class MemoryRetirement {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly expiry: MemoryExpiry,
    private readonly outbox: MemoryOutbox,
    private readonly files: MemoryFiles,
  ) {}

  /** See MemoryStore.remove. */
  remove(projectId: ProjectId, id: MemoryId, { purges }: { readonly purges: boolean }): Memory | null {
    return this.database.atomically(() => {
      const row = this.database
        .prepare<MemoryRow, { project: string; id: string; now: number; isPurgeAsked: number }>(REMOVE)
        .get({ project: projectId, id, now: this.clock.now(), isPurgeAsked: Number(purges) });
      return row === null ? null : this.#tell(row);
    });
  }

  /** See MemoryStore.removeAllOf. Cost: 20 to 100 µs a memory, all in one turn. */
  removeAllOf(projectId: ProjectId, userId: string): readonly MemoryKey[] {
    return this.database.atomically(() => {
      const now = this.clock.now();
      const keys = this.database
        .prepare<{ memory_key: bigint }, { project: string; userId: string; now: number }>(KEYS_OF_USER)
        .all({ project: projectId, userId, now })
        .map((row) => row.memory_key as MemoryKey);
      for (let first = 0; first < keys.length; first += STEP_MEMORIES) {
        this.database
          .prepare<MemoryRow, { keys: string; now: number }>(REMOVE_MANY)
          .all({ keys: keyList(keys.slice(first, first + STEP_MEMORIES)), now })
          .forEach((row) => {
            this.#tell(row);
          });
      }
      return keys;
    });
  }

  /** See MemoryStore.retired. Also where expiry is written down. */
  retired(
    limit: number,
    except: readonly ProjectId[] = [],
  ): readonly { readonly projectId: ProjectId; readonly memoryKey: MemoryKey }[] {
    return this.database.atomically(() => {
      this.expiry.endDue(limit);
      return this.database
        .prepare<{ id: string; memory_key: bigint }, { limit: number; except: string }>(RETIRED)
        .all({ limit, except: JSON.stringify(except) })
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
  purgeable(limit: number): readonly MemoryKey[] {
    return this.database
      .prepare<{ memory_key: bigint }, { now: number; limit: number }>(PURGEABLE)
      .all({ now: this.clock.now(), limit })
      .map((row) => row.memory_key as MemoryKey);
  }

  /**
   * See MemoryStore.erase; only memories that were retracted go. Files, waiting contents, tags, what chats show of them and answers
   * that are remembered go with their rows (triggers of migrations.ts), in the same transaction.
   */
  erase(keys: readonly MemoryKey[]): void {
    this.database.atomically(() => {
      const erased = this.database
        .prepare<Pick<MemoryRow, "source">, { keys: string }>(
          // the plus keeps the search to the keys: by is_retracted it would walk all that was ever retired
          `DELETE FROM memories WHERE memory_key IN ${KEYS} AND +is_retracted = 1 AND deleted_at IS NOT NULL
           RETURNING source`,
        )
        .all({ keys: keyList(keys) });
      for (const row of erased) this.files.release(row);
    });
  }

  #tell(row: MemoryRow): Memory {
    const memory = toMemory(row);
    this.outbox.record(row.project_key, "memory.deleted", memory);
    return memory;
  }
}
