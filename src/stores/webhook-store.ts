// Implements WebhookStore: webhooks and the state of their deliveries. outbox.ts adds the deliveries of memory events;
// src/webhooks/ sends them.
//
// A webhook is switched off by a caller, or because its receiver answered that it no longer exists. In the same
// transaction, its pending deliveries become failed, so that they are not sent after it is switched on again. Tests and
// redeliveries are sent even while it is off.

import { invariant } from "../domain/fault.ts";
import type { DeliveryId, ProjectId, WebhookId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Page } from "../domain/page.ts";
import type { Delivery, Webhook, WebhookChange, WebhookDraft } from "../domain/webhook.ts";
import type { Listing } from "../ports/user-store.ts";
import type { AttemptOutcome, DueDelivery, WebhookStore, WebhookWithSecret } from "../ports/webhook-store.ts";
import type { StoreContext } from "./context.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { type PagedList, readPage } from "./pages.ts";
import { newId } from "./rows/random.ts";
import { PROJECT_KEY } from "./rows/sql.ts";
import {
  DELIVERY_COLUMNS,
  type DeliveryRow,
  draftColumns,
  eventBody,
  limitReached,
  type StateRow,
  stateAfter,
  toDelivery,
  toDueDelivery,
  toWebhook,
  WEBHOOK_COLUMNS,
  type WebhookRow,
  withAttempt,
} from "./rows/webhook.ts";
import { lockProjects, type Session } from "./session.ts";

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

const ADD_TEST = `INSERT INTO deliveries (id, webhook_key, event, body, status, next_attempt_at, created_at)
  VALUES ($id, $webhookKey, 'webhook.test', $body, 'pending', $now, $now)`;

const OF_THIS_WEBHOOK = `deliveries.webhook_key = (SELECT webhook_key FROM webhooks WHERE ${THIS_WEBHOOK})`;

const DELIVERY = `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${OF_THIS_WEBHOOK} AND deliveries.id = $deliveryId`;

const DELIVERIES = `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${OF_THIS_WEBHOOK}
  ORDER BY deliveries.delivery_key DESC LIMIT $rows`;

const DELIVERIES_BEFORE = `SELECT ${DELIVERY_COLUMNS} FROM deliveries
  WHERE ${OF_THIS_WEBHOOK} AND deliveries.delivery_key < $before
  ORDER BY deliveries.delivery_key DESC LIMIT $rows`;

// a delivery that is still pending keeps its remaining retries and only becomes due earlier
const REDELIVER = `UPDATE deliveries SET status = 'pending', next_attempt_at = $now,
    is_retried = CASE WHEN status = 'pending' THEN is_retried ELSE 0 END,
    attempts_counted = CASE WHEN status = 'pending' THEN attempts_counted ELSE 0 END
  WHERE ${OF_THIS_WEBHOOK} AND deliveries.id = $deliveryId
  RETURNING ${DELIVERY_COLUMNS}`;

const PROJECT_OF = `SELECT projects.id FROM deliveries JOIN webhooks USING (webhook_key) JOIN projects USING (project_key)
  WHERE deliveries.id = $id`;

const FIND_STATE = "SELECT webhook_key, status, attempts, next_attempt_at FROM deliveries WHERE id = $id";

