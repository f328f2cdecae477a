// Who works on memories that are `processing`: claims them, keeps the stages busy without piling work up, and sees to it
// that every job ends. The steps of one memory are in pipeline.ts, publishing in publisher.ts.

import { Fault } from "../domain/fault.ts";
import type { MemoryKey } from "../domain/ids.ts";
import type { FailureCode, Progress, Stage } from "../domain/memory.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import { type DocumentReader, ReadFailure } from "../ports/document-reader.ts";
import type { Finding } from "../ports/finding-store.ts";
import type { Job, JobFilter, UploadedFile } from "../ports/job-store.ts";
import type { Embedder } from "../ports/models.ts";
import { type Prepared, PrepareFailure, type Preparer } from "../ports/preparer.ts";
import type { Stores, Transactions } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import type { Enricher, Inquiry } from "./enrich/enricher.ts";
import { LargeTexts } from "./large-texts.ts";
import {
  contentsOf,
  embedChunks,
  type FoundJob,
  prepareInputOf,
  type ReadJob,
  readyMemory,
  textBytesOf,
  withFinding,
} from "./pipeline.ts";
import { placedChunks } from "./places.ts";
import { Publisher } from "./publisher.ts";
import { removeUnreferencedFiles, sweep } from "./sweep.ts";

/** Jobs per claim and their texts in bytes: enough that a round trip to the preparation process is small beside the work. */
const CLAIM_JOBS = 64;
const CLAIM_CONTENT_BYTES = 1024 * 1024;
/** Tokens that are being embedded at most before the next claim waits; about two seconds of two lanes. */
const EMBEDDING_TOKENS = 48_000;
/** Files that wait to be read at most before the next claim waits; each is a name only. */
const WAITING_FILES = 256;
/** How often it is looked whether there is room for the text of the next file. */
const ROOM_LOOK_MS = 200;
/** What a memory counts of them at most: it is embedded in slices, between which others have their turn, so that three books do
 * not keep everybody else's notes waiting for minutes. */
const MEMORY_TOKENS_COUNTED = EMBEDDING_TOKENS / 4;
/** Chunks that wait for publishing at most before the next claim waits. */
const PUBLISHING_CHUNKS = 4_096;
/** A lease outlives three renewals, so that a stall of the event loop does not hand a job out twice. */
const LEASE_MS = 60_000;
const RENEW_MS = LEASE_MS / 4;
/** Passing failures: 1 s, 2 s, 4 s … 5 min; together about 17 minutes before a memory is given up. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 5 * 60_000;
const ATTEMPTS_MAX = 12;
/** How soon a memory is tried again while the models are away. */
const OUTAGE_RETRY_MS = 5_000;
/** How soon a job's end that could not be stored is stored again: a full disk is mended by a person. */
const UNSTORED_RETRY_MS = 5_000;
/** How often deletions and expiry are carried into the index when nothing wakes the worker. */
const SWEEP_MS = 30_000;
/** How often files that nobody needs are looked for: each kept file is asked for, and only a fault leaves one behind. */
const LOOSE_FILES_MS = 60 * 60_000;

/** What the worker stands on. */
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
  /** A longer text is large, in UTF-8 bytes (large-texts.ts); tests make it small. */
  readonly largeTextBytes?: number | undefined;
}

/** The only mover of a memory's status. */
export class IngestWorker {
  readonly #parts: IngestParts;
  readonly #publisher: Publisher;
  readonly #stop = new AbortController();
  readonly #held = new Map<MemoryKey, Job>();
  readonly #progress = new Map<MemoryKey, Progress>();
  /** Memories about which a language model is asked. */
  readonly #inquiries = new Set<Promise<void>>();
  /** Done when all files that were claimed are read. */
  #fileTurn: Promise<void> = Promise.resolve();
  #waitingFiles = 0;
  readonly #large: LargeTexts;
  #embeddingTokens = 0;
  #embeddingMemories = 0;
  #wake: AbortController = new AbortController();
  #running: Promise<unknown> | null = null;

