// Tests the SQLite file: durability, migrations, transactions, and errors that tell an operator what to do.

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../src/domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { MemoryListing } from "../../src/ports/memory-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { MIGRATIONS } from "../../src/stores/sqlite/migrations.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores, openStores } from "../../src/stores/sqlite/stores.ts";
import { StoreError, type StoreErrorCode } from "../../src/stores/store-error.ts";
import { StoreQuarantine } from "../../src/stores/store-quarantine.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { killMidway } from "../support/kill-midway.ts";
import { until } from "../support/until.ts";
import { NO_MOUNT, remount, smallDisk, temporaryFolder } from "./temporary-folder.ts";

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, "mneme.sqlite");
});
afterEach(() => folder.remove());

async function failureOf(call: () => unknown): Promise<StoreError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** Opens the file as the process that holds the lock of the data directory, which merges the log when it closes. */
function openOwned(): SqliteDatabase {
  const quarantine = new StoreQuarantine(folder.path, 0);
  return openDatabase(path, { ownership: { log: createLog("silent"), quarantine, acceptsLoss: false } });
}

async function storesOf(database: SqliteDatabase) {
  const stores = connectStores(database, database, { clock: systemClock, newWebhookSecret });
  return { ...stores, project: await stores.accounts.defaultProject(), store: stores.memories };
}

function addProject(database: SqliteDatabase, id: string): void {
  database
    .prepare<never, { id: string }>("INSERT INTO projects (id, name, plan, created_at) VALUES ($id, 'some', 'free', 0)")
    .run({ id });
}

function projectsIn(database: SqliteDatabase): readonly string[] {
  return database
    .prepare<{ id: string }>("SELECT id FROM projects ORDER BY id")
    .all({})
    .map(({ id }) => id);
}

function pragma(database: SqliteDatabase, name: string): unknown {
  return Object.values(database.prepare<Record<string, unknown>>(`PRAGMA ${name}`).get({}) ?? {})[0];
}

test("merges the log in a later turn than the commit that made it large, and once", async () => {
  const log: string[] = [];
  const quarantine = new StoreQuarantine(folder.path, 0);
  const ownership = { log: createLog("silent"), quarantine, acceptsLoss: false };
  const stores = openStores({ path, newWebhookSecret, clock: systemClock, ownership });
  const mergedBytes = () => statSync(path).size;
  const before = mergedBytes();
  for (let at = 0; at < 24; at++) {
    // without another commit in between, writes of one turn are synchronous
    void stores.write((database) => {
      database.prepare("CREATE TABLE IF NOT EXISTS filler (bytes BLOB)").run({});
      database.prepare("INSERT INTO filler VALUES (zeroblob(500000))").run({});
    });
    log.push(mergedBytes() === before ? "not merged" : "merged");
  }
  expect(new Set(log)).toEqual(new Set(["not merged"]));
  await until("the log is merged", () => mergedBytes() > before + 10_000_000);
  stores.close();
});

