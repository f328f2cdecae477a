// What every WebhookStore owes (src/ports/webhook-store.ts), as tests: each implementation passes them with its own `open`.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault, type FaultCode } from "../../src/domain/fault.ts";
import { type DeliveryId, isId, type ProjectId, type WebhookId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { Page } from "../../src/domain/page.ts";
import type { Delivery, DeliveryAttempt, Webhook, WebhookDraft } from "../../src/domain/webhook.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Listing } from "../../src/ports/user-store.ts";
import type { AttemptOutcome, DueDelivery, WebhookStore } from "../../src/ports/webhook-store.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";

/** An empty store with two projects. */
export interface OpenedWebhookStore {
  readonly store: WebhookStore;
  readonly projects: readonly [ProjectId, ProjectId];
  close(): void;
}

const MINUTE_MS = 60_000;
const NOWHERE = "wh_00000000000000000000000000" as WebhookId;
const NO_DELIVERY = "dlv_00000000000000000000000000" as DeliveryId;
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_124);
const STEPS = Number(process.env.MNEME_TEST_STEPS ?? 400);

/** Runs the contract against the stores that `open` makes. */
export function webhookStoreContract(name: string, open: (clock: Clock) => OpenedWebhookStore): void {
  describe(`${name} as WebhookStore`, () => {
    let clock: ManualClock;
    let opened: OpenedWebhookStore;
    let store: WebhookStore;
    let project: ProjectId;
    let other: ProjectId;

    beforeEach(() => {
      clock = new ManualClock();
      opened = open(clock);
      store = opened.store;
      [project, other] = opened.projects;
    });
    afterEach(() => opened.close());

    const make = (draft: Partial<WebhookDraft> = {}, into = project): Webhook =>
      store.create(into, { ...DRAFT, ...draft }).webhook;
    const addTest = (webhook: Webhook, of = project): Delivery => present(store.addTest(of, webhook.id));
    const reread = (delivery: Delivery, of = project): Delivery =>
      present(store.delivery(of, delivery.webhookId, delivery.id));
    const due = (limit = 100, except: readonly DeliveryId[] = []): readonly DueDelivery[] =>
      store.due(limit, new Set(except));
    const dueIds = (limit = 100, except: readonly DeliveryId[] = []) => due(limit, except).map(({ id }) => id);
    const attemptNow = (attempt: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
      at: clock.now(),
      statusCode: 500,
      error: null,
      ms: 12,
      ...attempt,
    });
    const record = (delivery: Delivery, outcome: Partial<AttemptOutcome> = {}) =>
      store.record(delivery.id, { attempt: attemptNow(), next: "failed", disables: false, ...outcome });

    describe("create", () => {
      test("stores what was given and gives it back without its secret", () => {
        const draft: WebhookDraft = {
          url: "https://hooks.example.com/in?a=1",
          events: ["memory.completed", "memory.deleted"],
          description: "grüße 😀",
          isEnabled: false,
        };
        const { webhook, secret } = store.create(project, draft);
        expect(webhook).toEqual({ ...draft, id: webhook.id, createdAt: clock.now() });
        expect(isId("wh", webhook.id)).toBe(true);
        expect(secret).toStartWith("whsec_");
        expect(store.get(project, webhook.id)).toEqual(webhook);
        expect(JSON.stringify(store.list(project, { limit: 9 }))).not.toContain(secret);
      });

      test("gives every webhook an id and a secret of its own", () => {
        const made = Array.from({ length: LIMITS.webhooksPerProject }, () => store.create(project, DRAFT));
        expect(new Set(made.map(({ webhook }) => webhook.id)).size).toBe(made.length);
        expect(new Set(made.map(({ secret }) => secret)).size).toBe(made.length);
      });

      test("refuses one more than the limit of a project, and takes it once another is gone", () => {
        const made = Array.from({ length: LIMITS.webhooksPerProject }, () => make());
        expect(faultOf(() => make())).toBe("webhook_limit_reached");
        make({}, other);
        expect(store.remove(project, present(made[3]).id)).toBe(true);
        make();
        expect(faultOf(() => make())).toBe("webhook_limit_reached");
      });
    });

    test("a webhook and its deliveries do not exist for another project", () => {
      const webhook = make();
      const delivery = addTest(webhook);
      record(delivery);
      expect(store.get(other, webhook.id)).toBeNull();
      expect(store.change(other, webhook.id, { isEnabled: false })).toBeNull();
      expect(store.rotateSecret(other, webhook.id)).toBeNull();
      expect(store.addTest(other, webhook.id)).toBeNull();
      expect(store.delivery(other, webhook.id, delivery.id)).toBeNull();
      expect(store.redeliver(other, webhook.id, delivery.id)).toBeNull();
      expect(store.remove(other, webhook.id)).toBe(false);
      expect(store.list(other, { limit: 9 })).toEqual({ items: [], cursor: null });
      expect(store.deliveries(other, webhook.id, { limit: 9 })).toEqual({ items: [], cursor: null });
      expect(store.get(project, webhook.id)).toEqual(webhook);
      expect(reread(delivery).status).toBe("failed");
    });

    test("a delivery does not exist for another webhook", () => {
      const [first, second] = [make(), make()];
      const delivery = addTest(first);
      expect(store.delivery(project, second.id, delivery.id)).toBeNull();
      expect(store.redeliver(project, second.id, delivery.id)).toBeNull();
      expect(store.deliveries(project, second.id, { limit: 9 }).items).toEqual([]);
    });

    test("what does not exist is null", () => {
      const webhook = make();
      expect(store.get(project, NOWHERE)).toBeNull();
      expect(store.change(project, NOWHERE, {})).toBeNull();
      expect(store.rotateSecret(project, NOWHERE)).toBeNull();
      expect(store.addTest(project, NOWHERE)).toBeNull();
      expect(store.remove(project, NOWHERE)).toBe(false);
      expect(store.delivery(project, webhook.id, NO_DELIVERY)).toBeNull();
      expect(store.redeliver(project, webhook.id, NO_DELIVERY)).toBeNull();
      expect(store.deliveries(project, NOWHERE, { limit: 9 })).toEqual({ items: [], cursor: null });
    });

    describe("change", () => {
      const changes: readonly Partial<WebhookDraft>[] = [
        { url: "http://elsewhere.example" },
        { events: [] },
        { events: ["memory.failed", "memory.updated"] },
        { description: null },
        { description: "" },
        { isEnabled: false },
        {},
      ];
      for (const change of changes) {
        test(`of ${JSON.stringify(change)} leaves the rest`, () => {
          const before = make({ description: "before" });
          clock.advance(5);
          const changed = present(store.change(project, before.id, change));
          expect(changed).toEqual({ ...before, ...change });
          expect(store.get(project, before.id)).toEqual(changed);
        });
      }

      test("to another address sends what is pending there", () => {
        const webhook = make();
        addTest(webhook);
        store.change(project, webhook.id, { url: "https://moved.example" });
        expect(due().map(({ url }) => url)).toEqual(["https://moved.example"]);
      });

      test("to switched off fails what is pending without an attempt, and switching on again revives nothing", () => {
        const webhook = make();
        const [waiting, retried] = [addTest(webhook), addTest(webhook)];
        record(retried, { next: { at: clock.now() + MINUTE_MS } });
        store.change(project, webhook.id, { isEnabled: false });
        expect(reread(waiting)).toEqual({ ...waiting, status: "failed", nextAttemptAt: null });
        expect(reread(retried)).toMatchObject({ status: "failed", nextAttemptAt: null });
        expect(reread(retried).attempts).toHaveLength(1);
        store.change(project, webhook.id, { isEnabled: true });
        clock.advance(2 * MINUTE_MS);
        expect(due()).toEqual([]);
        expect(store.nextDueInMs()).toBeNull();
      });

      test("to switched off leaves other webhooks' deliveries alone", () => {
        const [first, second] = [make(), make()];
        addTest(first);
        const kept = addTest(second);
        store.change(project, first.id, { isEnabled: false });
        expect(dueIds()).toEqual([kept.id]);
      });
    });

    test("rotating gives another secret, which signs what is pending", () => {
      const { webhook, secret } = store.create(project, DRAFT);
      addTest(webhook);
      expect(due().map((delivery) => delivery.secret)).toEqual([secret]);
      const rotated = present(store.rotateSecret(project, webhook.id));
      expect(rotated.webhook).toEqual(webhook);
      expect(rotated.secret).toStartWith("whsec_");
      expect(rotated.secret).not.toBe(secret);
      expect(due().map((delivery) => delivery.secret)).toEqual([rotated.secret]);
    });

    test("removing takes the deliveries along, and an attempt that ends afterwards is passed over", () => {
      const webhook = make();
      const delivery = addTest(webhook);
      expect(store.remove(project, webhook.id)).toBe(true);
      expect(store.remove(project, webhook.id)).toBe(false);
      expect(store.get(project, webhook.id)).toBeNull();
      expect(store.delivery(project, webhook.id, delivery.id)).toBeNull();
      expect(due()).toEqual([]);
      record(delivery, { next: "delivered", disables: true });
      expect(store.delivery(project, webhook.id, delivery.id)).toBeNull();
    });

    describe("addTest", () => {
      test("is a pending webhook.test that is due now and names the webhook", () => {
        const { webhook, secret } = store.create(project, { ...DRAFT, events: [] });
        const delivery = addTest(webhook);
        expect(delivery).toEqual({
          id: delivery.id,
          webhookId: webhook.id,
          event: "webhook.test",
          status: "pending",
          attempts: [],
          createdAt: clock.now(),
          nextAttemptAt: clock.now(),
        });
        expect(isId("dlv", delivery.id)).toBe(true);
        expect(reread(delivery)).toEqual(delivery);
        const [sent] = due();
        expect(sent).toEqual({
          id: delivery.id,
          url: webhook.url,
          secret,
          body: `{"type":"webhook.test","timestamp":"2027-01-15T08:00:00.000Z","data":{"webhook_id":"${webhook.id}"}}`,
          attempts: 0,
          isRetried: true,
        });
      });

      test("is due although the webhook is switched off", () => {
        const delivery = addTest(make({ isEnabled: false }));
        expect(dueIds()).toEqual([delivery.id]);
      });

      test("is for this webhook alone", () => {
        make();
        const webhook = make();
        make({}, other);
        const delivery = addTest(webhook);
        expect(dueIds()).toEqual([delivery.id]);
      });
    });

    describe("due", () => {
      test("gives what waits longest first, of all projects, and nothing before its time", () => {
        const [first, second] = [make(), make({}, other)];
        const late = addTest(first);
        record(late, { next: { at: clock.now() + 10 } });
        clock.advance(5);
        const early = addTest(second, other);
        expect(dueIds()).toEqual([early.id]);
        clock.advance(4);
        expect(dueIds()).toEqual([early.id]);
        clock.advance(1);
        expect(dueIds()).toEqual([early.id, late.id]);
      });

      test("gives no more than asked for and none of the excepted", () => {
        const deliveries = Array.from({ length: 5 }, () => addTest(make()));
        const ids = deliveries.map(({ id }) => id);
        expect(dueIds(3)).toEqual(ids.slice(0, 3));
        expect(dueIds(3, ids.slice(0, 2))).toEqual(ids.slice(2));
        expect(dueIds(3, ids)).toEqual([]);
      });

      test("gives every webhook's, however much another one has waiting", () => {
        const [flooded, quiet] = [make(), make({}, other)];
        for (let count = 0; count < 200; count++) addTest(flooded);
        clock.advance(1);
        const delivery = addTest(quiet, other);
        expect(dueIds(10)).toContain(delivery.id);
      });

      test("gives all of a webhook's in the end, in the order in which they were made", () => {
        const webhook = make();
        const ids = Array.from({ length: 25 }, () => addTest(webhook).id);
        const sent: DeliveryId[] = [];
        for (let [next] = due(); next !== undefined; [next] = due()) {
          sent.push(next.id);
          store.record(next.id, { attempt: attemptNow({ statusCode: 200 }), next: "delivered", disables: false });
        }
        expect(sent).toEqual(ids);
      });
    });

    test("nextDueInMs is the time until the next one, 0 when one waits, null when none does", () => {
      const webhook = make();
      expect(store.nextDueInMs()).toBeNull();
      const delivery = addTest(webhook);
      expect(store.nextDueInMs()).toBe(0);
      clock.advance(7);
      expect(store.nextDueInMs()).toBe(0);
      record(delivery, { next: { at: clock.now() + 300 } });
      expect(store.nextDueInMs()).toBe(300);
      clock.advance(299);
      expect(store.nextDueInMs()).toBe(1);
      record(delivery, { next: "delivered" });
      expect(store.nextDueInMs()).toBeNull();
    });

    describe("record", () => {
      test("writes the attempt down, and that the delivery arrived", () => {
        const delivery = addTest(make());
        const attempt = attemptNow({ statusCode: 204 });
        record(delivery, { attempt, next: "delivered" });
        expect(reread(delivery)).toEqual({
          ...delivery,
          status: "delivered",
          attempts: [attempt],
          nextAttemptAt: null,
        });
      });

      test("keeps a delivery pending until its next attempt, and counts", () => {
        const delivery = addTest(make());
        const first = attemptNow({ statusCode: null, error: "timed out after 10 s" });
        record(delivery, { attempt: first, next: { at: clock.now() + MINUTE_MS } });
        expect(reread(delivery)).toMatchObject({ status: "pending", nextAttemptAt: clock.now() + MINUTE_MS });
        clock.advance(MINUTE_MS);
        expect(due().map(({ attempts }) => attempts)).toEqual([1]);
        const second = attemptNow();
        record(delivery, { attempt: second });
        expect(reread(delivery)).toMatchObject({ status: "failed", attempts: [first, second], nextAttemptAt: null });
        expect(due()).toEqual([]);
      });

      test("keeps the newest attempts of a delivery that is sent again and again", () => {
        const webhook = make();
        const delivery = addTest(webhook);
        for (let count = 0; count < 50; count++) {
          clock.advance(1);
          store.redeliver(project, webhook.id, delivery.id);
          record(delivery, { attempt: attemptNow({ ms: count }) });
        }
        const kept = reread(delivery).attempts.map(({ ms }) => ms);
        expect(kept.length).toBeLessThan(50);
        expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 50 - kept.length + index));
      });

      test("switches the webhook off when its receiver is gone, and fails what else is pending", () => {
        const [webhook, unaffected] = [make(), make()];
        const [gone, waiting, elsewhere] = [addTest(webhook), addTest(webhook), addTest(unaffected)];
        record(gone, { attempt: attemptNow({ statusCode: 410 }), disables: true });
        expect(store.get(project, webhook.id)).toEqual({ ...webhook, isEnabled: false });
        expect(reread(gone)).toMatchObject({ status: "failed", nextAttemptAt: null });
        expect(reread(waiting)).toMatchObject({ status: "failed", attempts: [], nextAttemptAt: null });
        expect(store.get(project, unaffected.id)?.isEnabled).toBe(true);
        expect(dueIds()).toEqual([elsewhere.id]);
      });

      test("of an attempt that was under way when the webhook was switched off: arrived is arrived, failed is not retried", () => {
        const webhook = make();
        const [arrived, failed] = [addTest(webhook), addTest(webhook)];
        store.change(project, webhook.id, { isEnabled: false });
        record(arrived, { attempt: attemptNow({ statusCode: 200 }), next: "delivered" });
        record(failed, { next: { at: clock.now() + 5_000 } });
        expect(reread(arrived).status).toBe("delivered");
        expect(reread(failed)).toMatchObject({ status: "failed", nextAttemptAt: null });
        expect(reread(failed).attempts).toHaveLength(1);
      });

      test("passes over a delivery that there is none of", () => {
        store.record(NO_DELIVERY, { attempt: attemptNow(), next: "failed", disables: true });
        expect(store.delivery(project, NOWHERE, NO_DELIVERY)).toBeNull();
      });
    });

    describe("redeliver", () => {
      for (const next of ["failed", "delivered"] as const) {
        test(`of one that is ${next} is a single further attempt under the same id, due now`, () => {
          const webhook = make();
          const delivery = addTest(webhook);
          record(delivery, { next });
          const before = reread(delivery);
          clock.advance(MINUTE_MS);
          const again = store.redeliver(project, webhook.id, delivery.id);
          expect(again).toEqual({ ...before, status: "pending", nextAttemptAt: clock.now() });
          expect(due()).toMatchObject([{ id: delivery.id, attempts: 0, isRetried: false }]);
        });
      }

      test("of one that is pending makes it due now and leaves it its retries", () => {
        const webhook = make();
        const delivery = addTest(webhook);
        record(delivery, { next: { at: clock.now() + 30 * MINUTE_MS } });
        expect(due()).toEqual([]);
        store.redeliver(project, webhook.id, delivery.id);
        expect(due()).toMatchObject([{ id: delivery.id, attempts: 1, isRetried: true }]);
      });

      test("of one with an attempt under way that fails is a further attempt", () => {
        const webhook = make();
        const delivery = addTest(webhook);
        const underWay = attemptNow();
        clock.advance(10);
        store.redeliver(project, webhook.id, delivery.id);
        record(delivery, { attempt: underWay, next: { at: clock.now() + MINUTE_MS } });
        expect(reread(delivery)).toMatchObject({ status: "pending", attempts: [underWay] });
        expect(dueIds()).toEqual([delivery.id]);
      });

      test("is sent although the webhook is switched off", () => {
        const webhook = make();
        const delivery = addTest(webhook);
        store.change(project, webhook.id, { isEnabled: false });
        store.redeliver(project, webhook.id, delivery.id);
        expect(dueIds()).toEqual([delivery.id]);
      });
    });

    describe("prune", () => {
      test("removes what ended before, not what is pending, ended later, or was sent again since", () => {
        const webhook = make();
        const [ended, pending, later, again] = [addTest(webhook), addTest(webhook), addTest(webhook), addTest(webhook)];
        record(ended);
        record(pending, { next: { at: clock.now() + 10 * MINUTE_MS } });
        record(again, { next: "delivered" });
        clock.advance(MINUTE_MS);
        const before = clock.now();
        record(later);
        store.redeliver(project, webhook.id, again.id);
        record(again, { next: "delivered" });
        store.prune(before);
        const kept = store.deliveries(project, webhook.id, { limit: 9 }).items.map(({ id }) => id);
        expect(kept).toEqual([again.id, later.id, pending.id]);
        expect(store.delivery(project, webhook.id, ended.id)).toBeNull();
      });

      test("removes everything in the end, however much it is", () => {
        const webhook = make();
        for (let count = 0; count < 1_200; count++) addTest(webhook);
        store.change(project, webhook.id, { isEnabled: false });
        clock.advance(1);
        for (let call = 0; call < 20; call++) store.prune(clock.now());
        expect(store.deliveries(project, webhook.id, { limit: 1 }).items).toEqual([]);
      });
    });

    describe("cursors", () => {
      const cursorOf = (page: Page<unknown>): string => present(page.cursor);

      test("of another list, project or webhook are refused, and damaged ones", () => {
        const [first, second, theirs] = [make(), make(), make({}, other)];
        for (const webhook of [first, first, second, second]) addTest(webhook);
        for (let count = 0; count < 2; count++) addTest(theirs, other);
        make({}, other);
        const ofWebhooks = cursorOf(store.list(project, { limit: 1 }));
        const ofFirst = cursorOf(store.deliveries(project, first.id, { limit: 1 }));
        const invalid: readonly (readonly [string, () => unknown])[] = [
          ["webhooks to deliveries", () => store.deliveries(project, first.id, { limit: 1, cursor: ofWebhooks })],
          ["deliveries to webhooks", () => store.list(project, { limit: 1, cursor: ofFirst })],
          ["another webhook", () => store.deliveries(project, second.id, { limit: 1, cursor: ofFirst })],
          ["another project's webhooks", () => store.list(other, { limit: 1, cursor: ofWebhooks })],
          ["another project's deliveries", () => store.deliveries(other, first.id, { limit: 1, cursor: ofFirst })],
          ["damaged", () => store.list(project, { limit: 1, cursor: `${ofWebhooks}x` })],
          ["empty", () => store.deliveries(project, first.id, { limit: 1, cursor: "" })],
        ];
        for (const [what, call] of invalid) expect(faultOf(call), what).toBe("invalid_cursor");
      });

      test("are null at the end, also when the page is exactly full", () => {
        const webhook = make();
        make();
        addTest(webhook);
        addTest(webhook);
        expect(store.list(project, { limit: 2 }).cursor).toBeNull();
        expect(store.deliveries(project, webhook.id, { limit: 2 }).cursor).toBeNull();
        expect(store.deliveries(project, webhook.id, { limit: 1 }).cursor).not.toBeNull();
      });
    });

    test(`lists walked while things come and go show each thing once, newest first (seed ${SEED}, ${STEPS} steps)`, () => {
      new ListHistory(opened, clock, seeded(SEED)).run(STEPS);
    });
  });
}

