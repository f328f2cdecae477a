// A thread that answers requests. Searches and questions run here, on a connection that reads, on further handles of
// the indexes, and with the models of the main thread; all other requests are forwarded to the main thread.

import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { Idempotency } from "../../account/idempotency.ts";
import { MonthlyTokens } from "../../account/monthly-tokens.ts";
import { RateBuckets } from "../../account/rate-limits.ts";
import { AttachedIndex } from "../../adapters/embedded/attached-index.ts";
import { nativeCallsEnded } from "../../adapters/native/addon.ts";
import { nativeJsonBodies } from "../../adapters/native/json-bodies.ts";
import { queryLanguage } from "../../adapters/preparation/query-language.ts";
import { type App, createApp } from "../../api/app.ts";
import { createCors } from "../../api/cors.ts";
import type { SocketAddress } from "../../api/gate.ts";
import { RequestMetrics } from "../../api/metrics.ts";
import type { Operation } from "../../api/operation.ts";
import { queryOperation, searchOperations } from "../../api/search.ts";
import { invariant } from "../../domain/fault.ts";
import { type Clock, systemClock } from "../../kit/clock.ts";
import type { Eventually } from "../../kit/eventually.ts";
import { createLog, type Log } from "../../kit/log.ts";
import { SharedCount } from "../../kit/shared-count.ts";
import { Metrics } from "../../metrics.ts";
import { ActivityService } from "../../services/activity.ts";
import { AnswerService } from "../../services/answers.ts";
import { SearchService } from "../../services/search.ts";
import { SlowSearches } from "../../services/slow-searches.ts";
import { openReadingStores, type ReadingStores } from "../../stores/sqlite/reading-stores.ts";
import { faultOfStore } from "../../stores/store-error.ts";
import { type HttpServer, listen } from "../http-server.ts";
import { operatorLlm } from "../language-model.ts";
import { createRecentResults } from "../recent-results.ts";
import { forward } from "./forwarding.ts";
import { remoteLanguageModel } from "./remote-language-model.ts";
import { RemoteModels } from "./remote-models.ts";
import {
  opensProjects,
  remoteFlights,
  remoteMonthlyTokens,
  remotePreparer,
  remoteQueue,
  remoteQuotas,
  remoteStoreCalls,
  remoteTransactions,
  remoteWindow,
} from "./remote-ports.ts";
import { type MessageEnd, ThreadCalls } from "./thread-calls.ts";
import type { ThreadStart } from "./thread-protocol.ts";

/** Milliseconds after which notes of requests, such as the last use of a key, are sent to the main thread. */
const NOTED_MS = 20;
/** Maximum time, in milliseconds, for which a thread that has failed waits until its native calls have ended. */
const NATIVE_CALLS_MS = 10_000;

/** Runs a request thread until the main thread ends it, or until an uncaught error. Returns the exit code. */
export async function answerRequests(): Promise<number> {
  const start = workerData as ThreadStart;
  const log = createLog(start.config.logLevel);
  const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
  const { promise: ending, resolve: end } = Promise.withResolvers<null>();
  let server: HttpServer | null = null;
  const metrics = new Metrics();
  invariant(parentPort, "a thread has a port to the main thread");
  const answers = {
    listen: ({ address, port }: { readonly address: string; readonly port: number }) => {
      const { searchPatienceMs } = start.config;
      server = listen({ hostname: address, port, isShared: true, searchPatienceMs, answer: thread.answer });
    },
    takeCounts: () => metrics.take(),
    end: () => end(null),
  };
  const calls = new ThreadCalls(parentPort as MessageEnd, answers, fail);
  const thread = createThread(start, { calls, metrics, log, clock: systemClock });
  calls.note("up", null);
  const failure = await Promise.race([failed, ending]);
  if (failure !== null) {
    log.error({ err: failure }, "a thread failed with an error that nothing has caught: this is a bug in Mneme");
    await (server as HttpServer | null)?.abort();
  } else await (server as HttpServer | null)?.drain(log);
  // native code that runs for a thread must not outlive it
  await nativeCallsEnded(failure === null ? Number.POSITIVE_INFINITY : NATIVE_CALLS_MS);
  thread.sendNoted();
  calls.note("counted", metrics.take());
  thread.close();
  return failure === null ? 0 : 1;
}

interface RequestThread {
  readonly answer: (request: Request, address: SocketAddress) => Eventually<Response>;
  /** Sends the main thread what requests have noted. */
  readonly sendNoted: () => void;
  readonly close: () => void;
}

