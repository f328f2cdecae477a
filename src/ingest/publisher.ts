// Makes memories searchable in rounds of many memories (group commit). Each step of a round can be repeated after a
// crash.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex, ProjectIndex, Publication, VisibleMemory } from "../ports/chunk-index.ts";
import type { Completion, Job } from "../ports/job-store.ts";
import { type Transactions, UnknownOutcome } from "../ports/transactions.ts";
import { LeaseLost } from "./outcome.ts";

/** A memory that is ready to be published. */
export interface ReadyMemory {
  readonly completion: Completion;
  readonly publication: Publication;
}

/** A round starts when this many chunks wait, even if more memories will be ready soon. */
const ROUND_CHUNKS = 512;
/**
 * Maximum time, in milliseconds, that a ready memory waits for other memories. A round of any size costs 50 to 100 ms
 * of disk and merge work (docs/measurements.md). Under load there are about three rounds a second, which use less than
 * a third of a core.
 */
const ROUND_WAIT_MS = 400;

/** What a publisher needs. */
export interface PublisherParts {
  readonly transactions: Transactions;
  /** Extends the leases of jobs. Returns those that are still held. */
  readonly renew: (jobs: readonly Job[]) => Promise<readonly Job[]>;
  /** Returns the memories among these that still have a row, deleted ones included. */
  readonly withRows: (projectId: ProjectId, keys: readonly MemoryKey[]) => Promise<readonly MemoryKey[]>;
  readonly index: ChunkIndex;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether more memories will be ready soon, so that waiting for them is worthwhile. */
  readonly isMoreComing: () => boolean;
}

/** A memory that waits for its round, and the promise of its caller. */
interface Waiting {
  readonly ready: ReadyMemory;
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Publishes ready memories, one round at a time. */
export class Publisher {
  readonly #parts: PublisherParts;
  #waiting: Waiting[] = [];
  #waitingChunks = 0;
  #round: Promise<void> | null = null;
  /** Ends the wait for more memories; null if nothing waits for them. */
  #waitForMore: AbortController | null = null;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Chunks that wait for their round. */
  get backlogChunks(): number {
    return this.#waitingChunks;
  }

  /**
   * Publishes a memory in one of the next rounds. Resolves when its row is `completed`, or when the store refused the
   * result because the memory was deleted or rewritten meanwhile.
   * @throws LeaseLost if the memory was deleted, or rewritten and claimed again, before its round; or the error that
   *   failed the round
   */
  publish(ready: ReadyMemory): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ready, sinceMs: this.#parts.clock.now(), resolve, reject });
      this.#waitingChunks += ready.publication.chunks.length;
      this.schedule();
    });
  }

  /** Starts a round if one is due. Call it whenever the result of `isMoreComing` may have changed. */
  schedule(): void {
    const oldest = this.#waiting[0];
    if (this.#round !== null || oldest === undefined) return;
    const waitedMs = this.#parts.clock.now() - oldest.sinceMs;
    const isDue = this.#waitingChunks >= ROUND_CHUNKS || waitedMs >= ROUND_WAIT_MS || !this.#parts.isMoreComing();
    if (isDue) this.#startRound();
    else if (this.#waitForMore === null) void this.#startRoundAfter(ROUND_WAIT_MS - waitedMs);
  }

  #startRound(): void {
    this.#endWait();
    this.#round = this.#publishWaiting().finally(() => {
      this.#round = null;
      this.schedule();
    });
  }

  async #startRoundAfter(ms: number): Promise<void> {
    const wait = new AbortController();
    this.#waitForMore = wait;
    // At most ROUND_WAIT_MS, even if the clock was set back meanwhile.
    await this.#parts.clock.sleep(Math.min(ms, ROUND_WAIT_MS), wait.signal);
    if (this.#waitForMore !== wait) return;
    this.#waitForMore = null;
    if (this.#round === null && this.#waiting.length > 0) this.#startRound();
  }

  /** Stops publishing. Resolves when the running round has ended; memories that wait are rejected. */
  async close(): Promise<void> {
    const waiting = this.#takeWaiting();
    this.#endWait();
    await this.#round;
    for (const { reject } of waiting) reject(new Error("the publisher was closed"));
  }

  #takeWaiting(): readonly Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingChunks = 0;
    return waiting;
  }

  async #publishWaiting(): Promise<void> {
    const byProject = Map.groupBy(this.#takeWaiting(), ({ ready }) => ready.completion.job.projectId);
    for (const [projectId, waiting] of byProject) await this.#publishOfProject(projectId, waiting);
  }

  // If a round fails, its memories are published one by one, so that one memory that the index refuses does not fail
  // the others.
  async #publishOfProject(projectId: ProjectId, waiting: readonly Waiting[]): Promise<void> {
    try {
      await publishRound(this.#parts, projectId, waiting);
    } catch (cause) {
      const [first] = waiting;
      if (waiting.length === 1) return first?.reject(cause);
      this.#parts.log.warn(
        { memories: waiting.length, err: cause },
        "a publishing round failed; its memories are published one by one",
      );
      for (const memory of waiting) await this.#publishOfProject(projectId, [memory]);
    }
  }

  #endWait(): void {
    const wait = this.#waitForMore;
    this.#waitForMore = null;
    wait?.abort();
  }
}

