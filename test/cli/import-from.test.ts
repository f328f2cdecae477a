// `mneme import --from`: from exports and a product's server into a real server, with report and exit code.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseImportFromOptions } from "../../src/cli/import-from.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { startMneme } from "../support/command.ts";
import { type RunningServer, startServer, TEST_KEY } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";

let server: RunningServer;
const folder = mkdtempSync(join(tmpdir(), "mneme-import-from-"));
beforeAll(async () => {
  server = await startServer({ environment: { MNEME_EMBEDDER: ENGLISH } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const importFrom = (argv: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  startMneme(["import", ...argv, "--url", server.url], folder, { MNEME_API_KEY: TEST_KEY, ...environment });

// biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of any shape, and fail if they differ
type Json = any;
const listOf = async (userId: string): Promise<readonly Json[]> =>
  ((await server.call("GET", `/v1/memories?limit=100&userId=${userId}`)).body as Json).data;

function file(name: string, value: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  return path;
}

const CHAT = {
  conversation_id: "c1",
  title: "Opening hours",
  create_time: 1_700_000_000,
  current_node: "b",
  mapping: {
    a: { message: { author: { role: "user" }, content: { content_type: "text", parts: ["When does Skarn open?"] } } },
    b: {
      parent: "a",
      message: { author: { role: "assistant" }, content: { content_type: "text", parts: ["Skarn opens at nine."] } },
    },
  },
};

describe("an import", () => {
  test("of every product stores searchable memories, and a second one changes nothing", async () => {
    mkdirSync(join(folder, "vault"));
    file("vault/Tea.md", "---\ntags: [drinks]\n---\nGreen tea needs 80 degrees.");
    const sources: Record<string, string> = {
      mem0: file("mem0.json", {
        results: [{ id: "1", memory: "Likes green tea", created_at: "2026-01-02T00:00:00Z" }],
      }),
      zep: file("zep.json", { threads: [{ thread_id: "t", messages: [{ role: "user", content: "Tea is ready" }] }] }),
      graphiti: file("graphiti.json", { edges: [{ uuid: "x", fact: "Ada drinks tea" }] }),
      supermemory: file("supermemory.json", { memories: [{ id: "d", content: "Tea grows in Assam", title: "Assam" }] }),
      hindsight: file("hindsight.json", { items: [{ id: "f", text: "Bob prefers coffee" }] }),
      chatgpt: file("conversations.json", [CHAT]),
      claude: file("claude.json", [
        { uuid: "k", name: "Cups", chat_messages: [{ sender: "human", text: "Which cup is mine?" }] },
      ]),
      "markdown-folder": join(folder, "vault"),
    };
    for (const [from, source] of Object.entries(sources)) {
      const { exitCode, stdout, stderr } = await importFrom(["--from", from, source, "--user", from, "--wait"]);
      expect([from, exitCode, stderr]).toEqual([from, 0, expect.stringContaining("everything is searchable")]);
      expect(stdout).toContain(`${from}: 1 memory read, 1 created, 0 updated, 0 unchanged, 0 refused, 0 skipped`);
    }
    const before = await Promise.all(Object.keys(sources).map(listOf));
    for (const [from, source] of Object.entries(sources)) {
      const { exitCode, stdout } = await importFrom(["--from", from, source, "--user", from]);
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining("0 created, 0 updated, 1 unchanged")]);
    }
    const after = await Promise.all(Object.keys(sources).map(listOf));
    expect(after).toEqual(before);
    expect(after.map((list) => list.map(({ status }) => status))).toEqual(after.map(() => ["completed"]));

    const search = async (userId: string, query: string) =>
      ((await server.call("POST", "/v1/memories/search", { query, userId })).body as Json).results[0];
    expect((await search("chatgpt", "opening hours of Skarn")).metadata._chunk.speaker).toBeString();
    expect(await search("mem0", "tea")).toMatchObject({
      metadata: { _memory: { occurred_at: "2026-01-02T00:00:00.000Z" }, mem0: { id: "1" } },
    });
  });

  test("of a newer export takes over what changed, and leaves the rest as it was", async () => {
    const record = (id: string, memory: string) => ({
      id,
      memory,
      user_id: "news",
      created_at: "2026-01-02T00:00:00Z",
    });
    const old = file("old.json", [
      record("1", "Ada likes tea"),
      record("2", "Ada likes figs"),
      record("3", "Ada sings"),
    ]);
    expect((await importFrom(["--from", "mem0", old, "--wait"])).stdout).toContain("3 created, 0 updated, 0 unchanged");
    const before = await listOf("news");
    const recent = file("new.json", [
      record("1", "Ada likes tea"),
      record("2", "Ada likes plums"),
      { ...record("3", "Ada sings"), categories: ["music"] },
      record("4", "Ada swims"),
    ]);
    const { stdout } = await importFrom(["--from", "mem0", recent, "--wait"]);
    expect(stdout).toContain("1 created, 2 updated, 1 unchanged, 0 refused");
    const after = await listOf("news");
    const tea = (list: typeof after) => list.find(({ content }) => content === "Ada likes tea");
    expect(tea(after)).toEqual(tea(before));
    expect(after.map(({ content, tags }) => [content, tags.includes("music")])).toEqual([
      ["Ada swims", false],
      ["Ada sings", true],
      ["Ada likes plums", false],
      ["Ada likes tea", false],
    ]);
  });

  test("of a damaged export stores the rest, says what is wrong and where, and exits with 1", async () => {
    const path = file(
      "damaged.json",
      '[{"id":"1","memory":"first","user_id":"dam"},{"id":2,,},{"id":"3","memory":"third","user_id":"dam"},{"id"',
    );
    const { exitCode, stdout, stderr } = await importFrom(["--from=mem0", path]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("item 2 at byte 45 is not valid JSON");
    expect(stderr).toContain("item 4 at byte 100 is cut off");
    expect(stdout).toContain("2 memories read, 2 created, 0 updated, 0 unchanged, 2 refused");
    expect((await listOf("dam")).map(({ content }) => content)).toEqual(["third", "first"]);
  });

  test("reports refusals of the server by their place", async () => {
    const path = file("refused.json", [
      { id: 1, memory: "ok", user_id: "ref" },
      { id: 2, memory: "x", user_id: "u".repeat(300) },
    ]);
    const { exitCode, stdout, stderr } = await importFrom(["--from", "mem0", path]);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^item 2 at byte \d+ was refused: .*userId/m)]);
    expect(stdout).toContain("1 created, 0 updated, 0 unchanged, 1 refused");
  });

  test("says what came along and what has no place; a dry run stores nothing and needs no key", async () => {
    const path = file("report.json", {
      results: [{ id: "1", memory: "m", user_id: "dry", hash: "h", metadata: { a: 1 } }],
    });
    const { exitCode, stdout } = await startMneme(["import", "--from", "mem0", path, "--dry-run"], folder);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("mem0: 1 memory read, nothing stored, 0 refused, 0 skipped");
    expect(stdout).toMatch(/Came along .*\n(.*\n)* {2}memory → content +1\n/);
    expect(stdout).toMatch(/Has no place in a memory, and was left out:\n {2}hash +1\n/);
    expect(await listOf("dry")).toEqual([]);
  });

  test("brings replaced facts along if what replaced them is there, superseded by it", async () => {
    const memory = (id: string, memory: string, more: object = {}) => ({ id, memory, containerTags: ["sm"], ...more });
    const fact = (uuid: string, fact: string, more: object = {}) => ({
      ...{ uuid, fact, name: "LIVES_IN", source_node_uuid: "n1", group_id: "facts" },
      ...more,
    });
    const [may, june] = ["2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z"];
    const sources = {
      supermemory: file("versions.json", {
        memories: [
          memory("v1", "The club meets in hall 1.", { isLatest: false }),
          memory("v3", "The club meets in hall 3.", { parentMemoryId: "v2" }),
          memory("v2", "The club meets in hall 2.", { parentMemoryId: "v1", isLatest: false }),
          memory("w1", "Replaced by something else.", { isLatest: false }),
        ],
      }),
      zep: file("facts.json", {
        edges: [
          fact("f1", "Ada lives in Oslo", { invalid_at: may, expired_at: june }),
          fact("f2", "Ada lives in Bergen", { valid_at: may }),
          fact("f3", "Ada likes figs", { name: "LIKES", valid_at: may }),
          fact("g1", "Ada works at one place", { name: "WORKS_AT", invalid_at: june }),
          fact("g2", "Ada works at two", { name: "WORKS_AT", valid_at: june }),
          fact("g3", "Ada works at three", { name: "WORKS_AT", valid_at: june }),
        ],
      }),
    };
    const supersededBy = async (userId: string) => {
      const list = await listOf(userId);
      const contents = new Map(list.map(({ id, content }) => [id, content]));
      return list.map(({ content, superseded_by }) => [content, contents.get(superseded_by) ?? null]).toSorted();
    };
    for (const round of ["3 created, 0 updated, 0 unchanged", "0 created, 0 updated, 3 unchanged"]) {
      const { stdout } = await importFrom(["--from", "supermemory", sources.supermemory]);
      expect(stdout).toContain(`supermemory: 3 memories read, ${round}`);
      expect(stdout).toContain("0 refused, 1 skipped, 2 superseded by others");
      expect(await supersededBy("sm")).toEqual([
        ["The club meets in hall 1.", "The club meets in hall 3."],
        ["The club meets in hall 2.", "The club meets in hall 3."],
        ["The club meets in hall 3.", null],
      ]);
    }
    expect((await importFrom(["--from", "zep", sources.zep])).stdout).toContain("1 skipped, 1 superseded by others");
    expect(await supersededBy("facts")).toEqual([
      ["Ada likes figs", null],
      ["Ada lives in Bergen", null],
      ["Ada lives in Oslo", "Ada lives in Bergen"],
      ["Ada works at three", null],
      ["Ada works at two", null],
    ]);
    // the second import has said nothing again
    const middle = (await listOf("sm")).find(({ content }) => content === "The club meets in hall 2.");
    const { body } = await server.call("GET", `/v1/memories/${middle?.id}/history`);
    const said = (body as Json).data.filter(({ action, by }: Json) => action === "set" && by.kind === "key");
    expect(said).toHaveLength(2);
  });

  test("reads a product's server with the key of the environment", async () => {
    using source = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ headers }) =>
        headers.get("authorization") === "Token k"
          ? Response.json({ results: [{ id: "s1", memory: "from a server", user_id: "srv" }], next: null })
          : Response.json({ detail: "Invalid token." }, { status: 401 }),
    });
    const refused = await importFrom(["--from", "mem0", source.url.origin], { MEM0_API_KEY: "wrong" });
    expect([refused.exitCode, refused.stderr.trim()]).toEqual([
      1,
      `mneme: ${source.url.origin} answered 401: Invalid token. Check MEM0_API_KEY.`,
    ]);
    const { exitCode } = await importFrom(["--from", "mem0", source.url.origin], { MEM0_API_KEY: "k" });
    expect([exitCode, (await listOf("srv")).length]).toEqual([0, 1]);
  });
});

describe("a command line", () => {
  const key = { MNEME_API_KEY: "ctx_k" };
  for (const [argv, why] of [
    [["--from", "mem", "f"], "Did you mean mem0? Known: mem0, zep, graphiti"],
    [["--from", "mem0"], "Missing source. Usage: mneme import --from mem0 FILE|FOLDER|URL"],
    [["--from", "mem0", "a", "b"], "import takes one source"],
    [["--from", "chatgpt", "https://chatgpt.com"], "chatgpt has no server that can be read"],
    [["--from", "mem0", "http://"], "mem0 has no server that can be read"],
    [["--from", "mem0", "f", "--batch", "0"], "--batch must be an integer"],
  ] as const) {
    test(`${argv.join(" ")} is refused`, () => {
      expect(() => parseImportFromOptions(argv, key)).toThrow(UsageError);
      expect(() => parseImportFromOptions(argv, key)).toThrow(why);
    });
  }
  test("without a key is refused, unless nothing is stored", () => {
    expect(() => parseImportFromOptions(["--from", "mem0", "f"], {})).toThrow("Missing API key");
    expect(parseImportFromOptions(["--from", "mem0", "f", "--dry-run"], {}).key).toBeNull();
  });
});
