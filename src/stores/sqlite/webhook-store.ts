// WebhookStore on SQLite: webhooks and the state of their deliveries. outbox.ts adds the deliveries of memory events;
// src/webhooks/ sends them.
//
// A webhook is switched off by a caller, or because its receiver answered that it no longer exists. In the same
// transaction, its pending deliveries become failed, so that they are not sent after it is switched on again. Tests and
// redeliveries are sent even while it is off.

import { invariant } from "../../domain/fault.ts";
import type { DeliveryId, ProjectId, WebhookId } from "../../domain/ids.ts";
import { LIMITS } from "../../domain/limits.ts";
import { decodeCursor, type Page, pageOf } from "../../domain/page.ts";
import type { Delivery, Webhook, WebhookChange, WebhookDraft } from "../../domain/webhook.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Listing } from "../../ports/user-store.ts";
import type { AttemptOutcome, DueDelivery, WebhookStore, WebhookWithSecret } from "../../ports/webhook-store.ts";
import { newId, type RandomBytes, systemRandom } from "../rows/random.ts";
import { PROJECT_KEY } from "../rows/sql.ts";
import {
  DELIVERY_COLUMNS,
  type DeliveryRow,
  type DraftColumns,
  DUE_PER_WEBHOOK,
  type DueRow,
  draftColumns,
  eventBody,
  limitReached,
  type NextState,
  PRUNED_AT_ONCE,
  type StateRow,
  stateAfter,
  toDelivery,
  toDueDelivery,
  toWebhook,
  WEBHOOK_COLUMNS,
  type WebhookRow,
  withAttempt,
} from "../rows/webhook.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { SqliteDatabase } from "./database.ts";
import { addDelivery } from "./outbox.ts";

const COUNT = `SELECT count(*) AS webhooks FROM webhooks WHERE project_key = ${PROJECT_KEY}`;

const INSERT = `INSERT INTO webhooks (id, project_key, url, events, description, is_enabled, secret, created_at)
  SELECT $id, project_key, $url, $events, $description, $isEnabled, $secret, $now FROM projects WHERE id = $project
  RETURNING ${WEBHOOK_COLUMNS}`;

const THIS_WEBHOOK = `webhooks.project_key = ${PROJECT_KEY} AND webhooks.id = $id`;

const GET = `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE ${THIS_WEBHOOK}`;

const LIST = `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE project_key = ${PROJECT_KEY}
  ORDER BY webhook_key DESC LIMIT $rows`;

const LIST_BEFORE = `SELECT ${WEBHOOK_COLUMNS} FROM webhooks
  WHERE project_key = ${PROJECT_KEY} AND webhook_key < $before
  ORDER BY webhook_key DESC LIMIT $rows`;

const CHANGE = `UPDATE webhooks SET url = $url, events = $events, description = $description, is_enabled = $isEnabled
  WHERE webhook_key = $webhookKey RETURNING ${WEBHOOK_COLUMNS}`;

const REMOVE = `DELETE FROM webhooks WHERE ${THIS_WEBHOOK}`;

const ROTATE = `UPDATE webhooks SET secret = $secret WHERE ${THIS_WEBHOOK} RETURNING ${WEBHOOK_COLUMNS}`;

const SWITCH_OFF = "UPDATE webhooks SET is_enabled = 0 WHERE webhook_key = $webhookKey";

const FAIL_PENDING = `UPDATE deliveries SET status = 'failed', next_attempt_at = NULL
  WHERE webhook_key = $webhookKey AND status = 'pending'`;

const OF_THIS_WEBHOOK = `deliveries.webhook_key = (SELECT webhook_key FROM webhooks WHERE ${THIS_WEBHOOK})`;

const DELIVERY = `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${OF_THIS_WEBHOOK} AND deliveries.id = $deliveryId`;

const DELIVERIES = `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${OF_THIS_WEBHOOK}
  ORDER BY deliveries.delivery_key DESC LIMIT $rows`;

const DELIVERIES_BEFORE = `SELECT ${DELIVERY_COLUMNS} FROM deliveries
  WHERE ${OF_THIS_WEBHOOK} AND deliveries.delivery_key < $before
  ORDER BY deliveries.delivery_key DESC LIMIT $rows`;

// a delivery that is still pending keeps its remaining retries and only becomes due earlier
const REDELIVER = `UPDATE deliveries SET status = 'pending', next_attempt_at = $now,
    is_retried = iif(status = 'pending', is_retried, 0), attempts_counted = iif(status = 'pending', attempts_counted, 0)
  WHERE ${OF_THIS_WEBHOOK} AND deliveries.id = $deliveryId
  RETURNING ${DELIVERY_COLUMNS}`;