const DRAFT: WebhookDraft = {
  url: "https://hooks.example.com/in",
  events: ["memory.completed"],
  description: null,
  isEnabled: true,
};

/** A walk through one list: what is still to come is what the list held below `last`, whatever happens between pages. */
interface Walk {
  readonly what: string;
  readonly read: (listing: Listing) => Page<{ readonly id: string }>;
  /** Ids of the list as it is now, newest first. */
  readonly expected: () => readonly string[];
  cursor: string | null;
  last: string | null;
}

/** Random changes and pages, compared with lists in memory. */
class ListHistory {
  /** Every id ever made, oldest first: what "below" means after the item itself is gone. */
  readonly #order = new Map<string, number>();
  readonly #webhooks: { readonly project: ProjectId; readonly id: WebhookId; deliveries: DeliveryId[] }[] = [];
  #walks: Walk[] = [];

  constructor(
    private readonly opened: OpenedWebhookStore,
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  run(steps: number): void {
    const actions = [this.#create, this.#remove, this.#deliver, this.#deliver, this.#begin, this.#page, this.#page];
    for (let step = 0; step < steps; step++) {
      this.#pick(actions)?.call(this);
      if (this.random() < 0.05) this.#prune();
      this.clock.advance(Math.floor(this.random() * 3));
    }
  }

  #create(): void {
    const project = present(this.#pick(this.opened.projects));
    const held = this.#webhooks.filter((webhook) => webhook.project === project).length;
    if (held === LIMITS.webhooksPerProject) return;
    const { id } = this.opened.store.create(project, DRAFT).webhook;
    this.#order.set(id, this.#order.size);
    this.#webhooks.push({ project, id, deliveries: [] });
  }

  #remove(): void {
    const webhook = this.#pick(this.#webhooks);
    if (webhook === undefined || this.random() < 0.7) return;
    expect(this.opened.store.remove(webhook.project, webhook.id)).toBe(true);
    this.#webhooks.splice(this.#webhooks.indexOf(webhook), 1);
    webhook.deliveries = [];
  }

  #deliver(): void {
    const webhook = this.#pick(this.#webhooks);
    if (webhook === undefined) return;
    for (let count = Math.floor(this.random() * 8); count > 0; count--) {
      const { id } = present(this.opened.store.addTest(webhook.project, webhook.id));
      this.#order.set(id, this.#order.size);
      webhook.deliveries.push(id);
    }
  }

