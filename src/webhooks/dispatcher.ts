// Sends webhook deliveries when they are due, limits concurrent attempts, and records each attempt. schedule.ts decides
// what happens after an attempt, and signature.ts signs the messages. HTTP requests and stored deliveries are behind
// ports.

import type { DeliveryId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { OutboundSender } from "../ports/outbound.ts";
import type { AttemptOutcome, DueDelivery, WebhookStore } from "../ports/webhook-store.ts";
import { nextAttempt } from "./schedule.ts";
import { signWebhook } from "./signature.ts";

/** Maximum number of concurrent attempts. A receiver that does not answer occupies one for 10 s. */
const ATTEMPTS_MAX = 8;
/** Maximum number of concurrent attempts to one host. Other hosts have to wait only if four hosts hang. */
const ATTEMPTS_PER_HOST_MAX = 2;
/**
 * Maximum number of due deliveries that one read of the store returns. More than can be sent at the same time, because
 * some are for busy hosts.
 */
const DUE_BATCH = 64;
/** Polling interval while all due deliveries are for busy hosts: others may come due before an attempt ends. */
const BUSY_POLL_MS = 1_000;
/** Maximum time between two reads of the store. Limits the effect of a change of the system clock. */
const SLEEP_MAX_MS = 60_000;
/**
 * How long a claim lasts: longer than an attempt, which takes at most 10 s, and storing its outcome, for which the
 * database may have to fail over to another server. Otherwise another node would send the delivery again.
 */
const CLAIM_MS = 120_000;
/** Delay before a failed call of the store is repeated. */
const STORE_RETRY_MS = 1_000;
/** How long ended deliveries are kept, in milliseconds. */
const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000;
/**
 * Interval for removing ended deliveries, in milliseconds. Each time only a few are removed, so that it takes little
 * time.
 */
const PRUNE_MS = 30_000;

/** Options of the dispatcher. */
export interface DispatcherDependencies {
  readonly store: Pick<WebhookStore, "due" | "claim" | "giveBack" | "nextDueInMs" | "record" | "prune">;
  readonly sender: OutboundSender;
  readonly clock: Clock;
  readonly log: Log;
  /** Delays after the first failure, the second and so on, in milliseconds. */
  readonly retryDelaysMs: readonly number[];
}

/** Sends due deliveries at least once: after a crash between sending and recording, the delivery is sent again. */
export class WebhookDispatcher {
  readonly #uses: DispatcherDependencies;
  readonly #sending = new WakingLoop((round) => this.#sendDue(round));
  readonly #pruning = new WakingLoop((round) => this.#prune(round));
  readonly #attempts = new Map<DeliveryId, { readonly host: string; readonly ended: Promise<void> }>();

  constructor(uses: DispatcherDependencies) {
    this.#uses = uses;
  }

  /** Starts the loops that send and prune. */
  start(): void {
    this.#sending.start();
    this.#pruning.start();
  }

  /** Makes the dispatcher read the due deliveries now. Called when new deliveries were added. */
  wake(): void {
    this.#sending.wake();
  }

  /** Stops at once: running attempts are aborted and not counted. Pending deliveries are sent after the next start. */
  async stop(): Promise<void> {
    await Promise.all([this.#sending.stop(), this.#pruning.stop()]);
    await Promise.all([...this.#attempts.values()].map(({ ended }) => ended));
  }

  async #sendDue({ stopped, woken }: Round): Promise<void> {
    const { clock, log } = this.#uses;
    try {
      await this.#startDue();
      await clock.sleep(await this.#waitMs(), woken);
    } catch (err) {
      log.error({ err }, "due webhook deliveries could not be read; trying again");
      await clock.sleep(STORE_RETRY_MS, stopped);
    }
  }

  // Starts due deliveries until ATTEMPTS_MAX are running, oldest first. Skips deliveries to hosts with too many running
  // attempts.
  async #startDue(): Promise<void> {
    const seen = new Set(this.#attempts.keys());
    while (this.#attempts.size < ATTEMPTS_MAX) {
      const found = await this.#uses.store.due(DUE_BATCH, seen);
      if (found.length === 0) return;
      for (const delivery of found) {
        seen.add(delivery.id);
        // another node may have claimed it since
        if (this.#hasSlotFor(hostOf(delivery.url)) && (await this.#uses.store.claim(delivery.id, CLAIM_MS))) {
          this.#start(delivery);
        }
      }
    }
  }

  #hasSlotFor(host: string): boolean {
    const toHost = [...this.#attempts.values()].filter((attempt) => attempt.host === host);
    return this.#attempts.size < ATTEMPTS_MAX && toHost.length < ATTEMPTS_PER_HOST_MAX;
  }

  async #waitMs(): Promise<number> {
    // no attempt can start now; the end of an attempt wakes the loop
    if (this.#attempts.size >= ATTEMPTS_MAX) return SLEEP_MAX_MS;
    const dueInMs = (await this.#uses.store.nextDueInMs()) ?? SLEEP_MAX_MS;
    // deliveries in progress count as due until their attempts are recorded, so the store cannot tell when the next one
    // is due
    if (dueInMs === 0 && this.#attempts.size > 0) return BUSY_POLL_MS;
    return Math.min(Math.max(dueInMs, 1), SLEEP_MAX_MS);
  }

  #start(delivery: DueDelivery): void {
    const ended = this.#attempt(delivery).finally(() => {
      this.#attempts.delete(delivery.id);
      this.wake();
    });
    this.#attempts.set(delivery.id, { host: hostOf(delivery.url), ended });
  }

  async #attempt(delivery: DueDelivery): Promise<void> {
    const { sender, clock, log, retryDelaysMs } = this.#uses;
    const { id, url, body, attempts, isRetried } = delivery;
    const at = clock.now();
    const answer = await sender.post(url, headersOf(delivery, at), body, this.#sending.stopped);
    if (answer.statusCode === null && this.#sending.stopped.aborted) return this.#giveBack(id);
    const { next, disables } = nextAttempt({
      statusCode: answer.statusCode,
      attemptsMade: attempts + 1,
      retryDelaysMs,
      isRetried,
      now: clock.now(),
    });
    if (disables) log.warn({ delivery: id }, "a webhook was disabled: its receiver answered 410 Gone");
    const { statusCode, error, ms } = answer;
    await this.#record(id, { attempt: { at, statusCode, error, ms }, next, disables });
  }

  async #giveBack(id: DeliveryId): Promise<void> {
    try {
      await this.#uses.store.giveBack(id);
    } catch (err) {
      this.#uses.log.warn({ delivery: id, err }, "a delivery stays claimed for up to two minutes");
    }
  }

  // The attempt counts as running until it is recorded: otherwise a full disk would cause the same delivery to be sent
  // again and again.
  async #record(id: DeliveryId, outcome: AttemptOutcome): Promise<void> {
    const { store, clock, log } = this.#uses;
    for (;;) {
      try {
        await store.record(id, outcome);
        return;
      } catch (err) {
        log.error({ delivery: id, err }, "a delivery attempt could not be recorded; trying again");
      }
      if (this.#sending.stopped.aborted) return this.#giveBack(id);
      await clock.sleep(STORE_RETRY_MS, this.#sending.stopped);
    }
  }

  async #prune({ stopped }: Round): Promise<void> {
    const { store, clock, log } = this.#uses;
    try {
      await store.prune(clock.now() - RETENTION_MS);
    } catch (err) {
      log.warn({ err }, "ended webhook deliveries could not be removed; trying again later");
    }
    await clock.sleep(PRUNE_MS, stopped);
  }
}

/** Headers of one attempt, after Standard Webhooks 1.0. */
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

// Host with port. An invalid URL is returned as it is; the sender refuses it.
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
