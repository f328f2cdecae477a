// Nodes with roles, as real servers on one PostgreSQL database: one answers requests, another one processes memories.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { receiveWebhooks } from "../support/webhook-receiver.ts";

const MEMORIES = 12;

withPostgres("roles of nodes", () => {
  let database: EmptyDatabase;
  let folders: readonly ReturnType<typeof temporaryFolder>[];
  const running: RunningServer[] = [];

  beforeEach(async () => {
    database = await emptyDatabase();
    folders = [temporaryFolder(), temporaryFolder()];
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
    await database.giveBack();
    for (const folder of folders) folder.remove();
  });

  const start = async (at: number, role: string): Promise<RunningServer> => {
    const server = await startServer({
      dataDir: folders[at]?.path ?? "",
      environment: {
        ...{ MNEME_STORE: database.url, MNEME_ROLE: role, MNEME_EMBEDDER: ENGLISH, MNEME_LANES: "1" },
        MNEME_WEBHOOK_ALLOW: "127.0.0.1",
      },
      flags: ["--log-level", "warn"],
    });
    running.push(server);
    return server;
  };
  const status = async (server: RunningServer, id: string) =>
    ((await server.call("GET", `/v1/memories/${id}`)).body as { readonly status: string }).status;

  test("what a node without ingestion accepts is processed by a node without an API, and found at once; webhooks arrive once", async () => {
    const api = await start(0, "api");
    const receiver = receiveWebhooks();
    const events = ["memory.completed", "memory.deleted"];
    expect((await api.call("POST", "/v1/webhooks", { url: receiver.url("/hook"), events })).status).toBe(201);
    const ids: string[] = [];
    for (let at = 0; at < MEMORIES; at++) {
      const answer = await api.call("POST", "/v1/memories", { content: `Lamp ${at} hangs in hall number ${at}.` });
      expect(answer.status).toBe(202);
      ids.push((answer.body as { readonly id: string }).id);
    }
    const beside = new SQL({ url: database.url, max: 1 });
    const claims = "SELECT DISTINCT leased_by FROM memories";
    expect(await beside.unsafe(claims)).toEqual([{ leased_by: null }]);

    const ingest = await start(1, "ingest");
    for (const id of ids) await until("it is completed", async () => (await status(api, id)) === "completed");
    const node = readFileSync(join(ingest.dataDir, "node-id"), "utf8").trim();
    expect(await beside.unsafe(claims)).toEqual([{ leased_by: node }]);
    const { body } = await api.call("POST", "/v1/memories/search", { query: "lamp in hall number 3", limit: 3 });
    expect(JSON.stringify(body)).toContain(String(ids[3]));

    for (const id of ids) expect((await api.call("DELETE", `/v1/memories/${id}`)).status).toBe(204);
    await until("all events arrived", () => receiver.at("/hook").length >= 2 * MEMORIES);
    const pending = "SELECT count(*)::int AS n FROM deliveries WHERE status = 'pending'";
    await until("nothing is pending", async () => (await beside.unsafe(pending))[0]?.n === 0);
    const delivered = receiver.at("/hook").map(({ id }) => id);
    expect(delivered).toHaveLength(2 * MEMORIES);
    expect(new Set(delivered).size).toBe(2 * MEMORIES);
    await beside.close();
    await receiver.stop();
  });

  test("a node without an API has the pages of operators, and refuses everything else with 503 and seconds to wait", async () => {
    const ingest = await start(0, "ingest");
    for (const path of ["/health", "/ready", "/metrics"])
      expect((await fetch(`${ingest.url}${path}`)).status).toBe(200);
    const others = ["/v1/memories", "/v1/nothing", "/", "/docs", "/openapi.json", "/mcp", "/nothing"];
    for (const [method, path] of others.flatMap((path) => [["GET", path] as const, ["POST", path] as const])) {
      const { status, body } = await ingest.call(method, path, method === "POST" ? { content: "text" } : undefined);
      expect([method, path, status]).toEqual([method, path, 503]);
      expect(body).toMatchObject({ error: { code: "unavailable", retry_after_seconds: 1 } });
      expect(JSON.stringify(body)).toContain("MNEME_ROLE=ingest");
    }
  });
});
