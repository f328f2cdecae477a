// The way of a request: request id → authentication → route → rate limit → scope → query and body → idempotency → operation
// → answer. Every Response of the server is made here, so that headers and error bodies are the same everywhere.

import type { TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type Begun, checkIdempotencyKey, fingerprintOf, type Idempotency } from "../account/idempotency.ts";
import type { Bucket, RateBuckets } from "../account/rate-limits.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { allows, type Principal } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { andThen, type Eventually, orElse } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import type { Transactions } from "../ports/transactions.ts";
import { BodyBudget, readJson } from "./body.ts";
import { check, checkQuery } from "./check.ts";
import type { Cors } from "./cors.ts";
import { errorView, faultOf, STATUS_OF } from "./errors.ts";
import { type Admission, addWindowHeaders, Gate, type GateParts, type SocketAddress } from "./gate.ts";
import type { RequestMetrics } from "./metrics.ts";
import { type Answer, type Call, JsonText, type Operation, Page, type ReplayCall } from "./operation.ts";
import { eventStream } from "./sse.ts";
import type { Upload, Uploads } from "./upload.ts";

/** What the HTTP layer stands on. */
export interface AppParts extends GateParts {
  readonly operations: readonly Operation[];
  /** Answers of GET on paths outside /v1, which need no key. */
  readonly pages: Readonly<Record<string, () => Answer | Promise<Answer>>>;
  readonly buckets: RateBuckets;
  readonly cors: Cors;
  readonly idempotency: Idempotency;
  readonly transactions: Transactions;
  readonly uploads: Uploads;
  readonly metrics: RequestMetrics;
  /** What a caller is told of an adapter's own error; null: nothing but that something failed inside. */
  readonly explainFailure: (error: unknown) => Fault | null;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Answers any request; never rejects.
 */
export type App = (request: Request, socketAddress?: SocketAddress) => Eventually<Response>;

/** Where a request carries what is known of it: a WeakMap beside thousands of requests a second costs more in collection. */
const ADMISSION = Symbol("admission");
type Admitted = Request & { [ADMISSION]?: Admission };

type Commit = Call<unknown, unknown>["commit"];

/** What a path takes. */
type Route = Pick<Operation, "method" | "path">;

/** As Elysia decodes them: null where the percent-encoding is no UTF-8 text, undefined where the path has none. */
type PathParameters = Readonly<Record<string, string | null>> | undefined;

/** Counts requests that nothing took: without a key, to unknown routes, preflights. */
const UNROUTED = "unrouted";
/** Counts requests to pages outside /v1. */
const PAGE = "page";

/** Builds the HTTP application. */
export function createApp(parts: AppParts): App {
  const gate = new Gate(parts);
  const bodies = new BodyBudget(LIMITS.bodiesInFlightBytes);
  const routes: readonly Route[] = [
    ...Object.keys(parts.pages).map((path): Route => ({ method: "GET", path })),
    ...parts.operations,
  ];

  const admissionOf = (request: Request): Admission => {
    const admission = (request as Admitted)[ADMISSION];
    invariant(admission, "a request was received before it was routed");
    return admission;
  };

  const respond = (
    request: Request,
    admission: Admission,
    answer: Answer,
    extra?: Record<string, string>,
  ): Response => {
    admission.ended = answer.ended ?? null;
    const headers: Record<string, string> = { "x-request-id": admission.requestId };
    if (admission.window !== null) addWindowHeaders(headers, admission.window);
    if (parts.cors.isOn) Object.assign(headers, parts.cors.headersFor(request.headers.get("origin")));
    if (extra !== undefined) Object.assign(headers, extra);
    return responseOf(answer, headers);
  };

  /** What a caller is told of a failure; logs what is the server's own. */
  const explain = (request: Request, error: unknown, requestId: string): Fault => {
    const fault = parts.explainFailure(error) ?? faultOf(error);
    if (fault.code === "internal_error") {
      // who hangs up makes the work for him fail: that is no trouble of the server's
      const level = request.signal.aborted ? "debug" : "error";
      parts.log[level]({ requestId, err: fault.cause }, "a request failed inside");
    }
    return fault;
  };

  const fail = (request: Request, admission: Admission, error: unknown): Response => {
    const fault = explain(request, error, admission.requestId);
    const status = STATUS_OF[fault.code];
    const body = { error: errorView(fault, admission.requestId) };
    return respond(
      request,
      admission,
      { status, body },
      {
        ...(status === 401 && { "www-authenticate": "Bearer" }),
        ...(status === 405 && { allow: fault.allow.join(", ") }),
        ...(status === 429 &&
          fault.retryAfterSeconds !== undefined && { "retry-after": String(fault.retryAfterSeconds) }),
      },
    );
  };

  /** A stream that tells failures as its last event. */
  const streamFor =
    (request: Request, requestId: string): Call<unknown, unknown>["stream"] =>
    (events, onEnd) => {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      const body = eventStream({
        events,
        clock: parts.clock,
        signal: request.signal,
        errorBody: (error) => ({ error: errorView(explain(request, error, requestId), requestId) }),
        onEnd: (how) => {
          // nobody waits for this: what fails here must not end the process
          const stored = async () => onEnd(how);
          stored()
            .catch((err: unknown) => parts.log.error({ requestId, err }, "the end of a stream could not be stored"))
            .finally(resolve);
        },
        onLateError: (err) => parts.log.debug({ requestId, err }, "a stream that had ended failed"),
      });
      return { status: 200, body, ended };
    };

  const commit: Commit = (work) => parts.transactions.run(work);

  const run = (
    operation: Operation,
    bucket: Bucket,
    request: Request,
    parameters: PathParameters,
    admission: Admission,
  ): Eventually<Response> => {
    const { principal } = admission;
    invariant(principal, "whoever reaches an operation was let in by a key");
    gate.count(admission, principal, bucket);
    authorise(operation, principal);
    const params = readable(parameters);
    const query = checkQuery(operation.query, admission.search);
    const stream = streamFor(request, admission.requestId);
    const given = { principal, params, query, stream, commit };
    return operation.body === null
      ? perform(operation, request, admission, new Received(request, given))
      : runWithBody(operation, operation.body, request, given, admission);
  };

  const runWithBody = async (
    operation: Operation,
    schema: TSchema,
    request: Request,
    given: Given,
    admission: Admission,
  ): Promise<Response> => {
    const reserved = bodies.reserve();
    let upload: Upload | null = null;
    try {
      if (operation.takesFile) upload = await parts.uploads.receive(request);
      const body = upload === null ? await bodyOf(operation, schema, request, reserved) : check(schema, upload.fields);
      // a body can take minutes: whoever lost the right meanwhile changes nothing
      const confirmed = await gate.confirm(request);
      authorise(operation, confirmed);
      const received = new Received(request, { ...given, principal: confirmed, body, upload });
      return await perform(operation, request, admission, received);
    } finally {
      reserved.release();
      await upload?.discard();
    }
  };

  const perform = (
    operation: Operation,
    request: Request,
    admission: Admission,
    received: Received,
  ): Eventually<Response> => {
    const key = operation.isIdempotent === true ? request.headers.get("idempotency-key") : null;
    if (key !== null) return performUnderKey(key, operation, request, admission, received);
    return andThen(operation.run(received), (answer) => respond(request, admission, answer));
  };

  const performUnderKey = async (
    key: string,
    operation: Operation,
    request: Request,
    admission: Admission,
    received: Received,
  ): Promise<Response> => {
    const begun = await begin(parts.idempotency, key, operation, received);
    if (begun.kind === "run") return respond(request, admission, await runOnce(operation, received, begun));
    const { status, body } = begun;
    const answer = await operation.replay({ status, body: JSON.parse(body) }, received);
    return respond(request, admission, answer, { "idempotent-replayed": "true" });
  };

  /** Preflights, and what has to come before routing and before any body is read: authentication. null: the request may go on. */
  const intercept = (request: Request, admission: Admission): Eventually<Response | null> => {
    const isVersioned = admission.path === "/v1" || admission.path.startsWith("/v1/");
    if (parts.cors.isPreflight(request)) {
      if (isVersioned) gate.showFailures(admission, request);
      return respond(request, admission, { status: 204, body: null }, { ...parts.cors.preflight(request) });
    }
    return isVersioned ? andThen(gate.authenticate(admission, request), () => null) : null;
  };

  const elysia = new Elysia({
    normalize: false,
    strictPath: true,
    handler: { standardHostname: false }, // its shortcut misreads the path behind host names of one to three letters
  });

  elysia.onError(({ request, error, code }) => {
    const admission = admissionOf(request);
    if (code !== "NOT_FOUND") return fail(request, admission, error);
    try {
      if (admission.principal !== null) {
        gate.count(admission, admission.principal, parts.buckets.bucketOf(request.method, null));
      }
      // what is said of HEAD has the length of what is said of GET
      const method = request.method === "HEAD" ? "GET" : request.method;
      return fail(request, admission, unrouted(method, admission.path, routes));
    } catch (limited) {
      return fail(request, admission, limited);
    }
  });

  for (const [path, page] of Object.entries(parts.pages)) {
    elysia.get(path, ({ request }) => {
      const admission = admissionOf(request);
      admission.countedAs = PAGE;
      return orElse<Response>(
        () => andThen(page(), (answer) => respond(request, admission, answer)),
        (error) => fail(request, admission, error),
      );
    });
  }

  for (const operation of parts.operations) {
    const bucket = parts.buckets.bucketOf(operation.method, operation.path);
    elysia.route(
      operation.method,
      operation.path,
      ({ request, params }: { request: Request; params: PathParameters }) => {
        const admission = admissionOf(request);
        admission.countedAs = operation.name;
        return orElse(
          () => run(operation, bucket, request, params, admission),
          (error) => fail(request, admission, error),
        );
      },
      { parse: "none" },
    );
  }

  /** Counts a request when its answer has ended. */
  const count = (admission: Admission, status: number, startedAt: number): void => {
    const observe = () => {
      parts.metrics.observe(admission.countedAs ?? UNROUTED, status, performance.now() - startedAt);
    };
    if (admission.ended === null) observe();
    else void admission.ended.then(observe);
  };

  return (request, socketAddress = () => "") => {
    const startedAt = performance.now();
    const admission = gate.receive(request, socketAddress);
    (request as Admitted)[ADMISSION] = admission;
    const response = orElse<Response>(
      () => {
        if (admission.path === "") throw new Fault("invalid_request", "The Host header is malformed.");
        return andThen(intercept(request, admission), (response) => response ?? elysia.fetch(request));
      },
      (error) => fail(request, admission, error),
    );
    return andThen(response, (answered) => {
      count(admission, answered.status, startedAt);
      return request.method === "HEAD" ? headOf(answered) : answered;
    });
  };
}

function authorise(operation: Operation, principal: Principal): void {
  if (!allows(principal, operation.scope)) {
    throw new Fault(
      "insufficient_scope",
      `This key lacks the scope '${operation.scope}' that ${operation.name} needs.`,
    );
  }
  if (principal.userId !== null && operation.isForConfinedKeys === false) {
    throw new Fault("insufficient_scope", `This key is confined to one user, and ${operation.name} concerns them all.`);
  }
}

async function bodyOf(
  operation: Operation,
  schema: TSchema,
  request: Request,
  reserved: ReturnType<BodyBudget["reserve"]>,
): Promise<unknown> {
  const isEmpty = request.body === null || request.headers.get("content-length") === "0";
  if (operation.isBodyOptional === true && isEmpty) return {};
  return check(schema, await readJson(request, LIMITS.bodyBytes, reserved));
}

/** What of a request is known before its body is read. */
type Given = Pick<Call<unknown, unknown>, "principal" | "params" | "query" | "stream" | "commit">;

/** What of a request an operation is given. */
class Received implements Call<unknown, unknown> {
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly stream: Call<unknown, unknown>["stream"];
  readonly body: unknown;
  readonly upload: Upload | null;
  /** Replaced where an Idempotency-Key has the answer remembered. */
  commit: Commit;
  readonly #request: Request;

