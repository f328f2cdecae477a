// Processes one job: read, extract, prepare, embed, publish. worker.ts claims the jobs and stores how they end.

import type { Clock } from "../kit/clock.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import { type DocumentReader, ReadFailure } from "../ports/document-reader.ts";
import type { Job, JobFilter, JobStore, UploadedFile } from "../ports/job-store.ts";
import type { LlmExtraction } from "../ports/llm-extraction-store.ts";
import type { Embedder } from "../ports/models.ts";
import { type Prepared, PrepareFailure, type PrepareInput, type Preparer } from "../ports/preparer.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import { Batcher } from "./batcher.ts";
import type { Capacity, Place } from "./capacity.ts";
import type { Enricher } from "./enrich/enricher.ts";
import type { LargeTexts } from "./large-texts.ts";
import { JobPostponed, JobRefused, JobVoid } from "./outcome.ts";
import {
  type ExtractedJob,
  embedChunks,
  prepareInputOf,
  type ReadJob,
  readyMemory,
  textBytesOf,
  withExtraction,
} from "./pipeline.ts";
import { placedChunks } from "./places.ts";
import type { HeldJobs } from "./progress.ts";
import type { Publisher } from "./publisher.ts";

/** How often a file that waits looks whether there is room for its text. */
const ROOM_LOOK_MS = 200;

/** What processing a job needs. */
export interface JobRunnerParts {
  readonly jobs: Pick<JobStore, "renew">;
  readonly index: Pick<ChunkIndex, "contents">;
  readonly files: Pick<UploadFiles, "pathOf">;
  readonly documents: DocumentReader;
  readonly enricher: Pick<Enricher, "find" | "fullProjects">;
  readonly preparer: Preparer;
  readonly embedder: Embedder;
  readonly publisher: Publisher;
  readonly capacity: Capacity;
  readonly large: LargeTexts;
  readonly held: HeldJobs;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Aborts when the worker stops. */
  readonly stop: AbortSignal;
  /** Tells the worker that it may look for jobs again. */
  readonly wake: () => void;
}

/** Processes single jobs. */
export class JobRunner {
  readonly #parts: JobRunnerParts;
  readonly #storedTexts: Batcher<Job, string | null>;
  readonly #preparation: Batcher<PrepareInput, Prepared | PrepareFailure>;
  /** Ends when the file before has been read and prepared: files are read one after the other. */
  #fileTurn: Promise<void> = Promise.resolve();

  constructor(parts: JobRunnerParts) {
    this.#parts = parts;
    this.#storedTexts = new Batcher((jobs) => storedTexts(parts.index, jobs));
    this.#preparation = new Batcher((inputs) => parts.preparer.prepare(inputs));
  }

  /** Which jobs are not to be claimed now. */
  get passedOver(): JobFilter {
    return { except: this.#parts.enricher.fullProjects(), textBytesMax: this.#parts.large.claimableBytes };
  }

  /**
   * Processes a job until its memory is searchable.
   * @throws JobRefused, JobPostponed, JobVoid; the reason of `stop`; anything else is a passing failure
   */
  async run(job: Job): Promise<void> {
    const place = job.upload === null ? this.#parts.capacity.preparing() : await this.#fileTurnOf(job);
    try {
      const read = job.upload === null ? await this.#readText(job) : await this.#readFile(job, job.upload);
      const extracted = await this.#extract(read, place);
      const prepared = await this.#prepare(extracted);
      place.leave();
      const vectors = await this.#embed(job, prepared);
      this.#parts.held.report(job, "publishing", prepared.chunks.length, prepared.chunks.length);
      await this.#parts.publisher.publish(readyMemory(extracted, prepared, vectors));
    } finally {
      place.leave();
    }
  }

  /** The text from the row, or from the index if the row handed it over before. */
  async #readText(job: Job): Promise<ReadJob> {
    const { large, held } = this.#parts;
    if (!large.mayProcess(job)) throw new JobPostponed(large.postpone(job));
    held.report(job, "preparing");
    const content = job.content ?? (await this.#unlessStopped(this.#storedTexts.add(job)));
    if (content === null) {
      throw new JobRefused("processing_error", "The text of this memory is no longer stored. Send it again.");
    }
    return { job, content, title: job.facts?.title ?? null, marks: job.facts?.marks ?? [] };
  }

  /** Waits until the files before are read and there is room. One file may take as long as thousands of texts. */
  async #fileTurnOf(job: Job): Promise<Place> {
    const { capacity, clock, stop } = this.#parts;
    const waiting = capacity.waitingFile();
    const before = this.#fileTurn;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#fileTurn = ended;
    await before;
    while (!capacity.hasRoomForTexts && !stop.aborted) await clock.sleep(ROOM_LOOK_MS, stop);
    waiting.leave();
    const isFull = this.#parts.enricher.fullProjects().includes(job.projectId);
    if (stop.aborted || isFull) {
      end();
      stop.throwIfAborted();
      throw new JobPostponed(0); // it is claimed again when the project has room
    }
    return { leave: end };
  }

