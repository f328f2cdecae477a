// Implements RelationStore. A relation is one row: `memory_key` supersedes, refines or duplicates `other_key`, or, with
// the kind `none`, has no relation to it. relation-rows.ts has its consequences for memories. A job is one row; each
// claim increases its number of attempts, so that the result of an earlier claim is refused.

import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Superseding } from "../../domain/project.ts";
import {
  FOUND_RELATIONS_MAX,
  type FoundRelation,
  REVERSED,
  type Relation,
  type RelationKind,
  type RelationMaker,
  type RelationState,
  type RelationType,
  SHOWN_RELATIONS_MAX,
} from "../../domain/relation.ts";
import type {
  EndedJob,
  RelationClaim,
  RelationJob,
  RelationStore,
  SupersededAt,
  Supersession,
} from "../../ports/relation-store.ts";
import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import { EarlierRows } from "../history/earlier-rows.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, PROJECT_KEY } from "../rows/sql.ts";
import type { Bindings, Session } from "../session.ts";
import { RELATIONS_THEN, RelationRows } from "./relation-rows.ts";
import { relationOf, type ShownRow } from "./relation-view.ts";

const shown = (
  table: string,
) => `SELECT relations.kind, relations.state, relations.made_by, relations.confidence, relations.evidence,
    relations.created_at, memories.id AS other_id,
    CAST(CASE WHEN relations.memory_key = $key THEN 1 ELSE 0 END AS bigint) AS is_own
  FROM ${table} AS relations JOIN memories
    ON memories.memory_key = CASE WHEN relations.memory_key = $key THEN relations.other_key ELSE relations.memory_key END
  WHERE (relations.memory_key = $key OR relations.other_key = $key) AND relations.project_key = ${PROJECT_KEY}
    AND relations.kind <> 'none' AND ${LIVE}
  ORDER BY relations.created_at DESC, relations.relation_key DESC LIMIT $rows`;
const SHOWN = shown("relations");
const SHOWN_THEN = shown(RELATIONS_THEN);
const PASSAGES = ({ isIn }: Dialect) => `SELECT memory_key, coalesce((SELECT passages FROM earlier_texts
      WHERE earlier_texts.memory_key = memories.memory_key AND since <= $knownAt AND until > $knownAt), chunk_count)
    AS passages
  FROM memories WHERE memory_key ${isIn("keys")}`;

const BETWEEN = "((memory_key = $own AND other_key = $other) OR (memory_key = $other AND other_key = $own))";
const REPLACE = `DELETE FROM relations WHERE ${BETWEEN}`;
const FORGET = `DELETE FROM relations WHERE ${BETWEEN} AND made_by = 'person' RETURNING 1 AS n`;
const INSERT = `INSERT INTO relations (project_key, memory_key, other_key, kind, state, made_by, set_by, confidence,
    own_passage, other_passage, evidence, created_at)
  VALUES ((SELECT project_key FROM memories WHERE memory_key = $own), $own, $other, $kind, $state, $by, $setBy,
    $confidence, $ownPassage, $otherPassage, $evidence, $now)
  ON CONFLICT DO NOTHING`;

const NEXT = ({ forUpdateSkipLocked }: Dialect) => `SELECT relation_jobs.memory_key FROM relation_jobs
  WHERE relation_jobs.claimable_at <= $now AND relation_jobs.is_backlog <= $backlog
  ORDER BY relation_jobs.is_backlog, relation_jobs.claimable_at, relation_jobs.memory_key
  LIMIT $limit ${forUpdateSkipLocked("relation_jobs")}`;
const LEASE = ({ isIn }: Dialect) => `UPDATE relation_jobs SET attempts = attempts + 1, claimable_at = $until,
    leased_by = $node
  WHERE memory_key ${isIn("keys")} RETURNING memory_key, attempts, is_backlog`;
const CLAIMED = ({ isIn, json }: Dialect) => `SELECT ${MEMORY_COLUMNS}, projects.id AS project_id,
    coalesce(${json("projects.settings")} ->> 'superseding', 'on') AS superseding
  FROM memories JOIN projects ON projects.project_key = memories.project_key AND projects.deleted_at IS NULL
  WHERE memories.memory_key ${isIn("keys")} AND memories.status = 'completed' AND ${LIVE}`;
const END_JOBS = ({ isIn }: Dialect) => `DELETE FROM relation_jobs WHERE memory_key ${isIn("keys")}`;
const VOID_LEASES = "UPDATE relation_jobs SET claimable_at = 0 WHERE leased_by = $node";
const HELD = ({ forUpdate }: Dialect) => `SELECT relation_jobs.attempts FROM relation_jobs
  WHERE relation_jobs.memory_key = $key ${forUpdate("relation_jobs")}`;
