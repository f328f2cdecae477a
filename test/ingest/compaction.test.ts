// The vector log of a project shrinks after its memories were deleted, without anybody asking for it.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

/** More than the number of records from which on a log is compacted. */
const MEMORIES = 1_500;

let folder: string;
let shop: Workshop;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "mneme-compaction-"));
  shop = await openWorkshop(null, { folder });
});
afterEach(async () => {
  await shop.close();
  rmSync(folder, { recursive: true, force: true });
});

function logBytes(): number {
  const directory = join(folder, "projects", shop.projectId);
  const logs = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".log"));
  return logs.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

test("a sweep gives the space of deleted vectors back and keeps the others searchable", async () => {
  const memories = shop.accept(...Array.from({ length: MEMORIES }, (_, at) => ({ content: `Kettle ${at} boils.` })));
  await until("all are completed", () => shop.memories.counts().completed === MEMORIES);
  const before = logBytes();
  for (const { id } of memories.slice(0, 1_400)) shop.memories.remove(shop.projectId, id);
  await until("the log has shrunk", () => {
    shop.clock.advance(30_000);
    return logBytes() < before / 4;
  });
  expect(await shop.searchable()).toHaveLength(100);
}, 60_000);
