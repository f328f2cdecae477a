// A response with a status other than 200, and the LlmError that it becomes.

import type { IncomingHttpHeaders } from "node:http";
import { parsedJson, recordOrNull, recordsIn } from "../../kit/record.ts";
import { retryAfterMs } from "../../kit/retry-after.ts";
import { LlmError } from "../../ports/language-model.ts";
import { errorCode, textOf } from "./protocol.ts";

/** What a person should check after a refusal with this status. */
const HINTS: Readonly<Record<number, string>> = {
  401: "check the API key",
  403: "check the API key, and whether it may use the model",
  404: "check the address, the provider and the model's name",
  405: "check the address and the provider",
};

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
    const body = parsedJson(this.body);
    const waitMs = retryAfterMs(this.headers["retry-after"], nowMs) ?? retryDelayMs(body);
    const detail = { status, ...(waitMs !== null && { retryAfterMs: waitMs }) };
    if (status === 429)
      return new LlmError("rate_limited", "the endpoint received too many requests (status 429)", detail);
    if (status >= 300 && status < 400) {
      return new LlmError(
        "refused",
        `the endpoint redirects to another address (status ${status}), and redirects are not followed`,
        detail,
      );
    }
    const code = errorCode(body);
    if (status >= 500) return new LlmError("failed", `the endpoint failed with status ${status}${code}`, detail);
    const hint = Object.hasOwn(HINTS, status) ? `: ${HINTS[status]}` : "";
    return new LlmError("refused", `the endpoint refused the request with status ${status}${code}${hint}`, detail);
  }
}

// Gemini sends no `retry-after`. Its error has details, one of which may be `{"retryDelay": "34s"}`.
function retryDelayMs(body: unknown): number | null {
  const delays = recordsIn(recordOrNull(recordOrNull(body)?.error)?.details).map(({ retryDelay }) =>
    textOf(retryDelay),
  );
  const [, seconds] = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(delays.find((delay) => delay !== "") ?? "") ?? [];
  return seconds === undefined ? null : Math.ceil(Number(seconds) * 1_000);
}
