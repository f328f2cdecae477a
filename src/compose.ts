// Which concrete parts make up a server, and in which order they open and close: the only file that names an adapter.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Idempotency } from "./account/idempotency.ts";
import { QueryQuota } from "./account/query-quota.ts";
import { RATE_WINDOW_MS, RateBuckets } from "./account/rate-limits.ts";
import { SlidingWindow } from "./account/sliding-window.ts";
import { createDocumentReader } from "./adapters/documents/document-reader.ts";
import { fileFormats } from "./adapters/documents/formats.ts";
import { EmbeddedChunkIndex } from "./adapters/embedded/chunk-index.ts";
import { Archive } from "./adapters/embedded/duckdb/archive.ts";
import { SqliteAccountStore } from "./adapters/embedded/sqlite/account-store.ts";
import { SqliteChatStore } from "./adapters/embedded/sqlite/chat-store.ts";
import { openDatabase } from "./adapters/embedded/sqlite/database.ts";
import { SqliteFindingStore } from "./adapters/embedded/sqlite/finding-store.ts";
import { SqliteIdempotencyStore } from "./adapters/embedded/sqlite/idempotency-store.ts";
import { SqliteMemoryStore } from "./adapters/embedded/sqlite/memory-store.ts";
import { SqliteOutbox } from "./adapters/embedded/sqlite/outbox.ts";
import { SqliteUserStore } from "./adapters/embedded/sqlite/user-store.ts";
import { SqliteWebhookStore } from "./adapters/embedded/sqlite/webhook-store.ts";
import { faultOfStore, StoreError } from "./adapters/embedded/store-error.ts";
import { createLanes, type LaneStatus } from "./adapters/inference/lanes.ts";
import { countCalls } from "./adapters/llm/call-metrics.ts";
import type { LlmTimeouts } from "./adapters/llm/call-timer.ts";
import { createLanguageModel } from "./adapters/llm/client.ts";
import { limitConcurrency } from "./adapters/llm/concurrency-limit.ts";
import { lockDirectory } from "./adapters/native/core.ts";
import { createAddressGuard } from "./adapters/outbound/guard.ts";
import { createOutboundSender } from "./adapters/outbound/sender.ts";
import { createPreparationProcess } from "./adapters/preparation/preparation-process.ts";
import { queryLanguage } from "./adapters/preparation/query-language.ts";
import { openSpool } from "./adapters/uploads/spool.ts";
import { type App, createApp } from "./api/app.ts";
import { chatOperations } from "./api/chats.ts";
import { createCors } from "./api/cors.ts";
import { DOCS_CSP, docsPage } from "./api/docs.ts";
import { keyOperations } from "./api/keys.ts";
import { memoryOperations } from "./api/memories.ts";
import { graphOperation } from "./api/memory-graph.ts";
import { uploadOperation } from "./api/memory-upload.ts";
import { RequestMetrics } from "./api/metrics.ts";
import { openApiDocument } from "./api/openapi.ts";
import { type Answer, type Operation, Page } from "./api/operation.ts";
import { projectOperations } from "./api/projects.ts";
import { searchOperations } from "./api/search.ts";
import { createUploads } from "./api/upload.ts";
import { userOperations } from "./api/users.ts";
import { memoryAttributes, sourceView } from "./api/views.ts";
import { webhookOperations } from "./api/webhooks.ts";
import type { Config } from "./config.ts";
import { createConsole } from "./console/page.ts";
import type { MemoryKey, ProjectId } from "./domain/ids.ts";
import type { Memory } from "./domain/memory.ts";
import { Enricher } from "./ingest/enrich/enricher.ts";
import { IngestWorker } from "./ingest/worker.ts";
import type { Clock } from "./kit/clock.ts";
import type { Log } from "./kit/log.ts";
import { METRICS_CONTENT_TYPE, Metrics } from "./kit/metrics.ts";
import { INTERFACE_VERSION } from "./kit/version.ts";
import type { AccountStore } from "./ports/account-store.ts";
import type { ChunkIndex, VisibleMemory } from "./ports/chunk-index.ts";
import { AnswerService } from "./services/answers.ts";
import { ChatService } from "./services/chats.ts";
import { GraphService } from "./services/graph.ts";
import { KeyService } from "./services/keys.ts";
import { MemoryService } from "./services/memories.ts";
import { ProjectService } from "./services/projects.ts";
import { SearchService } from "./services/search.ts";
import { UserService } from "./services/users.ts";
import { WebhookService } from "./services/webhooks.ts";
import { WebhookDispatcher } from "./webhooks/dispatcher.ts";
import { newWebhookSecret } from "./webhooks/signature.ts";

