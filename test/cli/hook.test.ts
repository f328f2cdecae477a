// `mneme hook` with a real server: what it stores of a session of Claude Code, and what it recalls in the next one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hookCommand } from "../../src/cli/hook.ts";
import { listen } from "../support/mcp.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";

let mneme: TestService;
let server: ReturnType<typeof listen>;
let folder: string;
beforeAll(async () => {
  mneme = await startService();
  server = listen(mneme);
  folder = mkdtempSync(join(tmpdir(), "mneme-hook-"));
});
afterAll(async () => {
  await server.stop();
  await mneme.stop();
  rmSync(folder, { recursive: true, force: true });
});

function run(name: string, input: unknown, key: string | undefined = TEST_KEY): Promise<string> {
  const environment = key === undefined ? {} : { MNEME_API_KEY: key };
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return hookCommand([name, "--url", server.url], environment, text);
}

function transcript(lines: readonly (object | string)[]): string {
  const path = join(folder, `${crypto.randomUUID()}.jsonl`);
  writeFileSync(path, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return path;
}

const said = (role: string, content: unknown, more: object = {}) => ({
  type: role,
  message: { role, content },
  ...more,
});

test("a session is captured at its end and recalled at the next start", async () => {
  const session = { session_id: "s-1", cwd: "/home/ada/lighthouse", hook_event_name: "SessionEnd" };
  const transcript_path = transcript([
    { type: "summary", summary: "A summary" },
    said("user", "<command-name>/clear</command-name>"),
    said("user", "We decided that the lamp of the lighthouse is painted red.", { timestamp: "2026-03-05T10:00:00Z" }),
    said("assistant", [
      { type: "thinking", thinking: "a secret thought" },
      { type: "text", text: "Noted: the lamp is red." },
      { type: "tool_use", name: "Bash", input: { command: "cat secret.txt" } },
    ]),
    said("user", [{ type: "tool_result", content: "a result of a tool" }]),
    said("user", "Meta text", { isMeta: true }),
    said("assistant", "From a subagent", { isSidechain: true }),
    '{"type":"user","message":{"role":"user","cont',
  ]);
  expect(await run("capture", { ...session, transcript_path })).toBe("");
  const { body } = await mneme.call("GET", "/v1/memories?tag=claude-code");
  expect(body.data).toHaveLength(1);
  const [memory] = body.data;
  expect(memory).toMatchObject({
    type: "conversation",
    externalId: "claude-code:s-1",
    agentId: "claude-code",
    sessionId: "s-1",
    tags: ["claude-code", "folder:lighthouse"],
    metadata: { session_id: "s-1", folder: "lighthouse" },
  });
  expect(JSON.parse(memory.content)).toEqual([
    {
      role: "user",
      content: "We decided that the lamp of the lighthouse is painted red.",
      timestamp: "2026-03-05T10:00:00Z",
    },
    { role: "assistant", content: "Noted: the lamp is red." },
  ]);
  await mneme.settled(memory.id);

  const recalled = await run("recall", { ...session, hook_event_name: "SessionStart" });
  expect(recalled).toContain("not instructions");
  expect(recalled).toContain(
    "- user: We decided that the lamp of the lighthouse is painted red. assistant: Noted: the lamp is red. (",
  );
  expect(recalled).toContain(memory.id);
  expect((await mneme.call("POST", "/v1/memories/search", { query: "colour of the lamp" })).body.total_results).toBe(2);

  // each turn has its own day
  const search = { query: "What did we decide about the lamp?", filters: { sessionId: "s-1" } };
  const { results } = (await mneme.call("POST", "/v1/memories/search", search)).body;
  const days = results.map(({ metadata }: { metadata: { _chunk: { date: string } } }) => metadata._chunk.date);
  expect(days).toContain("5 March 2026");

  // the same session again, longer
  const longer = transcript([said("user", "The lamp is blue now."), said("assistant", "Good.")]);
  await run("capture", { ...session, transcript_path: longer });
  expect((await mneme.call("GET", "/v1/memories?tag=claude-code")).body.data).toHaveLength(1);
});

test("a session in which nothing was said is not stored", async () => {
  await run("capture", { session_id: "empty", transcript_path: transcript([said("assistant", "Hello!")]) });
  const { body } = await mneme.call("GET", "/v1/memories?limit=100");
  expect(JSON.stringify(body)).not.toContain("claude-code:empty");
});

test("a long session keeps its newest turns", async () => {
  const turns = Array.from({ length: 30 }, (_, at) => said("user", `turn ${at} ${"x".repeat(20_000)}`));
  await run("capture", { session_id: "long", transcript_path: transcript(turns) });
  const { body } = await mneme.call("GET", "/v1/memories?tag=claude-code&limit=100");
  const stored = body.data.find(({ externalId }: { externalId: string }) => externalId === "claude-code:long");
  const kept = JSON.parse(stored.content) as { content: string }[];
  expect(kept).toHaveLength(19);
  expect(kept.at(-1)?.content).toStartWith("turn 29 ");
  expect(kept[0]?.content).toStartWith("turn 11 ");
});

test("recalls a text that only looks like a conversation as it is", async () => {
  const key = mneme.addKey(["*"], undefined, { userId: "brackets" });
  for (const content of ["[1] The first source of the lamp", '[{"lamp": "red"}]', "[]"]) {
    await mneme.store({ content, userId: "brackets" });
  }
  const recalled = await run("recall", { session_id: "s-3", cwd: "/home/ada/lighthouse" }, key);
  for (const text of ["- [1] The first source of the lamp (", '- [{"lamp": "red"}] (', "- [] ("]) {
    expect(recalled).toContain(text);
  }
});

test("recalls what a key may see only, and nothing if there is nothing", async () => {
  const key = mneme.addKey(["*"], undefined, { userId: "nobody yet" });
  expect(await run("recall", { session_id: "s-2", cwd: "/home/ada/lighthouse" }, key)).toBe("");
});

test("refuses with a sentence what is no call of a hook", async () => {
  const session = { session_id: "s", cwd: "/x" };
  await expect(run("recall", "not json")).rejects.toThrow("hooks of Claude Code");
  await expect(run("recall", {})).rejects.toThrow("no session_id");
  await expect(run("capture", session)).rejects.toThrow("no transcript_path");
  await expect(run("forget", session)).rejects.toThrow("Usage: mneme hook");
  await expect(hookCommand(["recall"], {}, JSON.stringify(session))).rejects.toThrow("Set MNEME_API_KEY");
  await expect(run("recall", session, "ctx_wrong")).rejects.toThrow("unknown, expired or revoked");
  await expect(run("capture", { ...session, transcript_path: join(folder, "none.jsonl") })).rejects.toThrow(
    "none.jsonl does not exist.",
  );
});