const END_JOB = "DELETE FROM relation_jobs WHERE memory_key = $key AND attempts = $attempt";
const END_MANY = ({ rows }: Dialect) => `DELETE FROM relation_jobs WHERE EXISTS (
    SELECT 1 FROM ${rows({ key: "bigint", attempt: "bigint" })}
    WHERE given.key = relation_jobs.memory_key AND given.attempt = relation_jobs.attempts)`;
const LATER = "UPDATE relation_jobs SET claimable_at = $at WHERE memory_key = $key AND attempts = $attempt";
const WAITING = "SELECT count(*) AS n FROM relation_jobs";

const PERSONS = `SELECT memory_key, other_key FROM relations
  WHERE (memory_key = $key OR other_key = $key) AND made_by = 'person'`;
const FOUND_COUNTS = ({ isIn }: Dialect) => `SELECT key, count(*) AS n FROM (
    SELECT memory_key AS key FROM relations WHERE memory_key ${isIn("keys")} AND made_by <> 'person'
    UNION ALL
    SELECT other_key AS key FROM relations WHERE other_key ${isIn("keys")} AND made_by <> 'person') AS counted
  GROUP BY key`;

type ClaimedRow = MemoryRow & { readonly project_id: string; readonly superseding: Superseding };
type LeasedRow = { readonly memory_key: bigint; readonly attempts: bigint; readonly is_backlog: bigint };

