// Records the expiry of memories. As soon as a memory has expired, no method returns it. But it counts for quotas and
// keeps its externalId until its expiry is recorded here. Its removal from index and stores follows in
// retirement-store.ts.

import type { Clock } from "../../kit/clock.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { MEMORY_COLUMNS } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";

/** Maximum number of memories whose expiry one statement records. Their rows together take a few megabytes. */
const STEP_MEMORIES = 1_000;

// skips removed projects, because their memories are erased without events
const DUE = `SELECT memories.memory_key FROM memories INDEXED BY memories_expiring JOIN projects USING (project_key)
  WHERE memories.expires_at <= $now AND memories.expires_at IS NOT NULL AND memories.deleted_at IS NULL
    AND projects.deleted_at IS NULL`;
const EARLIEST = "ORDER BY memories.expires_at LIMIT $limit";

const EXPIRE = "UPDATE memories SET deleted_at = expires_at, lease = NULL";
const EXPIRE_DUE = `${EXPIRE} WHERE memory_key IN (${DUE} ${EARLIEST}) RETURNING ${MEMORY_COLUMNS}`;
const EXPIRE_DUE_OF_PROJECT = `${EXPIRE} WHERE memory_key IN (${DUE} AND memories.project_key = $projectKey ${EARLIEST})
  RETURNING ${MEMORY_COLUMNS}`;
const EXPIRE_ONE = `${EXPIRE} WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

/** Records that memories have expired: they count as deleted at the time of their expiry. */
export class MemoryExpiry {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly outbox: MemoryOutbox,
  ) {}

  /** Records up to `limit` expired memories of all projects, earliest first. Returns their number. */
  recordDue(limit: number): number {
    return this.database.transaction(() =>
      this.#recordEvents(
        this.database
          .prepare<MemoryRow, { now: number; limit: number }>(EXPIRE_DUE)
          .all({ now: this.clock.now(), limit }),
      ),
    );
  }

  /** Records all expired memories of one project. Returns their number. */
  recordDueOf(projectKey: bigint): number {
    return this.database.transaction(() => {
      for (let ended = 0; ; ) {
        const step = this.#recordEvents(
          this.database
            .prepare<MemoryRow, { now: number; limit: number; projectKey: bigint }>(EXPIRE_DUE_OF_PROJECT)
            .all({ now: this.clock.now(), limit: STEP_MEMORIES, projectKey }),
        );
        ended += step;
        if (step < STEP_MEMORIES) return ended;
      }
    });
  }

  /** Records the expiry of one memory that has expired. */
  recordOne(memoryKey: bigint): void {
    this.#recordEvents(this.database.prepare<MemoryRow, { key: bigint }>(EXPIRE_ONE).all({ key: memoryKey }));
  }

  #recordEvents(rows: readonly MemoryRow[]): number {
    for (const row of rows) this.outbox.record(row.project_key, "memory.deleted", toMemory(row));
    return rows.length;
  }
}
