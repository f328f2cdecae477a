// The way of a request: request id → authentication → route → scope → query and body → operation → answer. Every Response
// of the server is made here, so that headers and error bodies are the same everywhere.

import { Elysia } from "elysia";
import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { allows, type Principal } from "../domain/scope.ts";
import type { Log } from "../kit/log.ts";
import { BodyBudget, readJson } from "./body.ts";
import { check, checkQuery } from "./check.ts";
import { errorView, faultOf, STATUS_OF } from "./errors.ts";
import type { Answer, Operation } from "./operation.ts";

/** Answers of the paths outside `/v1`, which need no key. */
export interface PublicRoutes {
  readonly health: () => Answer;
  readonly ready: () => Answer;
}

/** What the HTTP layer stands on. */
export interface AppParts {
  readonly operations: readonly Operation[];
  readonly public: PublicRoutes;
  readonly authenticate: (secret: string) => Principal | null;
  readonly newRequestId: () => string;
  /** What a caller is told of an adapter's own error; null: nothing but that something failed inside. */
  readonly explainFailure: (error: unknown) => Fault | null;
  readonly log: Log;
}

/** Answers any request; never rejects. */
export type App = (request: Request) => Promise<Response>;

const PUBLIC_ROUTES = ["health", "ready"] as const satisfies readonly (keyof PublicRoutes)[];

/** What a path takes. */
type Route = Pick<Operation, "method" | "path">;

/** As Elysia decodes them: null where the percent-encoding is no UTF-8 text, undefined where the path has none. */
type PathParameters = Readonly<Record<string, string | null>> | undefined;

// What authentication found out about a request before it was routed.
interface Admission {
  readonly requestId: string;
  readonly principal: Principal | null;
}

/** Builds the HTTP application. */
export function createApp(parts: AppParts): App {
  const admissions = new WeakMap<Request, Admission>();
  const bodies = new BodyBudget(LIMITS.bodiesInFlightBytes);
  const routes: readonly Route[] = [
    ...PUBLIC_ROUTES.map((name): Route => ({ method: "GET", path: `/${name}` })),
    ...parts.operations,
  ];

  const admissionOf = (request: Request): Admission =>
    admissions.get(request) ?? { requestId: requestIdOf(request, parts.newRequestId), principal: null };

  const fail = (request: Request, error: unknown): Response => {
    const fault = parts.explainFailure(error) ?? faultOf(error);
    const { requestId } = admissionOf(request);
    if (fault.code === "internal_error") {
      // who hangs up makes the work for him fail: that is no trouble of the server's
      const level = request.signal.aborted ? "debug" : "error";
      parts.log[level]({ requestId, err: fault.cause }, "a request failed inside");
    }
    const status = STATUS_OF[fault.code];
    return respond({ status, body: { error: errorView(fault, requestId) } }, requestId, {
      ...(status === 401 && { "www-authenticate": "Bearer" }),
      ...(status === 405 && { allow: fault.allow.join(", ") }),
    });
  };

  // `onRequest` runs before routing and before any body is read; a plugin's guard would miss unknown routes.
  const elysia = new Elysia({
    normalize: false,
    strictPath: true,
    handler: { standardHostname: false }, // its shortcut misreads the path behind host names of one to three letters
  }).onRequest(({ request }) => {
    const requestId = requestIdOf(request, parts.newRequestId);
    admissions.set(request, { requestId, principal: null });
    if (!isVersioned(request)) return;
    try {
      admissions.set(request, { requestId, principal: authenticate(request, parts.authenticate) });
    } catch (error) {
      return fail(request, error);
    }
  });

  elysia.onError(({ request, error, code }) => {
    if (code === "NOT_FOUND") return fail(request, unrouted(request, routes));
    return fail(request, error);
  });

  for (const name of PUBLIC_ROUTES) {
    elysia.get(`/${name}`, ({ request }) => respond(parts.public[name](), admissionOf(request).requestId));
  }

  for (const operation of parts.operations) {
    elysia.route(
      operation.method,
      operation.path,
      async ({ request, params }: { request: Request; params: PathParameters }) => {
        const { requestId, principal } = admissionOf(request);
        try {
          return respond(await answer(operation, request, params, principal, bodies), requestId);
        } catch (error) {
          return fail(request, error);
        }
      },
      { parse: "none" },
    );
  }

  return async (request) => {
    try {
      if (!URL.canParse(request.url)) throw new Fault("invalid_request", "The Host header is malformed.");
      return await elysia.fetch(request);
    } catch (error) {
      return fail(request, error);
    }
  };
}

