// Processes one job in five steps: read, extract, prepare, embed, publish. worker.ts claims jobs and stores their
// results.

import { mayContainFiles } from "../domain/containers.ts";
import { invariant } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { ProjectSettings } from "../domain/project.ts";
import type { Clock } from "../kit/clock.ts";
import { type AnyText, PiecedText, utf8BytesOf } from "../kit/pieced-text.ts";
import type { AccountStore } from "../ports/account-store.ts";
import {
  type IndexModel,
  type IndexOf,
  type ModelIndex,
  type ModelVectors,
  OtherModel,
  type PublishedMemories,
} from "../ports/chunk-index.ts";
import {
  type DocumentFile,
  type DocumentReader,
  ReadFailure,
  type Recognition,
  UnreadPictures,
} from "../ports/document-reader.ts";
import type { Job, JobFilter, JobStore, UploadedFile } from "../ports/job-store.ts";
import type { LlmExtraction } from "../ports/llm-extraction-store.ts";
import type { Embedder, Embedders } from "../ports/models.ts";
import type { PictureRecogniser, PicturesOfFile } from "../ports/picture-recogniser.ts";
import { type Prepared, PrepareFailure, type PrepareInput, type Preparer } from "../ports/preparer.ts";
import type { IncomingFile, UploadFiles } from "../ports/upload-files.ts";
import { Batcher } from "./batcher.ts";
import type { Capacity, Slot } from "./capacity.ts";
import type { ContainerParts } from "./container-parts.ts";
import { embedChunks } from "./embed-chunks.ts";
import { FileTurns } from "./file-turns.ts";
import type { HeldJobs } from "./held-jobs.ts";
import { usableVectors } from "./imported-vectors.ts";
import type { LargeTexts } from "./large-texts.ts";
import type { LlmExtractor } from "./llm-extraction/extractor.ts";
import type { PictureDescriber } from "./llm-extraction/picture-describer.ts";
import { JobFailed, JobPostponed, LeaseLost } from "./outcome.ts";
import { placedChunks } from "./places.ts";
import type { Publisher, ReadyMemory } from "./publisher.ts";
import {
  type ExtractedJob,
  prepareInputOf,
  type ReadJob,
  readJobOf,
  readyMemory,
  withExtraction,
} from "./step-inputs.ts";

/** Polling interval, in milliseconds, of a file that waits until embedding and publishing have room for its text. */
const ROOM_POLL_MS = 200;

/**
 * Interval, in milliseconds, between checks whether the memory of a file or of a large text was deleted or rewritten,
 * while the file is read or the text is prepared.
 */
const HELD_CHECK_MS = 1_000;
/**
 * No more files of containers are claimed while so many wait, so that the files of an archive do not take all places of
 * waiting files (capacity.ts), and what callers send later is claimed.
 */
const PARTS_WAITING_MAX = 32;

/** What a job runner needs. */
export interface JobRunnerDependencies {
  readonly jobs: Pick<JobStore, "renew" | "importedVectors">;
  readonly index: IndexOf<ModelIndex> & Pick<PublishedMemories, "contents">;
  readonly files: Pick<UploadFiles, "begin" | "fetch" | "readText">;
  readonly documents: DocumentReader;
  readonly pictures: PictureRecogniser;
  readonly accounts: Pick<AccountStore, "project">;
  readonly extractor: Pick<LlmExtractor, "start" | "saturatedProjects">;
  readonly describer: Pick<PictureDescriber, "isWanted" | "describe">;
  readonly preparer: Preparer;
  readonly embedders: Pick<Embedders, "withFingerprint">;
  readonly publisher: Publisher;
  readonly capacity: Capacity;
  readonly large: LargeTexts;
  readonly held: HeldJobs;
  readonly parts: Pick<ContainerParts, "store" | "removeEarlier">;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Aborts when the worker stops. */
  readonly stop: AbortSignal;
  /** Makes the worker look for jobs now. */
  readonly wake: () => void;
}

/** Processes jobs, each by a call of `run`. */
export class JobRunner {
  readonly #uses: JobRunnerDependencies;
  readonly #storedTexts: Batcher<Job, string | null>;
  readonly #preparation: Batcher<PrepareInput, Prepared | PrepareFailure>;
  /** Files are read and prepared one at a time. */
  readonly #fileTurns = new FileTurns();

