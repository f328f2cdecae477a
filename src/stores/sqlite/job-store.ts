// JobStore on SQLite. The row of a memory in status `processing` is the job. It can be claimed from `claimable_at` on.
// `lease` is the fencing token of the latest claim.

import { invariant } from "../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { FailureCode } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { VisibleMemory } from "../../ports/chunk-index.ts";
import type { DocumentFacts } from "../../ports/document-reader.ts";
import {
  type ClaimOptions,
  type Completion,
  type ImportedVectors,
  type Job,
  type JobFilter,
  type JobStore,
  NO_WORK,
} from "../../ports/job-store.ts";
import {
  type ClaimedRow,
  type CompletedColumns,
  completedColumns,
  factsOf,
  hasStoredFacts,
  IMPORTED_VECTORS,
  type ImportedVectorsRow,
  importedVectors,
  toJob,
  toVisible,
} from "../rows/job.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, PROJECT_KEY, TO_REINDEX, TO_RESTART } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import { type MemoryOutbox, type MemoryStoreOptions, NO_OUTBOX } from "./memory-outbox.ts";
import { KEYS, keyList } from "./memory-row.ts";

const EXCEPT = "(SELECT value FROM json_each($except))";
// Before a file is read, the size of its text is known only if it is a plain-text file.
const SHORT_ENOUGH = `(memories.content_bytes <= $textBytesMax OR (memories.source ->> '$.file' IS NOT NULL
    AND memories.source ->> '$.media_type' NOT LIKE 'text/%' AND memories.source ->> '$.media_type' <> 'application/json'))`;
const CLAIMABLE = `memories.status = 'processing' AND ${LIVE} AND memories.claimable_at <= $now AND ${SHORT_ENOUGH}`;

// Projects with a claimable job, the one whose last claim was longest ago first.
const PROJECTS_WITH_JOBS = `SELECT projects.project_key, projects.id FROM projects
  WHERE projects.deleted_at IS NULL AND projects.id NOT IN ${EXCEPT} AND EXISTS (
    SELECT 1 FROM memories WHERE memories.project_key = projects.project_key AND ${CLAIMABLE})
  ORDER BY projects.served_lease, projects.project_key LIMIT $projects`;

// The jobs of a project that have waited longest.
const NEXT_JOBS = `SELECT memories.memory_key, memories.content_bytes FROM memories
  WHERE memories.project_key = $projectKey AND ${CLAIMABLE}
  ORDER BY memories.claimable_at, memories.memory_key LIMIT $jobs`;

const CLAIM = `UPDATE memories SET lease = $lease, claimable_at = $claimableAt, attempts = attempts + 1
  WHERE memory_key = $key
  RETURNING ${MEMORY_COLUMNS}, memories.content_sha256,
    (SELECT content FROM waiting_contents WHERE waiting_contents.memory_key = memories.memory_key) AS content`;

/** Condition for a job that is still held (see JobStore): no later claim, no newer version, and the memory is live. */
const HELD = `memories.memory_key = $key AND memories.lease = $lease AND memories.version = $version
  AND memories.status = 'processing' AND ${LIVE}`;

