// Webhook deliveries: each is sent at least once, on schedule, across restarts and failures of the store, and no slow
// receiver delays the others. The store is SQLite; tests of signatures use a real HTTP receiver.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { createOutboundSender } from "../../src/adapters/outbound/sender.ts";
import type { DeliveryId, ProjectId } from "../../src/domain/ids.ts";
import type { Delivery, Webhook } from "../../src/domain/webhook.ts";
import { type Clock, systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { OutboundAnswer, OutboundSender } from "../../src/ports/outbound.ts";
import type { Transactions } from "../../src/ports/transactions.ts";
import type { WebhookStore, WebhookWithSecret } from "../../src/ports/webhook-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { type DispatcherDependencies, WebhookDispatcher } from "../../src/webhooks/dispatcher.ts";
import { nextAttempt, parseRetries, RETRIES_EXPECTED } from "../../src/webhooks/schedule.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { until } from "../support/until.ts";

const PROJECT = "prj_00000000000000000000000000" as ProjectId;
const DAY_MS = 24 * 60 * 60 * 1_000;
const RETRY_DELAYS_MS = [5_000, 300_000, 1_800_000];
const log = createLog("silent");

describe("the schedule", () => {
  const nextAfter = (statusCode: number | null, attemptsMade: number, isRetried = true) =>
    nextAttempt({ statusCode, attemptsMade, retryDelaysMs: RETRY_DELAYS_MS, isRetried, now: 1_000 });

  test("treats every 2xx as delivered", () => {
    for (const status of [200, 201, 204, 299])
      expect(nextAfter(status, 4)).toEqual({ next: "delivered", disables: false });
  });

  test("retries after anything else in 5 s, 5 min and 30 min, then gives up", () => {
    for (const status of [null, 100, 199, 300, 301, 304, 400, 401, 404, 409, 411, 429, 500, 503]) {
      expect(nextAfter(status, 1), `${status}`).toEqual({ next: { at: 6_000 }, disables: false });
      expect(nextAfter(status, 2), `${status}`).toEqual({ next: { at: 301_000 }, disables: false });
      expect(nextAfter(status, 3), `${status}`).toEqual({ next: { at: 1_801_000 }, disables: false });
      expect(nextAfter(status, 4), `${status}`).toEqual({ next: "failed", disables: false });
      expect(nextAfter(status, 1, false), `${status}`).toEqual({ next: "failed", disables: false });
    }
  });

  test("disables a webhook whose receiver is gone", () => {
    for (const isRetried of [true, false]) {
      expect(nextAfter(410, 1, isRetried)).toEqual({ next: "failed", disables: true });
    }
  });

  test("is parsed from up to three numbers of seconds", () => {
    expect(parseRetries("5,300,1800")).toEqual(RETRY_DELAYS_MS);
    expect(parseRetries(" 1 , 86400 ")).toEqual([1_000, DAY_MS]);
    expect(parseRetries("60")).toEqual([60_000]);
    for (const bad of [
      "",
      "0",
      "5,",
      ",5",
      "86401",
      "-5",
      "1.5",
      "5s",
      "1e3",
      "5 300",
      "5,300,1800,3600",
      "0x5",
      "٥",
    ]) {
      expect(parseRetries(bad), bad).toBeUndefined();
    }
    expect(RETRIES_EXPECTED).toContain("86400");
  });
});

let folder: ReturnType<typeof temporaryFolder>;
let database: SqliteDatabase;
let store: WebhookStore;
let clock: ManualClock;
let transactions: Transactions;
let sender: FakeSender;
let running: WebhookDispatcher[];
beforeEach(() => {
  folder = temporaryFolder();
  clock = new ManualClock();
  sender = new FakeSender(clock);
  running = [];
  openStore(clock);
});
afterEach(async () => {
  await Promise.all(running.map((dispatcher) => dispatcher.stop()));
  database.close();
  folder.remove();
});

function openStore(time: Clock): void {
  database = openDatabase(join(folder.path, "mneme.sqlite"));
  database
    .prepare<never, { id: string }>(
      "INSERT OR IGNORE INTO projects (id, name, plan, created_at) VALUES ($id, 'some', 'free', 0)",
    )
    .run({ id: PROJECT });
  ({ webhooks: store, transactions } = connectStores(database, database, { clock: time, newWebhookSecret }));
}

function begin(parts: Partial<DispatcherDependencies> = {}): WebhookDispatcher {
  const dispatcher = new WebhookDispatcher({ store, sender, clock, log, retryDelaysMs: RETRY_DELAYS_MS, ...parts });
  running.push(dispatcher);
  dispatcher.start();
  return dispatcher;
}

async function webhook(url = "https://a.example/in"): Promise<WebhookWithSecret> {
  return store.create(PROJECT, { url, events: ["memory.completed"], description: null, isEnabled: true });
}

async function add({ webhook: { id } }: WebhookWithSecret): Promise<Delivery> {
  const delivery = await store.addTest(PROJECT, id);
  if (delivery === null) throw new Error("there is no such webhook");
  return delivery;
}

async function reread({ webhookId, id }: Delivery): Promise<Delivery> {
  const delivery = await store.delivery(PROJECT, webhookId, id);
  if (delivery === null) throw new Error("the delivery is gone");
  return delivery;
}

async function isEnabled({ id }: Webhook): Promise<boolean | undefined> {
  return (await store.get(PROJECT, id))?.isEnabled;
}

/** Lets the dispatcher do everything that it can do before the clock advances. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Advances the clock by `ms` - 1, then by 1, so that an action that runs one millisecond too early is noticed. */
async function pass(ms: number): Promise<void> {
  await settle();
  clock.advance(ms - 1);
  await settle();
  clock.advance(1);
  await settle();
}

interface Call {
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Time of the call in Unix milliseconds. */
  readonly at: number;
}

const answerOf = (statusCode: number): OutboundAnswer => ({ statusCode, error: null, ms: 3 });
const STOPPED: OutboundAnswer = { statusCode: null, error: "stopped", ms: 3 };

/** A sender whose answers a test sets. A call that hangs ends when it is aborted or when `release` is called. */
class FakeSender implements OutboundSender {
  readonly calls: Call[] = [];
  answer: (host: string) => OutboundAnswer | "hangs" = () => answerOf(200);
  /** Answer of a call that was aborted. */
  whenStopped = STOPPED;
  concurrentMax = 0;
  readonly perHostMax = new Map<string, number>();
  readonly #running: string[] = [];
  readonly #hanging: ((answer: OutboundAnswer) => void)[] = [];

  constructor(private readonly clock: Clock) {}

  async post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<OutboundAnswer> {
    const { host } = new URL(url);
    this.calls.push({ host, headers, body, at: this.clock.now() });
    this.#running.push(host);
    const toHost = this.#running.filter((other) => other === host).length;
    this.concurrentMax = Math.max(this.concurrentMax, this.#running.length);
    this.perHostMax.set(host, Math.max(this.perHostMax.get(host) ?? 0, toHost));
    const answer = this.answer(host);
    const ended = answer === "hangs" ? await this.#hang(signal) : answer;
    this.#running.splice(this.#running.indexOf(host), 1);
    return ended;
  }

  /** Ends the call that has been hanging for the longest time. */
  release(answer: OutboundAnswer): void {
    this.#hanging.shift()?.(answer);
  }

  to(host: string): number {
    return this.calls.filter((call) => call.host === host).length;
  }

  #hang(signal: AbortSignal): Promise<OutboundAnswer> {
    return new Promise((resolve) => {
      this.#hanging.push(resolve);
      signal.addEventListener("abort", () => resolve(this.whenStopped), { once: true });
    });
  }
}

describe("a delivery", () => {
  test("that fails is retried after exactly 5 s, 5 min and 30 min, then marked as failed", async () => {
    sender.answer = () => answerOf(500);
    const delivery = await add(await webhook());
    const startedAt = clock.now();
    begin();
    for (const delayMs of RETRY_DELAYS_MS) {
      await pass(delayMs);
    }
    await pass(DAY_MS);
    expect(sender.calls.map(({ at }) => at - startedAt)).toEqual([0, 5_000, 305_000, 2_105_000]);
    expect(await reread(delivery)).toMatchObject({ status: "failed", nextAttemptAt: null });
    expect((await reread(delivery)).attempts.map(({ at, statusCode }) => [at - startedAt, statusCode])).toEqual([
      [0, 500],
      [5_000, 500],
      [305_000, 500],
      [2_105_000, 500],
    ]);
  });

  test("keeps its id and body in all attempts, and is signed for each attempt", async () => {
    sender.answer = () => answerOf(500);
    const made = await webhook();
    const delivery = await add(made);
    begin();
    await pass(5_000);
    const [first, second] = sender.calls;
    expect(first?.headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "Mneme",
      "webhook-id": delivery.id,
      "webhook-timestamp": String(Math.floor((first?.at ?? 0) / 1_000)),
    });
    expect(second?.headers["webhook-id"]).toBe(delivery.id);
    expect(second?.body).toBe(first?.body ?? "");
    expect(second?.headers["webhook-timestamp"]).toBe(String(Number(first?.headers["webhook-timestamp"]) + 5));
    expect(second?.headers["webhook-signature"]).not.toBe(first?.headers["webhook-signature"] ?? "");
  });

  test("that succeeds at its second attempt is not sent again", async () => {
    sender.answer = () => answerOf(sender.calls.length === 1 ? 503 : 204);
    const delivery = await add(await webhook());
    begin();
    await pass(5_000);
    await pass(DAY_MS);
    expect(sender.calls).toHaveLength(2);
    expect(await reread(delivery)).toMatchObject({ status: "delivered", nextAttemptAt: null });
    expect((await reread(delivery)).attempts.map(({ statusCode }) => statusCode)).toEqual([503, 204]);
  });

  test("stores why there was no answer", async () => {
    sender.answer = () => ({ statusCode: null, error: "timed out after 10 s", ms: 10_000 });
    const delivery = await add(await webhook());
    begin();
    await settle();
    expect((await reread(delivery)).attempts).toEqual([
      { at: clock.now(), statusCode: null, error: "timed out after 10 s", ms: 10_000 },
    ]);
  });

  test("to a receiver that is gone fails at once, and its webhook is disabled", async () => {
    sender.answer = () => {
      const { length } = sender.calls;
      return length === 1 ? answerOf(410) : "hangs";
    };
    const made = await webhook();
    const [gone, ...waiting] = [await add(made), await add(made), await add(made)];
    begin();
    await until("the webhook is off", async () => (await isEnabled(made.webhook)) === false);
    expect(gone === undefined ? null : await reread(gone)).toMatchObject({ status: "failed", nextAttemptAt: null });
    for (const delivery of waiting) expect((await reread(delivery)).status).toBe("failed");
    // the delivery whose attempt ran at the same time was sent; the one that still waited was not
    expect(sender.calls).toHaveLength(2);
    await pass(DAY_MS);
    expect(sender.calls).toHaveLength(2);
  });

  test("that a caller redelivers is sent once more with its id, without retries", async () => {
    sender.answer = () => answerOf(410);
    const made = await webhook();
    const delivery = await add(made);
    const dispatcher = begin();
    await until("it has failed", async () => (await reread(delivery)).status === "failed");
    sender.answer = () => answerOf(500);
    await store.redeliver(PROJECT, made.webhook.id, delivery.id);
    dispatcher.wake();
    await until("it was sent again", () => sender.calls.length === 2);
    await pass(DAY_MS);
    expect(sender.calls.map(({ headers }) => headers["webhook-id"])).toEqual([delivery.id, delivery.id]);
    expect((await reread(delivery)).status).toBe("failed");
    expect((await reread(delivery)).attempts.map(({ statusCode }) => statusCode)).toEqual([410, 500]);
  });

  test("created while the dispatcher sleeps is sent as soon as it is woken", async () => {
    const dispatcher = begin();
    await settle();
    const delivery = await add(await webhook());
    await settle();
    expect(sender.calls).toEqual([]);
    dispatcher.wake();
    await settle();
    expect((await reread(delivery)).status).toBe("delivered");
  });

  test("that ended 30 days ago is removed", async () => {
    const delivery = await add(await webhook());
    begin();
    await settle();
    expect((await reread(delivery)).status).toBe("delivered");
    await pass(29 * DAY_MS);
    expect((await reread(delivery)).status).toBe("delivered");
    clock.advance(DAY_MS);
    await until("it is gone", async () => {
      clock.advance(60_000);
      return (await store.delivery(PROJECT, delivery.webhookId, delivery.id)) === null;
    });
  });
});

