// Rows of relations, and the columns of memories that follow from them. Stores that delete or change memories remove
// their relations through this class, in the same transaction.

import type { ProjectId } from "../../domain/ids.ts";
import type { SupersededAt } from "../../ports/relation-store.ts";
import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import { EarlierRows, RELATION_COLUMNS } from "../history/earlier-rows.ts";
import { Outbox, type OutboxContext } from "../outbox.ts";
import { toVisible } from "../rows/job.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { MEMORY_COLUMNS } from "../rows/sql.ts";
import type { Session } from "../session.ts";
import { Chains, keysOf, type SupersedingRow } from "./supersession.ts";

/**
 * Maximum number of memories whose columns are updated after one change. In a longer chain of memories that supersede
 * each other, the oldest ones then name a memory that is superseded itself.
 */
const FOLLOWING_MAX = 1_000;
/** Maximum number of memories in the chains that are read for one change. */
const CHAIN_MAX = 10_000;

const DELETE_OF = ({ isIn }: Dialect) => `DELETE FROM relations WHERE memory_key ${isIn("keys")}
  RETURNING memory_key, other_key`;
const DELETE_ABOUT = ({ isIn }: Dialect) => `DELETE FROM relations WHERE other_key ${isIn("keys")}
  RETURNING memory_key, other_key`;
const DELETE_FOUND_OF = ({ isIn }: Dialect) => `DELETE FROM relations
  WHERE memory_key ${isIn("keys")} AND made_by <> 'person' RETURNING memory_key, other_key`;
const DELETE_FOUND_ABOUT = ({ isIn }: Dialect) => `DELETE FROM relations
  WHERE other_key ${isIn("keys")} AND made_by <> 'person' RETURNING memory_key, other_key`;
const NAMING = ({ isIn }: Dialect) => `SELECT memory_key FROM memories
  WHERE superseded_by ${isIn("ids", "text")} AND superseded_by IS NOT NULL AND deleted_at IS NULL`;

const ABOUT = ({ isIn }: Dialect) => `SELECT DISTINCT other_key AS key FROM relations
  WHERE other_key ${isIn("keys")} AND kind = 'supersedes'`;

const OLDER = ({ isIn }: Dialect) => `SELECT DISTINCT other_key AS key FROM relations
  WHERE memory_key ${isIn("keys")} AND kind = 'supersedes' AND state = 'active'`;
/** A table of the relations as they were at `$knownAt`. */
export const RELATIONS_THEN = `(
    SELECT relation_key, ${RELATION_COLUMNS} FROM relations WHERE created_at <= $knownAt
    UNION ALL
    SELECT earlier_relation_key, ${RELATION_COLUMNS} FROM earlier_relations
      WHERE created_at <= $knownAt AND removed_at > $knownAt)`;
/** Condition: the relation has an effect. Found relations have none if the project's setting `superseding` is off. */
export const hasEffect = ({ json }: Dialect) =>
  `(made_by = 'person' OR coalesce(${json("projects.settings")} ->> 'superseding', 'on') <> 'off')`;
const newer =
  (table: string) =>
  (dialect: Dialect): string =>
    `SELECT relations.memory_key, relations.other_key, own_passage, other_passage,
    newer.id AS newer_id, coalesce(newer.occurred_at, newer.created_at) AS happened_at
  FROM ${table} AS relations JOIN memories AS newer ON newer.memory_key = relations.memory_key
    JOIN projects ON projects.project_key = relations.project_key
  WHERE relations.other_key ${dialect.isIn("keys")} AND kind = 'supersedes' AND state = 'active'
    AND ${hasEffect(dialect)}
    AND newer.deleted_at IS NULL AND (newer.expires_at IS NULL OR newer.expires_at > $now)`;
const NEWER = newer("relations");
const NEWER_THEN = newer(RELATIONS_THEN);
const MARKS = ({ isIn }: Dialect) => `SELECT memory_key, chunk_count, superseded_by, superseded_passages FROM memories
  WHERE memory_key ${isIn("keys")} AND deleted_at IS NULL ORDER BY memory_key`;
