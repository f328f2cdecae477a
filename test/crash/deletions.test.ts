// kill -9 while memories are deleted by conditions: after the next start, the job goes on and ends, what it counted as
// deleted stays deleted, and nothing else is lost.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { listAll } from "./notes.ts";

const MEMORIES = 3_000;
const KILLS = 3;

const dataDir = mkdtempSync(join(tmpdir(), "mneme-crash-"));
let running: RunningServer | null = null;
afterAll(async () => {
  await running?.kill();
  rmSync(dataDir, { recursive: true, force: true });
});
const start = async () => {
  running = await startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });
  return running;
};
type Job = { readonly id: string; readonly status: string; readonly matched: number; readonly deleted: number };

test("a deletion that is killed goes on after each start, and counts each memory once", async () => {
  let server = await start();
  for (let first = 0; first < MEMORIES; first += 100) {
    const memories = Array.from({ length: 100 }, (_, at) => ({
      ...{ content: `Note ${first + at}.`, title: "t", tags: [], language: "en", type: "note" },
      agentId: (first + at) % 3 === 0 ? "kept" : "gone",
    }));
    expect((await server.call("POST", "/v1/memories/batch", { memories })).status).toBe(202);
  }
  const { body } = await server.call("DELETE", "/v1/memories", { filters: { agentId: "gone" } });
  let job = body as Job;
  expect(job).toMatchObject({ status: "processing", matched: (MEMORIES * 2) / 3 });
  for (let kill = 0; kill < KILLS; kill++) {
    const before = job.deleted;
    await until("the job has deleted more", async () => {
      job = (await server.call("GET", `/v1/jobs/${job.id}`)).body as Job;
      return job.deleted > before;
    });
    await server.kill();
    server = await start();
    const after = (await server.call("GET", `/v1/jobs/${job.id}`)).body as Job;
    expect(after.deleted).toBeGreaterThanOrEqual(job.deleted);
    const left = await listAll(server);
    expect(left.length).toBeLessThanOrEqual(MEMORIES - after.deleted);
    job = after;
    if (job.status !== "processing") break;
  }
  await until("the job has ended", async () => {
    job = (await server.call("GET", `/v1/jobs/${job.id}`)).body as Job;
    return job.status !== "processing";
  });
  expect(job).toMatchObject({ status: "completed", deleted: (MEMORIES * 2) / 3 });
  const left = await listAll(server);
  const numbers = left.map(({ content }) => Number(/\d+/.exec(content)?.[0]));
  expect(numbers.sort((one, other) => one - other)).toEqual(Array.from({ length: MEMORIES / 3 }, (_, at) => 3 * at));
  await server.kill();
});
