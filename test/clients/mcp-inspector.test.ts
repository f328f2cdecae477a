// MCP's Inspector, the reference tool of the protocol, on its command line against a real server: over HTTP and over
// stdin and stdout.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspectorCommand, NO_INSPECTOR } from "../support/mcp-inspector.ts";
import { PROGRAM } from "../support/program.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";

const inspector = inspectorCommand();
const TOOLS = [
  "add_memory",
  "search_memories",
  "ask_memories",
  "get_memory",
  "list_memories",
  "update_memory",
  "delete_memory",
  "get_profile",
];
let calls = 0;

/** What a call printed. */
interface Inspected {
  readonly exitCode: number;
  // biome-ignore lint/suspicious/noExplicitAny: the test inspects results of any shape, and fails if they differ
  readonly result: any;
  readonly stderr: string;
}

describe.skipIf(inspector === null)(`MCP's Inspector${inspector === null ? `, skipped: ${NO_INSPECTOR}` : ""}`, () => {
  let server: RunningServer;
  let home: string;
  beforeAll(async () => {
    server = await startServer({ environment: { MNEME_EMBEDDER: ENGLISH } });
    home = mkdtempSync(join(tmpdir(), "mneme-inspector-"));
  });
  afterAll(async () => {
    process.stdout.write(`MCP's Inspector: ${calls} calls\n`);
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  });

  async function inspect(target: readonly string[], ...words: readonly string[]): Promise<Inspected> {
    calls++;
    const child = Bun.spawn([...(inspector ?? []), ...target, ...words], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [output, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exitCode: await child.exited, result: output === "" ? null : JSON.parse(output), stderr };
  }

  const targets = {
    HTTP: () => [`${server.url}/mcp`, "--header", `Authorization: Bearer ${server.key}`],
    "stdin and stdout": () => [...[...PROGRAM, "mcp", "--url", server.url], ...["-e", `MNEME_API_KEY=${server.key}`]],
  };

  test.each(Object.entries(targets))(
    "lists the tools over %s, and finds no error in their schemas",
    async (_, target) => {
      const { exitCode, result, stderr } = await inspect(target(), "--method", "tools/list", "--strict");
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
      expect(result.tools.map(({ name }: { readonly name: string }) => name).sort()).toEqual([...TOOLS].sort());
      expect(stderr).not.toContain("error:");
    },
  );

  test.each(Object.entries(targets))("stores, finds, corrects and forgets over %s", async (name, target) => {
    const userId = `user of ${name}`;
    const call = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<Inspected> => {
      const pairs = Object.entries(args).map(([field, value]) => `${field}=${value}`);
      return inspect(target(), "--method", "tools/call", "--tool-name", tool, "--tool-arg", ...pairs);
    };
    const stored = await call("add_memory", { content: "Ada's cat is called Biscuit.", userId });
    expect(stored).toMatchObject({ exitCode: 0, result: { structuredContent: { searchable: true } } });
    const { memory_id } = stored.result.structuredContent;
    const search = async () => {
      const { result } = await call("search_memories", { query: "What is the cat called?", userId, limit: 1 });
      expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent);
      return result.structuredContent.results.map(({ content }: { readonly content: string }) => content);
    };
    expect(await search()).toEqual(["Ada's cat is called Biscuit."]);
    await call("update_memory", { memory_id, content: "Ada's cat is called Crumb." });
    expect(await search()).toEqual(["Ada's cat is called Crumb."]);
    expect((await call("delete_memory", { memory_id })).exitCode).toBe(0);
    expect(await search()).toEqual([]);
    const gone = await call("get_memory", { memory_id });
    expect(gone.exitCode).not.toBe(0);
    expect(gone.result.isError).toBe(true);
  });

  test("without a key is asked for one, and lists no tool", async () => {
    const { exitCode, result, stderr } = await inspect([`${server.url}/mcp`], "--method", "tools/list");
    expect([exitCode === 0, result]).toEqual([false, null]);
    expect(stderr).toContain("auth");
  });
});
