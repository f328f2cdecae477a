// A response with a status other than 200, and the LlmError that it becomes.

import type { IncomingHttpHeaders } from "node:http";
import { parsedJson } from "../../kit/record.ts";
import { LlmError } from "../../ports/language-model.ts";
import { errorCode } from "./completion.ts";

/** An endpoint's refusal of a request. */
export class Refusal {
  constructor(
    private readonly status: number,
    private readonly headers: IncomingHttpHeaders,
    readonly body: string,
  ) {}

  /** Whether the endpoint may have refused an optional field of the request. */
  get mayBeUnsupportedField(): boolean {
    return this.status === 400 || this.status === 422;
  }

  /** Returns the error to report. @param nowMs Unix milliseconds, to convert a `retry-after` date into a duration */
  toError(nowMs: number): LlmError {
    const { status } = this;
    const detail = { status, ...retryAfter(this.headers["retry-after"], nowMs) };
    if (status === 429)
      return new LlmError("rate_limited", "the endpoint received too many requests (status 429)", detail);
    if (status >= 300 && status < 400) {
      return new LlmError(
        "refused",
        `the endpoint redirects to another address (status ${status}), and redirects are not followed`,
        detail,
      );
    }
    const code = errorCode(parsedJson(this.body));
    if (status >= 500) return new LlmError("failed", `the endpoint failed with status ${status}${code}`, detail);
    return new LlmError("refused", `the endpoint refused the request with status ${status}${code}`, detail);
  }
}

// The header contains a number of seconds or a date.
function retryAfter(header: string | undefined, nowMs: number): { readonly retryAfterMs?: number } {
  if (header === undefined) return {};
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return ms >= 0 ? { retryAfterMs: ms } : {};
}