describe("a restart", () => {
  test("between two attempts keeps the schedule", async () => {
    sender.answer = () => answerOf(500);
    const startedAt = clock.now();
    const delivery = await add(await webhook());
    const first = begin();
    await pass(5_000);
    await first.stop();
    database.close();
    clock.advance(200_000);
    openStore(clock);
    begin();
    await pass(100_000);
    await pass(1_800_000);
    expect(sender.calls.map(({ at }) => at - startedAt)).toEqual([0, 5_000, 305_000, 2_105_000]);
    expect((await reread(delivery)).status).toBe("failed");
  });

  test("sends at once the deliveries that became due while the server was down", async () => {
    sender.answer = () => answerOf(sender.calls.length === 1 ? 500 : 200);
    const delivery = await add(await webhook());
    const first = begin();
    await settle();
    await first.stop();
    clock.advance(DAY_MS);
    begin();
    await settle();
    expect((await reread(delivery)).status).toBe("delivered");
  });

  test("between sending and recording sends again", async () => {
    const delivery = await add(await webhook());
    const dying = begin({ store: failing({ record: Number.POSITIVE_INFINITY }) });
    await until("it was sent", () => sender.calls.length === 1);
    await dying.stop();
    expect(await reread(delivery)).toMatchObject({ status: "pending", attempts: [] });
    begin();
    await until("it is delivered", async () => (await reread(delivery)).status === "delivered");
    expect(sender.calls.map(({ headers }) => headers["webhook-id"])).toEqual([delivery.id, delivery.id]);
  });
});

