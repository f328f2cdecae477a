// mem0's client for JavaScript, unchanged, against a real server: only its host differs. Telemetry is off, and no
// request goes anywhere else.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemoryClient } from "mem0ai";
import { type RunningServer, startServer } from "../support/server.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of any shape, and fail if they differ
type Json = any;
type Module = typeof import("mem0ai");

const folder = mkdtempSync(join(tmpdir(), "mneme-mem0-"));
const realFetch = globalThis.fetch;
let server: RunningServer;
let mem0: Module;
let calls = 0;

beforeAll(async () => {
  server = await startServer();
  process.env.MEM0_TELEMETRY = "false"; // the package reads it when it is loaded
  process.env.MEM0_DIR = folder;
  mem0 = await import("mem0ai");
  globalThis.fetch = Object.assign(
    (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
      const url = input instanceof Request ? input.url : String(input);
      if (!url.startsWith(server.url)) throw new Error(`a request to ${url}`);
      if (url.includes("/compat/mem0/")) calls++;
      return realFetch(input, init);
    },
    { preconnect: realFetch.preconnect },
  );
});
afterAll(async () => {
  globalThis.fetch = realFetch;
  process.stdout.write(`mem0ai (npm): ${calls} calls\n`);
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
});

const projects: string[] = [];
async function newClient(key?: object): Promise<MemoryClient> {
  if (key === undefined) {
    const { body } = await server.call("POST", "/v1/projects", { name: `mem0 ${projects.length}` });
    projects.push((body as Json).key);
    return new mem0.MemoryClient({ apiKey: (body as Json).key, host: `${server.url}/compat/mem0` });
  }
  const { body } = await server.call("POST", "/v1/keys", { name: "k", ...key });
  return new mem0.MemoryClient({ apiKey: (body as Json).key, host: `${server.url}/compat/mem0` });
}