  async #readFile(job: Job, file: UploadedFile): Promise<ReadJob> {
    const { large, held, files, documents } = this.#parts;
    if (!large.mayProcess(job)) throw new JobPostponed(large.postpone(job));
    held.report(job, "reading");
    const document = { ...file, path: files.pathOf(file.name) };
    const text = await this.#unlessStopped(documents.read(document, (pages) => held.amend(job, { pages })));
    if (text instanceof ReadFailure) throw new JobRefused(text.code, text.message);
    this.#refuseUnlessTurn(job, text.content);
    held.report(job, "preparing");
    return { job, ...text };
  }

  /**
   * Has a language model extract missing attributes, if one is to be asked. While it answers, the job's place is free
   * for others.
   */
  async #extract(read: ReadJob, place: Place): Promise<ExtractedJob> {
    const { enricher, large, held, stop, wake } = this.#parts;
    const { job } = read;
    const inquiry = await enricher.find(read, {
      signal: stop,
      isHeld: () => this.#isHeld(job),
      onNote: (note) => held.amend(job, { note }),
    });
    if (!inquiry.isAsked) return { ...read, extraction: inquiry.extraction };
    if (large.end(job)) wake(); // other large texts do not wait for this project's language model
    place.leave();
    const extraction: LlmExtraction | null = await inquiry.extraction;
    wake(); // the project has room for its next job
    if (!(await this.#isHeld(job))) throw new JobVoid();
    this.#refuseUnlessTurn(job, read.content); // what was extracted is kept
    return { ...read, extraction };
  }

  async #prepare(extracted: ExtractedJob): Promise<Prepared> {
    const { job, marks } = extracted;
    const input = withExtraction(prepareInputOf(extracted), extracted.extraction);
    const outcome = await this.#unlessStopped(this.#preparation.add(input));
    if (outcome instanceof PrepareFailure) {
      throw new JobRefused(job.upload === null ? "processing_error" : "unreadable_document", outcome.message);
    }
    return { ...outcome, chunks: placedChunks(outcome.chunks, marks) };
  }

  async #embed(job: Job, prepared: Prepared): Promise<Float32Array> {
    const { chunks } = prepared;
    const { embedder, capacity, publisher, held, stop } = this.#parts;
    const tokens = chunks.reduce((sum, chunk) => sum + Math.min(chunk.tokens, embedder.tokensMax), 0);
    const place = capacity.embedding(tokens);
    held.report(job, "embedding", 0, chunks.length);
    try {
      const vectors = await embedChunks(embedder, prepared, stop, (chunksDone) => {
        held.report(job, "embedding", chunksDone, chunks.length);
        return this.#isHeld(job);
      });
      if (vectors === null) throw new JobVoid();
      return vectors;
    } catch (error) {
      place.leave();
      publisher.schedule(); // those that wait for company may go alone
      throw error;
    } finally {
      place.leave();
    }
  }

  #refuseUnlessTurn(job: Job, content: string): void {
    const { large } = this.#parts;
    if (!large.mayProcessText(job, textBytesOf(content))) throw new JobPostponed(large.postpone(job));
  }

  /** Whether the memory was neither deleted nor rewritten since the claim. */
  async #isHeld(job: Job): Promise<boolean> {
    const { jobs, leaseMs } = this.#parts;
    return (await jobs.renew([job], leaseMs)).length > 0;
  }

  /** A stop does not wait for a large text; the result is then dropped. */
  async #unlessStopped<T>(work: Promise<T>): Promise<T> {
    const { stop } = this.#parts;
    const stopped = Promise.withResolvers<never>();
    const onStop = () => stopped.reject(stop.reason);
    stop.addEventListener("abort", onStop, { once: true });
    try {
      stop.throwIfAborted();
      return await Promise.race([work, stopped.promise]);
    } finally {
      stop.removeEventListener("abort", onStop);
      if (stop.aborted) work.catch((error: unknown) => error);
    }
  }
}

/** Texts of published memories; null where none is stored: the archive was replaced or damaged by hand. */
async function storedTexts(
  index: Pick<ChunkIndex, "contents">,
  jobs: readonly Job[],
): Promise<readonly (string | null)[]> {
  const texts = await index.contents(jobs.map(({ memory }) => memory.key));
  return jobs.map(({ memory }) => texts.get(memory.key) ?? null);
}
