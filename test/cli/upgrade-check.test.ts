// `mneme upgrade-check`: it tells of data of earlier versions what an upgrade will do, and changes nothing.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { upgradeCheck } from "../../src/cli/upgrade-check.ts";
import { noteBackup } from "../../src/compose/last-backup.ts";
import { MIGRATIONS as POSTGRES_MIGRATIONS } from "../../src/stores/postgres/migrations.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { runMneme } from "../support/command.ts";
import { representatives } from "../support/extent.ts";
import { databaseUrl, execute, postgresServer } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import { DEFAULT, ENGLISH, MODELS_DIR } from "../support/shipped-models.ts";
import { keptDirectories, unpack } from "../upgrade/kept-directory.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const home = mkdtempSync(join(tmpdir(), "mneme-upgrade-check-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
/** Models of the installed program: the English embedder has a manifest, but no weights. */
const installed = join(home, "models");
beforeAll(() => {
  mkdirSync(join(installed, ENGLISH), { recursive: true });
  cpSync(join(MODELS_DIR, ENGLISH, "model.json"), join(installed, ENGLISH, "model.json"));
  for (const name of readdirSync(MODELS_DIR).filter((each) => each.startsWith("mneme-"))) {
    symlinkSync(join(MODELS_DIR, name), join(installed, name));
  }
});

const start = { environment: {}, place: { workingDirectory: home, shippedModelsDirectory: () => MODELS_DIR } };

async function check(...argv: readonly string[]) {
  return checkIn({}, ...argv);
}

async function checkIn(environment: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const { text, exitCode } = await upgradeCheck(["--json", ...argv], { ...start, environment });
  return { exitCode, ...JSON.parse(text) };
}

/** A copy of a kept directory. */
function dataOf(kept: string, name: string): string {
  const dataDir = join(home, name);
  unpack(kept, dataDir);
  return dataDir;
}

/** All files with hashes, without the shared memory that any reader of SQLite makes. */
function filesOf(dataDir: string) {
  return readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith("-shm"))
    .map((entry) => [entry.name, Bun.hash(readFileSync(join(entry.parentPath, entry.name)))])
    .sort();
}

describe("data of an earlier version", () => {
  const kept = keptDirectories();
  for (const name of representatives(kept, (each) => (Number(/\d+$/.exec(each)?.[0]) < 12 ? "old" : "new"), SEED)) {
    test(`${name}: its migrations are counted, its models named, and nothing is changed`, async () => {
      const schema = Number(/\d+$/.exec(name)?.[0]);
      const dataDir = dataOf(name, name);
      const before = filesOf(dataDir);
      const found = await check("--data-dir", dataDir);
      expect(found).toMatchObject({ exitCode: 0, is_possible: true, projects: 1, absent_models: [] });
      const [rows, texts] = found.stores;
      expect(rows).toMatchObject({ store: "rows", schema });
      expect(rows.supported).toBeGreaterThan(schema);
      expect(texts).toMatchObject({ store: "texts", schema: schema < 12 ? 1 : 2, supported: 2 });
      expect(found.needed_bytes).toBeGreaterThan(0);
      expect(found.findings.at(-1)).toMatchObject({ name: "way back", verdict: "warning" });
      expect(filesOf(dataDir)).toEqual(before);
    });
  }

  test("what is found beforehand is what the start does", async () => {
    const dataDir = dataOf("0.1.0-schema5", "started");
    const { reembedded } = await check("--data-dir", dataDir);
    expect(reembedded).toMatchObject([{ from: ENGLISH, to: DEFAULT, is_under_way: false }]);
    expect(reembedded[0].chunks).toBeGreaterThan(20);
    expect((await check("--data-dir", dataDir, "--embedder-upgrade", "manual")).reembedded).toEqual([]);
    expect((await check("--data-dir", dataDir, "--embedder", ENGLISH)).reembedded).toEqual([]);
    expect((await check("--data-dir", dataDir)).findings).toContainEqual(
      expect.objectContaining({ advice: expect.stringContaining("MNEME_EMBEDDER_UPGRADE=manual") }),
    );
    await using server = await startServer({ dataDir, flags: ["--embedder-upgrade", "manual"] });
    const { body } = await server.call("GET", "/v1/project");
    expect(body).toMatchObject({ id: reembedded[0].project });
    const beside = await check("--data-dir", dataDir);
    expect(beside).toMatchObject({ exitCode: 0, are_texts_in_use: true });
    expect(beside.server_version).toMatch(/^\d+\./);
    const [rows] = beside.stores;
    expect(rows.schema).toBe(rows.supported);
  });

  test("an absent embedder is named with its command, and nothing is embedded again", async () => {
    const dataDir = dataOf("0.1.0-schema5", "absent"); // the newest one with the English embedder
    const found = await check("--data-dir", dataDir, "--models-dir", installed);
    expect(found).toMatchObject({ exitCode: 0, reembedded: [] });
    const command = `mneme models pull ${ENGLISH} --from ${ENGLISH}.zip (a file of the release)`;
    expect(found.absent_models).toMatchObject([{ id: ENGLISH, command }]);
    expect(found.absent_models[0].projects).toHaveLength(1);
    const current = dataOf("0.1.0-schema16", "present");
    expect((await check("--data-dir", current, "--models-dir", installed)).absent_models).toEqual([]);
  });

  test("a change that was asked for is named with the command that ends it", async () => {
    const dataDir = dataOf("0.1.0-schema16", "asked");
    expect(runMneme(["models", "use", ENGLISH, "--data-dir", dataDir], home).exitCode).toBe(0);
    const { reembedded, findings } = await check("--data-dir", dataDir, "--embedder-upgrade", "manual");
    expect(reembedded).toMatchObject([{ from: DEFAULT, to: ENGLISH, is_under_way: true }]);
    const advice = "Searches go on meanwhile. This was asked for already; mneme models cancel ends it.";
    expect(findings).toContainEqual(expect.objectContaining({ name: "models", verdict: "warning", advice }));
    expect(runMneme(["models", "cancel", "--data-dir", dataDir], home).exitCode).toBe(0);
    expect((await check("--data-dir", dataDir)).reembedded).toEqual([]);
  });

  test("a model that the program does not know keeps the server from starting", async () => {
    const dataDir = dataOf("0.1.0-schema5", "unknown-model");
    const few = join(home, "few-models");
    mkdirSync(few);
    for (const name of readdirSync(MODELS_DIR).filter((each) => each.startsWith("mneme-"))) {
      symlinkSync(join(MODELS_DIR, name), join(few, name));
    }
    const found = await check("--data-dir", dataDir, "--models-dir", few);
    expect(found).toMatchObject({ exitCode: 1, is_possible: false, absent_models: [{ command: null }] });
    expect(found.absent_models[0].id).toStartWith("all-MiniLM-L6-v2/"); // its fingerprint
  });

  test("a backup is the way back", async () => {
    const dataDir = dataOf("0.1.0-schema16", "backed-up");
    noteBackup(dataDir, Date.UTC(2026, 10, 29, 12));
    const found = await check("--data-dir", dataDir);
    expect(found.last_backup_at).toBe("2026-11-29T12:00:00.000Z");
    expect(found.findings.at(-1)).toMatchObject({ name: "way back", verdict: "good" });
  });
});

