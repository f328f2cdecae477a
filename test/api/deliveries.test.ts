// Deliveries of webhooks to a receiver on loopback: each event once and signed, retries after failures, and the record
// of deliveries. The standard's own library verifies the signatures.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { executeNow } from "../support/postgres.ts";
import { SettableClock, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import {
  type Received,
  type ReceivedEvent,
  receiveWebhooks,
  verified,
  type WebhookReceiver,
} from "../support/webhook-receiver.ts";
import { expectFault } from "./faults.ts";
import { walk } from "./pages.ts";

const RETRIES_MS = [40, 60, 80];
const NOWHERE = "dlv_00000000000000000000000000";
/** An address where nothing listens. */
const CLOSED = "http://127.0.0.1:9/";
const clock = new SettableClock();
let mneme: TestService;
let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = receiveWebhooks();
  const config = { webhookAllow: AllowList.parse("127.0.0.1"), webhookRetriesMs: RETRIES_MS };
  mneme = await startService({ countsWords: true, clock, config });
});
afterAll(async () => {
  await mneme.stop();
  await receiver.stop();
});

interface Hook {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
  readonly project: string;
  call: (method: string, path: string, body?: unknown) => ReturnType<TestService["call"]>;
  deliveries: () => Promise<readonly Delivery[]>;
}

interface Delivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly status: string;
  readonly attempts: readonly {
    readonly at: string;
    readonly status_code: number | null;
    readonly error: string | null;
    readonly ms: number;
  }[];
  readonly created_at: string;
  readonly next_attempt_at: string | null;
}

let hooks = 0;
/** Creates a webhook with a path of its own, in a project of its own. */
async function hook(events: readonly string[], more: object = {}): Promise<Hook> {
  const at = hooks++;
  const [path, project] = [`/hook-${at}`, `prj_deliveries_${at}`];
  const headers = { authorization: `Bearer ${mneme.addKey(["*"], project)}` };
  const call: Hook["call"] = (method, to, body) => mneme.call(method, to, body, headers);
  const { status, body } = await call("POST", "/v1/webhooks", { url: receiver.url(path), events, ...more });
  expect(status).toBe(201);
  const deliveries = async () =>
    (await walk(mneme, `/v1/webhooks/${body.id}/deliveries`, { headers })) as unknown as readonly Delivery[];
  return { id: body.id, secret: body.secret, path, project, call, deliveries };
}

/** Waits until `count` events have arrived at a webhook, and returns the last of them with its signature verified. */
async function arrived(to: Hook, count = 1): Promise<ReceivedEvent> {
  const calls = await until(`event ${count} arrives`, () => {
    const all = receiver.at(to.path);
    return all.length >= count ? all : null;
  });
  return verified(calls[count - 1] as Received, to.secret);
}

/** Waits until the only delivery of a webhook has this status, and returns it. */
function ended(to: Hook, status: string): Promise<Delivery> {
  return until(`the delivery is ${status}`, async () => {
    const [delivery] = await to.deliveries();
    return delivery?.status === status ? delivery : null;
  });
}

async function stored(to: Hook, body: object): Promise<Record<string, unknown> & { readonly id: string }> {
  const sent = await to.call("POST", "/v1/memories", body);
  expect(sent.status).toBe(202);
  return until("it is completed", async () => {
    const found = await to.call("GET", `/v1/memories/${sent.body.id}`);
    return found.body.status === "completed" ? found.body : null;
  });
}

/** A memory as events have it: without its content, and without its relations, which are in one answer only. */
const withoutContent = ({ content: _, relations: __, ...rest }: Record<string, unknown>) => rest;