const REMOVE_CONTENTS = `DELETE FROM waiting_contents WHERE memory_key IN ${KEYS}`;
const REMOVE_VECTORS = `DELETE FROM imported_vectors WHERE memory_key IN ${KEYS}`;
const COMPLETE = `UPDATE memories SET status = 'completed', title = $title, title_folded = $titleFolded, type = $type,
    tags = $tags, language = $language, extraction = $extraction, chunk_count = $chunkCount,
    content_bytes = $contentBytes, source = $source, lease = NULL, updated_at = $updatedAt,
    is_reindexed = 0
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const KEEP_FACTS = `INSERT INTO document_facts (memory_key, content_sha256, title, marks)
  SELECT memory_key, content_sha256, $title, $marks FROM memories WHERE memory_key = $key
  ON CONFLICT (memory_key) DO UPDATE SET content_sha256 = excluded.content_sha256, title = excluded.title,
    marks = excluded.marks`;

const FACTS = `SELECT document_facts.title, marks FROM document_facts JOIN memories USING (memory_key, content_sha256)
  WHERE memory_key = $key`;

const PUBLISHED = `SELECT ${MEMORY_COLUMNS} FROM memories
  WHERE memory_key IN ${KEYS} AND project_key = ${PROJECT_KEY} ORDER BY memory_key`;

const FAIL = `UPDATE memories SET status = 'failed', error_code = $code, error_message = $message, lease = NULL,
    updated_at = $now, is_reindexed = 0
  WHERE ${HELD} RETURNING ${MEMORY_COLUMNS}`;

const NEXT_CLAIMABLE_AT = `SELECT min(at) AS at FROM (
    SELECT (SELECT memories.claimable_at FROM memories
      WHERE memories.project_key = projects.project_key AND memories.status = 'processing' AND ${LIVE}
        AND ${SHORT_ENOUGH}
      ORDER BY memories.claimable_at LIMIT 1) AS at
    FROM projects WHERE projects.deleted_at IS NULL AND projects.id NOT IN ${EXCEPT})`;

type Held = { readonly key: bigint; readonly lease: number; readonly version: number; readonly now: number };

/** JobStore on SQLite. */
export class SqliteJobStore implements JobStore {
  private readonly database: SqliteDatabase;
  private readonly clock: Clock;
  private readonly outbox: MemoryOutbox;

  constructor({ database, clock, outbox }: MemoryStoreOptions) {
    this.database = database;
    this.clock = clock;
    this.outbox = outbox ?? NO_OUTBOX;
  }

  /**
   * Takes one job of each project in turn. Stops before the first job that would exceed `contentBytes`, so that no job
   * is skipped.
   */
  claim(options: ClaimOptions): readonly Job[] {
    invariant(options.leaseMs > 0, `a lease of ${options.leaseMs} ms was requested`);
    return this.database.transaction(() => {
      const now = this.clock.now();
      const waiting = this.#projectsWithJobs(now, options);
      const firstLease = waiting.length === 0 ? 0 : this.#takeLeaseTokens(options.jobs);
      const jobs: Job[] = [];
      const servedBy = new Map<bigint, number>();
      let bytesLeft = options.contentBytes;
      while (jobs.length < options.jobs) {
        const project = waiting.shift();
        if (project === undefined) break;
        const next = this.#nextOf(
          project,
          now,
          options,
          Math.ceil((options.jobs - jobs.length) / (waiting.length + 1)),
        );
        if (next === undefined) continue; // it has no more jobs, so its turn is over
        bytesLeft -= Number(next.content_bytes);
        if (bytesLeft < 0 && jobs.length > 0) break;
        const lease = firstLease + jobs.length;
        jobs.push(this.#lease(next.memory_key, project.id as ProjectId, lease, now + options.leaseMs));
        servedBy.set(project.project_key, lease);
        waiting.push(project);
      }
      for (const [projectKey, lease] of servedBy) {
        this.database
          .prepare<never, { lease: number; projectKey: bigint }>(
            "UPDATE projects SET served_lease = $lease WHERE project_key = $projectKey",
          )
          .run({ lease, projectKey });
      }
      return jobs;
    });
  }

  /** Jobs that wait for their next attempt have no lease, so they do not change. */
  voidLeases(): void {
    this.database
      .prepare<never, { now: number }>(
        `UPDATE memories SET lease = NULL, claimable_at = $now WHERE status = 'processing' AND lease IS NOT NULL`,
      )
      .run({ now: this.clock.now() });
  }

  renew(jobs: readonly Job[], leaseMs: number): readonly Job[] {
    return this.database.transaction(() =>
      jobs.filter((job) => this.#setClaimable(job, this.clock.now() + leaseMs, job.lease)),
    );
  }

  retryLater(job: Job, delayMs: number, isCounted = true): void {
    this.database.transaction(() => {
      if (!isCounted) {
        this.database
          .prepare<never, Held>(`UPDATE memories SET attempts = attempts - 1 WHERE ${HELD}`)
          .run(this.#held(job));
      }
      this.#setClaimable(job, this.clock.now() + delayMs, null);
    });
  }

  importedVectors(key: MemoryKey): ImportedVectors | null {
    return importedVectors(this.database.prepare<ImportedVectorsRow, { key: bigint }>(IMPORTED_VECTORS).all({ key }));
  }

  complete(completions: readonly Completion[]): readonly VisibleMemory[] {
    return this.database.transaction(() => {
      const visible: VisibleMemory[] = [];
      for (const completion of completions) {
        const memory = this.#completeOne(completion);
        if (memory !== null) visible.push(memory);
      }
      const keys = keyList(visible.map(({ memoryKey }) => memoryKey));
      for (const remove of [REMOVE_CONTENTS, REMOVE_VECTORS]) {
        this.database.prepare<never, { keys: string }>(remove).run({ keys });
      }
      return visible;
    });
  }

  /** The content stays stored, so that the memory can be retried. */
  fail(job: Job, code: FailureCode, message: string): boolean {
    return this.database.transaction(() => {
      const row = this.database
        .prepare<MemoryRow, Held & { code: string; message: string }>(FAIL)
        .get({ ...this.#held(job), code, message });
      if (row !== null) this.outbox.record(row.project_key, "memory.failed", toMemory(row));
      return row !== null;
    });
  }

  /** Starts a new version, so that it cannot be confused with what is left of the lost version. */
  reopen(keys: readonly MemoryKey[]): void {
    this.database
      .prepare<never, { keys: string; now: number }>(
        `UPDATE memories SET ${TO_REINDEX} WHERE memory_key IN ${KEYS} AND status = 'completed' AND ${LIVE}`,
      )
      .run({ keys: keyList(keys), now: this.clock.now() });
  }

  restart(keys: readonly MemoryKey[]): void {
    this.database
      .prepare<never, { keys: string; now: number }>(
        `UPDATE memories SET ${TO_RESTART} WHERE memory_key IN ${KEYS} AND status = 'processing' AND ${LIVE}`,
      )
      .run({ keys: keyList(keys), now: this.clock.now() });
  }

  published(projectId: ProjectId, keys: readonly MemoryKey[]): readonly Job[] {
    const rows = this.database
      .prepare<MemoryRow, { project: string; keys: string }>(PUBLISHED)
      .all({ project: projectId, keys: keyList(keys) });
    return rows.map((row) => ({
      ...NO_WORK,
      projectId,
      memory: toMemory(row),
      facts: this.#factsOf(row.memory_key),
    }));
  }

  nextJobInMs(filter: JobFilter = {}): number | null {
    const now = this.clock.now();
    const next = this.database
      .prepare<{ at: bigint | null }, FilterValues & { now: number }>(NEXT_CLAIMABLE_AT)
      .get({ ...filterValues(filter), now });
    return next === null || next.at === null ? null : Math.max(0, Number(next.at) - now);
  }

  reserveChunkKeys(count: number): bigint {
    invariant(Number.isSafeInteger(count) && count >= 0, `${count} chunk keys were requested`);
    const reserved = this.database
      .prepare<{ first: bigint }, { count: number }>(
        "UPDATE sequences SET next = next + $count WHERE name = 'chunk_key' RETURNING next - $count AS first",
      )
      .get({ count });
    invariant(reserved !== null, "the counter of chunk keys is missing");
    return reserved.first;
  }

  /** The projects that have jobs, as many as jobs are claimed at most, in the order in which they are served. */
  #projectsWithJobs(now: number, { jobs, ...filter }: ClaimOptions): ProjectWithJobs[] {
    return this.database
      .prepare<Omit<ProjectWithJobs, "next">, FilterValues & { now: number; projects: number }>(PROJECTS_WITH_JOBS)
      .all({ ...filterValues(filter), now, projects: jobs })
      .map((project) => ({ ...project, next: [] }));
  }

  /** The next job of a project; undefined if it has no more. Reads a page of `pageJobs` jobs at once. */
  #nextOf(project: ProjectWithJobs, now: number, filter: JobFilter, pageJobs: number): NextJob | undefined {
    if (project.next.length === 0) {
      const { textBytesMax } = filterValues(filter);
      project.next = this.database
        .prepare<NextJob, Omit<FilterValues, "except"> & { now: number; projectKey: bigint; jobs: number }>(NEXT_JOBS)
        .all({ textBytesMax, now, projectKey: project.project_key, jobs: pageJobs })
        .reverse();
    }
    return project.next.pop();
  }

  #lease(key: bigint, projectId: ProjectId, lease: number, claimableAt: number): Job {
    const row = this.database
      .prepare<ClaimedRow, { key: bigint; lease: number; claimableAt: number }>(CLAIM)
      .get({ key, lease, claimableAt });
    invariant(row !== null, "a job vanished within its own claim");
    const facts = hasStoredFacts(row) ? this.#factsOf(row.memory_key) : null;
    return toJob(row, { projectId, lease, facts });
  }

  /** Takes consecutive fencing tokens; returns the first. Those that are not used are never used again. */
  #takeLeaseTokens(count: number): number {
    const taken = this.database
      .prepare<{ first: bigint }, { count: number }>(
        "UPDATE sequences SET next = next + $count WHERE name = 'lease' RETURNING next - $count AS first",
      )
      .get({ count });
    invariant(taken !== null, "the lease counter is missing");
    return Number(taken.first);
  }

  #setClaimable(job: Job, claimableAt: number, lease: number | null): boolean {
    return (
      this.database
        .prepare<never, Held & { claimableAt: number; newLease: number | null }>(
          `UPDATE memories SET claimable_at = $claimableAt, lease = $newLease WHERE ${HELD}`,
        )
        .run({ ...this.#held(job), claimableAt, newLease: lease }) > 0
    );
  }

  #factsOf(key: bigint): DocumentFacts | null {
    const row = this.database.prepare<{ title: string | null; marks: string }, { key: bigint }>(FACTS).get({ key });
    return factsOf(row);
  }

  #completeOne(completion: Completion): VisibleMemory | null {
    const { job, read } = completion;
    const held = this.#held(job);
    // uses the attributes of the row and not of the job, because a caller may have changed some since the claim
    const row = this.database
      .prepare<MemoryRow, Held>(`SELECT ${MEMORY_COLUMNS} FROM memories WHERE ${HELD}`)
      .get(held);
    if (row === null) return null;
    const done = this.database
      .prepare<MemoryRow, CompletedColumns>(COMPLETE)
      .get(completedColumns(row, completion, held.now));
    invariant(done !== null, `memory ${row.id} vanished within its own completion`);
    if (read !== undefined) {
      const facts = { key: held.key, title: read.title, marks: JSON.stringify(read.marks) };
      this.database.prepare<never, typeof facts>(KEEP_FACTS).run(facts);
    }
    const memory = toMemory(done);
    if (row.is_reindexed !== 1n) this.outbox.record(row.project_key, "memory.completed", memory);
    return toVisible(memory);
  }

  #held(job: Job): Held {
    return { key: job.memory.key, lease: job.lease, version: job.memory.version, now: this.clock.now() };
  }
}

type FilterValues = { readonly except: string; readonly textBytesMax: number };

function filterValues({ except = [], textBytesMax = Number.MAX_SAFE_INTEGER }: JobFilter): FilterValues {
  return { except: JSON.stringify(except), textBytesMax };
}

type NextJob = {
  readonly memory_key: bigint;
  readonly content_bytes: bigint;
};

/** A project and its next jobs that were read, the first one last. */
interface ProjectWithJobs {
  readonly project_key: bigint;
  readonly id: string;
  next: NextJob[];
}
