// Erasing removed texts from the DuckDB file in steps: writes run between them, nothing is lost, and what was removed
// meanwhile, or is still read by a snapshot, is left to the next call.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { DuckDatabase } from "../../src/adapters/embedded/duckdb/database.ts";
import { rewriteTables, TABLE_NAMES } from "../../src/adapters/embedded/duckdb/rewriting.ts";
import type { MemoryKey } from "../../src/domain/ids.ts";
import { createLog } from "../../src/kit/log.ts";
import type { ArchivedMemory } from "../../src/ports/text-archive.ts";
import { StoreError } from "../../src/stores/store-error.ts";
import { killMidway } from "../support/kill-midway.ts";
import { seeded } from "../support/seeded.ts";
import { archivedMemory, PROJECT } from "./fixtures/archived-memory.ts";
import { NO_MOUNT, smallDisk, temporaryFolder } from "./temporary-folder.ts";

const ROWS_PER_STEP = 20;
const MEMORIES = 300;

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
let archive: Archive;
const open = () => Archive.open({ path, log: createLog("silent"), rewriteRows: ROWS_PER_STEP });
beforeEach(async () => {
  folder = temporaryFolder();
  path = join(folder.path, "memories.duckdb");
  archive = await open();
});
afterEach(async () => {
  await archive.close();
  folder.remove();
});

const key = (value: number) => BigInt(value) as MemoryKey;
const textOf = (at: number, version: number) =>
  `${at} of version ${version}: ${Array.from({ length: 30 }, (_, word) => `w${(at * 7_919 + version * 31 + word * 131) % 99_991}x`).join(" ")}`;
const memory = (at: number, version: number): ArchivedMemory => ({
  ...archivedMemory(BigInt(at), version),
  content: textOf(at, version),
});
/** A memory with 42 kB of text that cannot be compressed much. */
const long = (at: number): ArchivedMemory => ({
  ...memory(at, 1),
  content: `long text ${at}: ${Array.from({ length: 6_000 }, (_, n) => (at * 7_919 + n * 104_729) % 999_983).join(" ")}`,
});
const isStored = (trace: string) =>
  [path, `${path}.wal`].some((file) => existsSync(file) && readFileSync(file).includes(trace));

/** Runs statements in the file, and merges its log. */
async function runSql(...statements: readonly string[]): Promise<void> {
  await archive.close();
  const database = await DuckDatabase.open({ path, log: createLog("silent") });
  await database.write(async (writer) => {
    for (const statement of statements) await writer.run(statement);
  });
  await database.checkpoint();
  await database.close();
  archive = await open();
}

/** The stored texts, by key. */
async function contents(keys: Iterable<number>): Promise<Map<number, string>> {
  const found = await archive.contents([...keys].map(key));
  return new Map([...found].map(([each, { content }]) => [Number(each), content]));
}

test("a write does not wait until everything is erased", async () => {
  await archive.replace(Array.from({ length: MEMORIES }, (_, at) => memory(at + 1, 1)));
  await archive.remove([key(7)]);
  const order: string[] = [];
  const erased = archive.eraseRemoved().then(() => order.push("erased"));
  const written = archive.replace([memory(1_000, 1)]).then(() => order.push("written"));
  await Promise.all([erased, written]);
  expect(order).toEqual(["written", "erased"]);
});

test("texts are stored without compression afterwards, as before", async () => {
  await archive.replace(Array.from({ length: MEMORIES }, (_, at) => memory(at + 1, 1)));
  const compressions = async () => {
    await archive.checkpoint();
    const snapshot = await archive.snapshot();
    const sql =
      "SELECT DISTINCT compression FROM pragma_storage_info('texts') WHERE column_name = 'content' AND segment_type = 'VARCHAR'";
    const found: unknown[] = [];
    for await (const rows of snapshot.rows(sql)) found.push(...rows.flat());
    await snapshot.close();
    return found;
  };
  expect(await compressions()).toEqual(["Uncompressed"]);
  await archive.remove([key(7)]);
  expect(await archive.eraseRemoved()).toBeTrue();
  expect(await compressions()).toEqual(["Uncompressed"]);
});