describe("memory.completed", () => {
  test("is sent once when a memory is stored: signed, with the memory but without its content", async () => {
    const to = await hook(["memory.completed"]);
    const memory = await stored(to, { content: "The ferry leaves at noon.", userId: "ada", metadata: { pier: 4 } });
    const event = await arrived(to);
    expect(Object.keys(event).sort()).toEqual(["data", "timestamp", "type"]);
    expect(event).toMatchObject({ type: "memory.completed", data: withoutContent(memory) });
    expect(event.data).not.toHaveProperty("content");
    expect(event.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const { id, attempts } = await ended(to, "delivered");
    const [call] = receiver.at(to.path);
    expect(call?.id).toBe(id);
    expect(call?.headers.get("content-type")).toStartWith("application/json");
    expect(call?.headers.get("webhook-signature")).toStartWith("v1,");
    expect(call?.headers.get("webhook-timestamp")).toMatch(/^\d{10}$/);
    expect(call?.headers.has("authorization")).toBe(false);
    expect([attempts.length, receiver.at(to.path).length]).toEqual([1, 1]);
  });

  test("is sent again after new content, by PUT and by externalId, instead of memory.updated", async () => {
    const to = await hook(["memory.completed", "memory.updated"]);
    const { id } = await stored(to, { content: "First text.", externalId: "x" });
    expect((await arrived(to)).type).toBe("memory.completed");
    expect((await to.call("PUT", `/v1/memories/${id}`, { content: "Second text." })).status).toBe(202);
    expect((await arrived(to, 2)).type).toBe("memory.completed");
    expect((await to.call("POST", "/v1/memories", { content: "Third text.", externalId: "x" })).status).toBe(202);
    expect(await arrived(to, 3)).toMatchObject({ type: "memory.completed", data: { id, externalId: "x" } });
    expect((await to.deliveries()).map(({ event }) => event)).toEqual(Array(3).fill("memory.completed"));
  });
});

describe("memory.updated", () => {
  test("is sent for a change without new content, by PUT and by an upsert", async () => {
    const to = await hook(["memory.updated"]);
    const { id } = await stored(to, { content: "Stays the same.", externalId: "x" });
    expect((await to.call("PUT", `/v1/memories/${id}`, { title: "Named", tags: ["a"] })).status).toBe(200);
    expect(await arrived(to)).toMatchObject({ type: "memory.updated", data: { id, title: "Named", tags: ["a"] } });
    const upsert = { content: "Stays the same.", externalId: "x", title: "Named anew" };
    expect((await to.call("POST", "/v1/memories", upsert)).status).toBe(200);
    expect(await arrived(to, 2)).toMatchObject({ type: "memory.updated", data: { id, title: "Named anew" } });
    expect(await to.deliveries()).toHaveLength(2);
  });
});

describe("memory.deleted", () => {
  test("is sent for a deletion, with the memory as it was", async () => {
    const to = await hook(["memory.deleted"]);
    const memory = await stored(to, { content: "Soon gone.", title: "Gone", metadata: { a: 1 } });
    await to.call("DELETE", `/v1/memories/${memory.id}`);
    expect(await arrived(to)).toMatchObject({ type: "memory.deleted", data: withoutContent(memory) });
  });

  test("is sent once for a purge, and for the deletion of a processing memory", async () => {
    const to = await hook(["memory.deleted", "memory.completed"]);
    const sent = await to.call("POST", "/v1/memories", { content: "Never finished." });
    await to.call("DELETE", `/v1/memories/${sent.body.id}?purge=true`);
    expect(await arrived(to)).toMatchObject({ type: "memory.deleted", data: { id: sent.body.id } });
    await stored(to, { content: "What comes after it." });
    await arrived(to, 2);
    const events = (await to.deliveries()).map(({ event }) => event);
    expect(events).toEqual(["memory.completed", "memory.deleted"]);
  });

  test("is sent for each memory of a user that is deleted with cascade", async () => {
    const to = await hook(["memory.deleted"]);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      ids.push((await to.call("POST", "/v1/memories", { content: `Number ${n}.`, userId: "leaver" })).body.id);
    }
    await to.call("DELETE", "/v1/users/leaver?cascade=true");
    await arrived(to, 3);
    const told = receiver.at(to.path).map((call) => verified(call, to.secret).data.id);
    expect(told.sort()).toEqual(ids.sort());
  });

  test("is sent for expiry", async () => {
    const to = await hook(["memory.deleted"]);
    const { id } = await stored(to, {
      content: "Ephemeral.",
      expires_at: new Date(clock.now() + 30_000).toISOString(),
    });
    clock.advance(30_000);
    // reading the usage detects the expiry at once; otherwise the server detects it within a minute
    expect((await to.call("GET", "/v1/usage")).body.documents.used).toBe(0);
    expect(await arrived(to)).toMatchObject({ type: "memory.deleted", data: { id } });
    expect(await to.deliveries()).toHaveLength(1);
  });
});

