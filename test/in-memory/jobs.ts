// JobStore in memory. `lease` of a row is the fencing token of the latest claim. A worker still has its job as long as
// the row has the token and the version of the job.

import { invariant } from "../../src/domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { EXTRACTED_FIELDS, type FailureCode } from "../../src/domain/memory.ts";
import type { VisibleMemory } from "../../src/ports/chunk-index.ts";
import {
  type ClaimOptions,
  type Completion,
  type Job,
  type JobFilter,
  type JobStore,
  NO_WORK,
} from "../../src/ports/job-store.ts";
import { isLive, liveMemories, toMemory, toVisible, toWork, update, uploadedFileOf } from "./memory-row.ts";
import { recordEvent } from "./outbox.ts";
import { jsonCopy, type MemoryRow, type Session, type Synchronous } from "./session.ts";

/** JobStore in memory. */
export class InMemoryJobs implements Synchronous<JobStore> {
  constructor(private readonly session: Session) {}

  claim({ jobs, contentBytes, leaseMs, ...filter }: ClaimOptions): readonly Job[] {
    const claimed: Job[] = [];
    let bytes = 0;
    while (claimed.length < jobs) {
      const next = this.#next(filter);
      if (next === undefined) break;
      bytes += next.contentBytes;
      if (bytes > contentBytes && claimed.length > 0) break;
      claimed.push(this.#lease(next, leaseMs));
    }
    return claimed;
  }

  voidLeases(): void {
    const { tables, now } = this.session;
    for (const row of tables.memories.rows(({ status, lease }) => status === "processing" && lease !== null)) {
      update(this.session, row, { lease: null, claimableAt: now });
    }
  }

  renew(jobs: readonly Job[], leaseMs: number): readonly Job[] {
    return jobs.filter((job) => {
      const row = this.#held(job);
      if (row !== null) update(this.session, row, { claimableAt: this.session.now + leaseMs });
      return row !== null;
    });
  }

  /** Only a StoreKeeper imports vectors, and these stores have none. */
  importedVectors(): null {
    return null;
  }

  complete(completions: readonly Completion[]): readonly VisibleMemory[] {
    return completions.flatMap((completion) => {
      const row = this.#held(completion.job);
      return row === null ? [] : [this.#complete(row, completion)];
    });
  }

  retryLater(job: Job, delayMs: number, isCounted = true): void {
    const row = this.#held(job);
    if (row === null) return;
    const attempts = isCounted ? row.attempts : row.attempts - 1;
    update(this.session, row, { attempts, lease: null, claimableAt: this.session.now + delayMs });
  }

  fail(job: Job, code: FailureCode, message: string): boolean {
    const row = this.#held(job);
    if (row === null) return false;
    const change = { status: "failed", error: { code, message }, lease: null, isReindexed: false } as const;
    recordEvent(this.session, "memory.failed", update(this.session, row, { ...change, updatedAt: this.session.now }));
    return true;
  }

  reopen(keys: readonly MemoryKey[]): void {
    const { now } = this.session;
    for (const key of keys) {
      const row = this.session.tables.memories.get(key);
      if (row === undefined || row.status !== "completed" || !isLive(row, now)) continue;
      update(this.session, row, { ...toWork(row, now), isReindexed: true });
    }
  }

  restart(keys: readonly MemoryKey[]): void {
    const { now } = this.session;
    for (const key of keys) {
      const row = this.session.tables.memories.get(key);
      if (row === undefined || row.status !== "processing" || !isLive(row, now)) continue;
      update(this.session, row, { version: row.version + 1, attempts: 0, lease: null, claimableAt: now });
    }
  }

  published(projectId: ProjectId, keys: readonly MemoryKey[]): readonly Job[] {
    const rows = this.session.tables.memories.rows((row) => row.projectId === projectId && keys.includes(row.key));
    return rows
      .sort((one, other) => Number(one.key - other.key))
      .map((row) => ({
        ...NO_WORK,
        projectId,
        memory: toMemory(row),
        facts: factsOf(row),
      }));
  }

  nextJobInMs(filter: JobFilter = {}): number | null {
    const { now } = this.session;
    const waiting = this.#waiting(filter).map(({ claimableAt }) => claimableAt);
    return waiting.length === 0 ? null : Math.max(0, Math.min(...waiting) - now);
  }

  reserveChunkKeys(count: number): bigint {
    invariant(Number.isSafeInteger(count) && count >= 0, `${count} chunk keys were requested`);
    return this.session.next("chunk", BigInt(count));
  }

  /**
   * Jobs of all projects that `filter` does not exclude, including jobs that a worker has and jobs that are delayed.
   */
  #waiting({ except = [], textBytesMax = Number.POSITIVE_INFINITY }: JobFilter): MemoryRow[] {
    return this.session.tables.projects
      .rows(({ project }) => !except.includes(project.id))
      .flatMap(({ project }) => liveMemories(this.session, project.id))
      .filter((row) => row.status === "processing" && (row.contentBytes <= textBytesMax || isOfUnknownLength(row)));
  }

  /**
   * The next job that can be claimed. The project that was served longest ago comes first. Projects that were never
   * served come before it, oldest first. Within a project, the job that has waited longest comes first.
   */
  #next(filter: JobFilter): MemoryRow | undefined {
    const rank = ({ projectId, claimableAt, key }: MemoryRow) => {
      const project = this.session.tables.projects.get(projectId);
      return [project?.servedLease ?? 0, Number(project?.key ?? 0n), claimableAt, Number(key)];
    };
    return this.#waiting(filter)
      .filter(({ claimableAt }) => claimableAt <= this.session.now)
      .sort((a, b) => compareRanks(rank(a), rank(b)))[0];
  }

