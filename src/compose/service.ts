// The composition root: builds a server from its parts, and decides in which order they open and close. The other files
// of this folder open the storage and the models, and build the pages.

import { Idempotency } from "../account/idempotency.ts";
import { RateBuckets } from "../account/rate-limits.ts";
import { fileFormats } from "../adapters/documents/formats.ts";
import { releaseFreeMemory, stopListening } from "../adapters/native/core.ts";
import { nativeJsonBodies } from "../adapters/native/json-bodies.ts";
import { createOutboundFetcher } from "../adapters/outbound/fetcher.ts";
import { createAddressGuard } from "../adapters/outbound/guard.ts";
import { createOutboundSender } from "../adapters/outbound/sender.ts";
import { queryLanguage } from "../adapters/preparation/query-language.ts";
import { type App, createApp } from "../api/app.ts";
import { createCors } from "../api/cors.ts";
import { RequestMetrics } from "../api/metrics.ts";
import type { Operation } from "../api/operation.ts";
import { allOperations } from "../api/operations.ts";
import { createUploads } from "../api/upload.ts";
import { createUrlFiles } from "../api/url-file.ts";
import { sourceView } from "../api/views.ts";
import { mem0Endpoints } from "../compat/mem0/endpoints.ts";
import type { Config } from "../config.ts";
import { Fault } from "../domain/fault.ts";
import { LlmExtractor } from "../ingest/llm-extraction/extractor.ts";
import { ModelChanger } from "../ingest/model-change.ts";
import { Reindexer } from "../ingest/reindexer.ts";
import { VectorBuilder } from "../ingest/vector-builder.ts";
import { IngestWorker } from "../ingest/worker.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import { UsageError } from "../kit/flags.ts";
import type { Log } from "../kit/log.ts";
import { createMcpEndpoint } from "../mcp/endpoint.ts";
import { createHostRules } from "../mcp/hosts.ts";
import { toolsOf } from "../mcp/tools.ts";
import { Metrics } from "../metrics.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { Coordination, NodeTasks } from "../ports/coordination.ts";
import type { LanguageModel } from "../ports/language-model.ts";
import type { Embedder, Embedders } from "../ports/models.ts";
import type { AddressGuard } from "../ports/outbound.ts";
import { AnswerService } from "../services/answers.ts";
import { ChatService } from "../services/chats.ts";
import { DeletionService } from "../services/deletions.ts";
import { EmbeddingService } from "../services/embeddings.ts";
import { forget } from "../services/forget.ts";
import { GraphService } from "../services/graph.ts";
import { Intake } from "../services/intake.ts";
import { KeyService } from "../services/keys.ts";
import { MemoryService } from "../services/memories.ts";
import { ProjectModelService } from "../services/project-models.ts";
import { ProjectService } from "../services/projects.ts";
import { SearchService } from "../services/search.ts";
import type { SearchQueue } from "../services/search-queue.ts";
import { settling } from "../services/settling.ts";
import { UserService } from "../services/users.ts";
import { WebhookService } from "../services/webhooks.ts";
import { WebhookDispatcher } from "../webhooks/dispatcher.ts";
import { Closers } from "./closers.ts";
import { type Control, createControl, type ServerActions } from "./control.ts";
import { localCoordination } from "./coordination.ts";
import { ensureAdminKey } from "./first-key.ts";
import { declareGauges } from "./gauges.ts";
import { IndexUpkeep } from "./index-upkeep.ts";
import { LocalCaller } from "./local-caller.ts";
import { copyingOf } from "./migration/source-directory.ts";
import { connectLanguageModel, type Models, startModels } from "./models.ts";
import { createPages } from "./pages.ts";
import { openStorage } from "./postgres-storage.ts";
import { createSearchQueue } from "./search-queue.ts";
import { flushAccounts, repair, type Storage } from "./storage.ts";
import { startUpkeep } from "./upkeep.ts";

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

/** What every part of the server needs. */
interface Surroundings {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
}

/** Functions that open the implementations of the ports. */
export interface PortParts {
  readonly startModels: typeof startModels;
  readonly openStorage: typeof openStorage;
  readonly connectLanguageModel: typeof connectLanguageModel;
}

/** Interval, in milliseconds, at which a node looks for jobs that other nodes have accepted. */
const CLAIM_EVERY_MS = 250;

/** Seconds until a client that was sent to a node without an API may try again, elsewhere. */
const OTHER_NODE_SECONDS = 1;

const REAL: PortParts = { startModels, openStorage, connectLanguageModel };

