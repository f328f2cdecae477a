// The installed program, started by a link in an empty folder: no node_modules, no sources, almost no environment.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isEncoderMadeForThisProcessor } from "../../src/adapters/native/model-encoder.ts";
import { folderBytes } from "../../src/binary/build.ts";
import { isRecord } from "../../src/kit/record.ts";
import { testOfAll } from "../support/extent.ts";
import { connectHttp, connectStdio } from "../support/mcp.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";
import { until } from "../support/until.ts";

const built = join(ROOT, "dist/mneme/mneme");
if (process.env.MNEME_TEST_BINARY === "build") {
  Bun.spawnSync([process.execPath, join(ROOT, "src/binary/build.ts")], { stdout: "inherit", stderr: "inherit" });
}
const isThere = existsSync(built);
if (!isThere) {
  process.stdout.write(
    "skipped: there is no dist/mneme; `bun run build:binary` makes it, or set MNEME_TEST_BINARY=build\n",
  );
}

const folder = mkdtempSync(join(tmpdir(), "mneme-binary-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!isThere)("the program", () => {
  const program = join(folder, "mneme");
  const dataDir = join(folder, "store");
  const start = () =>
    startServer({
      command: [program],
      workingDirectory: folder,
      dataDir,
      environment: { PATH: null, HOME: null, MNEME_CACHE_DIR: null, XDG_CACHE_HOME: null },
    });
  const bestOf = async (server: RunningServer, mode: string) => {
    const { body } = await server.call("POST", "/v1/memories/search", { query: "where is the spare key?", mode });
    return isRecord(body) && Array.isArray(body.results) ? body.results[0]?.content : null;
  };
  const sentence = "Ada keeps the spare key under the blue flower pot.";
  test("prints its version without writing anything", () => {
    symlinkSync(built, program);
    const { stdout, exitCode } = Bun.spawnSync([program, "version"], { cwd: folder, env: {} });
    expect({ exitCode, text: stdout.toString() }).toMatchObject({
      exitCode: 0,
      text: expect.stringMatching(/^mneme \d/),
    });
    expect(readdirSync(folder)).toEqual(["mneme"]);
  });

  test("serves, stores and finds in both modes, with the encoder that suits the processor", async () => {
    const server = await start();
    const stored = await server.call("POST", "/v1/memories", { content: sentence });
    expect(stored.status).toBe(202);
    const id = isRecord(stored.body) ? stored.body.id : "";
    await until("the memory is searchable", async () => {
      const { body } = await server.call("GET", `/v1/memories/${id}`);
      return isRecord(body) && body.status !== "processing" ? body : null;
    });
    expect(await bestOf(server, "fast")).toBe(sentence);
    expect(await bestOf(server, "balanced")).toBe(sentence);
    // the files beside the models are there, too; without reference.json the slower onnxruntime would run the models
    const { body } = await server.call("GET", "/ready");
    expect(JSON.stringify(body)).toContain(`"provider":"${isEncoderMadeForThisProcessor() ? "cpu-native" : "cpu"}"`);
    const console = await fetch(`${server.url}/`);
    const script = /src="(console\/main-[\w-]+\.js)"/.exec(await console.text())?.[1] ?? "";
    expect((await fetch(`${server.url}/${script}`)).status).toBe(200); // the console was bundled into the program
    const guide = await fetch(`${server.url}/docs/guide/concepts.html`);
    expect([guide.status, (await guide.text()).includes("<title>The six concepts")]).toEqual([200, true]);
    expect(await server.stop()).toBe(0);
    const megabytes = Math.round(folderBytes(dirname(built)) / 1024 ** 2);
    process.stdout.write(`program ${megabytes} MiB; first start ${Math.round(server.startMs)} ms\n`);
  });

  test("finds it after a restart, and removes what earlier versions unpacked", async () => {
    const [unpacked, own] = ["runtime-0123456789abcdef", "runtime-notes"].map((name) => join(dataDir, name));
    for (const path of [unpacked, own]) mkdirSync(path ?? "");
    const server = await start();
    expect(await bestOf(server, "fast")).toBe(sentence);
    expect(await server.stop()).toBe(0);
    expect([existsSync(unpacked ?? ""), existsSync(own ?? "")]).toEqual([false, true]);
    process.stdout.write(`second start ${Math.round(server.startMs)} ms\n`);
  });

  test("serves MCP over stdio on the same folder, and over HTTP", async () => {
    const command = { command: program, args: ["mcp", "--data-dir", dataDir], env: { PATH: "" }, cwd: folder };
    const peer = await connectStdio("2026-07-28", command, () => undefined);
    const { results } = await peer.done("search_memories", { query: "where is the spare key?" });
    expect(results[0].content).toBe(sentence);
    await peer.close();

    const server = await start();
    const overHttp = await connectHttp("2025-11-25", server.url, server.key);
    expect((await overHttp.done("list_memories")).memories).toHaveLength(1);
    await overHttp.close();
    expect(await server.stop()).toBe(0);
  });

  testOfAll(
    "keeps data with every command, on a running server and without one, and prints help without data",
    async () => {
      const mneme = (...argv: string[]) => {
        const { stdout, stderr, exitCode } = Bun.spawnSync([program, ...argv], {
          cwd: folder,
          env: { TMPDIR: folder },
        });
        // what takes longer on a busy machine says how far it is
        return { exitCode, text: stdout.toString(), failure: stderr.toString().replace(/^\w+ +\d+ %, .*\n/gm, "") };
      };
      const done = { exitCode: 0, failure: "" };
      const flags = ["--data-dir", dataDir];
      const backups = join(folder, "backups");
      const keep = (when: string) => {
        expect(mneme("verify", ...flags)).toMatchObject({
          ...done,
          text: expect.stringContaining("they fit together"),
        });
        expect(mneme("backup", backups, ...flags)).toMatchObject(done);
        for (const vectors of [[], ["--vectors"]]) {
          const file = join(folder, `${when}${vectors.length}.jsonl`);
          expect(mneme("export", file, ...vectors, ...flags)).toMatchObject(done);
          expect(readFileSync(file, "utf8")).toContain(sentence);
        }
        const again = mneme("import", join(folder, `${when}1.jsonl`), ...flags);
        expect([again.exitCode, again.failure]).toEqual([1, expect.stringContaining("exists already")]);
      };
      const server = await start();
      keep("served");
      expect(mneme("forget", "user", "nobody", ...flags).failure).toContain('There is no user "nobody"');
      expect(await server.stop()).toBe(0);
      keep("stopped");

      expect(mneme("restore", backups, "--list").exitCode).toBe(0);
      const restored = ["--data-dir", join(folder, "restored")];
      expect(mneme("restore", backups, ...restored).exitCode).toBe(0);
      const repaired = mneme("verify", "--repair", ...restored);
      expect(repaired).toMatchObject({ exitCode: 0, text: expect.stringContaining("they fit together") });
      const names = ["backup", "restore", "export", "import", "forget", "verify"];
      for (const argv of [["help"], ...names.map((name) => [name, "--help"])]) {
        expect(mneme(...argv)).toMatchObject({ ...done, text: expect.stringContaining("--data-dir") });
      }
    },
  );
});
