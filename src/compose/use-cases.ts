// Creates the services of a server, and the operations of the API that call them.

import { MonthlyTokens } from "../account/monthly-tokens.ts";
import { fileFormats } from "../adapters/documents/formats.ts";
import { nativeJsonBodies } from "../adapters/native/json-bodies.ts";
import { createOutboundFetcher } from "../adapters/outbound/fetcher.ts";
import { queryLanguage } from "../adapters/preparation/query-language.ts";
import type { Operation } from "../api/operation.ts";
import { allOperations } from "../api/operations.ts";
import { createUrlFiles } from "../api/url-file.ts";
import { sourceView } from "../api/views.ts";
import type { IngestWorker } from "../ingest/worker.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { Coordination } from "../ports/coordination.ts";
import type { LanguageModel } from "../ports/language-model.ts";
import type { Embedder, Embedders } from "../ports/models.ts";
import type { AddressGuard } from "../ports/outbound.ts";
import { ActivityService } from "../services/activity.ts";
import { AnswerService } from "../services/answers.ts";
import { CaseRunner } from "../services/case-runner.ts";
import { CaseService } from "../services/cases.ts";
import { ChatService } from "../services/chats.ts";
import { DeletionService } from "../services/deletions.ts";
import { EmbeddingService } from "../services/embeddings.ts";
import { EntityService } from "../services/entities.ts";
import { GraphService } from "../services/graph.ts";
import { HistoryService } from "../services/history.ts";
import type { InstalledModelService } from "../services/installed-models.ts";
import { Intake } from "../services/intake.ts";
import { KeyService } from "../services/keys.ts";
import { LanguageModelService } from "../services/language-models.ts";
import { MemoryService } from "../services/memories.ts";
import { MemoryCounts } from "../services/memory-counts.ts";
import { MapService } from "../services/memory-map.ts";
import { ProfileService } from "../services/profile.ts";
import { ProjectModelService } from "../services/project-models.ts";
import { ProjectService } from "../services/projects.ts";
import type { RecentResults } from "../services/recent-results.ts";
import { RelationService } from "../services/relations.ts";
import { SearchService } from "../services/search.ts";
import type { SearchQueue } from "../services/search-queue.ts";
import { SlowSearches } from "../services/slow-searches.ts";
import type { SystemService } from "../services/system.ts";
import { UserService } from "../services/users.ts";
import { WebhookService } from "../services/webhooks.ts";
import type { Closers } from "./closers.ts";
import { operatorLlm } from "./language-model.ts";
import type { Models } from "./models.ts";
import type { Storage } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";

/** Interval, in milliseconds, at which a node looks for runs over cases that other nodes began. */
const CASE_RUNS_EVERY_MS = 1_000;

/** Starts the service that deletes many memories at once. `closers` stop it. */
export function startDeletions(
  { log, clock }: Surroundings,
  uses: { readonly storage: Storage; readonly index: ChunkIndex; readonly wakeIngest: () => void },
  closers: Closers,
): DeletionService {
  const { stores, transactions } = uses.storage;
  const { memories, deletions: store } = stores;
  const { index, wakeIngest } = uses;
  const deletions = new DeletionService({ memories, deletions: store, transactions, index, wakeIngest, clock, log });
  closers.add(() => deletions.stop());
  deletions.start();
  return deletions;
}

/** Creates the service of maps. `closers` stop it. */
export function createMaps(
  { log, clock }: Surroundings,
  { storage, index }: { readonly storage: Storage; readonly index: ChunkIndex },
  closers: Closers,
): MapService {
  const { memories, maps } = storage.stores;
  const service = new MapService({ memories, maps, index, clock, log });
  closers.add(() => service.stop());
  return service;
}

/** Starts the runs over cases. `closers` stop them. */
function startCaseRuns(
  { log, clock }: Surroundings,
  uses: { readonly storage: Storage; readonly coordination: Coordination; readonly answers: AnswerService },
  closers: Closers,
): CaseRunner {
  const { cases, memories, accounts } = uses.storage.stores;
  const runner = new CaseRunner({
    ...{ cases, memories, accounts, answers: uses.answers, clock, log },
    isMine: () => uses.coordination.tasks.isMine("case runs"),
    pollMs: uses.storage.coordination === null ? undefined : CASE_RUNS_EVERY_MS,
  });
  closers.add(() => runner.stop());
  runner.start();
  return runner;
}

/** Creates the service of projects. */
export function createProjects(
  { config, log }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly index: ChunkIndex;
    readonly models: Models;
    readonly guard: AddressGuard;
  },
): ProjectService {
  const { stores, files } = uses.storage;
  const { accounts, projectModels } = stores;
  return new ProjectService({
    ...{ accounts, index: uses.index, files, guard: uses.guard },
    defaultPlan: config.defaultPlan,
    modelsOf: async (id) => {
      const { live = null, reranker = null } = (await projectModels.get(id)) ?? {};
      const embedder = installedOrDefault(uses.models.embedders, live);
      return { embedder, usedReranker: uses.models.rerankers.for(embedder, id), reranker };
    },
    log,
  });
}

