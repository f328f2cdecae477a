// JobStore on SQLite. The row of a memory in status `processing` is the job. It can be claimed from `claimable_at` on.
// `lease` is the fencing token of the latest claim.

import { invariant } from "../../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { FailureCode } from "../../../domain/memory.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { VisibleMemory } from "../../../ports/chunk-index.ts";
import type { DocumentFacts } from "../../../ports/document-reader.ts";
import {
  type ClaimOptions,
  type Completion,
  type ImportedVectors,
  type Job,
  type JobFilter,
  type JobStore,
  NO_WORK,
} from "../../../ports/job-store.ts";
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
} from "../../rows/job.ts";
import { type MemoryRow, toMemory } from "../../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, PROJECT_KEY, TO_REINDEX, TO_RESTART } from "../../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import { type MemoryOutbox, type MemoryStoreOptions, NO_OUTBOX } from "./memory-outbox.ts";
import { KEYS, keyList } from "./memory-row.ts";

const EXCEPT = "(SELECT value FROM json_each($except))";
// Before a file is read, the size of its text is known only if it is a plain-text file.
const SHORT_ENOUGH = `(memories.content_bytes <= $textBytesMax OR (memories.source ->> '$.file' IS NOT NULL
    AND memories.source ->> '$.media_type' NOT LIKE 'text/%' AND memories.source ->> '$.media_type' <> 'application/json'))`;
const CLAIMABLE = `memories.status = 'processing' AND ${LIVE} AND memories.claimable_at <= $now AND ${SHORT_ENOUGH}`;

// Round robin over projects: selects the project whose last claim was longest ago among those with a claimable job, and
// its job that has waited longest. The claim moves the project to the end.
const NEXT_JOB = `SELECT memories.memory_key, memories.content_bytes, memories.project_key, projects.id AS project_id
  FROM projects JOIN memories ON memories.memory_key = (
    SELECT memories.memory_key FROM memories
    WHERE memories.project_key = projects.project_key AND ${CLAIMABLE}
    ORDER BY memories.claimable_at, memories.memory_key LIMIT 1)
  WHERE projects.deleted_at IS NULL AND projects.id NOT IN ${EXCEPT}
  ORDER BY projects.served_lease, projects.project_key LIMIT 1`;

const CLAIM = `UPDATE memories SET lease = $lease, claimable_at = $claimableAt, attempts = attempts + 1
  WHERE memory_key = $key
  RETURNING ${MEMORY_COLUMNS}, memories.content_sha256,
    (SELECT content FROM waiting_contents WHERE waiting_contents.memory_key = memories.memory_key) AS content`;

/** Condition for a job that is still held (see JobStore): no later claim, no newer version, and the memory is live. */
const HELD = `memories.memory_key = $key AND memories.lease = $lease AND memories.version = $version
  AND memories.status = 'processing' AND ${LIVE}`;

const REMOVE_CONTENT = "DELETE FROM waiting_contents WHERE memory_key = $key";
const REMOVE_VECTORS = "DELETE FROM imported_vectors WHERE memory_key = $key";
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

  /** Stops before the first job that would exceed `contentBytes`, so that no job is skipped. */
  claim(options: ClaimOptions): readonly Job[] {
    invariant(options.leaseMs > 0, `a lease of ${options.leaseMs} ms was requested`);
    return this.database.transaction(() => {
      const now = this.clock.now();
      const jobs: Job[] = [];
      let bytesLeft = options.contentBytes;
      while (jobs.length < options.jobs) {
        const next = this.#next(now, options);
        if (next === null) break;
        bytesLeft -= Number(next.content_bytes);
        if (bytesLeft < 0 && jobs.length > 0) break;
        jobs.push(this.#lease(next, now + options.leaseMs));
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

  #next(now: number, filter: JobFilter): NextJob | null {
    return this.database
      .prepare<NextJob, FilterValues & { now: number }>(NEXT_JOB)
      .get({ ...filterValues(filter), now });
  }

  #lease(next: NextJob, claimableAt: number): Job {
    const lease = this.#takeLeaseToken();
    const row = this.database
      .prepare<ClaimedRow, { key: bigint; lease: number; claimableAt: number }>(CLAIM)
      .get({ key: next.memory_key, lease, claimableAt });
    invariant(row !== null, "a job vanished within its own claim");
    this.database
      .prepare<never, { lease: number; projectKey: bigint }>(
        "UPDATE projects SET served_lease = $lease WHERE project_key = $projectKey",
      )
      .run({ lease, projectKey: next.project_key });
    const facts = hasStoredFacts(row) ? this.#factsOf(row.memory_key) : null;
    return toJob(row, { projectId: next.project_id as ProjectId, lease, facts });
  }

  #takeLeaseToken(): number {
    const taken = this.database
      .prepare<{ next: bigint }>("UPDATE sequences SET next = next + 1 WHERE name = 'lease' RETURNING next - 1 AS next")
      .get({});
    invariant(taken !== null, "the lease counter is missing");
    return Number(taken.next);
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
    for (const remove of [REMOVE_CONTENT, REMOVE_VECTORS]) {
      this.database.prepare<never, { key: bigint }>(remove).run({ key: held.key });
    }
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
  readonly project_key: bigint;
  readonly project_id: string;
};
