// The queue of webhook deliveries: which are due, and which are being sent (claimed). With PostgreSQL several nodes
// send, so claims are kept in the rows; with SQLite one process sends, and its claims may be lost with it. sqlite/ and
// postgres/ implement DeliveryQueue.

import type { DeliveryId } from "../domain/ids.ts";
import type { DueRow, NextState } from "./rows/webhook.ts";

/** State of a delivery after an attempt. */
export type RecordedAttempt = NextState & {
  /** When the attempt was made, in Unix milliseconds. */
  readonly at: number;
  /** The latest attempts of the delivery, as JSON that `withAttempt` (rows/webhook.ts) makes. */
  readonly attempts: string;
};

/** The part of WebhookStore that differs between databases. */
export interface DeliveryQueue {
  /** Due deliveries that nobody has claimed, without `except`; see WebhookStore.due. */
  due(now: number, except: readonly DeliveryId[], limit: number): Promise<readonly DueRow[]>;
  /** Claims a delivery for `forMs` milliseconds. Returns false if it is not due, or is already claimed. */
  claim(id: DeliveryId, now: number, forMs: number): Promise<boolean>;
  giveBack(id: DeliveryId): Promise<void>;
  nextDueAt(): Promise<bigint | null>;
  /** Stores an attempt, and ends the claim. */
  record(id: DeliveryId, attempt: RecordedAttempt): Promise<void>;
  /** Removes up to PRUNED_AT_ONCE ended deliveries whose last attempt was before this time. */
  prune(before: number): Promise<void>;
}
