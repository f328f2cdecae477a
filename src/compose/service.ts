// The composition root: opens the parts of a server, and decides in which order they open and close. storage.ts and
// models.ts open the ports, background-work.ts and use-cases.ts create what works with them, http.ts the application.

import { createAddressGuard } from "../adapters/outbound/guard.ts";
import { createRemoteModels } from "../adapters/remote-models/remote-models.ts";
import type { App } from "../api/app.ts";
import { systemView } from "../api/system.ts";
import { Fault } from "../domain/fault.ts";
import { errorMessage } from "../kit/error-message.ts";
import { UsageError } from "../kit/flags.ts";
import type { Log } from "../kit/log.ts";
import { randomFraction } from "../kit/random-fraction.ts";
import { SharedCount } from "../kit/shared-count.ts";
import { Metrics } from "../metrics.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import { forget } from "../services/forget.ts";
import type { ProjectService } from "../services/projects.ts";
import type { SystemService } from "../services/system.ts";
import type { StoreHooks } from "../stores/context.ts";
import { warnOfAbsentModels } from "./absent-models.ts";
import { type BackgroundWork, startBackgroundWork } from "./background-work.ts";
import { Closers } from "./closers.ts";
import { type Control, createControl, type ServerActions } from "./control.ts";
import { identityOf, localCoordination } from "./coordination.ts";
import { ensureAdminKey } from "./first-key.ts";
import { declareGauges } from "./gauges.ts";
import { createHandle } from "./http.ts";
import { IndexUpkeep } from "./index-upkeep.ts";
import { startInstalledModels, startModelRegistry } from "./installed-models.ts";
import { connectLanguageModel } from "./language-model.ts";
import { LocalCaller } from "./local-caller.ts";
import { copyingOf } from "./migration/source-directory.ts";
import { type Models, startModels } from "./models.ts";
import { openStorage } from "./postgres-storage.ts";
import { createRecentResults } from "./recent-results.ts";
import { createSearchQueue } from "./search-queue.ts";
import { createDirectory, repair, type Storage } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";
import { createSystem } from "./system.ts";
import type { RequestThreads } from "./threads/request-threads.ts";
import { startThreads } from "./threads/start.ts";
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
  /** The threads that answer requests; null if the main thread does, which then listens itself. */
  readonly threads: RequestThreads | null;
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
  /** Script of the threads that answer requests; default: this program. */
  readonly threadScript?: string;
}

const REAL: PortOpeners = { startModels, openStorage, connectLanguageModel };

/**
 * Opens stores and models and builds the server. Before it resolves, it repairs what a crash or damage left behind. The
 * models may still be loading when it resolves.
 * @param ports default: the real implementations; tests pass others
 * @throws DatabaseError, StoreError, NativeError or ModelFilesError with a sentence for the operator if something
 *   cannot be opened; what was opened before is closed again
 */
