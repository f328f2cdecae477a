// kill -9 during work with accounts: acknowledged changes of quotas, keys, projects, users and events survive, and so
// do the responses stored under an Idempotency-Key.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

const dataDir = mkdtempSync(join(tmpdir(), "mneme-crash-accounts-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));
const start = () => startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });

interface Reply {
  readonly status: number;
  readonly isReplay: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect responses of any shape, and fail if they differ
  readonly body: any;
}

/** Sends requests with the given API key and Idempotency-Key. */
async function call(
  server: RunningServer,
  method: string,
  path: string,
  { key = server.key, idempotencyKey, body }: { key?: string; idempotencyKey?: string; body?: unknown } = {},
): Promise<Reply> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    isReplay: response.headers.get("idempotent-replayed") === "true",
    body: text === "" ? null : JSON.parse(text),
  };
}

describe("after kill -9", () => {
  test("quotas are as full as before, for documents, storage and queries", async () => {
    const server = await start();
    const { body: project } = await call(server, "POST", "/v1/projects", { body: { name: "full", plan: "free" } });
    const of = { key: project.key };
    const memories = Array.from({ length: 10 }, (_, n) => ({ content: `Number ${n}.` }));
    expect((await call(server, "POST", "/v1/memories/batch", { ...of, body: { memories } })).body.accepted).toBe(10);
    for (let n = 0; n < 3; n++) {
      const body = { query: "Which number?", mode: "fast" };
      expect((await call(server, "POST", "/v1/memories/query", { ...of, body })).status).toBe(200);
    }
    const before = (await call(server, "GET", "/v1/usage", of)).body;
    await server.kill();

    const again = await start();
    const after = (await call(again, "GET", "/v1/usage", of)).body;
    expect(after).toEqual(before);
    expect([after.documents.used, after.queries.used, after.storage_bytes.used]).toEqual([10, 3, 90]);
    const eleventh = await call(again, "POST", "/v1/memories", { ...of, body: { content: "One too many." } });
    expect([eleventh.status, eleventh.body.error.code]).toEqual([429, "document_quota_exceeded"]);
    await again.kill();
  });

  test("a repeated request gets its first response; another request with its Idempotency-Key is refused", async () => {
    const server = await start();
    const body = { content: "Stored once.", title: "once" };
    const first = await call(server, "POST", "/v1/memories", { idempotencyKey: "crash", body });
    expect(first.status).toBe(202);
    await server.kill();

    const again = await start();
    const repeated = await call(again, "POST", "/v1/memories", { idempotencyKey: "crash", body });
    expect([repeated.status, repeated.isReplay, repeated.body]).toEqual([202, true, first.body]);
    const other = await call(again, "POST", "/v1/memories", { idempotencyKey: "crash", body: { content: "Other." } });
    expect([other.status, other.body.error.code]).toEqual([409, "idempotency_conflict"]);
    expect((await call(again, "GET", "/v1/memories?q=once")).body.data).toHaveLength(1);
    await again.kill();
  });

  test("killed during sixty requests: repeated under their keys, each is executed exactly once", async () => {
    const server = await start();
    const send = (to: RunningServer, n: number) =>
      call(to, "POST", "/v1/users/counted/events", {
        idempotencyKey: `counted-${n}`,
        body: { type: "count", data: { n } },
      });
    const numbers = Array.from({ length: 60 }, (_, n) => n);
    let acknowledged = 0;
    const queue = numbers.values();
    const callers = Array.from({ length: 4 }, async () => {
      for (const n of queue) {
        try {
          expect((await send(server, n)).status).toBe(201);
          acknowledged += 1;
        } catch {
          return; // killed before the response: the repetition below must work whether or not it was executed
        }
      }
    });
    await until("twenty are acknowledged", () => acknowledged >= 20);
    await server.kill();
    await Promise.all(callers);

    const again = await start();
    const replies = await Promise.all(numbers.map((n) => send(again, n)));
    expect(replies.map(({ status }) => status)).toEqual(numbers.map(() => 201));
    expect(replies.filter(({ isReplay }) => isReplay).length).toBeGreaterThanOrEqual(acknowledged);
    const { data, has_more } = (await call(again, "GET", "/v1/users/counted/events?limit=100")).body;
    expect(has_more).toBe(false);
    const logged: readonly number[] = data.map((event: { readonly data: { readonly n: number } }) => event.data.n);
    expect([...logged].sort((left, right) => left - right)).toEqual(numbers);
    await again.kill();
  });

  test("acknowledged events, users, chats and messages exist", async () => {
    const server = await start();
    await call(server, "POST", "/v1/users", { body: { id: "ada", name: "Ada", metadata: { a: 1 } } });
    const event = await call(server, "POST", "/v1/users/ada/events", { body: { type: "seen", data: { page: 1 } } });
    const chat = await call(server, "POST", "/v1/chats", { body: { userId: "ada", title: "Survivor" } });
    const message = await call(server, "POST", `/v1/chats/${chat.body.id}/messages`, { body: { message: "Hello?" } });
    expect(message.status).toBe(200);
    const user = (await call(server, "GET", "/v1/users/ada")).body;
    await server.kill();

    const again = await start();
    expect((await call(again, "GET", "/v1/users/ada")).body).toEqual(user);
    expect((await call(again, "GET", "/v1/users/ada/events")).body.data).toEqual([event.body]);
    const history = (await call(again, "GET", `/v1/chats/${chat.body.id}`)).body;
    expect(history.title).toBe("Survivor");
    expect(history.messages.map(({ role }: { readonly role: string }) => role)).toEqual(["user", "assistant"]);
    expect(history.messages[1]).toEqual(message.body.message);
    await again.kill();
  });

  test("created, rotated and revoked keys work as before", async () => {
    const server = await start();
    const make = async () =>
      (await call(server, "POST", "/v1/keys", { body: { name: "x", scopes: ["users:read"] } })).body;
    const [kept, rotated, graced, revoked] = [await make(), await make(), await make(), await make()];
    const second = (await call(server, "POST", `/v1/keys/${rotated.id}/rotate`)).body;
    const third = (await call(server, "POST", `/v1/keys/${graced.id}/rotate`, { body: { grace_seconds: 3_600 } })).body;
    expect((await call(server, "DELETE", `/v1/keys/${revoked.id}`)).status).toBe(204);
    await server.kill();

    const again = await start();
    const opens = async (key: string) => (await call(again, "GET", "/v1/users", { key })).status;
    expect(await opens(kept.key)).toBe(200);
    expect([await opens(rotated.key), await opens(second.key)]).toEqual([401, 200]);
    expect([await opens(graced.key), await opens(third.key)]).toEqual([200, 200]);
    expect(await opens(revoked.key)).toBe(401);
    await again.kill();
  });

  test("a deleted project stays deleted, and its remaining data is removed at the next start", async () => {
    const server = await start();
    const { body: project } = await call(server, "POST", "/v1/projects", { body: { name: "doomed", plan: "pro" } });
    const memories = Array.from({ length: 50 }, (_, n) => ({ content: `Doomed note ${n}.` }));
    await call(server, "POST", "/v1/memories/batch", { key: project.key, body: { memories } });
    await until("some are completed", async () => {
      const { body } = await call(server, "GET", "/v1/memories?status=completed&limit=1", { key: project.key });
      return body.data.length > 0;
    });
    const folder = join(dataDir, "projects", project.id);
    expect(existsSync(folder)).toBe(true);
    expect((await call(server, "DELETE", `/v1/projects/${project.id}`)).status).toBe(204);
    await server.kill();

    const again = await start();
    expect((await call(again, "GET", "/v1/memories", { key: project.key })).status).toBe(401);
    expect((await call(again, "GET", `/v1/projects/${project.id}`)).status).toBe(404);
    await until("its folder is gone", () => !existsSync(folder));
    expect(await again.stop()).toBe(0);
  });

  test("a user that was deleted with all data does not come back", async () => {
    const server = await start();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const body = { content: `The leaver's note ${n}.`, userId: "leaver" };
      ids.push((await call(server, "POST", "/v1/memories", { body })).body.id);
    }
    await call(server, "POST", "/v1/chats", { body: { userId: "leaver" } });
    expect((await call(server, "DELETE", "/v1/users/leaver?cascade=true")).status).toBe(204);
    await server.kill();

    const again = await start();
    expect((await call(again, "GET", "/v1/users/leaver")).status).toBe(404);
    for (const id of ids) expect((await call(again, "GET", `/v1/memories/${id}`)).status).toBe(404);
    expect((await call(again, "GET", "/v1/chats?userId=leaver")).body.data).toEqual([]);
    const found = await call(again, "POST", "/v1/memories/search", { body: { query: "leaver's note", limit: 100 } });
    const hits = found.body.results.map((result: { readonly memory_id: string }) => result.memory_id);
    expect(hits.filter((id: string) => ids.includes(id))).toEqual([]);
    expect(await again.stop()).toBe(0);
  });
});
