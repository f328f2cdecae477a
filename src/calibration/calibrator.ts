// Calibrates models that were added, one at a time and in the background. The store has the calibrations that were
// asked for. After a crash or restart, the one that was running begins again.

import type { CalibrationJob } from "../domain/calibration.ts";
import { Fault, isOutage } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { type AddedModel, type FittedTunings, NO_RERANKER } from "../domain/installed-model.ts";
import type { RetrievalTuning } from "../domain/retrieval-tuning.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { InstalledModelStore } from "../ports/installed-model-store.ts";
import type { Embedder, FoundModel, Reranker } from "../ports/models.ts";
import type { Preparer } from "../ports/preparer.ts";
import type { ProjectModelStore } from "../ports/project-model-store.ts";
import type { OpenScratchIndex } from "../ports/scratch-index.ts";
import { OWN_TEXTS } from "./askings.ts";
import type { FitDependencies } from "./fit-tuning.ts";
import type { SampleText } from "./judged-samples.ts";

/** Milliseconds between two looks at the store. */
const POLL_MS = 2_000;
/** Milliseconds between two updates of the progress, which also notice that the calibration was cancelled. */
const PROGRESS_MS = 500;
/** Milliseconds from a failure that may be temporary to the next attempt. */
const RETRY_MS = 30_000;
/** Maximum number of attempts. If the last one fails, the calibration has failed. */
const ATTEMPTS_MAX = 20;
/** Maximum number of texts of a project that are stored together with the judged samples. */
const OWN_TEXTS_MAX = 1_000;
/** Maximum length of such a text in UTF-16 code units. */
const OWN_TEXT_CHARACTERS = 4_000;

/** What the calibrator needs. */
export interface CalibratorDependencies {
  readonly store: InstalledModelStore;
  readonly projectModels: Pick<ProjectModelStore, "list">;
  /** Id of the embedder of new projects. */
  readonly defaultId: string;
  /** A model that can be used on this node; null if there is none. */
  readonly find: (id: string) => FoundModel | null;
  readonly openIndex: OpenScratchIndex;
  readonly preparer: Pick<Preparer, "prepare">;
  readonly languageOf: FitDependencies["languageOf"];
  /** The texts of some memories of a project, at most `limit`. */
  readonly textsOf: (projectId: ProjectId, limit: number) => Promise<readonly string[]>;
  /** Fits weights and curves. It loads the judged samples at its first call, because they take memory. */
  readonly fit: (uses: FitDependencies) => Promise<RetrievalTuning>;
  /** Called after a calibration has succeeded. */
  readonly onEnd: () => Eventually<unknown>;
  /** Whether this node calibrates models; default: yes. */
  readonly isMine?: () => Eventually<boolean>;
  /** Default: `RETRY_MS`. */
  readonly retryMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** An embedder and the reranker with which it is calibrated. `key`: that of their curves in `FittedTunings`. */
interface Pair {
  readonly embedder: Embedder;
  readonly reranker: Reranker | null;
  readonly key: string;
}

/** The calibration was cancelled or replaced. */
class Cancelled extends Error {
  override readonly name = "Cancelled";
}

/** Calibrates models in the background. */
export class Calibrator {
  readonly #loop = new WakingLoop((round) => this.#round(round));
  /** Failed attempts of calibrations that are tried again, by the key of the model. */
  readonly #failed = new Map<
    bigint,
    { readonly number: number; readonly attempts: number; readonly againAt: number }
  >();

  constructor(private readonly uses: CalibratorDependencies) {}

  start(): void {
    this.#loop.start();
  }

  /** Looks for calibrations now. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops; a calibration that is running begins again after the next start. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round({ stopped, woken }: Round): Promise<void> {
    const { store, clock, log } = this.uses;
    try {
      const isMine = (await this.uses.isMine?.()) ?? true;
      for (const model of isMine ? await store.list() : []) {
        if (stopped.aborted) return;
        const { calibrationJob: job } = model;
        if (job !== null && job.state !== "failed" && this.#isDue(model, job)) {
          await this.#calibrate(model, job, stopped);
        }
      }
    } catch (err) {
      log.error({ err }, "calibrations that were asked for could not be looked up; trying again");
    }
    if (!stopped.aborted) await clock.sleep(POLL_MS, woken);
  }

  async #calibrate(model: AddedModel, job: CalibrationJob, stopped: AbortSignal): Promise<void> {
    const { store, log, onEnd } = this.uses;
    const { id, key } = model;
    const cancelled = new AbortController();
    const signal = AbortSignal.any([stopped, cancelled.signal]);
    const progress = new ProgressNotes(this.uses, model, job, cancelled);
    try {
      const pairs = await this.#pairsOf(model);
      const texts = await this.#textsOf(job.projectId);
      const fitted: Record<string, RetrievalTuning> = {};
      try {
        for (const [at, pair] of pairs.entries()) {
          const report = progress.reporter({ at, of: pairs.length });
          fitted[pair.key] = await this.#fit(pair, texts, report, signal);
        }
      } finally {
        await progress.settled(); // a note stored later would say that the calibration still runs
      }
      if (!(await store.finishCalibration(key, job.number, fitted satisfies FittedTunings))) throw new Cancelled();
      this.#failed.delete(key);
      await onEnd();
      log.info({ model: id, pairs: pairs.length }, "a model was calibrated");
    } catch (err) {
      if (stopped.aborted) return;
      if (err instanceof Cancelled || cancelled.signal.aborted) {
        log.info({ model: id }, "a calibration was cancelled");
        return;
      }
      log.warn({ model: id, err }, "a model could not be calibrated");
      const state = isOutage(err) && this.#countFailure(model, job) ? "waiting" : "failed";
      await store.noteCalibration(key, { ...job, state, error: sentenceOf(err) });
    }
  }

  #isDue({ key }: AddedModel, { number }: CalibrationJob): boolean {
    const failed = this.#failed.get(key);
    return failed?.number !== number || failed.againAt <= this.uses.clock.now();
  }

  /** Counts a failed attempt. Returns whether there may be another one. */
  #countFailure({ key }: AddedModel, { number }: CalibrationJob): boolean {
    const { clock, retryMs = RETRY_MS } = this.uses;
    const before = this.#failed.get(key);
    const attempts = 1 + (before?.number === number ? before.attempts : 0);
    this.#failed.set(key, { number, attempts, againAt: clock.now() + retryMs });
    return attempts < ATTEMPTS_MAX;
  }

