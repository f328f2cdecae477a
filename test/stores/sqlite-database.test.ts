// What the SQLite file owes whoever opens it: durability, a schema that fits, and a sentence an operator can act on.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { SqliteAccountStore } from "../../src/adapters/embedded/sqlite/account-store.ts";
import { openDatabase, type SqliteDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/adapters/embedded/sqlite/memory-store.ts";
import { MIGRATIONS } from "../../src/adapters/embedded/sqlite/migrations.ts";
import { StoreError, type StoreErrorCode } from "../../src/adapters/embedded/store-error.ts";
import type { MemoryId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { killMidway } from "../support/kill-midway.ts";
import { NO_MOUNT, remount, smallDisk, temporaryFolder } from "./temporary-folder.ts";

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, "mneme.sqlite");
});
afterEach(() => folder.remove());

function failureOf(call: () => unknown): StoreError {
  try {
    call();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function storesOf(database: SqliteDatabase) {
  const project = new SqliteAccountStore({ database, clock: systemClock }).defaultProject();
  return { project, store: new SqliteMemoryStore({ database, clock: systemClock }) };
}

function pragma(database: SqliteDatabase, name: string): unknown {
  return Object.values(database.prepare<Record<string, unknown>>(`PRAGMA ${name}`).get({}) ?? {})[0];
}

describe("opening", () => {
  test("makes a file that only its owner reads, its log too", () => {
    const database = openDatabase(path);
    for (const suffix of ["", "-wal"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    database.close();
  });

  test("brings an empty file to the newest schema, once", () => {
    for (let time = 0; time < 2; time++) {
      const database = openDatabase(path);
      expect(pragma(database, "user_version")).toBe(BigInt(MIGRATIONS.length));
      const { project, store } = storesOf(database);
      expect(store.list(project, { limit: 9 }).items).toHaveLength(time);
      store.accept(project, [{ content: "kept" }]);
      database.close();
    }
  });

  test("makes every commit durable and keeps references whole", () => {
    const database = openDatabase(path);
    expect(pragma(database, "journal_mode")).toBe("wal");
    expect(pragma(database, "synchronous")).toBe(2n);
    expect(pragma(database, "foreign_keys")).toBe(1n);
    database.close();
  });

  test("refuses a file that a newer Mneme made, and leaves it alone", () => {
    const database = openDatabase(path);
    database.prepare(`PRAGMA user_version = ${MIGRATIONS.length + 1}`).run({});
    database.close();
    const failure = failureOf(() => openDatabase(path));
    expect(failure.code).toBe("newer_version");
    expect(failure.message).toContain(path);
    expect(failure.message).toContain("newer Mneme");
  });

  const impossible: readonly (readonly [string, StoreErrorCode, (path: string) => void])[] = [
    ["no database", "damaged", (at) => writeFileSync(at, "x".repeat(9_000))],
    ["a folder", "io", (at) => mkdirSync(at)],
    ["in a folder that does not exist", "io", () => rmSync(folder.path, { recursive: true })],
  ];
  for (const [what, code, spoil] of impossible) {
    test(`says "${code}" and names the file where it is ${what}`, () => {
      spoil(path);
      const failure = failureOf(() => openDatabase(path));
      expect(failure.code).toBe(code);
      expect(failure.message).toStartWith(path);
    });
  }

  test('says "damaged" of a file whose pages were overwritten, at the latest when they are read', () => {
    const database = openDatabase(path);
    const { project, store } = storesOf(database);
    store.accept(
      project,
      Array.from({ length: 200 }, (_, index) => ({ content: `text ${index} `.repeat(100) })),
    );
    database.close();
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(statSync(path).size - 8_192, 0xab), 0, null, 8_192);
    closeSync(file);
    const failure = failureOf(() => {
      const damaged = openDatabase(path);
      try {
        const stores = storesOf(damaged);
        stores.store.list(stores.project, { limit: 100 });
      } finally {
        damaged.close();
      }
    });
    expect(failure.code).toBe("damaged");
    expect(failure.message).toContain("backup");
  });
});

describe("a transaction", () => {
  test("is undone as a whole when its work throws, also one inside another", () => {
    const database = openDatabase(path);
    const { project, store } = storesOf(database);
    expect(() =>
      database.transaction(() => {
        store.accept(project, [{ content: "x" }]);
        throw new Error("changed my mind");
      }),
    ).toThrow("changed my mind");
    expect(store.list(project, { limit: 9 }).items).toEqual([]);
    store.accept(project, [{ content: "y" }]);
    expect(store.counts().processing).toBe(1);
    database.close();
  });

  test("of another process is waited for, and what it wrote is seen", () => {
    const [mine, theirs] = [openDatabase(path), openDatabase(path)];
    const { project, store } = storesOf(mine);
    const [accepted] = store.accept(project, [{ content: "x" }]);
    expect(storesOf(theirs).store.get(project, accepted?.memory.id as MemoryId)).toEqual(accepted?.memory ?? null);
    mine.close();
    theirs.close();
  });
});

describe("kill -9 while memories are accepted", () => {
  for (const moreMs of [0, 3, 20]) {
    test(`loses none that was acknowledged (${moreMs} ms after the 30th batch)`, async () => {
      const batches = await killMidway(join(import.meta.dir, "fixtures/accepting.ts"), path, 30, moreMs);
      const database = openDatabase(path);
      const { project, store } = storesOf(database);
      const ids = batches.flatMap((line) => line.split(" ")) as MemoryId[];
      const found = ids.map((id) => store.get(project, id));
      expect(found.filter((memory) => memory === null)).toEqual([]);
      const keys = found.flatMap((memory) => (memory === null ? [] : [memory.key]));
      expect(store.waitingContents(keys).size).toBe(ids.length);
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
  test('that is full is "no_space"; what was stored stays readable, and space freed is enough to go on', () => {
    const small = smallDisk(8);
    if (small === null) throw new Error(NO_MOUNT);
    try {
      const database = openDatabase(join(small.path, "mneme.sqlite"));
      const { project, store } = storesOf(database);
      const [kept] = store.accept(project, [{ content: "kept" }]);
      writeFileSync(join(small.path, "ballast"), Buffer.alloc(5_000_000));
      const failure = failureOf(() => {
        for (let index = 0; index < 10; index++) store.accept(project, [{ content: "x".repeat(1_000_000) }]);
      });
      expect(failure.code).toBe("no_space");
      expect(failure.message).toContain("disk is full");
      expect(store.get(project, kept?.memory.id as MemoryId)).toEqual(kept?.memory ?? null);
      Bun.spawnSync(["rm", join(small.path, "ballast")]);
      expect(store.accept(project, [{ content: "goes on" }])).toHaveLength(1);
      database.close();
    } finally {
      small.remove();
    }
  });

  test('that is read-only is "read_only"', () => {
    const small = smallDisk(8);
    if (small === null) throw new Error(NO_MOUNT);
    try {
      const at = join(small.path, "mneme.sqlite");
      openDatabase(at).close();
      remount(small.path, "ro");
      const failure = failureOf(() => openDatabase(at));
      expect(failure.code).toBe("read_only");
      expect(failure.message).toStartWith(at);
      expect(existsSync(at)).toBe(true);
    } finally {
      small.remove();
    }
  });
});
