// Changes the embedding model of projects while they are used: builds vectors of the new model beside the live ones and
// swaps them in. The ProjectModelStore has the wanted model, and the index has the vectors that are done, so a restart
// goes on where the last process ended. vector-builder.ts computes the vectors.

import { Fault, isOutage } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { IndexModel, IndexOf, ModelIndex } from "../ports/chunk-index.ts";
import { type Embedder, type Embedders, modelIdOf } from "../ports/models.ts";
import type { ModelChange, ProjectModel, ProjectModelStore } from "../ports/project-model-store.ts";
import { lackOfSpace, type Space, spaceOfVectors } from "./model-space.ts";
import { UnusableModel, type VectorBuilder } from "./vector-builder.ts";

/** Polling interval of the store in milliseconds. A command may ask for a change there while the server runs. */
const POLL_MS = 2_000;
/** Milliseconds before the next attempt after an error, or while memories wait for their own publication. */
const RETRY_MS = 5_000;
/**
 * Time in milliseconds without progress after which a change fails. Ingestion gives up a memory earlier than that, so
 * no single memory can make a change fail.
 */
const STALLED_MS_MAX = 30 * 60_000;
/**
 * Milliseconds between two writes of the progress. Each is a commit that waits for the disk, as commits of callers do;
 * with one per memory, those of callers waited longer.
 */
const PROGRESS_MS = 250;
/** Maximum number of attempts in a row that fail for an unknown reason. */
const ATTEMPTS_MAX = 5;

/** Maximum number of attempts with a model that does not work while the live model works. */
const UNUSABLE_ATTEMPTS_MAX = 3;

/** What model changes need. */
export interface ModelChangerDependencies {
  readonly store: ProjectModelStore;
  readonly accounts: Pick<AccountStore, "projects">;
  readonly index: IndexOf<ModelIndex>;
  readonly embedders: Embedders;
  readonly builder: VectorBuilder;
  /** Free space of the disk with the index, and free RAM of the machine. */
  readonly freeSpace: () => Promise<Space>;
  /** Whether this process changes models. Another one may do it. Default: yes. */
  readonly isMine?: () => Eventually<boolean>;
  /** Whether other processes use the projects too. Then the store knows their models. Default: no. */
  readonly isShared?: boolean;
  /** Whether projects for which nobody chose a model get the default model. */
  readonly upgrades: boolean;
  /**
   * Ids of models whose files are not on this machine. A project keeps the vectors of such a model until a person asks
   * for another one, so that nothing is lost if the model is installed again.
   */
  readonly absentModels: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Ends a change as failed. The message is for a person. */
class ChangeFailed extends Error {
  override readonly name = "ChangeFailed";
}

/** Runs the changes that the store asks for, one project after the other. */
export class ModelChanger {
  readonly #uses: ModelChangerDependencies;
  readonly #loop = new WakingLoop((round) => this.#round(round));
  /** The state of each project when it was last tidied: number and state of its change, and its previous model. */
  readonly #tidied = new Map<ProjectId, string>();
  /** Whether this process changes models, and has stored which ones the projects use. */
  #isObserved = false;

  constructor(uses: ModelChangerDependencies) {
    this.#uses = uses;
  }

  /** Starts the work in the background. */
  start(): void {
    this.#loop.start();
  }

  /** Looks for changes now. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops. Resolves when the running step has ended. The next start goes on. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #round({ stopped, woken }: Round): Promise<void> {
    const { clock, log } = this.#uses;
    try {
      const isMine = (await this.#uses.isMine?.()) ?? true;
      if (isMine && !this.#isObserved) await this.#observe();
      this.#isObserved = isMine;
      for (const entry of isMine ? await this.#uses.store.list() : []) {
        if (stopped.aborted) return;
        await this.#advance(entry);
      }
    } catch (err) {
      log.error({ err }, "changes of the embedding model could not be looked up; trying again");
    }
    if (!stopped.aborted) await clock.sleep(POLL_MS, woken);
  }

  /** Stores which model each project uses, and asks for the upgrades. */
  async #observe(): Promise<void> {
    const { accounts, store, index, embedders, isShared = false, upgrades, log } = this.#uses;
    const absent = upgrades ? this.#uses.absentModels() : [];
    for (const projectId of await accounts.projects()) {
      if (!isShared) {
        using project = await index.project(projectId);
        const { live, previous } = await project.models();
        const of = ({ fingerprint }: IndexModel) => modelIdOf(embedders, fingerprint);
        await store.observe(projectId, of(live), previous === null ? null : of(previous));
      }
      const known = await store.get(projectId);
      const isWanted = upgrades && known !== null && !known.isChosen && known.change?.state !== "building";
      const from = known?.live ?? null;
      if (!isWanted || from === null || from === embedders.default.id || absent.includes(from)) continue;
      const to = embedders.default.id;
      log.info({ projectId, from, to }, "the project gets vectors of the new default model in the background");
      await store.ask(projectId, to, false);
    }
  }

