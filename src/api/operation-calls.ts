// Calls operations of the API in this process, for protocols of their own, and turns refusals into exceptions.

import { checkIdempotencyKey } from "../account/idempotency.ts";
import type { MemoryId } from "../domain/ids.ts";
import { pathId } from "./ids.ts";
import type { OperationRequest, SendToOperation } from "./protocol-endpoint.ts";

/** A JSON object from an answer, not validated. */
export type Json = Readonly<Record<string, unknown>>;

/** An operation answered a call with an error. `message` is public. */
export class OperationRefused extends Error {
  override readonly name = "OperationRefused";

  constructor(
    message: string,
    /** The `error` object of the answer: `code`, `status`, `request_id` and others. */
    readonly detail: Json,
  ) {
    super(message);
  }
}

/** Query parameters; those that are null or undefined are left out. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Calls operations with the key of one caller. Each call throws OperationRefused if it is answered with an error. */
export class Operations {
  readonly #send: SendToOperation;
  readonly #signal: AbortSignal;

  /** @param signal aborts all calls */
  constructor(send: SendToOperation, signal: AbortSignal) {
    this.#send = send;
    this.#signal = signal;
  }

  /** Sends a GET request. */
  get(path: string, query: QueryParameters = {}): Promise<Json> {
    return this.#call({ method: "GET", target: path + queryText(query) });
  }

  /** Sends a POST request. @throws Fault `invalid_request` if the idempotency key is malformed */
  post(path: string, body: Json, idempotencyKey?: string): Promise<Json> {
    // a key that no header can have is refused like any other wrong key
    const once = idempotencyKey === undefined ? {} : { idempotencyKey: checkIdempotencyKey(idempotencyKey) };
    return this.#call({ method: "POST", target: path, body, ...once });
  }

  /** Sends a PUT request. */
  put(path: string, body: Json): Promise<Json> {
    return this.#call({ method: "PUT", target: path, body });
  }

  /** Sends a DELETE request. */
  delete(path: string, query: QueryParameters = {}): Promise<Json> {
    return this.#call({ method: "DELETE", target: path + queryText(query) });
  }

  /** Sends a DELETE request with a body, which says what to delete. */
  deleteBy(path: string, body: Json): Promise<Json> {
    return this.#call({ method: "DELETE", target: path, body });
  }

  async #call(request: Omit<OperationRequest, "signal">): Promise<Json> {
    const response = await this.#send({ ...request, signal: this.#signal });
    const text = await response.text();
    const body: Json = text === "" ? {} : JSON.parse(text);
    if (response.ok) return body;
    const detail = (body.error ?? {}) as Json;
    throw new OperationRefused(String(detail.message ?? `The server answered ${response.status}.`), detail);
  }
}

/** Path of a memory. @throws Fault `memory_not_found` if the text is no id: it could lead to another path */
export function memoryPath(id: string): string {
  return `/v1/memories/${pathId<MemoryId>("mem", id, "memory_not_found", "memory_id")}`;
}

function queryText(query: QueryParameters): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}
