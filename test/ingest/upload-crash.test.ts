// The process is killed (SIGKILL) while uploads are accepted. Every acknowledged upload has its file, and the next
// start removes files without a row.

import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { removeUnreferencedFiles } from "../../src/erasure/erasure.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { openStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { killMidway } from "../support/kill-midway.ts";

const FIXTURE = join(import.meta.dir, "fixtures/accept-uploads.ts");

for (const [point, lines] of [
  ["after some rows, before any file was read", 7],
  ["between the move of a file and its row", 21],
] as const) {
  test(`killed ${point}: every acknowledged upload has its file, and other files are removed`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-uploads-"));
    const printed = await killMidway(FIXTURE, folder, lines, 0);
    const ids = printed.filter((line) => line.startsWith("mem_"));
    writeFileSync(join(folder, "uploads/incoming/half"), "half of a file");

    const stores = openStores({ path: join(folder, "mneme.sqlite"), clock: systemClock, newWebhookSecret });
    const files = openSpool(join(folder, "uploads"), { clock: systemClock, log: createLog("silent") });
    const moved = (await files.names(0)).length;
    expect(readdirSync(join(folder, "uploads/incoming"))).toEqual([]);
    const removed = await removeUnreferencedFiles(files, stores.memories, 0);
    expect(await files.names(0)).toHaveLength(moved - removed);
    if (printed.includes("moved")) expect(removed).toBe(1);

    await stores.jobs.voidLeases();
    const jobs = await stores.jobs.claim({ jobs: 1_000, contentBytes: 1_000_000, leaseMs: 1_000 });
    // `stored` may include one memory whose id was not printed, if the process was killed between the commit and the
    // output.
    const stored = jobs.map((job) => job.memory.id as string);
    expect(stored.slice(0, ids.length)).toEqual(ids);
    expect(await files.names(0)).toHaveLength(stored.length);
    for (const [at, { upload }] of jobs.entries()) {
      expect(readFileSync(files.pathOf(upload?.name ?? ""), "utf8")).toBe(`upload ${at}`);
    }
    stores.close();
    rmSync(folder, { recursive: true });
  });
}
