// Reads of memories by id and by key. Most reads ask for memories that were just read, so each database has a cache
// with its own way to notice changes: recent-memories.ts in sqlite/, stamped-memories.ts in postgres/.

import type { MemoryId, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Eventually } from "../../kit/eventually.ts";
import type { Dialect } from "../dialect.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import type { Session } from "../session.ts";

/** See the methods of MemoryStore. */
export interface MemoryReads {
  get(projectId: ProjectId, id: MemoryId): Eventually<Memory | null>;
  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Memory>>;
}

const OF_ID = `SELECT ${MEMORY_COLUMNS} FROM memories WHERE id = $id AND project_key = ${OPEN_PROJECT} AND ${LIVE}`;
// the unary plus keeps SQLite from using an index on project_key instead of the keys
const OF_KEYS = ({ isIn }: Dialect) => `SELECT ${MEMORY_COLUMNS} FROM memories
  WHERE memory_key ${isIn("keys")} AND +project_key = ${OPEN_PROJECT} AND ${LIVE}`;

/** Reads memories from their rows. */
export class RowReads implements MemoryReads {
  constructor(
    private readonly session: Session,
    private readonly clock: Clock,
  ) {}

  async get(projectId: ProjectId, id: MemoryId): Promise<Memory | null> {
    const row = await this.rowOf(projectId, id);
    return row === null ? null : toMemory(row);
  }

  async getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Memory>> {
    const rows = await this.rowsOf(projectId, keys);
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, toMemory(row)]));
  }

  /** The row of a live memory; null if there is none. */
  rowOf(projectId: ProjectId, id: MemoryId): Promise<MemoryRow | null> {
    return this.session.get<MemoryRow>(OF_ID, { project: projectId, id, now: this.clock.now() });
  }

  /** The rows of those memories that are live. */
  async rowsOf(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<readonly MemoryRow[]> {
    if (keys.length === 0) return [];
    return this.session.all<MemoryRow>(OF_KEYS, { project: projectId, keys, now: this.clock.now() });
  }
}
