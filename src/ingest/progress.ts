// Where memories in work are, for callers who read them meanwhile.

import type { MemoryKey } from "../domain/ids.ts";
import type { Progress, Stage } from "../domain/memory.ts";
import type { Job } from "../ports/job-store.ts";

const QUEUED: Progress = { stage: "queued", note: null, chunksDone: 0, chunksTotal: null, pages: null };

/** The jobs that this process holds, and their progress. */
export class HeldJobs {
  readonly #jobs = new Map<MemoryKey, Job>();
  readonly #progress = new Map<MemoryKey, Progress>();

  /** All held jobs. */
  get all(): readonly Job[] {
    return [...this.#jobs.values()];
  }

  /** Takes over a claimed job, in place of an older one of the same memory. */
  add(job: Job): void {
    this.#jobs.set(job.memory.key, job);
  }

  /** Lets go of a job. If a newer one of the same memory is held, that stays. */
  remove(job: Job): void {
    if (!this.#isNewest(job)) return;
    this.#jobs.delete(job.memory.key);
    this.#progress.delete(job.memory.key);
  }

  /** Progress of a memory; a memory that nobody works on is queued. */
  progressOf(key: MemoryKey): Progress {
    return this.#progress.get(key) ?? QUEUED;
  }

  /** Enters a stage. */
  report(job: Job, stage: Stage, chunksDone = 0, chunksTotal: number | null = null): void {
    const { note } = this.progressOf(job.memory.key);
    this.#set(job, { stage, note, chunksDone, chunksTotal, pages: null });
  }

  /** Changes a part of the progress. */
  amend(job: Job, change: Partial<Progress>): void {
    this.#set(job, { ...this.progressOf(job.memory.key), ...change });
  }

  #set(job: Job, progress: Progress): void {
    if (this.#isNewest(job)) this.#progress.set(job.memory.key, progress);
  }

  #isNewest(job: Job): boolean {
    return this.#jobs.get(job.memory.key)?.lease === job.lease;
  }
}
