// RetirementStore on SQLite: the steps after a memory was deleted (memory-deletion.ts) or has expired
// (memory-expiry.ts).

import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import { DEFAULT_SETTINGS } from "../../domain/project.ts";
import type { Clock } from "../../kit/clock.ts";
import type { RetiredMemory, RetirementStore } from "../../ports/retirement-store.ts";
import type { MemoryRow } from "../rows/memory.ts";
import { keptFileOf } from "../rows/memory-file.ts";
import type { SqliteDatabase } from "./database.ts";
import { MemoryExpiry } from "./memory-expiry.ts";
import { type MemoryStoreOptions, NO_OUTBOX } from "./memory-outbox.ts";
import { KEYS, keyList } from "./memory-row.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

// skips removed projects: their memories are erased with the project
const RETIRED = `SELECT projects.id, memories.memory_key FROM memories JOIN projects USING (project_key)
  WHERE memories.is_retracted = 0 AND memories.deleted_at IS NOT NULL AND projects.deleted_at IS NULL
    AND projects.id NOT IN (SELECT value FROM json_each($except))
  ORDER BY memories.deleted_at LIMIT $limit`;

const MARK_RETRACTED = `UPDATE memories SET is_retracted = 1
  WHERE memory_key IN ${KEYS} AND deleted_at IS NOT NULL`;

const RETENTION_MS = `${DAY_MS} * ifnull(json_extract(projects.settings, '$.retention_days'), ${DEFAULT_SETTINGS.retention_days})`;

// the shortest retention of all projects gives a bound for which an index can be used
const PURGEABLE = `SELECT memory_key FROM memories
    WHERE is_purge_asked = 1 AND is_retracted = 1 AND deleted_at IS NOT NULL
  UNION ALL
  SELECT memories.memory_key FROM memories JOIN projects USING (project_key)
    WHERE memories.is_purge_asked = 0 AND memories.is_retracted = 1
      AND memories.deleted_at < $now - (SELECT min(${RETENTION_MS}) FROM projects)
      AND memories.deleted_at < $now - ${RETENTION_MS}
  LIMIT $limit`;

// The unary plus keeps SQLite from using the index on is_retracted, which has all deleted and expired memories.
// Triggers and cascades (migrations.ts) erase waiting contents, tags, chat sources and remembered answers.
const ERASE = `DELETE FROM memories WHERE memory_key IN ${KEYS} AND +is_retracted = 1 AND deleted_at IS NOT NULL
  RETURNING source`;

/** RetirementStore on SQLite. */
export class SqliteRetirementStore implements RetirementStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #expiry: MemoryExpiry;

  constructor({ database, clock, outbox = NO_OUTBOX }: MemoryStoreOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#expiry = new MemoryExpiry(database, clock, outbox);
  }

  retired(limit: number, except: readonly ProjectId[] = []): readonly RetiredMemory[] {
    return this.#database.transaction(() => {
      this.#expiry.recordDue(limit);
      return this.#database
        .prepare<{ id: string; memory_key: bigint }, { limit: number; except: string }>(RETIRED)
        .all({ limit, except: JSON.stringify(except) })
        .map((row) => ({ projectId: row.id as ProjectId, memoryKey: row.memory_key as MemoryKey }));
    });
  }

  markRetracted(keys: readonly MemoryKey[]): void {
    this.#database.prepare<never, { keys: string }>(MARK_RETRACTED).run({ keys: keyList(keys) });
  }

  purgeable(limit: number): readonly MemoryKey[] {
    return this.#database
      .prepare<{ memory_key: bigint }, { now: number; limit: number }>(PURGEABLE)
      .all({ now: this.#clock.now(), limit })
      .map((row) => row.memory_key as MemoryKey);
  }

  erase(keys: readonly MemoryKey[]): readonly string[] {
    this.#database.noteErasure();
    return this.#database
      .prepare<Pick<MemoryRow, "source">, { keys: string }>(ERASE)
      .all({ keys: keyList(keys) })
      .flatMap((row) => keptFileOf(row) ?? []);
  }

  // Pages of the file have zeros instead of erased rows (secure_delete), but the write-ahead log has the pages before.
  eraseTraces(): boolean {
    return this.#database.emptyLog();
  }
}
