// Rebuilds the derived parts of published memories (vectors, postings, entities) from their texts, while searches and
// writes go on. A search finds either the old or the new parts of a memory. The progress is not stored: a run that was
// stopped or killed starts again from the beginning.

import { Fault, isOutage } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { ReindexEvent } from "../domain/reindex-event.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import {
  type IndexOf,
  type ModelIndex,
  OtherModel,
  type PublishedMemories,
  type Rebuild,
  type StoredMemory,
} from "../ports/chunk-index.ts";
import type { Job, JobStore } from "../ports/job-store.ts";
import type { LlmExtractionStore } from "../ports/llm-extraction-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Embedder, Embedders } from "../ports/models.ts";
import { PrepareFailure, type Preparer } from "../ports/preparer.ts";
import { embedChunks } from "./embed-chunks.ts";
import { areSame, batchesOf, type PreparedAgain, prepareAgain } from "./published-texts.ts";
import { readyMemory } from "./step-inputs.ts";
import { untilIndexed } from "./until-indexed.ts";
import { checkVectors } from "./vector-builder.ts";

/** Maximum number of memories whose keys, and whose rows, are read at once. */
const PAGE_KEYS = 500;
const PAGE_MEMORIES = 64;
/** Milliseconds before a batch is tried again while models are unavailable or the project's model changes. */
const RETRY_MS = 5_000;
/** Maximum number of attempts with one batch: half an hour. */
const ATTEMPTS_MAX = 360;
/** Interval, in milliseconds, between checks whether ingestion has indexed memories again. */
const POLL_MS = 1_000;

/** What rebuilding needs. */
export interface ReindexerDependencies {
  readonly index: IndexOf<ModelIndex> & Pick<PublishedMemories, "stored">;
  readonly memories: Pick<MemoryStore, "visible">;
  readonly jobs: Pick<JobStore, "published" | "reopen">;
  readonly extractions: Pick<LlmExtractionStore, "previous">;
  readonly preparer: Preparer;
  readonly embedders: Embedders;
  /** Called when memories have to be indexed by ingestion. */
  readonly wakeIngest: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

type Counts = { -readonly [Name in "rebuilt" | "changed" | "ingested" | "kept"]: number };

/** Rebuilds projects, one run at a time. */
export class Reindexer {
  readonly #uses: ReindexerDependencies;
  readonly #stop = new AbortController();
  #isRunning = false;
  #step: Promise<unknown> = Promise.resolve();

  constructor(uses: ReindexerDependencies) {
    this.#uses = uses;
  }

  /** Ends a run. Resolves when its current step has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([this.#step]);
  }

  /**
   * Rebuilds projects, one after the other. Yields the progress after each batch, and a result per project. The work
   * pauses while nobody asks for the next event, and ends when the generator is returned.
   * @param chunksPerSecond null: as many as queries and ingestion leave time for
   * @throws Fault `invalid_state` if another run is going on
   */
  async *run(projects: readonly ProjectId[], chunksPerSecond: number | null): AsyncGenerator<ReindexEvent> {
    if (this.#isRunning) throw new Fault("invalid_state", "A reindex is running already: wait until it has ended.");
    this.#isRunning = true;
    const pace = new Pace(chunksPerSecond, this.#uses.clock, this.#stop.signal);
    try {
      const keysOf = new Map<ProjectId, readonly MemoryKey[]>();
      for (const id of projects) keysOf.set(id, await this.#completedKeys(id));
      const total = [...keysOf.values()].reduce((sum, keys) => sum + keys.length, 0);
      let done = 0;
      for (const [projectId, keys] of keysOf) {
        const counts: Counts = { rebuilt: 0, changed: 0, ingested: 0, kept: 0 };
        const toIngest: MemoryKey[] = [];
        for (let first = 0; first < keys.length; first += PAGE_MEMORIES) {
          const page = keys.slice(first, first + PAGE_MEMORIES);
          const jobs = await this.#uses.jobs.published(projectId, page);
          counts.changed += page.length - jobs.length;
          done += page.length - jobs.length;
          for (const batch of batchesOf(jobs)) {
            await this.#stepOf(async () => {
              toIngest.push(...(await this.#rebuildBatch(projectId, batch, pace, counts)));
            });
            done += batch.length;
            yield { type: "progress", memories_done: done, memories_total: total };
          }
        }
        for await (const _ of this.#ingested(projectId, toIngest)) {
          yield { type: "progress", memories_done: done, memories_total: total };
        }
        yield { type: "project", project_id: projectId, memories: keys.length, ...counts };
      }
    } finally {
      this.#isRunning = false;
    }
  }

  async #completedKeys(projectId: ProjectId): Promise<readonly MemoryKey[]> {
    const keys: MemoryKey[] = [];
    for (;;) {
      const page = { afterKey: keys.at(-1) ?? null, limit: PAGE_KEYS };
      const memories = await this.#uses.memories.visible(projectId, page);
      keys.push(...memories.map(({ memoryKey }) => memoryKey));
      if (memories.length < PAGE_KEYS) return keys;
    }
  }

  /** Runs a step that `stop` waits for. */
  async #stepOf(work: () => Promise<void>): Promise<void> {
    this.#stop.signal.throwIfAborted();
    const step = work();
    this.#step = step;
    await step;
  }

  /** Rebuilds a batch, and tries again while models are unavailable. Returns memories that ingestion has to index. */
  async #rebuildBatch(projectId: ProjectId, batch: readonly Job[], pace: Pace, counts: Counts): Promise<MemoryKey[]> {
    const { clock, log } = this.#uses;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#rebuildOnce(projectId, batch, pace, counts);
      } catch (error) {
        this.#stop.signal.throwIfAborted();
        if (error instanceof Fault && error.code === "project_not_found") {
          counts.changed += batch.length;
          return [];
        }
        if (!(isOutage(error) || error instanceof OtherModel) || attempt === ATTEMPTS_MAX) throw error;
        log.warn({ projectId, err: error }, "memories could not be rebuilt yet; trying again");
        await clock.sleep(RETRY_MS, this.#stop.signal);
      }
    }
  }

