// The whole service on PostgreSQL: what it keeps over restarts, and which databases and folders it refuses.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { execute, postgresServer } from "../support/postgres.ts";
import { startService, type TestService } from "../support/service.ts";
import { ENGLISH, MULTILINGUAL } from "../support/shipped-models.ts";
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

  test("answers changes with 503 while the database's disk is full, reads and searches go on, and nothing is lost", async () => {
    const mneme = await start();
    const { body: kept } = await mneme.store({ content: "The ferry to Lund leaves at nine." });
    // what PostgreSQL reports when it cannot extend a file
    await execute(
      database.url,
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN
        RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $body$`,
      "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON memories EXECUTE FUNCTION full_disk()",
    );
    for (const [method, path, body] of [
      ["POST", "/v1/memories", { content: "Not stored." }],
      ["PUT", `/v1/memories/${kept.id}`, { content: "Not changed." }],
      ["DELETE", `/v1/memories/${kept.id}`, undefined],
    ] as const) {
      const refused = await mneme.call(method, path, body);
      expect([method, refused.status]).toEqual([method, 503]);
      expect(refused.body.error).toMatchObject({ code: "unavailable", retry_after_seconds: 5 });
    }
    expect((await mneme.call("GET", `/v1/memories/${kept.id}`)).body.content).toBe("The ferry to Lund leaves at nine.");
    expect(await found(mneme, "ferry")).toEqual(["The ferry to Lund leaves at nine."]);
    await execute(database.url, "DROP TRIGGER full_disk ON memories", "DROP FUNCTION full_disk");
    expect((await mneme.store({ content: "The bus leaves at ten." })).body.status).toBe("completed");
  });

  test("refuses to start with one sentence if the connection is lost meanwhile, and starts when it is not", async () => {
    // a proxy whose server went away: it accepts connections and closes them
    const proxy = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { open: (socket) => void socket.end(), data() {} },
    });
    const url = new URL(database.url);
    [url.hostname, url.port] = ["127.0.0.1", String(proxy.port)];
    const refusal = await refusalOf(start(folder.path, url.href));
    expect(refusal).toMatch(
      /^The database \S+@127\.0\.0\.1:\d+\/\S+ (cannot be reached|ended the connection)[^\n]*\.$/,
    );
    expect(refusal).not.toContain(url.password);
    proxy.stop(true);
    expect((await (await start()).store({ content: "The bus leaves at ten." })).body.status).toBe("completed");
  });

  test("refuses a folder whose index has vectors of a model that is not installed, and names both", async () => {
    await (await start()).store({ content: "The ferry to Lund leaves at nine." });
    await stop(running[0] as TestService);
    const models = join(folder.path, "models");
    cpSync(join(import.meta.dir, "../../data/models"), models, { recursive: true });
    rmSync(join(models, MULTILINGUAL), { recursive: true });
    const other = startService({
      dataDir: folder.path,
      config: { store: database.url, modelsDir: models, embedder: ENGLISH },
    });
    expect(await refusalOf(other)).toMatch(
      /has vectors of the model \S+, which is not installed .*put the folder of that model back/,
    );
    const again = await start();
    expect(await found(again, "ferry")).toEqual(["The ferry to Lund leaves at nine."]);
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
