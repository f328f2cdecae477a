// Turns failures into the error body of the API and its HTTP status; catalogue.ts lists the codes. Internal details,
// such as causes and stacks, never get into a body.

import { Fault, type FaultCode } from "../domain/fault.ts";
import { FAULTS } from "./catalogue.ts";

/** HTTP status of each code, from the catalogue. */
export const STATUS_OF = Object.fromEntries(
  Object.entries(FAULTS).map(([code, { status }]) => [code, status]),
) as Readonly<Record<FaultCode, number>>;

/** The error object of an error body. */
export interface ErrorView {
  readonly code: FaultCode;
  readonly message: string;
  readonly status: number;
  readonly param?: string;
  readonly request_id?: string;
  readonly retry_after_seconds?: number;
  readonly items?: readonly { readonly index: number; readonly error: ErrorView }[];
}

/** Converts a fault to an error object; the errors of a batch's items have no `requestId`. */
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

/** The fault to report for anything thrown: a Fault itself, everything else as `internal_error` without details. */
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
