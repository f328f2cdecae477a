// Implements JobStore. The row of a memory in status `processing` is the job. It can be claimed from `claimable_at` on.
// `lease` is the number of the latest claim: only the worker with this number may finish the job.
//
// A claim takes no lock of a project and waits for nothing: it skips rows that other transactions have locked. So
// claims of many servers run at the same time, and none is held up by a server that is frozen in the middle of a
// transaction.

import { invariant } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { FailureCode } from "../domain/memory.ts";
import type { VisibleMemory } from "../ports/chunk-index.ts";
import {
  type ClaimOptions,
  type Completion,
  type ImportedVectors,
  type Job,
  type JobFilter,
  type JobStore,
  NO_WORK,
} from "../ports/job-store.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { CLAIMABLE, IS_JOB } from "./job-conditions.ts";
import { Outbox } from "./outbox.ts";
import { RelationRows } from "./relations/relation-rows.ts";
import {
  completedColumns,
  factsOf,
  hasStoredFacts,
  IMPORTED_VECTORS,
  type ImportedVectorsRow,
  importedVectors,
  toJob,
  toVisible,
} from "./rows/job.ts";
import { type MemoryRow, toMemory } from "./rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, PROJECT_KEY, TO_REINDEX, TO_RESTART } from "./rows/sql.ts";
import { type Bindings, lockProjects, type Session } from "./session.ts";

// The projects with jobs. Finds each of them with one index look-up, so that the cost depends neither on the number of
// waiting jobs nor on the number of projects without jobs.
const WAITING = ({ indexedBy }: Dialect) => {
  const first = `SELECT min(project_key) FROM memories ${indexedBy("memories_jobs")}
      WHERE status = 'processing' AND deleted_at IS NULL`;
  return `RECURSIVE waiting (project_key) AS (
    ${first}
    UNION ALL
    SELECT (${first} AND memories.project_key > waiting.project_key)
    FROM waiting WHERE waiting.project_key IS NOT NULL)`;
};
const OPEN = ({ isNotIn }: Dialect) => `projects.deleted_at IS NULL AND projects.id ${isNotIn("except", "text")}`;

// Round robin over projects: the one whose last claim was longest ago comes first
const NEXT_PROJECTS = (dialect: Dialect) => `WITH ${WAITING(dialect)}
  SELECT projects.project_key, projects.id
  FROM waiting JOIN projects USING (project_key) JOIN ${dialect.projectService} USING (project_key)
  WHERE ${OPEN(dialect)} AND EXISTS
    (SELECT 1 FROM memories WHERE memories.project_key = waiting.project_key AND ${CLAIMABLE(dialect)})
  ORDER BY project_service.served_lease, projects.project_key LIMIT $jobs`;

/** Condition for a job that is still held (see JobStore): no later claim, no newer version, and the memory is live. */
const HELD = `memories.memory_key = $key AND memories.lease = $lease AND memories.version = $version
  AND memories.status = 'processing' AND ${LIVE}`;

/**
 * Finds the rows of many jobs; a job is held if the row has its lease and version (`heldAmong`). Locks rows in the
 * order of keys, so that no two transactions wait for each other.
 */
const MAYBE_HELD = ({ isIn, forUpdate }: Dialect) => `FROM memories
  WHERE memories.memory_key ${isIn("keys")} AND memories.status = 'processing' AND ${LIVE}
  ORDER BY memories.memory_key ${forUpdate("memories")}`;
const LEASED_ROWS = (dialect: Dialect) => `SELECT ${MEMORY_COLUMNS}, memories.lease ${MAYBE_HELD(dialect)}`;

const RENEW = (dialect: Dialect) => `UPDATE memories SET claimable_at = $claimableAt
  WHERE memory_key IN (SELECT memories.memory_key ${MAYBE_HELD(dialect)}) AND lease ${dialect.isIn("leases")}
  RETURNING memory_key, lease, version`;

const RETRY_LATER = `UPDATE memories SET claimable_at = $claimableAt, lease = NULL WHERE ${HELD}`;

const UNCOUNT = `UPDATE memories SET attempts = attempts - 1 WHERE ${HELD}`;

const KEEP_FACTS = `INSERT INTO document_facts (memory_key, content_sha256, title, marks)
  SELECT memory_key, content_sha256, $title, $marks FROM memories WHERE memory_key = $key
  ON CONFLICT (memory_key) DO UPDATE SET content_sha256 = excluded.content_sha256, title = excluded.title,
    marks = excluded.marks`;

