// The composition root: opens what a server consists of, and decides in which order it opens and closes. storage.ts and
// models.ts open the ports, background-work.ts and use-cases.ts create what works with them, http.ts the application.

import { addon } from "../adapters/native/addon.ts";
import { createAddressGuard } from "../adapters/outbound/guard.ts";
import type { App } from "../api/app.ts";
import { Fault } from "../domain/fault.ts";
import { UsageError } from "../kit/flags.ts";
import type { Log } from "../kit/log.ts";
import { Metrics } from "../metrics.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import { forget } from "../services/forget.ts";
import type { ProjectService } from "../services/projects.ts";
import type { StoreHooks } from "../stores/context.ts";
import { type BackgroundWork, startBackgroundWork } from "./background-work.ts";
import { Closers } from "./closers.ts";
import { type Control, createControl, type ServerActions } from "./control.ts";
import { localCoordination } from "./coordination.ts";
import { ensureAdminKey } from "./first-key.ts";
import { declareGauges } from "./gauges.ts";
import { createHandle } from "./http.ts";
import { IndexUpkeep } from "./index-upkeep.ts";
import { LocalCaller } from "./local-caller.ts";
import { copyingOf } from "./migration/source-directory.ts";
import { connectLanguageModel, type Models, startModels } from "./models.ts";
import { openStorage } from "./postgres-storage.ts";
import { createSearchQueue } from "./search-queue.ts";
import { repair, type Storage } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";
import { startUpkeep } from "./upkeep.ts";
import { createMaps, createOperations, createProfiles, createProjects, startDeletions } from "./use-cases.ts";

/** A running server, without its socket. */
export interface Service {
  readonly handle: App;
  /** Answers the requests of commands that run beside the server. */
  readonly control: Control;
  /** Resolves when the models are ready; rejects if they can never be ready. */
  readonly ready: Promise<void>;
  /** From now on, `/ready` answers 503, so that load balancers choose other nodes. Requests are still answered. */
  announceStop(): void;
  /**
   * Ends listening on a TCP port of this process: new connections are refused, and open ones go on.
   * @throws NativeError if the operating system refuses
   */
  stopListening(port: number): void;
  /** Waits until running jobs have ended, then flushes and closes the stores. */
  close(): Promise<void>;
  /** Secret of the admin key if this start created it, otherwise null. The secret itself is not stored anywhere. */
  readonly firstKey: string | null;
}

/** Functions that open the implementations of the ports. */
export interface PortOpeners {
  readonly startModels: typeof startModels;
  readonly openStorage: typeof openStorage;
  readonly connectLanguageModel: typeof connectLanguageModel;
}

const REAL: PortOpeners = { startModels, openStorage, connectLanguageModel };

/**
 * Opens stores and models and builds the server. Before it resolves, it repairs what a crash or damage left behind. The
 * models may still be loading when it resolves.
 * @param ports default: the real implementations; tests pass others
 * @throws DatabaseError, StoreError, NativeError or ModelError with a sentence for the operator if something cannot be
 *   opened; what was opened before is closed again
 */