async function answer(
  operation: Operation,
  request: Request,
  parameters: PathParameters,
  principal: Principal | null,
  bodies: BodyBudget,
): Promise<Answer> {
  if (principal === null) throw new Fault("missing_api_key", "Send an API key: Authorization: Bearer ctx_…");
  if (!allows(principal, operation.scope)) {
    throw new Fault(
      "insufficient_scope",
      `This key lacks the scope '${operation.scope}' that ${operation.name} needs.`,
    );
  }
  const params = readable(parameters);
  const query = checkQuery(operation.query, new URL(request.url).search);
  const call = { principal, params, query, signal: request.signal };
  if (operation.body === null) return operation.run({ ...call, body: null });
  if (request.headers.has("idempotency-key")) {
    throw new Fault("invalid_request", "This version has no Idempotency-Key yet; use externalId to repeat a request.", {
      param: "Idempotency-Key",
    });
  }
  const reserved = bodies.reserve();
  try {
    const body = check(operation.body, await readJson(request, LIMITS.bodyBytes, reserved));
    return await operation.run({ ...call, body });
  } finally {
    reserved.release();
  }
}

function readable(parameters: PathParameters): Record<string, string> {
  const entries = Object.entries(parameters ?? {}).map(([name, value]) => {
    if (value !== null) return [name, value] as const;
    throw new Fault("invalid_request", `'${name}' in the path is not valid percent-encoded UTF-8.`, { param: name });
  });
  return Object.fromEntries(entries);
}

function authenticate(request: Request, lookUp: (secret: string) => Principal | null): Principal {
  const header = request.headers.get("authorization");
  if (header === null) throw new Fault("missing_api_key", "Send an API key: Authorization: Bearer ctx_…");
  const secret = /^Bearer +(ctx_[A-Za-z0-9_-]{1,256})$/i.exec(header)?.[1];
  const principal = secret === undefined ? null : lookUp(secret);
  if (principal === null) {
    throw new Fault(
      "invalid_api_key",
      "This API key is not known. Keys look like ctx_… and are shown once, when they are made.",
    );
  }
  return principal;
}

function isVersioned(request: Request): boolean {
  const path = new URL(request.url).pathname;
  return path === "/v1" || path.startsWith("/v1/");
}

// A known path under another method is 405 with `Allow`; everything else is an unknown route. Whoever has GET has HEAD
// (RFC 9110, 9.3.2): Elysia answers it by itself.
function unrouted(request: Request, routes: readonly Route[]): Fault {
  const path = new URL(request.url).pathname;
  const allow = routes
    .filter((route) => matches(route.path, path))
    .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  const shown = path.length > 128 ? `${path.slice(0, 128)}…` : path;
  if (allow.length === 0) return new Fault("not_found", `There is no route ${request.method} ${shown}.`);
  return new Fault("method_not_allowed", `${shown} takes ${allow.join(", ")}, not ${request.method}.`, { allow });
}

function matches(template: string, path: string): boolean {
  const parts = template.split("/");
  const given = path.split("/");
  return (
    parts.length === given.length &&
    parts.every((part, at) => part === given[at] || (part.startsWith(":") && given[at] !== ""))
  );
}

/** A caller's own request id if it is safe to repeat, else a new one. */
function requestIdOf(request: Request, newRequestId: () => string): string {
  const given = request.headers.get("x-request-id");
  const isSafe = given !== null && given.length <= LIMITS.requestIdCharacters && /^[A-Za-z0-9._:-]+$/.test(given);
  return isSafe ? given : newRequestId();
}

function respond(answer: Answer, requestId: string, extra?: Record<string, string>): Response {
  const headers = new Headers({ "x-request-id": requestId, ...extra });
  if (answer.body === null) return new Response(null, { status: answer.status, headers });
  headers.set("content-type", "application/json; charset=utf-8");
  return new Response(JSON.stringify(answer.body), { status: answer.status, headers });
}