  constructor(uses: JobRunnerDependencies) {
    this.#uses = uses;
    this.#storedTexts = new Batcher((jobs) => storedTexts(uses.index, jobs));
    this.#preparation = new Batcher((inputs) => uses.preparer.prepare(inputs));
  }

  /** Jobs that may be claimed now. */
  get claimFilter(): JobFilter {
    const { extractor, capacity, large } = this.#uses;
    return {
      except: [...extractor.saturatedProjects(), ...capacity.fullProjects],
      textBytesMax: large.claimableBytesMax,
      withoutParts: this.#fileTurns.waitingParts >= PARTS_WAITING_MAX,
    };
  }

  /**
   * Processes a job until its memory is searchable. Up to the end of preparation the job occupies a slot: only one file
   * is read at a time, and few jobs are claimed ahead of preparation. A large text needs no slot for that: one has the
   * turn (large-texts.ts), and it is prepared beside the others.
   * @throws JobFailed, JobPostponed or LeaseLost (outcome.ts); the abort reason of `stop` if the worker stops; any
   *   other error means a transient failure
   */
  async run(job: Job): Promise<void> {
    const { publisher } = this.#uses;
    const slot = new ReplacedSlot(job.upload === null ? this.#textSlot(job) : await this.#fileTurn(job));
    try {
      const read = job.upload === null ? await this.#readText(job) : await this.#readFile(job, job.upload, slot);
      const extracted = await this.#extract(read, slot);
      const prepared = await this.#prepare(extracted);
      const vectors = await this.#embed(job, prepared, slot);
      await this.#publish(job, readyMemory(extracted, prepared, vectors));
    } finally {
      slot.release();
      publisher.schedule(); // memories that wait for this one may have to be published without it
    }
  }

  #textSlot(job: Job): Slot {
    const { large, capacity } = this.#uses;
    if (large.isKnownLarge(job)) return { release: () => undefined };
    return capacity.takePreparing(job.projectId, job.memory.contentBytes);
  }

  /** Reads the text from the job's text file if it has one, otherwise from the memory's row, or else from the index. */
  async #readText(job: Job): Promise<ReadJob> {
    const { large, held, parts } = this.#uses;
    if (!large.tryStart(job)) throw new JobPostponed(large.postpone(job));
    held.enterStage(job, "preparing");
    await parts.removeEarlier(job);
    return readJobOf(job, await this.#textOf(job));
  }

  async #textOf(job: Job): Promise<AnyText> {
    if (job.textFile !== null) {
      const text = await this.#uses.files.readText(job.textFile);
      if (text === "damaged") {
        throw new JobFailed("unreadable_document", "The stored text of this memory is damaged. Send it again.");
      }
      if (text !== "missing") return text;
    } else {
      const text = job.content ?? (await this.#unlessStopped(this.#storedTexts.add(job)));
      if (text !== null) return text;
    }
    throw new JobFailed("processing_error", "The text of this memory is no longer stored. Send it again.");
  }

