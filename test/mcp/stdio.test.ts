// `mneme mcp` as a process, with the official clients over stdin and stdout: on a data directory of its own, on one
// that another process has, and against a server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { messageLines } from "../../src/mcp/message-lines.ts";
import { CLIENTS, type ClientName, connectStdio, listen, type Peer } from "../support/mcp.ts";
import { PROGRAM } from "../support/program.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dir, "../..");

function environment(more: Readonly<Record<string, string>>): Record<string, string> {
  const kept = ["PATH", "HOME", "TMPDIR", "MNEME_CACHE_DIR", "MNEME_NATIVE_PATH", "XDG_CACHE_HOME"];
  const own = kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(own), MNEME_LANES: "1", MNEME_RATE_LIMITS: "off", ...more };
}

/** Starts `mneme mcp` and connects a client to it. */
async function start(name: ClientName, flags: readonly string[], more: Readonly<Record<string, string>>) {
  let errors = "";
  const [program, file] = PROGRAM;
  const command = { command: program, args: [file, "mcp", ...flags], env: environment(more), cwd: ROOT };
  const peer = await connectStdio(name, command, (text) => {
    errors += text;
  });
  return { peer, errors: () => errors };
}

/** Runs `mneme mcp` without a client. */
async function runAlone(flags: readonly string[], more: Readonly<Record<string, string>>, stdin = "") {
  const child = Bun.spawn([...PROGRAM, "mcp", ...flags], {
    cwd: ROOT,
    env: environment(more),
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

async function useAll(peer: Peer): Promise<void> {
  expect((await peer.tools()).map(({ name }) => name)).toHaveLength(8);
  expect(peer.instructions).toContain("long-term memory");
  const { memory_id, searchable } = await peer.done("add_memory", { content: "The lamp stands in the hall." });
  expect(searchable).toBe(true);
  const { results } = await peer.done("search_memories", { query: "where is the lamp?" });
  expect(results.map((result: { memory_id: string }) => result.memory_id)).toContain(memory_id);
  expect((await peer.done("ask_memories", { query: "where is the lamp?" })).sources[0].memory_id).toBe(memory_id);
  expect((await peer.done("list_memories")).memories[0].memory_id).toBe(memory_id);
  expect((await peer.done("get_profile")).memories[0].memory_id).toBe(memory_id);
  await peer.done("update_memory", { memory_id, content: "The lamp stands in the attic." });
  expect((await peer.done("get_memory", { memory_id })).content).toBe("The lamp stands in the attic.");
  expect(await peer.done("delete_memory", { memory_id })).toMatchObject({ deleted: true });
  const refused = await peer.call("search_memories", { query: "a", user_id: "b" });
  expect(refused).toMatchObject({ isError: true, error: { code: "invalid_request" } });
  await expect(peer.call("unknown_tool")).rejects.toThrow("There is no tool 'unknown_tool'");
}

describe("on a data directory", () => {
  let folder: string;
  let dataDir: string;
  let first: Awaited<ReturnType<typeof start>>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "mneme-mcp-"));
    dataDir = join(folder, "store");
    first = await start("2026-07-28", ["--data-dir", dataDir], {});
  });
  afterAll(async () => {
    await first.peer.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("creates it, needs no key, and offers all tools", async () => {
    await useAll(first.peer);
    expect(existsSync(join(dataDir, "mneme.sqlite"))).toBe(true);
    expect(first.errors()).not.toContain("ctx_");
  });

  test("a second client uses the process of the first, and goes on when that has ended", async () => {
    const second = await start("2025-11-25 (sdk 1.x)", [], { MNEME_DATA_DIR: dataDir });
    await useAll(second.peer);
    const { memory_id } = await first.peer.done("add_memory", { content: "Shared by both clients." });
    expect((await second.peer.done("get_memory", { memory_id })).content).toBe("Shared by both clients.");

    await first.peer.close();
    const { memories } = await until("the second client has the directory", async () => {
      const listed = await second.peer.call("list_memories");
      return listed.isError ? null : listed.data;
    });
    expect(memories[0].memory_id).toBe(memory_id);
    await second.peer.close();
    first = await start("2026-07-28", ["--data-dir", dataDir], {});
    expect((await first.peer.done("get_memory", { memory_id })).status).toBe("completed");
  });

  test("works without a socket for other clients, and says so", async () => {
    const alone = join(folder, "alone");
    mkdirSync(join(alone, "control.sock", "in the way"), { recursive: true });
    const { peer, errors } = await start("2026-07-28", ["--data-dir", alone], {});
    expect((await peer.done("list_memories")).memories).toEqual([]);
    expect(errors()).toContain("no other client can use this folder");
    await peer.close();
  });

  test("takes MNEME_API_KEY if it is set, and refuses a wrong one", async () => {
    const wrong = await start("2025-11-25", ["--data-dir", dataDir], { MNEME_API_KEY: "ctx_wrong" });
    await expect(wrong.peer.tools()).rejects.toThrow("unknown, expired or revoked");
    const called = await wrong.peer.call("list_memories");
    expect(called.isError).toBe(true);
    await wrong.peer.close();
  });

  test("a folder that cannot be opened is an error of each call, in a sentence", async () => {
    const { peer, errors } = await start("2026-07-28", ["--data-dir", join(dataDir, "mneme.sqlite")], {});
    const { isError, text } = await peer.call("list_memories");
    expect(isError).toBe(true);
    expect(text).toContain("cannot be the data folder");
    expect(errors()).toContain("cannot be the data folder");
    await peer.close();
  });
});

describe("against a server", () => {
  let mneme: TestService;
  let server: ReturnType<typeof listen>;

  beforeAll(async () => {
    mneme = await startService();
    server = listen(mneme);
  });
  afterAll(async () => {
    await server.stop();
    await mneme.stop();
  });

  test.each([...CLIENTS])("a client of %s uses all tools", async (name) => {
    const { peer } = await start(name, ["--url", server.url], { MNEME_API_KEY: TEST_KEY });
    await useAll(peer);
    await peer.close();
  });

  test("a key sees the tools of its scopes and its user only", async () => {
    const key = mneme.addKey(["memories:read"], undefined, { userId: "ada" });
    await mneme.store({ content: "Ben's secret", userId: "ben" });
    const { peer } = await start("2026-07-28", ["--url", `${server.url}/mcp`], { MNEME_API_KEY: key });
    const names = (await peer.tools()).map((tool) => tool.name);
    expect(names).toEqual(["search_memories", "get_memory", "list_memories", "get_profile"]);
    expect((await peer.done("list_memories")).memories).toEqual([]);
    const refused = await peer.call("add_memory", { content: "not allowed" });
    expect(refused).toMatchObject({ isError: true, error: { code: "insufficient_scope" } });
    await peer.close();
  });

  test("a server that does not answer is an error of each call, and the process goes on", async () => {
    const gone = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<html>", { status: 502 }) });
    const url = `http://127.0.0.1:${gone.port}`;
    const { peer } = await start("2026-07-28", ["--url", url], { MNEME_API_KEY: TEST_KEY });
    expect(await peer.call("list_memories")).toMatchObject({
      isError: true,
      text: expect.stringContaining("answered 502"),
    });
    await gone.stop(true);
    expect(await peer.call("list_memories")).toMatchObject({
      isError: true,
      text: expect.stringContaining("No answer from Mneme"),
    });
    await peer.close();
  });
});

describe("the command", () => {
  test("refuses a wrong start in one line", async () => {
    for (const [flags, env, message] of [
      [["--url", "http://127.0.0.1:1"], {}, "Set MNEME_API_KEY"],
      [["--url", "ftp://x"], { MNEME_API_KEY: "ctx_x" }, "--url must be an http or https address"],
      [["--url", "http://127.0.0.1:1", "--data-dir", "/x"], { MNEME_API_KEY: "ctx_x" }, "not both"],
      [["--uri", "x"], {}, "Unknown flag --uri"],
      [["surplus"], {}, "Unexpected argument"],
    ] as const) {
      const { stdout, stderr, exitCode } = await runAlone(flags, env);
      expect(exitCode).toBe(1);
      expect(stdout).toBe("");
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(stderr).toContain(message);
    }
  });

  test("ends with 0 when stdin ends, and answers lines that are no message with an error of the protocol", async () => {
    const lines = ["{broken", "[]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '{"id":7,"hello":1}', "7", "", ""];
    const { stdout, stderr, exitCode } = await runAlone(
      ["--url", "http://127.0.0.1:1"],
      { MNEME_API_KEY: "ctx_x" },
      lines.join("\n"),
    );
    expect([exitCode, stderr]).toEqual([0, ""]);
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers.map(({ jsonrpc, id, error }) => [jsonrpc, id, error.code, error.message])).toEqual([
      ["2.0", null, -32_700, "This line is not JSON."],
      ["2.0", null, -32_600, "Send one message per line, not a batch."],
      ["2.0", null, -32_600, "Send one message per line, not a batch."],
      ["2.0", 7, -32_600, "This is not a JSON-RPC 2.0 message."],
      ["2.0", null, -32_600, "This is not a JSON-RPC 2.0 message."],
    ]);
  });
});

test("lines are messages in any pieces, and one that is too long is refused and skipped", async () => {
  const answers: string[] = [];
  const lines = messageLines((answer) => answers.push(answer));
  const ping = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping", params: { text: "日本 \u2028" } });
  const long = `{"jsonrpc":"2.0","id":9,"method":"${"x".repeat(8 * 1024 * 1024)}"}`;
  const bytes = Buffer.from(`${ping(1)}\r\n${long}\n\n${ping(2)}\n${ping(3)}`);
  const passed = new Response(Readable.toWeb(lines) as unknown as ReadableStream).text();
  for (let at = 0; at < 200; at++) lines.write(bytes.subarray(at, at + 1));
  lines.write(bytes.subarray(200, -150));
  for (let at = bytes.byteLength - 150; at < bytes.byteLength; at++) lines.write(bytes.subarray(at, at + 1));
  lines.end();
  // the last line has no end, so it is no message
  expect((await passed).split("\n").filter((line) => line !== "")).toEqual([`${ping(1)}\r`, ping(2)]);
  expect(answers.map((answer) => JSON.parse(answer).error.message)).toEqual(["A message is at most 8388608 bytes."]);
});
