// Tests the outbox: an event reaches exactly the webhooks that subscribed to it, if and only if its change became
// durable.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import type { Webhook, WebhookDraft } from "../../src/domain/webhook.ts";
import type { WebhookStore } from "../../src/ports/webhook-store.ts";
import { Outbox } from "../../src/stores/outbox.ts";
import { systemRandom } from "../../src/stores/rows/random.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { SqliteSession, SqliteWriter } from "../../src/stores/sqlite/session.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { WriteQueue } from "../../src/stores/sqlite/write-queue.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { completedMemory } from "../support/memory.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const PROJECT = "prj_00000000000000000000000000" as ProjectId;
const OTHER = "prj_00000000000000000000000001" as ProjectId;

let folder: ReturnType<typeof temporaryFolder>;
let database: SqliteDatabase;
let clock: ManualClock;
let webhooks: WebhookStore;
let session: SqliteWriter;
let outbox: Outbox;
let recorded: number;
let described: number;
let keys: Map<ProjectId, bigint>;
beforeEach(() => {
  folder = temporaryFolder();
  database = openDatabase(join(folder.path, "mneme.sqlite"));
  clock = new ManualClock();
  recorded = 0;
  described = 0;
  keys = new Map([PROJECT, OTHER].map((id) => [id, addProject(id)]));
  webhooks = connectStores(database, database, { clock, newWebhookSecret }).webhooks;
  const queue = new WriteQueue();
  session = new SqliteWriter(database, new SqliteSession(database), queue);
  outbox = new Outbox(session, {
    ...{ clock, random: systemRandom },
    describe: ({ id, title }) => {
      described++;
      return { id, title };
    },
    onDeliveries: () => recorded++,
  });
});
afterEach(() => {
  database.close();
  folder.remove();
});

function addProject(id: ProjectId): bigint {
  const row = database
    .prepare<{ project_key: bigint }, { id: string }>(
      "INSERT INTO projects (id, name, plan, created_at) VALUES ($id, 'some', 'free', 0) RETURNING project_key",
    )
    .get({ id });
  return row?.project_key ?? 0n;
}

async function webhook(draft: Partial<WebhookDraft> = {}, project = PROJECT): Promise<Webhook> {
  const created = await webhooks.create(project, {
    url: "https://hooks.example.com",
    events: ["memory.completed", "memory.deleted"],
    description: null,
    isEnabled: true,
    ...draft,
  });
  return created.webhook;
}

/** Runs `work` in a transaction of the outbox. */
async function inTransaction(work: () => Promise<void>): Promise<void> {
  await session.begin();
  try {
    await work();
    for (const effect of await session.commit()) await effect();
  } catch (error) {
    await session.rollback();
    throw error;
  } finally {
    session.end();
  }
}

function memory(title = "Grüße 😀"): Memory {
  return completedMemory({ title, state: { status: "completed", chunkCount: 3, extraction: "local" } });
}

type Recorded = Parameters<Outbox["record"]>[1];
const record = (event: Recorded, project = PROJECT, subject = memory()) =>
  inTransaction(() => outbox.record(keys.get(project) ?? 0n, event, [subject]));
const deliveriesTo = async ({ id }: Webhook, project = PROJECT) =>
  (await webhooks.deliveries(project, id, { limit: 100 })).items;

test("an event becomes one pending delivery, due at once, with the compact JSON of the API", async () => {
  const subscribed = await webhook();
  await record("memory.completed");
  expect(await deliveriesTo(subscribed)).toMatchObject([
    { event: "memory.completed", status: "pending", attempts: [], createdAt: clock.now(), nextAttemptAt: clock.now() },
  ]);
  expect((await webhooks.due(9, new Set())).map(({ body }) => body)).toEqual([
    '{"type":"memory.completed","timestamp":"2027-01-15T08:00:00.000Z",' +
      '"data":{"id":"mem_00000000000000000000000000","title":"Grüße 😀"}}',
  ]);
});

describe("an event goes", () => {
  test("to every webhook that subscribed to it, and to no other", async () => {
    const [first, second] = [await webhook(), await webhook({ events: ["memory.deleted"] })];
    const unsubscribed = await webhook({ events: ["memory.failed", "memory.updated", "memory.completed"] });
    const nothing = await webhook({ events: [] });
    await record("memory.deleted");
    expect(await deliveriesTo(first)).toHaveLength(1);
    expect(await deliveriesTo(second)).toHaveLength(1);
    expect(await deliveriesTo(unsubscribed)).toEqual([]);
    expect(await deliveriesTo(nothing)).toEqual([]);
    expect(new Set([...(await deliveriesTo(first)), ...(await deliveriesTo(second))].map(({ id }) => id)).size).toBe(2);
  });

  test("not to webhooks that are switched off, and again to those that are switched on", async () => {
    const off = await webhook({ isEnabled: false });
    await record("memory.completed");
    await webhooks.change(PROJECT, off.id, { isEnabled: true });
    await record("memory.deleted");
    expect((await deliveriesTo(off)).map(({ event }) => event)).toEqual(["memory.deleted"]);
  });

  test("to webhooks of its own project only", async () => {
    const [mine, theirs] = [await webhook(), await webhook({}, OTHER)];
    await record("memory.completed", OTHER);
    expect(await deliveriesTo(mine)).toEqual([]);
    expect(await deliveriesTo(theirs, OTHER)).toHaveLength(1);
  });
});

test("deliveries are due in the order of their events, and show the memory as it was then", async () => {
  await webhook();
  for (const title of ["one", "two"]) {
    await record("memory.completed", PROJECT, memory(title));
    clock.advance(1);
  }
  const titles = (await webhooks.due(9, new Set())).map(
    ({ body }) => (JSON.parse(body) as { data: Memory }).data.title,
  );
  expect(titles).toEqual(["one", "two"]);
});

test("a change that is rolled back adds no delivery", async () => {
  const subscribed = await webhook();
  const undone = inTransaction(async () => {
    await outbox.record(keys.get(PROJECT) ?? 0n, "memory.completed", [memory()]);
    throw new Error("changed my mind");
  });
  await expect(undone).rejects.toThrow("changed my mind");
  expect(await deliveriesTo(subscribed)).toEqual([]);
  expect(recorded).toBe(0);
});

test("onRecorded is called after deliveries are durable, and not if there are none", async () => {
  await webhook();
  await inTransaction(async () => {
    await outbox.record(keys.get(PROJECT) ?? 0n, "memory.completed", [memory()]);
    expect(recorded).toBe(0);
  });
  expect(recorded).toBe(1);
  await record("memory.failed");
  await record("memory.completed", OTHER);
  expect(recorded).toBe(1);
});

test("a memory is not described if no webhook subscribed", async () => {
  await webhook({ events: ["memory.updated"] });
  await record("memory.completed");
  expect(described).toBe(0);
});
