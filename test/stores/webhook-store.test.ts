// What WebhookStore (`src/ports/webhook-store.ts`) promises, on each database; and in the file of SQLite.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type DeliveryId, isId, type ProjectId, type WebhookId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { Page } from "../../src/domain/page.ts";
import type { Delivery, DeliveryAttempt, Webhook, WebhookDraft } from "../../src/domain/webhook.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { Listing } from "../../src/ports/user-store.ts";
import type { AttemptOutcome, DueDelivery, WebhookStore } from "../../src/ports/webhook-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, type OpenedStores, openEmpty, times } from "../contract/stores.ts";
import { seeded } from "../support/seeded.ts";
import { onEachDatabase } from "./databases.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const MINUTE_MS = 60_000;
const NOWHERE = "wh_00000000000000000000000000" as WebhookId;
const NO_DELIVERY = "dlv_00000000000000000000000000" as DeliveryId;
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_124);
const STEPS = Number(process.env.MNEME_TEST_STEPS ?? 400);

onEachDatabase("WebhookStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: WebhookStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.webhooks;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const make = async (draft: Partial<WebhookDraft> = {}, into = project): Promise<Webhook> =>
    (await store.create(into, { ...DRAFT, ...draft })).webhook;
  const addTest = async (webhook: Webhook, of = project): Promise<Delivery> =>
    present(await store.addTest(of, webhook.id));
  const reread = async (delivery: Delivery, of = project): Promise<Delivery> =>
    present(await store.delivery(of, delivery.webhookId, delivery.id));
  const due = async (limit = 100, except: readonly DeliveryId[] = []): Promise<readonly DueDelivery[]> =>
    await store.due(limit, new Set(except));
  const dueIds = async (limit = 100, except: readonly DeliveryId[] = []) =>
    (await due(limit, except)).map(({ id }) => id);
  const attemptNow = (attempt: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
    at: clock.now(),
    statusCode: 500,
    error: null,
    ms: 12,
    ...attempt,
  });
  const record = async (delivery: Delivery, outcome: Partial<AttemptOutcome> = {}) =>
    await store.record(delivery.id, { attempt: attemptNow(), next: "failed", disables: false, ...outcome });

  describe("create", () => {
    test("stores the draft; later reads do not contain the secret", async () => {
      const draft: WebhookDraft = {
        url: "https://hooks.example.com/in?a=1",
        events: ["memory.completed", "memory.deleted"],
        description: "grüße 😀",
        isEnabled: false,
      };
      const { webhook, secret } = await store.create(project, draft);
      expect(webhook).toEqual({ ...draft, id: webhook.id, createdAt: clock.now() });
      expect(isId("wh", webhook.id)).toBe(true);
      expect(secret).toStartWith("whsec_");
      expect(await store.get(project, webhook.id)).toEqual(webhook);
      expect(JSON.stringify(await store.list(project, { limit: 9 }))).not.toContain(secret);
    });

    test("gives each webhook a unique id and secret", async () => {
      const made = await times(LIMITS.webhooksPerProject, async () => await store.create(project, DRAFT));
      expect(new Set(made.map(({ webhook }) => webhook.id)).size).toBe(made.length);
      expect(new Set(made.map(({ secret }) => secret)).size).toBe(made.length);
    });

    test("refuses more webhooks than the limit of a project, and accepts one after a removal", async () => {
      const made = await times(LIMITS.webhooksPerProject, async () => await make());
      expect(await codeOf(async () => await make())).toBe("webhook_limit_reached");
      await make({}, other);
      expect(await store.remove(project, present(made[3]).id)).toBe(true);
      await make();
      expect(await codeOf(async () => await make())).toBe("webhook_limit_reached");
    });
  });

  test("a webhook and its deliveries do not exist for another project", async () => {
    const webhook = await make();
    const delivery = await addTest(webhook);
    await record(delivery);
    expect(await store.get(other, webhook.id)).toBeNull();
    expect(await store.change(other, webhook.id, { isEnabled: false })).toBeNull();
    expect(await store.rotateSecret(other, webhook.id)).toBeNull();
    expect(await store.addTest(other, webhook.id)).toBeNull();
    expect(await store.delivery(other, webhook.id, delivery.id)).toBeNull();
    expect(await store.redeliver(other, webhook.id, delivery.id)).toBeNull();
    expect(await store.remove(other, webhook.id)).toBe(false);
    expect(await store.list(other, { limit: 9 })).toEqual({ items: [], cursor: null });
    expect(await store.deliveries(other, webhook.id, { limit: 9 })).toEqual({ items: [], cursor: null });
    expect(await store.get(project, webhook.id)).toEqual(webhook);
    expect((await reread(delivery)).status).toBe("failed");
  });

  test("a delivery does not exist for another webhook", async () => {
    const [first, second] = [await make(), await make()];
    const delivery = await addTest(first);
    expect(await store.delivery(project, second.id, delivery.id)).toBeNull();
    expect(await store.redeliver(project, second.id, delivery.id)).toBeNull();
    expect((await store.deliveries(project, second.id, { limit: 9 })).items).toEqual([]);
  });

  test("unknown webhooks and deliveries are null", async () => {
    const webhook = await make();
    expect(await store.get(project, NOWHERE)).toBeNull();
    expect(await store.change(project, NOWHERE, {})).toBeNull();
    expect(await store.rotateSecret(project, NOWHERE)).toBeNull();
    expect(await store.addTest(project, NOWHERE)).toBeNull();
    expect(await store.remove(project, NOWHERE)).toBe(false);
    expect(await store.delivery(project, webhook.id, NO_DELIVERY)).toBeNull();
    expect(await store.redeliver(project, webhook.id, NO_DELIVERY)).toBeNull();
    expect(await store.deliveries(project, NOWHERE, { limit: 9 })).toEqual({ items: [], cursor: null });
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
      test(`of ${JSON.stringify(change)} keeps the other fields`, async () => {
        const before = await make({ description: "before" });
        clock.advance(5);
        const changed = present(await store.change(project, before.id, change));
        expect(changed).toEqual({ ...before, ...change });
        expect(await store.get(project, before.id)).toEqual(changed);
      });
    }

    test("of the address applies to pending deliveries", async () => {
      const webhook = await make();
      await addTest(webhook);
      await store.change(project, webhook.id, { url: "https://moved.example" });
      expect((await due()).map(({ url }) => url)).toEqual(["https://moved.example"]);
    });

    test("to disabled fails pending deliveries without an attempt, and enabling again does not revive them", async () => {
      const webhook = await make();
      const [waiting, retried] = [await addTest(webhook), await addTest(webhook)];
      await record(retried, { next: { at: clock.now() + MINUTE_MS } });
      await store.change(project, webhook.id, { isEnabled: false });
      expect(await reread(waiting)).toEqual({ ...waiting, status: "failed", nextAttemptAt: null });
      expect(await reread(retried)).toMatchObject({ status: "failed", nextAttemptAt: null });
      expect((await reread(retried)).attempts).toHaveLength(1);
      await store.change(project, webhook.id, { isEnabled: true });
      clock.advance(2 * MINUTE_MS);
      expect(await due()).toEqual([]);
      expect(await store.nextDueInMs()).toBeNull();
    });

    test("to disabled keeps the deliveries of other webhooks", async () => {
      const [first, second] = [await make(), await make()];
      await addTest(first);
      const kept = await addTest(second);
      await store.change(project, first.id, { isEnabled: false });
      expect(await dueIds()).toEqual([kept.id]);
    });
  });

  test("rotating replaces the secret, also for pending deliveries", async () => {
    const { webhook, secret } = await store.create(project, DRAFT);
    await addTest(webhook);
    expect((await due()).map((delivery) => delivery.secret)).toEqual([secret]);
    const rotated = present(await store.rotateSecret(project, webhook.id));
    expect(rotated.webhook).toEqual(webhook);
    expect(rotated.secret).toStartWith("whsec_");
    expect(rotated.secret).not.toBe(secret);
    expect((await due()).map((delivery) => delivery.secret)).toEqual([rotated.secret]);
  });

  test("removing a webhook removes its deliveries, and later results of attempts are ignored", async () => {
    const webhook = await make();
    const delivery = await addTest(webhook);
    expect(await store.remove(project, webhook.id)).toBe(true);
    expect(await store.remove(project, webhook.id)).toBe(false);
    expect(await store.get(project, webhook.id)).toBeNull();
    expect(await store.delivery(project, webhook.id, delivery.id)).toBeNull();
    expect(await due()).toEqual([]);
    await record(delivery, { next: "delivered", disables: true });
    expect(await store.delivery(project, webhook.id, delivery.id)).toBeNull();
  });

  describe("addTest", () => {
    test("is a pending webhook.test that is due now; its body names the webhook", async () => {
      const { webhook, secret } = await store.create(project, { ...DRAFT, events: [] });
      const delivery = await addTest(webhook);
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
      expect(await reread(delivery)).toEqual(delivery);
      const [sent] = await due();
      expect(sent).toEqual({
        id: delivery.id,
        url: webhook.url,
        secret,
        body: `{"type":"webhook.test","timestamp":"2027-01-15T08:00:00.000Z","data":{"webhook_id":"${webhook.id}"}}`,
        attempts: 0,
        isRetried: true,
      });
    });

    test("is due even if the webhook is disabled", async () => {
      const delivery = await addTest(await make({ isEnabled: false }));
      expect(await dueIds()).toEqual([delivery.id]);
    });

    test("is for this webhook alone", async () => {
      await make();
      const webhook = await make();
      await make({}, other);
      const delivery = await addTest(webhook);
      expect(await dueIds()).toEqual([delivery.id]);
    });
  });

  describe("claim", () => {
    test("goes to one caller until the attempt is recorded, given back or overdue", async () => {
      const { id: webhook } = await make();
      const delivery = await store.addTest(project, webhook);
      const id = delivery?.id ?? NO_DELIVERY;
      expect(await store.claim(NO_DELIVERY, MINUTE_MS)).toBe(false);
      expect(await store.claim(id, MINUTE_MS)).toBe(true);
      expect(await store.claim(id, MINUTE_MS)).toBe(false);
      expect(await dueIds()).toEqual([]);
      await store.giveBack(id);
      expect(await dueIds()).toEqual([id]);
      expect(await store.claim(id, MINUTE_MS)).toBe(true);
      clock.advance(MINUTE_MS - 1);
      expect(await store.claim(id, MINUTE_MS)).toBe(false);
      clock.advance(1);
      expect(await dueIds()).toEqual([id]);
      expect(await store.claim(id, MINUTE_MS)).toBe(true);
      const attempt = { at: clock.now(), statusCode: 500, error: null, ms: 1 };
      await store.record(id, { attempt, next: { at: clock.now() + 1 }, disables: false });
      expect(await store.claim(id, MINUTE_MS)).toBe(false);
      clock.advance(1);
      expect(await store.claim(id, MINUTE_MS)).toBe(true);
      await store.record(id, { attempt, next: "delivered", disables: false });
      expect(await store.claim(id, MINUTE_MS)).toBe(false);
    });
  });

  describe("due", () => {
    test("returns the longest waiting first, of all projects, and none before its time", async () => {
      const [first, second] = [await make(), await make({}, other)];
      const late = await addTest(first);
      await record(late, { next: { at: clock.now() + 10 } });
      clock.advance(5);
      const early = await addTest(second, other);
      expect(await dueIds()).toEqual([early.id]);
      clock.advance(4);
      expect(await dueIds()).toEqual([early.id]);
      clock.advance(1);
      expect(await dueIds()).toEqual([early.id, late.id]);
    });

    test("respects the limit and leaves out the exceptions", async () => {
      const deliveries = await times(5, async () => await addTest(await make()));
      const ids = deliveries.map(({ id }) => id);
      expect(await dueIds(3)).toEqual(ids.slice(0, 3));
      expect(await dueIds(3, ids.slice(0, 2))).toEqual(ids.slice(2));
      expect(await dueIds(3, ids)).toEqual([]);
    });

    test("includes each webhook, however many deliveries of another one wait", async () => {
      const [flooded, quiet] = [await make(), await make({}, other)];
      for (let count = 0; count < 200; count++) await addTest(flooded);
      clock.advance(1);
      const delivery = await addTest(quiet, other);
      expect(await dueIds(10)).toContain(delivery.id);
    });

    test("returns all deliveries of a webhook over several calls, in the order of their creation", async () => {
      const webhook = await make();
      const ids = await times(25, async () => (await addTest(webhook)).id);
      const sent: DeliveryId[] = [];
      for (let [next] = await due(); next !== undefined; [next] = await due()) {
        sent.push(next.id);
        await store.record(next.id, { attempt: attemptNow({ statusCode: 200 }), next: "delivered", disables: false });
      }
      expect(sent).toEqual(ids);
    });
  });

  test("nextDueInMs is the time until the next delivery, 0 if one is due, null if there is none", async () => {
    const webhook = await make();
    expect(await store.nextDueInMs()).toBeNull();
    const delivery = await addTest(webhook);
    expect(await store.nextDueInMs()).toBe(0);
    clock.advance(7);
    expect(await store.nextDueInMs()).toBe(0);
    await record(delivery, { next: { at: clock.now() + 300 } });
    expect(await store.nextDueInMs()).toBe(300);
    clock.advance(299);
    expect(await store.nextDueInMs()).toBe(1);
    await record(delivery, { next: "delivered" });
    expect(await store.nextDueInMs()).toBeNull();
  });

  describe("record", () => {
    test("stores the attempt and the status delivered", async () => {
      const delivery = await addTest(await make());
      const attempt = attemptNow({ statusCode: 204 });
      await record(delivery, { attempt, next: "delivered" });
      expect(await reread(delivery)).toEqual({
        ...delivery,
        status: "delivered",
        attempts: [attempt],
        nextAttemptAt: null,
      });
    });

    test("keeps a delivery pending until its next attempt, and counts attempts", async () => {
      const delivery = await addTest(await make());
      const first = attemptNow({ statusCode: null, error: "timed out after 10 s" });
      await record(delivery, { attempt: first, next: { at: clock.now() + MINUTE_MS } });
      expect(await reread(delivery)).toMatchObject({ status: "pending", nextAttemptAt: clock.now() + MINUTE_MS });
      clock.advance(MINUTE_MS);
      expect((await due()).map(({ attempts }) => attempts)).toEqual([1]);
      const second = attemptNow();
      await record(delivery, { attempt: second });
      expect(await reread(delivery)).toMatchObject({
        status: "failed",
        attempts: [first, second],
        nextAttemptAt: null,
      });
      expect(await due()).toEqual([]);
    });

    test("keeps the newest attempts of a delivery that is sent again and again", async () => {
      const webhook = await make();
      const delivery = await addTest(webhook);
      for (let count = 0; count < 50; count++) {
        clock.advance(1);
        await store.redeliver(project, webhook.id, delivery.id);
        await record(delivery, { attempt: attemptNow({ ms: count }) });
      }
      const kept = (await reread(delivery)).attempts.map(({ ms }) => ms);
      expect(kept.length).toBeLessThan(50);
      expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 50 - kept.length + index));
    });

    test("disables the webhook if its receiver is gone, and fails its other pending deliveries", async () => {
      const [webhook, unaffected] = [await make(), await make()];
      const [gone, waiting, elsewhere] = [await addTest(webhook), await addTest(webhook), await addTest(unaffected)];
      await record(gone, { attempt: attemptNow({ statusCode: 410 }), disables: true });
      expect(await store.get(project, webhook.id)).toEqual({ ...webhook, isEnabled: false });
      expect(await reread(gone)).toMatchObject({ status: "failed", nextAttemptAt: null });
      expect(await reread(waiting)).toMatchObject({ status: "failed", attempts: [], nextAttemptAt: null });
      expect((await store.get(project, unaffected.id))?.isEnabled).toBe(true);
      expect(await dueIds()).toEqual([elsewhere.id]);
    });

    test("of an attempt that was running when the webhook was disabled: a success is stored, a failure is not retried", async () => {
      const webhook = await make();
      const [arrived, failed] = [await addTest(webhook), await addTest(webhook)];
      await store.change(project, webhook.id, { isEnabled: false });
      await record(arrived, { attempt: attemptNow({ statusCode: 200 }), next: "delivered" });
      await record(failed, { next: { at: clock.now() + 5_000 } });
      expect((await reread(arrived)).status).toBe("delivered");
      expect(await reread(failed)).toMatchObject({ status: "failed", nextAttemptAt: null });
      expect((await reread(failed)).attempts).toHaveLength(1);
    });

    test("ignores an unknown delivery", async () => {
      await store.record(NO_DELIVERY, { attempt: attemptNow(), next: "failed", disables: true });
      expect(await store.delivery(project, NOWHERE, NO_DELIVERY)).toBeNull();
    });
  });

  describe("redeliver", () => {
    for (const next of ["failed", "delivered"] as const) {
      test(`of one that is ${next} makes one more attempt under the same id, due now`, async () => {
        const webhook = await make();
        const delivery = await addTest(webhook);
        await record(delivery, { next });
        const before = await reread(delivery);
        clock.advance(MINUTE_MS);
        const again = await store.redeliver(project, webhook.id, delivery.id);
        expect(again).toEqual({ ...before, status: "pending", nextAttemptAt: clock.now() });
        expect(await due()).toMatchObject([{ id: delivery.id, attempts: 0, isRetried: false }]);
      });
    }

    test("of a pending one makes it due now and keeps its retries", async () => {
      const webhook = await make();
      const delivery = await addTest(webhook);
      await record(delivery, { next: { at: clock.now() + 30 * MINUTE_MS } });
      expect(await due()).toEqual([]);
      await store.redeliver(project, webhook.id, delivery.id);
      expect(await due()).toMatchObject([{ id: delivery.id, attempts: 1, isRetried: true }]);
    });

    test("during an attempt that fails makes another attempt", async () => {
      const webhook = await make();
      const delivery = await addTest(webhook);
      const underWay = attemptNow();
      clock.advance(10);
      await store.redeliver(project, webhook.id, delivery.id);
      await record(delivery, { attempt: underWay, next: { at: clock.now() + MINUTE_MS } });
      expect(await reread(delivery)).toMatchObject({ status: "pending", attempts: [underWay] });
      expect(await dueIds()).toEqual([delivery.id]);
    });

    test("is sent even if the webhook is disabled", async () => {
      const webhook = await make();
      const delivery = await addTest(webhook);
      await store.change(project, webhook.id, { isEnabled: false });
      await store.redeliver(project, webhook.id, delivery.id);
      expect(await dueIds()).toEqual([delivery.id]);
    });
  });

  describe("prune", () => {
    test("removes deliveries that ended before, not pending, later or redelivered ones", async () => {
      const webhook = await make();
      const [ended, pending, later, again] = [
        await addTest(webhook),
        await addTest(webhook),
        await addTest(webhook),
        await addTest(webhook),
      ];
      await record(ended);
      await record(pending, { next: { at: clock.now() + 10 * MINUTE_MS } });
      await record(again, { next: "delivered" });
      clock.advance(MINUTE_MS);
      const before = clock.now();
      await record(later);
      await store.redeliver(project, webhook.id, again.id);
      await record(again, { next: "delivered" });
      await store.prune(before);
      const kept = (await store.deliveries(project, webhook.id, { limit: 9 })).items.map(({ id }) => id);
      expect(kept).toEqual([again.id, later.id, pending.id]);
      expect(await store.delivery(project, webhook.id, ended.id)).toBeNull();
    });

    test("removes any number over several calls", async () => {
      const webhook = await make();
      for (let count = 0; count < 1_200; count++) await addTest(webhook);
      await store.change(project, webhook.id, { isEnabled: false });
      clock.advance(1);
      for (let call = 0; call < 20; call++) await store.prune(clock.now());
      expect((await store.deliveries(project, webhook.id, { limit: 1 })).items).toEqual([]);
    });
  });

  describe("cursors", () => {
    const cursorOf = (page: Page<unknown>): string => present(page.cursor);

    test("of another list, project or webhook are refused, and so are damaged ones", async () => {
      const [first, second, theirs] = [await make(), await make(), await make({}, other)];
      for (const webhook of [first, first, second, second]) await addTest(webhook);
      for (let count = 0; count < 2; count++) await addTest(theirs, other);
      await make({}, other);
      const ofWebhooks = cursorOf(await store.list(project, { limit: 1 }));
      const ofFirst = cursorOf(await store.deliveries(project, first.id, { limit: 1 }));
      const invalid: readonly (readonly [string, () => unknown])[] = [
        [
          "webhooks to deliveries",
          async () => await store.deliveries(project, first.id, { limit: 1, cursor: ofWebhooks }),
        ],
        ["deliveries to webhooks", async () => await store.list(project, { limit: 1, cursor: ofFirst })],
        ["another webhook", async () => await store.deliveries(project, second.id, { limit: 1, cursor: ofFirst })],
        ["another project's webhooks", async () => await store.list(other, { limit: 1, cursor: ofWebhooks })],
        [
          "another project's deliveries",
          async () => await store.deliveries(other, first.id, { limit: 1, cursor: ofFirst }),
        ],
        ["damaged", async () => await store.list(project, { limit: 1, cursor: `${ofWebhooks}x` })],
        ["empty", async () => await store.deliveries(project, first.id, { limit: 1, cursor: "" })],
      ];
      for (const [what, call] of invalid) expect(await codeOf(call), what).toBe("invalid_cursor");
    });

    test("are null at the end, even if the page is full", async () => {
      const webhook = await make();
      await make();
      await addTest(webhook);
      await addTest(webhook);
      expect((await store.list(project, { limit: 2 })).cursor).toBeNull();
      expect((await store.deliveries(project, webhook.id, { limit: 2 })).cursor).toBeNull();
      expect((await store.deliveries(project, webhook.id, { limit: 1 })).cursor).not.toBeNull();
    });
  });

  test(`lists have each item once, newest first, while items are added and removed (seed ${SEED}, ${STEPS} steps)`, async () => {
    await new ListHistory(store, [project, other], clock, await seeded(SEED)).run(STEPS);
  });
});

