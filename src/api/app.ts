// The HTTP application. The steps of a request: request id → preflight or authentication → route → operation-runner.ts
// (or a page, or protocol-endpoint.ts) → response. responses.ts makes or completes every Response.

import { Elysia } from "elysia";
import type { Idempotency } from "../account/idempotency.ts";
import type { RateBuckets } from "../account/rate-limits.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { andThen, type Eventually, orElse } from "../kit/eventually.ts";
import type { DiskSpace } from "../ports/disk-space.ts";
import type { JsonBodies } from "../ports/json-bodies.ts";
import type { Transactions } from "../ports/transactions.ts";
import { conventionsByPath } from "./conventions.ts";
import { type Admission, Gate, type GateDependencies, type SocketAddress } from "./gate.ts";
import type { RequestMetrics } from "./metrics.ts";
import { type Answer, NO_CONTENT, type Operation } from "./operation.ts";
import { OperationRunner } from "./operation-runner.ts";
import { type ProtocolEndpoint, ProtocolRunner } from "./protocol-endpoint.ts";
import { headOf, type ResponseDependencies, Responses } from "./responses.ts";
import {
  COMPATIBLE_PREFIX,
  checkedParameters,
  hiddenRoutes,
  type PathParameters,
  type Route,
  unroutedFault,
} from "./routes.ts";
import type { Uploads } from "./upload.ts";

/** What the application calls. */
export interface AppDependencies extends GateDependencies, ResponseDependencies {
  readonly operations: readonly Operation[];
  /** Functions that answer GET on the paths outside of /v1, by path or template. These pages need no key. */
  readonly pages: Readonly<Record<string, PageFunction>>;
  /** The error with which every request except those for pages is refused; absent if requests are answered. */
  readonly refusal?: Fault;
  /** Endpoints outside of /v1 that speak a protocol of their own and need a key. */
  readonly endpoints: readonly ProtocolEndpoint[];
  readonly buckets: RateBuckets;
  readonly idempotency: Idempotency;
  readonly transactions: Transactions;
  readonly disk: DiskSpace;
  readonly uploads: Uploads;
  readonly jsonBodies: JsonBodies;
  readonly metrics: RequestMetrics;
}

/** Answers GET on a path outside of /v1. */
export type PageFunction = (request: Request, parameters: Readonly<Record<string, string>>) => Answer | Promise<Answer>;

/** Answers any request; never rejects. */
export type App = (request: Request, socketAddress?: SocketAddress) => Eventually<Response>;

/**
 * Property of a request that contains its admission. A WeakMap would cause more garbage collection at thousands of
 * requests per second.
 */
const ADMISSION = Symbol("admission");
type RequestWithAdmission = Request & { [ADMISSION]?: Admission };

/**
 * Name in the metrics for requests that reached no operation, page or endpoint, such as those without a valid key,
 * those to unknown routes, and preflights.
 */
const UNROUTED = "unrouted";
/** Name in the metrics for requests to pages outside of /v1. */
const PAGE = "page";

/** Builds the application. */
export function createApp(uses: AppDependencies): App {
  const gate = new Gate(uses);
  const responses = new Responses(uses, conventionsByPath(uses.operations));
  const router = createRouter(uses, gate, responses);
  const endpoints = new Map(uses.endpoints.map((endpoint) => [endpoint.path, endpoint]));
  return answer;

  function answer(request: Request, socketAddress: SocketAddress = () => ""): Eventually<Response> {
    const startedAt = performance.now();
    const admission = gate.receive(request, socketAddress);
    (request as RequestWithAdmission)[ADMISSION] = admission;
    const response = orElse<Response>(
      () => {
        if (admission.path === "") throw new Fault("invalid_request", "The Host header is malformed or given twice.");
        if (uses.refusal !== undefined && uses.pages[admission.path] === undefined) throw uses.refusal;
        return andThen(intercept(request, admission), (intercepted) => intercepted ?? router.fetch(request));
      },
      (error) => responses.ofFailure(request, admission, error),
    );
    return andThen(response, (answered) => {
      observe(uses.metrics, admission, answered.status, startedAt);
      return request.method === "HEAD" ? headOf(answered, admission.fileBytes) : answered;
    });
  }

  /**
   * Answers preflights and what an endpoint refuses, and authenticates requests that need a key, before any body is
   * read. Returns null if the request may continue.
   */
  function intercept(request: Request, admission: Admission): Eventually<Response | null> {
    const isVersioned = admission.path === "/v1" || admission.path.startsWith("/v1/");
    if (uses.cors.isPreflight(request)) return preflight(request, admission, isVersioned);
    const needsKey = isVersioned || admission.path.startsWith(COMPATIBLE_PREFIX);
    if (needsKey) return andThen(gate.beginAuthentication(admission, request), () => null);
    const endpoint = endpoints.get(admission.path);
    if (endpoint === undefined) return null;
    const refusal = endpoint.refuse?.(request) ?? null;
    if (refusal !== null) return responses.adopted(request, admission, refusal);
    return andThen(gate.authenticate(admission, request), () => null);
  }

  async function preflight(request: Request, admission: Admission, isVersioned: boolean): Promise<Response> {
    if (isVersioned) await gate.showFailures(admission, request);
    return responses.of(request, admission, NO_CONTENT, { ...uses.cors.preflight(request) });
  }
}

