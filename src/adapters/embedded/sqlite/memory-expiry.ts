// When expiry is written down: an expired memory is absent from every read by its time alone, but counts, and holds its
// externalId, until its row says so. What follows for indexes and texts is memory-retirement.ts.

import type { Clock } from "../../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";
import { MEMORY_COLUMNS, type MemoryRow, toMemory } from "./memory-row.ts";

/** Memories whose expiry is written down by one statement; together their rows take a few megabytes. */
const STEP_MEMORIES = 1_000;

// removed projects are passed over: their memories go as a whole, and nobody is to be told
const DUE = `SELECT memories.memory_key FROM memories INDEXED BY memories_expiring JOIN projects USING (project_key)
  WHERE memories.expires_at <= $now AND memories.expires_at IS NOT NULL AND memories.deleted_at IS NULL
    AND projects.deleted_at IS NULL`;
const EARLIEST = "ORDER BY memories.expires_at LIMIT $limit";

const END = "UPDATE memories SET deleted_at = expires_at, lease = NULL";
const END_DUE = `${END} WHERE memory_key IN (${DUE} ${EARLIEST}) RETURNING ${MEMORY_COLUMNS}`;
const END_DUE_OF_PROJECT = `${END} WHERE memory_key IN (${DUE} AND memories.project_key = $projectKey ${EARLIEST})
  RETURNING ${MEMORY_COLUMNS}`;
const END_ONE = `${END} WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

/** Writes down that memories have expired: they count as deleted from the moment on in which they did. */
export class MemoryExpiry {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly outbox: MemoryOutbox,
  ) {}

  /** Of all projects, those that expired first; returns how many (at most `limit`). */
  endDue(limit: number): number {
    return this.database.atomically(() =>
      this.#tell(
        this.database.prepare<MemoryRow, { now: number; limit: number }>(END_DUE).all({ now: this.clock.now(), limit }),
      ),
    );
  }

  /** All of one project; returns how many. */
  endDueOf(projectKey: bigint): number {
    return this.database.atomically(() => {
      for (let ended = 0; ; ) {
        const step = this.#tell(
          this.database
            .prepare<MemoryRow, { now: number; limit: number; projectKey: bigint }>(END_DUE_OF_PROJECT)
            .all({ now: this.clock.now(), limit: STEP_MEMORIES, projectKey }),
        );
        ended += step;
        if (step < STEP_MEMORIES) return ended;
      }
    });
  }

  /** This one, which the caller found expired. */
  endOne(memoryKey: bigint): void {
    this.#tell(this.database.prepare<MemoryRow, { key: bigint }>(END_ONE).all({ key: memoryKey }));
  }

  #tell(rows: readonly MemoryRow[]): number {
    for (const row of rows) this.outbox.record(row.project_key, "memory.deleted", toMemory(row));
    return rows.length;
  }
}
