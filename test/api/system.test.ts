// GET /v1/system: what an operator sees of the server. Who may call it is tested in authorisation.test.ts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { noteBackup } from "../../src/compose/last-backup.ts";
import { VERSION } from "../../src/kit/version.ts";
import { SettableClock, startService, type TestService } from "../support/service.ts";

const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ clock });
});
afterAll(() => mneme.stop());

const read = async () => (await mneme.call("GET", "/v1/system")).body;

test("shows threads, lanes, nodes, sizes, disk and memory", async () => {
  const before = clock.now();
  // models that count words (support/service.ts) have no lanes
  const lane = { name: expect.any(String), status: "up", restarts: 0, provider: expect.any(String), in_flight: 0 };
  const system = await read();
  expect(system).toMatchObject({
    ...{ version: VERSION, threads: [{ id: "main", state: "up" }], last_backup_at: null },
    lanes: mneme.database === null ? [lane] : [],
    nodes: [{ role: "all", version: VERSION, state: "up" }],
    disk: { is_full: false },
  });
  expect(Date.parse(system.started_at)).toBeLessThanOrEqual(before);
  for (const { name, bytes } of system.stores) expect([name, bytes > 0 || name === "uploads"]).toEqual([name, true]);
  expect(system.stores.map(({ name }: { name: string }) => name)).toContain(
    mneme.database === null ? "mneme.sqlite" : "postgresql",
  );
  expect(system.disk.free_bytes).toBeGreaterThan(0);
  expect(system.disk.free_bytes).toBeLessThan(system.disk.total_bytes);
  expect(system.memory.rss_bytes).toBeGreaterThan(0);
});

test("counts what happened in the last minute, and what waits", async () => {
  await mneme.store({ content: "The kettle boils." });
  await mneme.call("POST", "/v1/memories/search", { query: "kettle", mode: "fast" });
  await mneme.call("POST", "/v1/memories/query", { query: "What boils?", mode: "fast" });
  const { last_minute, queue } = await read();
  expect(last_minute).toEqual({ stored: 1, failed: 0, searches: 1, answers: 1 });
  expect(queue).toMatchObject({ memories_processing: 0, memories_failed: 0, searches_waiting: 0 });
  const inMinutes = async () =>
    Object.fromEntries(
      Object.entries((await read()).last_hour as Record<string, number[]>).map(([kind, counts]) => {
        expect([kind, counts.length]).toEqual([kind, 60]);
        return [kind, counts.flatMap((count, at) => (count === 0 ? [] : [[at - 59, count]]))];
      }),
    );
  expect(await inMinutes()).toEqual({ stored: [[0, 1]], failed: [], searches: [[0, 1]], answers: [[0, 1]] });
  clock.advance(59 * 60_000);
  await mneme.call("POST", "/v1/memories/search", { query: "kettle", mode: "fast" });
  expect((await inMinutes()).searches).toEqual([
    [-59, 1],
    [0, 1],
  ]);
  clock.advance(60_000);
  expect((await inMinutes()).searches).toEqual([[-1, 1]]);
  clock.advance(1_000);
  expect((await read()).last_minute).toEqual({ stored: 0, failed: 0, searches: 0, answers: 0 });
});

test("says when the last backup of the data directory was made", async () => {
  const at = Date.UTC(2026, 10, 29, 10, 0, 0);
  noteBackup(mneme.dataDir, at);
  expect((await read()).last_backup_at).toBe("2026-11-29T10:00:00.000Z");
});