  // Ends some deliveries of one webhook and removes them.
  #prune(): void {
    const webhook = this.#pick(this.#webhooks);
    if (webhook === undefined) return;
    const ended = webhook.deliveries.filter(() => this.random() < 0.3);
    const attempt = { at: this.clock.now(), statusCode: 200, error: null, ms: 1 };
    for (const id of ended) this.opened.store.record(id, { attempt, next: "delivered", disables: false });
    this.clock.advance(1);
    this.opened.store.prune(this.clock.now());
    webhook.deliveries = webhook.deliveries.filter((id) => !ended.includes(id));
  }

  #begin(): void {
    const { store } = this.opened;
    const project = present(this.#pick(this.opened.projects));
    const webhook = this.#pick(this.#webhooks);
    const place = { cursor: null, last: null };
    this.#walks.push({
      ...place,
      what: `webhooks of ${project}`,
      read: (listing) => store.list(project, listing),
      expected: () =>
        this.#webhooks
          .filter((candidate) => candidate.project === project)
          .map(({ id }) => id)
          .toReversed(),
    });
    if (webhook === undefined) return;
    this.#walks.push({
      ...place,
      what: `deliveries of ${webhook.id}`,
      read: (listing) => store.deliveries(webhook.project, webhook.id, listing),
      expected: () => webhook.deliveries.toReversed(),
    });
  }

  #page(): void {
    const walk = this.#pick(this.#walks);
    if (walk === undefined) return;
    const limit = 1 + Math.floor(this.random() * 5);
    const { last, cursor } = walk;
    const page = walk.read({ limit, ...(cursor !== null && { cursor }) });
    const left = walk.expected().filter((id) => last === null || this.#placeOf(id) < this.#placeOf(last));
    expect(
      page.items.map(({ id }) => id),
      walk.what,
    ).toEqual(left.slice(0, limit));
    expect(page.cursor !== null, walk.what).toBe(left.length > limit);
    walk.cursor = page.cursor;
    walk.last = page.items.at(-1)?.id ?? last;
    if (page.cursor === null) this.#walks = this.#walks.filter((other) => other !== walk);
  }

  #placeOf(id: string): number {
    return this.#order.get(id) ?? Number.NaN;
  }

  #pick<Value>(values: readonly Value[]): Value | undefined {
    return values[Math.floor(this.random() * values.length)];
  }
}

function present<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error("it is not there");
  return value;
}

function faultOf(call: () => unknown): FaultCode {
  try {
    call();
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  throw new Error("nothing was refused");
}
