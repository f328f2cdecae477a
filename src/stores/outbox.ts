// Writes the deliveries of an event, one row per subscribed webhook, in the transaction that changes the memory. So no
// event is lost, and none is sent for a change that was rolled back. src/webhooks/ sends the deliveries;
// webhook-store.ts stores the outcomes.

import type { MemoryCountName } from "../domain/activity.ts";
import type { DeliveryId, MemoryId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { WebhookEvent } from "../domain/webhook.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { newId } from "./rows/random.ts";
import { eventBody, type MemoryEvent } from "./rows/webhook.ts";
import type { Session } from "./session.ts";

const SUBSCRIBED = ({ hasElement }: Dialect) => `SELECT webhook_key FROM webhooks
  WHERE project_key = $projectKey AND is_enabled = 1 AND ${hasElement("webhooks.events", "$event")}
  ORDER BY webhook_key`;

const ADD = ({ rows }: Dialect) => `INSERT INTO deliveries (id, webhook_key, event, memory_id, body, status,
    next_attempt_at, created_at)
  SELECT given.id, given.webhook_key, $event, given.memory_id, given.body, 'pending', $now, $now
  FROM ${rows({ id: "text", webhook_key: "bigint", memory_id: "text", body: "text" })} ORDER BY given.position`;

/** The events that count as activity of a project, and the names of their counts. */
const COUNTED: { readonly [Event in MemoryEvent]?: MemoryCountName } = {
  "memory.completed": "stored",
  "memory.failed": "failed",
  "memory.deleted": "deleted",
};

/** The part of StoreContext that writing events needs. */
export type OutboxContext = Pick<StoreContext, "clock" | "random" | "describe" | "onDeliveries"> &
  Partial<Pick<StoreContext, "activity">>;

/** Writes events of memories for the webhooks that subscribed to them, and counts them. */
export class Outbox {
  constructor(
    private readonly session: Session,
    private readonly context: OutboxContext,
  ) {}

  /**
   * Adds the deliveries of one event per memory, in their order. They are due at once.
   * @param memories the memories after the change; for `memory.deleted` before it
   */
  async record(projectKey: bigint, event: MemoryEvent, memories: readonly Memory[]): Promise<void> {
    const { clock, activity, describe, onDeliveries } = this.context;
    const counted = COUNTED[event];
    if (activity !== undefined && counted !== undefined && memories.length > 0) {
      this.session.afterCommit(() => activity.add(projectKey, counted, clock.now(), memories.length));
    }
    if (describe === undefined || memories.length === 0) return;
    const subscribed = await this.session.all<{ webhook_key: bigint }>(SUBSCRIBED, { projectKey, event });
    if (subscribed.length === 0) return;
    const now = clock.now();
    const deliveries = memories.flatMap((memory) => {
      const body = eventBody(event, now, describe(memory));
      return subscribed.map(({ webhook_key: webhookKey }) => ({ webhookKey, memoryId: memory.id, body }));
    });
    await addDeliveries(this.session, this.context, { event, deliveries, now });
    if (onDeliveries !== undefined) this.session.afterCommit(onDeliveries);
  }
}

/** A delivery to add. */
interface AddedDelivery {
  readonly webhookKey: bigint;
  /** The memory of the event; null if the event is not about a memory. */
  readonly memoryId: MemoryId | null;
  readonly body: string;
}

/** Adds pending deliveries of one event that are due at `now` (Unix milliseconds). Returns their ids. */
export async function addDeliveries(
  session: Session,
  { random }: Pick<StoreContext, "random">,
  added: { readonly event: WebhookEvent; readonly deliveries: readonly AddedDelivery[]; readonly now: number },
): Promise<readonly DeliveryId[]> {
  const { event, deliveries, now } = added;
  const ids = deliveries.map(() => newId("dlv", now, random) as DeliveryId);
  await session.run(ADD, {
    id: ids,
    webhook_key: deliveries.map(({ webhookKey }) => webhookKey),
    memory_id: deliveries.map(({ memoryId }) => memoryId),
    body: deliveries.map(({ body }) => body),
    event,
    now,
  });
  return ids;
}
