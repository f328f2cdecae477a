// kill -9 while uploads come in: what was acknowledged has its file, and a file without its row goes with the next start.

import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../src/adapters/embedded/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/adapters/embedded/sqlite/memory-store.ts";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { killMidway } from "../support/kill-midway.ts";
import { until } from "../support/until.ts";

const FIXTURE = join(import.meta.dir, "fixtures/keeping.ts");

for (const [point, lines] of [
  ["after some rows, before any file was read", 7],
  ["between the move of a file and its row", 21],
] as const) {
  test(`killed ${point}: every acknowledged upload has its file, and no other file stays`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-uploads-"));
    const printed = await killMidway(FIXTURE, folder, lines, 0);
    const ids = printed.filter((line) => line.startsWith("mem_"));
    writeFileSync(join(folder, "uploads/incoming/half"), "half of a file");

    const database = openDatabase(join(folder, "mneme.sqlite"));
    const files = openSpool(join(folder, "uploads"), createLog("silent"));
    const memories = new SqliteMemoryStore({ database, clock: systemClock, files });
    const moved = files.names().length;
    expect(readdirSync(join(folder, "uploads/incoming"))).toEqual([]);
    const loose = memories.removeLooseFiles();
    await until("loose files are gone", () => files.names().length === moved - loose);
    if (printed.includes("moved")) expect(loose).toBe(1);

    memories.voidLeases();
    const jobs = memories.claim({ jobs: 1_000, contentBytes: 1_000_000, leaseMs: 1_000 });
    // one more than was printed, should the kill have come between a row and its line
    const stored = jobs.map((job) => job.memory.id as string);
    expect(stored.slice(0, ids.length)).toEqual(ids);
    expect(files.names()).toHaveLength(stored.length);
    for (const [at, { upload }] of jobs.entries()) {
      expect(readFileSync(upload?.path ?? "", "utf8")).toBe(`upload ${at}`);
    }
    database.close();
    rmSync(folder, { recursive: true });
  }, 60_000);
}