const SET_MARKS = `UPDATE memories SET superseded_by = $by, superseded_passages = $passages
  WHERE memory_key = $key AND deleted_at IS NULL RETURNING ${MEMORY_COLUMNS},
    (SELECT projects.id FROM projects WHERE projects.project_key = memories.project_key) AS project_id`;

const ADD_JOBS = ({ elements }: Dialect) => `INSERT INTO relation_jobs (memory_key, is_backlog, claimable_at)
  SELECT CAST(value AS bigint), CAST($isBacklog AS bigint), CAST($now AS bigint) FROM ${elements("keys")} WHERE true
  ON CONFLICT (memory_key) DO UPDATE SET is_backlog = excluded.is_backlog, claimable_at = excluded.claimable_at,
    attempts = relation_jobs.attempts + 1, leased_by = NULL`;

const FOUND_IN_PROJECT = `SELECT DISTINCT other_key AS key FROM relations
  WHERE project_key = $projectKey AND kind = 'supersedes' AND made_by <> 'person'`;
const ADD_JOBS_OF_PROJECT = `INSERT INTO relation_jobs (memory_key, is_backlog, claimable_at)
  SELECT memory_key, 1, CAST($now AS bigint) FROM memories
  WHERE project_key = $projectKey AND status = 'completed' AND deleted_at IS NULL
  ON CONFLICT DO NOTHING`;

type Pair = { readonly memory_key: bigint; readonly other_key: bigint };
type Marks = {
  readonly memory_key: bigint;
  readonly chunk_count: bigint;
  readonly superseded_by: string | null;
  readonly superseded_passages: string | null;
};

/** Relations and their consequences in one transaction. */
export class RelationRows {
  readonly #outbox: Outbox;
  readonly #earlier: EarlierRows;

  constructor(
    private readonly session: Session,
    private readonly context: OutboxContext & Pick<StoreContext, "onSuperseded" | "onRelationJobs">,
  ) {
    this.#outbox = new Outbox(session, context);
    this.#earlier = new EarlierRows(session);
  }

  /** Removes all relations, also earlier ones, of memories that were deleted or have another user or agent. */
  async removeAllOf(memories: readonly { readonly memory_key: bigint; readonly id: string }[]): Promise<void> {
    if (memories.length === 0) return;
    const keys = memories.map(({ memory_key }) => memory_key);
    const removed = await this.#delete(keys, [DELETE_OF, DELETE_ABOUT]);
    await this.#earlier.eraseRelations(keys);
    const ids = memories.map(({ id }) => id);
    const naming = await this.session.all<{ memory_key: bigint }>(NAMING, { ids });
    if (removed.length === 0 && naming.length === 0) return;
    await this.settle([...removed.map(({ other_key }) => other_key), ...naming.map(({ memory_key }) => memory_key)]);
  }

  /**
   * Removes the relations that no person set, of memories with a new content or time.
   * @param by id of the key that changed the memories; null: no key did
   */
  async removeFoundOf(keys: readonly bigint[], by: string | null): Promise<void> {
    await this.#earlier.keepFoundRelations(keys, { now: this.context.clock.now(), by });
    const removed = await this.#delete(keys, [DELETE_FOUND_OF, DELETE_FOUND_ABOUT]);
    if (removed.length > 0) await this.settle(removed.map(({ other_key }) => other_key));
  }

  /**
   * Adds jobs that look for relations of completed memories, and updates the columns that follow from existing
   * relations.
   */
  async completed(keys: readonly bigint[], isReindexed: boolean): Promise<void> {
    const related = await this.session.all<{ key: bigint }>(ABOUT, { keys });
    if (related.length > 0)
      await this.settle(
        related.map(({ key }) => key),
        isReindexed,
      );
    await this.addJobs(keys, isReindexed);
  }

  /** Adds jobs that look for relations of completed memories. */
  async addJobs(keys: readonly bigint[], isBacklog: boolean): Promise<void> {
    if (keys.length === 0) return;
    await this.session.run(ADD_JOBS, { keys, isBacklog: BigInt(isBacklog), now: this.context.clock.now() });
    this.#wakeAfterCommit();
  }

