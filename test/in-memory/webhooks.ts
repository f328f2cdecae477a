// WebhookStore in memory. outbox.ts adds the deliveries of memory events.

import { Fault, invariant } from "../../src/domain/fault.ts";
import type { DeliveryId, ProjectId, WebhookId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { decodeCursor, type Page, pageOf } from "../../src/domain/page.ts";
import type { Delivery, Webhook, WebhookChange, WebhookDraft } from "../../src/domain/webhook.ts";
import type { Listing } from "../../src/ports/user-store.ts";
import type { AttemptOutcome, DueDelivery, WebhookStore, WebhookWithSecret } from "../../src/ports/webhook-store.ts";
import { addDelivery } from "./outbox.ts";
import { cursorBinding, openProject } from "./projects.ts";
import { type DeliveryRow, jsonCopy, type Session, type Synchronous, type WebhookRow } from "./session.ts";

/** Maximum number of attempts that are stored with a delivery. */
const ATTEMPTS_KEPT = 20;
/** Maximum number of due deliveries of one webhook that `due` returns. */
const DUE_PER_WEBHOOK = 2;
/** Maximum number of deliveries that one `prune` removes. */
const PRUNED_AT_ONCE = 500;

/** WebhookStore in memory. */
export class InMemoryWebhooks implements Synchronous<WebhookStore> {
  constructor(private readonly session: Session) {}

  create(projectId: ProjectId, draft: WebhookDraft): WebhookWithSecret {
    invariant(
      openProject(this.session, projectId) !== null,
      `a webhook was created for the unknown project ${projectId}`,
    );
    const { tables } = this.session;
    if (tables.webhooks.rows((row) => row.projectId === projectId).length >= LIMITS.webhooksPerProject) {
      throw new Fault("webhook_limit_reached", `The project has ${LIMITS.webhooksPerProject} webhooks.`);
    }
    const id = this.session.newId("wh") as WebhookId;
    const { url, events, description, isEnabled } = jsonCopy(draft);
    const webhook = { id, url, events, description, isEnabled, createdAt: this.session.now };
    const secret = this.#newSecret();
    tables.webhooks.set(id, { key: this.session.next("webhook"), projectId, webhook, secret });
    return { webhook, secret };
  }

  get(projectId: ProjectId, id: WebhookId): Webhook | null {
    return this.#find(projectId, id)?.webhook ?? null;
  }

  list(projectId: ProjectId, { limit, cursor }: Listing): Page<Webhook> {
    const binding = cursorBinding(this.session, projectId, ["webhooks"]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    const rows = this.session.tables.webhooks
      .rows((row) => row.projectId === projectId && (before === null || row.key < before))
      .reverse();
    const toItems = (page: readonly WebhookRow[]) => page.map(({ webhook }) => webhook);
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: ({ key }) => key, toItems });
  }

  change(projectId: ProjectId, id: WebhookId, change: WebhookChange): Webhook | null {
    const row = this.#find(projectId, id);
    if (row === null) return null;
    const webhook = { ...row.webhook, ...jsonCopy(change) };
    this.session.tables.webhooks.set(id, { ...row, webhook });
    if (row.webhook.isEnabled && !webhook.isEnabled) this.#failPending(id);
    return webhook;
  }

  remove(projectId: ProjectId, id: WebhookId): boolean {
    if (this.#find(projectId, id) === null) return false;
    removeWebhook(this.session, id);
    return true;
  }

  rotateSecret(projectId: ProjectId, id: WebhookId): WebhookWithSecret | null {
    const row = this.#find(projectId, id);
    if (row === null) return null;
    return this.session.tables.webhooks.set(id, { ...row, secret: this.#newSecret() });
  }

  addTest(projectId: ProjectId, id: WebhookId): Delivery | null {
    if (this.#find(projectId, id) === null) return null;
    return toDelivery(addDelivery(this.session, id, "webhook.test", { webhook_id: id }));
  }

  delivery(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Delivery | null {
    const row = this.#findDelivery(projectId, id, deliveryId);
    return row === null ? null : toDelivery(row);
  }

  deliveries(projectId: ProjectId, id: WebhookId, { limit, cursor }: Listing): Page<Delivery> {
    const binding = cursorBinding(this.session, projectId, ["deliveries", id]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    if (this.#find(projectId, id) === null) return { items: [], cursor: null };
    const rows = this.session.tables.deliveries
      .rows((row) => row.webhookId === id && (before === null || row.key < before))
      .reverse();
    const toItems = (page: readonly DeliveryRow[]) => page.map(toDelivery);
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: ({ key }) => key, toItems });
  }

  redeliver(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): Delivery | null {
    const row = this.#findDelivery(projectId, id, deliveryId);
    if (row === null) return null;
    // a pending delivery keeps its remaining retries; it is only due sooner
    const restart = row.status === "pending" ? {} : { isRetried: false, attemptsCounted: 0 };
    const change = { status: "pending", nextAttemptAt: this.session.now, ...restart } as const;
    return toDelivery(this.session.tables.deliveries.set(deliveryId, { ...row, ...change }));
  }

  due(limit: number, except: ReadonlySet<DeliveryId>): readonly DueDelivery[] {
    const { tables, now } = this.session;
    const { claims } = tables;
    const waiting = this.#pending().filter(({ id, nextAttemptAt }) => {
      return (nextAttemptAt ?? 0) <= now && (claims.get(id)?.until ?? 0) <= now;
    });
    const firstOfEach = [...Map.groupBy(waiting, ({ webhookId }) => webhookId).values()].flatMap((rows) =>
      rows.slice(0, DUE_PER_WEBHOOK),
    );
    return firstOfEach
      .filter(({ id }) => !except.has(id))
      .sort(byDueTime)
      .slice(0, limit)
      .flatMap(({ id, webhookId, body, attemptsCounted: attempts, isRetried }) => {
        const owner = tables.webhooks.get(webhookId);
        return owner === undefined
          ? []
          : [{ id, url: owner.webhook.url, secret: owner.secret, body, attempts, isRetried }];
      });
  }

  nextDueInMs(): number | null {
    const [next] = this.#pending();
    return next === undefined ? null : Math.max(0, (next.nextAttemptAt ?? 0) - this.session.now);
  }

  claim(id: DeliveryId, forMs: number): boolean {
    const { tables, now } = this.session;
    const isDue = this.#pending().some((row) => row.id === id && (row.nextAttemptAt ?? 0) <= now);
    if (!isDue || (tables.claims.get(id)?.until ?? 0) > now) return false;
    tables.claims.set(id, { until: now + forMs });
    return true;
  }

  giveBack(id: DeliveryId): void {
    this.session.tables.claims.delete(id);
  }

  record(id: DeliveryId, outcome: AttemptOutcome): void {
    const { tables } = this.session;
    tables.claims.delete(id);
    const row = tables.deliveries.get(id);
    if (row === undefined) return;
    tables.deliveries.set(id, {
      ...row,
      ...statusAfter(row, outcome),
      attempts: [...row.attempts, outcome.attempt].slice(-ATTEMPTS_KEPT),
      attemptsCounted: row.attemptsCounted + 1,
    });
    const owner = tables.webhooks.get(row.webhookId);
    if (!outcome.disables || owner === undefined) return;
    tables.webhooks.set(row.webhookId, { ...owner, webhook: { ...owner.webhook, isEnabled: false } });
    this.#failPending(row.webhookId);
  }

  prune(beforeMs: number): void {
    const ended = this.session.tables.deliveries.rows(
      ({ status, createdAt, attempts }) =>
        status !== "pending" && createdAt < beforeMs && (attempts.at(-1)?.at ?? createdAt) < beforeMs,
    );
    for (const { id } of ended.slice(0, PRUNED_AT_ONCE)) this.session.tables.deliveries.delete(id);
  }

  #find(projectId: ProjectId, id: WebhookId): WebhookRow | null {
    const row = this.session.tables.webhooks.get(id);
    return row === undefined || row.projectId !== projectId ? null : row;
  }

  #findDelivery(projectId: ProjectId, id: WebhookId, deliveryId: DeliveryId): DeliveryRow | null {
    const row = this.session.tables.deliveries.get(deliveryId);
    return this.#find(projectId, id) === null || row?.webhookId !== id ? null : row;
  }

  #pending(): DeliveryRow[] {
    return this.session.tables.deliveries.rows(({ status }) => status === "pending").sort(byDueTime);
  }

  #failPending(webhookId: WebhookId): void {
    for (const row of this.#pending()) {
      if (row.webhookId !== webhookId) continue;
      this.session.tables.deliveries.set(row.id, { ...row, status: "failed", nextAttemptAt: null });
    }
  }

  #newSecret(): string {
    return this.session.surroundings.newWebhookSecret((count) => this.session.random(count));
  }
}