  constructor(request: Request, given: Given & Partial<Pick<ReplayCall, "body" | "upload">>) {
    this.#request = request;
    this.principal = given.principal;
    this.params = given.params;
    this.query = given.query;
    this.stream = given.stream;
    this.commit = given.commit;
    this.body = given.body ?? null;
    this.upload = given.upload ?? null;
  }

  // making a request's signal costs as much as a read of the store: only who waits for something asks for it
  get signal(): AbortSignal {
    return this.#request.signal;
  }
}

/** Finds out whether a request under an Idempotency-Key has to run or is a repetition. */
function begin(idempotency: Idempotency, key: string, operation: Operation, call: ReplayCall): Promise<Begun> {
  const { params, query, body, upload, principal } = call;
  const slot = {
    projectId: principal.projectId,
    userId: principal.userId,
    route: `${operation.method} ${operation.path}`,
    key: checkIdempotencyKey(key),
  };
  const file = upload === null ? null : { sha256: upload.sha256, filename: upload.file.filename };
  return idempotency.begin(slot, fingerprintOf({ params, query, body, file }));
}

/** Runs an operation, its change in one transaction with what an Idempotency-Key remembers of it. */
async function runOnce(
  operation: Operation,
  received: Received,
  begun: Extract<Begun, { kind: "run" }>,
): Promise<Answer> {
  received.commit = (work) =>
    begun.commit(async (transaction) => {
      const answer = await work(transaction);
      return { ...answer, remembered: answer.remembered ?? answer.body };
    });
  let answer: Answer | null = null;
  try {
    answer = await operation.run(received);
    return answer;
  } finally {
    if (answer?.ended === undefined) begun.end();
    else void answer.ended.then(() => begun.end());
  }
}

function readable(parameters: PathParameters): Readonly<Record<string, string>> {
  for (const name in parameters) {
    if (parameters[name] !== null) continue;
    throw new Fault("invalid_request", `'${name}' in the path is not valid percent-encoded UTF-8.`, { param: name });
  }
  return (parameters ?? {}) as Readonly<Record<string, string>>;
}

// A known path under another method is 405 with `Allow`; everything else is an unknown route. Whoever has GET has HEAD
// (RFC 9110, 9.3.2): Elysia answers it by itself.
function unrouted(method: string, path: string, routes: readonly Route[]): Fault {
  const allow = new Set(
    routes
      .filter((route) => matches(route.path, path))
      .flatMap((route) => (route.method === "GET" ? ["GET", "HEAD"] : [route.method])),
  );
  const shown = path.length > 128 ? `${path.slice(0, 128)}…` : path;
  if (allow.size === 0) return new Fault("not_found", `There is no route ${method} ${shown}.`);
  const methods = [...allow];
  return new Fault("method_not_allowed", `${shown} takes ${methods.join(", ")}, not ${method}.`, { allow: methods });
}

function matches(template: string, path: string): boolean {
  const parts = template.split("/");
  const given = path.split("/");
  return (
    parts.length === given.length &&
    parts.every((part, at) => part === given[at] || (part.startsWith(":") && given[at] !== ""))
  );
}

function responseOf({ status, body }: Answer, headers: Record<string, string>): Response {
  if (body === null) return new Response(null, { status, headers });
  if (body instanceof ReadableStream) {
    headers["content-type"] = "text/event-stream; charset=utf-8";
    headers["cache-control"] = "no-cache";
    headers["x-accel-buffering"] = "no"; // else nginx waits for the end
    return new Response(body, { status, headers });
  }
  if (body instanceof Page) {
    headers["content-type"] = body.contentType;
    return new Response(body.text, { status, headers: { ...headers, ...body.headers } });
  }
  headers["content-type"] = "application/json; charset=utf-8";
  return new Response(body instanceof JsonText ? body.text : JSON.stringify(body), { status, headers });
}

/**
 * The answer to HEAD: GET's without the body and with its length (RFC 9110, 9.3.2 and 8.6), where Bun would say 0. Elysia
 * sees to it where a route answers, this where none did.
 */
async function headOf(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const headers = new Headers(response.headers);
  headers.set("content-length", String((await response.arrayBuffer()).byteLength));
  return new Response(null, { status: response.status, headers });
}
