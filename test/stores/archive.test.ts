// Tests the file of DuckDB: complete writes that survive a crash, erased texts, and correct error codes if it fails.
// The contract is in text-archive.test.ts.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { DuckDatabase } from "../../src/adapters/embedded/duckdb/database.ts";
import { MIGRATIONS } from "../../src/adapters/embedded/duckdb/schema.ts";
import type { ChunkKey, MemoryKey } from "../../src/domain/ids.ts";
import { createLog } from "../../src/kit/log.ts";
import type { ArchivedMemory } from "../../src/ports/text-archive.ts";
import { StoreError, type StoreErrorCode } from "../../src/stores/store-error.ts";
import { killMidway } from "../support/kill-midway.ts";
import { seeded } from "../support/seeded.ts";
import { archivedMemory, PROJECT } from "./fixtures/archived-memory.ts";
import { NO_MOUNT, smallDisk, temporaryFolder } from "./temporary-folder.ts";

const log = createLog("silent");

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
let archive: Archive;
beforeEach(async () => {
  folder = temporaryFolder();
  path = join(folder.path, "memories.duckdb");
  archive = await Archive.open({ path, log });
});
afterEach(async () => {
  await archive.close();
  folder.remove();
});

const key = (value: number) => BigInt(value) as MemoryKey;
type WholeMemory = ArchivedMemory & { readonly content: string };
const memory = (at: number, fields: Partial<WholeMemory> = {}): WholeMemory => ({
  ...archivedMemory(BigInt(at), 1),
  ...fields,
});
const contentOf = async (at: number) => (await archive.contents([key(at)])).get(key(at))?.content;

async function failureOf(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => new Error("nothing was thrown"),
    (reason: unknown) => reason,
  );
  if (error instanceof StoreError) return error;
  throw error;
}

async function _reopened(): Promise<void> {
  await archive.close();
  archive = await Archive.open({ path, log });
}

test("eraseRemoved overwrites removed texts and headings in the file, and changes nothing else", async () => {
  const chance = seeded(7);
  const word = () => Array.from({ length: 12 }, () => String.fromCharCode(97 + Math.floor(chance() * 26))).join("");
  const text = () => Array.from({ length: 20 }, word).join(" ");
  const [words, heading] = [`${word()} ${word()}`, word()];
  const chunk = (headings: readonly string[]) => ({
    chunkKey: 500n as ChunkKey,
    ordinal: 0,
    start: 0,
    end: 9,
    headings,
  });
  const kept = Array.from({ length: 60 }, (_, at) => memory(at + 1, { content: text() }));
  await archive.replace(kept);
  await archive.replace([memory(99, { content: `${text()} ${words} ${text()}`, chunks: [chunk([heading])] })]);
  await archive.checkpoint();
  const isStored = (trace: string) =>
    [path, `${path}.wal`].some((file) => existsSync(file) && readFileSync(file).includes(trace));
  expect([isStored(words), isStored(heading)]).toEqual([true, true]);
  expect(await archive.eraseRemoved()).toBe(true); // nothing was removed yet
  await archive.remove([key(99)]);
  const reading = archive.contents(kept.map(({ memoryKey }) => memoryKey));
  expect(await archive.eraseRemoved()).toBe(true);
  expect([isStored(words), isStored(heading)]).toEqual([false, false]);
  const expected = new Map(kept.map(({ memoryKey, version, content }) => [memoryKey, { version, content }]));
  expect(await reading).toEqual(expected);
  await archive.replace([memory(100)]);
  await archive.close();
  archive = await Archive.open({ path, log });
  expect(await archive.contents(kept.map(({ memoryKey }) => memoryKey))).toEqual(expected);
  expect(await contentOf(100)).toBe(memory(100).content);
  expect(await archive.eraseRemoved()).toBe(true);
});

