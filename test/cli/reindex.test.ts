// `mneme reindex` with the real models: through a running server, on a data directory without one, and killed midway.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandsTo } from "../../src/compose/control-socket.ts";
import { expectWhole, storeBatch } from "../crash/notes.ts";
import { runMneme } from "../support/command.ts";
import { PROGRAM } from "../support/program.ts";
import { startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-reindex-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("rebuilds through a server and without one, and refuses what it cannot do", async () => {
  const dataDir = join(folder, "data");
  const reindex = (...argv: readonly string[]) => runMneme(["reindex", "--data-dir", dataDir, ...argv], folder);
  expect(reindex()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("holds no data of Mneme") });

  const numbers = Array.from({ length: 12 }, (_, at) => at);
  let server = await startServer({ dataDir });
  const ids = new Map<number, string>();
  for (const [at, id] of (await storeBatch(server, numbers)).entries()) ids.set(numbers[at] ?? -1, id);
  await expectWhole(server, ids);

  const beside = Bun.spawn([...PROGRAM, "reindex", "--json", "--data-dir", dataDir], {
    env: process.env,
    stdout: "pipe",
    stderr: "pipe",
  });
  while (beside.exitCode === null) {
    await expectWhole(server, ids); // searches go on, and find everything
  }
  expect(await new Response(beside.stderr).text()).toBe("");
  const results = JSON.parse(await new Response(beside.stdout).text());
  expect(results).toMatchObject([{ memories: 12, rebuilt: 12, changed: 0, ingested: 0, kept: 0 }]);
  expect(reindex("--project", "prj_unknown").stderr).toContain("There is no project 'prj_unknown'.");
  expect(reindex("--rate", "0").stderr).toContain("--rate must be");
  expect(reindex("more").stderr).toContain('Unexpected argument "more"');

  // killed while it works; the server goes on, and the command can be repeated
  const empty = await server.call("POST", "/v1/projects", { name: "empty" });
  const { id } = empty.body as { readonly id: string };
  const isRunning = async () => {
    const request = new Request(`http://mneme/reindex?project=${id}`, { method: "POST" });
    return (await (await commandsTo(dataDir)(request)).text()).includes("running already");
  };
  const begin = () =>
    Bun.spawn([...PROGRAM, "reindex", "--rate", "4", "--data-dir", dataDir], {
      env: process.env,
      stdout: "ignore",
      stderr: "ignore",
    });
  let killed = begin();
  await until("the command works", () => {
    if (killed.exitCode !== null) killed = begin(); // refused, because the look at the server was the first
    return isRunning();
  });
  killed.kill("SIGKILL");
  await killed.exited;
  await until("the server has noticed", async () => !(await isRunning()));
  await expectWhole(server, ids);
  await server.stop();

  const [project] = results;
  const alone = reindex("--project", project.project_id);
  expect(alone.stderr).toBe("");
  expect(alone.stdout).toContain(`${project.project_id}: 12 of 12 memories rebuilt.`);
  server = await startServer({ dataDir });
  await expectWhole(server, ids);
  await server.stop();
});
