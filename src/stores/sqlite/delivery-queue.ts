// DeliveryQueue on SQLite.

import type { DeliveryId } from "../../domain/ids.ts";
import type { DeliveryQueue, RecordedAttempt } from "../delivery-queue.ts";
import { DUE_PER_WEBHOOK, type DueRow, PRUNED_AT_ONCE, WAITING_WEBHOOKS } from "../rows/webhook.ts";
import type { Session } from "../session.ts";

// Reads only the first few deliveries of each webhook. So a receiver with many waiting deliveries does not slow down
// the search for those of the others.
const DUE = `WITH ${WAITING_WEBHOOKS}
  SELECT deliveries.id, webhooks.url, webhooks.secret, deliveries.body, deliveries.attempts_counted, deliveries.is_retried
  FROM waiting
    JOIN webhooks ON webhooks.webhook_key = waiting.webhook_key
    JOIN deliveries ON deliveries.delivery_key IN (
      SELECT first.delivery_key FROM deliveries AS first
      WHERE first.webhook_key = waiting.webhook_key AND first.status = 'pending' AND first.next_attempt_at <= $now
      ORDER BY first.next_attempt_at, first.delivery_key LIMIT ${DUE_PER_WEBHOOK})
  WHERE deliveries.id NOT IN (SELECT value FROM json_each($except))
  ORDER BY deliveries.next_attempt_at, deliveries.delivery_key LIMIT $limit`;

const IS_DUE = "SELECT 1 FROM deliveries WHERE id = $id AND status = 'pending' AND next_attempt_at <= $now";

const NEXT_DUE_AT = "SELECT min(next_attempt_at) AS at FROM deliveries WHERE status = 'pending'";

const RECORD = `UPDATE deliveries SET status = $status, next_attempt_at = $nextAttemptAt, attempts = $attempts,
    attempts_counted = attempts_counted + 1
  WHERE id = $id`;

// The time of the last attempt counts, because an old delivery may have been sent again recently.
const PRUNE = `DELETE FROM deliveries WHERE delivery_key IN (
    SELECT delivery_key FROM deliveries
    WHERE status <> 'pending' AND created_at < $before
      AND coalesce(json_extract(attempts, '$[#-1].at'), created_at) < $before
    ORDER BY created_at LIMIT ${PRUNED_AT_ONCE})`;

/** When claims end, in Unix milliseconds by delivery. */
export type DeliveryClaims = Map<DeliveryId, number>;

/** DeliveryQueue on SQLite. */
export class SqliteDeliveryQueue implements DeliveryQueue {
  /** @param claims the claims of this process, which is the only one that sends */
  constructor(
    private readonly session: Session,
    private readonly claims: DeliveryClaims,
  ) {}

  due(now: number, except: readonly DeliveryId[], limit: number): Promise<readonly DueRow[]> {
    const claimed = [...this.claims].flatMap(([id, until]) => (until > now ? [id] : []));
    return this.session.all<DueRow>(DUE, { now, except: [...except, ...claimed], limit });
  }

  async claim(id: DeliveryId, now: number, forMs: number): Promise<boolean> {
    if ((this.claims.get(id) ?? 0) > now) return false;
    this.claims.delete(id);
    const isDue = (await this.session.get(IS_DUE, { id, now })) !== null;
    if (isDue) this.claims.set(id, now + forMs);
    return isDue;
  }

  async giveBack(id: DeliveryId): Promise<void> {
    this.claims.delete(id);
  }

  async nextDueAt(): Promise<bigint | null> {
    return (await this.session.get<{ at: bigint | null }>(NEXT_DUE_AT))?.at ?? null;
  }

  async record(id: DeliveryId, attempt: RecordedAttempt): Promise<void> {
    this.claims.delete(id);
    await this.session.run(RECORD, { id, ...attempt });
  }

  async prune(before: number): Promise<void> {
    await this.session.run(PRUNE, { before });
  }
}