  /**
   * Waits for the turn of a file, and until embedding and publishing have room. Releasing the returned slot lets
   * the next file begin.
   */
  async #fileTurn(job: Job): Promise<Slot> {
    const { capacity, clock, extractor, stop } = this.#uses;
    const waiting = capacity.takeWaitingFile();
    const end = await this.#fileTurns.take(job.projectId, job.memory.source?.container !== undefined);
    while (!capacity.hasRoomForTexts && !stop.aborted) await clock.sleep(ROOM_POLL_MS, stop);
    waiting.release();
    const isSaturated = extractor.saturatedProjects().includes(job.projectId);
    if (stop.aborted || isSaturated) {
      end();
      stop.throwIfAborted();
      throw new JobPostponed(0); // it is claimed again when the project is no longer saturated
    }
    return { release: end };
  }

  async #readFile(job: Job, file: UploadedFile, slot: ReplacedSlot): Promise<ReadJob> {
    const { large, held, files, parts } = this.#uses;
    if (!large.tryStart(job)) throw new JobPostponed(large.postpone(job));
    held.enterStage(job, "reading");
    // the bytes of the files inside it are written to a second file
    const unpacked = mayContainFiles(file.mediaType) ? await files.begin() : null;
    try {
      const text = await this.#textOfFile(job, file, slot, unpacked?.path);
      if (text instanceof ReadFailure) throw new JobFailed(text.code, text.message);
      this.#postponeIfLarge(job, text.content);
      const { parts: found = [], warnings = [], ...read } = text;
      const unstored = unpacked === null ? [] : await parts.store(job, found, unpacked.path);
      if (unpacked === null) await parts.removeEarlier(job);
      held.enterStage(job, "preparing");
      return { job, ...read, warnings: [...warnings, ...unstored].slice(0, LIMITS.warningsPerMemory) };
    } finally {
      await unpacked?.discard();
    }
  }

  async #textOfFile(job: Job, file: UploadedFile, slot: ReplacedSlot, partsPath: string | undefined) {
    const { held, files, documents, pictures } = this.#uses;
    const locate = () => files.fetch(file.name);
    const { texts, described } = await this.#picturesOf(job, file);
    // the ids of pictures are needed for descriptions, too
    const recognition: Recognition = described === null ? { kind: texts } : { kind: "wanted" };
    const document = {
      ...{ ...file, path: await locate(), recognition },
      isPart: job.memory.source?.container !== undefined,
      ...(partsPath !== undefined && { partsPath }),
    };
    const read = (given: DocumentFile) =>
      this.#whileHeld(job, (signal) => documents.read(given, (pages) => held.update(job, { pages }), signal));
    let text = await read(document);
    if (text instanceof UnreadPictures) {
      const { ids } = text;
      const of = { mediaType: file.mediaType, locate, name: file.name, ids, share: job.projectId };
      const isRecognised = texts === "wanted";
      const { path, warnings } = await this.#lookAt(job, { ...of, ids: isRecognised ? ids : [] }, slot, (signal) =>
        described === null ? [] : this.#describe(job, of, described, signal),
      );
      held.enterStage(job, "reading");
      const done = { kind: "done", path, ...(!isRecognised && { withoutTexts: texts }) } as const;
      text = await read({ ...document, path: await locate(), recognition: done });
      if (!(text instanceof ReadFailure)) text = { ...text, warnings: [...(text.warnings ?? []), ...warnings] };
    }
    if (document.recognition.kind === "wanted") await pictures.forget(file.name);
    return text;
  }

  /**
   * Decides how pictures of a file are processed: whether text in them is read, and with which settings they are
   * described.
   */
  async #picturesOf(job: Job, file: UploadedFile) {
    const { accounts, pictures, describer } = this.#uses;
    const settings = (await accounts.project(job.projectId))?.settings;
    const mode = file.ocr ?? settings?.ocr ?? "auto";
    const texts = mode === "off" ? "off" : pictures.isInstalled ? "wanted" : "missing";
    return { texts, described: settings !== undefined && describer.isWanted(settings) ? settings : null } as const;
  }

  /**
   * Has a language model describe those pictures of a file that no earlier attempt described. Returns warnings about
   * pictures without a description.
   */
  async #describe(job: Job, { locate, ...file }: PicturesOfFile, settings: ProjectSettings, signal: AbortSignal) {
    const { pictures, describer } = this.#uses;
    const known = await pictures.describedOf(file.name);
    return describer.describe({
      ...{ job, settings, signal, path: await locate(), mediaType: file.mediaType },
      ids: file.ids.filter((id) => !known.has(id)),
      keep: (id, description) => pictures.keepDescription(file.name, id, description),
    });
  }

  /**
   * Has the pictures of a file read, then described. Meanwhile the job gives up its slot and its turn as a large text,
   * so that other files are read. Returns the path of the texts, and the warnings of `describe`.
   */
  async #lookAt(
    job: Job,
    file: PicturesOfFile,
    slot: ReplacedSlot,
    describe: (signal: AbortSignal) => readonly string[] | Promise<readonly string[]>,
  ) {
    const { large, held, pictures, publisher, wake } = this.#uses;
    if (large.end(job)) wake();
    slot.release();
    publisher.schedule();
    held.enterStage(job, "reading");
    let found: { readonly path: string; readonly warnings: readonly string[] };
    try {
      found = await this.#whileHeld(job, async (signal) => {
        const path = await pictures.recognise(file, (pages) => held.update(job, { pages }), signal);
        return { path, warnings: await describe(signal) };
      });
    } catch (error) {
      if (error instanceof LeaseLost) await pictures.forget(file.name);
      throw error;
    }
    slot.replace(await this.#fileTurn(job));
    if (!(await this.#isHeld(job))) throw new LeaseLost();
    return found;
  }

  /**
   * Has a language model extract missing attributes, if the project uses one. While it answers, the job gives up its
   * slot and its turn as a large text, so that other jobs do not wait for this project's language model.
   */
  async #extract(read: ReadJob, slot: Slot): Promise<ExtractedJob> {
    const { extractor, large, held, publisher, stop, wake } = this.#uses;
    const { job } = read;
    const started = await extractor.start(read, {
      signal: stop,
      isHeld: () => this.#isHeld(job),
      onNote: (note) => held.update(job, { note }),
    });
    const { isSmart } = started;
    if (!started.isPending) return { ...read, isSmart, extraction: started.extraction };
    if (large.end(job)) wake();
    slot.release();
    publisher.schedule();
    const extraction: LlmExtraction | null = await started.extraction;
    wake(); // the project may no longer be saturated
    if (!(await this.#isHeld(job))) throw new LeaseLost();
    this.#postponeIfLarge(job, read.content); // the store keeps the extraction for the next attempt
    return { ...read, isSmart, extraction };
  }

  async #prepare(extracted: ExtractedJob): Promise<Prepared> {
    const { job, marks } = extracted;
    const given = withExtraction(prepareInputOf(extracted, extracted.isSmart), extracted.extraction);
    const file = await this.#fileOf(job, given.content);
    try {
      const input = file === null ? given : { ...given, file: file.path };
      const prepared = await this.#prepareText(job, input);
      return { ...prepared, chunks: placedChunks(prepared.chunks, marks, prepared.lines) };
    } finally {
      await file?.discard();
    }
  }

  /**
   * The file of a long text, which the preparation process reads, so that the text is not copied to it; null for short
   * texts. Writes the file if the text is not stored in one. `discard` removes only a file that was written here.
   */
  async #fileOf(job: Job, content: AnyText): Promise<Pick<IncomingFile, "path" | "discard"> | null> {
    const { files } = this.#uses;
    if (job.textFile !== null) return { path: await files.fetch(job.textFile.name), discard: async () => undefined };
    if (!(content instanceof PiecedText)) return null;
    const file = await files.begin();
    try {
      for (const piece of content.pieces()) await file.write(Buffer.from(piece, "utf8"));
      return file;
    } catch (error) {
      await file.discard();
      throw error;
    }
  }

  async #prepareText(job: Job, input: PrepareInput): Promise<Prepared> {
    const outcome = this.#uses.large.isCurrent(job)
      ? await this.#whileHeld(job, async (signal) => (await this.#uses.preparer.prepare([input], signal))[0])
      : await this.#unlessStopped(this.#preparation.add(input));
    invariant(outcome !== undefined, "preparation returned no outcome for a text");
    if (outcome instanceof PrepareFailure) {
      throw new JobFailed(job.upload === null ? "processing_error" : "unreadable_document", outcome.message);
    }
    return outcome;
  }

  /** Embeds the chunks. The slot of preparation is released when the slot of embedding is taken. */
  async #embed(job: Job, prepared: Prepared, preparing: Slot): Promise<readonly ModelVectors[]> {
    const { chunks } = prepared;
    const { capacity, held, stop } = this.#uses;
    const embedders = await this.#embeddersOf(job.projectId);
    const tokensOf = ({ tokensMax }: Embedder) =>
      chunks.reduce((sum, chunk) => sum + Math.min(chunk.tokens, tokensMax), 0);
    const tokens = embedders.reduce((sum, embedder) => sum + tokensOf(embedder), 0);
    const slot = capacity.takeEmbedding(job.projectId, tokens);
    preparing.release();
    held.enterStage(job, "embedding", 0, chunks.length);
    try {
      const ofModels: ModelVectors[] = [];
      const imported = job.isReindexed ? await this.#uses.jobs.importedVectors(job.memory.key) : null;
      for (const embedder of embedders) {
        const known = usableVectors(imported, prepared, embedder);
        if (known !== null) {
          ofModels.push({ fingerprint: embedder.fingerprint, vectors: known });
          continue;
        }
        const options = { share: job.projectId, signal: stop };
        const vectors = await embedChunks(embedder, prepared, options, (chunksDone) => {
          if (embedder === embedders[0]) held.enterStage(job, "embedding", chunksDone, chunks.length);
          return this.#isHeld(job);
        });
        if (vectors === null) throw new LeaseLost();
        capacity.noteEmbedded(tokensOf(embedder));
        ofModels.push({ fingerprint: embedder.fingerprint, vectors });
      }
      return ofModels;
    } finally {
      slot.release();
    }
  }

  /** The models whose vectors a memory of this project needs: the live one, then the one that is being built. */
  async #embeddersOf(projectId: ProjectId): Promise<readonly Embedder[]> {
    const { index, embedders } = this.#uses;
    using project = await index.project(projectId);
    const { live, building } = await project.models();
    const ofModel = (model: IndexModel | null) =>
      model === null ? null : embedders.withFingerprint(model.fingerprint);
    return [ofModel(live), ofModel(building)].filter((embedder) => embedder !== null);
  }

  async #publish(job: Job, ready: ReadyMemory): Promise<void> {
    const { chunkCount } = ready.completion;
    this.#uses.held.enterStage(job, "publishing", chunkCount, chunkCount);
    try {
      await this.#uses.publisher.publish(ready);
    } catch (error) {
      // The model was swapped after the embedding.
      throw error instanceof OtherModel ? new JobPostponed(0) : error;
    }
  }

  /** Throws `JobPostponed` if the job's text turns out to be large while another large text is being processed. */
  #postponeIfLarge(job: Job, content: AnyText): void {
    const { large } = this.#uses;
    if (!large.tryStartText(job, utf8BytesOf(content))) throw new JobPostponed(large.postpone(job));
  }

  /**
   * Renews the job's lease. Returns false if the lease is lost because the memory was deleted or rewritten since the
   * claim.
   */
  async #isHeld(job: Job): Promise<boolean> {
    const { jobs, leaseMs } = this.#uses;
    return (await jobs.renew([job], leaseMs)).length > 0;
  }

  /**
   * Runs work that takes seconds or longer. Aborts it, and throws `LeaseLost`, soon after the memory was deleted or
   * rewritten.
   */
  async #whileHeld<T>(job: Job, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, stop } = this.#uses;
    const lost = new AbortController();
    const ended = new AbortController();
    const check = async () => {
      while (!ended.signal.aborted) {
        await clock.sleep(HELD_CHECK_MS, ended.signal);
        if (!ended.signal.aborted && !(await this.#isHeld(job))) return lost.abort(new LeaseLost());
      }
    };
    // If the store cannot be read, the job is tried again like after any transient failure.
    check().catch((error: unknown) => lost.abort(error));
    try {
      return await unlessAborted(AbortSignal.any([stop, lost.signal]), work);
    } finally {
      ended.abort();
    }
  }

  /** Waits for `work`, but throws when the worker stops, because stopping must not wait for a large text. */
  async #unlessStopped<T>(work: Promise<T>): Promise<T> {
    return unlessAborted(this.#uses.stop, () => work);
  }
}

/** A slot that is released while a job waits, and taken again afterwards. */
class ReplacedSlot implements Slot {
  constructor(private slot: Slot) {}

  replace(slot: Slot): void {
    this.slot = slot;
  }

  release(): void {
    this.slot.release();
  }
}

/** Waits for the work that `start` starts, but throws the reason of `signal` when it aborts. */
async function unlessAborted<T>(signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const work = start(signal);
  try {
    signal.throwIfAborted();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (signal.aborted) work.catch((error: unknown) => error);
  }
}

/**
 * Reads the texts of published memories from the index. A text is null if the index no longer has it, because its files
 * were replaced or damaged.
 */
async function storedTexts(
  index: Pick<PublishedMemories, "contents">,
  jobs: readonly Job[],
): Promise<readonly (string | null)[]> {
  const texts = await index.contents(jobs.map(({ memory }) => memory.key));
  return jobs.map(({ memory }) => texts.get(memory.key)?.content ?? null);
}