describe("memory.failed", () => {
  test("is sent with the reason when processing fails", async () => {
    const to = await hook(["memory.failed", "memory.completed"]);
    const id = await storeDoomed(to.project as ProjectId);
    await stored(to, { content: "Wakes the one who works." });
    await arrived(to, 2);
    const events = receiver.at(to.path).map((call) => verified(call, to.secret));
    const { body } = await to.call("GET", `/v1/memories/${id}`);
    expect(body).toMatchObject({ status: "failed", error: { code: "processing_error" } });
    expect(events.find(({ type }) => type === "memory.failed")?.data).toEqual(withoutContent(body));
  });
});

describe("webhook.test", () => {
  test("202: goes to this webhook without a subscription, with its id as data", async () => {
    const to = await hook(["memory.failed"]);
    const { status, body } = await to.call("POST", `/v1/webhooks/${to.id}/test`);
    expect(status).toBe(202);
    expect(Object.keys(body).sort()).toEqual(
      ["attempts", "created_at", "event", "id", "next_attempt_at", "status", "webhook_id"].sort(),
    );
    expect(body).toMatchObject({ webhook_id: to.id, event: "webhook.test", status: "pending", attempts: [] });
    expect(body.id).toMatch(/^dlv_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(await arrived(to)).toMatchObject({ type: "webhook.test", data: { webhook_id: to.id } });
    expect((await ended(to, "delivered")).id).toBe(body.id);
  });

  test("reaches a disabled webhook, and no other of the project", async () => {
    const to = await hook(["memory.failed", "webhook.test"], { enabled: false });
    const other = await to.call("POST", "/v1/webhooks", { url: receiver.url("/other"), events: ["webhook.test"] });
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    await arrived(to);
    expect((await to.call("GET", `/v1/webhooks/${other.body.id}/deliveries`)).body.data).toEqual([]);
    expect(receiver.at("/other")).toEqual([]);
  });
});

describe("receivers", () => {
  test("only enabled webhooks of the project that subscribe to the event", async () => {
    const to = await hook(["memory.deleted"]);
    const off = await hook(["memory.completed", "memory.deleted"], { enabled: false });
    const stranger = await hook(["memory.completed", "memory.deleted"]);
    const both = await to.call("POST", "/v1/webhooks", {
      url: receiver.url("/second"),
      events: ["memory.completed", "memory.deleted"],
    });
    for (const one of [to, off]) {
      const { id } = await stored(one, { content: "One after the other." });
      await one.call("DELETE", `/v1/memories/${id}`);
    }
    await arrived(to);
    await until("the second webhook has both", () => receiver.at("/second").length === 2);
    expect((await to.deliveries()).map(({ event }) => event)).toEqual(["memory.deleted"]);
    expect((await to.call("GET", `/v1/webhooks/${both.body.id}/deliveries`)).body.data).toHaveLength(2);
    expect(await off.deliveries()).toEqual([]);
    expect(await stranger.deliveries()).toEqual([]);
  });

  test("a changed subscription applies from the change on", async () => {
    const to = await hook(["memory.completed"]);
    await stored(to, { content: "Before." });
    await arrived(to);
    await to.call("PUT", `/v1/webhooks/${to.id}`, { events: ["memory.deleted"] });
    const { id } = await stored(to, { content: "After." });
    await to.call("DELETE", `/v1/memories/${id}`);
    expect((await arrived(to, 2)).type).toBe("memory.deleted");
    expect(await to.deliveries()).toHaveLength(2);
  });

  test("after a rotation only the new secret signs", async () => {
    const to = await hook(["webhook.test"]);
    const rotated = await to.call("POST", `/v1/webhooks/${to.id}/rotate-secret`);
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    await until("it arrives", () => receiver.at(to.path).length === 1);
    const [call] = receiver.at(to.path);
    expect(verified(call as Received, rotated.body.secret).type).toBe("webhook.test");
    expect(() => verified(call as Received, to.secret)).toThrow();
  });
});

describe("failed deliveries", () => {
  test("three retries follow with the same id and body, each with a new signature, then the delivery has failed", async () => {
    const to = await hook(["webhook.test"]);
    receiver.answer(to.path, 500);
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    const delivery = await ended(to, "failed");
    const calls = receiver.at(to.path);
    expect(calls).toHaveLength(4);
    expect(new Set(calls.map(({ id }) => id))).toEqual(new Set([delivery.id]));
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
    for (const call of calls) expect(verified(call, to.secret).type).toBe("webhook.test");
    expect(delivery.attempts.map(({ status_code, error }) => [status_code, error])).toEqual(Array(4).fill([500, null]));
    expect(delivery.next_attempt_at).toBeNull();
    const times = delivery.attempts.map(({ at }) => Date.parse(at));
    for (const [n, wait] of RETRIES_MS.entries()) {
      expect((times[n + 1] ?? 0) - (times[n] ?? 0)).toBeGreaterThanOrEqual(wait);
    }
    expect((await to.call("GET", `/v1/webhooks/${to.id}`)).body.enabled).toBe(true);
  });

  test("a successful retry ends the delivery", async () => {
    const to = await hook(["webhook.test"]);
    receiver.answer(to.path, () => new Response(null, { status: receiver.at(to.path).length < 3 ? 503 : 204 }));
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    const { attempts, next_attempt_at } = await ended(to, "delivered");
    expect(attempts.map(({ status_code }) => status_code)).toEqual([503, 503, 204]);
    expect(next_attempt_at).toBeNull();
  });

  for (const status of [200, 201, 202, 204, 299]) {
    test(`${status} is delivered`, async () => {
      const to = await hook(["webhook.test"]);
      receiver.answer(to.path, status);
      await to.call("POST", `/v1/webhooks/${to.id}/test`);
      expect((await ended(to, "delivered")).attempts.map(({ status_code }) => status_code)).toEqual([status]);
    });
  }

  for (const status of [304, 400, 401, 404, 409, 429, 500, 503]) {
    test(`${status} is not`, async () => {
      const to = await hook(["webhook.test"]);
      receiver.answer(to.path, status);
      await to.call("POST", `/v1/webhooks/${to.id}/test`);
      expect((await ended(to, "failed")).attempts.map(({ status_code }) => status_code)).toEqual(Array(4).fill(status));
    });
  }

  test("a redirect is not followed", async () => {
    const to = await hook(["webhook.test"]);
    receiver.answer(to.path, () => Response.redirect(receiver.url("/elsewhere"), 307));
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    expect((await ended(to, "failed")).attempts.map(({ status_code }) => status_code)).toEqual(Array(4).fill(307));
    expect(receiver.at("/elsewhere")).toEqual([]);
  });

  test("no connection: no status, and a reason that reveals nothing about the internal network", async () => {
    const to = await hook(["webhook.test"]);
    await to.call("PUT", `/v1/webhooks/${to.id}`, { url: CLOSED });
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    for (const { status_code, error, ms } of (await ended(to, "failed")).attempts) {
      expect(status_code).toBeNull();
      expect(error).toBeString();
      expect(error).not.toMatch(/127\.0\.0\.1|errno|syscall|ECONN/);
      expect(ms).toBeGreaterThanOrEqual(0);
    }
  });

  test("between two attempts it is pending and says when the next one is due", async () => {
    const to = await hook(["webhook.test"]);
    const held = Promise.withResolvers<Response>();
    receiver.answer(to.path, () =>
      receiver.at(to.path).length === 1 ? new Response(null, { status: 500 }) : held.promise,
    );
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    await until("the retry is under way", () => receiver.at(to.path).length === 2);
    const [delivery] = await to.deliveries();
    expect(delivery).toMatchObject({ status: "pending", attempts: [{ status_code: 500, error: null }] });
    expect(delivery?.next_attempt_at).toMatch(/Z$/);
    held.resolve(new Response(null, { status: 200 }));
    await ended(to, "delivered");
  });

  test("410 fails it for good, without a retry, and disables the webhook", async () => {
    const to = await hook(["memory.deleted"]);
    receiver.answer(to.path, 410);
    const { id } = await stored(to, { content: "Told once." });
    const another = await stored(to, { content: "Told never." });
    await to.call("DELETE", `/v1/memories/${id}`);
    const { attempts, next_attempt_at } = await ended(to, "failed");
    expect([attempts.map(({ status_code }) => status_code), next_attempt_at]).toEqual([[410], null]);
    expect((await to.call("GET", `/v1/webhooks/${to.id}`)).body.enabled).toBe(false);
    await to.call("DELETE", `/v1/memories/${another.id}`);
    expect(await to.deliveries()).toHaveLength(1);

    // after it is enabled again, the webhook receives new events, but not those that it missed
    receiver.answer(to.path, 200);
    await to.call("PUT", `/v1/webhooks/${to.id}`, { enabled: true });
    const third = await stored(to, { content: "Told again." });
    await to.call("DELETE", `/v1/memories/${third.id}`);
    expect(await arrived(to, 2)).toMatchObject({ data: { id: third.id } });
    expect(receiver.at(to.path)).toHaveLength(2);
  });

  test("disabling a webhook fails its pending deliveries; deleting it deletes its deliveries", async () => {
    const to = await hook(["webhook.test"]);
    const held = Promise.withResolvers<Response>();
    receiver.answer(to.path, () => held.promise);
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    await until("it is under way", () => receiver.at(to.path).length === 1);
    expect((await to.call("PUT", `/v1/webhooks/${to.id}`, { enabled: false })).status).toBe(200);
    expect((await to.deliveries()).map(({ status }) => status)).toEqual(["failed"]);
    held.resolve(new Response(null, { status: 500 }));
    await until("the attempt is written down", async () => (await to.deliveries())[0]?.attempts.length === 1);
    expect((await to.deliveries())[0]).toMatchObject({ status: "failed", next_attempt_at: null });
    expect((await to.call("DELETE", `/v1/webhooks/${to.id}`)).status).toBe(204);
    expectFault(await to.call("GET", `/v1/webhooks/${to.id}/deliveries`), 404, "webhook_not_found", "id");
  });

  test("one receiver that never answers does not delay others", async () => {
    const [slow, quick] = [await hook(["webhook.test"]), await hook(["webhook.test"])];
    const held = Promise.withResolvers<Response>();
    receiver.answer(slow.path, () => held.promise);
    await slow.call("POST", `/v1/webhooks/${slow.id}/test`);
    await quick.call("POST", `/v1/webhooks/${quick.id}/test`);
    await arrived(quick);
    held.resolve(new Response(null, { status: 200 }));
    await ended(slow, "delivered");
  });
});

describe("redeliver", () => {
  const again = (to: Hook, delivery: string) =>
    to.call("POST", `/v1/webhooks/${to.id}/deliveries/${delivery}/redeliver`);

  test("202: one further attempt of the same delivery, under the same id, with the same body", async () => {
    const to = await hook(["webhook.test"]);
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    const { id } = await ended(to, "delivered");
    const { status, body } = await again(to, id);
    expect([status, body.id, body.webhook_id, body.event]).toEqual([202, id, to.id, "webhook.test"]);
    await arrived(to, 2);
    await until("the attempt is written down", async () => (await to.deliveries())[0]?.attempts.length === 2);
    const [first, second] = receiver.at(to.path);
    expect([second?.id, second?.body]).toEqual([first?.id, first?.body]);
    const all = await to.deliveries();
    expect(all).toMatchObject([{ id, status: "delivered" }]);
  });

  test("of a failed one it is a single attempt: delivered, or failed again without a retry", async () => {
    const to = await hook(["webhook.test"]);
    receiver.answer(to.path, 500);
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    const { id } = await ended(to, "failed");
    await again(to, id);
    await until("the fifth attempt is written down", async () => (await to.deliveries())[0]?.attempts.length === 5);
    expect(await ended(to, "failed")).toMatchObject({ next_attempt_at: null });
    receiver.answer(to.path, 200);
    await again(to, id);
    expect((await ended(to, "delivered")).attempts).toHaveLength(6);
    expect(receiver.at(to.path)).toHaveLength(6);
  });

  test("404: an unknown delivery, a malformed id, another webhook's delivery", async () => {
    const [to, other] = [await hook(["webhook.test"]), await hook(["webhook.test"])];
    const { body } = await other.call("POST", `/v1/webhooks/${other.id}/test`);
    for (const unknown of [NOWHERE, "x", "wh_00000000000000000000000000", body.id]) {
      expectFault(await again(to, unknown), 404, "delivery_not_found", "deliveryId");
    }
  });
});

describe("listDeliveries", () => {
  test("200: newest first over all pages, each with every field", async () => {
    const to = await hook(["webhook.test"]);
    const ids: string[] = [];
    for (let n = 0; n < 23; n++) {
      clock.advance(2);
      ids.push((await to.call("POST", `/v1/webhooks/${to.id}/test`)).body.id);
    }
    const listed = await until("all are delivered", async () => {
      const all = await to.deliveries();
      return all.every(({ status }) => status === "delivered") ? all : null;
    });
    expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
    for (const delivery of listed) {
      expect(delivery).toEqual({
        id: delivery.id,
        webhook_id: to.id,
        event: "webhook.test",
        status: "delivered",
        attempts: [{ at: expect.any(String), status_code: 200, error: null, ms: expect.any(Number) }],
        created_at: expect.any(String),
        next_attempt_at: null,
      });
    }
    const page = (query: string) => to.call("GET", `/v1/webhooks/${to.id}/deliveries${query}`);
    expect((await page("")).body.data).toHaveLength(20);
    const first = await page("?limit=5");
    await to.call("POST", `/v1/webhooks/${to.id}/test`);
    const rest = await page(`?limit=100&cursor=${first.body.cursor}`);
    const paged = [...first.body.data, ...rest.body.data].map(({ id }) => id);
    expect(paged).toEqual(ids.toReversed());
  });

  test("limits of 1 and 100 are accepted; 0, 101 and another webhook's cursor are 400", async () => {
    const [to, other] = [await hook(["webhook.test"]), await hook(["webhook.test"])];
    for (const one of [to, to, other, other]) await one.call("POST", `/v1/webhooks/${one.id}/test`);
    const page = (of: Hook, query: string) => of.call("GET", `/v1/webhooks/${of.id}/deliveries${query}`);
    for (const limit of [1, 100]) expect((await page(to, `?limit=${limit}`)).status).toBe(200);
    for (const limit of [0, 101]) expectFault(await page(to, `?limit=${limit}`), 400, "invalid_request", "limit");
    const { cursor } = (await page(other, "?limit=1")).body;
    expectFault(await page(to, `?cursor=${cursor}`), 400, "invalid_cursor", "cursor");
    expectFault(await page(to, "?status=failed"), 400, "invalid_request", "status");
  });
});

/**
 * Stores a memory whose job was claimed too often already, so that the next claim ends with status `failed`. Both
 * writes happen without an `await` between them, so no worker claims the job in between.
 */
async function storeDoomed(project: ProjectId): Promise<string> {
  if (mneme.database !== null) return storeDoomedIn(mneme.database, project);
  const database = openDatabase(join(mneme.dataDir, "mneme.sqlite"));
  try {
    const stores = connectStores(database, database, { clock, newWebhookSecret });
    const [accepted] = await stores.memories.accept(project, [{ content: "Doomed." }]);
    if (accepted === undefined || accepted instanceof Error) throw new Error("the doomed memory was not stored");
    const { id } = accepted.memory;
    database.prepare<never, { id: string }>("UPDATE memories SET attempts = 1000 WHERE id = $id").run({ id });
    return id;
  } finally {
    database.close();
  }
}

// Like storeDoomed, on PostgreSQL.
function storeDoomedIn(url: string, project: ProjectId): string {
  const id = `mem_${"0".repeat(6)}${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
  executeNow(
    url,
    `WITH made AS (
      INSERT INTO memories (id, project_key, version, status, given, content_bytes, content_sha256, created_at, updated_at,
        claimable_at, attempts)
      SELECT '${id}', project_key, 1, 'processing', '[]', 7, sha256('Doomed.'), ${clock.now()}, ${clock.now()},
        ${clock.now()}, 1000
      FROM projects WHERE id = '${project}' RETURNING memory_key)
    INSERT INTO waiting_contents (memory_key, content) SELECT memory_key, 'Doomed.' FROM made`,
  );
  return id;
}
