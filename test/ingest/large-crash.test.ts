// kill -9 while a large text is in work and another waits for it: both end, with each of their chunks once.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killMidway } from "../support/kill-midway.ts";
import { until } from "../support/until.ts";
import { openWorkshop } from "./workshop.ts";

const FIXTURE = join(import.meta.dir, "fixtures/large-texts.ts");

for (const [position, point] of ["embedding", "publishing", "published"].entries()) {
  test(`killed after it said "${point}": nothing is lost, and nothing is there twice`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-large-"));
    expect((await killMidway(FIXTURE, folder, position + 1, 0)).at(position)).toBe(point);
    const shop = await openWorkshop(null, { folder, largeTextBytes: 40_000 });
    await until("all are completed", () => {
      shop.clock.advance(1_000);
      return shop.memories.counts().completed === 3;
    });
    const chunks = shop.memories
      .list(shop.projectId, { limit: 10 })
      .items.map(({ state }) => (state.status === "completed" ? state.chunkCount : 0));
    expect(await shop.storedChunks()).toBe(chunks.reduce((sum, count) => sum + count, 0));
    await shop.close();
    rmSync(folder, { recursive: true });
  }, 60_000);
}
