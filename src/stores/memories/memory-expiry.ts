// Records the expiry of memories. As soon as a memory has expired, no method returns it. But it counts for quotas and
// keeps its externalId until its expiry is recorded here. Its removal from index and stores follows in
// retirement-store.ts.

import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import { Outbox } from "../outbox.ts";
import { RelationRows } from "../relations/relation-rows.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { MEMORY_COLUMNS } from "../rows/sql.ts";
import type { Session } from "../session.ts";

/** Maximum number of memories whose expiry one statement records. Their rows together take a few megabytes. */
const STEP_MEMORIES = 1_000;

const IS_DUE = "memories.expires_at <= $now AND memories.expires_at IS NOT NULL AND memories.deleted_at IS NULL";
const EARLIEST = "ORDER BY memories.expires_at LIMIT $limit";
// skips removed projects, because their memories are erased without events
const DUE = ({ indexedBy }: Dialect) => `SELECT memories.memory_key, projects.id
  FROM memories ${indexedBy("memories_expiring")} JOIN projects USING (project_key)
  WHERE ${IS_DUE} AND projects.deleted_at IS NULL ${EARLIEST}`;
const DUE_OF_PROJECT = ({ indexedBy }: Dialect) => `SELECT memory_key
  FROM memories ${indexedBy("memories_expiring")} WHERE ${IS_DUE} AND project_key = $projectKey ${EARLIEST}`;

const EXPIRE = ({ isIn }: Dialect) => `UPDATE memories SET deleted_at = expires_at, lease = NULL
  WHERE memory_key ${isIn("keys")} AND ${IS_DUE} RETURNING ${MEMORY_COLUMNS}`;

/** Records that memories have expired: they count as deleted at the time of their expiry. */
export class MemoryExpiry {
  readonly #outbox: Outbox;
  readonly #relations: RelationRows;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {
    this.#outbox = new Outbox(session, context);
    this.#relations = new RelationRows(session, context);
  }

  /** Records up to `limit` expired memories of all projects, earliest first. Takes the locks of their projects. */
  async recordDue(limit: number): Promise<void> {
    const due = await this.session.lookUp<{ memory_key: bigint; id: string }>(DUE, {
      now: this.context.clock.now(),
      limit,
    });
    await this.session.lock(due.map(({ id }) => id));
    await this.#record(due.map(({ memory_key }) => memory_key));
  }

  /** Records all expired memories of one project, whose lock the transaction has. Returns their number. */
  async recordDueOf(projectKey: bigint): Promise<number> {
    for (let ended = 0; ; ) {
      const params = { now: this.context.clock.now(), limit: STEP_MEMORIES, projectKey };
      const due = await this.session.all<{ memory_key: bigint }>(DUE_OF_PROJECT, params);
      ended += await this.#record(due.map(({ memory_key }) => memory_key));
      if (due.length < STEP_MEMORIES) return ended;
    }
  }

  /** Records the expiry of one memory that has expired. */
  async recordOne(memoryKey: bigint): Promise<void> {
    await this.#record([memoryKey]);
  }

  async #record(keys: readonly bigint[]): Promise<number> {
    if (keys.length === 0) return 0;
    const rows = await this.session.all<MemoryRow>(EXPIRE, { keys, now: this.context.clock.now() });
    const byKey = new Map(rows.map((row) => [row.memory_key, row]));
    const inOrder = keys.flatMap((key) => byKey.get(key) ?? []);
    for (const [projectKey, ofProject] of Map.groupBy(inOrder, (row) => row.project_key)) {
      await this.#outbox.record(projectKey, "memory.deleted", ofProject.map(toMemory));
    }
    await this.#relations.removeAllOf(inOrder);
    return rows.length;
  }
}
