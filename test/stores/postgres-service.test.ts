// The whole service on PostgreSQL: what it keeps over restarts, and which databases and folders it refuses.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { execute, postgresServer } from "../support/postgres.ts";
import { startService, type TestService } from "../support/service.ts";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "./open-postgres.ts";
import { temporaryFolder } from "./temporary-folder.ts";

withPostgres("the service", () => {
  let database: EmptyDatabase;
  let folder: ReturnType<typeof temporaryFolder>;
  const running: TestService[] = [];

  beforeEach(async () => {
    database = await emptyDatabase();
    folder = temporaryFolder();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((mneme) => mneme.stop()));
    await database.giveBack();
    folder.remove();
  });

  const start = async (dataDir = folder.path, store: string | null = database.url): Promise<TestService> => {
    const mneme = await startService({ dataDir, config: { store } });
    running.push(mneme);
    return mneme;
  };
  const stop = async (mneme: TestService) => {
    running.splice(running.indexOf(mneme), 1);
    await mneme.stop();
  };
  const refusalOf = async (starting: Promise<TestService>): Promise<string> => {
    const [result] = await Promise.allSettled([starting]);
    return result?.status === "rejected" ? String(result.reason.message) : "it was not refused";
  };
  const found = async (mneme: TestService, query: string): Promise<readonly string[]> => {
    const { body } = await mneme.call("POST", "/v1/memories/search", { query });
    return body.results.map(({ content }: { readonly content: string }) => content);
  };

  test("stores, finds and deletes memories; a restart keeps them, and a new folder builds the index again", async () => {
    const first = await start();
    const { body: kept } = await first.store({ content: "The ferry to Lund leaves at nine from pier two." });
    const { body: gone } = await first.store({ content: "The ferry to Ven was cancelled in March." });
    expect([kept.status, gone.status]).toEqual(["completed", "completed"]);
    expect((await first.call("DELETE", `/v1/memories/${gone.id}`)).status).toBe(204);
    expect(await found(first, "ferry to Lund")).toEqual(["The ferry to Lund leaves at nine from pier two."]);
    expect(existsSync(join(folder.path, "mneme.sqlite"))).toBe(false);
    expect(existsSync(join(folder.path, "memories.duckdb"))).toBe(false);
    await stop(first);

    const second = await start();
    expect(await found(second, "ferry to Lund")).toEqual(["The ferry to Lund leaves at nine from pier two."]);
    await stop(second);

    rmSync(folder.path, { recursive: true });
    const third = await start();
    await third.settled(kept.id);
    expect(await found(third, "ferry to Lund")).toEqual(["The ferry to Lund leaves at nine from pier two."]);
    expect((await third.call("GET", `/v1/memories/${gone.id}`)).status).toBe(404);
  });

  test("refuses a folder that another process uses", async () => {
    await start();
    expect(await refusalOf(start())).toMatch(/another process/i);
  });

  test("refuses a folder whose index belongs to another database, and changes neither", async () => {
    await stop(await start());
    const other = await emptyDatabase();
    await execute(other.url, "UPDATE mneme_store SET store_id = 'another'");
    const before = readdirSync(folder.path).sort();
    expect(await refusalOf(start(folder.path, other.url))).toContain("belongs to another database");
    expect(readdirSync(folder.path).sort()).toEqual(before);
    await other.giveBack();
    await stop(await start());
  });

  test("refuses a folder with an embedded store", async () => {
    await stop(await start(folder.path, null));
    expect(await refusalOf(start())).toContain("has an embedded store: remove MNEME_STORE");
  });

  test("answers 503 with seconds to wait while the database is gone, and goes on when it is back", async () => {
    const mneme = await start();
    await mneme.store({ content: "The ferry to Lund leaves at nine." });
    const name = new URL(database.url).pathname.slice(1);
    const server = await postgresServer();
    await execute(
      server,
      `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
    const refused = await mneme.call("GET", "/v1/memories");
    expect(refused.status).toBe(503);
    expect(refused.body.error.retry_after_seconds).toBeGreaterThan(0);
    expect(JSON.stringify(refused.body)).not.toContain("127.0.0.1");
    await execute(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    expect((await mneme.call("GET", "/v1/memories")).body.data).toHaveLength(1);
    expect(await found(mneme, "ferry")).toEqual(["The ferry to Lund leaves at nine."]);
  });
});