  /** Carries out what the store asks for in the index of one project. */
  async #advance(entry: ProjectModel): Promise<void> {
    const { store, index, isShared = false, log } = this.#uses;
    const { projectId, change } = entry;
    // looking at the index of a project opens it, and with several nodes, each has only some projects open
    const known = `${change?.number} ${change?.state} ${entry.previous}`;
    if (isShared && change?.state !== "building" && (change === null || this.#tidied.get(projectId) === known)) return;
    try {
      using project = await index.project(projectId);
      if (change?.state === "building") await this.#change(projectId, project, change);
      else await this.#tidy(entry, project);
      this.#tidied.set(projectId, known);
    } catch (error) {
      if (this.#loop.stopped.aborted || (error instanceof Fault && error.code === "project_not_found")) return;
      log.error({ projectId, err: error }, "a change of the embedding model could not be continued");
      if (change?.state === "building") await store.fail(projectId, change.number, failureOf(error));
    }
  }

  /** Deletes the vectors of a change that has ended, and those of a previous model that is no longer wanted. */
  async #tidy({ projectId, previous }: ProjectModel, project: ModelIndex): Promise<void> {
    const models = await project.models();
    if (models.building !== null) await project.dropBuilding();
    if (models.previous !== null && previous === null) await project.forgetPrevious();
    if (models.previous === null && previous !== null) await this.#uses.store.forget(projectId);
  }

  /** Carries out a change until it is done, has failed, or is no longer wanted. */
  async #change(projectId: ProjectId, project: ModelIndex, change: ModelChange): Promise<void> {
    const { store, embedders, log, clock } = this.#uses;
    const startedAt = clock.now();
    try {
      if (!(await this.#build(projectId, project, change))) return;
    } catch (error) {
      if (!(error instanceof ChangeFailed)) throw error;
      log.warn({ projectId, model: change.model }, `the embedding model was not changed: ${error.message}`);
      await project.dropBuilding();
      await store.fail(projectId, change.number, error.message);
      return;
    }
    const { previous } = await project.models();
    await store.finish(projectId, change.number, previous === null ? null : modelIdOf(embedders, previous.fingerprint));
    log.info({ projectId, model: change.model, ms: clock.now() - startedAt }, "the embedding model was changed");
  }

  /** Builds the vectors and swaps them in. Returns false if the change is no longer wanted. */
  async #build(projectId: ProjectId, project: ModelIndex, change: ModelChange): Promise<boolean> {
    const { embedders, clock } = this.#uses;
    if (!embedders.ids.includes(change.model)) {
      throw new ChangeFailed(`The model ${change.model} is not installed; installed: ${embedders.ids.join(", ")}.`);
    }
    const embedder = embedders.get(change.model);
    const { live, building } = await project.models();
    if (building !== null && building.fingerprint !== embedder.fingerprint) await project.dropBuilding();
    if (live.fingerprint === embedder.fingerprint) return true;
    await project.beginModel(embedder);
    await this.#checkSpace(project, embedder);
    let [attempts, progressAt] = [0, clock.now()];
    for (;;) {
      this.#loop.stopped.throwIfAborted();
      try {
        const pass = await this.#pass(projectId, project, embedder, change);
        if (pass !== "incomplete") return pass === "swapped";
        [attempts, progressAt] = [0, clock.now()];
      } catch (error) {
        this.#loop.stopped.throwIfAborted();
        attempts = await this.#nextAttempt(error, embedder, live, attempts);
        if (clock.now() - progressAt > STALLED_MS_MAX) throw new ChangeFailed(stalledMessage(error));
        await clock.sleep(RETRY_MS, this.#loop.stopped);
      }
    }
  }

  /** Builds what is missing now, then swaps if nothing is missing any more. */
  async #pass(
    projectId: ProjectId,
    project: ModelIndex,
    embedder: Embedder,
    { number }: ModelChange,
  ): Promise<"swapped" | "unwanted" | "incomplete"> {
    const { store, builder, clock } = this.#uses;
    const { memoryKeys, missingChunks, chunks } = await project.missingVectors();
    let done = chunks - missingChunks;
    const isWanted = () => store.progress(projectId, number, Math.min(done, chunks), chunks);
    if (!(await isWanted())) return "unwanted";
    if (memoryKeys.length === 0) return (await project.swapModel()) ? "swapped" : "incomplete";
    let [goesOn, writtenAt] = [true, clock.now()];
    const added = await builder.build({
      ...{ projectId, project, embedder, memoryKeys, signal: this.#loop.stopped },
      onChunks: async (more) => {
        done += more;
        if (clock.now() - writtenAt < PROGRESS_MS) return goesOn;
        writtenAt = clock.now();
        goesOn &&= await isWanted();
        return goesOn;
      },
    });
    if (!goesOn) return "unwanted";
    if (added === 0) throw new MemoriesChange(memoryKeys.length);
    return "incomplete";
  }

  async #checkSpace(project: ModelIndex, { id, dimensions }: Embedder): Promise<void> {
    const { missingChunks } = await project.missingVectors();
    const needed = spaceOfVectors(missingChunks, dimensions);
    const lack = lackOfSpace(id, missingChunks, needed, await this.#uses.freeSpace());
    if (lack !== null) throw new ChangeFailed(lack);
  }

  /** Whether the live model works. If it does and the new model does not, the new model is the cause of the failure. */
  async #canEmbed({ fingerprint }: IndexModel): Promise<boolean> {
    const embedder = this.#uses.embedders.withFingerprint(fingerprint);
    try {
      const options = { purpose: "passage", priority: "ingest", signal: this.#loop.stopped } as const;
      await embedder?.embed(["Does this model answer?"], options);
      return true;
    } catch (error) {
      if (isOutage(error)) return false;
      throw error;
    }
  }

  /**
   * Number of failed attempts in a row, including this error. @throws ChangeFailed if another attempt would be useless
   */
  async #nextAttempt(error: unknown, embedder: Embedder, live: IndexModel, attempts: number): Promise<number> {
    if (error instanceof MemoriesChange) return attempts;
    if (error instanceof Fault && isOutage(error)) {
      if (error.code === "overloaded" || !(await this.#canEmbed(live))) return attempts;
      if (attempts + 1 < UNUSABLE_ATTEMPTS_MAX) return attempts + 1;
      throw new ChangeFailed(
        `The model ${embedder.id} cannot be used, although others can: ${error.message} The server's log has the reason.`,
      );
    }
    if (error instanceof UnusableModel) throw new ChangeFailed(error.message);
    this.#uses.log.warn({ model: embedder.id, err: error }, "vectors of a new model could not be built");
    if (isFullDisk(error) || attempts + 1 === ATTEMPTS_MAX) throw new ChangeFailed(failureOf(error));
    return attempts + 1;
  }
}

/** Nothing could be added, because the memories that lack vectors are being published or removed. */
class MemoriesChange extends Error {
  override readonly name = "MemoriesChange";

  constructor(readonly memories: number) {
    super(`${memories} memories changed while their vectors were computed`);
  }
}

function isFullDisk(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "no_space";
}

function failureOf(error: unknown): string {
  if (isFullDisk(error)) {
    return "The disk is full, so the vectors built so far were deleted: free some space on the server's disk, then ask for the change again.";
  }
  return "The vectors could not be built; the server's log has the reason. Ask for the change again when it is resolved.";
}

function stalledMessage(error: unknown): string {
  if (error instanceof MemoriesChange) {
    return `${error.memories} memories could not be embedded, because they are not published completely: see their status, then ask for the change again.`;
  }
  const reason = error instanceof Fault ? ` (${error.message})` : "";
  return `The model could not be used for ${STALLED_MS_MAX / 60_000} minutes${reason}: see the server's log, then ask for the change again.`;
}