/** Removes a webhook with its deliveries. */
export function removeWebhook({ tables }: Session, id: WebhookId): void {
  for (const delivery of tables.deliveries.rows(({ webhookId }) => webhookId === id)) {
    tables.deliveries.delete(delivery.id);
  }
  tables.webhooks.delete(id);
}

function byDueTime(a: DeliveryRow, b: DeliveryRow): number {
  return (a.nextAttemptAt ?? 0) - (b.nextAttemptAt ?? 0) || (a.key < b.key ? -1 : 1);
}

/**
 * Status of a delivery after an attempt. The outcome decides, unless the webhook was disabled or the delivery was sent
 * again during the attempt.
 */
function statusAfter(
  row: DeliveryRow,
  { attempt, next }: AttemptOutcome,
): Pick<DeliveryRow, "status" | "nextAttemptAt"> {
  if (next === "delivered") return { status: "delivered", nextAttemptAt: null };
  const isSwitchedOff = row.nextAttemptAt === null;
  const isSentAgain = row.nextAttemptAt !== null && row.nextAttemptAt > attempt.at;
  if (isSentAgain) return { status: "pending", nextAttemptAt: row.nextAttemptAt };
  if (isSwitchedOff || next === "failed") return { status: "failed", nextAttemptAt: null };
  return { status: "pending", nextAttemptAt: next.at };
}

function toDelivery(row: DeliveryRow): Delivery {
  const { id, webhookId, event, status, attempts, createdAt, nextAttemptAt } = row;
  return { id, webhookId, event, status, attempts, createdAt, nextAttemptAt };
}
