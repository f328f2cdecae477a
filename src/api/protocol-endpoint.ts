// Endpoints outside of /v1 that speak a protocol of their own, such as MCP, or the API of another product. They need a
// key like every operation. They do their work by calling operations in this process, so that scopes, rate limits,
// quotas and errors are the same.

import type { Bucket } from "../account/rate-limits.ts";
import { invariant } from "../domain/fault.ts";
import type { MemoryId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Principal, Viewer } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import { type Admission, type Gate, type SocketAddress, secretOf } from "./gate.ts";
import type { OperationRunner } from "./operation-runner.ts";
import type { Responses } from "./responses.ts";
import { checkedParameters, type PathParameters } from "./routes.ts";

/** An endpoint with a protocol of its own. */
export interface ProtocolEndpoint {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path of the endpoint, such as `/mcp`, with `:id` for a path parameter. */
  readonly path: string;
  /** Whether requests have a JSON body, of at most 1 MiB. */
  readonly takesBody: boolean;
  /** Name under which the metrics count its requests. The operations that it calls are counted on their own. */
  readonly name: string;
  /**
   * The response to a request that is refused before its key is read; null if the request may continue. Absent if none
   * is refused.
   */
  readonly refuse?: (request: Request) => Response | null;
  readonly answer: (call: ProtocolCall) => Promise<Response>;
}

/** A request to an endpoint, with a valid key. */
export interface ProtocolCall {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  /** The parsed JSON body; null if the endpoint takes none. */
  readonly body: unknown;
  readonly principal: Principal;
  /** Calls an operation with the caller's key and address. */
  readonly send: SendToOperation;
}

/**
 * Waits until a memory is completed or failed, at most `timeoutMs`, or until `signal` aborts. Returns the memory as it
 * is then; null if it does not exist for this viewer.
 */
export type Settled = (viewer: Viewer, id: MemoryId, timeoutMs: number, signal: AbortSignal) => Promise<Memory | null>;

/** A request to an operation. */
export interface OperationRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and query, such as `/v1/memories?limit=10`. */
  readonly target: string;
  /** Sent as JSON; absent if the operation takes no body. */
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  /** Aborts the operation. */
  readonly signal: AbortSignal;
}

/** Sends a request to an operation of this process; never rejects. */
export type SendToOperation = (request: OperationRequest) => Eventually<Response>;

/** Answers any request of the application. */
type AnswerRequest = (request: Request, socketAddress?: SocketAddress) => Eventually<Response>;

/** Sends requests to the operations of `app` with a key. `forwarded` are further headers, in lower case. */
export function operationSender(
  app: AnswerRequest,
  origin: string,
  forwarded: Readonly<Record<string, string>>,
  socketAddress?: SocketAddress,
): SendToOperation {
  return ({ method, target, body, idempotencyKey, signal }) => {
    const headers: Record<string, string> = { ...forwarded };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return app(new Request(new URL(target, origin).href, { method, headers, signal, ...text }), socketAddress);
  };
}

/** Header of a request to an endpoint that its requests to operations also have, besides the key. */
const FORWARDED_HEADER = "x-forwarded-for";

/** Answers requests to an endpoint: rate limit → body → protocol. */
export class ProtocolRunner {
  readonly #parts: { readonly gate: Gate; readonly runner: OperationRunner; readonly responses: Responses };
  readonly #app: AnswerRequest;

  constructor(
    parts: { readonly gate: Gate; readonly runner: OperationRunner; readonly responses: Responses },
    app: AnswerRequest,
  ) {
    this.#parts = parts;
    this.#app = app;
  }

  /** @throws Fault `rate_limit_exceeded`, or of reading the body; the promise may reject instead */
  async run(
    endpoint: ProtocolEndpoint,
    bucket: Bucket,
    request: Request,
    parameters: PathParameters,
    admission: Admission,
  ): Promise<Response> {
    const { gate, runner, responses } = this.#parts;
    await admission.pending?.ended;
    const { principal } = admission;
    invariant(principal, "a request reaches a protocol endpoint only with a valid key");
    await gate.count(admission, principal, bucket);
    const params = checkedParameters(parameters);
    const address = request.headers.get(FORWARDED_HEADER);
    const forwarded: Record<string, string> = {
      "x-request-id": admission.requestId,
      authorization: `Bearer ${secretOf(request, admission) ?? ""}`,
      ...(address !== null && { [FORWARDED_HEADER]: address }),
    };
    const send = operationSender(this.#app, request.url, forwarded, admission.socketAddress);
    const answer = async (body: unknown, confirmed: Principal) =>
      responses.adopted(
        request,
        admission,
        await endpoint.answer({ request, params, body, principal: confirmed, send }),
      );
    if (!endpoint.takesBody) return answer(null, principal);
    return runner.withJsonBody(request, async (body) => {
      // Receiving a body can take minutes. The key is checked again, because it may have been revoked in the meantime.
      return answer(body, await gate.confirm(request, admission));
    });
  }
}