const DRAFT: WebhookDraft = {
  url: "https://hooks.example.com/in",
  events: ["memory.completed"],
  description: null,
  isEnabled: true,
};

/**
 * A list that is read page by page while it changes. The next page must show the items that are older than `last`, the
 * last item of the page before.
 */
interface Walk {
  readonly what: string;
  readonly read: (listing: Listing) => Eventually<Page<{ readonly id: string }>>;
  /** Ids of the list as it is now, newest first. */
  readonly expected: () => readonly string[];
  cursor: string | null;
  last: string | null;
}

/** Changes webhooks and deliveries at random, reads pages of their lists, and compares these with lists in memory. */
class ListHistory {
  /**
   * Position of every id that ever existed, oldest first. It shows which items are older than `last`, even after that
   * item was removed.
   */
  readonly #order = new Map<string, number>();
  readonly #webhooks: { readonly project: ProjectId; readonly id: WebhookId; deliveries: DeliveryId[] }[] = [];
  #walks: Walk[] = [];

  constructor(
    private readonly store: WebhookStore,
    private readonly projects: readonly ProjectId[],
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  async run(steps: number): Promise<void> {
    const actions = [this.#create, this.#remove, this.#deliver, this.#deliver, this.#begin, this.#page, this.#page];
    for (let step = 0; step < steps; step++) {
      await this.#pick(actions)?.call(this);
      if (this.random() < 0.05) await this.#prune();
      this.clock.advance(Math.floor(this.random() * 3));
    }
  }

  async #create(): Promise<void> {
    const project = present(this.#pick(this.projects));
    const held = this.#webhooks.filter((webhook) => webhook.project === project).length;
    if (held === LIMITS.webhooksPerProject) return;
    const { id } = (await this.store.create(project, DRAFT)).webhook;
    this.#order.set(id, this.#order.size);
    this.#webhooks.push({ project, id, deliveries: [] });
  }

  async #remove(): Promise<void> {
    const webhook = this.#pick(this.#webhooks);
    if (webhook === undefined || this.random() < 0.7) return;
    expect(await this.store.remove(webhook.project, webhook.id)).toBe(true);
    this.#webhooks.splice(this.#webhooks.indexOf(webhook), 1);
    webhook.deliveries = [];
  }

  async #deliver(): Promise<void> {
    const webhook = this.#pick(this.#webhooks);
    if (webhook === undefined) return;
    for (let count = Math.floor(this.random() * 8); count > 0; count--) {
      const { id } = present(await this.store.addTest(webhook.project, webhook.id));
      this.#order.set(id, this.#order.size);
      webhook.deliveries.push(id);
    }
  }