// Finds each webhook with pending deliveries with one index look-up, then reads only the first few deliveries of each.
// So a receiver with many waiting deliveries does not slow down the search for those of the others.
const DUE = `WITH RECURSIVE waiting (webhook_key) AS (
    SELECT min(webhook_key) FROM deliveries WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(deliveries.webhook_key) FROM deliveries
      WHERE status = 'pending' AND deliveries.webhook_key > waiting.webhook_key)
    FROM waiting WHERE waiting.webhook_key IS NOT NULL)
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

const FIND_STATE = `SELECT webhook_key, status, attempts, next_attempt_at FROM deliveries WHERE id = $id`;

const RECORD = `UPDATE deliveries SET status = $status, next_attempt_at = $nextAttemptAt, attempts = $attempts,
    attempts_counted = attempts_counted + 1
  WHERE id = $id`;

// the time of the last attempt counts: an old delivery that was redelivered has ended later
const PRUNE = `DELETE FROM deliveries WHERE delivery_key IN (
    SELECT delivery_key FROM deliveries
    WHERE status <> 'pending' AND created_at < $before
      AND ifnull(json_extract(attempts, '$[#-1].at'), created_at) < $before
    ORDER BY created_at LIMIT ${PRUNED_AT_ONCE})`;

/** Parameters of THIS_WEBHOOK. */
type WebhookParams = { readonly project: string; readonly id: string };
type DeliveryParams = WebhookParams & { readonly deliveryId: string };
type ListParams = { readonly project: string; readonly rows: number };

/**
 * When claims end, in Unix milliseconds by delivery. They need not survive the process, which is the only one that
 * sends.
 */
export type DeliveryClaims = Map<DeliveryId, number>;

/** WebhookStore on SQLite. */
export class SqliteWebhookStore implements WebhookStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #newSecret: (random: RandomBytes) => string;
  readonly #claims: DeliveryClaims;

  /** @param options `newSecret` creates a secret `whsec_…` from random bytes */
  constructor(options: {
    readonly database: SqliteDatabase;
    readonly clock: Clock;
    readonly random?: RandomBytes;
    readonly newSecret: (random: RandomBytes) => string;
    readonly claims?: DeliveryClaims;
  }) {
    this.#claims = options.claims ?? new Map();
    this.#database = options.database;
    this.#clock = options.clock;
    this.#random = options.random ?? systemRandom;
    this.#newSecret = options.newSecret;
  }

  create(projectId: ProjectId, draft: WebhookDraft): WebhookWithSecret {
    return this.#database.transaction(() => {
      const count = this.#database
        .prepare<{ webhooks: bigint }, { project: string }>(COUNT)
        .get({ project: projectId });
      if (Number(count?.webhooks ?? 0n) >= LIMITS.webhooksPerProject) throw limitReached();
      const now = this.#clock.now();
      const row = this.#database
        .prepare<WebhookRow, DraftColumns & WebhookParams & { secret: string; now: number }>(INSERT)
        .get({
          ...draftColumns(draft),
          id: newId("wh", now, this.#random),
          project: projectId,
          secret: this.#newSecret(this.#random),
          now,
        });
      invariant(row !== null, `a webhook was created for the unknown project ${projectId}`);
      return { webhook: toWebhook(row), secret: row.secret };
    });
  }

  get(projectId: ProjectId, id: WebhookId): Webhook | null {
    const row = this.#find(projectId, id);
    return row === null ? null : toWebhook(row);
  }

  list(projectId: ProjectId, { limit, cursor }: Listing): Page<Webhook> {
    const binding = cursorBinding(this.#database, projectId, ["webhooks"]);
    // one row more than requested shows whether another page follows
    const params = { project: projectId, rows: limit + 1 };
    const rows =
      cursor === undefined
        ? this.#database.prepare<WebhookRow, ListParams>(LIST).all(params)
        : this.#database
            .prepare<WebhookRow, ListParams & { before: bigint }>(LIST_BEFORE)
            .all({ ...params, before: decodeCursor(cursor, binding) });
    return pageOf(rows, { limit, binding, keyOf: (row) => row.webhook_key, toItems: (page) => page.map(toWebhook) });
  }

  change(projectId: ProjectId, id: WebhookId, change: WebhookChange): Webhook | null {
    return this.#database.transaction(() => {
      const before = this.#find(projectId, id);
      if (before === null) return null;
      const row = this.#database
        .prepare<WebhookRow, DraftColumns & { webhookKey: bigint }>(CHANGE)
        .get({ webhookKey: before.webhook_key, ...draftColumns({ ...toWebhook(before), ...change }) });
      invariant(row !== null, `webhook ${id} disappeared within its own change`);
      if (before.is_enabled === 1n && row.is_enabled === 0n) this.#failPending(row.webhook_key);
      return toWebhook(row);
    });
  }

  remove(projectId: ProjectId, id: WebhookId): boolean {
    return this.#database.prepare<never, WebhookParams>(REMOVE).run({ project: projectId, id }) > 0;
  }

  rotateSecret(projectId: ProjectId, id: WebhookId): WebhookWithSecret | null {
    const row = this.#database
      .prepare<WebhookRow, WebhookParams & { secret: string }>(ROTATE)
      .get({ project: projectId, id, secret: this.#newSecret(this.#random) });
    return row === null ? null : { webhook: toWebhook(row), secret: row.secret };
  }

  addTest(projectId: ProjectId, id: WebhookId): Delivery | null {
    return this.#database.transaction(() => {
      const webhook = this.#find(projectId, id);
      if (webhook === null) return null;
      const now = this.#clock.now();
      const deliveryId = addDelivery(this.#database, {
        webhookKey: webhook.webhook_key,
        event: "webhook.test",
        memoryId: null,
        body: eventBody("webhook.test", now, { webhook_id: id }),
        now,
        random: this.#random,
      });
      return this.delivery(projectId, id, deliveryId);
    });
  }

  delivery(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Delivery | null {
    const row = this.#database
      .prepare<DeliveryRow, DeliveryParams>(DELIVERY)
      .get({ project: projectId, id, deliveryId });
    return row === null ? null : toDelivery(row);
  }

  /** Returns an empty page for an unknown webhook. */
  deliveries(projectId: ProjectId, id: WebhookId, { limit, cursor }: Listing): Page<Delivery> {
    const binding = cursorBinding(this.#database, projectId, ["deliveries", id]);
    const params = { project: projectId, id, rows: limit + 1 };
    const rows =
      cursor === undefined
        ? this.#database.prepare<DeliveryRow, WebhookParams & ListParams>(DELIVERIES).all(params)
        : this.#database
            .prepare<DeliveryRow, WebhookParams & ListParams & { before: bigint }>(DELIVERIES_BEFORE)
            .all({ ...params, before: decodeCursor(cursor, binding) });
    return pageOf(rows, { limit, binding, keyOf: (row) => row.delivery_key, toItems: (page) => page.map(toDelivery) });
  }

  redeliver(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Delivery | null {
    const row = this.#database
      .prepare<DeliveryRow, DeliveryParams & { now: number }>(REDELIVER)
      .get({ project: projectId, id, deliveryId, now: this.#clock.now() });
    return row === null ? null : toDelivery(row);
  }

  /**
   * For each webhook, considers only the DUE_PER_WEBHOOK due deliveries that have waited longest. Those in `except` are
   * among them.
   */
  due(limit: number, except: ReadonlySet<DeliveryId>): readonly DueDelivery[] {
    const now = this.#clock.now();
    const claimed = [...this.#claims].flatMap(([id, until]) => (until > now ? [id] : []));
    return this.#database
      .prepare<DueRow, { now: number; except: string; limit: number }>(DUE)
      .all({ now, except: JSON.stringify([...except, ...claimed]), limit })
      .map(toDueDelivery);
  }

  claim(id: DeliveryId, forMs: number): boolean {
    const now = this.#clock.now();
    if ((this.#claims.get(id) ?? 0) > now) return false;
    this.#claims.delete(id);
    const isDue = this.#database.prepare<object, { id: string; now: number }>(IS_DUE).get({ id, now }) !== null;
    if (isDue) this.#claims.set(id, now + forMs);
    return isDue;
  }

  giveBack(id: DeliveryId): void {
    this.#claims.delete(id);
  }

  nextDueInMs(): number | null {
    const next = this.#database.prepare<{ at: bigint | null }>(NEXT_DUE_AT).get({});
    return next === null || next.at === null ? null : Math.max(0, Number(next.at) - this.#clock.now());
  }

  record(id: DeliveryId, outcome: AttemptOutcome): void {
    this.#claims.delete(id);
    this.#database.transaction(() => {
      const stored = this.#database.prepare<StateRow, { id: string }>(FIND_STATE).get({ id });
      if (stored === null) return;
      this.#database
        .prepare<never, { id: string; attempts: string } & NextState>(RECORD)
        .run({ id, attempts: withAttempt(stored.attempts, outcome.attempt), ...stateAfter(stored, outcome) });
      if (!outcome.disables) return;
      this.#database.prepare<never, { webhookKey: bigint }>(SWITCH_OFF).run({ webhookKey: stored.webhook_key });
      this.#failPending(stored.webhook_key);
    });
  }

  /** Removes at most PRUNED_AT_ONCE deliveries, oldest first. Later calls remove the rest. */
  prune(beforeMs: number): void {
    this.#database.prepare<never, { before: number }>(PRUNE).run({ before: beforeMs });
  }

  #find(projectId: ProjectId, id: WebhookId): WebhookRow | null {
    return this.#database.prepare<WebhookRow, WebhookParams>(GET).get({ project: projectId, id });
  }

  #failPending(webhookKey: bigint): void {
    this.#database.prepare<never, { webhookKey: bigint }>(FAIL_PENDING).run({ webhookKey });
  }
}
