// Data directories of earlier versions: this version opens each, migrates it and gives the same answers. Directories of
// newer versions are refused.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDatabase } from "../../src/adapters/embedded/duckdb/database.ts";
import { createLog } from "../../src/kit/log.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { startMneme } from "../support/command.ts";
import { representatives } from "../support/extent.ts";
import { startServer } from "../support/server.ts";
import { answersOf, keptDirectories, schemaOf, unpack } from "./kept-directory.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const home = mkdtempSync(join(tmpdir(), "mneme-upgrade-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const newDataDir = () => mkdtempSync(join(home, "new-"));

const kept = keptDirectories();
const newest = kept.at(-1);
for (const name of representatives(kept, (each) => (each === newest ? "newest" : "older"), SEED)) {
  test(`the data directory ${name} gives the same answers, and is sound`, async () => {
    const dataDir = join(home, name);
    const expected = unpack(name, dataDir);
    for (const start of ["first", "second"]) {
      await using server = await startServer({ dataDir });
      expect([start, await answersOf(server, expected)]).toEqual([start, expected]);
      expect(schemaOf(dataDir)).toEqual(schemaOf(newDataDir()));
      const report = JSON.parse((await startMneme(["verify", "--json", "--data-dir", dataDir], home)).stdout);
      expect(report).toMatchObject({ is_sound: true, defects: [] });
    }
  });
}

for (const [store, upgrade] of [
  ["mneme.sqlite", setRowsVersion],
  ["memories.duckdb", setTextsVersion],
] as const) {
  test(`a data directory whose ${store} a newer version wrote is refused with one line, and not changed`, async () => {
    const dataDir = join(home, `newer-${store}`);
    await (await startServer({ dataDir })).stop();
    await upgrade(join(dataDir, store));
    const isKept = (name: string) => name.startsWith(store) && !name.endsWith("-shm");
    const bytes = () =>
      readdirSync(dataDir)
        .filter(isKept)
        .map((name) => [name, Bun.hash(readFileSync(join(dataDir, name)))]);
    const before = bytes();
    const { exitCode, stderr } = await startMneme(["serve", "--port", "0", "--data-dir", dataDir], home);
    expect(stderr).toMatch(/^mneme: \S+ has schema version 99, but this version of Mneme supports at most \d+: .*\n$/);
    expect(stderr).toContain(store);
    expect(exitCode).toBe(1);
    expect(bytes()).toEqual(before); // otherwise the newer version would find pages without their sums
  });
}

function setRowsVersion(path: string): void {
  const database = openDatabase(path);
  database.prepare("PRAGMA user_version = 99").run({});
  database.close();
}

async function setTextsVersion(path: string): Promise<void> {
  const database = await DuckDatabase.open({ path, log: createLog("silent") });
  await database.write((writer) => writer.run("UPDATE meta SET schema_version = 99"));
  await database.close();
}
