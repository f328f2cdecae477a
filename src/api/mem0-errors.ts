// Errors in the form that clients of mem0 expect: they show the field `detail`. Codes, status and messages are Mneme's
// own (catalogue.ts).

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
