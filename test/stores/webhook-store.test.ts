// The contract of WebhookStore, on SQLite and on PostgreSQL, and tests of the SQLite file.

import { expect, test } from "bun:test";
import { join } from "node:path";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { WebhookStore } from "../../src/ports/webhook-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { webhookStoreContract } from "../contract/webhook-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";
import { temporaryFolder } from "./temporary-folder.ts";

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

webhookStoreContract("SQLite", openSqlite);
withPostgres("WebhookStore", () => webhookStoreContract("PostgreSQL", openPostgres));

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
