// Claims memories that are `processing`, has each of them processed (job-runner.ts), and stores how each job ends. Also
// renews leases and sweeps what was deleted.

import { Fault } from "../domain/fault.ts";
import type { MemoryKey } from "../domain/ids.ts";
import type { Progress } from "../domain/memory.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { DocumentReader } from "../ports/document-reader.ts";
import type { Job } from "../ports/job-store.ts";
import type { Embedder } from "../ports/models.ts";
import type { Preparer } from "../ports/preparer.ts";
import type { Stores, Transactions } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import { Capacity } from "./capacity.ts";
import type { Enricher } from "./enrich/enricher.ts";
import { JobRunner } from "./job-runner.ts";
import { LargeTexts } from "./large-texts.ts";
import { JobPostponed, JobRefused, JobVoid } from "./outcome.ts";
import { HeldJobs } from "./progress.ts";
import { Publisher } from "./publisher.ts";
import { removeUnreferencedFiles, sweep } from "./sweep.ts";

/**
 * Jobs per claim, and UTF-8 bytes of their texts: enough that a round trip to the preparation process is small beside
 * the work.
 */
const CLAIM_JOBS = 64;
const CLAIM_CONTENT_BYTES = 1024 * 1024;
/** A lease outlives three renewals, so that a stall of the event loop does not give a job out twice. */
const LEASE_MS = 60_000;
const RENEW_MS = LEASE_MS / 4;
/** Delays after passing failures: 1 s, 2 s, 4 s … 5 min; together about 17 minutes before a memory is given up. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 5 * 60_000;
const ATTEMPTS_MAX = 12;
/** Delay while the models are unavailable. */
const OUTAGE_RETRY_MS = 5_000;
/** Delay before the end of a job that could not be stored is stored again: somebody has to make room on a full disk. */
const UNSTORED_RETRY_MS = 5_000;
/** How often deletions and expiry are carried into the index. */
const SWEEP_MS = 30_000;
/** How often unreferenced files are looked for: every kept file is checked, and only a fault leaves one behind. */
const UNREFERENCED_FILES_MS = 60 * 60_000;

/** What the worker needs. */
export interface IngestParts {
  readonly stores: Pick<Stores, "memories" | "jobs" | "retirement">;
  readonly transactions: Transactions;
  readonly files: UploadFiles;
  readonly index: ChunkIndex;
  readonly documents: DocumentReader;
  readonly enricher: Enricher;
  readonly preparer: Preparer;
  readonly embedder: Embedder;
  readonly clock: Clock;
  readonly log: Log;
  /** Texts longer than this are large, in UTF-8 bytes (large-texts.ts); tests make it small. */
  readonly largeTextBytes?: number | undefined;
}

/** Processes jobs until it is stopped. Only the worker ends jobs. */
export class IngestWorker {
  readonly #parts: IngestParts;
  readonly #stop = new AbortController();
  readonly #held = new HeldJobs();
  readonly #large: LargeTexts;
  readonly #capacity: Capacity;
  readonly #publisher: Publisher;
  readonly #runner: JobRunner;
  /** Jobs that are processed, until their end is stored. */
  readonly #processing = new Set<Promise<void>>();
  #wake: AbortController = new AbortController();
  #running: Promise<unknown> | null = null;

