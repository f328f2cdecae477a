// `mneme forget`: nothing of a memory, user or project is left in any store, and the receipt says what was erased
// where.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forgetCommand } from "../../src/cli/forget.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import { startService, type TestService } from "../support/service.ts";
import { storedRows } from "../support/stored-rows.ts";

let service: TestService;
let stop: () => Promise<void>;
beforeAll(async () => {
  service = await startService();
  stop = listenForCommands(service.dataDir, service.service.control);
});
afterAll(async () => {
  await stop?.();
  await service?.stop();
});

const folder = mkdtempSync(join(tmpdir(), "mneme-forget-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const start = { environment: {}, place: { workingDirectory: folder, shippedModelsDirectory: () => folder } };
const forget = async (...argv: string[]) =>
  JSON.parse(await forgetCommand([...argv, "--data-dir", service.dataDir], start));
const failureOf = async (...argv: string[]) => String(await forget(...argv).catch(String));

/** Number of rows of any table with a column whose text contains `word`. */
const rowsWith = (word: string): number =>
  [...storedRows(service).values()]
    .flat()
    .filter((row) => Object.values(row).some((value) => String(value).includes(word))).length;
/**
 * Files of the data directory whose bytes contain `word`. Rows are left out (`rowsWith`): SQLite may keep a copy of an
 * erased row in the unused bytes of a page that it rebuilt.
 */
const filesWith = (word: string): readonly string[] =>
  readdirSync(service.dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("mneme.sqlite"))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(word));
const found = async (query: string) => {
  const { body } = await service.call("POST", "/v1/memories/search", { query, mode: "precise" });
  return body.results.map(({ memory_id }: { memory_id: string }) => memory_id);
};

test("a memory leaves no trace, whether it was deleted before or not, and the receipt counts what was erased", async () => {
  const hook = { url: "https://1.1.1.1/hook", events: ["memory.completed", "memory.deleted"] };
  await service.call("POST", "/v1/webhooks", hook);
  const body = { content: "The zyzzogeton sleeps under the porch.", tags: ["zyzzogeton"], title: "A zyzzogeton" };
  const headers = { "idempotency-key": "once" };
  const { body: kept } = await service.store({ content: "The dog sleeps under the porch." });
  const accepted = await service.call("POST", "/v1/memories", body, headers);
  await service.settled(accepted.body.id);
  const { body: deleted } = await service.store({ ...body, content: "A second zyzzogeton was deleted long ago." });
  await service.call("DELETE", `/v1/memories/${deleted.id}`);
  const chat = await service.call("POST", "/v1/chats", {});
  await service.call("POST", `/v1/chats/${chat.body.id}/messages`, { message: "What sleeps under the porch?" });

  const receipt = await forget("memory", accepted.body.id);
  expect(receipt).toMatchObject({
    receipt: "mneme-forget",
    subject: { kind: "memory", id: accepted.body.id },
    erased: {
      "mneme.sqlite": { memories: 1, memory_tags: 1, message_sources: 1, idempotency_records: 1, deliveries: 1 },
      "memories.duckdb": { texts: 1, chunks: 1 },
      projects: { chunks: 1 },
      uploads: { files: 0, kept_files: 0 },
    },
  });
  expect(receipt.notes[0]).toContain("Backups and exports that were made before are not covered");
  expect(receipt.notes[1]).toContain("1 answer in a chat was made with this memory");
  expect((await forget("memory", deleted.id)).erased["mneme.sqlite"]).toMatchObject({ memories: 1 });
  // what is left is the answer, which the receipt names
  const answers = await service.call("GET", `/v1/chats/${chat.body.id}/messages`);
  const named = JSON.stringify(answers.body).includes("zyzzogeton") ? 1 : 0;
  expect(rowsWith("zyzzogeton")).toBe(named);
  expect(await found("zyzzogeton porch")).toEqual([kept.id]);
  expect(await failureOf("memory", accepted.body.id)).toContain("not even a deleted one");
});

test("a secret that was corrected leaves no trace after its history is erased, and its memory stays", async () => {
  const hook = { url: "https://1.1.1.1/hook", events: ["memory.completed", "memory.updated"] };
  await service.call("POST", "/v1/webhooks", hook);
  const { body: memory } = await service.store({ content: "The passphrase is mxyzptlk." });
  const chat = await service.call("POST", "/v1/chats", {});
  await service.call("POST", `/v1/chats/${chat.body.id}/messages`, { message: "What is the passphrase?" });
  const { body: other } = await service.store({ content: "Passphrases are long." });
  await service.call("PUT", `/v1/memories/${other.id}/relations`, { memory_id: memory.id, type: "refines" });
  await service.call("PUT", `/v1/memories/${memory.id}`, { content: "The passphrase is in the safe." });
  await service.settled(memory.id);
  expect(rowsWith("mxyzptlk")).toBeGreaterThan(0);

  expect((await service.call("DELETE", `/v1/memories/${memory.id}/history`)).status).toBe(204);
  await forget("memory", other.id); // sweeps
  // what is left is the answer in the chat, which docs/backup.md names
  const answers = await service.call("GET", `/v1/chats/${chat.body.id}/messages`);
  const named = JSON.stringify(answers.body).includes("mxyzptlk") ? 1 : 0;
  expect(rowsWith("mxyzptlk")).toBe(named);
  expect(filesWith("mxyzptlk")).toEqual([]);
  const { body } = await service.call("GET", `/v1/memories/${memory.id}`);
  expect(body).toMatchObject({ content: "The passphrase is in the safe.", status: "completed" });
});

test("a user leaves no trace: memories, chats, events, keys and profile; others keep theirs", async () => {
  const profile = { id: "quixotic", name: "Quixotic Person" };
  await service.call("POST", "/v1/users", profile, { "idempotency-key": "profile" });
  const event = { type: "t", data: { a: "quixotic" } };
  await service.call("POST", "/v1/users/quixotic/events", event, { "idempotency-key": "event" });
  await service.store({ content: "A quixotic note.", userId: "quixotic", agentId: "quixotic-agent", sessionId: "q" });
  await service.store({ content: "A quixotic note that is deleted by its tag.", userId: "quixotic", tags: ["doomed"] });
  const doomed = { userId: "quixotic", filters: { tags: "doomed" } };
  const job = await service.call("DELETE", "/v1/memories", doomed, { "idempotency-key": "job" });
  expect(job.body).toMatchObject({ status: "completed", deleted: 1 });
  const { body: other } = await service.store({ content: "A note of somebody else.", userId: "other" });
  const chat = await service.call("POST", "/v1/chats", { userId: "quixotic" });
  const question = { message: "Any quixotic note?" };
  await service.call("POST", `/v1/chats/${chat.body.id}/messages`, question, { "idempotency-key": "question" });
  service.addKey(["memories:read"], undefined, { userId: "quixotic" });
  const receipt = await forget("user", "quixotic");
  expect(receipt.erased["mneme.sqlite"]).toMatchObject({
    ...{ memories: 2, users: 1, user_events: 1, chats: 1, messages: 2, api_keys: 1 },
    // answers about the user: profile, event and message; that of the deletion names nobody
    ...{ deletions: 1, idempotency_records: 3 },
  });
  expect(rowsWith("quixotic") + rowsWith("Quixotic")).toBe(0);
  expect([...filesWith("quixotic"), ...filesWith("Quixotic")]).toEqual([]);
  expect((await service.call("GET", `/v1/memories/${other.id}`)).status).toBe(200);
  expect(await failureOf("user", "quixotic")).toContain('There is no user "quixotic"');
});

test("a project leaves no trace; the default one and unknown ones are refused", async () => {
  const { body: made } = await service.call("POST", "/v1/projects", { name: "Borogoves", plan: "enterprise" });
  const headers = { authorization: `Bearer ${made.key}` };
  const stored = await service.call("POST", "/v1/memories", { content: "All mimsy were the borogoves." }, headers);
  expect(stored.status).toBe(202);
  for (const of of [headers, {}]) {
    await service.call("POST", "/v1/users", { id: "slithy" }, { ...of, "idempotency-key": "one-user" });
  }
  const ofUser = await forget("user", "slithy"); // the user of the default project alone
  expect(ofUser.erased["mneme.sqlite"]).toMatchObject({ users: 1, idempotency_records: 1 });
  const receipt = await forget("project", "Borogoves");
  expect(receipt.subject).toEqual({ kind: "project", id: made.id, projectId: made.id });
  expect(receipt.erased["mneme.sqlite"]).toMatchObject({
    ...{ projects: 1, memories: 1, users: 1, api_keys: 1, key_secrets: 1, idempotency_records: 1 },
  });
  expect(rowsWith("orogoves") + rowsWith("slithy") + rowsWith(made.id)).toBe(0);
  expect([...filesWith("orogoves"), ...filesWith("slithy")]).toEqual([]);
  expect(await failureOf("project", "Borogoves")).toContain('There is no project "Borogoves"');
  expect(await failureOf("project", "default")).toContain("The default project cannot be deleted");
  expect(await failureOf("planet", "x")).toContain("Only a memory, user, project can be forgotten");
  expect(await failureOf("memory")).toContain("Missing what to forget");
});

test("needs a running server, and says so", async () => {
  const dataDir = join(folder, "stopped");
  await (await startService({ dataDir, waitsForModels: false })).stop();
  const failure = forgetCommand(["memory", "mem_x", "--data-dir", dataDir], start).catch(String);
  expect(String(await failure)).toContain("Start the server first");
});
