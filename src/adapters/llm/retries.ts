// Whether a call that failed before its answer began is made again, and when.

import type { LlmError } from "../../ports/language-model.ts";

/** How often a call is made again. */
export const RETRIES_MAX = 2;
/** A wait that an endpoint asks for is kept if it is this long at most: who asked the question waits, too. */
const ASKED_WAIT_MS_MAX = 10_000;
/** The wait before the first repetition where the endpoint asks for none, at most; it doubles, and chance takes up to half of it. */
const WAIT_MS = 500;

/** Statuses that pass soon: too many requests, and those of a gateway whose servers are changed or full. */
const PASSING_STATUSES: readonly (number | null)[] = [429, 502, 503];
/** Errors of a connection that came to nothing. */
const PASSING_CODES: readonly unknown[] = ["ECONNREFUSED", "ECONNRESET", "EPIPE"];

/**
 * Milliseconds until the call is to be made again; null: it is not.
 * @param failure of a call whose answer has not begun
 * @param retries how often it was made again already
 * @param leftMs of the time for the whole call
 * @param random in 0..1
 */
export function waitBeforeRetry(failure: LlmError, retries: number, leftMs: number, random: number): number | null {
  if (retries >= RETRIES_MAX || !isPassing(failure)) return null;
  const ms = failure.retryAfterMs ?? WAIT_MS * 2 ** retries * (1 - random / 2);
  return ms <= ASKED_WAIT_MS_MAX && ms < leftMs ? ms : null;
}

function isPassing({ status, reason, cause }: LlmError): boolean {
  if (PASSING_STATUSES.includes(status)) return true;
  return reason === "unreachable" && cause instanceof Error && "code" in cause && PASSING_CODES.includes(cause.code);
}