  constructor(parts: IngestParts) {
    this.#parts = parts;
    const { stores, transactions, index, files, documents, enricher, preparer, embedder, clock, log } = parts;
    const { jobs } = stores;
    this.#large = new LargeTexts(clock, parts.largeTextBytes);
    this.#capacity = new Capacity(
      () => this.#publisher.backlogChunks,
      () => this.wake(),
    );
    this.#publisher = new Publisher({
      transactions,
      renew: async (renewed) => jobs.renew(renewed, LEASE_MS),
      index,
      log,
      isMoreComing: () => this.#capacity.isEmbedding,
    });
    this.#runner = new JobRunner({
      ...{ jobs, index, files, documents, enricher, preparer, embedder, clock },
      ...{ publisher: this.#publisher, capacity: this.#capacity, large: this.#large, held: this.#held },
      leaseMs: LEASE_MS,
      stop: this.#stop.signal,
      wake: () => this.wake(),
    });
  }

  /** Begins to work. */
  start(): void {
    this.#running ??= Promise.all([this.#claimLoop(), this.#renewLoop(), this.#sweepLoop()]);
  }

  /** Looks for jobs now rather than later. */
  wake(): void {
    this.#wake.abort();
  }

  /** Ends after the steps that are running. Unfinished jobs are claimed again after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#publisher.close();
    await this.#running;
    await Promise.all(this.#processing);
    // a stop is no failed attempt
    for (const job of this.#held.all) await this.#end(job, () => this.#parts.stores.jobs.retryLater(job, 0, false));
  }

  /** Progress of a memory; one that nobody works on is queued. */
  progressOf(key: MemoryKey): Progress {
    return this.#held.progressOf(key);
  }

  async #claimLoop(): Promise<void> {
    const { stores, clock, log } = this.#parts;
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController();
      try {
        const hasRoom = this.#capacity.hasRoomForJobs;
        if (hasRoom && (await this.#claim()) > 0) continue;
        const dueMs = hasRoom ? await stores.jobs.nextJobInMs(this.#runner.passedOver) : null;
        await clock.sleep(Math.min(Math.max(dueMs ?? SWEEP_MS, 1), SWEEP_MS), this.#wake.signal);
      } catch (err) {
        log.error({ err }, "no memory could be claimed; trying again");
        await clock.sleep(RETRY_FIRST_MS, this.#stop.signal);
      }
    }
  }

  /** Claims jobs and begins to process them. Returns how many. */
  async #claim(): Promise<number> {
    const jobs = await this.#parts.stores.jobs.claim({
      jobs: CLAIM_JOBS,
      contentBytes: CLAIM_CONTENT_BYTES,
      leaseMs: LEASE_MS,
      ...this.#runner.passedOver,
    });
    for (const job of jobs) {
      this.#held.add(job);
      const processing = this.#process(job).finally(() => this.#processing.delete(processing));
      this.#processing.add(processing);
    }
    return jobs.length;
  }

  /** Processes a job and stores how it ends. Never rejects. */
  async #process(job: Job): Promise<void> {
    const { stores, files, log } = this.#parts;
    try {
      // a memory that was claimed so often without an end took the whole server down each time
      if (job.attempt > ATTEMPTS_MAX) {
        throw new JobRefused("processing_error", `Processing broke off ${ATTEMPTS_MAX} times without a reason.`);
      }
      await this.#runner.run(job);
      this.#release(job);
      if (job.upload !== null) await files.remove(job.upload.name);
    } catch (error) {
      if (error instanceof JobVoid) this.#release(job);
      else if (this.#stop.signal.aborted) return;
      else if (error instanceof JobRefused) {
        await this.#end(job, async () => void (await stores.jobs.fail(job, error.code, error.message)));
      } else if (error instanceof JobPostponed) {
        await this.#end(job, () => stores.jobs.retryLater(job, error.delayMs, false));
      } else if (isOutage(error)) {
        await this.#end(job, () => stores.jobs.retryLater(job, OUTAGE_RETRY_MS, false));
      } else if (job.attempt >= ATTEMPTS_MAX) {
        log.error({ memory: job.memory.id, err: error }, "a memory failed after its last attempt");
        const message = `Processing failed ${ATTEMPTS_MAX} times; the server's log says why. Send the memory again later.`;
        await this.#end(job, async () => void (await stores.jobs.fail(job, "processing_error", message)));
      } else {
        const delayMs = Math.min(RETRY_FIRST_MS * 2 ** (job.attempt - 1), RETRY_MAX_MS);
        const { attempt } = job;
        log.warn({ memory: job.memory.id, attempt, delayMs, err: error }, "a memory will be tried again");
        await this.#end(job, () => stores.jobs.retryLater(job, delayMs));
      }
    }
    this.wake();
  }

  #release(job: Job): void {
    this.#large.end(job);
    this.#held.remove(job);
  }

  // If the end cannot be stored (a full disk), this is tried until it can. Should the lease run out meanwhile, the
  // fencing token keeps a late end from changing a newer job.
  async #end(job: Job, store: () => Eventually<void>): Promise<void> {
    this.#release(job);
    try {
      await store();
    } catch (err) {
      this.#parts.log.error({ memory: job.memory.id, err }, "the end of a job could not be stored; trying again");
      void this.#parts.clock.sleep(UNSTORED_RETRY_MS, this.#stop.signal).then(async () => {
        if (!this.#stop.signal.aborted) await this.#end(job, store);
        this.wake();
      });
    }
  }

  async #renewLoop(): Promise<void> {
    const { stores, clock, log } = this.#parts;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(RENEW_MS, this.#stop.signal);
      try {
        await stores.jobs.renew(this.#held.all, LEASE_MS);
      } catch (err) {
        log.warn({ err }, "leases could not be renewed; their jobs may be done twice, which is harmless");
      }
    }
  }

  // Carries deletions and expiry into the index, and erases what was kept long enough.
  async #sweepLoop(): Promise<void> {
    const { stores, index, files, clock, log } = this.#parts;
    let filesCheckedAt = clock.now(); // they were checked at the start
    while (!this.#stop.signal.aborted) {
      try {
        await sweep({ retirement: stores.retirement, index, files, log });
        if (clock.now() - filesCheckedAt >= UNREFERENCED_FILES_MS) {
          // left by a removed project, or by an upload whose transaction was undone
          await removeUnreferencedFiles(files, stores.memories, UNREFERENCED_FILES_MS);
          filesCheckedAt = clock.now();
        }
      } catch (err) {
        log.warn({ err }, "deleted memories could not be erased yet; trying again");
      }
      await clock.sleep(SWEEP_MS, this.#stop.signal);
    }
  }
}

// The models are unavailable or busy: not the memory's fault, however long it lasts.
function isOutage(cause: unknown): boolean {
  return cause instanceof Fault && (cause.code === "model_unavailable" || cause.code === "overloaded");
}
