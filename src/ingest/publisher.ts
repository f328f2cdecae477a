// How memories that are ready become searchable: in rounds, many at a time (group commit), each step repeatable after
// a crash. What makes them ready is pipeline.ts.

import type { ProjectId } from "../domain/ids.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex, ProjectIndex, Publication, VisibleMemory } from "../ports/chunk-index.ts";
import type { Completion, Job } from "../ports/job-store.ts";
import type { Transactions } from "../ports/transactions.ts";

/** A memory with everything that publishing needs. */
export interface ReadyMemory {
  readonly completion: Completion;
  readonly publication: Publication;
}

/** A round begins once this many chunks wait, even while more memories are on their way. */
const ROUND_CHUNKS = 512;
/** A ready memory waits at most this long for company. A round costs 50 to 100 ms of disk and merge work whatever its
 * size (docs/measurements.md, "Publishing"), so under load three a second keep it under a third of a core. */
const ROUND_WAIT_MS = 400;

/** What a publisher stands on. */
export interface PublisherParts {
  readonly transactions: Transactions;
  /** Extends the leases of jobs. Returns those that are still held. */
  readonly renew: (jobs: readonly Job[]) => Promise<readonly Job[]>;
  /** These are published: their rows are completed, or refused the result. */
  readonly onCompleted: (completions: readonly Completion[]) => void;
  readonly index: ChunkIndex;
  readonly log: Log;
  /** A round failed for these: they are to be tried again or given up. */
  readonly onFailed: (ready: readonly ReadyMemory[], cause: unknown) => void;
  /** These were deleted, or rewritten and claimed anew, before their round came: nothing is left to do for them. */
  readonly onVoid: (ready: readonly ReadyMemory[]) => void;
  /** Whether further memories will be ready soon, so that waiting for them pays. */
  readonly isMoreComing: () => boolean;
}

/** Publishes ready memories, one round at a time. */
export class Publisher {
  readonly #parts: PublisherParts;
  #waiting: { readonly ready: ReadyMemory; readonly sinceMs: number }[] = [];
  #waitingChunks = 0;
  #round: Promise<void> | null = null;
  #timer: Timer | null = null;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Chunks that wait for their round. */
  get backlogChunks(): number {
    return this.#waitingChunks;
  }

  /** Hands over a memory; it is published in this or one of the next rounds. */
  add(ready: ReadyMemory): void {
    this.#waiting.push({ ready, sinceMs: performance.now() });
    this.#waitingChunks += ready.publication.chunks.length;
    this.schedule();
  }

  /** Starts a round if one is due; called again whenever what `isMoreComing` says may have changed. */
  schedule(): void {
    const oldest = this.#waiting[0];
    if (this.#round !== null || oldest === undefined) return;
    const waitedMs = performance.now() - oldest.sinceMs;
    const isDue = this.#waitingChunks >= ROUND_CHUNKS || waitedMs >= ROUND_WAIT_MS || !this.#parts.isMoreComing();
    if (isDue) {
      this.#clearTimer();
      this.#round = this.#publishWaiting().finally(() => {
        this.#round = null;
        this.schedule();
      });
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.schedule();
      }, ROUND_WAIT_MS - waitedMs);
    }
  }

  /** Resolves when the round under way has ended; later ones do not start. */
  async close(): Promise<void> {
    this.#waiting = [];
    this.#waitingChunks = 0;
    this.#clearTimer();
    await this.#round;
  }

  async #publishWaiting(): Promise<void> {
    const round = this.#waiting.map((entry) => entry.ready);
    this.#waiting = [];
    this.#waitingChunks = 0;
    const byProject = Map.groupBy(round, (ready) => ready.completion.job.projectId);
    for (const [projectId, ready] of byProject) {
      await this.#publishSome(projectId, ready);
    }
  }

  // What fails together is tried one by one, so that a memory which the index refuses takes no other down with it.
  async #publishSome(projectId: ProjectId, ready: readonly ReadyMemory[]): Promise<void> {
    try {
      await publishRound(this.#parts, projectId, ready);
    } catch (cause) {
      if (ready.length === 1) return this.#parts.onFailed(ready, cause);
      this.#parts.log.warn(
        { memories: ready.length, err: cause },
        "a publishing round failed; its memories go one by one",
      );
      for (const memory of ready) await this.#publishSome(projectId, [memory]);
    }
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/**
 * One round for one project: indexes first, then visibility and rows. After a crash before the commit the memories are
 * still `processing`, and the round is repeated. What the rows refuse (deleted or rewritten meanwhile) is removed
 * again. Work on an older content than the row's is dropped before it can replace the newer one, which may be published
 * already.
 */
async function publishRound(
  parts: PublisherParts,
  projectId: ProjectId,
  offered: readonly ReadyMemory[],
): Promise<void> {
  const jobs = offered.map((memory) => memory.completion.job);
  // a project that was removed has no index to open
  if ((await parts.renew(jobs)).length === 0) return parts.onVoid(offered);
  const index = await parts.index.project(projectId);
  const held = new Set(await parts.renew(jobs));
  const ready = offered.filter((memory) => held.has(memory.completion.job));
  parts.onVoid(offered.filter((memory) => !held.has(memory.completion.job)));
  if (ready.length === 0) return;
  await index.publish(ready.map((memory) => memory.publication));
  const completions = ready.map((memory) => memory.completion);
  const visible = await completeRows(parts.transactions, index, completions);
  parts.onCompleted(completions);
  const shown = new Set(visible.map((memory) => memory.memoryKey));
  const refused = ready.map((memory) => memory.publication.memoryKey).filter((key) => !shown.has(key));
  if (refused.length > 0) await index.retract(refused);
}

/**
 * Makes the rows `completed` and shows the memories. They are shown before the commit, so that whoever reads
 * `completed` finds the memory; until then the rows keep it out of every result.
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
    await index.hide(shown.map(({ memoryKey }) => memoryKey));
    throw error;
  }
}
