// What a server does beside answering requests: ingestion, webhook deliveries, finding relations of memories, changes
// of embedding models, and rebuilding indexes.

import { MonthlyTokens } from "../account/monthly-tokens.ts";
import { createPictureShrinker } from "../adapters/ocr/picture-shrinker.ts";
import { createOutboundSender } from "../adapters/outbound/sender.ts";
import { LlmExtractor } from "../ingest/llm-extraction/extractor.ts";
import { PictureDescriber } from "../ingest/llm-extraction/picture-describer.ts";
import { ModelChanger } from "../ingest/model-change.ts";
import { Reindexer } from "../ingest/reindexer.ts";
import { VectorBuilder } from "../ingest/vector-builder.ts";
import { IngestWorker } from "../ingest/worker.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { NodeTasks, TokenLimits } from "../ports/coordination.ts";
import type { LanguageModel } from "../ports/language-model.ts";
import { judgeByRules } from "../relations/judge.ts";
import { RelationWorker } from "../relations/worker.ts";
import { WebhookDispatcher } from "../webhooks/dispatcher.ts";
import { absentModels } from "./absent-models.ts";
import type { Closers } from "./closers.ts";
import { operatorLlm } from "./language-model.ts";
import type { Models } from "./models.ts";
import type { Storage } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";

/** What the background work of a server uses. */
export interface WorkDependencies {
  readonly storage: Storage;
  readonly tasks: NodeTasks;
  readonly monthlyTokens: TokenLimits;
  readonly dailyTokens: TokenLimits;
  readonly index: ChunkIndex;
  readonly models: Models;
  readonly model: LanguageModel;
}

/** The background work of a server. */
export interface BackgroundWork {
  readonly worker: IngestWorker;
  readonly dispatcher: WebhookDispatcher;
  readonly relations: RelationWorker;
  readonly changer: ModelChanger;
  readonly reindexer: Reindexer;
}

/** Interval, in milliseconds, at which a node looks for ingestion jobs that other nodes have accepted. */
const CLAIM_EVERY_MS = 250;
/** Interval, in milliseconds, at which a node looks for memories whose relations have not been looked for yet. */
const RELATIONS_EVERY_MS = 1_000;

/** Starts what this node does beside answering requests. `closers` stop it. */
export function startBackgroundWork(
  surroundings: Surroundings,
  uses: WorkDependencies,
  closers: Closers,
): BackgroundWork {
  const worker = createWorker(surroundings, uses);
  closers.add(() => worker.stop());
  const dispatcher = createDispatcher(surroundings, uses.storage);
  closers.add(() => dispatcher.stop());
  dispatcher.start();
  worker.start();
  const relations = createRelationWorker(surroundings, uses);
  closers.add(() => relations.stop());
  if (surroundings.config.role !== "api") relations.start();
  const changer = createModelChanger(surroundings, uses);
  closers.add(() => changer.stop());
  if (surroundings.config.role !== "api") changer.start();
  const reindexer = createReindexer(surroundings, uses, worker);
  closers.add(() => reindexer.stop());
  return { worker, dispatcher, relations, changer, reindexer };
}

function createDispatcher({ config, log, clock }: Surroundings, { stores }: Storage): WebhookDispatcher {
  return new WebhookDispatcher({
    store: stores.webhooks,
    sender: createOutboundSender({ allow: config.webhookAllow }),
    clock,
    log,
    retryDelaysMs: config.webhookRetriesMs,
  });
}

function createWorker({ config, log, clock }: Surroundings, uses: WorkDependencies): IngestWorker {
  const { stores, transactions, files } = uses.storage;
  const { index } = uses;
  const { documents, pictures, preparer, embedders } = uses.models;
  const { accounts, extractions } = stores;
  const operator = operatorLlm(config);
  const monthlyTokens = new MonthlyTokens(uses.monthlyTokens, clock);
  const calling = { extractions, model: uses.model, operator, monthlyTokens, dailyTokens: uses.dailyTokens, log };
  const extractor = new LlmExtractor({ ...calling, accounts, clock });
  const describer = new PictureDescriber({ ...calling, shrinker: createPictureShrinker(log) });
  return new IngestWorker({
    describer,
    stores,
    transactions,
    files,
    index,
    documents,
    pictures,
    accounts,
    extractor,
    preparer,
    embedders,
    clock,
    log,
    hasSpace: () => !uses.storage.disk.isFull,
    claimsJobs: config.role !== "api",
    claimEveryMs: uses.storage.coordination === null ? undefined : CLAIM_EVERY_MS,
    sweepsRows: () => uses.tasks.isMine("sweep"),
  });
}

function createRelationWorker({ clock, log }: Surroundings, uses: WorkDependencies): RelationWorker {
  const { relations, memories, jobs } = uses.storage.stores;
  return new RelationWorker({
    ...{ relations, memories, index: uses.index, judge: judgeByRules, embedders: uses.models.embedders, clock, log },
    hasSpace: () => !uses.storage.disk.isFull,
    isIngesting: async () => (await jobs.nextJobInMs()) !== null,
    claimEveryMs: uses.storage.coordination === null ? undefined : RELATIONS_EVERY_MS,
  });
}

function createModelChanger({ config, log, clock }: Surroundings, uses: WorkDependencies): ModelChanger {
  const { stores, freeSpace } = uses.storage;
  const { jobs, extractions, accounts, projectModels: store } = stores;
  const { embedders, preparer } = uses.models;
  const { index } = uses;
  const { embedderChangeRate: chunksPerSecond, embedderUpgrade } = config;
  const builder = new VectorBuilder({ index, jobs, extractions, preparer, clock, chunksPerSecond });
  const upgrades = embedderUpgrade === "auto";
  return new ModelChanger({
    ...{ store, accounts, index, embedders, builder },
    ...{ freeSpace, upgrades, clock, log },
    absentModels: () => absentModels(config),
    isMine: () => uses.tasks.isMine("model changes"),
    isShared: uses.storage.coordination !== null,
  });
}

function createReindexer({ clock, log }: Surroundings, uses: WorkDependencies, worker: IngestWorker): Reindexer {
  const { memories, jobs, extractions } = uses.storage.stores;
  const { embedders, preparer } = uses.models;
  const wakeIngest = () => worker.wake();
  return new Reindexer({
    index: uses.index,
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
