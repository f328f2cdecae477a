// How failures look to a caller: one table from code to HTTP status, one error body. Nothing internal leaves here.

import { Fault, type FaultCode } from "../domain/fault.ts";

/** HTTP status of each code. */
export const STATUS_OF: Readonly<Record<FaultCode, number>> = {
  invalid_request: 400,
  invalid_filter: 400,
  invalid_cursor: 400,
  too_many_tags: 400,
  metadata_too_large: 400,
  batch_too_large: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  insufficient_scope: 403,
  not_found: 404,
  memory_not_found: 404,
  method_not_allowed: 405,
  external_id_conflict: 409,
  invalid_state: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  internal_error: 500,
  overloaded: 503,
  model_unavailable: 503,
};

/** The interface's error object. */
export interface ErrorView {
  readonly code: FaultCode;
  readonly message: string;
  readonly status: number;
  readonly param?: string;
  readonly request_id?: string;
  readonly retry_after_seconds?: number;
  readonly items?: readonly { readonly index: number; readonly error: ErrorView }[];
}

/** A fault as callers see it; `requestId` is left out inside batches. */
export function errorView(fault: Fault, requestId?: string): ErrorView {
  return {
    code: fault.code,
    message: fault.message,
    status: STATUS_OF[fault.code],
    ...(fault.param === undefined ? {} : { param: fault.param }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(fault.retryAfterSeconds === undefined ? {} : { retry_after_seconds: fault.retryAfterSeconds }),
    ...(fault.items === undefined
      ? {}
      : { items: fault.items.map(({ index, error }) => ({ index, error: errorView(error) })) }),
  };
}

/** What a caller is told of anything thrown: a Fault as it is, everything else as `internal_error` without detail. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault(
    "internal_error",
    "Something went wrong inside the server. The log has the details under this request_id.",
    {
      cause: error,
    },
  );
}