const FACTS = ({ isIn }: Dialect) => `SELECT memory_key, document_facts.title, marks
  FROM document_facts JOIN memories USING (memory_key, content_sha256) WHERE memory_key ${isIn("keys")}`;

const PUBLISHED = ({ isIn }: Dialect) => `SELECT ${MEMORY_COLUMNS} FROM memories
  WHERE memory_key ${isIn("keys")} AND +project_key = ${PROJECT_KEY} ORDER BY memory_key`;

const FAIL = `UPDATE memories SET status = 'failed', error_code = $code, error_message = $message, lease = NULL,
    updated_at = $now, is_reindexed = 0
  WHERE ${HELD} RETURNING ${MEMORY_COLUMNS}`;

const PROJECTS_OF = ({ isIn }: Dialect) => `SELECT DISTINCT projects.id
  FROM memories JOIN projects USING (project_key) WHERE memory_key ${isIn("keys")}`;
const REOPEN = ({ isIn }: Dialect) => `UPDATE memories SET ${TO_REINDEX}
  WHERE memory_key ${isIn("keys")} AND status = 'completed' AND ${LIVE}`;

const RESTART = ({ isIn }: Dialect) => `UPDATE memories SET ${TO_RESTART}
  WHERE memory_key ${isIn("keys")} AND status = 'processing' AND ${LIVE}`;

const LEASED = ({ leasedHere }: Dialect) => `status = 'processing' AND lease IS NOT NULL AND ${leasedHere}`;
const LEASED_PROJECTS = (dialect: Dialect) => `SELECT DISTINCT projects.id
  FROM memories JOIN projects USING (project_key) WHERE ${LEASED(dialect)}`;
const VOID_LEASES = (dialect: Dialect) => `UPDATE memories SET lease = NULL, claimable_at = $now
  WHERE ${LEASED(dialect)}`;

const NEXT_CLAIMABLE_AT = (dialect: Dialect) => `WITH ${WAITING(dialect)}
  SELECT min(next.claimable_at) AS at FROM (
    SELECT (SELECT memories.claimable_at FROM memories
      WHERE memories.project_key = waiting.project_key AND ${IS_JOB(dialect)}
      ORDER BY memories.claimable_at LIMIT 1) AS claimable_at
    FROM waiting JOIN projects USING (project_key) WHERE ${OPEN(dialect)}) AS next`;

type NextProject = { readonly project_key: bigint; readonly id: ProjectId };
type NextJob = { readonly project_key: bigint; readonly memory_key: bigint; readonly content_bytes: bigint };
type LeaseColumns = { readonly memory_key: bigint; readonly lease: bigint | null; readonly version: bigint };
type Facts = { readonly memory_key: bigint; readonly title: string | null; readonly marks: string };