export async function compose(surroundings: Surroundings, ports: PortOpeners = REAL): Promise<Service> {
  const closers = new Closers();
  try {
    return await open(surroundings, ports, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function open(surroundings: Surroundings, ports: PortOpeners, closers: Closers): Promise<Service> {
  const { config, log, clock } = surroundings;
  const metrics = new Metrics();
  let work: BackgroundWork | null = null;
  const wakeDispatcher = () => work?.dispatcher.wake();
  // before the index is open, nothing is shown: opening it shows all memories
  let shown: ChunkIndex | null = null;
  const hooks: StoreHooks = {
    onDeliveries: wakeDispatcher,
    onSuperseded: (id, memories) => shown?.show(id, memories),
    onRelationJobs: () => work?.relations.wake(),
  };
  const storage = await ports.openStorage({ config, ...hooks, clock, log }, closers);
  const whyClosed = await storage.whyClosed();
  if (whyClosed !== null) throw new UsageError(whyClosed);
  const models = await ports.startModels(surroundings, closers);
  const damagedReads = metrics.counter(
    "mneme_damaged_reads_total",
    "Texts of memories and passages that were not shown, because they do not match their row or checksum.",
    ["kind"],
  );
  const index = await storage.openIndex(models.embedders, (passages) => damagedReads("passage").add(passages));
  shown = index;
  await repair(storage, index, log);
  const { stores } = storage;
  const coordination = storage.coordination ?? localCoordination(stores.accounts, clock);
  const defaultProject = await stores.accounts.defaultProject();
  const firstKey = await ensureAdminKey(stores.accounts, defaultProject, config.adminKey);
  const local = new LocalCaller(defaultProject);

  const model = ports.connectLanguageModel(config, metrics, clock);
  const { tasks } = coordination;
  work = startBackgroundWork(surroundings, { storage, tasks, index, models, model }, closers);
  const wakeIngest = () => work.worker.wake();
  const deletions = startDeletions(surroundings, { storage, index, wakeIngest }, closers);
  const guard = createAddressGuard({ allow: config.webhookAllow });
  const projects = createProjects(surroundings, { storage, index, models, guard });
  await startUpkeep(surroundings, { storage, tasks, deletions, projects }, closers);
  const queue = createSearchQueue(config, { laneStatus: models.laneStatus, clock, metrics }, closers);
  const profiles = createProfiles(surroundings, { storage, index, models });
  const maps = createMaps(surroundings, { storage, index }, closers);
  const operations = createOperations(surroundings, {
    storage,
    coordination,
    index,
    models,
    model,
    guard,
    projects,
    profiles,
    ...{ deletions, maps, worker: work.worker, queue },
    wakeChanges: () => work.changer.wake(),
    wakeDispatcher,
    countDamagedTexts: (texts) => damagedReads("text").add(texts),
  });
  declareGauges(metrics, {
    memories: stores.memories,
    relations: stores.relations,
    projectModels: stores.projectModels,
    laneStatus: models.laneStatus,
    indexUsage: storage.indexUsage,
    clock,
  });
  let isStopping = false;
  const handle = createHandle(surroundings, {
    ...{ storage, coordination, models, metrics, operations, profiles, local },
    isStopping: () => isStopping,
  });
  const indexes = new IndexUpkeep({
    projects: storage.projectsHere ?? (async () => stores.accounts.projects()),
    stores,
    index,
    wakeIngest,
    clock,
  });
  const server = serverActions(surroundings, { storage, index, indexes, local, handle, projects, work });
  const control = createControl({
    ...{ copies: storage.copies, server, log },
    ...copyingOf(storage, index, models),
    verifyIndexes: (onProgress) => indexes.verify(onProgress),
  });
  return {
    ...{ handle, control, ready: whenReady(models, log), firstKey, stopListening: addon().stopListening },
    announceStop: () => {
      isStopping = true;
    },
    close: () => closers.close(),
  };
}

/** What commands that run beside the server ask of it. */
function serverActions(
  { config, log, clock }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly index: ChunkIndex;
    readonly indexes: IndexUpkeep;
    readonly local: LocalCaller;
    readonly handle: App;
    readonly projects: ProjectService;
    readonly work: BackgroundWork;
  },
): ServerActions {
  const { index, indexes, local, handle, projects, work } = uses;
  const { stores, files, transactions, traces } = uses.storage;
  const { accounts, retirement, history } = stores;
  return {
    wakeIngest: () => work.worker.wake(),
    repairIndexes: (failed, onProgress) => indexes.repair(failed, onProgress),
    mcp: async (request) => handle(local.asLocal(request)),
    reindex: async (project, rate) => {
      const ids = await accounts.projects();
      const asked = project === null ? ids : ids.filter((id) => id === project);
      if (project !== null && asked.length === 0) {
        throw new Fault("project_not_found", `There is no project '${project}'.`);
      }
      return work.reindexer.run(asked, rate ?? config.embedderChangeRate);
    },
    forget: (request) => {
      if (traces === null) throw new Fault("invalid_state", "These stores cannot be searched for traces.");
      return forget({ retirement, history, index, files, log, traces, transactions, projects, clock }, request);
    },
  };
}

function whenReady(models: Models, log: Log): Promise<void> {
  const ready = models.ready().catch((error: unknown) => {
    // The public message of the error names no file, but the person who starts the server needs its path.
    const reason = error instanceof Error && error.cause !== undefined ? ` ${String(error.cause)}` : "";
    throw new Error(`${error instanceof Error ? error.message : String(error)}${reason}`, { cause: error });
  });
  ready.catch((err: unknown) => log.debug({ err }, "the models did not become ready"));
  return ready;
}
