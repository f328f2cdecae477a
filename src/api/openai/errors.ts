// Errors in the form that clients of OpenAI expect. Codes, status and messages are Mneme's own (catalogue.ts).

import type { Fault, FaultCode } from "../../domain/fault.ts";
import { STATUS_OF } from "../errors.ts";

/** Values of `error.type`. */
export const ERROR_TYPES = ["invalid_request_error", "rate_limit_error", "insufficient_quota", "server_error"] as const;
type ErrorType = (typeof ERROR_TYPES)[number];

/** The body of an error. Clients read the request id from the header X-Request-Id. */
export function openAiError(fault: Fault): object {
  const { code, message, param, retryAfterSeconds } = fault;
  return {
    error: {
      message,
      type: errorTypeOf(code),
      param: param ?? null,
      code,
      ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }),
    },
  };
}

/** The type of an error, by its code. */
export function errorTypeOf(code: FaultCode): ErrorType {
  if (code === "rate_limit_exceeded") return "rate_limit_error";
  const status = STATUS_OF[code];
  if (status === 429) return "insufficient_quota";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