/** Ingestion jobs. */
export class StoredJobs implements JobStore {
  readonly #outbox: Outbox;
  readonly #relations: RelationRows;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {
    this.#outbox = new Outbox(session, context);
    this.#relations = new RelationRows(session, context);
  }

  /**
   * Stops before the first job that would exceed `contentBytes`, so that no job is skipped. Looks for projects outside
   * of a transaction, because usually none has a job; whether a job is still waiting is decided when its row is locked.
   */
  async claim(options: ClaimOptions): Promise<readonly Job[]> {
    invariant(options.leaseMs > 0, `a lease of ${options.leaseMs} ms was requested`);
    const now = this.#now;
    const params = { ...filterValues(options), now };
    const projects = await this.session.lookUp<NextProject>(NEXT_PROJECTS, { ...params, jobs: options.jobs });
    if (projects.length === 0) return [];
    const next = await this.#nextJobs(projects, options, params);
    if (next.length === 0) return [];
    const jobs = await this.#lease(next, projects, now + options.leaseMs);
    const served = new Map(jobs.map(({ projectId, lease }) => [projectId, lease])); // the last lease of each project
    const ofServed = projects.filter(({ id }) => served.has(id));
    await this.session.run(this.context.engine.serveProjects, {
      project_key: ofServed.map(({ project_key }) => project_key),
      lease: ofServed.map(({ id }) => BigInt(served.get(id) ?? 0)),
    });
    return jobs;
  }

  /** Ends the leases of this node. Jobs that wait for their next attempt have none, so they do not change. */
  async voidLeases(): Promise<void> {
    const node = this.context.nodeId;
    await lockProjects(this.session, LEASED_PROJECTS, { node });
    await this.session.run(VOID_LEASES, { now: this.#now, node });
  }

  async renew(jobs: readonly Job[], leaseMs: number): Promise<readonly Job[]> {
    if (jobs.length === 0) return [];
    const leases = jobs.map(({ lease }) => BigInt(lease));
    const params = { keys: keysOf(jobs), leases, now: this.#now, claimableAt: this.#now + leaseMs };
    const held = heldAmong(jobs, await this.session.all<LeaseColumns>(RENEW, params));
    return jobs.filter((job) => held.has(job));
  }

  async retryLater(job: Job, delayMs: number, isCounted = true): Promise<void> {
    if (!isCounted) await this.session.run(UNCOUNT, this.#held(job));
    await this.session.run(RETRY_LATER, { ...this.#held(job), claimableAt: this.#now + delayMs });
  }

  async importedVectors(key: MemoryKey): Promise<ImportedVectors | null> {
    return importedVectors(await this.session.all<ImportedVectorsRow>(IMPORTED_VECTORS, { key }));
  }

  async complete(completions: readonly Completion[]): Promise<readonly VisibleMemory[]> {
    if (completions.length === 0) return [];
    const now = this.#now;
    // uses the attributes of the rows and not of the jobs, because a caller may have changed some since the claim
    const jobs = completions.map(({ job }) => job);
    const params = { keys: keysOf(jobs), now };
    const rows = heldAmong(jobs, await this.session.all<LeaseColumns & MemoryRow>(LEASED_ROWS, params));
    const ended = completions.flatMap((completion) => {
      const row = rows.get(completion.job);
      return row === undefined ? [] : { row, completion, columns: completedColumns(row, completion, now) };
    });
    if (ended.length === 0) return [];
    const completed = await this.context.engine.completeMemories(this.session, ended);
    const done = new Map(completed.map((row) => [row.memory_key, row]));
    const results = ended.map(({ row: before, completion: { read } }) => {
      const row = done.get(before.memory_key);
      invariant(row !== undefined, `memory ${before.id} vanished within its own completion`);
      return { row, read, memory: toMemory(row), isReindexed: before.is_reindexed === 1n };
    });
    for (const { row, read } of results) {
      if (read === undefined) continue;
      const { title, marks } = read;
      await this.session.run(KEEP_FACTS, { key: row.memory_key, title, marks: JSON.stringify(marks) });
    }
    for (const [isReindexed, of] of Map.groupBy(results, (result) => result.isReindexed)) {
      await this.#relations.completed(
        of.map(({ row }) => row.memory_key),
        isReindexed,
      );
    }
    const events = results.filter(({ isReindexed }) => !isReindexed);
    for (const [projectKey, ofProject] of Map.groupBy(events, ({ row }) => row.project_key)) {
      const memories = ofProject.map(({ memory }) => memory);
      await this.#outbox.record(projectKey, "memory.completed", memories);
    }
    return results.map(({ memory }) => toVisible(memory));
  }

  /** Marks the memory as failed. Keeps its content, so that it can be retried. */
  async fail(job: Job, code: FailureCode, message: string): Promise<boolean> {
    const row = await this.session.get<MemoryRow>(FAIL, { ...this.#held(job), code, message });
    if (row !== null) await this.#outbox.record(row.project_key, "memory.failed", [toMemory(row)]);
    return row !== null;
  }

  /**
   * Puts completed memories back to `processing` as new versions, so that remains of the lost index entries cannot be
   * taken for theirs.
   */
  async reopen(keys: readonly MemoryKey[]): Promise<void> {
    await lockProjects(this.session, PROJECTS_OF, { keys });
    await this.session.run(REOPEN, { keys, now: this.#now });
  }

  async restart(keys: readonly MemoryKey[]): Promise<void> {
    await lockProjects(this.session, PROJECTS_OF, { keys });
    await this.session.run(RESTART, { keys, now: this.#now });
  }

  async published(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<readonly Job[]> {
    const rows = await this.session.all<MemoryRow>(PUBLISHED, { project: projectId, keys });
    const facts = await this.#factsOf(rows.map(({ memory_key }) => memory_key));
    return rows.map((row) => ({
      ...NO_WORK,
      projectId,
      memory: toMemory(row),
      facts: factsOf(facts.get(row.memory_key) ?? null),
    }));
  }

  async nextJobInMs(filter: JobFilter = {}): Promise<number | null> {
    const now = this.#now;
    const next = await this.session.get<{ at: bigint | null }>(NEXT_CLAIMABLE_AT, { ...filterValues(filter), now });
    return next === null || next.at === null ? null : Math.max(0, Number(next.at) - now);
  }

  async reserveChunkKeys(count: number): Promise<bigint> {
    invariant(Number.isSafeInteger(count) && count >= 0, `${count} chunk keys were requested`);
    const reserved = await this.session.get<{ first: bigint }>(this.context.engine.reserveChunkKeys, { count });
    invariant(reserved !== null, "the counter of chunk keys is missing");
    return reserved.first;
  }

  /** Locks the next jobs: each project in turn gives one, until it has none. */
  async #nextJobs(
    projects: readonly NextProject[],
    options: ClaimOptions,
    params: Bindings,
  ): Promise<readonly bigint[]> {
    const keys: bigint[] = [];
    let bytesLeft = options.contentBytes;
    for (let waiting = projects.map(({ project_key }) => project_key); waiting.length > 0; ) {
      const left = options.jobs - keys.length;
      const share = Math.max(1, Math.floor(left / waiting.length));
      const found = await this.session.all<NextJob>(this.context.engine.nextJobs, {
        ...params,
        projectKeys: waiting,
        share,
        chosen: keys,
      });
      const byProject = Map.groupBy(found, (row) => row.project_key);
      for (let turn = 0; turn < share; turn++) {
        for (const project of waiting) {
          const next = byProject.get(project)?.[turn];
          if (next === undefined) continue;
          bytesLeft -= Number(next.content_bytes);
          if (keys.length === options.jobs || (bytesLeft < 0 && keys.length > 0)) return keys;
          keys.push(next.memory_key);
        }
      }
      waiting = waiting.filter((project) => byProject.get(project)?.length === share);
      if (keys.length === options.jobs) break;
    }
    return keys;
  }

  /** Gives these memories leases, in their order. Leaves out those that were removed with their project meanwhile. */
  async #lease(
    keys: readonly bigint[],
    projects: readonly NextProject[],
    claimableAt: number,
  ): Promise<readonly Job[]> {
    const { engine, nodeId: node } = this.context;
    const rows = await engine.leaseJobs(this.session, keys, { claimableAt, node });
    const claimed = new Map(rows.map((row) => [row.memory_key, row]));
    const projectIds = new Map(projects.map(({ project_key, id }) => [project_key, id]));
    const withFacts = rows.filter(hasStoredFacts).map(({ memory_key }) => memory_key);
    const facts = withFacts.length === 0 ? new Map<bigint, Facts>() : await this.#factsOf(withFacts);
    return keys.flatMap((key) => {
      const row = claimed.get(key);
      if (row === undefined) return [];
      const projectId = projectIds.get(row.project_key);
      invariant(projectId !== undefined, "a job's project is one of those it was chosen from");
      return [toJob(row, { projectId, lease: Number(row.lease), facts: factsOf(facts.get(key) ?? null) })];
    });
  }

  async #factsOf(keys: readonly bigint[]): Promise<ReadonlyMap<bigint, Facts>> {
    const rows = await this.session.all<Facts>(FACTS, { keys });
    return new Map(rows.map((row) => [row.memory_key, row]));
  }

  #held({ memory: { key, version }, lease }: Job) {
    return { key, lease, version, now: this.#now } satisfies Bindings;
  }

  get #now(): number {
    return this.context.clock.now();
  }
}

function filterValues({
  except = [],
  textBytesMax = Number.MAX_SAFE_INTEGER,
  withoutParts = false,
}: JobFilter): Bindings {
  return { except, textBytesMax, partsMax: withoutParts ? 0 : 1 };
}

function keysOf(jobs: readonly Job[]): readonly bigint[] {
  return jobs.map(({ memory }) => memory.key);
}

/** The rows of those jobs that are held: the row has the job's lease and version. */
function heldAmong<Row extends LeaseColumns>(jobs: readonly Job[], found: readonly Row[]): ReadonlyMap<Job, Row> {
  const rows = new Map(found.map((row) => [row.memory_key, row]));
  const held = new Map<Job, Row>();
  for (const job of jobs) {
    const row = rows.get(job.memory.key);
    if (row?.lease === BigInt(job.lease) && row.version === BigInt(job.memory.version)) held.set(job, row);
  }
  return held;
}