describe("opening", () => {
  test("creates file and log readable only by their owner", () => {
    const database = openDatabase(path);
    for (const suffix of ["", "-wal"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    database.close();
  });

  test("applies all migrations to an empty file, once", async () => {
    for (let time = 0; time < 2; time++) {
      const database = openDatabase(path);
      expect(pragma(database, "user_version")).toBe(BigInt(MIGRATIONS.length));
      const { project, store } = await storesOf(database);
      expect((await store.list(project, { limit: 9 })).items).toHaveLength(time);
      await store.accept(project, [{ content: "kept" }]);
      database.close();
    }
  });

  test("makes every commit durable and enforces references", () => {
    const database = openDatabase(path);
    expect(pragma(database, "journal_mode")).toBe("wal");
    expect(pragma(database, "synchronous")).toBe(2n);
    expect(pragma(database, "foreign_keys")).toBe(1n);
    database.close();
  });

  test("refuses a file of a newer version of Mneme, and does not change it", async () => {
    const database = openDatabase(path);
    database.prepare(`PRAGMA user_version = ${MIGRATIONS.length + 1}`).run({});
    database.close();
    const failure = await failureOf(() => openDatabase(path));
    expect(failure.code).toBe("newer_version");
    expect(failure.message).toContain(path);
    expect(failure.message).toContain("newer version of Mneme");
  });

  const impossible: readonly (readonly [string, StoreErrorCode, (path: string) => void])[] = [
    ["not a database", "damaged", (at) => writeFileSync(at, "x".repeat(9_000))],
    ["a folder", "io", (at) => mkdirSync(at)],
    ["in a folder that does not exist", "io", () => rmSync(folder.path, { recursive: true })],
  ];
  for (const [what, code, spoil] of impossible) {
    test(`reports "${code}" and the path of a file that is ${what}`, async () => {
      spoil(path);
      const failure = await failureOf(() => openDatabase(path));
      expect(failure.code).toBe(code);
      expect(failure.message).toStartWith(path);
    });
  }

  test('reports "damaged" for a file with overwritten pages, at the latest when they are read', async () => {
    const database = openOwned();
    const { project, store } = await storesOf(database);
    await store.accept(
      project,
      Array.from({ length: 200 }, (_, index) => ({ content: `text ${index} `.repeat(100) })),
    );
    database.close();
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(statSync(path).size - 8_192, 0xab), 0, null, 8_192);
    closeSync(file);
    const failure = await failureOf(async () => {
      const damaged = openDatabase(path);
      try {
        const stores = await storesOf(damaged);
        await stores.store.list(stores.project, { limit: 100 });
      } finally {
        damaged.close();
      }
    });
    expect(failure.code).toBe("damaged");
    expect(failure.message).toContain("backup");
  });
});

describe("a transaction", () => {
  test("is rolled back as a whole if its work throws", () => {
    const database = openDatabase(path);
    expect(() =>
      database.transaction(() => {
        addProject(database, "prj_undone");
        throw new Error("changed my mind");
      }),
    ).toThrow("changed my mind");
    expect(projectsIn(database)).toEqual([]);
    addProject(database, "prj_kept");
    expect(projectsIn(database)).toEqual(["prj_kept"]);
    database.close();
  });

  test("inside another one is rolled back alone if the outer one catches the error", () => {
    const database = openDatabase(path);
    database.transaction(() => {
      addProject(database, "prj_before");
      try {
        database.transaction(() => {
          addProject(database, "prj_undone");
          throw new Error("only this part");
        });
      } catch {
        addProject(database, "prj_after");
      }
    });
    expect(projectsIn(database)).toEqual(["prj_after", "prj_before"]);
    database.close();
  });

  test("of another connection is visible after its commit", async () => {
    const [mine, theirs] = [openDatabase(path), openDatabase(path)];
    const { project, store } = await storesOf(mine);
    const [accepted] = await store.accept(project, [{ content: "x" }]);
    if (accepted === undefined || accepted instanceof Fault) throw new Error("nothing was accepted");
    expect(await (await storesOf(theirs)).store.get(project, accepted.memory.id)).toEqual(accepted.memory);
    mine.close();
    theirs.close();
  });
});

describe("afterCommit", () => {
  const opened = (failures: unknown[] = []) => {
    const database = openDatabase(path, { onEffectFailure: (error) => failures.push(error) });
    const done: string[] = [];
    return { database, done, note: (what: string) => database.afterCommit(() => void done.push(what)) };
  };

  test("runs effects in order after the outermost transaction is durable", () => {
    const { database, done, note } = opened();
    const theirs = openDatabase(path);
    database.transaction(() => {
      addProject(database, "prj_a");
      database.afterCommit(() => {
        done.push(projectsIn(theirs).length === 0 ? "unseen" : "durable");
      });
      database.transaction(() => note("inner"));
      note("outer");
      expect(done).toEqual([]);
    });
    expect(done).toEqual(["durable", "inner", "outer"]);
    theirs.close();
    database.close();
  });

  test("runs an effect at once if no transaction is open, also from within another effect", () => {
    const { database, done, note } = opened();
    note("first");
    expect(done).toEqual(["first"]);
    database.transaction(() =>
      database.afterCommit(() => {
        note("within an effect");
        database.transaction(() => note("of its own transaction"));
        done.push("end");
      }),
    );
    expect(done).toEqual(["first", "within an effect", "of its own transaction", "end"]);
    database.close();
  });

  test("drops the effects of rolled back work, and only those", () => {
    const { database, done, note } = opened();
    expect(() =>
      database.transaction(() => {
        note("undone");
        throw new Error("changed my mind");
      }),
    ).toThrow("changed my mind");
    database.transaction(() => {
      note("kept");
      try {
        database.transaction(() => {
          note("undone part");
          throw new Error("only this part");
        });
      } catch {
        note("kept too");
      }
    });
    expect(done).toEqual(["kept", "kept too"]);
    database.close();
  });

  test("reports the error of an effect; the transaction stands, and the other effects run", () => {
    const failures: unknown[] = [];
    const { database, done, note } = opened(failures);
    const result = database.transaction(() => {
      database.afterCommit(() => {
        throw new Error("an effect failed");
      });
      note("next");
      addProject(database, "prj_a");
      return "done";
    });
    expect([result, done, failures.map(String)]).toEqual(["done", ["next"], ["Error: an effect failed"]]);
    expect(projectsIn(database)).toEqual(["prj_a"]);
    database.close();
  });
});

test("min_evidence: a stored 0 becomes null, other numbers stay, whatever else the settings hold", () => {
  const file = new Database(path, { create: true });
  const before = MIGRATIONS.findIndex((sql) => sql.includes("'$.min_evidence'"));
  for (const sql of MIGRATIONS.slice(0, before)) file.run(sql);
  file.run(`PRAGMA user_version = ${before}`);
  const stored = ['{"min_evidence":0,"retention_days":7}', '{"min_evidence":0.25}', '{"min_evidence":1}', "{}"];
  for (const [at, settings] of stored.entries()) {
    file.run("INSERT INTO projects (id, name, plan, settings, created_at) VALUES (?, 'p', 'free', ?, ?)", [
      `prj_${at}`,
      settings,
      at,
    ]);
  }
  file.close();
  const database = openDatabase(path);
  const rows = database.prepare<{ settings: string }>("SELECT settings FROM projects ORDER BY created_at").all({});
  expect(rows.map(({ settings }) => JSON.parse(settings))).toEqual([
    { min_evidence: null, retention_days: 7 },
    { min_evidence: 0.25 },
    { min_evidence: 1 },
    {},
  ]);
  database.close();
});

describe("a file of schema version 1", () => {
  const secret = "ctx_of_an_older_version";
  const sha256 = (text: string) => createHash("sha256").update(text).digest();

  function writeVersion1(): void {
    const file = new Database(path, { create: true, safeIntegers: true });
    file.run(MIGRATIONS[0] ?? "");
    file.run("PRAGMA user_version = 1");
    file.run("INSERT INTO projects (id, name, plan, is_default, created_at) VALUES ('prj_a', 'default', 'free', 1, 5)");
    file.run("INSERT INTO projects (id, name, plan, created_at) VALUES ('prj_b', 'second', 'free', 6)");
    file.run("INSERT INTO api_keys VALUES ('key_a', 1, 'admin', ?, '[\"*\",\"admin\"]', 7)", [sha256(secret)]);
    file.run("INSERT INTO users (project_key, id, created_at) VALUES (1, 'u', 8)");
    const add = (id: string, columns: Record<string, string | number | null>) => {
      const all = {
        ...{ id, project_key: 1, version: 1, status: "completed", given: "[]", content_bytes: 4, claimable_at: 9 },
        ...{ created_at: 9, updated_at: 9 },
        ...columns,
      };
      const names = Object.keys(all);
      file.run(
        `INSERT INTO memories (${names.join(",")}, content_sha256) VALUES (${names.map(() => "?").join(",")}, ?)`,
        [...Object.values(all), sha256("text")],
      );
    };
    add("mem_1", {
      title: "Hello World",
      type: "note",
      tags: '["a","b"]',
      user_key: 1,
      external_id: "e",
      language: "en",
    });
    add("mem_2", { status: "processing", title: "Given", given: '["title"]', metadata: '{"k":1}' });
    add("mem_3", { status: "failed", error_code: "processing_error", error_message: "no luck", tags: "[]" });
    add("mem_4", { deleted_at: 10, is_retracted: 1, tags: '["a"]', content_bytes: 1_000 });
    add("mem_5", { project_key: 2, expires_at: 9_000_000_000_000, tags: '["a"]' });
    file.run("INSERT INTO waiting_contents VALUES (2, 'text'), (3, 'text')");
    file.close();
  }

  test("can be read, listed and processed after the migrations", async () => {
    writeVersion1();
    const database = openDatabase(path);
    const { project, store, jobs, retirement, accounts } = await storesOf(database);
    expect(project).toBe("prj_a" as ProjectId);
    const ids = async (listing: Partial<MemoryListing>, of = project) =>
      (await store.list(of, { limit: 9, ...listing })).items.map(({ id }) => String(id));
    expect(await ids({})).toEqual(["mem_3", "mem_2", "mem_1"]);
    expect(await ids({ tag: "a" })).toEqual(["mem_1"]);
    expect(await ids({ q: "O WOR" })).toEqual(["mem_1"]);
    expect(await ids({ userId: "u" })).toEqual(["mem_1"]);
    expect(await ids({ tag: "a" }, "prj_b" as ProjectId)).toEqual(["mem_5"]);
    expect(await store.get(project, "mem_1" as MemoryId)).toEqual({
      key: 1n as MemoryKey,
      id: "mem_1" as MemoryId,
      version: 1,
      state: { status: "completed", chunkCount: 0, extraction: "local" },
      title: "Hello World",
      type: "note",
      tags: ["a", "b"],
      language: "en",
      metadata: null,
      userId: "u",
      userKey: 1n as UserKey,
      agentId: null,
      sessionId: null,
      externalId: "e",
      createdAt: 9,
      updatedAt: 9,
      expiresAt: null,
      occurredAt: null,
      occurredAtGiven: null,
      contentBytes: 4,
      ...{ source: null, originalFile: null },
      given: [],
      supersededBy: null,
      supersededPassages: null,
    });
    expect(await jobs.claim({ jobs: 9, contentBytes: 9, leaseMs: 9 })).toMatchObject([
      { content: "text", memory: { id: "mem_2", metadata: { k: 1 } } },
    ]);
    expect((await store.retry(project, "mem_3" as MemoryId))?.state.status).toBe("processing");
    expect(await store.accept(project, [{ content: "text", externalId: "e", userId: "u" }])).toMatchObject([
      { outcome: "unchanged", memory: { id: "mem_1" } },
    ]);
    expect(await retirement.purgeable(9)).toEqual([4n as MemoryKey]);
    expect(await accounts.authenticate(secret)).toMatchObject({
      keyId: "key_a",
      projectId: "prj_a",
      scopes: ["*", "admin"],
    });
    database.close();
  });

  test("counts the memories that are not deleted for the plan", async () => {
    writeVersion1();
    const database = openDatabase(path);
    const { project, store } = await storesOf(database);
    const results = await store.accept(project, Array(8).fill({ content: "x" }));
    expect(results.map((result) => (result instanceof Fault ? result.code : result.outcome))).toEqual([
      ...Array(7).fill("created"),
      "document_quota_exceeded",
    ]);
    expect(database.prepare("SELECT documents, storage_bytes FROM projects ORDER BY project_key").all({})).toEqual([
      { documents: 10n, storage_bytes: 19n },
      { documents: 1n, storage_bytes: 4n },
    ]);
    database.close();
  });
});

describe("kill -9 while memories are accepted", () => {
  for (const moreMs of [0, 3, 20]) {
    test(`loses no acknowledged memory (${moreMs} ms after the 30th batch)`, async () => {
      const batches = await killMidway(join(import.meta.dir, "fixtures/accepting.ts"), path, 30, moreMs);
      const database = openDatabase(path);
      const { project, store } = await storesOf(database);
      const ids = batches.flatMap((line) => line.split(" ")) as MemoryId[];
      const found = await Promise.all(ids.map((id) => store.get(project, id)));
      expect(found.filter((memory) => memory === null)).toEqual([]);
      const keys = found.flatMap((memory) => (memory === null ? [] : [memory.key]));
      expect((await store.waitingContents(keys)).size).toBe(ids.length);
      expect(
        Object.values(database.prepare<Record<string, string>>("PRAGMA integrity_check").all({})[0] ?? {}),
      ).toEqual(["ok"]);
      database.close();
    });
  }
});

const disk = smallDisk(8);
disk?.remove();
describe.skipIf(disk === null)(`a file system of its own (${disk === null ? NO_MOUNT : "mounted"})`, () => {
  test('that is full is "no_space"; stored memories stay readable, and freeing space is enough to continue', async () => {
    const small = smallDisk(8);
    if (small === null) throw new Error(NO_MOUNT);
    try {
      const database = openDatabase(join(small.path, "mneme.sqlite"));
      const { project, store } = await storesOf(database);
      const [kept] = await store.accept(project, [{ content: "kept" }]);
      writeFileSync(join(small.path, "ballast"), Buffer.alloc(5_000_000));
      const failure = await failureOf(async () => {
        for (let index = 0; index < 10; index++) await store.accept(project, [{ content: "x".repeat(1_000_000) }]);
      });
      expect(failure.code).toBe("no_space");
      expect(failure.message).toContain("disk is full");
      if (kept === undefined || kept instanceof Fault) throw new Error("nothing was accepted");
      expect(await store.get(project, kept.memory.id)).toEqual(kept.memory);
      Bun.spawnSync(["rm", join(small.path, "ballast")]);
      expect(await store.accept(project, [{ content: "goes on" }])).toHaveLength(1);
      database.close();
    } finally {
      small.remove();
    }
  });

  test('that is read-only is "read_only"', async () => {
    const small = smallDisk(8);
    if (small === null) throw new Error(NO_MOUNT);
    try {
      const at = join(small.path, "mneme.sqlite");
      openDatabase(at).close();
      remount(small.path, "ro");
      const failure = await failureOf(() => openDatabase(at));
      expect(failure.code).toBe("read_only");
      expect(failure.message).toStartWith(at);
      expect(existsSync(at)).toBe(true);
    } finally {
      small.remove();
    }
  });
});