/** Counts a request when its answer has ended. */
function observe(metrics: RequestMetrics, admission: Admission, status: number, startedAt: number): void {
  const count = () => metrics.observe(admission.countedAs ?? UNROUTED, status, performance.now() - startedAt);
  if (admission.ended === null) count();
  else void admission.ended.then(count);
}

function createRouter(uses: AppDependencies, gate: Gate, responses: Responses) {
  const router = new Elysia({
    normalize: false,
    strictPath: true,
    handler: { standardHostname: false }, // its shortcut misreads the path after host names of one to three letters
  });
  const runner = new OperationRunner({ ...uses, gate, responses });
  const operations = uses.operations.map((operation) => {
    return { operation, bucket: uses.buckets.bucketOf(operation.method, operation.path) };
  });
  const byName = new Map(operations.map((limited) => [limited.operation.name, limited]));
  const protocols = new ProtocolRunner({ gate, runner, responses }, byName);
  const routes: readonly Route[] = [
    ...Object.keys(uses.pages).map((path): Route => ({ method: "GET", path })),
    ...uses.endpoints,
    ...uses.operations,
  ];

  router.onError(async ({ request, error, code }) => {
    if (code === "NOT_FOUND") return refuseUnrouted(request);
    const admission = admissionOf(request);
    try {
      await admission.pending?.ended;
      return responses.ofFailure(request, admission, error);
    } catch (refused) {
      return responses.ofFailure(request, admission, refused);
    }
  });

  /** Answers a request whose path or method has no route. */
  async function refuseUnrouted(request: Request): Promise<Response> {
    const admission = admissionOf(request);
    try {
      await admission.pending?.ended;
      const { principal } = admission;
      const bucket = uses.buckets.bucketOf(request.method, null);
      if (principal !== null) await gate.count(admission, principal, bucket);
      // HEAD gets the error of GET, so that both answers have the same length.
      throw unroutedFault(request.method === "HEAD" ? "GET" : request.method, admission.path, routes);
    } catch (error) {
      return responses.ofFailure(request, admission, error);
    }
  }

  for (const { method, path } of hiddenRoutes(routes)) {
    router.route(method, path, ({ request }: { request: Request }) => refuseUnrouted(request), { parse: "none" });
  }

  for (const [path, page] of Object.entries(uses.pages)) {
    router.get(path, async ({ request, params: parameters }: { request: Request; params: PathParameters }) => {
      const admission = admissionOf(request);
      admission.countedAs = PAGE;
      try {
        return responses.of(request, admission, await page(request, checkedParameters(parameters)));
      } catch (error) {
        return responses.ofFailure(request, admission, error);
      }
    });
  }

  for (const endpoint of uses.endpoints) {
    const bucket = uses.buckets.bucketOf(endpoint.method, endpoint.path);
    router.route(
      endpoint.method,
      endpoint.path,
      ({ request, params: parameters }: { request: Request; params: PathParameters }) => {
        const admission = admissionOf(request);
        admission.countedAs = endpoint.name;
        return protocols
          .run(endpoint, bucket, request, parameters, admission)
          .catch((error: unknown) => responses.ofFailure(request, admission, error));
      },
      { parse: "none" },
    );
  }

  for (const { operation, bucket } of operations) {
    const run = ({ request, params: parameters }: { request: Request; params: PathParameters }) => {
      const admission = admissionOf(request);
      admission.countedAs = operation.name;
      return orElse(
        () => runner.run({ operation, bucket, request, parameters, admission }),
        (error) => responses.ofFailure(request, admission, error),
      );
    };
    router.route(operation.method, operation.path, run, { parse: "none" });
  }
  return router;
}

function admissionOf(request: Request): Admission {
  const admission = (request as RequestWithAdmission)[ADMISSION];
  invariant(admission, "a request was received before it was routed");
  return admission;
}
