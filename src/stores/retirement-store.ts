// Implements RetirementStore: the steps after a memory was deleted (memories/memory-deletion.ts) or has expired
// (memories/memory-expiry.ts).

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { DAY_MS } from "../kit/clock.ts";
import type { RetiredMemory, RetirementStore } from "../ports/retirement-store.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { MemoryExpiry } from "./memories/memory-expiry.ts";
import type { MemoryRow } from "./rows/memory.ts";
import { fileOf } from "./rows/memory-file.ts";
import { lockProjects, type Session } from "./session.ts";

// skips removed projects: their memories are erased with the project
const RETIRED = ({ isNotIn }: Dialect) => `SELECT projects.id, memories.memory_key
  FROM memories JOIN projects USING (project_key)
  WHERE memories.is_retracted = 0 AND memories.deleted_at IS NOT NULL AND projects.deleted_at IS NULL
    AND projects.id ${isNotIn("except", "text")}
  ORDER BY memories.deleted_at, memories.memory_key LIMIT $limit`;

const PROJECTS_OF = ({ isIn }: Dialect) => `SELECT DISTINCT projects.id
  FROM memories JOIN projects USING (project_key)
  WHERE memory_key ${isIn("keys")} AND memories.deleted_at IS NOT NULL`;

const MARK_RETRACTED = ({ isIn }: Dialect) => `UPDATE memories SET is_retracted = 1
  WHERE memory_key ${isIn("keys")} AND deleted_at IS NOT NULL`;

// the shortest retention of all projects gives a bound for which an index can be used
const PURGEABLE = ({ retentionDays }: Dialect) => `SELECT memory_key FROM memories
    WHERE is_purge_asked = 1 AND is_retracted = 1 AND deleted_at IS NOT NULL
  UNION ALL
  SELECT memories.memory_key FROM memories JOIN projects USING (project_key)
    WHERE memories.is_purge_asked = 0 AND memories.is_retracted = 1
      AND memories.deleted_at < $now - (SELECT min(${DAY_MS} * ${retentionDays}) FROM projects)
      AND memories.deleted_at < $now - ${DAY_MS} * ${retentionDays}
  LIMIT $limit`;

// The unary plus keeps SQLite from using the index on is_retracted, which has all deleted and expired memories.
// Triggers and cascades (migrations.ts) erase the rows of other tables that belong to the memories (erasure.ts).
const ERASE = ({ isIn }: Dialect) => `DELETE FROM memories
  WHERE memory_key ${isIn("keys")} AND +is_retracted = 1 AND deleted_at IS NOT NULL RETURNING source, original_file`;

/** Deleted and expired memories. */
export class StoredRetirement implements RetirementStore {
  readonly #expiry: MemoryExpiry;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {
    this.#expiry = new MemoryExpiry(session, context);
  }

  async retired(limit: number, except: readonly ProjectId[] = []): Promise<readonly RetiredMemory[]> {
    await this.#expiry.recordDue(limit);
    const rows = await this.session.all<{ id: string; memory_key: bigint }>(RETIRED, { limit, except });
    return rows.map((row) => ({ projectId: row.id as ProjectId, memoryKey: row.memory_key as MemoryKey }));
  }

  async markRetracted(keys: readonly MemoryKey[]): Promise<void> {
    await lockProjects(this.session, PROJECTS_OF, { keys });
    await this.session.run(MARK_RETRACTED, { keys });
  }

  async purgeable(limit: number): Promise<readonly MemoryKey[]> {
    const rows = await this.session.all<{ memory_key: bigint }>(PURGEABLE, { now: this.context.clock.now(), limit });
    return rows.map((row) => row.memory_key as MemoryKey);
  }

  async erase(keys: readonly MemoryKey[]): Promise<readonly string[]> {
    this.context.noteErasure();
    await lockProjects(this.session, PROJECTS_OF, { keys });
    const rows = await this.session.all<Pick<MemoryRow, "source" | "original_file">>(ERASE, { keys });
    return rows.flatMap((row) => fileOf(row) ?? []);
  }

  eraseTraces(): Promise<boolean> {
    return this.context.engine.eraseTraces();
  }
}