  async #rebuildOnce(projectId: ProjectId, batch: readonly Job[], pace: Pace, counts: Counts): Promise<MemoryKey[]> {
    using project = await this.#uses.index.project(projectId);
    const { live } = await project.models();
    const embedder = this.#uses.embedders.withFingerprint(live.fingerprint);
    if (embedder === null) throw new OtherModel(`the model ${live.fingerprint} is not installed`);
    const { jobs, stored } = await this.#current(projectId, batch);
    const prepared = await prepareAgain(this.#uses, jobs, stored);
    const rebuilds: Rebuild[] = [];
    let kept = jobs.length - prepared.length;
    for (const memory of prepared) {
      const rebuild = await this.#rebuildOf(projectId, embedder, memory, pace);
      if (rebuild === null) kept += 1;
      else rebuilds.push(rebuild);
    }
    const withChunks = rebuilds.filter(({ chunks }) => chunks.length > 0);
    const skipped = await project.rebuild(withChunks);
    const again = await this.#current(
      projectId,
      jobs.filter(({ memory }) => skipped.includes(memory.key)),
    );
    // `rebuild` skips a memory if its chunks changed in the meantime, or if its index lacks some of them. If the stored
    // chunks are still the same, the index lacks some, and the memory has to be ingested again.
    const keysOf = (memory: StoredMemory | undefined) => memory?.chunks.map(({ chunkKey }) => chunkKey).join();
    const lacking: MemoryKey[] = [];
    for (const { memory } of again.jobs) {
      if (keysOf(again.stored.get(memory.key)) !== keysOf(stored.get(memory.key))) continue;
      if (await this.#isVisible(projectId, memory.key)) lacking.push(memory.key);
    }
    counts.rebuilt += rebuilds.length - skipped.length;
    counts.ingested += lacking.length;
    counts.changed += batch.length - jobs.length + skipped.length - lacking.length;
    counts.kept += kept;
    return lacking;
  }

  /** Memories of a batch that are completed now, with their texts. */
  async #current(projectId: ProjectId, batch: readonly Job[]) {
    const keys = batch.map(({ memory }) => memory.key);
    // In this order: a text that is replaced in between has other chunk keys than the index, and is skipped.
    const stored = await this.#uses.index.stored(keys);
    const jobs = await this.#uses.jobs.published(projectId, keys);
    return { stored, jobs: jobs.filter(({ memory }) => memory.state.status === "completed") };
  }

  /** Whether a memory is completed, and neither deleted nor expired. */
  async #isVisible(projectId: ProjectId, key: MemoryKey): Promise<boolean> {
    const page = { afterKey: (key - 1n) as MemoryKey, limit: 1 };
    const [next] = await this.#uses.memories.visible(projectId, page);
    return next?.memoryKey === key;
  }

  /** The new parts of a memory; null if today's preparation cuts its text into other chunks than the stored ones. */
  async #rebuildOf(
    projectId: ProjectId,
    embedder: Embedder,
    { extracted, stored, outcome }: PreparedAgain,
    pace: Pace,
  ): Promise<Rebuild | null> {
    if (outcome instanceof PrepareFailure || !areSame(outcome.chunks, stored.chunks)) return null;
    const { chunks } = outcome;
    let done = 0;
    const embedding = { share: projectId, signal: this.#stop.signal };
    const vectors = await embedChunks(embedder, outcome, embedding, async (chunksDone) => {
      await pace.take(chunksDone - done);
      done = chunksDone;
      return true;
    });
    await pace.take(chunks.length - done);
    const all = vectors ?? new Float32Array();
    checkVectors(embedder, all, chunks.length);
    const { publication } = readyMemory(extracted, outcome, [{ fingerprint: embedder.fingerprint, vectors: all }]);
    return { ...publication, chunkKeys: stored.chunks.map(({ chunkKey }) => chunkKey) };
  }

  /** Has ingestion index memories again. Yields after each check that finds some of them not done. */
  async *#ingested(projectId: ProjectId, keys: readonly MemoryKey[]): AsyncGenerator<void> {
    if (keys.length === 0) return;
    const { jobs, wakeIngest, clock } = this.#uses;
    const { signal } = this.#stop;
    await jobs.reopen(keys);
    wakeIngest();
    for await (const waiting of untilIndexed({ jobs, clock, pollMs: POLL_MS }, projectId, keys, signal)) {
      if (waiting === 0) return;
      signal.throwIfAborted();
      yield;
    }
  }
}

/** Waits if chunks were computed faster than the rate limit allows. */
class Pace {
  #dueAt = 0;

  constructor(
    private readonly chunksPerSecond: number | null,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
  ) {}

  /** Counts chunks that were computed, and waits until others may follow. */
  async take(chunks: number): Promise<void> {
    if (this.chunksPerSecond === null) return;
    this.#dueAt = Math.max(this.#dueAt, this.clock.now()) + (chunks / this.chunksPerSecond) * 1000;
    const waitMs = this.#dueAt - this.clock.now();
    if (waitMs > 0) await this.clock.sleep(waitMs, this.signal);
    this.signal.throwIfAborted();
  }
}