/**
 * Opens stores and models and builds the server. Before it resolves, it repairs what a crash or damage left behind. The
 * models may still be loading when it resolves.
 * @param ports default: the real implementations; tests pass others
 * @throws DatabaseError, StoreError, NativeError or ModelError with a sentence for the operator if something cannot be
 *   opened; what was opened before is closed again
 */
export async function compose(surroundings: Surroundings, ports: PortParts = REAL): Promise<Service> {
  const closers = new Closers();
  try {
    return await open(surroundings, ports, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function open(surroundings: Surroundings, ports: PortParts, closers: Closers): Promise<Service> {
  const { config, log, clock } = surroundings;
  const metrics = new Metrics();
  const wakeDispatcher = () => dispatcher.wake();
  const storage = await ports.openStorage({ config, onDeliveries: wakeDispatcher, clock, log }, closers);
  const whyClosed = await storage.whyClosed();
  if (whyClosed !== null) throw new UsageError(whyClosed);
  const models = await ports.startModels(surroundings, closers);
  const damagedReads = metrics.counter(
    "mneme_damaged_reads_total",
    "Texts of memories and passages that were not shown, because they do not match their row or checksum.",
    ["kind"],
  );
  const index = await storage.openIndex(models.embedders, (passages) => damagedReads("passage").add(passages));
  await repair(storage, index, log);
  const { stores } = storage;
  const coordination = storage.coordination ?? localCoordination(stores.accounts, clock);
  const defaultProject = await stores.accounts.defaultProject();
  const firstKey = await ensureAdminKey(stores.accounts, defaultProject, config.adminKey);
  const local = new LocalCaller(defaultProject);

  const model = ports.connectLanguageModel(config, metrics, clock);
  const { tasks } = coordination;
  const worker = createWorker(surroundings, { storage, tasks, index, models, model });
  closers.add(() => worker.stop());
  const guard = createAddressGuard({ allow: config.webhookAllow });
  const dispatcher = new WebhookDispatcher({
    store: stores.webhooks,
    sender: createOutboundSender({ allow: config.webhookAllow }),
    clock,
    log,
    retryDelaysMs: config.webhookRetriesMs,
  });
  closers.add(() => dispatcher.stop());
  dispatcher.start();
  worker.start();
  const changer = createModelChanger(surroundings, { storage, tasks, index, models });
  closers.add(() => changer.stop());
  if (config.role !== "api") changer.start();

  const deletions = new DeletionService({
    memories: stores.memories,
    deletions: stores.deletions,
    transactions: storage.transactions,
    index,
    wakeIngest: () => worker.wake(),
    clock,
    log,
  });
  closers.add(() => deletions.stop());
  deletions.start();

  const projects = new ProjectService({
    ...{ accounts: stores.accounts, index, files: storage.files, guard },
    defaultPlan: config.defaultPlan,
    evidenceMinOf: async (id) => {
      const live = (await stores.projectModels.get(id))?.live ?? null;
      return installedOrDefault(models.embedders, live).tuning.evidenceMin;
    },
    log,
  });
  const isUpkeepMine = () => tasks.isMine("upkeep");
  if (await isUpkeepMine()) void projects.purgeRemoved();
  const ofOneNode: readonly (() => Eventually<void>)[] = [
    () => stores.idempotency.prune(),
    () => deletions.prune(),
    () => void projects.purgeRemoved(), // a command may have removed a project while the server runs
    ...storage.upkeep,
  ];
  closers.add(
    startUpkeep(clock, log, [
      () => flushAccounts(storage),
      ...ofOneNode.map((chore) => async () => {
        if (await isUpkeepMine()) await chore();
      }),
      releaseFreeMemory,
    ]),
  );
  const queue = createSearchQueue(config, { laneStatus: models.laneStatus, clock, metrics }, closers);
  const operations = createOperations(surroundings, {
    storage,
    coordination,
    index,
    models,
    model,
    guard,
    projects,
    ...{ deletions, worker, queue },
    wakeChanges: () => changer.wake(),
    wakeDispatcher,
    countDamagedTexts: (texts) => damagedReads("text").add(texts),
  });
  declareGauges(metrics, {
    memories: stores.memories,
    projectModels: stores.projectModels,
    laneStatus: models.laneStatus,
    indexUsage: storage.indexUsage,
    clock,
  });
  const reindexer = createReindexer(surroundings, { storage, index, models, worker });
  closers.add(() => reindexer.stop());
  let isStopping = false;
  const handle = createHandle(surroundings, {
    ...{ storage, coordination, models, metrics, operations, local },
    isStopping: () => isStopping,
  });
  const indexes = new IndexUpkeep({
    projects: storage.projectsHere ?? (async () => stores.accounts.projects()),
    stores,
    index,
    wakeIngest: () => worker.wake(),
    clock,
  });
  const server: ServerActions = {
    wakeIngest: () => worker.wake(),
    repairIndexes: (failed, onProgress) => indexes.repair(failed, onProgress),
    mcp: async (request) => handle(local.asLocal(request)),
    reindex: async (project, rate) => {
      const ids = await stores.accounts.projects();
      const asked = project === null ? ids : ids.filter((id) => id === project);
      if (project !== null && asked.length === 0) {
        throw new Fault("project_not_found", `There is no project '${project}'.`);
      }
      return reindexer.run(asked, rate ?? config.embedderChangeRate);
    },
    forget: (request) => {
      const { files, transactions, traces } = storage;
      if (traces === null) throw new Fault("invalid_state", "These stores cannot be searched for traces.");
      return forget(
        { retirement: stores.retirement, index, files, log, traces, transactions, projects, clock },
        request,
      );
    },
  };
  const control = createControl({
    ...{ copies: storage.copies, server, log },
    ...copyingOf(storage, index, models),
    verifyIndexes: (onProgress) => indexes.verify(onProgress),
  });
  return {
    ...{ handle, control, ready: whenReady(models, log), firstKey, stopListening },
    announceStop: () => {
      isStopping = true;
    },
    close: () => closers.close(),
  };
}

function answersNoRequests(): Fault {
  const message = "This node only processes memories (MNEME_ROLE=ingest). Send requests to another node.";
  return new Fault("unavailable", message, { retryAfterSeconds: OTHER_NODE_SECONDS });
}

/** The HTTP application: operations and pages, with rate limits and idempotency. */
function createHandle(
  { config, log, clock }: Surroundings,
  parts: {
    readonly storage: Storage;
    readonly coordination: Coordination;
    readonly models: Models;
    readonly metrics: Metrics;
    readonly operations: readonly Operation[];
    readonly local: LocalCaller;
    readonly isStopping: () => boolean;
  },
): App {
  const { storage, coordination, models, metrics, operations, local, isStopping } = parts;
  const { callers, failures, flights } = coordination;
  const { stores, transactions, files } = storage;
  const settled = settling(stores.memories, clock);
  const mcp = { tools: toolsOf(config.mcpConnector), settled, log };
  const endpoints = [
    createMcpEndpoint(mcp, createHostRules(config.mcpHosts, config.host, config.corsOrigins)),
    ...mem0Endpoints({ settled, clock }),
  ];
  const buckets = new RateBuckets(config.rateLimits, [...operations, ...endpoints]);
  const pages = createPages({
    ...{ operations, buckets, metrics, laneStatus: models.laneStatus, disk: storage.disk },
    isStopping,
  });
  return createApp({
    operations,
    endpoints,
    pages: config.role === "ingest" ? pages.ofOperator : { ...pages.ofOperator, ...pages.ofUsers },
    ...(config.role === "ingest" && { refusal: answersNoRequests() }),
    buckets,
    cors: createCors(config.corsOrigins),
    callers,
    failures,
    trustedProxies: config.trustedProxies,
    idempotency: new Idempotency(stores.idempotency, flights),
    transactions,
    uploads: createUploads({ files, formats: fileFormats }),
    jsonBodies: nativeJsonBodies,
    metrics: new RequestMetrics(metrics),
    explainFailure: storage.explainFailure,
    disk: storage.disk,
    authenticate: (secret) => local.authenticate(secret) ?? stores.accounts.authenticate(secret),
    newRequestId: () => Bun.randomUUIDv7(),
    clock,
    log,
  });
}

function createWorker(
  { config, log, clock }: Surroundings,
  parts: {
    readonly storage: Storage;
    readonly tasks: NodeTasks;
    readonly index: ChunkIndex;
    readonly models: Models;
    readonly model: LanguageModel;
  },
): IngestWorker {
  const { stores, transactions, files } = parts.storage;
  const { index } = parts;
  const { documents, preparer, embedders } = parts.models;
  const { accounts, extractions } = stores;
  const operator = operatorLlm(config);
  const extractor = new LlmExtractor({ accounts, extractions, model: parts.model, operator, clock, log });
  return new IngestWorker({
    stores,
    transactions,
    files,
    index,
    documents,
    extractor,
    preparer,
    embedders,
    clock,
    log,
    hasSpace: () => !parts.storage.disk.isFull,
    claimsJobs: config.role !== "api",
    claimEveryMs: parts.storage.coordination === null ? undefined : CLAIM_EVERY_MS,
    sweepsRows: () => parts.tasks.isMine("sweep"),
  });
}

function createModelChanger(
  { config, log, clock }: Surroundings,
  parts: {
    readonly storage: Storage;
    readonly tasks: NodeTasks;
    readonly index: ChunkIndex;
    readonly models: Models;
  },
): ModelChanger {
  const { stores, freeSpace } = parts.storage;
  const { jobs, extractions, accounts, projectModels: store } = stores;
  const { embedders, preparer } = parts.models;
  const { index } = parts;
  const { embedderChangeRate: chunksPerSecond, embedderUpgrade } = config;
  const builder = new VectorBuilder({ index, jobs, extractions, preparer, clock, chunksPerSecond });
  const upgrades = embedderUpgrade === "auto";
  return new ModelChanger({
    ...{ store, accounts, index, embedders, builder },
    ...{ freeSpace, upgrades, clock, log },
    isMine: () => parts.tasks.isMine("model changes"),
    isShared: parts.storage.coordination !== null,
  });
}

function createReindexer(
  { clock, log }: Surroundings,
  parts: {
    readonly storage: Storage;
    readonly index: ChunkIndex;
    readonly models: Models;
    readonly worker: IngestWorker;
  },
): Reindexer {
  const { memories, jobs, extractions } = parts.storage.stores;
  const { embedders, preparer } = parts.models;
  const wakeIngest = () => parts.worker.wake();
  return new Reindexer({
    index: parts.index,
    memories,
    jobs,
    extractions,
    preparer,
    embedders,
    wakeIngest,
    clock,
    log,
  });
}

/** All operations of the API, with their services. */
function createOperations(
  { config, log, clock }: Surroundings,
  parts: {
    readonly storage: Storage;
    readonly coordination: Coordination;
    readonly index: ChunkIndex;
    readonly models: Models;
    readonly model: LanguageModel;
    readonly guard: AddressGuard;
    readonly projects: ProjectService;
    readonly deletions: DeletionService;
    readonly worker: IngestWorker;
    readonly wakeChanges: () => void;
    readonly wakeDispatcher: () => void;
    readonly countDamagedTexts: (texts: number) => void;
    readonly queue: SearchQueue;
  },
): readonly Operation[] {
  const { index, models, model, guard, worker, wakeChanges, wakeDispatcher, queue } = parts;
  const { stores, transactions, files } = parts.storage;
  const { memories, retirement, accounts, projectModels, users, chats, webhooks, extractions } = stores;
  const { embedders, rerankers } = models;
  const wakeIngest = () => worker.wake();
  const reading = { languageOf: queryLanguage, rerankDeadlineMs: config.rerankDeadline };
  const searching = { index, memories, accounts, embedders, rerankers, ...reading, clock };
  const search = new SearchService({ ...searching, queue });
  const answers = new AnswerService({
    search,
    accounts,
    quota: parts.coordination.quotas,
    generation: { model, operator: operatorLlm(config), contextTokens: config.llmContextTokens, clock },
    reading,
  });
  return allOperations({
    jsonBodies: nativeJsonBodies,
    memories: new MemoryService({
      ...{ memories, retirement, files, index, log, wakeIngest },
      countDamaged: parts.countDamagedTexts,
    }),
    intake: new Intake({ memories, files, log }),
    deletions: parts.deletions,
    urlFiles: createUrlFiles({
      fetcher: config.fetchUrls ? createOutboundFetcher({ allow: config.webhookAllow }) : null,
      files,
      formats: fileFormats,
    }),
    graph: new GraphService({ memories, accounts, index, extractions, clock }),
    ...{ search, answers, clock },
    embeddings: new EmbeddingService(embedders, queue),
    chats: new ChatService({ chats, answers, transactions, describeSource: sourceView }),
    users: new UserService({ users, index, wakeIngest }),
    keys: new KeyService(accounts),
    projects: parts.projects,
    projectModels: new ProjectModelService({ accounts, projectModels, index, embedders, wakeChanges }),
    webhooks: new WebhookService({ webhooks, guard, wakeDispatcher }),
    progressOf: (memory) => worker.progressOf(memory.key),
  });
}

/** The embedder with this id; the default one if it is not installed, or if no server has opened the index yet. */
function installedOrDefault(embedders: Embedders, id: string | null): Embedder {
  return id !== null && embedders.ids.includes(id) ? embedders.get(id) : embedders.default;
}

function operatorLlm({ llmBaseUrl, llmModel, llmApiKey }: Config) {
  return { baseUrl: llmBaseUrl, model: llmModel, apiKey: llmApiKey };
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
