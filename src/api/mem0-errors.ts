// Errors in the form of mem0, whose clients show the user the field `detail`. Messages, codes and statuses are Mneme's
// own (catalogue.ts has the latter two).

import type { Fault } from "../domain/fault.ts";

/** The body of an error. */
export function mem0Error({ code, message, param, retryAfterSeconds }: Fault, requestId: string): object {
  return {
    detail: message,
    code,
    ...(param !== undefined && { param }),
    request_id: requestId,
    ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }),
  };
}