describe("a stop", () => {
  test("aborts the running attempt at once and does not count it", async () => {
    sender.answer = () => "hangs";
    const delivery = await add(await webhook());
    const dispatcher = begin();
    await settle();
    expect(sender.calls).toHaveLength(1);
    await dispatcher.stop();
    expect(await reread(delivery)).toEqual(delivery);
  });

  test("still records an answer that arrived", async () => {
    sender.answer = () => "hangs";
    sender.whenStopped = answerOf(200);
    const delivery = await add(await webhook());
    const dispatcher = begin();
    await settle();
    await dispatcher.stop();
    expect((await reread(delivery)).status).toBe("delivered");
  });

  test("is final: nothing is sent afterwards, and a second stop does nothing", async () => {
    const dispatcher = begin();
    await dispatcher.stop();
    await add(await webhook());
    dispatcher.wake();
    dispatcher.start();
    await dispatcher.stop();
    await pass(DAY_MS);
    expect(sender.calls).toEqual([]);
  });
});

describe("a receiver that hangs", () => {
  test("does not delay another one: of 1,000 deliveries to both, all to the other arrive", async () => {
    sender.answer = (host) => (host === "hangs.example" ? "hangs" : answerOf(200));
    const [slow, quick] = [await webhook("https://hangs.example/in"), await webhook("https://quick.example/in")];
    await transactions.run(async ({ webhooks }) => {
      for (let count = 0; count < 500; count++) {
        await webhooks.addTest(PROJECT, slow.webhook.id);
        await webhooks.addTest(PROJECT, quick.webhook.id);
      }
    });
    begin();
    await until("the other's have arrived", () => sender.to("quick.example") === 500);
    await settle();
    expect(sender.to("hangs.example")).toBe(2);
    expect(sender.concurrentMax).toBeLessThanOrEqual(8);
    expect([...sender.perHostMax.values()].every((calls) => calls <= 2)).toBe(true);
    const ids = sender.calls.filter(({ host }) => host === "quick.example").map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(500);
  });

  test("does not delay another one even if it has many webhooks", async () => {
    sender.answer = (host) => (host === "hangs.example" ? "hangs" : answerOf(200));
    for (let count = 0; count < 9; count++) {
      const made = await webhook(`https://hangs.example/${count}`);
      for (let times = 0; times < 10; times++) await add(made);
    }
    clock.advance(1);
    const delivery = await add(await webhook("https://quick.example/in"));
    begin();
    await until("the other's has arrived", async () => (await reread(delivery)).status === "delivered");
    expect(sender.to("hangs.example")).toBe(2);
  });

  test("does not delay another one's retry by more than a second", async () => {
    sender.answer = (host) => (host === "hangs.example" ? "hangs" : answerOf(500));
    const slow = await webhook("https://hangs.example/in");
    for (let count = 0; count < 5; count++) await add(slow);
    await add(await webhook("https://quick.example/in"));
    begin();
    await settle();
    for (let second = 0; second < 6; second++) await pass(1_000);
    expect(sender.to("quick.example")).toBe(2);
  });

  test("frees its slot for the next delivery once it answers", async () => {
    sender.answer = () => "hangs";
    const made = await webhook();
    const deliveries: Delivery[] = [];
    for (let count = 0; count < 4; count++) deliveries.push(await add(made));
    begin();
    await settle();
    expect(sender.calls).toHaveLength(2);
    sender.release(answerOf(200));
    await settle();
    expect(sender.calls.map(({ headers }) => headers["webhook-id"])).toEqual(
      deliveries.slice(0, 3).map(({ id }) => id),
    );
  });

  test("among many leaves at most eight concurrent attempts, and all deliveries are tried", async () => {
    sender.answer = () => "hangs";
    for (let count = 0; count < 10; count++) {
      const made = await webhook(`https://host-${count}.example/in`);
      await add(made);
      await add(made);
    }
    begin();
    await settle();
    expect(sender.calls).toHaveLength(8);
    await until("all were tried", () => {
      sender.release(answerOf(200));
      return sender.calls.length === 20;
    });
    expect(sender.concurrentMax).toBe(8);
    expect(new Set(sender.calls.map(({ headers }) => headers["webhook-id"])).size).toBe(20);
  });
});

