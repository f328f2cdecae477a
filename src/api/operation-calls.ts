// How protocol endpoints (protocol-endpoint.ts) call operations in this process.

import type { MemoryId } from "../domain/ids.ts";
import type { JsonRecord } from "../kit/record.ts";
import { memoryPathId } from "./ids.ts";

/** The input of an operation, as a request would have it. */
export interface OperationInput {
  readonly params?: Readonly<Record<string, string>>;
  /** Query parameters; those that are null or undefined count as absent. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
}

/** Calls operations for one caller. */
export interface Operations {
  /**
   * Runs an operation with the checks, permissions and limits of a request, and returns the body of its answer.
   * @param name of the operation, such as `getMemory`
   * @throws Fault with which the operation refuses
   */
  call(name: string, input?: OperationInput): Promise<JsonRecord>;
}

/** Path of a memory in the API. @throws Fault `memory_not_found` if the text is no id: it could lead to another path */
export function memoryPath(id: string): string {
  return `/v1/memories/${ofMemory(id).params.id}`;
}

/** The path parameters of operations on a memory. @throws Fault `memory_not_found` if the text is no id */
export function ofMemory(id: string): { readonly params: { readonly id: MemoryId } } {
  return { params: { id: memoryPathId(id, "memory_id") } };
}