  /**
   * Applies a changed setting `superseding` to all memories of a project. If it is on, adds jobs that look for
   * relations again.
   */
  async followSetting(projectKey: bigint, isOff: boolean): Promise<void> {
    const found = await this.session.all<{ key: bigint }>(FOUND_IN_PROJECT, { projectKey });
    for (let first = 0; first < found.length; first += FOLLOWING_MAX) {
      await this.settle(
        found.slice(first, first + FOLLOWING_MAX).map(({ key }) => key),
        true,
      );
    }
    if (isOff) return;
    await this.session.run(ADD_JOBS_OF_PROJECT, { projectKey, now: this.context.clock.now() });
    this.#wakeAfterCommit();
  }

  /** Reads the chains that lead from memories to those that supersede them. */
  async chainsFrom(keys: Iterable<bigint>, { asOf, knownAt }: SupersededAt = {}): Promise<Chains> {
    const rows: SupersedingRow[] = [];
    const seen = new Set(keys);
    for (let next = [...seen]; next.length > 0 && seen.size <= CHAIN_MAX; ) {
      const params = { keys: next, now: this.context.clock.now(), knownAt: knownAt ?? null };
      const found = await this.session.all<SupersedingRow>(knownAt === undefined ? NEWER : NEWER_THEN, params);
      const counting = asOf === undefined ? found : found.filter(({ happened_at }) => Number(happened_at) <= asOf);
      rows.push(...counting);
      next = [...new Set(counting.map(({ memory_key }) => memory_key))].filter((key) => !seen.has(key));
      for (const key of next) seen.add(key);
    }
    return new Chains(rows);
  }

  /**
   * Updates the columns that follow from relations, after relations of `changed` have changed: of these memories, and
   * of those that they supersede.
   * @param isSilent whether no event tells of memories that became superseded
   */
  async settle(changed: Iterable<bigint>, isSilent = false): Promise<void> {
    const following = new Set(changed);
    for (let next = [...following]; next.length > 0 && following.size <= FOLLOWING_MAX; ) {
      const older = await this.session.all<{ key: bigint }>(OLDER, { keys: next });
      next = older.map(({ key }) => key).filter((key) => !following.has(key));
      for (const key of next) following.add(key);
    }
    const chains = await this.chainsFrom(following);
    const before = await this.session.all<Marks>(MARKS, { keys: keysOf(following) });
    const updated: { readonly row: MemoryRow & { readonly project_id: ProjectId }; readonly isNew: boolean }[] = [];
    for (const marks of before) {
      const { memory_key: key, chunk_count, superseded_by } = marks;
      const { supersededBy: by, supersededPassages } = chains.of({ key, passages: Number(chunk_count) });
      const passages = supersededPassages === null ? null : JSON.stringify(supersededPassages);
      if (by === superseded_by && passages === marks.superseded_passages) continue;
      const row = await this.session.get<MemoryRow & { project_id: ProjectId }>(SET_MARKS, { key, by, passages });
      if (row !== null) updated.push({ row, isNew: superseded_by === null && by !== null });
    }
    for (const [projectKey, ofProject] of Map.groupBy(updated, ({ row }) => row.project_key)) {
      const told = isSilent ? [] : ofProject.filter(({ isNew }) => isNew);
      await this.#outbox.record(
        projectKey,
        "memory.superseded",
        told.map(({ row }) => toMemory(row)),
      );
    }
    this.#showAfterCommit(updated.map(({ row }) => row));
  }

  async #delete(
    keys: readonly bigint[],
    statements: readonly ((dialect: Dialect) => string)[],
  ): Promise<readonly Pair[]> {
    const removed: Pair[] = [];
    for (const statement of statements) removed.push(...(await this.session.all<Pair>(statement, { keys })));
    return removed;
  }

  #wakeAfterCommit(): void {
    const { onRelationJobs } = this.context;
    if (onRelationJobs !== undefined) this.session.afterCommit(onRelationJobs);
  }

  #showAfterCommit(rows: readonly (MemoryRow & { readonly project_id: ProjectId })[]): void {
    const { onSuperseded } = this.context;
    if (onSuperseded === undefined) return;
    const completed = rows.filter(({ status }) => status === "completed");
    for (const [projectId, ofProject] of Map.groupBy(completed, ({ project_id }) => project_id)) {
      const shown = ofProject.map((row) => toVisible(toMemory(row)));
      this.session.afterCommit(() => onSuperseded(projectId, shown));
    }
  }
}