  #lease(row: MemoryRow, leaseMs: number): Job {
    const lease = Number(this.session.next("lease"));
    const leased = update(this.session, row, {
      lease,
      claimableAt: this.session.now + leaseMs,
      attempts: row.attempts + 1,
    });
    const project = this.session.tables.projects.get(row.projectId);
    if (project !== undefined) this.session.tables.projects.set(row.projectId, { ...project, servedLease: lease });
    return {
      projectId: row.projectId,
      memory: toMemory(leased),
      content: row.content,
      upload: uploadedFileOf(row),
      textFile: row.source === null && row.file !== null ? { name: row.file, sha256: row.contentHash } : null,
      facts: row.content === null ? factsOf(row) : null,
      lease,
      attempt: leased.attempts,
      isReindexed: row.isReindexed,
    };
  }

  #held({ memory, lease }: Job): MemoryRow | null {
    const row = this.session.tables.memories.get(memory.key);
    const isHeld =
      row !== undefined &&
      row.status === "processing" &&
      row.lease === lease &&
      row.version === memory.version &&
      isLive(row, this.session.now);
    return isHeld ? row : null;
  }

  #complete(row: MemoryRow, { extracted, extractedBy, chunkCount, read }: Completion): VisibleMemory {
    // attributes that a caller gave stay, even if the caller gave them after the job was claimed
    const kept = row.isReindexed ? EXTRACTED_FIELDS : row.given;
    const attributes = Object.fromEntries(
      EXTRACTED_FIELDS.filter((field) => !kept.includes(field)).map((field) => [field, extracted[field]]),
    );
    const extraction = row.given.length === EXTRACTED_FIELDS.length ? "caller" : extractedBy;
    const facts = read === undefined ? null : jsonCopy({ title: read.title, marks: read.marks });
    const done = update(this.session, row, {
      ...jsonCopy(attributes),
      status: "completed",
      extraction: row.isReindexed ? row.extraction : extraction,
      chunkCount,
      content: null,
      file: null,
      contentBytes: read?.contentBytes ?? row.contentBytes,
      ...(facts !== null && { facts: { contentHash: row.contentHash, facts } }),
      lease: null,
      isReindexed: false,
      updatedAt: row.isReindexed ? row.updatedAt : this.session.now,
    });
    if (!row.isReindexed) recordEvent(this.session, "memory.completed", done);
    return toVisible(done);
  }
}

/** What was found in the file of a memory, if it belongs to the current content. */
function factsOf({ facts, contentHash }: MemoryRow): Job["facts"] {
  return facts !== null && facts.contentHash === contentHash ? facts.facts : null;
}

/**
 * Whether a memory has a file whose text length is unknown until the file is read. It is known for plain text and JSON.
 */
function isOfUnknownLength({ file, source }: MemoryRow): boolean {
  const type = source?.media_type ?? "";
  return file !== null && !type.startsWith("text/") && type !== "application/json";
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, position) => value !== b[position]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
