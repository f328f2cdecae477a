// Brings models that were asked for to this node, in the background: fetches the files, lets the model compute
// something, and says in the store how it ended. One at a time. A restart goes on with what was not finished.

import type { AddedModel } from "../domain/installed-model.ts";
import type { Clock } from "../kit/clock.ts";
import { errorMessage } from "../kit/error-message.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { InstalledModelStore } from "../ports/installed-model-store.ts";
import type { ModelFiles, ModelOrigin } from "../ports/model-files.ts";
import type { LocalModels } from "../ports/models.ts";
import { checkModel, failedChecks } from "./checks.ts";

/** Milliseconds between two looks at the store. */
const POLL_MS = 2_000;
/** Milliseconds between two updates of a download's progress. */
const PROGRESS_MS = 500;

/** What the installer needs. */
export interface ModelInstallerDependencies {
  readonly store: InstalledModelStore;
  readonly files: ModelFiles;
  readonly local: LocalModels;
  /** Called when a model has become ready or failed. */
  readonly onEnd: () => Eventually<unknown>;
  /** Whether this node fetches models that no node has fetched yet; default: yes. */
  readonly isMine?: () => Eventually<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Installs models in the background. */
export class ModelInstaller {
  readonly #loop = new WakingLoop((round) => this.#round(round));

  constructor(private readonly uses: ModelInstallerDependencies) {}

  start(): void {
    this.#loop.start();
  }

  /** Looks for models now. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops; a download that is running ends, and goes on after the next start. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round({ stopped, woken }: Round): Promise<void> {
    const { store, clock, log } = this.uses;
    try {
      const isMine = (await this.uses.isMine?.()) ?? true;
      for (const model of isMine ? await store.list() : []) {
        if (stopped.aborted) return;
        const isWaiting = model.status === "downloading" || model.status === "checking";
        if (model.kind === "installed" && isWaiting) await this.#install(model, stopped);
      }
    } catch (err) {
      log.error({ err }, "models that were asked for could not be looked up; trying again");
    }
    if (!stopped.aborted) await clock.sleep(POLL_MS, woken);
  }

  async #install(model: AddedModel, stopped: AbortSignal): Promise<void> {
    const { store, files, log, onEnd } = this.uses;
    const { id, source, sha256 } = model;
    try {
      const origin = { id, source: source ?? "", sha256 };
      const { task, ...properties } = await files.install(origin, this.#reporter(id), stopped);
      const isWanted = await store.change(id, { task, ...properties, status: "checking", progress: null });
      if (!isWanted) return await files.remove(origin);
      await this.#check(origin, properties.manifestSha256);
      await store.change(id, { status: "ready", error: null });
      log.info({ model: id }, "a model was added");
    } catch (err) {
      if (stopped.aborted) return;
      log.warn({ model: id, err }, "a model could not be added");
      const error = errorMessage(err);
      await store.change(id, { status: "failed", progress: null, error });
    }
    await onEnd();
  }

  /** Deletes the files if the model does not compute what it should. @throws Error with the first check that failed */
  async #check(origin: ModelOrigin, manifestSha256: string | null): Promise<void> {
    const { local, clock, files } = this.uses;
    try {
      const [failed] = failedChecks(await checkModel(local.open({ id: origin.id, manifestSha256 }), clock));
      if (failed !== undefined) throw new Error(failed.message);
    } catch (error) {
      await files.remove(origin);
      throw error;
    }
  }

  /** Stores progress, at most every `PROGRESS_MS`. */
  #reporter(id: string): Parameters<ModelFiles["install"]>[1] {
    const { store, clock, log } = this.uses;
    let lastMs = 0;
    return (progress) => {
      const isDone = progress.bytesDone === progress.bytesTotal;
      if (!isDone && clock.now() - lastMs < PROGRESS_MS) return;
      lastMs = clock.now();
      const status = isDone ? "checking" : "downloading";
      store.change(id, { progress, status }).catch((err: unknown) => log.debug({ err }, "progress was not stored"));
    };
  }
}
