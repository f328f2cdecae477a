// Compaction: sweeps shrink the vector log of a project after its memories were deleted.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

/** Number of memories, more than the minimum number of records for compaction. */
const MEMORIES = 1_500;

let folder: string;
let harness: IngestHarness;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "mneme-compaction-"));
  harness = await openIngestHarness(null, { folder });
});
afterEach(async () => {
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
});

function logBytes(): number {
  const directory = join(folder, "projects", harness.projectId);
  const logs = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".log"));
  return logs.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

test("a sweep frees the space of deleted vectors and keeps the others searchable", async () => {
  const memories = await harness.accept(
    ...Array.from({ length: MEMORIES }, (_, at) => ({ content: `Kettle ${at} boils.` })),
  );
  await until("all are completed", async () => (await harness.memories.counts()).completed === MEMORIES);
  const before = logBytes();
  const removed = memories.slice(0, 1_400).map(({ key }) => key);
  await harness.memories.removeMany(harness.projectId, removed);
  await until("the log has shrunk", () => {
    harness.clock.advance(30_000);
    return logBytes() < before / 4;
  });
  expect(await harness.searchable()).toHaveLength(100);
});