/** Creates the service of profiles. */
export function createProfiles(
  { clock }: Surroundings,
  { storage, index, models }: { readonly storage: Storage; readonly index: ChunkIndex; readonly models: Models },
): ProfileService {
  const { memories, users, accounts } = storage.stores;
  return new ProfileService({ index, memories, users, accounts, embedders: models.embedders, clock });
}

/** Creates all operations of the API, with the services behind them. `closers` stop what they do in the background. */
export function createOperations(
  { config, log, clock }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly coordination: Coordination;
    readonly index: ChunkIndex;
    readonly models: Models;
    readonly model: LanguageModel;
    readonly guard: AddressGuard;
    readonly projects: ProjectService;
    readonly profiles: ProfileService;
    readonly deletions: DeletionService;
    readonly installedModels: InstalledModelService;
    readonly maps: MapService;
    readonly worker: IngestWorker;
    readonly wakeChanges: () => void;
    readonly wakeDispatcher: () => void;
    readonly countDamagedTexts: (texts: number) => void;
    readonly queue: SearchQueue;
    readonly recent: RecentResults;
    readonly system: SystemService;
  },
  closers: Closers,
): readonly Operation[] {
  const { index, models, model, guard, worker, wakeChanges, wakeDispatcher, queue } = uses;
  const { stores, transactions, files } = uses.storage;
  const { memories, retirement, accounts, projectModels, users, chats, webhooks, extractions } = stores;
  const { embedders, rerankers } = models;
  const wakeIngest = () => worker.wake();
  const reading = { languageOf: queryLanguage, rerankDeadlineMs: config.rerankDeadline };
  const { relations, history } = stores;
  const searching = { index, memories, relations, history, accounts, embedders, rerankers, ...reading, clock };
  const slow = new SlowSearches({ fromMs: config.slowQueryMs, log, clock });
  const searchUses = { preparer: models.preparer, users, queue, slow, recent: uses.recent };
  const search = new SearchService({ ...searching, ...searchUses });
  const activity = new ActivityService({ activity: stores.activity, clock });
  const operator = operatorLlm(config);
  const monthlyTokens = new MonthlyTokens(uses.coordination.monthlyTokens, clock);
  const answers = new AnswerService({
    search,
    activity,
    accounts,
    quota: uses.coordination.quotas,
    generation: { model, operator, monthlyTokens, contextTokens: config.llmContextTokens, clock },
    reading,
  });
  const memoryService = new MemoryService({
    ...{ memories, retirement, files, index, log, wakeIngest },
    countDamaged: uses.countDamagedTexts,
  });
  const runner = startCaseRuns({ config, log, clock }, { ...uses, answers }, closers);
  return allOperations({
    jsonBodies: nativeJsonBodies,
    memories: memoryService,
    relations: new RelationService(relations),
    history: new HistoryService({ history, relations, rows: memories, memories: memoryService, index, clock }),
    counts: new MemoryCounts({ memories, history, clock }),
    intake: new Intake({ memories, files, log }),
    deletions: uses.deletions,
    maps: uses.maps,
    urlFiles: createUrlFiles({
      fetcher: config.fetchUrls ? createOutboundFetcher({ allow: config.webhookAllow }) : null,
      files,
      formats: fileFormats,
    }),
    entities: new EntityService({ entities: stores.entities, memories, accounts, index, clock }),
    graph: new GraphService({ memories, accounts, index, extractions, clock }),
    ...{ search, answers, activity, clock },
    embeddings: new EmbeddingService(embedders, queue),
    chats: new ChatService({ chats, answers, transactions, describeSource: sourceView }),
    users: new UserService({ users, index, wakeIngest }),
    profiles: uses.profiles,
    keys: new KeyService(accounts),
    projects: uses.projects,
    languageModels: new LanguageModelService({ accounts, model, operator, monthlyTokens, guard }),
    projectModels: new ProjectModelService({ accounts, projectModels, index, embedders, wakeChanges }),
    cases: new CaseService({
      cases: stores.cases,
      setupOf: (id) => uses.projects.setupOf(id),
      wakeRuns: () => runner.wake(),
    }),
    system: uses.system,
    installedModels: uses.installedModels,
    webhooks: new WebhookService({ webhooks, guard, wakeDispatcher }),
    progressOf: (memory) => worker.progressOf(memory.key),
  });
}

/** The embedder with this id; the default one if it is not installed, or if no server has opened the index yet. */
function installedOrDefault(embedders: Embedders, id: string | null): Embedder {
  return id !== null && embedders.ids.includes(id) ? embedders.get(id) : embedders.default;
}
