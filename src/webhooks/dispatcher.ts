// When deliveries are sent, how many at once, and that each attempt is written down. What an attempt means is
// schedule.ts, the signature signature.ts; sending and the rows are ports.

import type { DeliveryId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { OutboundSender } from "../ports/outbound.ts";
import type { AttemptOutcome, DueDelivery, WebhookStore } from "../ports/webhook-store.ts";
import { nextAttempt } from "./schedule.ts";
import { signWebhook } from "./signature.ts";

/** Attempts under way at once: a receiver that is silent for 10 s holds its place that long. */
const UNDER_WAY_MAX = 8;
/** Of those, to one host: four hosts have to hang before others wait for them. */
const PER_HOST_MAX = 2;
/** Due deliveries per look; more than can be sent, because some are for hosts that are busy. */
const LOOK_DELIVERIES = 64;
/** How soon to look again while what is due belongs to busy hosts: others may come due before an attempt ends. */
const BUSY_LOOK_MS = 1_000;
/** The longest sleep: bounds what a clock that was set can do. */
const IDLE_MS = 60_000;
/** How soon a store that failed is asked again. */
const STORE_RETRY_MS = 1_000;
/** How long ended deliveries can be looked at. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
/** How often ended deliveries are removed: each time a few, so that it never takes long. */
const PRUNE_MS = 30_000;

/** What the dispatcher stands on. */
export interface DispatcherParts {
  readonly store: Pick<WebhookStore, "due" | "nextDueInMs" | "record" | "prune">;
  readonly sender: OutboundSender;
  readonly clock: Clock;
  readonly log: Log;
  /** How long to wait after the first failure, after the second and so on, in milliseconds. */
  readonly retryDelaysMs: readonly number[];
}

/** Sends what is due, at least once: a crash between sending and writing that down sends again. */
export class WebhookDispatcher {
  readonly #parts: DispatcherParts;
  readonly #stop = new AbortController();
  readonly #underWay = new Map<DeliveryId, { readonly host: string; readonly ended: Promise<void> }>();
  #wake = new AbortController();
  #running: Promise<unknown> | null = null;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  /** Begins to send. */
  start(): void {
    this.#running ??= Promise.all([this.#sendLoop(), this.#pruneLoop()]);
  }

  /** Looks for due deliveries now rather than when the next one is known to be due. */
  wake(): void {
    this.#wake.abort();
  }

  /** Ends at once: attempts under way are broken off and not counted. What is pending is sent after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#running;
    await Promise.all([...this.#underWay.values()].map(({ ended }) => ended));
  }

  async #sendLoop(): Promise<void> {
    const { clock, log } = this.#parts;
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController();
      try {
        await this.#beginDue();
        await clock.sleep(await this.#waitMs(), this.#wake.signal);
      } catch (err) {
        log.error({ err }, "due webhook deliveries could not be read; trying again");
        await clock.sleep(STORE_RETRY_MS, this.#stop.signal);
      }
    }
  }

  // Fills the free places, oldest first, passing over what is for busy hosts.
  async #beginDue(): Promise<void> {
    const seen = new Set(this.#underWay.keys());
    while (this.#underWay.size < UNDER_WAY_MAX) {
      const found = await this.#parts.store.due(LOOK_DELIVERIES, seen);
      if (found.length === 0) return;
      for (const delivery of found) {
        seen.add(delivery.id);
        if (this.#hasPlaceFor(hostOf(delivery.url))) this.#begin(delivery);
      }
    }
  }

  #hasPlaceFor(host: string): boolean {
    const toHost = [...this.#underWay.values()].filter((attempt) => attempt.host === host);
    return this.#underWay.size < UNDER_WAY_MAX && toHost.length < PER_HOST_MAX;
  }

  async #waitMs(): Promise<number> {
    // the end of an attempt wakes
    if (this.#underWay.size >= UNDER_WAY_MAX) return IDLE_MS;
    const dueInMs = (await this.#parts.store.nextDueInMs()) ?? IDLE_MS;
    // attempts under way are due until they are written down, and hide when the next one is
    if (dueInMs === 0 && this.#underWay.size > 0) return BUSY_LOOK_MS;
    return Math.min(Math.max(dueInMs, 1), IDLE_MS);
  }

  #begin(delivery: DueDelivery): void {
    const ended = this.#attempt(delivery).finally(() => {
      this.#underWay.delete(delivery.id);
      this.wake();
    });
    this.#underWay.set(delivery.id, { host: hostOf(delivery.url), ended });
  }

  async #attempt(delivery: DueDelivery): Promise<void> {
    const { sender, clock, log, retryDelaysMs } = this.#parts;
    const { id, url, body, attempts, isRetried } = delivery;
    const at = clock.now();
    const answer = await sender.post(url, headersOf(delivery, at), body, this.#stop.signal);
    if (answer.statusCode === null && this.#stop.signal.aborted) return;
    const { next, disables } = nextAttempt({
      statusCode: answer.statusCode,
      attemptsMade: attempts + 1,
      retryDelaysMs,
      isRetried,
      now: clock.now(),
    });
    if (disables) log.warn({ delivery: id }, "a webhook is switched off: its receiver says that it is gone for good");
    const { statusCode, error, ms } = answer;
    await this.#record(id, { attempt: { at, statusCode, error, ms }, next, disables });
  }

  // The place stays taken until the attempt is written down: a full disk must not send the same thing over and over.
  async #record(id: DeliveryId, outcome: AttemptOutcome): Promise<void> {
    const { store, clock, log } = this.#parts;
    for (;;) {
      try {
        await store.record(id, outcome);
        return;
      } catch (err) {
        log.error({ delivery: id, err }, "an attempt to deliver could not be written down; trying again");
      }
      if (this.#stop.signal.aborted) return;
      await clock.sleep(STORE_RETRY_MS, this.#stop.signal);
    }
  }

  async #pruneLoop(): Promise<void> {
    const { store, clock, log } = this.#parts;
    while (!this.#stop.signal.aborted) {
      try {
        await store.prune(clock.now() - KEPT_MS);
      } catch (err) {
        log.warn({ err }, "ended webhook deliveries could not be removed; trying again later");
      }
      await clock.sleep(PRUNE_MS, this.#stop.signal);
    }
  }
}

/** What one attempt is sent with, after Standard Webhooks 1.0. */
function headersOf({ id, body, secret }: DueDelivery, at: number): Readonly<Record<string, string>> {
  const timestampSeconds = Math.floor(at / 1000);
  return {
    "content-type": "application/json",
    "user-agent": "Mneme",
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signWebhook({ id, timestampSeconds, body, secret }),
  };
}

// With its port; an address that is none is the sender's to refuse.
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
