// Retry schedule: decides after a delivery attempt whether the delivery is done, failed, or retried and when.
// dispatcher.ts sends and records attempts.

import type { AttemptOutcome } from "../ports/webhook-store.ts";

/** The API allows three retries. */
const RETRIES_MAX = 3;
const RETRY_SECONDS_MAX = 24 * 60 * 60;

/** Status by which a receiver says that it no longer exists (Standard Webhooks 1.0). */
const GONE = 410;

/** Describes the format that `parseRetries` accepts, as the end of a sentence that begins with "… must be". */
export const RETRIES_EXPECTED = `1 to ${RETRIES_MAX} whole numbers of seconds from 1 to ${RETRY_SECONDS_MAX}, with commas between them`;

/** A delivery attempt that ended. */
export interface EndedAttempt {
  /** HTTP status; null if there was no response. */
  readonly statusCode: number | null;
  /** Number of attempts of this delivery so far, including this one. */
  readonly attemptsMade: number;
  /** Delays after the first failure, the second and so on, in milliseconds. */
  readonly retryDelaysMs: readonly number[];
  /** Whether a failure is retried. false for a redelivery, which is a single attempt. */
  readonly isRetried: boolean;
  /** When the attempt ended, Unix milliseconds. */
  readonly now: number;
}

/**
 * Decides what happens after an attempt. With status 2xx, the delivery is delivered. With 410, it fails for good and
 * the webhook is disabled. After any other outcome, including redirects, it is retried after the next delay, until all
 * delays are used.
 */
export function nextAttempt(ended: EndedAttempt): Pick<AttemptOutcome, "next" | "disables"> {
  const { statusCode, attemptsMade, retryDelaysMs, isRetried, now } = ended;
  if (statusCode !== null && statusCode >= 200 && statusCode < 300) return { next: "delivered", disables: false };
  if (statusCode === GONE) return { next: "failed", disables: true };
  const delayMs = isRetried ? retryDelaysMs[attemptsMade - 1] : undefined;
  return { next: delayMs === undefined ? "failed" : { at: now + delayMs }, disables: false };
}

/**
 * Parses delays in seconds (`5,300,1800`). Returns them in milliseconds; undefined if `text` does not match
 * RETRIES_EXPECTED.
 */
export function parseRetries(text: string): readonly number[] | undefined {
  const seconds = text.split(",").map((part) => (/^\s*\d{1,5}\s*$/.test(part) ? Number(part) : Number.NaN));
  const isExpected =
    seconds.length <= RETRIES_MAX && seconds.every((delay) => delay >= 1 && delay <= RETRY_SECONDS_MAX);
  return isExpected ? seconds.map((delay) => delay * 1000) : undefined;
}
