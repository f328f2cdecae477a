// JobStore on PostgreSQL. The row of a memory in status `processing` is the job. It can be claimed from `claimable_at`
// on. `lease` is the fencing token of the latest claim.
//
// A claim takes no lock of a project and waits for nothing: it skips rows that other transactions have locked. So
// claims of many servers run at the same time, and none is held up by a server that is frozen in the middle of a
// transaction.

import { invariant } from "../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { FailureCode } from "../../domain/memory.ts";
import type { VisibleMemory } from "../../ports/chunk-index.ts";
import {
  type ClaimOptions,
  type Completion,
  type Job,
  type JobFilter,
  type JobStore,
  NO_WORK,
} from "../../ports/job-store.ts";
import { type ClaimedRow, completedColumns, factsOf, hasStoredFacts, toJob, toVisible } from "../rows/job.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, PROJECT_KEY, TO_REINDEX } from "../rows/sql.ts";
import { putTags, sourceColumns } from "./memory-sql.ts";
import type { PostgresOutbox } from "./outbox.ts";
import { type Bindings, lockProjects, type Session } from "./session.ts";
import type { StoreContext } from "./store-context.ts";

// Before a file is read, the size of its text is known only if it is a plain-text file.
const SHORT_ENOUGH = `(memories.content_bytes <= $textBytesMax OR (memories.file IS NOT NULL
    AND memories.media_type NOT LIKE 'text/%' AND memories.media_type <> 'application/json'))`;
const IS_JOB = `memories.status = 'processing' AND ${LIVE} AND ${SHORT_ENOUGH}`;
const CLAIMABLE = `${IS_JOB} AND memories.claimable_at <= $now`;

// The projects with jobs. Finds each of them with one index look-up, so that the cost depends neither on the number of
// waiting jobs nor on the number of projects without jobs.
const WAITING = `RECURSIVE waiting (project_key) AS (
    SELECT min(project_key) FROM memories WHERE status = 'processing' AND deleted_at IS NULL
    UNION ALL
    SELECT (SELECT min(memories.project_key) FROM memories
      WHERE status = 'processing' AND deleted_at IS NULL AND memories.project_key > waiting.project_key)
    FROM waiting WHERE waiting.project_key IS NOT NULL)`;
const OPEN = "projects.deleted_at IS NULL AND projects.id <> ALL($except::text[])";

// Round robin over projects: the one whose last claim was longest ago comes first
const NEXT_PROJECTS = `WITH ${WAITING}
  SELECT projects.project_key, projects.id
  FROM waiting JOIN projects USING (project_key) JOIN project_service USING (project_key)
  WHERE ${OPEN} AND EXISTS
    (SELECT 1 FROM memories WHERE memories.project_key = waiting.project_key AND ${CLAIMABLE})
  ORDER BY project_service.served_lease, projects.project_key LIMIT $jobs`;

const NEXT_JOB = `SELECT memory_key, content_bytes FROM memories WHERE project_key = $projectKey AND ${CLAIMABLE}
  ORDER BY claimable_at, memory_key LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`;

// the token is taken while the row is locked, so it is larger than that of every earlier claim of this row
const CLAIM = `UPDATE memories SET lease = nextval('lease_tokens'), leased_by = $node, claimable_at = $claimableAt,
    attempts = attempts + 1
  WHERE memory_key = $key
  RETURNING ${MEMORY_COLUMNS}, memories.content_sha256, memories.lease,
    (SELECT content FROM waiting_contents WHERE waiting_contents.memory_key = memories.memory_key) AS content`;

// Skips a row that another claim has locked: that claim also serves this project and moves it to the end of the order.
const SERVE = `UPDATE project_service SET served_lease = greatest(served_lease, $lease)
  WHERE project_key IN (SELECT project_key FROM project_service WHERE project_key = $projectKey
    FOR NO KEY UPDATE SKIP LOCKED)`;

/** Condition for a job that is still held (see JobStore): no later claim, no newer version, and the memory is live. */
const HELD = `memories.memory_key = $key AND memories.lease = $lease AND memories.version = $version
  AND memories.status = 'processing' AND ${LIVE}`;

const FIND_HELD = `SELECT ${MEMORY_COLUMNS} FROM memories WHERE ${HELD} FOR NO KEY UPDATE OF memories`;

const SET_CLAIMABLE = `UPDATE memories SET claimable_at = $claimableAt, lease = $newLease WHERE ${HELD}`;

const UNCOUNT = `UPDATE memories SET attempts = attempts - 1 WHERE ${HELD}`;

