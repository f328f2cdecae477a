// How failures look to a caller: one error body, and the status that goes with its code. Which codes there are and what each
// means stands in catalogue.ts. Nothing internal leaves here.

import { Fault, type FaultCode } from "../domain/fault.ts";
import { FAULTS } from "./catalogue.ts";

/** HTTP status of each code, as the catalogue has it. */
export const STATUS_OF = Object.fromEntries(
  Object.entries(FAULTS).map(([code, { status }]) => [code, status]),
) as Readonly<Record<FaultCode, number>>;

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