/** Keys, and addresses without one, that are counted at once; beyond, a newcomer waits for a window to empty. */
const COUNTED_KEYS_MAX = 100_000;
const COUNTED_ADDRESSES_MAX = 20_000;
/** How often what may lag (when keys were last used, answers that are remembered too long) is put in order. */
const UPKEEP_MS = 60_000;
/** How old the count of memories in the metrics may be: the page needs no key, and a count looks at each of them. */
const COUNTS_MS = 5_000;
/** How long a connection to a language model may take: whoever has none by then is down or far too busy. */
const LLM_CONNECT_MS = 5_000;
/** Memories of one page at the opening of a project; other work goes on between two. */
const OPENED_AT_ONCE = 500;

/** A running program. */
export interface Service {
  readonly handle: App;
  /** Resolves when the models answer; rejects when they never will. */
  readonly ready: Promise<void>;
  /** Drains jobs, flushes and closes the stores. */
  close(): Promise<void>;
  /** The admin key, when this start made it: the only time that it is known. */
  readonly firstKey: string | null;
}

/**
 * Opens stores and models and puts the server together. Repairs what a crash or damage left behind before it resolves;
 * models may still be loading.
 * @throws StoreError, NativeError or ModelError with a sentence for the operator when something cannot be opened; what
 *   was opened before it is closed again.
 */