const COMPLETE = `UPDATE memories SET status = 'completed', title = $title, title_folded = $titleFolded, type = $type,
    tags = $tags, language = $language, extraction = $extraction, chunk_count = $chunkCount,
    content_bytes = $contentBytes, source = $source, file = $file, media_type = $mediaType, lease = NULL,
    updated_at = $updatedAt, is_reindexed = 0
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const REMOVE_CONTENT = "DELETE FROM waiting_contents WHERE memory_key = $key";

const KEEP_FACTS = `INSERT INTO document_facts (memory_key, content_sha256, title, marks)
  SELECT memory_key, content_sha256, $title, $marks FROM memories WHERE memory_key = $key
  ON CONFLICT (memory_key) DO UPDATE SET content_sha256 = excluded.content_sha256, title = excluded.title,
    marks = excluded.marks`;

const FACTS = `SELECT memory_key, document_facts.title, marks
  FROM document_facts JOIN memories USING (memory_key, content_sha256) WHERE memory_key = ANY($keys::bigint[])`;

const PUBLISHED = `SELECT ${MEMORY_COLUMNS} FROM memories
  WHERE memory_key = ANY($keys::bigint[]) AND project_key = ${PROJECT_KEY} ORDER BY memory_key`;

const FAIL = `UPDATE memories SET status = 'failed', error_code = $code, error_message = $message, lease = NULL,
    updated_at = $now, is_reindexed = 0
  WHERE ${HELD} RETURNING ${MEMORY_COLUMNS}`;

const PROJECTS_OF = `SELECT DISTINCT projects.id FROM memories JOIN projects USING (project_key)
  WHERE memory_key = ANY($keys::bigint[])`;
const REOPEN = `UPDATE memories SET ${TO_REINDEX}
  WHERE memory_key = ANY($keys::bigint[]) AND status = 'completed' AND ${LIVE}`;

const LEASED_PROJECTS = `SELECT DISTINCT projects.id FROM memories JOIN projects USING (project_key)
  WHERE status = 'processing' AND lease IS NOT NULL AND leased_by = $node`;
const VOID_LEASES = `UPDATE memories SET lease = NULL, claimable_at = $now
  WHERE status = 'processing' AND lease IS NOT NULL AND leased_by = $node`;

const NEXT_CLAIMABLE_AT = `WITH ${WAITING}
  SELECT min(next.claimable_at) AS at
  FROM waiting JOIN projects USING (project_key) CROSS JOIN LATERAL
    (SELECT claimable_at FROM memories WHERE memories.project_key = waiting.project_key AND ${IS_JOB}
      ORDER BY claimable_at LIMIT 1) AS next
  WHERE ${OPEN}`;

const RESERVE_CHUNK_KEYS = "UPDATE chunk_keys SET next = next + $count RETURNING next - $count AS first";

type Facts = { readonly memory_key: bigint; readonly title: string | null; readonly marks: string };

/** JobStore on PostgreSQL. */
export class PostgresJobStore implements JobStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    private readonly outbox: PostgresOutbox,
  ) {}

  /** Stops before the first job that would exceed `contentBytes`, so that no job is skipped. */
  async claim(options: ClaimOptions): Promise<readonly Job[]> {
    invariant(options.leaseMs > 0, `a lease of ${options.leaseMs} ms was requested`);
    const now = this.#now;
    const params = { ...filterValues(options), now };
    type NextProject = { readonly project_key: bigint; readonly id: string };
    const projects = await this.session.all<NextProject>(NEXT_PROJECTS, { ...params, jobs: options.jobs });
    const served = new Map<bigint, number>();
    const jobs: Job[] = [];
    let bytesLeft = options.contentBytes;
    // each project in turn gives one job, until it has none
    for (const waiting = [...projects]; jobs.length < options.jobs; ) {
      const project = waiting.shift();
      if (project === undefined) break;
      const projectKey = project.project_key;
      type NextJob = { readonly memory_key: bigint; readonly content_bytes: bigint };
      const next = await this.session.get<NextJob>(NEXT_JOB, { ...params, projectKey });
      if (next === null) continue;
      bytesLeft -= Number(next.content_bytes);
      if (bytesLeft < 0 && jobs.length > 0) break;
      const job = await this.#lease(next.memory_key, project.id as ProjectId, now + options.leaseMs);
      jobs.push(job);
      served.set(projectKey, job.lease);
      waiting.push(project);
    }
    for (const [projectKey, lease] of served) await this.session.run(SERVE, { projectKey, lease });
    return jobs;
  }

  /** Jobs that wait for their next attempt have no lease, so they do not change. */
  async voidLeases(): Promise<void> {
    const node = this.context.nodeId;
    await lockProjects(this.session, LEASED_PROJECTS, { node });
    await this.session.run(VOID_LEASES, { now: this.#now, node });
  }

  async renew(jobs: readonly Job[], leaseMs: number): Promise<readonly Job[]> {
    const held: Job[] = [];
    for (const job of jobs) if (await this.#setClaimable(job, this.#now + leaseMs, job.lease)) held.push(job);
    return held;
  }

  async retryLater(job: Job, delayMs: number, isCounted = true): Promise<void> {
    if (!isCounted) await this.session.run(UNCOUNT, this.#held(job));
    await this.#setClaimable(job, this.#now + delayMs, null);
  }

  async complete(completions: readonly Completion[]): Promise<readonly VisibleMemory[]> {
    const visible: VisibleMemory[] = [];
    for (const completion of completions) {
      const memory = await this.#completeOne(completion);
      if (memory !== null) visible.push(memory);
    }
    return visible;
  }

  /** Keeps the content, so that the memory can be retried. */
  async fail(job: Job, code: FailureCode, message: string): Promise<boolean> {
    const row = await this.session.get<MemoryRow>(FAIL, { ...this.#held(job), code, message });
    if (row !== null) await this.outbox.record(row.project_key, "memory.failed", toMemory(row));
    return row !== null;
  }

  /** Starts a new version, so that it cannot be confused with what is left of the lost version. */
  async reopen(keys: readonly MemoryKey[]): Promise<void> {
    await lockProjects(this.session, PROJECTS_OF, { keys });
    await this.session.run(REOPEN, { keys, now: this.#now });
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
    const reserved = await this.session.get<{ first: bigint }>(RESERVE_CHUNK_KEYS, { count });
    invariant(reserved !== null, "the counter of chunk keys is missing");
    return reserved.first;
  }

  async #lease(key: bigint, projectId: ProjectId, claimableAt: number): Promise<Job> {
    const row = await this.session.get<ClaimedRow & { readonly lease: bigint }>(CLAIM, {
      ...{ key, claimableAt, node: this.context.nodeId },
    });
    invariant(row !== null, "a job vanished within its own claim");
    const facts = hasStoredFacts(row) ? ((await this.#factsOf([key])).get(key) ?? null) : null;
    return toJob(row, { projectId, lease: Number(row.lease), facts: factsOf(facts) });
  }

  async #setClaimable(job: Job, claimableAt: number, newLease: number | null): Promise<boolean> {
    return (await this.session.run(SET_CLAIMABLE, { ...this.#held(job), claimableAt, newLease })) > 0;
  }

  async #factsOf(keys: readonly bigint[]): Promise<ReadonlyMap<bigint, Facts>> {
    const rows = await this.session.all<Facts>(FACTS, { keys });
    return new Map(rows.map((row) => [row.memory_key, row]));
  }

  async #completeOne(completion: Completion): Promise<VisibleMemory | null> {
    const { job, read } = completion;
    const held = this.#held(job);
    // uses the attributes of the row and not of the job, because a caller may have changed some since the claim
    const row = await this.session.get<MemoryRow>(FIND_HELD, held);
    if (row === null) return null;
    const { source, ...columns } = completedColumns(row, completion, held.now);
    const done = await this.session.get<MemoryRow>(COMPLETE, { ...columns, ...sourceColumns(source) });
    invariant(done !== null, `memory ${row.id} vanished within its own completion`);
    await putTags(this.session, done, row.tags, done.tags);
    await this.session.run(REMOVE_CONTENT, { key: held.key });
    if (read !== undefined) {
      const { title, marks } = read;
      await this.session.run(KEEP_FACTS, { key: held.key, title, marks: JSON.stringify(marks) });
    }
    const memory = toMemory(done);
    if (row.is_reindexed !== 1n) await this.outbox.record(row.project_key, "memory.completed", memory);
    return toVisible(memory);
  }

  #held({ memory: { key, version }, lease }: Job) {
    return { key, lease, version, now: this.#now } satisfies Bindings;
  }

  get #now(): number {
    return this.context.clock.now();
  }
}

function filterValues({ except = [], textBytesMax = Number.MAX_SAFE_INTEGER }: JobFilter): Bindings {
  return { except, textBytesMax };
}