/** Relations of memories, and the jobs that find them. */
export class StoredRelations implements RelationStore {
  readonly #rows: RelationRows;
  readonly #earlier: EarlierRows;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {
    this.#rows = new RelationRows(session, context);
    this.#earlier = new EarlierRows(session);
  }

  async of(projectId: ProjectId, key: MemoryKey, knownAt?: number): Promise<readonly Relation[]> {
    const params = { project: projectId, key, now: this.#now, rows: SHOWN_RELATIONS_MAX };
    const rows =
      knownAt === undefined
        ? await this.session.all<ShownRow>(SHOWN, params)
        : await this.session.all<ShownRow>(SHOWN_THEN, { ...params, knownAt });
    return rows.map(relationOf);
  }

  async set(
    _projectId: ProjectId,
    own: MemoryKey,
    other: MemoryKey,
    type: RelationType | "none",
    setBy: string | null = null,
  ): Promise<boolean> {
    const isReversed = type === "superseded_by" || type === "refined_by";
    const kind: RelationKind = isReversed ? (REVERSED[type] as RelationKind) : (type as RelationKind);
    const [from, to] = isReversed ? [other, own] : [own, other];
    await this.#earlier.keepRelationsBetween(own, other, { now: this.#now, by: setBy });
    await this.session.run(REPLACE, { own, other });
    if (kind === "supersedes" && (await this.#rows.chainsFrom([from])).leadsFrom(from, to)) {
      return false; // the caller undoes its transaction
    }
    await this.#insert({ own: from, other: to, kind, state: "active", by: "person", setBy });
    await this.#rows.settle([own, other]);
    return true;
  }

  async forget(_projectId: ProjectId, own: MemoryKey, other: MemoryKey, by: string | null = null): Promise<boolean> {
    await this.#earlier.keepSaidRelationsBetween(own, other, { now: this.#now, by });
    const forgotten = await this.session.all(FORGET, { own, other });
    if (forgotten.length === 0) return false;
    await this.#rows.settle([own, other]);
    await this.#rows.addJobs([own, other], false);
    return true;
  }

  async supersededAt(
    _projectId: ProjectId,
    keys: readonly MemoryKey[],
    at: SupersededAt,
  ): Promise<ReadonlyMap<MemoryKey, Supersession>> {
    const chains = await this.#rows.chainsFrom(keys, at);
    const params = { keys, knownAt: at.knownAt ?? null };
    const rows = await this.session.all<{ memory_key: bigint; passages: bigint }>(PASSAGES, params);
    return new Map(
      rows.map(({ memory_key: key, passages }) => [key as MemoryKey, chains.of({ key, passages: Number(passages) })]),
    );
  }

  async claim({ limit, leaseMs, skipsBacklog }: RelationClaim): Promise<readonly RelationJob[]> {
    const now = this.#now;
    const params = { now, backlog: Number(!skipsBacklog), limit };
    const next = await this.session.all<{ memory_key: bigint }>(NEXT, params);
    if (next.length === 0) return [];
    const keys = next.map(({ memory_key }) => memory_key);
    const until = now + leaseMs;
    const leased = await this.session.all<LeasedRow>(LEASE, { keys, until, node: this.context.nodeId });
    const rows = await this.session.all<ClaimedRow>(CLAIMED, { keys, now });
    const found = new Map(rows.map((row) => [row.memory_key, row]));
    // memories whose content has changed since: they are completed again, which adds a new job
    const gone = keys.filter((key) => !found.has(key));
    if (gone.length > 0) await this.session.run(END_JOBS, { keys: gone });
    const leases = new Map(leased.map((lease) => [lease.memory_key, lease]));
    return keys.flatMap((key) => {
      const [row, lease] = [found.get(key), leases.get(key)];
      if (row === undefined || lease === undefined) return [];
      return {
        projectId: row.project_id as ProjectId,
        memory: toMemory(row),
        superseding: row.superseding,
        attempt: Number(lease.attempts),
        isBacklog: lease.is_backlog === 1n,
      };
    });
  }

  async voidLeases(): Promise<void> {
    await this.session.run(VOID_LEASES, { node: this.context.nodeId });
  }

  async finish(ended: readonly EndedJob[]): Promise<void> {
    const idle = ended.filter(({ found }) => found.length === 0);
    const jobs = {
      key: idle.map(({ job }) => job.memory.key),
      attempt: idle.map(({ job }) => BigInt(job.attempt)),
    };
    if (idle.length > 0) await this.session.run(END_MANY, jobs);
    for (const { job, found } of ended) if (found.length > 0) await this.#end(job, found);
  }

  async #end(job: RelationJob, found: readonly FoundRelation[]): Promise<void> {
    const { memory, attempt } = job;
    const held = await this.session.get<{ attempts: bigint }>(HELD, { key: memory.key });
    if (held === null || Number(held.attempts) !== attempt) return;
    await this.session.run(END_JOB, { key: memory.key, attempt });
    const storable = await this.#storable(job, found);
    const superseded: bigint[] = [];
    for (const { relation, state } of storable) {
      const { kind, key: own, otherKey: other, by, confidence, evidence } = relation;
      await this.#insert({
        ...{ own, other, kind, state, by, confidence: Math.round(confidence * 1_000) },
        ...{ ownPassage: relation.ownPassage, otherPassage: relation.otherPassage, evidence: JSON.stringify(evidence) },
      });
      if (kind === "supersedes" && state === "active") superseded.push(other);
    }
    if (superseded.length > 0) await this.#rows.settle(superseded, job.isBacklog);
  }

  async retryLater({ memory, attempt }: RelationJob, delayMs: number): Promise<void> {
    await this.session.run(LATER, { key: memory.key, attempt, at: this.#now + delayMs });
  }

  async waiting(): Promise<number> {
    return Number((await this.session.get<{ n: bigint }>(WAITING))?.n ?? 0n);
  }

  /**
   * The relations that can be stored: the project still wants relations, both memories are as they were when they were
   * compared, no person has set a relation between them, neither has too many, and no circle closes.
   */
  async #storable({ memory }: RelationJob, found: readonly FoundRelation[]) {
    const keys = [...new Set(found.flatMap(({ key, otherKey }) => [key, otherKey])), memory.key];
    const rows = await this.session.all<ClaimedRow>(CLAIMED, { keys, now: this.#now });
    const current = new Map(rows.map((row) => [row.memory_key, row]));
    const own = current.get(memory.key);
    if (own === undefined || Number(own.version) !== memory.version || own.superseding === "off") return [];
    const state: RelationState = own.superseding === "suggest" ? "suggested" : "active";
    const isCurrent = (key: MemoryKey, version: number) => {
      const row = current.get(key);
      if (row === undefined || Number(row.version) !== version) return false;
      return row.user_key === own.user_key && row.agent_id === own.agent_id;
    };
    const said = await this.session.all<{ memory_key: bigint; other_key: bigint }>(PERSONS, { key: memory.key });
    const decided = new Set(said.flatMap(({ memory_key, other_key }) => [memory_key, other_key]));
    decided.delete(memory.key);
    const counted = await this.session.all<{ key: bigint; n: bigint }>(FOUND_COUNTS, { keys });
    const counts = new Map(counted.map(({ key, n }) => [key, Number(n)]));
    const chains = await this.#rows.chainsFrom(keys);
    const stored: { readonly relation: FoundRelation; readonly state: RelationState }[] = [];
    for (const relation of found) {
      const { key, otherKey, versions, kind } = relation;
      const pair = [key, otherKey];
      if (pair.some((each) => decided.has(each) || (counts.get(each) ?? 0) >= FOUND_RELATIONS_MAX)) continue;
      if (!isCurrent(key, versions.own) || !isCurrent(otherKey, versions.other)) continue;
      if (kind === "supersedes" && chains.leadsFrom(key, otherKey)) continue;
      for (const each of pair) counts.set(each, (counts.get(each) ?? 0) + 1);
      stored.push({ relation, state });
    }
    return stored;
  }

  #insert(values: {
    readonly own: bigint;
    readonly other: bigint;
    readonly kind: RelationKind;
    readonly state: RelationState;
    readonly by: RelationMaker;
    readonly setBy?: string | null;
    readonly confidence?: number;
    readonly ownPassage?: number;
    readonly otherPassage?: number;
    readonly evidence?: string;
  }): Promise<number> {
    return this.session.run(INSERT, { ...(values as Bindings), now: this.#now });
  }

  get #now(): number {
    return this.context.clock.now();
  }
}
