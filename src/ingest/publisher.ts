// Makes memories searchable: small ones in rounds of many memories (group commit), large ones in parts, between which
// rounds run. So no memory waits for a large one. Each step can be repeated after a crash.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { IndexOf, Publication, PublishedMemories, PublishIndex, VisibleMemory } from "../ports/chunk-index.ts";
import type { HistoryStore } from "../ports/history-store.ts";
import type { Completion, Job } from "../ports/job-store.ts";
import { type Transactions, UnknownOutcome } from "../ports/transactions.ts";
import { LeaseLost } from "./outcome.ts";

/** A memory that is ready to be published. */
export interface ReadyMemory {
  readonly completion: Completion;
  readonly publication: Publication;
}

/**
 * A round starts when this many chunks wait, even if more memories will be ready soon. A memory with more chunks is
 * large.
 */
const ROUND_CHUNKS = 512;
/**
 * Maximum time, in milliseconds, that a ready memory waits for other memories. A round of any size costs 50 to 100 ms
 * of disk and merge work (docs/measurements.md). Under load there are about three rounds a second, which use less than
 * a third of a core.
 */
const ROUND_WAIT_MS = 400;
/** Version of a memory that is processed for the first time, so that it has no earlier text. */
const FIRST_VERSION = 1;

/** What a publisher needs. */
export interface PublisherDependencies {
  readonly transactions: Transactions;
  /** Extends the leases of jobs. Returns those that are still held. */
  readonly renew: (jobs: readonly Job[]) => Promise<readonly Job[]>;
  /** Returns the memories among these that still have a row, deleted ones included. */
  readonly withRows: (projectId: ProjectId, keys: readonly MemoryKey[]) => Promise<readonly MemoryKey[]>;
  readonly index: IndexOf<PublishIndex> & Pick<PublishedMemories, "contents" | "purge" | "eraseReplaced">;
  readonly history: Pick<HistoryStore, "archived" | "keep">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether more memories will be ready soon, so that waiting for them is worthwhile. */
  readonly isMoreComing: () => boolean;
  /** Memories with more chunks than this are large; default 512. */
  readonly largeChunks?: number | undefined;
}

/** A memory that waits for its round, and the promise of its caller. */
interface Waiting {
  readonly ready: ReadyMemory;
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The memory that is being published in parts. Each step of `parts` publishes the next part. */
interface InParts {
  readonly memory: Waiting;
  readonly parts: AsyncGenerator<void>;
}

/**
 * Publishes ready memories, one step at a time: a step is the next part of a large memory, a round, or one after the
 * other.
 */
export class Publisher {
  readonly #parts: PublisherDependencies;
  readonly #largeChunks: number;
  #waiting: Waiting[] = [];
  #waitingChunks = 0;
  /** Large memories that wait for the one before them. */
  #waitingLarge: Waiting[] = [];
  #large: InParts | null = null;
  #step: Promise<void> | null = null;
  #isClosed = false;
  /** Ends the wait for more memories; null if nothing waits for them. */
  #waitForMore: AbortController | null = null;

  constructor(parts: PublisherDependencies) {
    this.#parts = parts;
    this.#largeChunks = parts.largeChunks ?? ROUND_CHUNKS;
  }

  /** Chunks that wait to be published. A large memory counts as a round, so that it does not stop small ones. */
  get backlogChunks(): number {
    return this.#waitingChunks + this.#waitingLarge.length * ROUND_CHUNKS;
  }

