// Makes memories searchable in rounds, many at a time (group commit). Each step can be repeated after a crash.

import type { ProjectId } from "../domain/ids.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex, ProjectIndex, Publication, VisibleMemory } from "../ports/chunk-index.ts";
import type { Completion, Job } from "../ports/job-store.ts";
import type { Transactions } from "../ports/transactions.ts";
import { JobVoid } from "./outcome.ts";

/** A memory with everything that publishing needs. */
export interface ReadyMemory {
  readonly completion: Completion;
  readonly publication: Publication;
}

/** A round begins when this many chunks wait, even if more memories will be ready soon. */
const ROUND_CHUNKS = 512;
/**
 * A ready memory waits at most this long for others. A round costs 50 to 100 ms of disk and merge work whatever its
 * size (docs/measurements.md), so three a second under load keep this below a third of a core.
 */
const ROUND_WAIT_MS = 400;

/** What a publisher needs. */
export interface PublisherParts {
  readonly transactions: Transactions;
  /** Extends the leases of jobs. Returns those that are still held. */
  readonly renew: (jobs: readonly Job[]) => Promise<readonly Job[]>;
  readonly index: ChunkIndex;
  readonly log: Log;
  /** Whether further memories will be ready soon, so that it pays to wait for them. */
  readonly isMoreComing: () => boolean;
}

/** A memory that waits for its round. */
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
  #timer: Timer | null = null;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Chunks that wait for their round. */
  get backlogChunks(): number {
    return this.#waitingChunks;
  }

  /**
   * Publishes a memory in this or one of the next rounds. Resolves when its row is completed, or refused the result.
   * @throws JobVoid if the memory was deleted, or rewritten and claimed again, before its round; what made the round
   *   fail
   */
  publish(ready: ReadyMemory): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ready, sinceMs: performance.now(), resolve, reject });
      this.#waitingChunks += ready.publication.chunks.length;
      this.schedule();
    });
  }

  /** Starts a round if one is due. To be called whenever the answer of `isMoreComing` may have changed. */
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

  /** Resolves when the running round has ended. Memories that wait are not published any more. */
  async close(): Promise<void> {
    const waiting = this.#takeWaiting();
    this.#clearTimer();
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
    for (const [projectId, waiting] of byProject) await this.#publishSome(projectId, waiting);
  }

  // If a round fails, its memories are tried one by one, so that one that the index refuses does not fail the others.
  async #publishSome(projectId: ProjectId, waiting: readonly Waiting[]): Promise<void> {
    try {
      await publishRound(this.#parts, projectId, waiting);
    } catch (cause) {
      const [first] = waiting;
      if (waiting.length === 1) return first?.reject(cause);
      this.#parts.log.warn(
        { memories: waiting.length, err: cause },
        "a publishing round failed; its memories go one by one",
      );
      for (const memory of waiting) await this.#publishSome(projectId, [memory]);
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
async function publishRound(parts: PublisherParts, projectId: ProjectId, waiting: readonly Waiting[]): Promise<void> {
  // a project that was removed has no index to open
  const isAnyHeld = (await parts.renew(waiting.map(jobOf))).length > 0;
  const index = isAnyHeld ? await parts.index.project(projectId) : null;
  const held = new Set(isAnyHeld ? await parts.renew(waiting.map(jobOf)) : []);
  for (const memory of waiting) if (!held.has(jobOf(memory))) memory.reject(new JobVoid());
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
  if (refused.length > 0) await index.retract(refused);
}

function jobOf({ ready }: Waiting): Job {
  return ready.completion.job;
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
