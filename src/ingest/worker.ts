// Ingest worker with three loops: one claims jobs, processes them (job-runner.ts) and stores their results; one renews
// leases; one sweeps deleted memories (erasure/erasure.ts). capacity.ts limits the number of claimed jobs.

import { isOutage } from "../domain/fault.ts";
import type { MemoryKey } from "../domain/ids.ts";
import type { Progress } from "../domain/memory.ts";
import { removeUnreferencedFiles, sweep } from "../erasure/erasure.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { DocumentReader } from "../ports/document-reader.ts";
import type { Job } from "../ports/job-store.ts";
import type { Embedders } from "../ports/models.ts";
import type { PictureRecogniser } from "../ports/picture-recogniser.ts";
import type { Preparer } from "../ports/preparer.ts";
import type { Stores, Transactions } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import { Capacity } from "./capacity.ts";
import { ContainerParts } from "./container-parts.ts";
import { HeldJobs } from "./held-jobs.ts";
import { JobRunner } from "./job-runner.ts";
import { LargeTexts } from "./large-texts.ts";
import type { LlmExtractor } from "./llm-extraction/extractor.ts";
import type { PictureDescriber } from "./llm-extraction/picture-describer.ts";
import { JobFailed, JobPostponed, LeaseLost } from "./outcome.ts";
import { Publisher } from "./publisher.ts";

/**
 * Maximum number of jobs per claim, and maximum number of UTF-8 bytes of their texts. Large enough that a round trip to
 * the preparation process takes little time compared with the work.
 */
const CLAIM_JOBS_MAX = 64;
const CLAIM_CONTENT_BYTES_MAX = 1024 * 1024;
/** A lease lasts longer than three renewals, so that a blocked event loop does not cause a job to be claimed twice. */
const LEASE_MS = 60_000;
const RENEW_MS = LEASE_MS / 4;
/** Backoff after transient failures: 1 s, 2 s, 4 s … 5 min. After about 19 minutes the memory is `failed`. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 5 * 60_000;
const ATTEMPTS_MAX = 12;
/** Delay before a job is tried again while the models are unavailable. */
const OUTAGE_RETRY_MS = 5_000;
/** Delay between attempts to store the result of a job, for instance while the disk is full. */
const STORE_RETRY_MS = 5_000;
/** Interval between sweeps. Also the longest sleep between two attempts to claim jobs. */
const SWEEP_MS = 30_000;
/**
 * Interval between checks for unreferenced files, and minimum age of a file that such a check removes. It is long,
 * because a check reads the names of all files, and unreferenced files are rare.
 */
const UNREFERENCED_FILES_MS = 60 * 60_000;

/** What the worker needs. */
export interface IngestDependencies {
  readonly stores: Pick<Stores, "memories" | "jobs" | "retirement" | "history">;
  readonly transactions: Transactions;
  readonly files: UploadFiles;
  readonly index: ChunkIndex;
  readonly documents: DocumentReader;
  readonly pictures: PictureRecogniser;
  readonly describer: Pick<PictureDescriber, "isWanted" | "describe">;
  readonly accounts: Pick<AccountStore, "project">;
  readonly extractor: LlmExtractor;
  readonly preparer: Preparer;
  readonly embedders: Pick<Embedders, "withFingerprint">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the disk has space for new data. Without it, jobs wait. */
  readonly hasSpace: () => boolean;
  /** Whether this process claims jobs. Default: yes. */
  readonly claimsJobs?: boolean;
  /**
   * Maximum time in milliseconds between two attempts to claim jobs, if other processes add jobs without a `wake` here.
   */
  readonly claimEveryMs?: number | undefined;
  /** Whether this process sweeps the rows of deleted memories. Another one may do it. Default: yes. */
  readonly sweepsRows?: () => Eventually<boolean>;
  /** Texts with more UTF-8 bytes than this are large (large-texts.ts); tests use a small number. */
  readonly largeTextBytes?: number | undefined;
  /** Memories with more chunks than this are published in parts (publisher.ts); tests use a small number. */
  readonly largeChunks?: number | undefined;
}

/** Processes jobs until it is stopped. No other code stores the result of a job. */
export class IngestWorker {
  readonly #uses: IngestDependencies;
  readonly #stop = new AbortController();
  readonly #held = new HeldJobs();
  readonly #large: LargeTexts;
  readonly #capacity: Capacity;
  readonly #publisher: Publisher;
  readonly #runner: JobRunner;
  /** One promise per job in progress. It resolves when the job's result is stored. */
  readonly #processing = new Set<Promise<void>>();
  #wake: AbortController = new AbortController();
  /**
   * The last search for jobs with this filter found none, and none is due before `untilMs` (Unix milliseconds) unless
   * `wake` is called. null if there may be jobs.
   */
  #foundNone: { readonly filter: string; readonly untilMs: number } | null = null;
  #running: Promise<unknown> | null = null;