  async #fit(
    { embedder, reranker }: Pair,
    texts: readonly SampleText[],
    onProgress: FitDependencies["onProgress"],
    signal: AbortSignal,
  ): Promise<RetrievalTuning> {
    const { openIndex, preparer, languageOf, clock, fit } = this.uses;
    const index = await openIndex(embedder);
    try {
      return await fit({ index, embedder, reranker, preparer, languageOf, clock, texts, onProgress, signal });
    } finally {
      await index.close();
    }
  }

  /**
   * The pairs in which a model is calibrated. An embedder: with its own reranker (or none, if it has none), and with
   * those that its projects chose. A reranker: with the embedders of the projects that chose it, otherwise with the
   * default embedder.
   * @throws Fault `invalid_state` if the files of one of them are not on this node
   */
  async #pairsOf({ id, task }: AddedModel): Promise<readonly Pair[]> {
    const { projectModels, defaultId } = this.uses;
    const projects = await projectModels.list();
    if (task === "embed") {
      const { embedder, reranker: own } = this.#embedder(id);
      const chosen = projects.flatMap(({ live, reranker }) => (live === id && reranker !== null ? [reranker] : []));
      const others = [...new Set(chosen)].filter((each) => each !== own);
      return [
        { embedder, reranker: own === null ? null : this.#reranker(own), key: own ?? NO_RERANKER },
        ...others.map((key) => ({ embedder, reranker: this.#reranker(key), key })),
      ];
    }
    const live = projects.flatMap((project) => (project.reranker === id ? [project.live ?? defaultId] : []));
    const reranker = this.#reranker(id);
    const embedders = [...new Set(live.length > 0 ? live : [defaultId])];
    return embedders.map((key) => ({ embedder: this.#embedder(key).embedder, reranker, key }));
  }

  #embedder(id: string) {
    const found = this.uses.find(id);
    if (found?.task === "embed") return found;
    throw new Fault("invalid_state", `The embedding model ${id} cannot be used on this node.`);
  }

  #reranker(id: string): Reranker {
    const found = this.uses.find(id);
    if (found?.task === "rerank") return found.reranker;
    throw new Fault("invalid_state", `The reranker ${id} cannot be used on this node.`);
  }

  async #textsOf(projectId: ProjectId | null): Promise<readonly SampleText[]> {
    if (projectId === null) return [];
    const texts = await this.uses.textsOf(projectId, OWN_TEXTS_MAX);
    return texts.map((content, at) => ({
      ...{ id: `${OWN_TEXTS}/${at}`, owner: OWN_TEXTS, part: OWN_TEXTS, title: null, language: null, createdAt: null },
      content: content.slice(0, OWN_TEXT_CHARACTERS),
    }));
  }
}

/** Stores the progress of one calibration, one note after the other. */
class ProgressNotes {
  #lastMs = Number.NEGATIVE_INFINITY;
  #written: Promise<void> = Promise.resolve();

  constructor(
    private readonly uses: Pick<CalibratorDependencies, "store" | "clock" | "log">,
    private readonly model: Pick<AddedModel, "key">,
    private readonly job: CalibrationJob,
    /** Aborted when the calibration is no longer wanted. */
    private readonly cancelled: AbortController,
  ) {}

  /**
   * Returns a function that stores the progress, at most every `PROGRESS_MS`, and aborts `cancelled` if the calibration
   * is no longer wanted.
   * @param pair number of the current pair, from 0, and of all pairs
   */
  reporter(pair: { readonly at: number; readonly of: number }): FitDependencies["onProgress"] {
    return (done, total) => {
      const now = this.uses.clock.now();
      if (now - this.#lastMs < PROGRESS_MS) return;
      this.#lastMs = now;
      const counts = { done: pair.at * total + done, total: pair.of * total };
      this.#written = this.#written.then(() => this.#write(counts));
    };
  }

  /** Resolves when all notes are stored. Never rejects. */
  settled(): Promise<void> {
    return this.#written;
  }

  async #write(counts: Pick<CalibrationJob, "done" | "total">): Promise<void> {
    const { store, log } = this.uses;
    const { number, projectId } = this.job;
    const job: CalibrationJob = { number, projectId, state: "running", error: null, ...counts };
    try {
      if (!(await store.noteCalibration(this.model.key, job))) this.cancelled.abort(new Cancelled());
    } catch (err) {
      log.debug({ err }, "progress was not stored");
    }
  }
}

/** An error as a sentence for the operator. A fault of a process that runs models has its reason in `cause`. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof Fault && typeof error.cause === "string" ? `${error.message} ${error.cause}` : error.message;
}
