// DeliveryQueue on PostgreSQL. All nodes send deliveries, so a claim is in the row.

import type { DeliveryId } from "../../domain/ids.ts";
import type { DeliveryQueue, RecordedAttempt } from "../delivery-queue.ts";
import { DUE_PER_WEBHOOK, type DueRow, PRUNED_AT_ONCE, WAITING_WEBHOOKS } from "../rows/webhook.ts";
import type { Session } from "../session.ts";

// Reads only the first few deliveries of each webhook. So a receiver with many waiting deliveries does not slow down
// the search for those of the others.
const DUE = `WITH ${WAITING_WEBHOOKS}
  SELECT due.id, webhooks.url, webhooks.secret, due.body, due.attempts_counted, due.is_retried
  FROM waiting
    JOIN webhooks ON webhooks.webhook_key = waiting.webhook_key
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries AS first
      WHERE first.webhook_key = waiting.webhook_key AND first.status = 'pending' AND first.next_attempt_at <= $now
        AND (first.claimed_until IS NULL OR first.claimed_until <= $now)
      ORDER BY first.next_attempt_at, first.delivery_key LIMIT ${DUE_PER_WEBHOOK}) AS due
  WHERE due.id <> ALL($except::text[])
  ORDER BY due.next_attempt_at, due.delivery_key LIMIT $limit`;

const NEXT_DUE_AT = `SELECT min(greatest(next_attempt_at, claimed_until)) AS at FROM deliveries
  WHERE status = 'pending'`;

const CLAIM = `UPDATE deliveries SET claimed_until = $until
  WHERE id = $id AND status = 'pending' AND next_attempt_at <= $now AND (claimed_until IS NULL OR claimed_until <= $now)`;

const GIVE_BACK = "UPDATE deliveries SET claimed_until = NULL WHERE id = $id";

const RECORD = `UPDATE deliveries SET status = $status, next_attempt_at = $nextAttemptAt, attempts = $attempts,
    last_attempt_at = $at, attempts_counted = attempts_counted + 1, claimed_until = NULL
  WHERE id = $id`;

// The age counts from the last attempt, as an old delivery may have been sent again. Skips rows that another
// transaction uses; a later call removes them.
const PRUNE = `DELETE FROM deliveries WHERE delivery_key IN (
    SELECT delivery_key FROM deliveries
    WHERE status <> 'pending' AND created_at < $before AND coalesce(last_attempt_at, created_at) < $before
    ORDER BY created_at LIMIT ${PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED)`;

/** DeliveryQueue on PostgreSQL. */
export class PostgresDeliveryQueue implements DeliveryQueue {
  constructor(private readonly session: Session) {}

  due(now: number, except: readonly DeliveryId[], limit: number): Promise<readonly DueRow[]> {
    return this.session.all<DueRow>(DUE, { now, except, limit });
  }

  async claim(id: DeliveryId, now: number, forMs: number): Promise<boolean> {
    return (await this.session.run(CLAIM, { id, now, until: now + forMs })) > 0;
  }

  async giveBack(id: DeliveryId): Promise<void> {
    await this.session.run(GIVE_BACK, { id });
  }

  async nextDueAt(): Promise<bigint | null> {
    return (await this.session.get<{ at: bigint | null }>(NEXT_DUE_AT))?.at ?? null;
  }

  async record(id: DeliveryId, attempt: RecordedAttempt): Promise<void> {
    await this.session.run(RECORD, { id, ...attempt });
  }

  async prune(before: number): Promise<void> {
    await this.session.run(PRUNE, { before });
  }
}