interface ThreadParts {
  readonly calls: ThreadCalls;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}

function createThread(start: ThreadStart, { calls, metrics, log, clock }: ThreadParts): RequestThread {
  const { config, changes } = start;
  const stores = openReadingStores({
    path: join(config.dataDir, "mneme.sqlite"),
    ...{ clock, changes, call: remoteStoreCalls(calls) },
  });
  const operations = createOperations(start, stores, { calls, metrics, log, clock });
  const app = createThreadApp(start, { stores, operations }, { calls, metrics, log, clock });
  const own = new Set(operations.map(({ method, path }) => `${method} ${path}`));
  const sendNoted = () => {
    const noted = stores.takeNoted();
    if (noted !== null) calls.note("noted", noted);
  };
  let isDue = false;
  const sendSoon = () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      sendNoted();
    }, NOTED_MS);
  };
  return {
    answer: (request, address) => {
      sendSoon();
      if (own.has(`${request.method} ${pathOf(request.url)}`)) return app(request, address);
      sendNoted(); // the main thread may show it in its answer
      return forward(calls, request, address());
    },
    sendNoted,
    close: () => stores.close(),
  };
}

/** The path of a URL, as it was sent; empty if the URL has no valid host. */
function pathOf(url: string): string {
  const begin = url.indexOf("/", url.indexOf("://") + 3);
  const query = url.indexOf("?", begin);
  return begin < 0 ? "" : url.slice(begin, query < 0 ? undefined : query);
}

/** The operations that run on this thread. */
function createOperations(
  { config, modelChanges }: ThreadStart,
  stores: ReadingStores,
  { calls, metrics, log, clock }: ThreadParts,
): readonly Operation[] {
  const damagedReads = metrics.counter("mneme_damaged_reads_total", "", ["kind"]);
  const models = new RemoteModels(calls, new SharedCount(modelChanges));
  const index = new AttachedIndex({
    directory: join(config.dataDir, "projects"),
    open: opensProjects(calls),
    beforeUse: (id) => models.know(id),
    log,
    countDamaged: (passages) => damagedReads("passage").add(passages),
  });
  const { memories, accounts, relations, history, users } = stores;
  const reading = { languageOf: queryLanguage, rerankDeadlineMs: config.rerankDeadline };
  const search = new SearchService({
    ...{ index, memories, relations, history, accounts, users, clock, ...reading },
    embedders: models.embedders,
    rerankers: models.rerankers,
    preparer: remotePreparer(calls),
    queue: remoteQueue(calls),
    slow: new SlowSearches({ fromMs: config.slowQueryMs, log, clock }),
    recent: createRecentResults(config, { clock, metrics }),
  });
  const activity = new ActivityService({ activity: stores.activity, clock });
  const operator = operatorLlm(config);
  const monthlyTokens = new MonthlyTokens(remoteMonthlyTokens(calls), clock);
  const generating = { model: remoteLanguageModel(calls), operator, monthlyTokens };
  const answers = new AnswerService({
    ...{ search, activity, accounts, quota: remoteQuotas(calls), reading },
    generation: { ...generating, contextTokens: config.llmContextTokens, clock },
  });
  return [...searchOperations({ search, activity }), queryOperation(answers)];
}

function createThreadApp(
  { config, routes }: ThreadStart,
  { stores, operations }: { readonly stores: ReadingStores; readonly operations: readonly Operation[] },
  { calls, metrics, log, clock }: ThreadParts,
): App {
  return createApp({
    operations,
    endpoints: [],
    pages: {},
    buckets: new RateBuckets(config.rateLimits, routes),
    cors: createCors(config.corsOrigins),
    callers: remoteWindow(calls, "callers"),
    failures: remoteWindow(calls, "failures"),
    trustedProxies: config.trustedProxies,
    idempotency: new Idempotency(stores.idempotency, remoteFlights(calls)),
    transactions: remoteTransactions(calls),
    uploads: { receive: async () => invariant(false, "an upload is forwarded") as never },
    jsonBodies: nativeJsonBodies,
    metrics: new RequestMetrics(metrics),
    explainFailure: faultOfStore,
    disk: { isFull: false, fault: null as never, makeRoom: () => false },
    authenticate: (secret, userAgent) => stores.accounts.authenticate(secret, userAgent),
    newRequestId: () => Bun.randomUUIDv7(),
    clock,
    log,
  });
}