test("writes between the steps are kept, and memories that are removed between them are erased by the next call", async () => {
  const random = seeded(57);
  const expected = new Map<number, string>();
  const all = Array.from({ length: MEMORIES }, (_, at) => memory(at + 1, 1));
  await archive.replace(all);
  for (const at of all.keys()) expected.set(at + 1, textOf(at + 1, 1));
  await archive.remove([key(7)]);
  expected.delete(7);
  let isErasing = true;
  const erasing = archive.eraseRemoved().finally(() => {
    isErasing = false;
  });
  const removedMeanwhile: string[] = [];
  let writes = 0;
  for (let next = MEMORIES + 1; isErasing; writes++) {
    const at = 1 + Math.floor(random() * MEMORIES);
    const kind = random();
    if (kind < 0.3) {
      await archive.remove([key(at)]);
      const text = expected.get(at);
      if (text !== undefined) removedMeanwhile.push(text);
      expected.delete(at);
    } else {
      const changed = kind < 0.7 ? at : next++;
      await archive.replace([memory(changed, 2 + writes)]);
      expected.set(changed, textOf(changed, 2 + writes));
    }
  }
  expect(writes).toBeGreaterThan(10);
  expect(await erasing).toBeFalse(); // memories were removed meanwhile
  expect(isStored(textOf(7, 1))).toBeFalse();

  const keys = Array.from({ length: MEMORIES + writes }, (_, at) => at + 1);
  expect(await contents(keys)).toEqual(expected);
  const { memoryKeys } = await archive.chunkKeys(PROJECT);
  expect(new Set([...memoryKeys].map(Number))).toEqual(new Set(expected.keys()));
  expect(await archive.eraseRemoved()).toBeTrue();
  expect(removedMeanwhile.length).toBeGreaterThan(3);
  expect(removedMeanwhile.filter(isStored)).toEqual([]);

  await archive.close();
  archive = await open();
  expect(await contents(keys)).toEqual(expected);
});

test("a snapshot that is opened between two steps sees its texts, and the erasure is left to the next call", async () => {
  await archive.replace(Array.from({ length: MEMORIES }, (_, at) => memory(at + 1, 1)));
  await archive.remove([key(7)]);
  const erasing = archive.eraseRemoved();
  await archive.replace([memory(1_000, 1)]); // the first step has ended
  const snapshot = await archive.snapshot();
  await snapshot.begin();
  expect(await erasing).toBeFalse();
  await archive.replace([memory(1_001, 1)]);
  const seen: string[] = [];
  for await (const rows of snapshot.rows<readonly [string]>("SELECT content FROM texts ORDER BY memory_key")) {
    seen.push(...rows.map(([content]) => content));
  }
  const remaining = Array.from({ length: MEMORIES }, (_, at) => at + 1).filter((at) => at !== 7);
  expect(seen).toEqual([...remaining, 1_000].map((at) => textOf(at, 1)));
  await snapshot.close();
  expect(await archive.eraseRemoved()).toBeTrue();
  expect(isStored(textOf(7, 1))).toBeFalse();
  expect((await contents([...remaining, 1_000, 1_001])).size).toBe(MEMORIES + 1);
});

test("closing between two steps ends the erasure, and the next start has all texts and erases the rest", async () => {
  await archive.replace(Array.from({ length: MEMORIES }, (_, at) => memory(at + 1, 1)));
  await archive.remove([key(7)]);
  const erasing = archive.eraseRemoved();
  await archive.replace([memory(1_000, 1)]);
  await archive.close();
  expect(await erasing).toBeFalse();
  archive = await open();
  const tables = await (await archive.snapshot()).rows("SELECT table_name FROM duckdb_tables() ORDER BY 1");
  const names: unknown[] = [];
  for await (const rows of tables) names.push(...rows.map(([name]) => name));
  expect(names).toEqual(["chunks", "meta", "removed_rows", "store", "texts"]); // no copy is left
  expect((await contents([...Array(MEMORIES).keys()].map((at) => at + 1).concat(1_000))).size).toBe(MEMORIES);
});

test("texts that lie between free blocks are moved together once, and a dense file is not written again", async () => {
  // Tables of two blocks each. The texts get the blocks of every second one, and then those between become free.
  const holes = Array.from({ length: 40 }, (_, at) => `hole_${at}`);
  const filled = holes.map((hole) => `CREATE TABLE ${hole} AS SELECT hash(range) AS number FROM range(65536)`);
  const dropped = (rest: number) => holes.filter((_, at) => at % 2 === rest).map((hole) => `DROP TABLE ${hole}`);
  await runSql(...filled);
  await runSql(...dropped(0));
  const keys = Array.from({ length: 400 }, (_, at) => at + 1);
  await archive.replace(keys.map(long));
  await runSql(...dropped(1));
  await archive.remove([key(1_000)]);
  const before = statSync(path).size;
  const texts = await contents(keys);
  expect(await archive.eraseRemoved()).toBeTrue();
  expect(statSync(path).size).toBeLessThan(before * 0.75);
  expect(await contents(keys)).toEqual(texts);

  const bytes = () => Bun.hash(readFileSync(path));
  await archive.checkpoint();
  const written = bytes();
  expect(await archive.eraseRemoved()).toBeTrue();
  await archive.close();
  archive = await open();
  expect(await archive.eraseRemoved()).toBeTrue();
  await archive.checkpoint();
  expect(bytes()).toBe(written);
});

