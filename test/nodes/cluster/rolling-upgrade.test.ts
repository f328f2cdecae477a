// Two nodes behind HAProxy are replaced one after the other under load: no request fails.

import { describe, expect } from "bun:test";
import { emptyDatabase } from "../../stores/open-postgres.ts";
import { temporaryFolder } from "../../stores/temporary-folder.ts";
import { testOfAll } from "../../support/extent.ts";
import { POSTGRES_MISSING } from "../../support/postgres.ts";
import { type RunningServer, startServer, TEST_KEY } from "../../support/server.ts";
import { ENGLISH } from "../../support/shipped-models.ts";
import { until } from "../../support/until.ts";
import { freePort } from "./database.ts";
import { HAPROXY_MISSING, startBalancer } from "./haproxy.ts";

const CLIENTS = 4;
/** Requests that are answered between two steps. */
const REQUESTS = 60;
const missing = POSTGRES_MISSING ?? HAPROXY_MISSING;

describe.skipIf(missing !== null)(`a rolling upgrade${missing === null ? "" : ` (${missing})`}`, () => {
  testOfAll("of two nodes behind HAProxy fails no request", async () => {
    const database = await emptyDatabase();
    const folders = [temporaryFolder(), temporaryFolder()];
    const ports = [freePort(), freePort()] as const;
    const start = (at: number) =>
      startServer({
        dataDir: folders[at]?.path ?? "",
        environment: {
          ...{ MNEME_STORE: database.url, MNEME_EMBEDDER: ENGLISH, MNEME_LANES: "1", MNEME_DRAIN: "3" },
          MNEME_PORT: String(ports[at]),
        },
        flags: ["--log-level", "error"],
      });
    const nodes: RunningServer[] = [await start(0), await start(1)];
    const balancer = startBalancer(ports);
    const failures: string[] = [];
    let [answered, isEnough] = [0, false];
    const ask = async (client: number, method: string, path: string, body?: unknown): Promise<unknown> => {
      try {
        const response = await fetch(`${balancer.url}${path}`, {
          method,
          // each client is another project for the balancer, so that both nodes get requests
          headers: {
            authorization: `${"Bearer".padEnd(6 + client + 1)}${TEST_KEY}`,
            "content-type": "application/json",
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        if (response.status >= 300) failures.push(`${method} ${path}: ${response.status} ${text}`);
        answered += 1;
        return text === "" ? null : JSON.parse(text);
      } catch (error) {
        failures.push(`${method} ${path}: ${error}`);
        return null;
      }
    };
    const work = async (client: number): Promise<void> => {
      for (let at = 0; !isEnough; at++) {
        const stored = await ask(client, "POST", "/v1/memories", { content: `Client ${client} keeps lamp ${at}.` });
        const { id } = (stored ?? {}) as { readonly id?: string };
        await ask(client, "POST", "/v1/memories/search", { query: `lamp ${at}`, mode: "fast" });
        await ask(client, "GET", `/v1/memories/${id}`);
        if (at % 3 === 0) await ask(client, "DELETE", `/v1/memories/${id}`);
      }
    };
    const more = async () => {
      const enough = answered + REQUESTS;
      await until("requests are answered", () => answered >= enough || failures.length > 0);
    };
    const isUsed = (at: number) => until("HAProxy uses the node", () => balancer.uses(at));
    await Promise.all([isUsed(0), isUsed(1)]);
    const working = Array.from({ length: CLIENTS }, (_, client) => work(client));
    try {
      await more();
      for (const at of [0, 1]) {
        expect(await nodes[at]?.stop()).toBe(0);
        await more();
        nodes[at] = await start(at);
        await isUsed(at);
        await more();
      }
      expect(failures).toEqual([]);
      expect(answered).toBeGreaterThan(5 * REQUESTS);
    } finally {
      isEnough = true;
      await Promise.all(working);
      await balancer.stop();
      for (const node of nodes) await node.stop();
      await database.giveBack();
      for (const folder of folders) folder.remove();
    }
  });
});
