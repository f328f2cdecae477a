// A snapshot of the texts stays as it was while texts are removed and the file is written again.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { textParts, textTables } from "../../src/adapters/embedded/keeping/store-parts.ts";
import type { ChunkKey, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { createLog } from "../../src/kit/log.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

const memory = (key: number) => ({
  ...{ projectId: "prj_a" as ProjectId, memoryKey: BigInt(key) as MemoryKey, version: 1 },
  content: `text ${key} ${"x".repeat(3_000)}`,
  chunks: [{ chunkKey: BigInt(key * 10) as ChunkKey, ordinal: 0, start: 0, end: 4, headings: ["a"] }],
});

test("a snapshot shows removed texts until it is closed, and no table that only a removal needs", async () => {
  const folder = temporaryFolder();
  const archive = await Archive.open({ path: join(folder.path, "memories.duckdb"), log: createLog("silent") });
  const keys = Array.from({ length: 3_000 }, (_, at) => at + 1);
  await archive.replace(keys.map(memory));
  await archive.checkpoint();
  const rowsOf = async (table: string) => {
    const snapshot = await archive.snapshot();
    await snapshot.begin();
    let rows = 0;
    for await (const { part } of textParts({ texts: snapshot }, table)) rows += "rows" in part ? part.rows : 0;
    const tables = await textTables({ texts: snapshot });
    await snapshot.close();
    return { rows, tables };
  };
  const open = await archive.snapshot();
  await open.begin();

  await archive.remove(keys.slice(0, 2_000).map((key) => BigInt(key) as MemoryKey));
  const whileNoted = await rowsOf("texts");
  await archive.eraseRemoved();
  const after = await rowsOf("texts");
  let seen = 0;
  for await (const { part } of textParts({ texts: open }, "texts")) seen += "rows" in part ? part.rows : 0;
  expect([seen, whileNoted.rows, after.rows]).toEqual([6_000, 2_000, 2_000]);
  expect(whileNoted.tables).toEqual(after.tables);
  expect(await textTables({ texts: open })).toEqual(after.tables);
  expect(after.tables).toContain("texts");
  await open.close();

  await archive.eraseRemoved(); // what the open snapshot kept can go now
  expect((await archive.contents([1n, 2_500n] as MemoryKey[])).size).toBe(1);
  await archive.close();
  folder.remove();
});