  // Ends some deliveries of one webhook and removes them.
  async #prune(): Promise<void> {
    const webhook = this.#pick(this.#webhooks);
    if (webhook === undefined) return;
    const ended = webhook.deliveries.filter(() => this.random() < 0.3);
    const attempt = { at: this.clock.now(), statusCode: 200, error: null, ms: 1 };
    for (const id of ended) await this.store.record(id, { attempt, next: "delivered", disables: false });
    this.clock.advance(1);
    await this.store.prune(this.clock.now());
    webhook.deliveries = webhook.deliveries.filter((id) => !ended.includes(id));
  }

  #begin(): void {
    const { store } = this;
    const project = present(this.#pick(this.projects));
    const webhook = this.#pick(this.#webhooks);
    const place = { cursor: null, last: null };
    this.#walks.push({
      ...place,
      what: `webhooks of ${project}`,
      read: async (listing) => await store.list(project, listing),
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
      read: async (listing) => await store.deliveries(webhook.project, webhook.id, listing),
      expected: () => webhook.deliveries.toReversed(),
    });
  }

  async #page(): Promise<void> {
    const walk = this.#pick(this.#walks);
    if (walk === undefined) return;
    const limit = 1 + Math.floor(this.random() * 5);
    const { last, cursor } = walk;
    const page = await walk.read({ limit, ...(cursor !== null && { cursor }) });
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