describe("a store that fails", () => {
  test("to return due deliveries is tried again a second later", async () => {
    const delivery = await add(await webhook());
    begin({ store: failing({ due: 3, prune: 3 }) });
    await settle();
    expect(sender.calls).toEqual([]);
    for (let second = 0; second < 3; second++) await pass(1_000);
    expect((await reread(delivery)).status).toBe("delivered");
  });

  test("to record an attempt is tried again, and nothing is sent twice", async () => {
    const delivery = await add(await webhook());
    begin({ store: failing({ record: 3 }) });
    for (let second = 0; second < 2; second++) await pass(1_000);
    expect((await reread(delivery)).status).toBe("pending");
    await pass(1_000);
    expect((await reread(delivery)).status).toBe("delivered");
    expect((await reread(delivery)).attempts).toHaveLength(1);
    expect(sender.calls).toHaveLength(1);
  });

  test("to record an attempt for a minute, as during a failover, does not make another node send it again", async () => {
    const delivery = await add(await webhook());
    begin({ store: failing({ record: 60 }) });
    await settle();
    expect(sender.calls).toHaveLength(1);
    begin();
    for (let second = 0; second < 61; second++) await pass(1_000);
    expect(await reread(delivery)).toMatchObject({ status: "delivered" });
    expect(sender.calls).toHaveLength(1);
  });
});

