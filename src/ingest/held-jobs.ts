// Jobs whose leases this process holds, and their progress, which callers see in a memory that is being processed.

import type { MemoryKey } from "../domain/ids.ts";
import type { Progress, Stage } from "../domain/memory.ts";
import type { Job } from "../ports/job-store.ts";

const QUEUED: Progress = { stage: "queued", note: null, chunksDone: 0, chunksTotal: null, pages: null };

/** The jobs held by this process and their progress, by memory. */
export class HeldJobs {
  readonly #jobs = new Map<MemoryKey, Job>();
  readonly #progress = new Map<MemoryKey, Progress>();

  /** All held jobs. */
  get all(): readonly Job[] {
    return [...this.#jobs.values()];
  }

  /** Adds a claimed job. It replaces an older job of the same memory. */
  add(job: Job): void {
    this.#jobs.set(job.memory.key, job);
  }

  /** Removes a job. A newer job of the same memory stays. */
  remove(job: Job): void {
    if (!this.#isNewest(job)) return;
    this.#jobs.delete(job.memory.key);
    this.#progress.delete(job.memory.key);
  }

  /** Progress of a memory; `queued` if this process holds no job of this memory. */
  progressOf(key: MemoryKey): Progress {
    return this.#progress.get(key) ?? QUEUED;
  }

  /** Sets the stage and the number of finished chunks. A note that was set before remains. */
  enterStage(job: Job, stage: Stage, chunksDone = 0, chunksTotal: number | null = null): void {
    const { note } = this.progressOf(job.memory.key);
    this.#set(job, { stage, note, chunksDone, chunksTotal, pages: null });
  }

  /** Changes parts of the progress. */
  update(job: Job, change: Partial<Progress>): void {
    this.#set(job, { ...this.progressOf(job.memory.key), ...change });
  }

  #set(job: Job, progress: Progress): void {
    if (this.#isNewest(job)) this.#progress.set(job.memory.key, progress);
  }

  #isNewest(job: Job): boolean {
    return this.#jobs.get(job.memory.key)?.lease === job.lease;
  }
}
