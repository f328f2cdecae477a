// A long text that waits in a file, in `mneme export`, `mneme backup` and `mneme verify`.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backup, restore } from "../../src/cli/backup.ts";
import { exportProject, importProject } from "../../src/cli/project-copy.ts";
import { verifyCommand } from "../../src/cli/verify.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import { escapedBody } from "../support/escaped-body.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { startWithoutModels } from "../support/unfinished.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-waiting-"));
const path = (name: string) => join(folder, name);
const start = {
  environment: {},
  place: { workingDirectory: folder, shippedModelsDirectory: () => join(import.meta.dir, "../../data/models") },
};

/** A text of 12,000 characters. */
const TEXT = "Der Käse reift im Keller. 😀 ".repeat(430);

let service: TestService;
let stop: () => Promise<void>;
beforeAll(async () => {
  // no memory is completed, so that the text stays in its file
  service = await startWithoutModels();
  stop = listenForCommands(service.dataDir, service.service.control);
  const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
  const request = new Request("http://mneme.test/v1/memories", { method: "POST", headers, body: escapedBody(TEXT) });
  expect((await service.send(request)).status).toBe(202);
  expect(textFiles(service.dataDir).map((file) => readFileSync(file, "utf8"))).toEqual([TEXT]);
});
afterAll(async () => {
  await stop?.();
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const textFiles = (dataDir: string) =>
  readdirSync(join(dataDir, "uploads"), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(dataDir, "uploads", name));

/** Starts a service with models on a data directory, and returns its memories when they are processed. */
async function completedIn(dataDir: string): Promise<readonly { readonly status: string; readonly content: string }[]> {
  const copy = await startService({ dataDir });
  try {
    const { body } = await copy.call("GET", "/v1/memories");
    for (const { id } of body.data) await copy.settled(id);
    return (await copy.call("GET", "/v1/memories")).body.data;
  } finally {
    await copy.stop();
  }
}

test("an export has the text, and so has an export of what is imported from it", async () => {
  const exported = async (name: string, ...argv: readonly string[]) => {
    await exportProject([path(name), ...argv], start);
    const [, ...lines] = readFileSync(path(name), "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line));
  };
  const records = await exported("all.jsonl", "--data-dir", service.dataDir);
  expect(records.filter(({ type }) => type === "memory")).toMatchObject([{ content: TEXT, has_file: false }]);
  const fresh = await startService({ dataDir: path("imported"), waitsForModels: false });
  await fresh.stop();
  await importProject([path("all.jsonl"), "--data-dir", path("imported")], start);
  const { id } = records.find(({ type }) => type === "project");
  expect(await exported("again.jsonl", "--data-dir", path("imported"), "--project", id)).toEqual(records);
});

test("a backup has the file, and what is restored completes it and removes the file", async () => {
  await backup([path("backups"), "--data-dir", service.dataDir], start);
  await restore([path("backups"), "--data-dir", path("restored")], start);
  expect(textFiles(path("restored")).map((file) => readFileSync(file, "utf8"))).toEqual([TEXT]);
  expect(await completedIn(path("restored"))).toMatchObject([{ status: "completed", content: TEXT }]);
  expect(textFiles(path("restored"))).toEqual([]);
});

test("verify accepts the file, and reports it when it is shortened or missing", async () => {
  const verify = () => verifyCommand(["--data-dir", path("verified")], start);
  await backup([path("backups"), "--data-dir", service.dataDir], start);
  await restore([path("backups"), "--data-dir", path("verified")], start);
  expect(await verify()).toMatchObject({ exitCode: 0 });
  const [file = ""] = textFiles(path("verified"));
  truncateSync(file, 100);
  expect(await verify()).toMatchObject({ exitCode: 1 });
  rmSync(file);
  expect(await verify()).toMatchObject({ exitCode: 1 });
});
