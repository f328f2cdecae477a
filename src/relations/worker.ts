// Looks for relations of completed memories in the background. The row of a job is the only note of it: a job whose
// process was killed is claimed again when its lease has run out, or when its node starts.

import type { FoundRelation } from "../domain/relation.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { StoredMemory } from "../ports/chunk-index.ts";
import type { EndedJob, RelationJob, RelationStore } from "../ports/relation-store.ts";
import { type FinderDependencies, findRelations } from "./finder.ts";

/** Number of jobs that are claimed at once. */
const CLAIM_JOBS = 64;
/** Number of jobs in progress: while one waits for the index, others are judged. */
const PARALLEL_JOBS = 4;
/** While memories wait to be indexed: minimum time between two claims of jobs, in milliseconds. */
const BUSY_PAUSE_MS = 5_000;
/** Pause before the next look whether memories wait to be indexed, in milliseconds. */
const LOOK_MS = 100;
const LEASE_MS = 60_000;
/** Maximum pause between two attempts to claim jobs, in milliseconds. */
const IDLE_MS = 30_000;
/**
 * Pause after a job of the backlog, in milliseconds, so that it does not slow down everything else. The backlog is the
 * memories that are only indexed again, or were completed before relations were looked for (`RelationJob.isBacklog`).
 */
const BACKLOG_PAUSE_MS = 50;
/** Delay after a failure: 1 s, 2 s, 4 s … 5 min. After `ATTEMPTS_MAX` failures, the job ends without relations. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 5 * 60_000;
const ATTEMPTS_MAX = 12;

/** What the worker needs. */
export interface RelationWorkerDependencies extends FinderDependencies {
  readonly relations: RelationStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the disk has space for new data. Without it, jobs wait. */
  readonly hasSpace: () => boolean;
  /** Whether memories wait to be indexed. While they do, few jobs are done, and none of the backlog. */
  readonly isIngesting: () => Eventually<boolean>;
  /** Longest sleep in milliseconds, if other processes add jobs. */
  readonly claimEveryMs?: number | undefined;
}

/** Finds relations until it is stopped. */
export class RelationWorker {
  readonly #loop = new WakingLoop((round) => this.#round(round));
  /** Whether the leases that an earlier process of this node left were voided. */
  #hasVoidedLeases = false;
  /** When jobs were claimed last, Unix milliseconds. */
  #workedAt = 0;

  constructor(private readonly uses: RelationWorkerDependencies) {}

  /** Starts the loop. */
  start(): void {
    this.#loop.start();
  }

  /** Looks for jobs now. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops. Resolves when the running jobs have ended and what they found is stored. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round({ stopped, woken }: Round): Promise<void> {
    const { clock, log, relations, claimEveryMs = IDLE_MS } = this.uses;
    try {
      if (!this.#hasVoidedLeases) await relations.voidLeases();
      this.#hasVoidedLeases = true;
      if (!(await this.#work())) await clock.sleep(claimEveryMs, woken);
    } catch (err) {
      log.warn({ err }, "relations could not be looked for; trying again");
      await clock.sleep(RETRY_FIRST_MS, stopped);
    }
  }

  /** Claims jobs and works them off. Returns false if there are none, or no space on the disk: the loop then sleeps. */
  async #work(): Promise<boolean> {
    const { relations, index, clock, hasSpace, isIngesting } = this.uses;
    if (!hasSpace()) return false;
    const isBusy = await isIngesting();
    if (isBusy && clock.now() - this.#workedAt < BUSY_PAUSE_MS) {
      await clock.sleep(LOOK_MS, this.#loop.stopped);
      return true;
    }
    this.#workedAt = clock.now();
    const jobs = await relations.claim({ limit: CLAIM_JOBS, leaseMs: LEASE_MS, skipsBacklog: isBusy });
    if (jobs.length === 0) return false;
    const stored = await index.stored(jobs.map(({ memory }) => memory.key));
    const ended: EndedJob[] = [];
    const waiting = jobs.values();
    const work = async () => {
      for (const job of waiting) {
        const found = this.#loop.stopped.aborted ? null : await this.#find(job, stored.get(job.memory.key));
        if (found !== null) ended.push({ job, found });
        if (job.isBacklog) await clock.sleep(BACKLOG_PAUSE_MS, this.#loop.stopped);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_JOBS }, work));
    await relations.finish(ended);
    return true;
  }

  /** What a job finds; null if it is tried again later. */
  async #find(job: RelationJob, stored: StoredMemory | undefined): Promise<readonly FoundRelation[] | null> {
    const { relations, log } = this.uses;
    try {
      return await findRelations(this.uses, job, stored);
    } catch (err) {
      const { memory, attempt } = job;
      log.warn({ memory: memory.id, attempt, err }, "relations of a memory could not be found");
      if (attempt >= ATTEMPTS_MAX) return [];
      await relations.retryLater(job, Math.min(RETRY_FIRST_MS * 2 ** (attempt - 1), RETRY_MAX_MS));
      return null;
    }
  }
}