describe("a receiver that verifies with the standard's library", () => {
  interface Received {
    readonly id: string | null;
    readonly timestamp: number;
    readonly type: string | null;
    /** The message that the library returned. */
    readonly verified: unknown;
  }

  let received: Received[];
  let secret: string;
  let status: (count: number) => Response | Promise<Response>;
  let server: ReturnType<typeof serve>;
  const serve = () =>
    Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const body = await request.text();
        const { headers } = request;
        received.push({
          id: headers.get("webhook-id"),
          timestamp: Number(headers.get("webhook-timestamp")),
          type: headers.get("content-type"),
          verified: new StandardWebhook(secret).verify(body, headers.toJSON()),
        });
        return status(received.length);
      },
    });
  const realSender = () => createOutboundSender({ allow: AllowList.parse("127.0.0.1") });

  beforeEach(() => {
    received = [];
    status = () => new Response(null, { status: 204 });
    database.close();
    openStore(systemClock);
    server = serve();
  });
  afterEach(() => server.stop(true));

  test("accepts deliveries, also with umlauts and emoji", async () => {
    const made = await webhook(`http://127.0.0.1:${server.port}/in`);
    secret = made.secret;
    const delivery = await add(made);
    const body = `{"type":"memory.completed","timestamp":"2027-01-15T08:00:00.000Z","data":{"title":"Grüße 😀 \\u0000"}}`;
    database
      .prepare<never, { body: string; id: DeliveryId }>("UPDATE deliveries SET body = $body WHERE id = $id")
      .run({ body, id: delivery.id });
    begin({ sender: realSender(), clock: systemClock });
    await until("it is delivered", async () => (await reread(delivery)).status === "delivered");
    expect(received).toMatchObject([{ id: delivery.id, type: "application/json", verified: JSON.parse(body) }]);
    expect((await reread(delivery)).attempts).toMatchObject([{ statusCode: 204, error: null }]);
  });

  test("accepts every attempt, and the new secret after a rotation", async () => {
    const made = await webhook(`http://127.0.0.1:${server.port}/in`);
    secret = made.secret;
    status = async (count) => {
      // the secret was rotated after the second attempt, so the third attempt is signed with the new one
      if (count === 2) secret = (await store.rotateSecret(PROJECT, made.webhook.id))?.secret ?? "";
      return new Response(null, { status: count < 3 ? 500 : 200 });
    };
    const delivery = await add(made);
    begin({ sender: realSender(), clock: systemClock, retryDelaysMs: [50, 1_100, 50] });
    await until("it is delivered", async () => (await reread(delivery)).status === "delivered");
    expect(received.map(({ id }) => id)).toEqual([delivery.id, delivery.id, delivery.id]);
    expect(received[2]?.timestamp).toBeGreaterThan(received[0]?.timestamp ?? 0);
  });

  test("that redirects is not followed: the attempt failed", async () => {
    const made = await webhook(`http://127.0.0.1:${server.port}/in`);
    secret = made.secret;
    status = () => Response.redirect(`http://127.0.0.1:${server.port}/elsewhere`, 307);
    const delivery = await add(made);
    begin({ sender: realSender(), clock: systemClock });
    await until("it was tried", async () => (await reread(delivery)).attempts.length === 1);
    expect(await reread(delivery)).toMatchObject({ status: "pending", attempts: [{ statusCode: 307, error: null }] });
    expect(received).toHaveLength(1);
  });
});

/** Returns the store with methods whose first calls fail: as many calls as `times` gives for each method. */
function failing(times: { readonly due?: number; readonly record?: number; readonly prune?: number }) {
  const left = { due: 0, record: 0, prune: 0, ...times };
  const breaking = (call: keyof typeof left) => {
    left[call] -= 1;
    if (left[call] >= 0) throw new Error("the disk is full");
  };
  const real = store;
  const broken: DispatcherDependencies["store"] = {
    due: (limit, except) => {
      breaking("due");
      return real.due(limit, except);
    },
    claim: (id, forMs) => real.claim(id, forMs),
    giveBack: (id) => real.giveBack(id),
    nextDueInMs: () => real.nextDueInMs(),
    record: async (id, outcome) => {
      breaking("record");
      await real.record(id, outcome);
    },
    prune: async (beforeMs) => {
      breaking("prune");
      await real.prune(beforeMs);
    },
  };
  return broken;
}