/**
 * Runs one round for one project: writes the indexes, then makes the memories visible and completes their rows. After a
 * crash before the commit the memories are still `processing`, and the round is repeated. Memories that were deleted or
 * rewritten meanwhile are retracted. Jobs whose lease is lost are dropped first, because they must not replace newer
 * content that may be published already.
 */
async function publishRound(parts: PublisherParts, projectId: ProjectId, waiting: readonly Waiting[]): Promise<void> {
  // The first renewal prevents that an index is opened for a removed project.
  const isAnyHeld = (await parts.renew(waiting.map(jobOf))).length > 0;
  const index = isAnyHeld ? await parts.index.project(projectId) : null;
  const held = new Set(isAnyHeld ? await parts.renew(waiting.map(jobOf)) : []);
  for (const memory of waiting) if (!held.has(jobOf(memory))) memory.reject(new LeaseLost());
  const ready = waiting.filter((memory) => held.has(jobOf(memory)));
  if (index === null || ready.length === 0) return;
  await index.publish(ready.map((memory) => memory.ready.publication));
  const visible = await completeRows(
    parts.transactions,
    index,
    ready.map((memory) => memory.ready.completion),
  );
  const shown = new Set(visible.map((memory) => memory.memoryKey));
  const refused = ready.map((memory) => memory.ready.publication.memoryKey).filter((key) => !shown.has(key));
  for (const memory of ready) memory.resolve();
  if (refused.length === 0) return;
  try {
    await index.retract(refused);
    // A memory may have been purged between the renewal and the publication. Nothing else would remove its text.
    const existing = new Set(await parts.withRows(projectId, refused));
    const erased = refused.filter((key) => !existing.has(key));
    if (erased.length > 0) await parts.index.purge(erased);
  } catch (err) {
    // The jobs have ended. The sweep retracts deleted memories again, and a rewritten memory is published again.
    parts.log.warn({ project: projectId, err }, "memories that changed meanwhile could not be retracted yet");
  }
}

function jobOf({ ready }: Waiting): Job {
  return ready.completion.job;
}

/**
 * Marks the rows as `completed` and makes the memories visible. They become visible before the commit, so that a caller
 * who reads `completed` can find the memory. Until the commit, no result contains them, because searches check the row.
 */
async function completeRows(
  transactions: Transactions,
  index: ProjectIndex,
  completions: readonly Completion[],
): Promise<readonly VisibleMemory[]> {
  let shown: readonly VisibleMemory[] = [];
  try {
    return await transactions.run(async ({ jobs }) => {
      shown = await jobs.complete(completions);
      await index.show(shown);
      return shown;
    });
  } catch (error) {
    // After a commit that may have happened they stay visible: if it did not happen, the rows keep them out of results.
    const isUndone = !(error instanceof UnknownOutcome);
    if (isUndone && shown.length > 0) await index.hide(shown.map(({ memoryKey }) => memoryKey));
    throw error;
  }
}