  constructor(parts: IngestParts) {
    this.#parts = parts;
    this.#large = new LargeTexts(parts.clock, parts.largeTextBytes);
    this.#publisher = new Publisher({
      transactions: parts.transactions,
      renew: async (jobs) => parts.stores.jobs.renew(jobs, LEASE_MS),
      onCompleted: (completions) => {
        for (const { job } of completions) {
          this.#release(job);
          if (job.upload !== null) void parts.files.remove(job.upload.name);
        }
        this.wake();
      },
      index: parts.index,
      log: parts.log,
      isMoreComing: () => this.#embeddingMemories > 0,
      onVoid: (ready) => {
        for (const memory of ready) this.#release(memory.completion.job);
        if (ready.length > 0) this.wake();
      },
      onFailed: (ready, cause) => {
        for (const memory of ready) void this.#giveBack(memory.completion.job, cause);
      },
    });
  }

  /** Begins to work. */
  start(): void {
    this.#running ??= Promise.all([this.#claimLoop(), this.#renewLoop(), this.#sweepLoop()]);
  }

  /** Looks for work now rather than at the next turn. */
  wake(): void {
    this.#wake.abort();
  }

  /** Ends after the steps under way; what was not finished is claimed again after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#publisher.close();
    await this.#running;
    await this.#fileTurn;
    await Promise.all(this.#inquiries);
    for (const job of [...this.#held.values()]) {
      await this.#end(job, () => this.#parts.stores.jobs.retryLater(job, 0, false)); // a stop is no failed attempt
    }
  }

  async #claimLoop(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController();
      try {
        const jobs = this.#hasRoom() ? await this.#claim() : [];
        if (jobs.length > 0) {
          await this.#startJobs(jobs);
          continue;
        }
        const nextMs = async () => (await this.#parts.stores.jobs.nextJobInMs(this.#passedOver())) ?? SWEEP_MS;
        const waitMs = this.#hasRoom() ? await nextMs() : SWEEP_MS;
        await this.#parts.clock.sleep(Math.min(Math.max(waitMs, 1), SWEEP_MS), this.#wake.signal);
      } catch (err) {
        this.#parts.log.error({ err }, "no memory could be claimed; trying again");
        await this.#parts.clock.sleep(RETRY_FIRST_MS, this.#stop.signal);
      }
    }
  }

  #hasRoom(): boolean {
    return this.#waitingFiles < WAITING_FILES && this.#hasRoomForTexts();
  }

  #hasRoomForTexts(): boolean {
    const isEmbedderBusy = this.#embeddingTokens >= EMBEDDING_TOKENS;
    return !isEmbedderBusy && this.#publisher.backlogChunks < PUBLISHING_CHUNKS;
  }

  // A memory that was claimed too often without an end took the whole server down each time.
  async #claim(): Promise<readonly Job[]> {
    const claimed = await this.#parts.stores.jobs.claim({
      jobs: CLAIM_JOBS,
      contentBytes: CLAIM_CONTENT_BYTES,
      leaseMs: LEASE_MS,
      ...this.#passedOver(),
    });
    const jobs = claimed.filter((job) => job.attempt <= ATTEMPTS_MAX);
    for (const job of jobs) this.#held.set(job.memory.key, job);
    for (const job of claimed) {
      if (job.attempt > ATTEMPTS_MAX)
        void this.#giveUp(job, `Processing broke off ${ATTEMPTS_MAX} times without a reason.`);
    }
    return jobs.filter((job) => job.upload !== null || this.#large.admits(job) || this.#putOff(job));
  }

  #passedOver(): JobFilter {
    return { except: this.#parts.enricher.fullProjects(), textBytesMax: this.#large.claimableBytes };
  }

  // It is another large text's turn: the job comes back without counting as tried.
  #putOff(job: Job): false {
    const delayMs = this.#large.putOff(job);
    void this.#end(job, () => this.#parts.stores.jobs.retryLater(job, delayMs, false));
    return false;
  }

  // Files are read one after the other beside the texts: one file may take as long as thousands of those.
  async #startJobs(claimed: readonly Job[]): Promise<void> {
    for (const job of claimed) {
      if (job.upload === null) continue;
      const { upload } = job;
      this.#waitingFiles += 1;
      this.#fileTurn = this.#fileTurn.then(() => this.#startFile(job, upload));
    }
    await this.#startTexts(claimed.filter((job) => job.upload === null));
  }

  async #startTexts(claimed: readonly Job[]): Promise<void> {
    if (claimed.length === 0) return;
    try {
      for (const job of claimed) this.#report(job, "preparing");
      const texts = await contentsOf(this.#parts.index, claimed);
      const read: ReadJob[] = [];
      for (const [position, job] of claimed.entries()) {
        const content = texts[position] ?? null;
        if (content === null) void this.#giveUp(job, "The text of this memory is no longer stored. Send it again.");
        else read.push({ job, content, title: job.facts?.title ?? null, marks: job.facts?.marks ?? [] });
      }
      await this.#extract(read);
    } catch (cause) {
      for (const job of claimed) void this.#giveBack(job, cause);
    }
  }

  async #startFile(job: Job, file: UploadedFile): Promise<void> {
    while (!this.#hasRoomForTexts() && !this.#stop.signal.aborted) {
      await this.#parts.clock.sleep(ROOM_LOOK_MS, this.#stop.signal);
    }
    this.#waitingFiles -= 1;
    if (this.#stop.signal.aborted) return;
    if (this.#parts.enricher.fullProjects().includes(job.projectId)) {
      await this.#end(job, () => this.#parts.stores.jobs.retryLater(job, 0, false)); // it is claimed again when there is room
      return;
    }
    if (!this.#large.admits(job)) return void this.#putOff(job);
    try {
      this.#report(job, "reading");
      const document = { ...file, path: this.#parts.files.pathOf(file.name) };
      const reading = this.#parts.documents.read(document, (pages) => this.#amend(job, { pages }));
      const text = await unlessStopped(reading, this.#stop.signal);
      if (text === null) return;
      if (text instanceof ReadFailure) return await this.#giveUp(job, text.message, text.code);
      if (!this.#large.admitsText(job, textBytesOf(text.content))) return void this.#putOff(job);
      this.#report(job, "preparing");
      await this.#extract([{ job, ...text }]);
    } catch (cause) {
      await this.#giveBack(job, cause);
    }
  }

  // Memories that wait for a language model go on one by one, whenever it has answered; the others go on together, at once.
  async #extract(read: readonly ReadJob[]): Promise<void> {
    const found: FoundJob[] = [];
    for (const each of read) {
      try {
        const pending = await this.#find(each);
        if (pending.isAsked) {
          if (this.#large.end(each.job)) this.wake(); // nobody waits for another project's language model
          this.#inBackground(this.#prepareWhenFound(each, pending.finding));
        } else found.push({ ...each, finding: pending.finding });
      } catch (cause) {
        await this.#giveBack(each.job, cause);
      }
    }
    try {
      if (found.length > 0) await this.#prepare(found);
    } catch (cause) {
      for (const { job } of found) await this.#giveBack(job, cause);
    }
  }

  #find(read: ReadJob): Promise<Inquiry> {
    return this.#parts.enricher.find(read, {
      signal: this.#stop.signal,
      isHeld: () => this.#isHeld(read.job),
      onNote: (note) => this.#amend(read.job, { note }),
    });
  }

  async #prepareWhenFound(read: ReadJob, pending: Promise<Finding | null>): Promise<void> {
    try {
      const finding = await pending;
      this.wake(); // there is room for the project's next
      if (!(await this.#isHeld(read.job))) this.#release(read.job);
      else if (this.#large.admitsText(read.job, textBytesOf(read.content))) await this.#prepare([{ ...read, finding }]);
      else this.#putOff(read.job); // what was found is kept
    } catch (cause) {
      await this.#giveBack(read.job, cause);
    }
  }

  #inBackground(work: Promise<void>): void {
    const inquiry = work.finally(() => this.#inquiries.delete(inquiry));
    this.#inquiries.add(inquiry);
  }

  // Not one that was deleted or rewritten.
  async #isHeld(job: Job): Promise<boolean> {
    return (await this.#parts.stores.jobs.renew([job], LEASE_MS)).length > 0;
  }

  // Embedding goes on in the background while the next texts are prepared.
  async #prepare(read: readonly FoundJob[]): Promise<void> {
    const inputs = read.map((each) => withFinding(prepareInputOf(each), each.finding));
    const outcomes = await unlessStopped(this.#parts.preparer.prepare(inputs), this.#stop.signal);
    if (outcomes === null) return;
    for (const [position, each] of read.entries()) {
      const { job, marks } = each;
      const outcome = outcomes[position];
      if (outcome === undefined || outcome instanceof PrepareFailure) {
        const code = job.upload === null ? "processing_error" : "unreadable_document";
        await this.#giveUp(job, outcome?.message ?? "The text could not be prepared.", code);
      } else {
        void this.#embed(each, { ...outcome, chunks: placedChunks(outcome.chunks, marks) });
      }
    }
  }

  async #embed(read: FoundJob, prepared: Prepared): Promise<void> {
    const { chunks } = prepared;
    const { job } = read;
    const all = chunks.reduce((sum, chunk) => sum + Math.min(chunk.tokens, this.#parts.embedder.tokensMax), 0);
    const tokens = Math.min(all, MEMORY_TOKENS_COUNTED);
    this.#embeddingTokens += tokens;
    this.#embeddingMemories += 1;
    this.#report(job, "embedding", 0, chunks.length);
    try {
      const vectors = await embedChunks(this.#parts.embedder, prepared, this.#stop.signal, (chunksDone) => {
        this.#report(job, "embedding", chunksDone, chunks.length);
        return this.#isHeld(job);
      });
      this.#embeddingMemories -= 1;
      if (vectors === null) {
        this.#release(job);
        this.#publisher.schedule();
        return;
      }
      this.#report(job, "publishing", chunks.length, chunks.length);
      if (!this.#stop.signal.aborted) this.#publisher.add(readyMemory(read, prepared, vectors));
    } catch (cause) {
      this.#embeddingMemories -= 1;
      await this.#giveBack(job, cause);
      this.#publisher.schedule();
    } finally {
      this.#embeddingTokens -= tokens;
      if (this.#hasRoom()) this.wake();
    }
  }

  /** Where a memory in work stands; one that nobody works on yet is queued. */
  progressOf(key: MemoryKey): Progress {
    return this.#progress.get(key) ?? { stage: "queued", note: null, chunksDone: 0, chunksTotal: null, pages: null };
  }

  #report(job: Job, stage: Stage, chunksDone = 0, chunksTotal: number | null = null): void {
    if (this.#held.get(job.memory.key)?.lease !== job.lease) return;
    const { note } = this.progressOf(job.memory.key);
    this.#progress.set(job.memory.key, { stage, note, chunksDone, chunksTotal, pages: null });
  }

  #amend(job: Job, told: Partial<Progress>): void {
    if (this.#held.get(job.memory.key)?.lease !== job.lease) return;
    this.#progress.set(job.memory.key, { ...this.progressOf(job.memory.key), ...told });
  }

  // A newer content may have been claimed meanwhile: what is known of that job stays.
  #release(job: Job): void {
    if (this.#large.end(job)) this.wake();
    if (this.#held.get(job.memory.key)?.lease !== job.lease) return;
    this.#held.delete(job.memory.key);
    this.#progress.delete(job.memory.key);
  }

  // A passing failure: the job comes back later, until it has come back too often.
  async #giveBack(job: Job, cause: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (isOutage(cause)) return this.#end(job, () => this.#parts.stores.jobs.retryLater(job, OUTAGE_RETRY_MS, false));
    if (job.attempt >= ATTEMPTS_MAX) {
      this.#parts.log.error({ memory: job.memory.id, err: cause }, "a memory failed after its last attempt");
      await this.#giveUp(
        job,
        `Processing failed ${ATTEMPTS_MAX} times; the server's log says why. Send the memory again later.`,
      );
      return;
    }
    const delayMs = Math.min(RETRY_FIRST_MS * 2 ** (job.attempt - 1), RETRY_MAX_MS);
    this.#parts.log.warn(
      { memory: job.memory.id, attempt: job.attempt, delayMs, err: cause },
      "a memory will be tried again",
    );
    await this.#end(job, () => this.#parts.stores.jobs.retryLater(job, delayMs));
    this.wake();
  }

  async #giveUp(job: Job, message: string, code: FailureCode = "processing_error"): Promise<void> {
    await this.#end(job, async () => {
      await this.#parts.stores.jobs.fail(job, code, message);
    });
  }

  // Where the end cannot be written down (a full disk), it is tried again until it can; the lease fences it, should it have
  // run out meanwhile.
  async #end(job: Job, write: () => Eventually<void>): Promise<void> {
    this.#release(job);
    try {
      await write();
    } catch (err) {
      this.#parts.log.error({ memory: job.memory.id, err }, "the end of a job could not be stored; trying again");
      void this.#parts.clock.sleep(UNSTORED_RETRY_MS, this.#stop.signal).then(async () => {
        if (!this.#stop.signal.aborted) await this.#end(job, write);
        this.wake();
      });
    }
  }

  async #renewLoop(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#parts.clock.sleep(RENEW_MS, this.#stop.signal);
      try {
        await this.#parts.stores.jobs.renew([...this.#held.values()], LEASE_MS);
      } catch (err) {
        this.#parts.log.warn({ err }, "leases could not be renewed; their jobs may be done twice, which harms nothing");
      }
    }
  }

  // Carries deletions and expiry into the index, and removes for good what was kept long enough.
  async #sweepLoop(): Promise<void> {
    let looseFilesAt = this.#parts.clock.now(); // whoever starts a server has looked just before
    while (!this.#stop.signal.aborted) {
      try {
        const { stores, index, files, log } = this.#parts;
        await sweep({ retirement: stores.retirement, index, files, log });
        if (this.#parts.clock.now() - looseFilesAt >= LOOSE_FILES_MS) {
          // left by a removed project, or by an upload whose transaction was undone
          await removeUnreferencedFiles(files, stores.memories, LOOSE_FILES_MS);
          looseFilesAt = this.#parts.clock.now();
        }
      } catch (err) {
        this.#parts.log.warn({ err }, "what was deleted could not be removed for good yet; trying again");
      }
      await this.#parts.clock.sleep(SWEEP_MS, this.#stop.signal);
    }
  }
}

// A stop does not wait for a large text; what is still said of it afterwards is of no use.
async function unlessStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T | null> {
  const stopped = Promise.withResolvers<null>();
  const onStop = () => stopped.resolve(null);
  stop.addEventListener("abort", onStop, { once: true });
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    stop.removeEventListener("abort", onStop);
    if (stop.aborted) work.catch((error: unknown) => error);
  }
}

// The models are away or busy: not the memory's fault, however long it lasts.
function isOutage(cause: unknown): boolean {
  return cause instanceof Fault && (cause.code === "model_unavailable" || cause.code === "overloaded");
}
