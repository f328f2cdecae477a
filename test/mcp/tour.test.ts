// Runs the tour of docs/mcp.md as it is written there, and compares what it prints with the comments below each line:
// an agent's loop without a language model.

import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen } from "../support/mcp.ts";
import { startService, TEST_KEY } from "../support/service.ts";

const ROOT = join(import.meta.dir, "../..");

test("the tour of docs/mcp.md prints what its comments say", async () => {
  const page = readFileSync(join(ROOT, "docs/mcp.md"), "utf8");
  const blocks = Array.from(page.matchAll(/^```ts\n(.*?)^```$/gms), ([, block]) => block ?? "");
  expect(blocks.length).toBe(5);
  const source = blocks.join("\n");
  const expected = Array.from(source.matchAll(/^console\.log\(.*\n\/\/ (.*)$/gm), ([, comment]) => comment);
  expect(expected).toHaveLength(source.split("console.log(").length - 1);

  const folder = mkdtempSync(join(tmpdir(), "mneme-tour-"));
  const mneme = await startService();
  const server = listen(mneme);
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    expect(source).toContain("http://127.0.0.1:8383");
    writeFileSync(join(folder, "tour.ts"), source.replace("http://127.0.0.1:8383", server.url));
    const child = Bun.spawn([process.execPath, "tour.ts"], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, MNEME_API_KEY: TEST_KEY },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout.trim().split("\n")).toEqual(expected as string[]);
  } finally {
    await server.stop();
    await mneme.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