/** Webhooks and the state of their deliveries. */
export class StoredWebhooks implements WebhookStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    private readonly queue: DeliveryQueue,
  ) {}

  async create(projectId: ProjectId, draft: WebhookDraft): Promise<WebhookWithSecret> {
    const count = await this.session.get<{ webhooks: bigint }>(COUNT, { project: projectId });
    if (Number(count?.webhooks ?? 0n) >= LIMITS.webhooksPerProject) throw limitReached();
    const { clock, random, newWebhookSecret } = this.context;
    const now = clock.now();
    const row = await this.session.get<WebhookRow>(INSERT, {
      ...draftColumns(draft),
      id: newId("wh", now, random),
      project: projectId,
      secret: newWebhookSecret(random),
      now,
    });
    invariant(row !== null, `a webhook was created for the unknown project ${projectId}`);
    return { webhook: toWebhook(row), secret: row.secret };
  }

  async get(projectId: ProjectId, id: WebhookId): Promise<Webhook | null> {
    const row = await this.#find(projectId, id);
    return row === null ? null : toWebhook(row);
  }

  async list(projectId: ProjectId, listing: Listing): Promise<Page<Webhook>> {
    const list: PagedList<WebhookRow, Webhook> = {
      ...{ first: LIST, next: LIST_BEFORE, params: { project: projectId } },
      binding: await cursorBinding(this.session, projectId, ["webhooks"]),
      keyOf: (row) => row.webhook_key,
      toItem: toWebhook,
    };
    return readPage(this.session, list, listing);
  }

  async change(projectId: ProjectId, id: WebhookId, change: WebhookChange): Promise<Webhook | null> {
    const before = await this.#find(projectId, id);
    if (before === null) return null;
    const values = { webhookKey: before.webhook_key, ...draftColumns({ ...toWebhook(before), ...change }) };
    const row = await this.session.get<WebhookRow>(CHANGE, values);
    invariant(row !== null, `webhook ${id} disappeared within its own change`);
    if (before.is_enabled === 1n && row.is_enabled === 0n) await this.#failPending(row.webhook_key);
    return toWebhook(row);
  }

  async remove(projectId: ProjectId, id: WebhookId): Promise<boolean> {
    return (await this.session.run(REMOVE, { project: projectId, id })) > 0;
  }

  async rotateSecret(projectId: ProjectId, id: WebhookId): Promise<WebhookWithSecret | null> {
    const secret = this.context.newWebhookSecret(this.context.random);
    const row = await this.session.get<WebhookRow>(ROTATE, { project: projectId, id, secret });
    return row === null ? null : { webhook: toWebhook(row), secret: row.secret };
  }

  async addTest(projectId: ProjectId, id: WebhookId): Promise<Delivery | null> {
    const webhook = await this.#find(projectId, id);
    if (webhook === null) return null;
    const now = this.context.clock.now();
    const body = eventBody("webhook.test", now, { webhook_id: id });
    const deliveryId = newId("dlv", now, this.context.random) as DeliveryId;
    await this.session.run(ADD_TEST, { id: deliveryId, webhookKey: webhook.webhook_key, body, now });
    return this.delivery(projectId, id, deliveryId);
  }

  async delivery(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Promise<Delivery | null> {
    const row = await this.session.get<DeliveryRow>(DELIVERY, { project: projectId, id, deliveryId });
    return row === null ? null : toDelivery(row);
  }

  /** Returns an empty page for an unknown webhook. */
  async deliveries(projectId: ProjectId, id: WebhookId, listing: Listing): Promise<Page<Delivery>> {
    const list: PagedList<DeliveryRow, Delivery> = {
      ...{ first: DELIVERIES, next: DELIVERIES_BEFORE, params: { project: projectId, id } },
      binding: await cursorBinding(this.session, projectId, ["deliveries", id]),
      keyOf: (row) => row.delivery_key,
      toItem: toDelivery,
    };
    return readPage(this.session, list, listing);
  }

  async redeliver(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Promise<Delivery | null> {
    const params = { project: projectId, id, deliveryId, now: this.context.clock.now() };
    const row = await this.session.get<DeliveryRow>(REDELIVER, params);
    return row === null ? null : toDelivery(row);
  }

  /**
   * For each webhook, considers only the DUE_PER_WEBHOOK due deliveries that have waited longest. Those in `except` may
   * be among these, and are not returned.
   */
  async due(limit: number, except: ReadonlySet<DeliveryId>): Promise<readonly DueDelivery[]> {
    return (await this.queue.due(this.context.clock.now(), [...except], limit)).map(toDueDelivery);
  }

  claim(id: DeliveryId, forMs: number): Promise<boolean> {
    return this.queue.claim(id, this.context.clock.now(), forMs);
  }

  giveBack(id: DeliveryId): Promise<void> {
    return this.queue.giveBack(id);
  }

  async nextDueInMs(): Promise<number | null> {
    const next = await this.queue.nextDueAt();
    return next === null ? null : Math.max(0, Number(next) - this.context.clock.now());
  }

  async record(id: DeliveryId, outcome: AttemptOutcome): Promise<void> {
    await lockProjects(this.session, PROJECT_OF, { id });
    const stored = await this.session.get<StateRow>(FIND_STATE, { id });
    if (stored === null) return;
    const { attempt, disables } = outcome;
    const attempts = withAttempt(stored.attempts, attempt);
    await this.queue.record(id, { at: attempt.at, attempts, ...stateAfter(stored, outcome) });
    if (!disables) return;
    await this.session.run(SWITCH_OFF, { webhookKey: stored.webhook_key });
    await this.#failPending(stored.webhook_key);
  }

  /** Removes at most PRUNED_AT_ONCE deliveries, oldest first. Later calls remove the rest. */
  prune(beforeMs: number): Promise<void> {
    return this.queue.prune(beforeMs);
  }

  #find(projectId: ProjectId, id: WebhookId): Promise<WebhookRow | null> {
    return this.session.get<WebhookRow>(GET, { project: projectId, id });
  }

  async #failPending(webhookKey: bigint): Promise<void> {
    await this.session.run(FAIL_PENDING, { webhookKey });
  }
}
