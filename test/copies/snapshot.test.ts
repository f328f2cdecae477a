// A snapshot of the texts stays as it was while texts are removed and the file is written again.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { textRows, textTables } from "../../src/adapters/embedded/copies/snapshot.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import type { DuckSnapshot } from "../../src/adapters/embedded/duckdb/snapshot.ts";
import type { ChunkKey, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { createLog } from "../../src/kit/log.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

const memory = (key: number) => ({
  ...{ projectId: "prj_a" as ProjectId, memoryKey: BigInt(key) as MemoryKey, version: 1 },
  content: `text ${key} ${"x".repeat(3_000)}`,
  chunks: [{ chunkKey: BigInt(key * 10) as ChunkKey, ordinal: 0, start: 0, end: 4, headings: ["a"] }],
});

async function countOf(snapshot: DuckSnapshot, name: string): Promise<number> {
  const table = (await textTables(snapshot)).find(({ table }) => table === name);
  let count = 0;
  for await (const _ of textRows(snapshot, table ?? { table: name, columns: [] })) count += 1;
  return count;
}

test("a snapshot shows removed texts until it is closed, and no table that only a removal needs", async () => {
  const folder = temporaryFolder();
  const archive = await Archive.open({ path: join(folder.path, "memories.duckdb"), log: createLog("silent") });
  const keys = Array.from({ length: 3_000 }, (_, at) => at + 1);
  await archive.replace(keys.map(memory));
  await archive.checkpoint();
  const rowsOf = async (table: string) => {
    const snapshot = await archive.snapshot();
    await snapshot.begin();
    const [rows, tables] = [await countOf(snapshot, table), await textTables(snapshot)];
    await snapshot.close();
    return { rows, tables };
  };
  const open = await archive.snapshot();
  await open.begin();

  await archive.remove(keys.slice(0, 2_000).map((key) => BigInt(key) as MemoryKey));
  const whileNoted = await rowsOf("texts");
  await archive.eraseRemoved();
  const after = await rowsOf("texts");
  const seen = await countOf(open, "texts");
  expect([seen, whileNoted.rows, after.rows]).toEqual([6_000, 2_000, 2_000]);
  expect(whileNoted.tables).toEqual(after.tables);
  expect(await textTables(open)).toEqual(after.tables);
  expect(after.tables.map(({ table }) => table)).toContain("texts");
  await open.close();

  await archive.eraseRemoved(); // what the open snapshot kept can go now
  expect((await archive.contents([1n, 2_500n] as MemoryKey[])).size).toBe(1);
  await archive.close();
  folder.remove();
});
