// kill -9 around webhook deliveries: events that were acknowledged or visible before the crash are delivered after the
// next start, under the same id and with a valid signature.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rounds } from "../support/extent.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { type Received, receiveWebhooks, verified } from "../support/webhook-receiver.ts";

const ROUNDS = rounds("MNEME_TEST_KILLS", { all: 3, short: 1 });
const dataDir = mkdtempSync(join(tmpdir(), "mneme-crash-webhooks-"));
const receiver = receiveWebhooks();
afterAll(async () => {
  await receiver.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const start = () =>
  startServer({
    dataDir,
    environment: { MNEME_EMBEDDER: ENGLISH, MNEME_WEBHOOK_ALLOW: "127.0.0.1", MNEME_WEBHOOK_RETRIES: "1,1,1" },
  });

interface Hook {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
}

async function hook(server: RunningServer, path: string, events: readonly string[]): Promise<Hook> {
  const { status, body } = await server.call("POST", "/v1/webhooks", { url: receiver.url(path), events });
  expect(status).toBe(201);
  return { ...(body as Omit<Hook, "path">), path };
}

async function store(server: RunningServer, content: string): Promise<string> {
  const { status, body } = await server.call("POST", "/v1/memories", { content });
  expect(status).toBe(202);
  return (body as { readonly id: string }).id;
}

/** Waits until `GET` returns the memory as completed. */
async function completed(server: RunningServer, id: string): Promise<void> {
  await until("it is completed", async () => {
    const { body } = await server.call("GET", `/v1/memories/${id}`);
    return (body as { readonly status: string }).status === "completed";
  });
}

/** The received calls about this memory. Verifies their signatures. */
const about = ({ path, secret }: Hook, memory: string): readonly Received[] =>
  receiver.at(path).filter((call) => verified(call, secret).data.id === memory);

describe("a delivery survives kill -9", () => {
  test("after the answer to a deletion: memory.deleted arrives", async () => {
    const server = await start();
    const to = await hook(server, "/deleted", ["memory.deleted"]);
    // simulates a receiver that is unreachable until the next start
    receiver.answer(to.path, 503);
    const id = await store(server, "Deleted, then killed.");
    expect((await server.call("DELETE", `/v1/memories/${id}`)).status).toBe(204);
    await server.kill();

    receiver.answer(to.path, 200);
    const again = await start();
    await until("the delivery is stored as delivered", async () => {
      const { body } = await again.call("GET", `/v1/webhooks/${to.id}/deliveries`);
      const [delivery] = (body as { readonly data: readonly { readonly status: string }[] }).data;
      return delivery?.status === "delivered";
    });
    const calls = about(to, id);
    expect(calls.length).toBeGreaterThan(0);
    expect(new Set(calls.map((call) => call.id)).size).toBe(1);
    await again.kill();
  });

  test("as soon as a memory is reported as completed: memory.completed arrives, at least once, under one id", async () => {
    let server = await start();
    const to = await hook(server, "/completed", ["memory.completed"]);
    for (let round = 0; round < ROUNDS; round++) {
      const id = await store(server, `Completed in round ${round}, then killed.`);
      await completed(server, id);
      await server.kill();
      server = await start();
      await until("it arrives", () => about(to, id).length > 0);
      expect(new Set(about(to, id).map((call) => call.id)).size).toBe(1);
    }
    await server.kill();
  });

  test("during an attempt: it is repeated with the same id and body", async () => {
    const server = await start();
    const to = await hook(server, "/held", ["memory.completed"]);
    const held = Promise.withResolvers<Response>();
    receiver.answer(to.path, () => held.promise);
    const id = await store(server, "Killed while the receiver was thinking.");
    await until("the attempt is under way", () => about(to, id).length === 1);
    await server.kill();
    held.resolve(new Response(null, { status: 200 }));

    receiver.answer(to.path, 200);
    const again = await start();
    await until("it arrives again", () => about(to, id).length === 2);
    const [first, second] = about(to, id);
    expect([second?.id, second?.body]).toEqual([first?.id, first?.body]);
    await again.kill();
  });

  test("between two attempts: the remaining retries are made, no more", async () => {
    const server = await start();
    const to = await hook(server, "/retried", ["webhook.test"]);
    receiver.answer(to.path, 500);
    await server.call("POST", `/v1/webhooks/${to.id}/test`);
    await until("the first attempt is made", () => receiver.at(to.path).length > 0);
    await server.kill();

    const again = await start();
    const attempts = await until("it has failed for good", async () => {
      const { body } = await again.call("GET", `/v1/webhooks/${to.id}/deliveries`);
      const [delivery] = (
        body as { readonly data: readonly { readonly status: string; readonly attempts: readonly object[] }[] }
      ).data;
      return delivery?.status === "failed" ? delivery.attempts.length : null;
    });
    expect(attempts).toBe(4);
    // an attempt that was in progress when the server was killed may be repeated
    expect(receiver.at(to.path).length).toBeWithin(4, 6);
    expect(await again.stop()).toBe(0);
  });
});
