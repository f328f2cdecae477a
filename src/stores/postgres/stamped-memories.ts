// A cache of memories that were read by id, each with a stamp of its row. A later read asks the database only for the
// stamp, so the cache never returns a memory that any node has changed or deleted.

import type { MemoryId, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MemoryReads, RowReads } from "../memories/reads.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS } from "../rows/sql.ts";
import type { Session } from "../session.ts";

/**
 * Identifies the stored state of a row: every change writes a new version of the row, with the number of its
 * transaction (xmin) and another place (ctid). Version and time of the memory are added, because a server that was
 * restored to an earlier moment gives out the same numbers and places again.
 */
const STAMP = "concat_ws(' ', memories.xmin, memories.ctid, memories.version, memories.updated_at) AS stamp";
const OF_IDS = `FROM memories JOIN projects USING (project_key)
  WHERE memories.id = ANY($keys::text[]) AND projects.deleted_at IS NULL AND ${LIVE}`;
const STAMPED = `SELECT memories.id AS asked, projects.id AS project_id, ${STAMP}, ${MEMORY_COLUMNS} ${OF_IDS}`;
const STAMPS = `SELECT memories.id AS asked, ${STAMP} ${OF_IDS}`;

/**
 * Maximum number of kept memories. A memory takes some KB, and more than 10 KB if its metadata is as large as allowed.
 */
const ROWS_MAX = 1_000;

interface StampedRow extends MemoryRow {
  readonly project_id: string;
  readonly stamp: string;
}

interface StampedMemory {
  readonly projectId: ProjectId;
  readonly stamp: string;
  readonly memory: Memory;
}

/** Reads of committed memories. */
export class StampedMemories implements MemoryReads {
  readonly #known = new Map<MemoryId, StampedMemory>();

  constructor(
    private readonly rows: RowReads,
    private readonly session: Session,
    private readonly clock: Clock,
  ) {}

  async get(projectId: ProjectId, id: MemoryId): Promise<Memory | null> {
    const read = await this.#stamped(id);
    return read === null || read.projectId !== projectId ? null : read.memory;
  }

  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Memory>> {
    return this.rows.getMany(projectId, keys);
  }

  async #stamped(id: MemoryId): Promise<StampedMemory | null> {
    const params = { now: this.clock.now() };
    const known = this.#known.get(id);
    if (known !== undefined) {
      const row = await this.session.getShared<Pick<StampedRow, "stamp">>(STAMPS, id, params);
      if (row?.stamp === known.stamp) return known;
      this.#known.delete(id);
      if (row === null) return null;
    }
    const row = await this.session.getShared<StampedRow>(STAMPED, id, params);
    if (row === null) return null;
    const read = { projectId: row.project_id as ProjectId, stamp: row.stamp, memory: toMemory(row) };
    if (this.#known.size >= ROWS_MAX && !this.#known.has(id)) this.#known.clear();
    this.#known.set(id, read);
    return read;
  }
}