describe("opening and closing", () => {
  test("close releases the file: another process can open it, and later calls are refused", async () => {
    await archive.replace([memory(1)]);
    await archive.close();
    await archive.close();
    expect(existsSync(`${path}.wal`)).toBe(false);
    await expect(archive.contents([key(1)])).rejects.toThrow("closed");
    await expect(archive.replace([memory(1)])).rejects.toThrow("closed");
    await expect(archive.checkpoint()).rejects.toThrow("closed");
    const moved = `${path}.moved`;
    const script = `const { Archive } = await import(${JSON.stringify(join(import.meta.dir, "../../src/adapters/embedded/duckdb/archive.ts"))});
      const archive = await Archive.open({ path: ${JSON.stringify(path)}, log: console });
      await Bun.write(${JSON.stringify(moved)}, (await archive.contents([1n])).get(1n)?.content ?? "");
      await archive.close();`;
    expect(Bun.spawnSync([process.execPath, "-e", script]).exitCode).toBe(0);
    expect(await Bun.file(moved).text()).toBe(memory(1).content);
  });

  test("close waits for running calls", async () => {
    const write = archive.replace([memory(1)]);
    const read = archive.contents([key(1)]);
    await archive.close();
    await write;
    await read;
    archive = await Archive.open({ path, log });
    expect(await contentOf(1)).toBe(memory(1).content);
  });

  test("allows no other files, no extensions and no changes of settings", async () => {
    const database = await DuckDatabase.open({ path: join(folder.path, "hardened.duckdb"), log });
    for (const sql of [
      "SELECT * FROM read_csv('/etc/hostname')",
      `COPY (SELECT 1) TO '${join(folder.path, "out.csv")}'`,
      `ATTACH '${join(folder.path, "other.duckdb")}'`,
      "INSTALL httpfs",
      "SET memory_limit = '100GB'",
      "SET enable_external_access = true",
    ]) {
      await expect(database.rows(sql)).rejects.toThrow(/configuration|Permission|disabled/);
    }
    await database.close();
  });

  test('reports "newer_version" for a file of a newer version of Mneme', async () => {
    await archive.close();
    const database = await DuckDatabase.open({ path, log });
    await database.write((writer) => writer.run(`UPDATE meta SET schema_version = ${MIGRATIONS.length + 1}`));
    await database.close();
    const failure = await failureOf(Archive.open({ path, log }));
    expect(failure.code).toBe("newer_version");
    expect(failure.message).toContain(path);
  });

  test('reports "locked" while another process has the file open', async () => {
    const script = `const { Archive } = await import(${JSON.stringify(join(import.meta.dir, "../../src/adapters/embedded/duckdb/archive.ts"))});
      await Archive.open({ path: ${JSON.stringify(path)}, log: console }).catch((error) => console.log(error.code, error.message));`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", script]);
    expect(stdout.toString()).toStartWith(`locked ${path} `);
  });

  const impossible: readonly (readonly [string, StoreErrorCode, () => void])[] = [
    ["not a database", "damaged", () => writeFileSync(path, "x".repeat(50_000))],
    ["overwritten at its beginning", "damaged", () => overwrite(path, 0, 20_000)],
  ];
  for (const [what, code, spoil] of impossible) {
    test(`reports "${code}" for a file that is ${what}`, async () => {
      await archive.replace(Array.from({ length: 300 }, (_, at) => memory(at + 1)));
      await archive.close();
      spoil();
      const failure = await failureOf(Archive.open({ path, log }));
      expect(failure.code).toBe(code);
      expect(failure.message).toStartWith(path);
    });
  }

  const damages: readonly (readonly [string, () => void])[] = [
    ["overwritten", () => overwrite(path, 12_288, statSync(path).size - 12_288)],
    ["cut off", () => truncateSync(path, 20_000)],
  ];
  for (const [what, spoil] of damages) {
    test(`reports "damaged" when pages that were ${what} are read`, async () => {
      await archive.replace(Array.from({ length: 300 }, (_, at) => memory(at + 1)));
      await archive.close();
      spoil();
      const reading = (async () => {
        const damaged = await Archive.open({ path, log });
        try {
          await damaged.contents(Array.from({ length: 300 }, (_, at) => key(at + 1)));
        } finally {
          await damaged.close();
        }
      })();
      expect((await failureOf(reading)).code).toBe("damaged");
    });
  }

  test('reports "io" if the folder does not exist', async () => {
    const failure = await failureOf(Archive.open({ path: join(folder.path, "nowhere", "x.duckdb"), log }));
    expect(failure.code).toBe("io");
  });
});

