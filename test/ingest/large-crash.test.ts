// The process is killed (SIGKILL) while one large text is being processed and another waits. After a restart both are
// completed, and each chunk exists once.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killMidway } from "../support/kill-midway.ts";
import { until } from "../support/until.ts";
import { openIngestHarness } from "./ingest-harness.ts";

const FIXTURE = join(import.meta.dir, "fixtures/process-large-texts.ts");

for (const [position, point] of ["embedding", "publishing", "published"].entries()) {
  test(`killed after it printed "${point}": no memory is lost, and no chunk exists twice`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-large-"));
    expect((await killMidway(FIXTURE, folder, position + 1, 0)).at(position)).toBe(point);
    const harness = await openIngestHarness(null, { folder, largeTextBytes: 40_000 });
    await until("all are completed", async () => {
      harness.clock.advance(1_000);
      return (await harness.memories.counts()).completed === 3;
    });
    const { items } = await harness.memories.list(harness.projectId, { limit: 10 });
    const chunks = items.map(({ state }) => (state.status === "completed" ? state.chunkCount : 0));
    expect(await harness.storedChunks()).toBe(chunks.reduce((sum, count) => sum + count, 0));
    await harness.close();
    rmSync(folder, { recursive: true });
  });
}