export async function compose(parts: {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
}): Promise<Service> {
  const opened = new Closers();
  try {
    return await open(parts, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function open(
  { config, log, clock }: { readonly config: Config; readonly log: Log; readonly clock: Clock },
  opened: Closers,
): Promise<Service> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(config.dataDir);
  opened.add(() => lock.release());
  const database = openDatabase(join(config.dataDir, "mneme.sqlite"), (err) =>
    log.error({ err }, "what was to follow a commit failed"),
  );
  opened.add(() => database.close());
  const outbox = new SqliteOutbox({
    database,
    clock,
    describe: memoryAttributes,
    onRecorded: () => dispatcher.wake(),
  });
  const files = openSpool(join(config.dataDir, "uploads"), log);
  const memories = new SqliteMemoryStore({ database, clock, outbox, files });
  const accounts = new SqliteAccountStore({ database, clock, expire: (projectId) => memories.expireDue(projectId) });
  opened.add(() => accounts.flush());
  const users = new SqliteUserStore({ database, clock });
  const chats = new SqliteChatStore({ database, clock });
  const webhooks = new SqliteWebhookStore({ database, clock, newSecret: newWebhookSecret });
  const idempotency = new SqliteIdempotencyStore({ database, clock });
  const archivePath = join(config.dataDir, "memories.duckdb");
  if (!existsSync(archivePath)) refuseLostTexts(archivePath, memories.counts().completed);
  const archive = await Archive.open({ path: archivePath, log });
  opened.add(() => archive.close());

  const lanes = await createLanes({
    modelsDir: config.modelsDir,
    lanes: config.lanes,
    runtime: config.modelRuntime,
    log,
  });
  opened.add(() => lanes.close());
  const preparation = createPreparationProcess({ modelsDir: config.modelsDir, log });
  opened.add(() => preparation.close());

  const documents = createDocumentReader({ log });
  opened.add(() => documents.close());

  const index = new EmbeddedChunkIndex({
    directory: join(config.dataDir, "projects"),
    archive,
    dimensions: lanes.dimensions,
    fingerprint: lanes.fingerprint,
    hnswMinChunks: config.hnswMinChunks,
    reserveChunkKeys: (count) => memories.reserveChunkKeys(count),
  });
  opened.add(() => index.close());

  const loose = memories.removeLooseFiles();
  if (loose > 0) log.info({ files: loose }, "files of uploads that no memory refers to were removed");
  memories.voidLeases(); // this process holds the directory, so nobody works on them
  const defaultProject = accounts.defaultProject();
  for (const projectId of accounts.projects()) await reconcile(projectId, index, memories, log);
  const firstKey = admitOperator(accounts, defaultProject, config.adminKey);

  const allow = config.webhookAllow;
  const metrics = new Metrics();
  const caller = createLanguageModel({ allow, timeouts: llmTimeouts(config), clock });
  const model = limitConcurrency(countCalls(caller, metrics), { concurrency: config.llmConcurrency, metrics });
  const operator = { baseUrl: config.llmBaseUrl, model: config.llmModel, apiKey: config.llmApiKey };
  const findings = new SqliteFindingStore({ database, clock });
  const enricher = new Enricher({
    accounts,
    findings,
    model,
    operator,
    clock,
    log,
  });
  const worker = new IngestWorker({
    memories,
    index,
    documents,
    enricher,
    preparer: preparation,
    embedder: lanes,
    clock,
    log,
  });
  opened.add(() => worker.stop());
  const wakeIngest = () => worker.wake();

  const guard = createAddressGuard({ allow });
  const dispatcher = new WebhookDispatcher({
    store: webhooks,
    sender: createOutboundSender({ allow }),
    clock,
    log,
    retryDelaysMs: config.webhookRetriesMs,
  });
  opened.add(() => dispatcher.stop());
  dispatcher.start();
  worker.start();

  const search = new SearchService({
    index,
    memories,
    embedder: lanes,
    reranker: lanes,
    languageOf: queryLanguage,
    clock,
  });
  const answers = new AnswerService({
    search,
    accounts,
    generation: { model, operator, contextTokens: config.llmContextTokens, clock },
    reading: { reranker: lanes, embedder: lanes, languageOf: queryLanguage },
  });
  const quota = new QueryQuota(accounts, clock);
  const projects = new ProjectService({ accounts, index, guard, log });
  void projects.purgeRemoved();
  opened.add(
    startUpkeep(clock, log, [
      () => accounts.flush(),
      () => idempotency.prune(),
      () => void projects.purgeRemoved(), // a command beside the server may have removed one
    ]),
  );
  const aboutMemories = {
    memories: new MemoryService({ memories, index, transactions: database, log, wakeIngest }),
    graph: new GraphService({ memories, index, findings, clock }),
    progressOf: (memory: Memory) => worker.progressOf(memory.key),
    clock,
  };
  const operations: readonly Operation[] = [
    ...memoryOperations(aboutMemories),
    graphOperation(aboutMemories),
    uploadOperation(aboutMemories),
    ...searchOperations({ search, answers, quota }),
    ...chatOperations(
      new ChatService({ chats, answers, quota, idempotency, transactions: database, describeSource: sourceView }),
    ),
    ...userOperations(
      new UserService({ users, chats, memories, idempotency, index, transactions: database, wakeIngest }),
    ),
    ...keyOperations(new KeyService(accounts), clock),
    ...projectOperations(projects),
    ...webhookOperations(
      new WebhookService({ webhooks, guard, transactions: database, wakeDispatcher: () => dispatcher.wake() }),
    ),
  ];

  const ready = lanes.ready().catch((error: unknown) => {
    // The public sentence names no file; whoever starts the server needs it.
    const reason = error instanceof Error && error.cause !== undefined ? ` ${String(error.cause)}` : "";
    throw new Error(`${error instanceof Error ? error.message : String(error)}${reason}`, { cause: error });
  });
  ready.catch((err: unknown) => log.debug({ err }, "the models did not become ready"));
  const requestMetrics = new RequestMetrics(metrics);
  declareGauges(metrics, memories, lanes, clock);
  const buckets = new RateBuckets(config.rateLimits, operations);
  // made when somebody asks: a start does not wait for it
  const document = once(() => openApiDocument({ operations, version: INTERFACE_VERSION, buckets }));
  const docs = once(
    () => new Page("text/html; charset=utf-8", docsPage(document()), { "content-security-policy": DOCS_CSP }),
  );
  const consolePage = createConsole();
  const handle = createApp({
    operations,
    pages: {
      "/health": () => ({ status: 200, body: { status: "ok" } }),
      "/ready": () => readiness(lanes.status().lanes),
      "/metrics": () => ({ status: 200, body: new Page(METRICS_CONTENT_TYPE, metrics.text()) }),
      "/openapi.json": () => ({ status: 200, body: document() }),
      "/docs": () => ({ status: 200, body: docs() }),
      "/": async () => {
        const { html, headers } = await consolePage();
        return { status: 200, body: new Page("text/html; charset=utf-8", html, headers) };
      },
    },
    buckets,
    cors: createCors(config.corsOrigins),
    callers: new SlidingWindow({ windowMs: RATE_WINDOW_MS, clock, keysMax: COUNTED_KEYS_MAX }),
    failures: new SlidingWindow({ windowMs: RATE_WINDOW_MS, clock, keysMax: COUNTED_ADDRESSES_MAX }),
    trustedProxies: config.trustedProxies,
    idempotency: new Idempotency({ store: idempotency, transactions: database }),
    transactions: database,
    uploads: createUploads({ files, formats: fileFormats }),
    metrics: requestMetrics,
    explainFailure: faultOfStore,
    authenticate: (secret) => accounts.authenticate(secret),
    newRequestId: () => Bun.randomUUIDv7(),
    clock,
    log,
  });
  return { handle, ready, firstKey, close: () => opened.close() };
}

function llmTimeouts({ llmFirstByteTimeoutMs, llmIdleTimeoutMs, llmTimeoutMs }: Config): LlmTimeouts {
  return {
    connectMs: LLM_CONNECT_MS,
    firstByteMs: llmFirstByteTimeoutMs,
    idleMs: llmIdleTimeoutMs,
    totalMs: llmTimeoutMs,
  };
}

// An archive made anew would turn every completed memory into a failed one without its text.
function refuseLostTexts(path: string, completed: number): void {
  if (completed === 0) return;
  throw new StoreError(
    "damaged",
    `${path} is missing, and ${completed} memories have their texts in it: restore it from a backup.`,
  );
}

// Stores are open as long as the process lives; models come and go.
function readiness(lanes: readonly LaneStatus[]): Answer {
  const isReady = lanes.some(({ status }) => status === "up" || status === "draining");
  const body = { status: isReady ? "ready" : "waiting for the models", lanes: lanes.map(laneView) };
  return { status: isReady ? 200 : 503, body };
}

// What operators see of a lane; why it refused its models stands in the log, with the path.
function laneView({ name, status, restarts, rssBytes, provider }: LaneStatus): object {
  return { name, status, restarts, rss_bytes: rssBytes, provider };
}

// Memories whose index entries are incomplete go through the pipeline again: not searchable until they are whole.
async function reconcile(
  projectId: ProjectId,
  index: ChunkIndex,
  memories: SqliteMemoryStore,
  log: Log,
): Promise<void> {
  const found = await index.reconcile(projectId, visiblePages(projectId, memories));
  for (const repair of found.repairs) log.warn({ projectId }, repair);
  if (found.removed > 0) log.info({ projectId, memories: found.removed }, "leftovers of a crash were removed");
  if (found.incomplete.length === 0) return;
  log.warn({ projectId, memories: found.incomplete.length }, "memories missing from the index are indexed again");
  memories.reopen(found.incomplete);
}

/** What searches of a project may see, in pages that are read one at a time. */
export function* visiblePages(projectId: ProjectId, memories: SqliteMemoryStore): Generator<readonly VisibleMemory[]> {
  let afterKey: MemoryKey | null = null;
  for (;;) {
    const page = memories.visible(projectId, { afterKey, limit: OPENED_AT_ONCE });
    if (page.length > 0) yield page;
    if (page.length < OPENED_AT_ONCE) return;
    afterKey = page.at(-1)?.memoryKey ?? null;
  }
}

// A key of the operator's choice, or a new one where nobody can administer; returns the new one, to be shown once.
function admitOperator(accounts: AccountStore, projectId: ProjectId, adminKey: string | null): string | null {
  if (adminKey !== null) {
    accounts.setOperatorKey(adminKey);
    return null;
  }
  if (accounts.hasAdminKey(projectId)) return null;
  return accounts.issueKey(projectId, { name: "admin", scopes: ["*", "admin"], userId: null, expiresAt: null }).secret;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

// Reads anew only when what was read last is older than `ms`, or the clock was set back.
function atMostEvery<T>(ms: number, clock: Clock, read: () => T): () => T {
  let last: { readonly value: T; readonly at: number } | null = null;
  return () => {
    const now = clock.now();
    if (last === null || now < last.at || now - last.at >= ms) last = { value: read(), at: now };
    return last.value;
  };
}

// Puts in order what may lag, every minute until the returned function is called.
function startUpkeep(clock: Clock, log: Log, chores: readonly (() => void)[]): () => Promise<void> {
  const stop = new AbortController();
  const loop = async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(UPKEEP_MS, stop.signal);
      try {
        for (const chore of chores) chore();
      } catch (err) {
        log.warn({ err }, "the upkeep of the store failed; it is tried again in a minute");
      }
    }
  };
  const ended = loop();
  return () => {
    stop.abort();
    return ended;
  };
}

// What operators watch beside requests.
function declareGauges(
  metrics: Metrics,
  memories: SqliteMemoryStore,
  lanes: { status(): { lanes: readonly LaneStatus[] } },
  clock: Clock,
): void {
  const counts = atMostEvery(COUNTS_MS, clock, () => memories.counts());
  metrics.gauge("mneme_memories", "Memories that are not deleted, by status.", ["status"], () =>
    Object.entries(counts()).map(([status, value]) => ({ labels: [status], value })),
  );
  metrics.gauge("mneme_lane_up", "Whether a process that runs the models is up.", ["lane", "provider"], () =>
    lanes.status().lanes.map(({ name, status, provider }) => ({
      labels: [name, provider ?? "none"],
      value: status === "up" ? 1 : 0,
    })),
  );
  metrics.gauge("mneme_lane_memory_bytes", "Resident memory of a process that runs the models.", ["lane"], () =>
    lanes.status().lanes.map(({ name, rssBytes }) => ({ labels: [name], value: rssBytes ?? 0 })),
  );
  metrics.gauge("mneme_resident_memory_bytes", "Resident memory of the server itself.", [], () => [
    { labels: [], value: process.memoryUsage.rss() },
  ]);
}

/** What was opened, closed in reverse order, each whatever the others do. */
class Closers {
  #closers: (() => void | Promise<void>)[] = [];

  add(closer: () => void | Promise<void>): void {
    this.#closers.push(closer);
  }

  /** Throws the first failure after all were tried. */
  async close(): Promise<void> {
    const closers = this.#closers.reverse();
    this.#closers = [];
    const failures: unknown[] = [];
    for (const closer of closers) {
      try {
        await closer();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