describe("kill -9 in the middle of replace", () => {
  for (const moreMs of [0, 4, 25]) {
    test(`leaves the last acknowledged version or the next one, complete (${moreMs} ms after the 40th)`, async () => {
      await archive.close();
      rmSync(path);
      const lines = await killMidway(join(import.meta.dir, "fixtures/archiving.ts"), path, 40, moreMs);
      const acknowledged = Number(lines.at(-1));
      archive = await Archive.open({ path, log });
      const contents = await archive.contents(Array.from({ length: 20 }, (_, at) => key(at + 1)));
      const version = Number(/version (\d+)/.exec(contents.get(key(1))?.content ?? "")?.[1]);
      expect([acknowledged, acknowledged + 1]).toContain(version);
      const expected = Array.from({ length: 20 }, (_, at) => archivedMemory(BigInt(at + 1), version));
      for (const { memoryKey, content } of expected) expect(contents.get(memoryKey)?.content).toBe(content);
      const chunkKeys = expected.flatMap(({ chunks }) => chunks.map((chunk) => chunk.chunkKey));
      expect(BigUint64Array.from((await archive.chunkKeys(PROJECT)).chunkKeys).sort()).toEqual(
        BigUint64Array.from(chunkKeys).sort(),
      );
    });
  }
});

const disk = smallDisk(24);
disk?.remove();
describe.skipIf(disk === null)(`a full disk (${disk === null ? NO_MOUNT : "mounted"})`, () => {
  test('is "no_space"; stored texts stay readable, and freeing space is enough to continue', async () => {
    const small = smallDisk(24);
    if (small === null) throw new Error(NO_MOUNT);
    const full = await Archive.open({ path: join(small.path, "memories.duckdb"), log });
    try {
      const stored = [memory(1)];
      await full.replace(stored);
      let isDone = false;
      const reading = (async () => {
        while (!isDone) expect((await full.contents([key(1)])).get(key(1))?.content).toBe(memory(1).content);
      })();
      const failure = await failureOf(
        (async () => {
          for (let at = 2; at < 100; at++) {
            const next = memory(at, { content: `${at} `.repeat(300_000) });
            await full.replace([next]);
            stored.push(next);
          }
        })(),
      );
      isDone = true;
      await reading;
      expect(failure.code).toBe("no_space");
      expect(stored.length).toBeGreaterThan(2);
      const contents = await full.contents(stored.map(({ memoryKey }) => memoryKey));
      for (const { memoryKey, content } of stored) expect(contents.get(memoryKey)?.content === content).toBe(true);
      // another large write fails, too, and stored texts can still be read
      const next = memory(1_000, { content: "more ".repeat(2_000_000) });
      expect((await failureOf(full.replace([next]))).code).toBe("no_space");
      expect((await full.contents([key(1)])).size).toBe(1);
      const mounted = Bun.spawnSync(["mount", "-o", "remount,size=200m", small.path]);
      expect(mounted.exitCode).toBe(0);
      await full.replace([next]);
      expect((await full.contents([key(1_000), key(1)])).size).toBe(2);
    } finally {
      await full.close();
      small.remove();
    }
  });
});

describe("a file that is closed", () => {
  const FILES = "/proc/self/fd";
  const isOpen = () =>
    readdirSync(FILES).some((name) => {
      try {
        return readlinkSync(join(FILES, name)).startsWith(path);
      } catch {
        return false; // closed meanwhile
      }
    });
  const queries: readonly (readonly [name: string, sql: string])[] = [
    ["one row", "SELECT count(*)::UBIGINT FROM texts"],
    ["many rows", "SELECT range::UBIGINT, repeat('x', 500) FROM range(2_000_000)"],
  ];
  for (const [name, sql] of queries) {
    const missing = existsSync(FILES) ? "" : ` (${FILES} is missing: it exists on Linux)`;
    test.skipIf(missing !== "")(
      `is not kept open by a snapshot that read only the first of ${name}${missing}`,
      async () => {
        await archive.replace([memory(1)]);
        const snapshot = await archive.snapshot();
        await snapshot.begin();
        for await (const rows of snapshot.rows(sql)) {
          expect(rows.length).toBeGreaterThan(0);
          break;
        }
        const rest = [];
        for await (const rows of snapshot.rows("SELECT DISTINCT memory_key FROM texts")) rest.push(...rows);
        expect(rest).toEqual([[1n]]);
        for await (const _ of snapshot.rows(sql)) break;
        expect(isOpen()).toBe(true);
        await snapshot.close();
        await archive.close();
        expect(isOpen()).toBe(false);
      },
    );
  }
});

function overwrite(at: string, from: number, bytes: number): void {
  const file = openSync(at, "r+");
  writeSync(file, Buffer.alloc(bytes, 0xab), 0, bytes, from);
  closeSync(file);
}
