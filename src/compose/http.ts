// Creates the HTTP application of a server from its operations, protocol endpoints and pages, with rate limits, CORS
// and idempotency.

import { Idempotency } from "../account/idempotency.ts";
import { RateBuckets, type RoutePattern } from "../account/rate-limits.ts";
import { fileFormats } from "../adapters/documents/formats.ts";
import { nativeJsonBodies } from "../adapters/native/json-bodies.ts";
import { type App, createApp } from "../api/app.ts";
import { createCors } from "../api/cors.ts";
import { RequestMetrics } from "../api/metrics.ts";
import type { Operation } from "../api/operation.ts";
import { createUploads } from "../api/upload.ts";
import { mem0Endpoints } from "../compat/mem0/endpoints.ts";
import { Fault } from "../domain/fault.ts";
import type { ThreadState } from "../domain/system.ts";
import { createMcpEndpoint } from "../mcp/endpoint.ts";
import { createHostRules } from "../mcp/hosts.ts";
import { toolsOf } from "../mcp/tools.ts";
import type { Metrics } from "../metrics.ts";
import type { ModelRegistry } from "../models/registry.ts";
import type { Coordination } from "../ports/coordination.ts";
import type { ProfileService } from "../services/profile.ts";
import { settling } from "../services/settling.ts";
import type { LocalCaller } from "./local-caller.ts";
import type { Models } from "./models.ts";
import { createPages } from "./pages.ts";
import type { Storage } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";

/** Number of seconds after which a client that reached a node without an API may try again, on another node. */
const OTHER_NODE_SECONDS = 1;

/** The fault with which a node that only ingests answers requests. */
function answersNoRequests(): Fault {
  const message = "This node only processes memories (MNEME_ROLE=ingest). Send requests to another node.";
  return new Fault("unavailable", message, { retryAfterSeconds: OTHER_NODE_SECONDS });
}

/** Creates the HTTP application: operations and pages, with rate limits and idempotency. */
export function createHandle(
  { config, log, clock }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly coordination: Coordination;
    readonly models: Models;
    readonly registry: ModelRegistry;
    readonly metrics: Metrics;
    readonly operations: readonly Operation[];
    readonly profiles: ProfileService;
    readonly local: LocalCaller;
    readonly isStopping: () => boolean;
    readonly threads: () => readonly ThreadState[];
    readonly gatherCounts: () => Promise<void>;
  },
): { readonly app: App; readonly routes: readonly RoutePattern[] } {
  const { storage, coordination, models, registry, metrics, operations, profiles, local } = uses;
  const { isStopping, threads, gatherCounts } = uses;
  const { callers, failures, flights } = coordination;
  const { stores, transactions, files } = storage;
  const settled = settling(stores.memories, clock);
  const mcp = { tools: toolsOf(config.mcpConnector), settled, profiles, log };
  const endpoints = [
    createMcpEndpoint(mcp, createHostRules(config.mcpHosts, config.host, config.corsOrigins)),
    ...mem0Endpoints({ settled, clock }),
  ];
  const routes = [...operations, ...endpoints].map(({ method, path }) => ({ method, path }));
  const buckets = new RateBuckets(config.rateLimits, routes);
  const pages = createPages({
    ...{ operations, buckets, metrics, laneStatus: models.laneStatus, disk: storage.disk },
    modelProblems: () => registry.problems(),
    ...{ isStopping, threads, gatherCounts },
  });
  const app = createApp({
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
    authenticate: (secret, userAgent) => local.authenticate(secret) ?? stores.accounts.authenticate(secret, userAgent),
    newRequestId: () => Bun.randomUUIDv7(),
    clock,
    log,
  });
  return { app, routes };
}
