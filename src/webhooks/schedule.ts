// What follows from an attempt to deliver: done, given up, or again and when. Sending and writing down are
// dispatcher.ts.

import type { AttemptOutcome } from "../ports/webhook-store.ts";

/** The interface allows three retries. */
const RETRIES_MAX = 3;
const RETRY_SECONDS_MAX = 24 * 60 * 60;

/** The status by which a receiver says that it is gone for good (Standard Webhooks 1.0). */
const GONE = 410;

/** What `parseRetries` takes; completes "… must be". */
export const RETRIES_EXPECTED = `1 to ${RETRIES_MAX} whole numbers of seconds from 1 to ${RETRY_SECONDS_MAX}, with commas between them`;

/** An attempt that ended, and what it is judged by. */
export interface EndedAttempt {
  /** null: no answer came. */
  readonly statusCode: number | null;
  /** Attempts since the delivery was made, this one included. */
  readonly attemptsMade: number;
  /** How long to wait after the first failure, after the second and so on, in milliseconds. */
  readonly retryDelaysMs: readonly number[];
  /** A redelivery is one attempt only. */
  readonly isRetried: boolean;
  /** When the attempt ended, Unix milliseconds. */
  readonly now: number;
}

/**
 * What follows: 2xx is delivered; 410 fails for good and switches the webhook off; anything else, redirects too, comes
 * back after its delay until the delays are used up.
 */
export function nextAttempt(ended: EndedAttempt): Pick<AttemptOutcome, "next" | "disables"> {
  const { statusCode, attemptsMade, retryDelaysMs, isRetried, now } = ended;
  if (statusCode !== null && statusCode >= 200 && statusCode < 300) return { next: "delivered", disables: false };
  if (statusCode === GONE) return { next: "failed", disables: true };
  const delayMs = isRetried ? retryDelaysMs[attemptsMade - 1] : undefined;
  return { next: delayMs === undefined ? "failed" : { at: now + delayMs }, disables: false };
}

/**
 * The delays that `text` stands for (`5,300,1800`, in seconds) in milliseconds; undefined when it is not
 * RETRIES_EXPECTED.
 */
export function parseRetries(text: string): readonly number[] | undefined {
  const seconds = text.split(",").map((part) => (/^\s*\d{1,5}\s*$/.test(part) ? Number(part) : Number.NaN));
  const isExpected =
    seconds.length <= RETRIES_MAX && seconds.every((delay) => delay >= 1 && delay <= RETRY_SECONDS_MAX);
  return isExpected ? seconds.map((delay) => delay * 1000) : undefined;
}