  /**
   * Publishes a memory in one of the next steps. Resolves when its row is `completed`, or when the store refused the
   * result because the memory was deleted or rewritten meanwhile.
   * @throws LeaseLost if the memory was deleted, or rewritten and claimed again, before its round or between its parts;
   *   the error that failed the step; or an Error if the publisher was closed
   */
  publish(ready: ReadyMemory): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closed());
      const waiting = { ready, sinceMs: this.#parts.clock.now(), resolve, reject };
      const chunks = ready.publication.chunks.length;
      if (chunks > this.#largeChunks) {
        this.#waitingLarge.push(waiting);
      } else {
        this.#waiting.push(waiting);
        this.#waitingChunks += chunks;
      }
      this.schedule();
    });
  }

  /** Starts a step if one is due. Call it whenever the result of `isMoreComing` may have changed. */
  schedule(): void {
    if (this.#step !== null || this.#isClosed) return;
    const oldest = this.#waiting[0];
    const waitedMs = oldest === undefined ? 0 : this.#parts.clock.now() - oldest.sinceMs;
    const isFull = this.#waitingChunks >= ROUND_CHUNKS || waitedMs >= ROUND_WAIT_MS;
    const isRoundDue = oldest !== undefined && (isFull || !this.#parts.isMoreComing());
    this.#large ??= this.#nextLarge();
    if (isRoundDue || this.#large !== null) this.#startStep(isRoundDue);
    else if (oldest !== undefined && this.#waitForMore === null) void this.#startRoundAfter(ROUND_WAIT_MS - waitedMs);
  }

  #nextLarge(): InParts | null {
    const memory = this.#waitingLarge.shift();
    return memory === undefined ? null : { memory, parts: publishInParts(this.#parts, memory) };
  }

  #startStep(isRoundDue: boolean): void {
    this.#endWait();
    this.#step = this.#publishNext(isRoundDue ? this.#takeWaiting() : []).finally(() => {
      this.#step = null;
      this.schedule();
    });
  }

  // Publishes a part of the large memory before the memories of the round. If its lease is lost because it has changed,
  // it is retracted that way before its newer version, which may be in the round, is published.
  async #publishNext(round: readonly Waiting[]): Promise<void> {
    if (this.#large !== null && (await this.#publishPart(this.#large))) this.#large = null;
    const byProject = Map.groupBy(round, ({ ready }) => ready.completion.job.projectId);
    for (const [projectId, waiting] of byProject) await this.#publishOfProject(projectId, waiting);
  }

  /** Publishes the next part of a large memory. Returns true if it was the last one, or failed. */
  async #publishPart({ memory, parts }: InParts): Promise<boolean> {
    try {
      return (await parts.next()).done === true;
    } catch (error) {
      memory.reject(error);
      return true;
    }
  }

  async #startRoundAfter(ms: number): Promise<void> {
    const wait = new AbortController();
    this.#waitForMore = wait;
    // At most ROUND_WAIT_MS, even if the clock was set back meanwhile.
    await this.#parts.clock.sleep(Math.min(ms, ROUND_WAIT_MS), wait.signal);
    if (this.#waitForMore !== wait) return;
    this.#waitForMore = null;
    if (this.#step === null && this.#waiting.length > 0) this.#startStep(true);
  }

  /** Stops publishing. Resolves when the running step has ended; memories that are not published are rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endWait();
    await this.#step;
    const unpublished = [...this.#takeWaiting(), ...this.#waitingLarge.splice(0)];
    if (this.#large !== null) unpublished.push(this.#large.memory);
    for (const { reject } of unpublished) reject(closed());
  }

  #takeWaiting(): readonly Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingChunks = 0;
    return waiting;
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
async function publishRound(
  parts: PublisherDependencies,
  projectId: ProjectId,
  waiting: readonly Waiting[],
): Promise<void> {
  const { index: opened, held } = await openIfHeld(parts, projectId, waiting);
  using index = opened;
  for (const memory of waiting) if (!held.includes(memory)) memory.reject(new LeaseLost());
  if (index === null || held.length === 0) return;
  const isErasing = await keepEarlierTexts(parts, held);
  await index.publish(held.map((memory) => memory.ready.publication));
  if (isErasing) await parts.index.eraseReplaced();
  await complete(parts, index, held);
}

/**
 * Publishes a large memory, one part per step, and completes its row in the last step. Before each part it checks the
 * lease. If the lease is lost or a part fails, the parts before are retracted. If the iteration is not continued, they
 * are removed by the next start, or replaced by the next attempt.
 */
async function* publishInParts(parts: PublisherDependencies, memory: Waiting): AsyncGenerator<void> {
  const job = jobOf(memory);
  const { index: opened, held } = await openIfHeld(parts, job.projectId, [memory]);
  using index = opened;
  if (index === null || held.length === 0) throw new LeaseLost();
  const { publication } = memory.ready;
  const isErasing = await keepEarlierTexts(parts, [memory]);
  try {
    for await (const _ of index.publishInParts(publication)) {
      yield;
      if ((await parts.renew([job])).length === 0) throw new LeaseLost();
    }
  } catch (error) {
    await retract(parts, job.projectId, index, [publication.memoryKey]);
    throw error;
  }
  if (isErasing) await parts.index.eraseReplaced();
  await complete(parts, index, [memory]);
}

/** Opens the index of a project, which the caller gives back, and returns the memories whose leases are held. */
async function openIfHeld(parts: PublisherDependencies, projectId: ProjectId, waiting: readonly Waiting[]) {
  const jobs = waiting.map(jobOf);
  // No index is opened for a removed project. One job that is held shows that the project is not removed.
  const isAnyHeld = (await parts.renew(jobs.slice(0, 1))).length > 0 || (await parts.renew(jobs.slice(1))).length > 0;
  const index = isAnyHeld ? await parts.index.project(projectId) : null;
  try {
    const held = new Set(isAnyHeld ? await parts.renew(jobs) : []);
    return { index, held: waiting.filter((memory) => held.has(jobOf(memory))) };
  } catch (error) {
    index?.[Symbol.dispose]();
    throw error;
  }
}

/**
 * Stores the earlier texts that only the text archive has, before a publication replaces them. Returns whether one of
 * them was erased meanwhile, so that the archive has to erase it too.
 */
async function keepEarlierTexts(
  { history, index }: PublisherDependencies,
  published: readonly Waiting[],
): Promise<boolean> {
  const rewritten = published.flatMap((memory) => {
    const { key, version } = jobOf(memory).memory;
    return version === FIRST_VERSION ? [] : [key];
  });
  const archived = await history.archived(rewritten);
  if (archived.size === 0) return false;
  const texts = await index.contents([...archived.keys()]);
  for (const [key, { isWanted }] of archived) {
    await history.keep(key, isWanted ? (texts.get(key)?.content ?? null) : null);
  }
  return [...archived.values()].some(({ isWanted }) => !isWanted);
}

/** Completes the rows of published memories. Retracts those that were deleted or rewritten meanwhile. */
async function complete(
  parts: PublisherDependencies,
  index: PublishIndex,
  published: readonly Waiting[],
): Promise<void> {
  const visible = await completeRows(
    parts.transactions,
    index,
    published.map((memory) => memory.ready.completion),
  );
  for (const memory of published) memory.resolve();
  const shown = new Set(visible.map((memory) => memory.memoryKey));
  const refused = published.map((memory) => memory.ready.publication.memoryKey).filter((key) => !shown.has(key));
  const [first] = published;
  if (first !== undefined && refused.length > 0) await retract(parts, jobOf(first).projectId, index, refused);
}

/** Removes what was published of memories whose rows were not completed. Never rejects. */
async function retract(
  parts: PublisherDependencies,
  projectId: ProjectId,
  index: PublishIndex,
  memoryKeys: readonly MemoryKey[],
): Promise<void> {
  try {
    await index.retract(memoryKeys);
    // A memory may have been purged between the renewal and the publication. Nothing else would remove its text.
    const existing = new Set(await parts.withRows(projectId, memoryKeys));
    const erased = memoryKeys.filter((key) => !existing.has(key));
    if (erased.length > 0) await parts.index.purge(erased);
  } catch (err) {
    // Nothing is lost: the sweep (erasure/erasure.ts) retracts memories that were deleted, and ingestion publishes the
    // others again, which replaces what is left here.
    parts.log.warn({ project: projectId, err }, "memories that are not completed could not be retracted yet");
  }
}

function closed(): Error {
  return new Error("the publisher was closed");
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
  index: PublishIndex,
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
