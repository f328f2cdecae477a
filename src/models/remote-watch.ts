// Calls remote models at intervals: those that have not been reached yet until they answer, and the others to notice
// that they went away or that their server computes another model.

import type { AddedModel } from "../domain/installed-model.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { InstalledModelStore } from "../ports/installed-model-store.ts";
import type { FoundModel, RemoteModels } from "../ports/models.ts";

/** Milliseconds between two rounds. */
const ROUND_MS = 2_000;
/** Milliseconds between two calls of a model that has been reached. */
const PROBE_MS = 60_000;
const PROBE = "Is the kettle red?";

/** What the watch needs. */
export interface RemoteWatchDependencies {
  readonly store: Pick<InstalledModelStore, "list" | "change">;
  readonly remote: Pick<RemoteModels, "examine" | "problem">;
  readonly find: (id: string) => FoundModel | null;
  /** Called when a model has been reached for the first time. */
  readonly onReady: () => Eventually<unknown>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Watches the remote models. */
export class RemoteWatch {
  readonly #loop = new WakingLoop((round) => this.#round(round));
  /** When each model was called last, Unix milliseconds. */
  readonly #calledAt = new Map<string, number>();

  constructor(private readonly uses: RemoteWatchDependencies) {}

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round({ stopped, woken }: Round): Promise<void> {
    const { store, clock, log } = this.uses;
    try {
      const models = (await store.list()).filter(({ kind }) => kind === "remote");
      await Promise.all(models.map((model) => (stopped.aborted ? undefined : this.#look(model, stopped))));
    } catch (err) {
      log.warn({ err }, "remote models could not be looked up; trying again");
    }
    if (!stopped.aborted) await clock.sleep(ROUND_MS, woken);
  }

  async #look(model: AddedModel, stopped: AbortSignal): Promise<void> {
    const { clock, remote } = this.uses;
    const isDue = clock.now() - (this.#calledAt.get(model.id) ?? 0) >= PROBE_MS;
    // a model that failed is called each round, so that it is used again soon after it has come back
    if (model.status === "ready" && !isDue && remote.problem(model) === null) return;
    this.#calledAt.set(model.id, clock.now());
    if (model.status === "ready") await this.#probe(model, stopped);
    else await this.#reach(model);
  }

  async #probe({ id }: AddedModel, signal: AbortSignal): Promise<void> {
    const { find, log } = this.uses;
    const found = find(id);
    try {
      if (found?.task === "embed")
        await found.embedder.embed([PROBE], { purpose: "passage", priority: "query", signal });
      if (found?.task === "rerank") await found.reranker.score(PROBE, [PROBE], { signal });
    } catch (err) {
      if (!signal.aborted) log.warn({ model: id, err }, "a remote model does not answer as it should");
    }
  }

  async #reach({ id, remote, task }: AddedModel): Promise<void> {
    const { store, onReady, log } = this.uses;
    if (remote === null) return;
    try {
      const { probes, ...found } = await this.uses.remote.examine(id, remote, task);
      const change = { ...found, remote: { ...remote, ...(probes !== null && { probes }) } };
      await store.change(id, { ...change, status: "ready", error: null });
      await onReady();
      log.info({ model: id }, "a remote model was reached");
    } catch (err) {
      log.debug({ model: id, err }, "a remote model cannot be reached yet");
    }
  }
}
