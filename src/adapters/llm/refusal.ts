// An answer with another status than 200: what it says of the request, and as which failure it counts.

import type { IncomingHttpHeaders } from "node:http";
import { LlmError } from "../../ports/language-model.ts";
import { errorCode, parsed } from "./completion.ts";

/** An endpoint's refusal. */
export class Refusal {
  constructor(
    private readonly status: number,
    private readonly headers: IncomingHttpHeaders,
    readonly body: string,
  ) {}

  /** Whether it may be the request's form that is refused. */
  get isOfRequest(): boolean {
    return this.status === 400 || this.status === 422;
  }

  /** @param nowMs Unix milliseconds, for a wait that is asked for as a date */
  toError(nowMs: number): LlmError {
    const { status } = this;
    const detail = { status, ...retryAfter(this.headers["retry-after"], nowMs) };
    if (status === 429)
      return new LlmError("rate_limited", "the endpoint has had too many requests (status 429)", detail);
    if (status >= 300 && status < 400) {
      return new LlmError(
        "refused",
        `the endpoint redirects elsewhere (status ${status}), which is not followed`,
        detail,
      );
    }
    const code = errorCode(parsed(this.body));
    if (status >= 500) return new LlmError("failed", `the endpoint failed with status ${status}${code}`, detail);
    return new LlmError("refused", `the endpoint refused the request with status ${status}${code}`, detail);
  }
}

// In seconds, or as a date.
function retryAfter(header: string | undefined, nowMs: number): { readonly retryAfterMs?: number } {
  if (header === undefined) return {};
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return ms >= 0 ? { retryAfterMs: ms } : {};
}