test("a write while the free blocks are filled does not keep the file from being cut", async () => {
  const keys = Array.from({ length: 100 }, (_, at) => at + 1);
  await archive.replace(keys.map((at) => memory(at, 1)));
  await archive.checkpoint();
  const before = statSync(path).size;
  await archive.close();
  const database = await DuckDatabase.open({ path, log: createLog("silent") });
  const written = new Set<bigint>();
  const changes = { keys: () => [...written], isNothingRemoved: () => true };
  const isDone = await database.inSteps(async function* (connection) {
    for await (const _ of rewriteTables(connection, ["texts"], changes, { rowsPerStep: undefined, fillsGaps: true })) {
      const names = (await connection.rows(TABLE_NAMES)).map(String);
      if (written.size === 0 && names.some((name) => name.startsWith("free_blocks"))) {
        written.add(1_000n);
        await connection.run("INSERT INTO texts SELECT * REPLACE (1000 AS memory_key) FROM texts WHERE memory_key = 1");
      }
      yield;
    }
  });
  await database.close();
  archive = await open();
  expect([isDone, written.size]).toEqual([true, 1]);
  expect(statSync(path).size).toBeLessThan(before * 1.5);
  expect((await contents([...keys, 1_000])).size).toBe(keys.length + 1);
});

test("free space is given back without a removal, if it is more than half of the file", async () => {
  const filler = (blocks: number) => `CREATE TABLE hole AS SELECT hash(range) AS number FROM range(${blocks * 32_768})`;
  const keys = Array.from({ length: 400 }, (_, at) => at + 1);
  const sizeAfter = async (blocks: number) => {
    await runSql(filler(blocks));
    await archive.replace(keys.map(long));
    await runSql("DROP TABLE hole");
    const before = statSync(path).size;
    expect(await archive.eraseRemoved()).toBeTrue();
    return statSync(path).size / before;
  };
  expect(await sizeAfter(20)).toBe(1);
  expect(await sizeAfter(140)).toBeLessThan(0.5);
  expect((await contents(keys)).size).toBe(keys.length);
});

test("a full disk ends the erasure and nothing else: small texts can be stored, and it is repeated", async () => {
  const small = smallDisk(40);
  if (small === null) return console.log(`skipped: ${NO_MOUNT}`);
  await archive.close();
  path = join(small.path, "memories.duckdb");
  archive = await open();
  try {
    const keys = Array.from({ length: 200 }, (_, at) => at + 1);
    await archive.replace(keys.map(long));
    await archive.checkpoint();
    expect(isStored("long text 7:")).toBeTrue();
    await archive.remove([key(7)]);
    const ballast = join(small.path, "ballast");
    const { bavail, bsize } = statfsSync(small.path);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 3_000_000, 1));
    const failure = await archive.eraseRemoved().then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StoreError);
    expect((failure as StoreError).code).toBe("no_space");
    await archive.replace([memory(1_000, 1)]);
    expect((await contents([...keys, 1_000])).size).toBe(200); // all but the removed one
    rmSync(ballast);
    expect(await archive.eraseRemoved()).toBeTrue();
    expect(isStored("long text 7:")).toBeFalse();
    expect((await contents([...keys, 1_000])).size).toBe(200);
  } finally {
    await archive.close();
    small.remove();
    path = join(folder.path, "memories.duckdb");
    archive = await open();
  }
});

for (const [lines, moreMs] of [
  [5, 0],
  [10, 7],
  [15, 20],
  [20, 41],
] as const) {
  test(`kill -9 while texts are erased loses nothing (${moreMs} ms after version ${lines})`, async () => {
    await archive.close();
    rmSync(path);
    const printed = await killMidway(join(import.meta.dir, "fixtures/erasing.ts"), path, lines, moreMs);
    const acknowledged = Number(printed.at(-1));
    archive = await open();
    const keys = Array.from({ length: 20 }, (_, at) => at + 1);
    const stored = await contents(keys);
    const version = Number(/version (\d+)/.exec(stored.get(1) ?? "")?.[1]);
    expect([acknowledged, acknowledged + 1]).toContain(version);
    expect(stored).toEqual(new Map(keys.map((at) => [at, archivedMemory(BigInt(at), version).content])));
    const { memoryKeys } = await archive.chunkKeys(PROJECT);
    expect([...memoryKeys].filter((each) => each <= 20n)).toHaveLength(60);
    await archive.remove([key(1_000)]);
    expect(await archive.eraseRemoved()).toBeTrue();
    expect(isStored("memory 1000 in version")).toBeFalse();
    expect(await contents(keys)).toEqual(stored);
  });
}
