// Endpoints outside of /v1 that speak a protocol of their own, such as MCP, or the API of another product. They need a
// key like every operation. They do their work by calling operations in this process, so that scopes, rate limits,
// quotas and errors are the same.

import type { Bucket } from "../account/rate-limits.ts";
import { invariant } from "../domain/fault.ts";
import type { MemoryId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Principal, Viewer } from "../domain/scope.ts";
import type { Admission, Gate } from "./gate.ts";
import type { Operations } from "./operation-calls.ts";
import type { LimitedOperation, OperationRunner } from "./operation-runner.ts";
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
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  /** The parsed JSON body; null if the endpoint takes none. */
  readonly body: unknown;
  readonly principal: Principal;
  /** The operations for this caller. @param signal aborts all calls */
  readonly operations: (signal: AbortSignal) => Operations;
}

/**
 * Waits until a memory is completed or failed, at most `timeoutMs`, or until `signal` aborts. Returns the memory as it
 * is then; null if it does not exist for this viewer.
 */
export type Settled = (viewer: Viewer, id: MemoryId, timeoutMs: number, signal: AbortSignal) => Promise<Memory | null>;

/** Answers requests to an endpoint: rate limit → body → protocol. */
export class ProtocolRunner {
  readonly #uses: { readonly gate: Gate; readonly runner: OperationRunner; readonly responses: Responses };
  readonly #operations: ReadonlyMap<string, LimitedOperation>;

  /** @param operations by name */
  constructor(
    uses: { readonly gate: Gate; readonly runner: OperationRunner; readonly responses: Responses },
    operations: ReadonlyMap<string, LimitedOperation>,
  ) {
    this.#uses = uses;
    this.#operations = operations;
  }

  /** @throws Fault `rate_limit_exceeded`, `invalid_api_key`, or a fault of the body or of `endpoint` */
  async run(
    endpoint: ProtocolEndpoint,
    bucket: Bucket,
    request: Request,
    parameters: PathParameters,
    admission: Admission,
  ): Promise<Response> {
    const { gate, runner, responses } = this.#uses;
    await admission.pending?.ended;
    const { principal } = admission;
    invariant(principal, "a request reaches a protocol endpoint only with a valid key");
    await gate.count(admission, principal, bucket);
    const params = checkedParameters(parameters);
    const operations = (signal: AbortSignal): Operations => ({
      call: (name, input = {}) => {
        const called = this.#operations.get(name);
        invariant(called, `there is no operation ${name}`);
        return runner.call(called, { request, admission }, input, signal);
      },
    });
    const answer = async (body: unknown, confirmed: Principal) =>
      responses.adopted(
        request,
        admission,
        await endpoint.answer({
          request,
          requestId: admission.requestId,
          params,
          body,
          principal: confirmed,
          operations,
        }),
      );
    if (!endpoint.takesBody) return answer(null, principal);
    return runner.withJsonBody(request, async (body) => {
      // Receiving a body can take minutes. The key is checked again, because it may have been revoked in the meantime.
      return answer(body, await gate.confirm(request, admission));
    });
  }
}
