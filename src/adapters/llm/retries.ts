// Decides whether and when to retry a call that failed before its answer began.

import type { LlmError } from "../../ports/language-model.ts";

/** Maximum number of retries per call. */
export const RETRIES_MAX = 2;
/**
 * Maximum `retry-after` that is obeyed, in milliseconds. A user is waiting, so the call fails if the endpoint requests
 * a longer wait.
 */
const REQUESTED_WAIT_MS_MAX = 10_000;
/**
 * Maximum wait before the first retry if the endpoint requests none, in milliseconds. It doubles with each retry;
 * jitter reduces it by up to half.
 */
const WAIT_MS = 500;

/**
 * HTTP statuses of transient failures: too many requests, gateways whose servers are being replaced or are overloaded,
 * and Anthropic's "overloaded".
 */
const TRANSIENT_STATUSES: readonly (number | null)[] = [429, 502, 503, 529];
/** Codes of connection errors that are transient. */
const TRANSIENT_CODES: readonly unknown[] = ["ECONNREFUSED", "ECONNRESET", "EPIPE"];

/**
 * Milliseconds to wait before the next retry; null if the call must not be retried.
 * @param failure error of a call whose answer had not begun
 * @param retries number of retries so far
 * @param leftMs time left for the whole call
 * @param random jitter in 0..1
 */
export function waitBeforeRetry(failure: LlmError, retries: number, leftMs: number, random: number): number | null {
  if (retries >= RETRIES_MAX || !isTransient(failure)) return null;
  const ms = failure.retryAfterMs ?? WAIT_MS * 2 ** retries * (1 - random / 2);
  return ms <= REQUESTED_WAIT_MS_MAX && ms < leftMs ? ms : null;
}

function isTransient({ status, reason, cause }: LlmError): boolean {
  if (TRANSIENT_STATUSES.includes(status)) return true;
  return reason === "unreachable" && cause instanceof Error && "code" in cause && TRANSIENT_CODES.includes(cause.code);
}