export async function compose(surroundings: Surroundings, ports: Partial<PortOpeners> = {}): Promise<Service> {
  const closers = new Closers();
  try {
    return await open(surroundings, { ...REAL, ...ports }, closers);
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
  // null until the index is open; opening it shows all memories anyway
  let shown: ChunkIndex | null = null;
  const hooks: StoreHooks = {
    onDeliveries: wakeDispatcher,
    onSuperseded: (id, memories) => shown?.show(id, memories),
    onRelationJobs: () => work?.relations.wake(),
  };
  // Before the models: a lane that finds a file in its place fails, which would be a second line beside the refusal.
  createDirectory(config.dataDir);
  // Models load while the stores are opened, and close before them: another server may then use the data directory.
  const modelClosers = new Closers();
  closers.add(() => modelClosers.close());
  const started = await ports.startModels(surroundings, modelClosers);
  const storage = await ports.openStorage({ config, ...hooks, clock, log }, closers);
  closers.add(() => modelClosers.close());
  const whyClosed = await storage.whyClosed();
  if (whyClosed !== null) throw new UsageError(whyClosed);
  const modelChanges = new SharedCount();
  const onChange = () => {
    modelChanges.value += 1;
  };
  const remote = createRemoteModels({ clock, metrics, random: randomFraction });
  const registry = await startModelRegistry(surroundings, { storage, models: started, remote, onChange }, closers);
  const { openPictures, ...running } = started;
  const { embedders, rerankers } = registry;
  const models: Models = { ...running, embedders, rerankers, pictures: openPictures() };
  const damagedReads = metrics.counter(
    "mneme_damaged_reads_total",
    "Texts of memories and passages that were not shown, because they do not match their row or checksum.",
    ["kind"],
  );
  const index = await storage.openIndex(models.embedders, (passages) => damagedReads("passage").add(passages));
  shown = index;
  await repair(storage, index, log);
  await warnOfAbsentModels(surroundings, { storage, index, embedders: models.embedders });
  const { stores } = storage;
  const coordination = storage.coordination ?? localCoordination(stores, clock, identityOf(config));
  const defaultProject = await stores.accounts.defaultProject();
  const firstKey = await ensureAdminKey(stores.accounts, defaultProject, config.adminKey);
  const local = new LocalCaller(defaultProject);

  const model = ports.connectLanguageModel(config, metrics, clock);
  const { tasks, monthlyTokens, dailyTokens } = coordination;
  work = startBackgroundWork(
    surroundings,
    { storage, tasks, monthlyTokens, dailyTokens, index, models, model },
    closers,
  );
  const wakeIngest = () => work.worker.wake();
  const deletions = startDeletions(surroundings, { storage, index, wakeIngest }, closers);
  const guard = createAddressGuard({ allow: config.webhookAllow });
  const projects = createProjects(surroundings, { storage, index, models, guard });
  await startUpkeep(surroundings, { storage, tasks, deletions, projects }, closers);
  const queue = createSearchQueue(config, { laneStatus: models.laneStatus, clock, metrics }, closers);
  const recent = createRecentResults(config, { clock, metrics });
  const installedModels = startInstalledModels(
    surroundings,
    { storage, models, registry, remote, tasks, index },
    closers,
  );
  const profiles = createProfiles(surroundings, { storage, index, models });
  const maps = createMaps(surroundings, { storage, index }, closers);
  let isStopping = false;
  const stopping = () => isStopping;
  let threads: RequestThreads | null = null;
  const threadStates = () => threads?.states ?? [{ id: "main", state: isStopping ? "stopping" : "up" } as const];
  const system = createSystem(surroundings, { storage, coordination, models, registry, queue, threads: threadStates });
  const operations = createOperations(
    surroundings,
    {
      storage,
      coordination,
      index,
      models,
      model,
      guard,
      projects,
      profiles,
      ...{ deletions, installedModels, maps, worker: work.worker, queue, recent, system },
      wakeChanges: () => work.changer.wake(),
      wakeDispatcher,
      countDamagedTexts: (texts) => damagedReads("text").add(texts),
    },
    closers,
  );
  declareGauges(metrics, {
    memories: stores.memories,
    relations: stores.relations,
    projectModels: stores.projectModels,
    laneStatus: models.laneStatus,
    indexUsage: storage.indexUsage,
    vectorIndexes: () => index.vectorIndexes(),
    clock,
  });
  const { app: handle, routes } = createHandle(surroundings, {
    ...{ storage, coordination, models, registry, metrics, operations, profiles, local, isStopping: stopping },
    threads: threadStates,
    gatherCounts: async () => threads?.gather(),
  });
  const shared = { coordination, queue, models, model, index, metrics, app: handle };
  threads = await startThreads(
    surroundings,
    { storage, shared, routes, modelChanges, script: ports.threadScript },
    closers,
  );
  const indexes = new IndexUpkeep({
    projects: storage.projectsHere ?? (async () => stores.accounts.projects()),
    stores,
    index,
    wakeIngest,
    clock,
  });
  const server = serverActions(surroundings, { storage, index, indexes, local, handle, projects, work, system });
  const control = createControl({
    ...{ copies: storage.copies, server, log },
    ...copyingOf(storage, index, models),
    verifyIndexes: (onProgress) => indexes.verify(onProgress),
  });
  return {
    ...{ handle, control, ready: whenReady(models, log), firstKey, threads },
    announceStop: () => {
      isStopping = true;
    },
    close: () => closers.close(),
  };
}

/** Implements what commands can ask of a running server only. */
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
    readonly system: SystemService;
  },
): ServerActions {
  const { index, indexes, local, handle, projects, work, system } = uses;
  const { stores, files, transactions, traces } = uses.storage;
  const { accounts, retirement, history } = stores;
  return {
    wakeIngest: () => work.worker.wake(),
    repairIndexes: (failed, onProgress) => indexes.repair(failed, onProgress),
    system: async () => systemView(await system.read()),
    defaultEmbedder: config.embedder,
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
    throw new Error(`${errorMessage(error)}${reason}`, { cause: error });
  });
  ready.catch((err: unknown) => log.debug({ err }, "the models did not become ready"));
  return ready;
}