describe("data that this version refuses", () => {
  test("newer data is a downgrade: exit code 1", async () => {
    const dataDir = dataOf("0.1.0-schema16", "newer");
    const database = openDatabase(join(dataDir, "mneme.sqlite"));
    database.prepare("PRAGMA user_version = 99").run({});
    database.close();
    const found = await check("--data-dir", dataDir);
    expect(found).toMatchObject({ exitCode: 1, is_possible: false });
    expect(found.findings[0]).toMatchObject({ name: "rows", verdict: "bad" });
    expect(found.findings[0].advice).toContain("downgrade is refused");
  });

  test("a folder without data, damaged data and wrong flags were not checked: exit code 2", () => {
    const of = (...argv: readonly string[]) => runMneme(["upgrade-check", ...argv], home);
    const empty = of("--data-dir", join(home, "nothing"));
    expect([empty.exitCode, empty.stderr]).toEqual([2, expect.stringContaining("holds no data of Mneme")]);
    const damaged = join(home, "damaged");
    mkdirSync(damaged);
    cpSync(import.meta.path, join(damaged, "mneme.sqlite"));
    const refused = of("--data-dir", damaged);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("mneme.sqlite is damaged")]);
    expect(of("--port", "many").exitCode).toBe(2);
  });
});

test("the table names each finding, and what to do", () => {
  const dataDir = dataOf("0.1.0-schema12", "table");
  const { exitCode, stdout } = runMneme(["upgrade-check", "--data-dir", dataDir], home);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^ok +rows .*schema version 12; the start applies \d+ migrations up to \d+\.$/m);
  expect(stdout).toContain("→ Make a backup with the version that runs now");
});

withPostgres("upgrade-check", () => {
  const dataDir = () => mkdtempSync(join(home, "node-"));
  const of = (store: string) => checkIn({ MNEME_STORE: store }, "--data-dir", dataDir());

  test("PostgreSQL: a current, a newer, an older and an empty database", async () => {
    const { url, giveBack } = await emptyDatabase();
    const [current] = (await of(url)).stores;
    expect(current).toMatchObject({ store: "rows", schema: POSTGRES_MIGRATIONS.length });
    await execute(url, "UPDATE mneme_store SET schema_version = 99");
    const newer = await of(url);
    expect(newer).toMatchObject({ exitCode: 1, stores: [{ schema: 99, supported: POSTGRES_MIGRATIONS.length }] });
    await execute(url, `UPDATE mneme_store SET schema_version = ${POSTGRES_MIGRATIONS.length}`);
    await giveBack();

    const server = await postgresServer();
    const name = `mneme_${crypto.randomUUID().replaceAll("-", "")}`;
    await execute(server, `CREATE DATABASE ${name}`);
    const old = databaseUrl(server, name);
    expect(await of(old)).toMatchObject({ exitCode: 0, stores: [{ schema: 0 }], projects: 0 });
    for (const sql of POSTGRES_MIGRATIONS.slice(0, 3)) await execute(old, sql);
    await execute(old, "CREATE TABLE mneme_store (only_row bigint, store_id text, schema_version bigint)");
    await execute(old, "INSERT INTO mneme_store VALUES (1, 'a', 3)");
    await execute(
      old,
      "INSERT INTO projects (id, name, plan, settings, retention_days, secret, is_default, created_at) VALUES ('prj_a', 'a', 'free', '{}', 30, 'x', 1, 0)",
    );
    const found = await of(old);
    expect(found).toMatchObject({ exitCode: 0, is_possible: true, projects: 1, stores: [{ schema: 3 }] });
    expect(found.stores[0].where).not.toContain("@");
  });
});