const PROJECTS = ["prj_00000000000000000000000000", "prj_00000000000000000000000001"] as const;

function openStore(path: string, clock: Clock): { database: SqliteDatabase; store: WebhookStore } {
  const database = openDatabase(path);
  for (const id of PROJECTS) {
    database
      .prepare<never, { id: string }>(
        "INSERT OR IGNORE INTO projects (id, name, plan, created_at) VALUES ($id, 'some', 'free', 0)",
      )
      .run({ id });
  }
  return { database, store: connectStores(database, database, { clock, newWebhookSecret }).webhooks };
}

test("webhooks and deliveries are durable", async () => {
  const folder = temporaryFolder();
  const path = join(folder.path, "mneme.sqlite");
  const clock = new ManualClock();
  const project = PROJECTS[0] as ProjectId;
  const first = openStore(path, clock);
  const { webhook } = await first.store.create(project, {
    url: "https://hooks.example.com",
    events: ["memory.failed"],
    description: "kept",
    isEnabled: true,
  });
  const delivery = await first.store.addTest(project, webhook.id);
  const due = await first.store.due(9, new Set());
  first.database.close();
  const second = openStore(path, clock);
  expect(await second.store.get(project, webhook.id)).toEqual(webhook);
  expect((await second.store.deliveries(project, webhook.id, { limit: 9 })).items).toEqual(
    delivery === null ? [] : [delivery],
  );
  expect(await second.store.due(9, new Set())).toEqual(due);
  second.database.close();
  folder.remove();
});

test("a webhook for an unknown project is refused", () => {
  const folder = temporaryFolder();
  const { database, store } = openStore(join(folder.path, "mneme.sqlite"), new ManualClock());
  const draft = { url: "https://hooks.example.com", events: [], description: null, isEnabled: true };
  expect(() => store.create("prj_nowhere" as ProjectId, draft)).toThrow("bug in Mneme");
  database.close();
  folder.remove();
});