  constructor(uses: IngestDependencies) {
    this.#uses = uses;
    const { stores, transactions, index, files, documents, pictures, accounts } = uses;
    const { extractor, describer, preparer, embedders, clock, log } = uses;
    const { jobs } = stores;
    this.#large = new LargeTexts(clock, uses.largeTextBytes);
    this.#capacity = new Capacity({
      publishingChunks: () => this.#publisher.backlogChunks,
      onRelease: () => this.#endSleep(),
      preparers: preparer.parallelMax,
      clock,
    });
    this.#publisher = new Publisher({
      transactions,
      renew: async (renewed) => jobs.renew(renewed, LEASE_MS),
      withRows: async (id, keys) => (await jobs.published(id, keys)).map(({ memory }) => memory.key),
      index,
      history: stores.history,
      clock,
      log,
      isMoreComing: () => this.#capacity.isMoreComing,
      largeChunks: uses.largeChunks,
    });
    this.#runner = new JobRunner({
      ...{ jobs, index, files, documents, pictures, accounts, extractor, describer, preparer, embedders, clock, log },
      ...{ publisher: this.#publisher, capacity: this.#capacity, large: this.#large, held: this.#held },
      parts: new ContainerParts({
        ...{ memories: stores.memories, transactions, files, index },
        ...{ leaseMs: LEASE_MS, wake: () => this.wake() },
      }),
      leaseMs: LEASE_MS,
      stop: this.#stop.signal,
      wake: () => this.wake(),
    });
  }

  /** Starts the loops. */
  start(): void {
    const ofJobs = this.#uses.claimsJobs === false ? [] : [() => this.#claimLoop(), () => this.#renewLoop()];
    this.#running ??= Promise.all([...ofJobs.map((loop) => loop()), this.#sweepLoop()]);
  }

  /** Looks for jobs now, without waiting until the next known job is due. */
  wake(): void {
    this.#foundNone = null;
    this.#endSleep();
  }

  /** Ends the sleep of the claim loop, which then looks for jobs unless it knows that there are none. */
  #endSleep(): void {
    this.#wake.abort();
  }

  /** Stops. Resolves when the running steps have ended. Unfinished jobs are claimed again after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#publisher.close();
    await this.#running;
    await Promise.all(this.#processing);
    // A stop does not count as an attempt.
    for (const job of this.#held.all) await this.#end(job, () => this.#uses.stores.jobs.retryLater(job, 0, false));
  }

  /** Progress of a memory; `queued` if it is not being processed. */
  progressOf(key: MemoryKey): Progress {
    return this.#held.progressOf(key);
  }

  /** Claims jobs while there is room for them. Otherwise sleeps until a job is due or `wake` is called. */
  async #claimLoop(): Promise<void> {
    const { clock, log } = this.#uses;
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController(); // before the claim, so that a wake during the claim ends the sleep after it
      try {
        const canClaim = this.#capacity.hasRoomForJobs && this.#uses.hasSpace() && this.#noJobsForMs() === 0;
        const claimed = canClaim ? await this.#claim() : 0;
        if (claimed === 0) await clock.sleep(await this.#idleMs(), this.#wake.signal);
      } catch (err) {
        log.error({ err }, "jobs could not be claimed; trying again");
        await clock.sleep(RETRY_FIRST_MS, this.#stop.signal);
      }
    }
  }

  /** Milliseconds until the next job is due. Without room, a released slot wakes the loop earlier. */
  async #idleMs(): Promise<number> {
    if (!this.#uses.hasSpace()) return STORE_RETRY_MS;
    if (!this.#capacity.hasRoomForJobs) return SWEEP_MS;
    const noJobsForMs = this.#noJobsForMs();
    if (noJobsForMs > 0) return noJobsForMs;
    const { claimFilter } = this.#runner;
    const { signal } = this.#wake;
    const dueInMs = (await this.#uses.stores.jobs.nextJobInMs(claimFilter)) ?? SWEEP_MS;
    const idleMs = Math.min(Math.max(dueInMs, 1), this.#claimEveryMs);
    if (!signal.aborted)
      this.#foundNone = { filter: JSON.stringify(claimFilter), untilMs: this.#uses.clock.now() + idleMs };
    return idleMs;
  }

  /** Time in milliseconds during which no job is due; 0 if there may be one. */
  #noJobsForMs(): number {
    if (this.#foundNone === null || this.#foundNone.filter !== JSON.stringify(this.#runner.claimFilter)) return 0;
    return Math.min(Math.max(0, this.#foundNone.untilMs - this.#uses.clock.now()), this.#claimEveryMs);
  }

  get #claimEveryMs(): number {
    return this.#uses.claimEveryMs ?? SWEEP_MS;
  }

  /** Claims jobs and starts to process them. Returns their number. */
  async #claim(): Promise<number> {
    const jobs = await this.#uses.stores.jobs.claim({
      jobs: CLAIM_JOBS_MAX,
      contentBytes: CLAIM_CONTENT_BYTES_MAX,
      leaseMs: LEASE_MS,
      ...this.#runner.claimFilter,
    });
    for (const job of jobs) {
      this.#held.add(job);
      const processing = this.#process(job).finally(() => this.#processing.delete(processing));
      this.#processing.add(processing);
    }
    return jobs.length;
  }

  /** Processes a job and stores its result. Never rejects. */
  async #process(job: Job): Promise<void> {
    const { stores, log } = this.#uses;
    try {
      // every earlier attempt ended without a stored result, so each probably crashed the server
      if (job.attempt > ATTEMPTS_MAX) {
        throw new JobFailed("processing_error", `Processing stopped ${ATTEMPTS_MAX} times without a known reason.`);
      }
      await this.#runner.run(job);
      this.#release(job);
      const file = job.upload?.name ?? job.textFile?.name ?? null;
      if (file !== null) await this.#removeUnreferenced(file);
      return this.#endSleep();
    } catch (error) {
      if (error instanceof LeaseLost) this.#release(job);
      else if (this.#stop.signal.aborted) return;
      else if (error instanceof JobFailed) {
        await this.#end(job, async () => void (await stores.jobs.fail(job, error.code, error.message)));
      } else if (error instanceof JobPostponed) {
        await this.#end(job, () => stores.jobs.retryLater(job, error.delayMs, false));
      } else if (isOutage(error)) {
        // Unavailable or overloaded models are not the memory's fault, however long that lasts.
        await this.#end(job, () => stores.jobs.retryLater(job, OUTAGE_RETRY_MS, false));
      } else if (job.attempt >= ATTEMPTS_MAX) {
        log.error({ memory: job.memory.id, err: error }, "a memory failed after its last attempt");
        const message = `Processing failed ${ATTEMPTS_MAX} times; the server's log has the reason. Send the memory again later.`;
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

  // Removes the file of a job that ended. If the lease expired, because the machine was suspended for example, a later
  // job of the same memory still needs the file.
  async #removeUnreferenced(name: string): Promise<void> {
    const { stores, files } = this.#uses;
    for (const file of await stores.memories.unreferencedFiles([name])) await files.remove(file);
  }

  #release(job: Job): void {
    this.#large.end(job);
    this.#held.remove(job);
  }

  // Stores the result of a job and retries until that succeeds, for instance while the disk is full. If the lease
  // expires meanwhile, a late result does not change a newer job, whose lease has another number.
  async #end(job: Job, store: () => Eventually<void>): Promise<void> {
    this.#release(job);
    try {
      await store();
    } catch (err) {
      this.#uses.log.error({ memory: job.memory.id, err }, "the end of a job could not be stored; trying again");
      void this.#uses.clock.sleep(STORE_RETRY_MS, this.#stop.signal).then(async () => {
        if (!this.#stop.signal.aborted) await this.#end(job, store);
        this.wake();
      });
    }
  }

  async #renewLoop(): Promise<void> {
    const { stores, clock, log } = this.#uses;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(RENEW_MS, this.#stop.signal);
      try {
        await stores.jobs.renew(this.#held.all, LEASE_MS);
      } catch (err) {
        log.warn({ err }, "leases could not be renewed; their jobs may be processed twice, which is harmless");
      }
    }
  }

  async #sweepLoop(): Promise<void> {
    const { stores, index, files, clock, log } = this.#uses;
    let filesCheckedAt = clock.now(); // the server checks them before it starts the worker
    while (!this.#stop.signal.aborted) {
      try {
        const sweepsRows = (await this.#uses.sweepsRows?.()) ?? true;
        await sweep({ retirement: stores.retirement, history: stores.history, index, files, log, sweepsRows });
        if (clock.now() - filesCheckedAt >= UNREFERENCED_FILES_MS) {
          // Unreferenced files are left by removed projects and by uploads whose transaction was rolled back.
          await removeUnreferencedFiles(files, stores.memories, UNREFERENCED_FILES_MS);
          filesCheckedAt = clock.now();
        }
      } catch (err) {
        log.warn({ err }, "deleted memories could not be erased; trying again later");
      }
      await clock.sleep(SWEEP_MS, this.#stop.signal);
    }
  }
}