describe("the client", () => {
  test("pings, and knows its project", async () => {
    const client = await newClient();
    await client.ping();
    expect(client).toMatchObject({ organizationId: "mneme", projectId: expect.stringMatching(/^prj_/) } as object);
  });

  test("adds, searches, lists, reads, changes and deletes memories", async () => {
    const client = await newClient();
    const added: Json = await client.add(
      [
        { role: "user", content: "I moved to Oslo in May and I am allergic to nuts." },
        { role: "assistant", content: "Noted: Oslo, no nuts." },
      ],
      {
        userId: "ada",
        agentId: "butler",
        appId: "kitchen",
        runId: "r1",
        metadata: { topic: "health" },
        timestamp: 1_767_225_600,
      } as Json,
    );
    expect(added).toMatchObject({ status: "SUCCEEDED", results: [{ event: "ADD" }] });
    const facts: Json = await client.add(
      [
        { role: "user", content: "Ada keeps bees." },
        { role: "user", content: "Ada plays the cello." },
      ],
      {
        userId: "ada",
        infer: false,
        categories: ["hobbies"],
      } as Json,
    );
    expect(facts.results.map(({ memory }: Json) => memory)).toEqual(["Ada keeps bees.", "Ada plays the cello."]);

    const found = await client.search("Who is allergic to nuts?", { filters: { user_id: "ada" }, topK: 2 });
    expect(found.results[0]).toMatchObject({
      id: added.results[0].id,
      userId: "ada",
      agentId: "butler",
      appId: "kitchen",
      runId: "r1",
      metadata: { topic: "health" },
      timestamp: 1_767_225_600,
    });
    expect(found.results[0]?.memory).toContain("allergic to nuts");
    expect(found.results[0]?.score).toBeGreaterThan(0);
    expect(found.results.length).toBeLessThanOrEqual(2);

    for (const [filters, count] of [
      [{ user_id: "ada" }, 3],
      [{ AND: [{ user_id: "ada" }, { agent_id: "*" }] }, 1],
      [{ AND: [{ user_id: "ada" }, { app_id: "kitchen" }] }, 1],
      [{ AND: [{ user_id: "ada" }, { NOT: { app_id: "kitchen" } }] }, 2],
      [{ OR: [{ run_id: "r1" }, { categories: { in: ["hobbies"] } }] }, 3],
      [{ AND: [{ user_id: "ada" }, { metadata: { topic: "health" } }] }, 1],
      [{ AND: [{ user_id: "ada" }, { created_at: { lt: "2020-01-01" } }] }, 0],
      [{ user_id: "bob" }, 0],
    ] as const) {
      expect([filters, (await client.getAll({ filters } as Json)).count]).toEqual([filters, count]);
      const { results } = await client.search("Ada", { filters } as Json);
      expect([filters, results.length]).toEqual([filters, count]);
    }
    const page = await client.getAll({ filters: { user_id: "ada" }, page: 2, pageSize: 2 } as Json);
    expect([page.count, page.results.length, page.next, typeof page.previous]).toEqual([3, 1, null, "string"]);

    const id = facts.results[0].id as string;
    expect(await client.get(id)).toMatchObject({ id, memory: "Ada keeps bees.", categories: ["hobbies"] });
    const updated: Json = await client.update(id, { text: "Ada keeps bees and hens.", metadata: { since: 2026 } });
    expect(updated).toMatchObject({ id, memory: "Ada keeps bees and hens.", metadata: { since: 2026 } });
    const history = await client.history(id);
    expect(history).toMatchObject([
      { memoryId: id, event: "ADD", oldMemory: null, newMemory: "Ada keeps bees." },
      { memoryId: id, event: "UPDATE", oldMemory: "Ada keeps bees.", newMemory: "Ada keeps bees and hens." },
    ]);

    expect(await client.batchUpdate([{ memoryId: id, text: "Ada keeps hens." }])).toMatchObject({
      message: expect.any(String),
    });
    expect(await client.get(id)).toMatchObject({ memory: "Ada keeps hens." });
    await client.batchDelete([facts.results[1].id]);
    expect(await client.delete(id)).toEqual({ message: "Memory deleted successfully!" } as Json);
    expect((await client.getAll({ filters: { user_id: "ada" } })).count).toBe(1);
    expect(client.get(id)).rejects.toBeInstanceOf(mem0.MemoryNotFoundError);
  });

  test("keeps the details of a memory when its metadata is replaced", async () => {
    const client = await newClient();
    const { results }: Json = await client.add([{ role: "user", content: "x" }], {
      userId: "u",
      appId: "a",
      metadata: { one: 1 },
    } as Json);
    expect(await client.update(results[0].id, { metadata: { two: 2 } })).toMatchObject({
      appId: "a",
      metadata: { two: 2 },
    });
  });

  test("lists and deletes entities", async () => {
    const client = await newClient();
    for (const [userId, runId] of [
      ["ada", "r1"],
      ["bob", "r1"],
      ["bob", "r2"],
    ]) {
      await client.add([{ role: "user", content: `Of ${userId} in ${runId}` }], {
        userId,
        runId,
        infer: false,
      } as Json);
    }
    const users: Json = await client.users();
    expect(users.results.map(({ name, type }: Json) => [name, type])).toEqual([
      ["bob", "user"],
      ["ada", "user"],
    ]);
    expect(await client.users({ page: 2, pageSize: 1 })).toMatchObject({
      count: 2,
      next: null,
      results: [{ name: "ada" }],
    });
    await client.deleteUsers({ runId: "r1" });
    expect((await client.getAll({ filters: { user_id: "*" } })).results.map(({ userId }) => userId)).toEqual(["bob"]);
    await client.deleteAll({ userId: "bob" });
    expect((await client.getAll({ filters: { user_id: "*" } })).count).toBe(0);
    await client.deleteUsers();
    expect(((await client.users()) as Json).count).toBe(0);
  });

  test("raises its own errors, with Mneme's messages", async () => {
    const client = await newClient();
    const stranger = new mem0.MemoryClient({ apiKey: "ctx_wrong", host: `${server.url}/compat/mem0` });
    expect(stranger.getAll({ filters: { user_id: "u" } })).rejects.toBeInstanceOf(mem0.AuthenticationError);
    const reader = await newClient({ scopes: ["memories:read"] });
    expect(reader.add([{ role: "user", content: "x" }], { userId: "u" })).rejects.toThrow(
      "lacks the scope 'memories:write'",
    );
    expect(client.add([{ role: "user", content: "x" }])).rejects.toThrow("At least one of user_id");
    expect(client.search("x", { filters: {} })).rejects.toThrow("'filters' is required");
    expect(client.search("x", { filters: { usr_id: "u" } } as Json)).rejects.toBeInstanceOf(mem0.ValidationError);
    expect(client.get("../../../v1/keys")).rejects.toBeInstanceOf(mem0.MemoryNotFoundError);
    expect(client.feedback({ memoryId: "mem_x" } as Json)).rejects.toThrow(
      "There is no route POST /compat/mem0/v1/feedback/",
    );
  });

  test("with a key of one user sees that user only", async () => {
    const everybody = new mem0.MemoryClient({ apiKey: server.key, host: `${server.url}/compat/mem0` });
    await everybody.add([{ role: "user", content: "A secret of Bob." }], { userId: "bob", infer: false });
    const ada = await newClient({ scopes: ["*"], userId: "ada" });
    await ada.add([{ role: "user", content: "A secret of Ada." }], { infer: false });
    expect((await ada.getAll({ filters: { user_id: "*" } })).results.map(({ memory }) => memory)).toEqual([
      "A secret of Ada.",
    ]);
    expect((await ada.search("secret", {})).results.map(({ memory }) => memory)).toEqual(["A secret of Ada."]);
    expect((await ada.search("secret", { filters: { user_id: "bob" } })).results).toEqual([]);
    expect(ada.add([{ role: "user", content: "x" }], { userId: "bob" })).rejects.toBeInstanceOf(
      mem0.AuthenticationError,
    );
    expect(ada.deleteUsers({ userId: "bob" })).rejects.toThrow();
    expect((await everybody.getAll({ filters: { user_id: "bob" } })).count).toBe(1);
  });
});
